// Batches: how far each is, how long it will take, and what follows it.

import { get } from '../app/api.js';
import { actionRow } from '../app/act.js';
import { paged } from '../app/paged.js';
import { learn } from '../app/pace.js';
import { cut, empty, link } from '../kit/parts.js';
import { batchMeter } from '../kit/meter.js';
import { table } from '../kit/table.js';
import { ago } from '../kit/time.js';
import { h } from '../kit/dom.js';
import { batchActions, batchState, followSmall, leftWords } from './batch-parts.js';

const PAGE = 50;

export function mount(element, context) {
  const { signal } = context;
  const list = table({
    caption: 'Batches, newest first',
    key: ({ id }) => id,
    columns: columns(() => page.reload()),
    empty: () =>
      empty(
        'There are no batches yet.',
        'A batch holds jobs that were submitted together, and the job that follows them. Programs submit batches with POST /api/v1/batches or engine.batch(…).',
      ),
  });
  const load = async (cursor) => {
    const { batches, next } = await get('/batches', { cursor, limit: PAGE }, { signal });
    batches.forEach(learn);
    return { rows: batches, next };
  };
  const page = paged(element, context, {
    table: list,
    load,
    when: (event) => event.batch !== undefined || event.what === 'thinned',
  });
}

function columns(reload) {
  return [
    { title: 'Batch', head: true, kind: 'name', value: ({ id, name, owner }) => [id, name, owner], draw: nameCell },
    { title: 'Stands', value: ({ phase, paused, cancel }) => [phase, paused, cancel], draw: batchState },
    {
      title: 'Progress',
      kind: 'progress',
      wide: true,
      value: ({ total, done, dead, cancelled }) => [total, done, dead, cancelled],
      draw: batchMeter,
    },
    { title: 'Time left', kind: 'tight', value: leftWords },
    { title: 'Then', value: ({ then, phase }) => [then, phase], draw: followSmall },
    { title: 'Opened', kind: 'num', value: ({ opened }) => opened, draw: ({ opened }) => ago(opened) },
    {
      title: 'Actions',
      kind: 'acts',
      value: ({ id, phase, paused, cancel }) => [id, phase, paused, cancel],
      draw: (batch) => actionRow(batchActions(batch, reload)),
    },
  ];
}

function nameCell({ id, name, owner }) {
  return h(
    'div',
    null,
    link(`/batches/${id}`, cut(name || id)),
    h('div.soft.small', null, cut(owner), ' ', h('span.id', null, id)),
  );
}
