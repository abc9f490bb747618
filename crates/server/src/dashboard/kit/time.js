// Moments and spans as people say them: "3 min ago", with the exact time for whoever asks.

import { now } from './clock.js';
import { h } from './dom.js';

const SECOND = 1_000_000;
const UNITS = [
  ['d', 86_400 * SECOND],
  ['h', 3_600 * SECOND],
  ['min', 60 * SECOND],
  ['s', SECOND],
];

const exact = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'long' });
const ofDay = new Intl.DateTimeFormat('en-GB', { timeStyle: 'medium' });

/** A span in microseconds: "850 ms", "12 s", "3 min", "2 h 5 min". */
export function span(micros) {
  if (micros < SECOND) return `${Math.max(0, Math.round(micros / 1000))} ms`;
  if (micros < 10 * SECOND) return `${(micros / SECOND).toFixed(1).replace('.0', '')} s`;
  const at = UNITS.findIndex(([, size]) => micros >= size);
  const [unit, size] = UNITS[at];
  const whole = Math.floor(micros / size);
  const [next, part] = UNITS[at + 1] ?? [];
  const rest = part && whole < 10 ? Math.floor((micros % size) / part) : 0;
  return rest > 0 && unit !== 'min' ? `${whole} ${unit} ${rest} ${next}` : `${whole} ${unit}`;
}

/** A moment, seen from now: "just now", "3 min ago", "in 2 h". */
export function relative(micros) {
  const past = now() - micros;
  if (Math.abs(past) < SECOND) return 'just now';
  const whole = Math.floor(Math.abs(past) / SECOND) * SECOND;
  const [unit, size] = UNITS.find(([, size]) => whole >= size);
  const text = `${Math.floor(whole / size)} ${unit}`;
  return past > 0 ? `${text} ago` : `in ${text}`;
}

/** The time of day in the reader's zone. */
export const timeOfDay = (micros) => ofDay.format(micros / 1000);

/** A moment in full, in the reader's zone. */
export const inFull = (micros) => exact.format(micros / 1000);

/** A moment as an element that keeps itself right: relative, with the exact time in its title. */
export function ago(micros) {
  if (!micros) return h('span.soft', null, '–');
  const iso = new Date(micros / 1000).toISOString();
  return h('time', { datetime: iso, title: inFull(micros), data: { at: micros } }, relative(micros));
}

setInterval(() => {
  if (document.hidden) return;
  for (const element of document.querySelectorAll('time[data-at]')) {
    const text = relative(Number(element.dataset.at));
    if (element.textContent !== text) element.textContent = text;
  }
}, 1000);
