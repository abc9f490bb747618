// Small parts that most pages use.

import { h } from './dom.js';
import { icon } from './icon.js';
import { say } from './say.js';

/** A link to a job, a batch or whatever has a page. */
export const link = (href, ...children) => h('a', { href }, children);

/** A link to the jobs that these filters leave: `jobsLink({ owner: 'acme' }, 'acme')`. */
export const jobsLink = (filters, ...children) => link(`/jobs?${new URLSearchParams(filters)}`, children);

/** A long name on one line, with the whole of it on hover. */
export const cut = (name) => h('span.cut', { title: name }, name);

/** Words and their values. Each fact is a pair; a fact without a value is left out. */
export function facts(pairs) {
  const there = pairs.filter(([, value]) => value !== null && value !== undefined && value !== '');
  return h(
    'dl.facts',
    null,
    there.map(([word, value]) => h('div', null, h('dt', null, word), h('dd', null, value))),
  );
}

/** What to read where nothing is: what is missing, why, and a command that changes it. */
export function empty(title, words, command) {
  return h('div.empty', null, h('strong', null, title), words && h('p', null, words), command && tryThis(command));
}

/** A command to copy. */
export function tryThis(command) {
  return h('div.try', null, h('code', null, command), copyButton(command, 'Copy the command'));
}

/** A button that puts a text on the clipboard. */
export function copyButton(text, label) {
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      say('Copied.');
    } catch {
      say('The browser does not allow copying here. Select the text and copy it by hand.');
    }
  };
  return h('button.slim', { type: 'button', 'aria-label': label, on: { click: copy } }, 'Copy');
}

/** Something worth a box of its own: `severity` is `good`, `warning` or `critical`. */
export function notice(severity, ...children) {
  return h(`div.notice.${severity}`, null, icon(severity === 'good' ? 'done' : severity), h('div', null, children));
}

/** What the server says to people: names between backticks become code. */
export const prose = (text) => text.split('`').map((part, at) => (at % 2 === 1 ? h('code', null, part) : part));

/** A text or JSON to read at leisure: it wraps, scrolls in itself, and can be copied. */
export function code(label, value) {
  const text = typeof value === 'string' ? value : JSON.stringify(value, null, 2);
  const pre = h('pre', { tabindex: 0, role: 'region', 'aria-label': label }, text);
  return h('figure.code', null, h('figcaption', null, label, copyButton(text, `Copy: ${label}`)), pre);
}
