// Numbers, times and states of bingo, as people say them.

import { h } from '/assets/kit/dom.js';
import { state } from '/assets/kit/state.js';

const STATES = {
  pending: ['waiting', 'pending'],
  running: ['running', 'running'],
  completed: ['done', 'completed'],
  error: ['dead', 'error'],
  cancelled: ['cancelled', 'cancelled'],
};

/** Where a batch is in its life. */
export const batchState = ({ status }) => state(...STATES[status]);

/** Whether nothing more comes. */
export const isOver = ({ status }) => !['pending', 'running'].includes(status);

/** What is not known. */
export const NOTHING = '–';

/** 51.48 % */
export const percent = (share) => `${(100 * share).toFixed(share > 0.0995 || share === 0 ? 1 : 2)} %`;

/** 8.43 */
export const decimal = (value) => value.toFixed(2);

/** Second 93784 of an event: "1 d 2 h", "26 min", "12 s". */
export function eventTime(second) {
  if (second === null || second === undefined) return NOTHING;
  const parts = [
    [Math.floor(second / 86400), 'd'],
    [Math.floor(second / 3600) % 24, 'h'],
    [Math.floor(second / 60) % 60, 'min'],
    [Math.floor(second) % 60, 's'],
  ];
  const first = parts.findIndex(([value]) => value > 0);
  if (first < 0) return 'start';
  return parts
    .slice(first, first + 2)
    .filter(([value]) => value > 0)
    .map(([value, unit]) => `${value} ${unit}`)
    .join(' ');
}

/** The colour of a team in every chart; those beyond the last share one. */
export const hue = (index) => (index < 7 ? `part-${index + 1}` : 'part-rest');

/** A team's name beside its colour. */
export const teamName = (team, index) =>
  h('span.row', null, h('span.swatch', { class: `swatch ${hue(index)}` }), h('span.cut', { title: team.name }, team.name));
