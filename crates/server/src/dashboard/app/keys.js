// The keyboard: `/` searches, `g` and a letter goes to a page, `?` shows all of it.

import { dialog } from '../kit/dialog.js';
import { h } from '../kit/dom.js';
import { go } from './router.js';
import { ROUTES } from './routes.js';

const PATIENCE = 1500;

/** Listens to the keys of the whole page. */
export function listenToKeys() {
  let going = 0;
  document.addEventListener('keydown', (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    if (isWriting(event.target) || document.querySelector('dialog[open]')) return;
    const awaited = Date.now() - going < PATIENCE;
    going = 0;
    if (awaited) {
      const found = ROUTES.find(({ key }) => key === event.key);
      if (found) {
        event.preventDefault();
        go(found.path);
      }
    } else if (event.key === 'g') {
      going = Date.now();
    } else if (event.key === '/') {
      event.preventDefault();
      document.querySelector('.bar-search input')?.focus();
    } else if (event.key === '?') {
      event.preventDefault();
      showKeys();
    }
  });
}

/** The list of keys. */
export function showKeys() {
  const line = (keys, words) =>
    h(
      'div.row',
      null,
      keys.map((key) => h('kbd', null, key)),
      h('span', null, words),
    );
  const pages = ROUTES.filter(({ key }) => key).map(({ key, name }) => line(['g', key], name));
  const others = [line(['/'], 'Search'), line(['?'], 'These keys'), line(['Esc'], 'Leave a dialog')];
  dialog({ title: 'Keys', body: [h('div.grid-keys', null, others, pages)], leave: 'Close' });
}

const isWriting = (element) => element.closest?.('input, textarea, select, [contenteditable]') !== null;
