// Columns that lists of jobs share.

import { h } from '../kit/dom.js';
import { cut, jobsLink, link } from '../kit/parts.js';
import { state } from '../kit/state.js';
import { ago } from '../kit/time.js';

/** The job's kind and id, as a link to its page. */
export const job = {
  title: 'Job',
  head: true,
  kind: 'name',
  value: ({ id, kind }) => [id, kind],
  draw: ({ id, kind }) => h('div', null, link(`/jobs/${id}`, cut(kind)), h('div.soft.id', null, id)),
};

/** Whose job it is. */
export const owner = {
  title: 'Owner',
  kind: 'name',
  value: (row) => row.owner,
  draw: (row) => jobsLink({ owner: row.owner }, cut(row.owner)),
};

/** The state, and since when or until when. */
export const stateOf = {
  title: 'State',
  kind: 'tight',
  value: (row) => [row.state, row.at],
  draw: (row) => h('div', null, state(row.state), h('div.soft.small', null, ago(row.at))),
};

/** How many attempts were begun, of how many. */
export const attempts = { title: 'Attempts', kind: 'num', value: (row) => `${row.attempt} of ${row.attempts}` };
