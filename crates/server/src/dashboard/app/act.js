// Buttons that change something on the server.

import { dialog } from '../kit/dialog.js';
import { h } from '../kit/dom.js';
import { say, sayProblem } from '../kit/say.js';
import { mayAct } from './session.js';

/**
 * A button that does `work` and then says `done` (a text, or a function of the answer; nothing if it is left out).
 *
 * With `ask` it asks first: `{ title, text, confirm }`. The button is left out if the reader's token may only read.
 */
export function action(words, { work, done, after = () => {}, ask, danger = false, slim = true, label }) {
  if (!mayAct()) return null;
  const finish = (answer) => {
    if (done) say(typeof done === 'function' ? done(answer) : done);
    return after(answer);
  };
  const press = async () => {
    if (button.getAttribute('aria-disabled') === 'true') return;
    if (ask) {
      const answer = await confirm({ ...ask, danger, act: work });
      if (answer !== undefined) finish(answer);
      return;
    }
    button.setAttribute('aria-disabled', 'true');
    try {
      finish(await work());
    } catch (problem) {
      sayProblem(problem);
    } finally {
      button.removeAttribute('aria-disabled');
    }
  };
  const look = [slim && 'slim', danger && 'danger'].filter(Boolean).join(' ');
  const button = h('button', { type: 'button', class: look || null, 'aria-label': label, on: { click: press } }, words);
  return button;
}

/** Actions side by side; nothing at all if there are none. */
export function actionRow(...actions) {
  const there = actions.flat().filter(Boolean);
  return there.length > 0 ? h('div.row', null, there) : null;
}

/** Pause or resume, whichever is left to do. `post` does it and answers `{ paused }`. */
export function pauseAction(name, paused, post, after) {
  const verb = paused ? 'resume' : 'pause';
  return action(paused ? 'Resume' : 'Pause', {
    label: `${paused ? 'Resume' : 'Pause'} ${name}`,
    work: () => post(verb),
    done: paused ? `${name} goes on.` : `${name} is paused: what runs, runs on; nothing new starts.`,
    after,
  });
}

function confirm({ title, text, confirm: words, danger, act }) {
  const body = [text].flat().map((line) => h('p', null, line));
  return dialog({ title, body, confirm: words, danger, act });
}
