// The page for a stranger: how to get in.

import { h } from '../kit/dom.js';
import { notice } from '../kit/parts.js';
import { describe } from '../kit/say.js';
import { field } from '../kit/form.js';
import { post } from './api.js';

/** Shows the login in place of everything else; answers when the reader is in. */
export function login() {
  const before = [...document.body.children];
  const framed = document.body.classList.contains('framed');
  const token = h('input', {
    type: 'password',
    name: 'token',
    autocomplete: 'current-password',
    required: true,
    spellcheck: 'false',
  });
  const trouble = h('div', { role: 'alert' });
  const heading = h('h1', { tabindex: -1 }, 'Sign in to Turnwise');

  return new Promise((resolve) => {
    const enter = async (event) => {
      event.preventDefault();
      trouble.replaceChildren();
      try {
        await post('/session', { token: token.value.trim() });
        document.body.replaceChildren(...before);
        document.body.classList.toggle('framed', framed);
        resolve();
      } catch (problem) {
        trouble.replaceChildren(notice('critical', describe(problem)));
        token.select();
      }
    };
    const form = h(
      'form.page',
      { on: { submit: enter } },
      field('Token', token, 'It is kept in a cookie of this browser that scripts cannot read.'),
      trouble,
      h('div', null, h('button.first', { type: 'submit' }, 'Sign in')),
    );
    document.body.classList.remove('framed');
    document.body.replaceChildren(
      h(
        'main.bare',
        null,
        heading,
        h(
          'p',
          null,
          'Open the link that ',
          h('code', null, 'turnwise up'),
          ' printed when it started: it signs you in by itself.',
        ),
        h('p', null, 'Or paste a token. An administrator makes one on the page Tokens.'),
        form,
      ),
    );
    document.title = 'Sign in – Turnwise';
    token.focus();
  });
}
