// Bars that show parts of a whole. The same is always said in words beside them.

import { h } from './dom.js';
import { count, percent } from './number.js';

/** How far a batch is: done, dead and cancelled parts, each with its own texture. */
export function batchMeter({ total, done, dead, cancelled }) {
  const part = (name, value) => value > 0 && h(`i.${name}`, { style: { width: share(value, total) } });
  const words = [
    [done, 'done'],
    [dead, 'dead'],
    [cancelled, 'cancelled'],
  ].filter(([value, word]) => value > 0 || word === 'done');
  return h(
    'div',
    null,
    h('div.meter', { 'aria-hidden': 'true' }, part('done', done), part('dead', dead), part('cancelled', cancelled)),
    h(
      'div.meter-line',
      null,
      h(
        'span',
        null,
        words.map(([value, word]) => `${count(value)} ${word}`).join(', '),
        h('span.soft', null, ` of ${count(total)}`),
      ),
      h('span.soft', null, percent(done + dead + cancelled, total)),
    ),
  );
}

/** One share of a whole, such as used slots or the progress of a job. */
export function shareMeter(value, whole, words) {
  return h(
    'div',
    null,
    h('div.meter', { 'aria-hidden': 'true' }, h('i.share', { style: { width: share(value, whole) } })),
    h('div.meter-line', null, words, h('span.soft', null, percent(value, whole))),
  );
}

const share = (value, whole) => `${whole > 0 ? Math.min(100, (100 * value) / whole) : 0}%`;
