// Every batch: how far it is, or what it came to. Two of them can be chosen to be compared.

import { h } from '/assets/kit/dom.js';
import { shareMeter } from '/assets/kit/meter.js';
import { brief, count } from '/assets/kit/number.js';
import { cut, empty, link } from '/assets/kit/parts.js';
import { table } from '/assets/kit/table.js';
import { ago, span } from '/assets/kit/time.js';
import { mayAct } from '/assets/app/session.js';
import { batchState, isOver } from './words.js';

const EMPTY_PAGES = 20;

export function batches({ element, actions, api }) {
  const chosen = [];
  const compare = h('button', { type: 'button', disabled: true }, 'Compare two');
  compare.addEventListener('click', () => {
    location.assign(`/apps/bingo/compare?${new URLSearchParams({ first: chosen[0], second: chosen[1] })}`);
  });
  const make = mayAct() && h('a.button', { href: '/apps/bingo/new' }, 'New batch');
  actions(compare, make);

  const choose = (id, box) => {
    const at = chosen.indexOf(id);
    if (at >= 0) chosen.splice(at, 1);
    else chosen.push(id);
    while (chosen.length > 2) chosen.shift();
    for (const other of list.element.querySelectorAll('input')) other.checked = chosen.includes(other.value);
    box.checked = chosen.includes(id);
    compare.disabled = chosen.length !== 2;
  };
  const list = table({
    caption: 'Bingo batches, newest first',
    key: ({ id }) => id,
    columns: columns(choose),
    empty: () =>
      empty(
        'There are no bingo batches yet.',
        'A batch plays an event many times and says how it would go. Start one here, or with the command:',
        'turnwise bingo samples day > day.json && turnwise bingo run day.json --runs 100000',
      ),
  });
  const older = h('button', { type: 'button', hidden: true }, 'Older');
  element.append(list.element, h('div.pager', null, older));

  let pages = 1;
  const reload = api.keepFresh(
    async () => {
      const rows = [];
      let cursor;
      // A page passes over a bounded number of other batches; an empty one is not the end.
      const goesOn = (page) => cursor !== null && (page < pages || (rows.length === 0 && page < EMPTY_PAGES));
      for (let page = 0; goesOn(page); page += 1) {
        const { batches, next } = await api.get('/bingo/batches', { cursor });
        rows.push(...batches);
        cursor = next;
      }
      older.hidden = cursor === null;
      list.show(rows);
    },
    { when: (event) => event.batch !== undefined || event.what === 'thinned', calm: 5_000 },
  );
  older.addEventListener('click', () => {
    pages += 1;
    reload();
  });
}

function columns(choose) {
  return [
    {
      title: 'Batch',
      head: true,
      kind: 'name',
      value: ({ id, name, owner }) => [id, name, owner],
      draw: ({ id, name, owner }) =>
        h(
          'div',
          null,
          link(`/apps/bingo/batch/${id}`, cut(name)),
          h('div.soft.small', null, cut(owner), ' ', h('span.id', null, id)),
        ),
    },
    { title: 'Stands', value: ({ status }) => status, draw: batchState },
    {
      title: 'Runs',
      kind: 'progress',
      wide: true,
      value: ({ runs, ended_runs, failed_runs }) => [runs, ended_runs, failed_runs],
      draw: runsCell,
    },
    { title: 'Runs/s', kind: 'num', value: ({ runs_per_s }) => count(Math.round(runs_per_s)) },
    { title: 'Time', kind: 'num', value: timeWords },
    { title: 'Seed', value: ({ seed }) => seed, draw: ({ seed }) => h('code', null, cut(seed)) },
    { title: 'Started', kind: 'num', value: ({ started }) => started, draw: ({ started }) => ago(started) },
    {
      title: 'Compare',
      kind: 'tight',
      value: ({ id, name, ended }) => [id, name, ended > 0],
      draw: ({ id, name, ended }) => {
        if (!ended) return h('span.soft', null, '–');
        const box = h('input', { type: 'checkbox', value: id, 'aria-label': `Choose ${name} to be compared` });
        box.addEventListener('change', () => choose(id, box));
        return box;
      },
    },
  ];
}

function runsCell(batch) {
  if (isOver(batch)) {
    const failed = batch.failed_runs > 0 && h('span', null, `, ${count(batch.failed_runs)} failed`);
    return h('span', null, brief(batch.ended_runs), h('span.soft', null, ` of ${brief(batch.runs)}`), failed);
  }
  return shareMeter(batch.ended_runs, batch.runs, h('span', null, `about ${brief(batch.ended_runs)} of ${brief(batch.runs)}`));
}

function timeWords(batch) {
  if (isOver(batch)) return span(batch.seconds * 1e6);
  return batch.seconds_left === null ? '–' : `${span(batch.seconds_left * 1e6)} left`;
}
