// Light, dark, or what the system says. theme-first.js applies the choice before the first paint.

import { fill, h } from '../kit/dom.js';
import { icon } from '../kit/icon.js';

const KEY = 'turnwise.theme';
const THEMES = ['system', 'light', 'dark'];

/** The switch in the bar: each press takes the next of the three. */
export function themeSwitch() {
  let chosen = document.documentElement.dataset.theme ?? 'system';
  const button = h('button.plain.icon', { type: 'button', on: { click: next } });

  function next() {
    chosen = THEMES[(THEMES.indexOf(chosen) + 1) % THEMES.length];
    if (chosen === 'system') delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = chosen;
    try {
      localStorage.setItem(KEY, chosen);
    } catch {
      // Without storage the choice lasts as long as the page.
    }
    show();
  }

  function show() {
    fill(button, icon(chosen));
    button.setAttribute('aria-label', `Theme: ${chosen}. Change it.`);
    button.title = `Theme: ${chosen}`;
  }

  show();
  return button;
}
