// Lanes: what is at the head of each, and what holds it.

import { at, get, post } from '../app/api.js';
import { pauseAction } from '../app/act.js';
import { paged } from '../app/paged.js';
import { now } from '../kit/clock.js';
import { h } from '../kit/dom.js';
import { brief } from '../kit/number.js';
import { cut, empty, jobsLink } from '../kit/parts.js';
import { state } from '../kit/state.js';
import { table } from '../kit/table.js';
import { ago } from '../kit/time.js';
import { job } from './job-columns.js';

export function mount(element, context) {
  const { signal } = context;
  const list = table({
    caption: 'Lanes',
    key: ({ name }) => name,
    columns: columns(() => page.reload()),
    empty: () =>
      empty(
        'There are no lanes.',
        'Jobs of one lane run one at a time, in the order in which they were submitted:',
        'turnwise submit echo \'{"n":1}\' --lane shop',
      ),
  });
  const load = async (cursor) => {
    const { lanes, next } = await get('/lanes', { cursor, limit: 100 }, { signal });
    return { rows: lanes, next };
  };
  const page = paged(element, context, { table: list, load, when: () => true });
}

function columns(reload) {
  return [
    {
      title: 'Lane',
      head: true,
      kind: 'name',
      value: ({ name }) => name,
      draw: ({ name }) => jobsLink({ lane: name }, cut(name)),
    },
    {
      title: 'What holds it',
      wide: true,
      value: ({ head, halted, paused }) => [head?.state, head?.at, halted, paused],
      draw: holding,
    },
    {
      title: 'Head',
      kind: 'name',
      value: ({ head }) => head?.id,
      draw: ({ head }) => (head ? job.draw(head) : h('span.soft', null, 'none')),
    },
    { title: 'Waiting', kind: 'num', value: ({ waiting }) => waiting, draw: ({ waiting }) => brief(waiting) },
    {
      title: 'After a dead letter',
      value: ({ on_dead: after }) => after,
      draw: ({ on_dead: after }) => (after === 'halt' ? 'halts' : 'goes on'),
    },
    {
      title: 'Actions',
      kind: 'acts',
      value: ({ name, paused, halted }) => [name, paused || halted],
      draw: (lane) => pause(lane, reload),
    },
  ];
}

/** A pause and a halt end alike: somebody resumes the lane. */
function pause({ name, paused, halted }, reload) {
  return pauseAction(`Lane ${name}`, paused || halted, (verb) => post(`${at`/lanes/${name}`}/${verb}`), reload);
}

function holding({ head, halted, paused }) {
  if (halted) return state('halted', 'halted after a dead letter');
  if (paused) return state('paused');
  if (!head) return state('done', 'nothing waits');
  const due = ['retrying', 'scheduled'].includes(head.state) && head.at > now();
  return h('span.row', null, state(head.state), h('span.soft', null, due && 'due ', ago(head.at)));
}
