// The bar at the top: the way to the navigation on a phone, search, the state of the connection, theme, keys.

import { fill, h } from '../kit/dom.js';
import { icon } from '../kit/icon.js';
import { showKeys } from './keys.js';
import { live } from './live.js';
import { searchForm } from './search.js';
import { themeSwitch } from './theme.js';

const LINK = {
  connecting: { glyph: 'waiting', words: 'connecting…' },
  live: { glyph: 'live', words: 'live' },
  reconnecting: { glyph: 'retrying', words: 'reconnecting…' },
  resting: { glyph: 'paused', words: 'resting' },
};

/** The bar. On a phone it opens and closes the navigation, which is given. */
export function bar(navigation) {
  const keys = h('button.plain.icon.keys', { type: 'button', 'aria-label': 'Keys', title: 'Keys (?)' }, icon('help'));
  keys.addEventListener('click', showKeys);
  const brand = h('a.brand', { href: '/' }, h('img', { src: '/assets/icon.svg', alt: '' }), 'Turnwise');
  const end = h('div.bar-end', null, linkState(), themeSwitch(), keys);
  return h('header.bar', null, menuSwitch(navigation), brand, searchForm(), end);
}

function menuSwitch(navigation) {
  const look = { type: 'button', 'aria-label': 'Navigation', 'aria-expanded': 'false', 'aria-controls': navigation.id };
  const button = h('button.plain.icon.menu-switch', look, icon('menu'));
  const isOpen = () => navigation.classList.contains('open');
  const open = (wanted) => {
    navigation.classList.toggle('open', wanted);
    button.setAttribute('aria-expanded', String(wanted));
    if (wanted) navigation.querySelector('a').focus();
  };
  button.addEventListener('click', () => open(!isOpen()));
  navigation.addEventListener('click', (event) => event.target.closest('a') && open(false));
  document.addEventListener('pointerdown', ({ target }) => {
    if (isOpen() && !navigation.contains(target) && !button.contains(target)) open(false);
  });
  document.addEventListener('keydown', ({ key }) => {
    if (key !== 'Escape' || !isOpen()) return;
    open(false);
    button.focus();
  });
  return button;
}

function linkState() {
  const element = h('span.link-state', { role: 'status', 'aria-label': 'Connection' });
  const show = (state) => {
    element.dataset.state = state;
    fill(element, icon(LINK[state].glyph), LINK[state].words);
  };
  live.on('state', show);
  show(live.state);
  return element;
}
