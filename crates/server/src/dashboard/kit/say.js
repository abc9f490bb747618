// Says what came of an action: to the eye in a corner, to a screen reader in a live region.

import { h } from './dom.js';
import { icon } from './icon.js';

const LONG_ENOUGH = 6000;

const polite = h('div', { role: 'status' });
const urgent = h('div', { role: 'alert' });

/** Where the messages appear; the frame puts it on the page once. */
export const sayings = h('div.sayings', null, urgent, polite);

/** Says that something went as it should. */
export function say(text) {
  const message = show(polite, 'done', text);
  setTimeout(() => message.remove(), LONG_ENOUGH);
}

/** Says what went wrong; it stays until it is dismissed. */
export function sayProblem(problem) {
  show(urgent, 'critical', describe(problem));
}

/** What the server said about a problem; otherwise what the browser says. */
export function describe(problem) {
  return problem.detail ? `${problem.title}: ${problem.detail}` : `${problem.message}`;
}

function show(region, glyph, text) {
  const dismiss = h('button.plain.slim', { type: 'button', 'aria-label': 'Dismiss' }, icon('close'));
  const message = h(
    'div.saying',
    { class: region === urgent ? 'saying bad' : 'saying' },
    icon(glyph),
    h('p', null, text),
    dismiss,
  );
  dismiss.addEventListener('click', () => message.remove());
  region.append(message);
  while (region.children.length > 3) region.firstChild.remove();
  return message;
}
