// Dialogs: they ask before something is destroyed, and they take input. A dialog stays open until its action has
// succeeded, and shows why it did not.

import { h } from './dom.js';
import { icon } from './icon.js';
import { describe } from './say.js';

/**
 * Opens a dialog and answers what `act` answered, or `undefined` if the reader left it.
 *
 * `act` gets the form's data. While it runs nothing can be pressed twice; if it fails, its problem is shown.
 */
export function dialog({ title, body = [], confirm, leave = 'Back', danger = false, act }) {
  const heading = h('h2', { id: 'dialog-title' }, title);
  const problem = h('div', { role: 'alert' });
  const leaving = h('button', { type: 'button' }, leave);
  const confirming =
    confirm && h('button.first', { type: 'submit', class: danger ? 'first danger' : 'first' }, confirm);
  const form = h('form', { method: 'dialog' }, heading, body, problem, h('div.ends', null, leaving, confirming));
  const element = h('dialog', { 'aria-labelledby': 'dialog-title' }, form);
  const opener = document.activeElement;

  return new Promise((resolve) => {
    let answer;
    leaving.addEventListener('click', () => element.close());
    form.addEventListener('submit', async (event) => {
      event.preventDefault();
      if (confirming.disabled) return;
      confirming.disabled = true;
      problem.replaceChildren();
      try {
        answer = (await act(new FormData(form))) ?? true;
        element.close();
      } catch (error) {
        problem.replaceChildren(h('div.notice.critical', null, icon('critical'), h('div', null, describe(error))));
        confirming.disabled = false;
      }
    });
    element.addEventListener('close', () => {
      element.remove();
      opener?.focus?.({ preventScroll: true });
      resolve(answer);
    });
    document.body.append(element);
    element.showModal();
    (form.querySelector('input, select, textarea') ?? leaving).focus();
  });
}
