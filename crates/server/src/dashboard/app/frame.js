// The frame around every page: bar, navigation, heading, main part. Applications put their own pages into it, too.

import { fill, h } from '../kit/dom.js';
import { sayings, sayProblem } from '../kit/say.js';
import { onStranger } from './api.js';
import { bar } from './bar.js';
import { panelApi } from './extensions.js';
import { listenToKeys } from './keys.js';
import { live } from './live.js';
import { login } from './login.js';
import { Navigation } from './navigation.js';
import { recognise } from './session.js';

const PATIENCE = 3_000;

/**
 * Puts the frame on the page and signs the reader in. `signedIn` is called whenever the reader has come in again.
 *
 * Answers `{ turnTo }`, which begins a page: `turnTo(title, path)` gives `{ element, title(text), actions(…nodes) }`.
 */
export async function makeFrame({ signedIn = () => {} } = {}) {
  const navigation = new Navigation();
  const main = h('main.main', { id: 'main' });
  const skip = h('a.skip', { href: '#main' }, 'Skip to the main part');
  document.body.classList.add('framed');
  document.body.replaceChildren(skip, bar(navigation.element), navigation.element, main, sayings);
  listenToKeys();
  await enter();
  navigation.begin();
  onStranger(
    oneAtATime(async () => {
      await enter();
      signedIn();
    }),
  );
  return { turnTo: (title, path) => turnTo(main, navigation, title, path) };
}

/** The frame for the page of an application: answers its element, and what a panel is given as well. */
export async function frame(title) {
  const { element, actions } = (await makeFrame()).turnTo(title, location.pathname);
  return { element, actions, api: panelApi(element, new AbortController().signal) };
}

/** Comes back only when the server knows the reader. */
async function enter() {
  for (;;) {
    try {
      await recognise();
      live.follow();
      return;
    } catch (problem) {
      if (problem.status === 401) {
        await login();
      } else {
        sayProblem(problem);
        await new Promise((resolve) => setTimeout(resolve, PATIENCE));
      }
    }
  }
}

/** Many requests may find out at once that the reader is a stranger; one login is enough. */
function oneAtATime(work) {
  let busy = false;
  return async () => {
    if (busy) return;
    busy = true;
    await work();
    busy = false;
  };
}

function turnTo(main, navigation, title, path) {
  const heading = h('h1', { tabindex: -1 }, title);
  const actions = h('div.actions');
  const element = h('div.page');
  fill(main, h('header.page-head', null, heading, actions), element);
  document.title = `${title} – Turnwise`;
  navigation.mark(path);
  heading.focus({ preventScroll: true });
  return {
    element,
    actions: (...nodes) => fill(actions, nodes),
    title(text, ...beside) {
      fill(heading, text);
      heading.after(...beside);
      document.title = `${text} – Turnwise`;
    },
  };
}
