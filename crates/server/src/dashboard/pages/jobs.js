// Jobs: found by state, kind, owner, batch, lane and time.

import { action } from '../app/act.js';
import { get } from '../app/api.js';
import { paged } from '../app/paged.js';
import { h } from '../kit/dom.js';
import { choice, field, suggestions } from '../kit/form.js';
import { cut, empty } from '../kit/parts.js';
import { STATES } from '../kit/state.js';
import { table } from '../kit/table.js';
import { ago } from '../kit/time.js';
import { now } from '../kit/clock.js';
import { attempts, job, owner, stateOf } from './job-columns.js';
import { askForJob } from './submit.js';

const PAGE = 50;
const LOOKS = 6; // how many pages of the server are read to fill one of ours
const NAMES = ['state', 'kind', 'owner', 'batch', 'lane', 'span', 'since', 'until'];
const SPANS = { '15m': 900, '1h': 3_600, '1d': 86_400, '7d': 604_800 };

export async function mount(element, context) {
  const { signal, query, actions } = context;
  actions(action('Submit a job…', { slim: false, work: askForJob }));
  let filters = Object.fromEntries(NAMES.map((name) => [name, query.get(name) ?? '']));
  const form = filterForm(filters, (chosen) => {
    filters = chosen;
    page.restart();
  });
  element.append(form.element);

  const list = table({
    caption: 'Jobs, newest first',
    key: ({ id }) => id,
    columns: columns(),
    empty: () => nothing(filters),
  });
  const page = paged(element, context, {
    table: list,
    load: (cursor) => lookFor(filters, cursor, signal),
    filters: () => filters,
    when: (event) => event.what === 'job' || event.what === 'thinned',
  });

  const { kinds } = await get('/kinds', {}, { signal });
  form.suggestKinds(kinds.map(({ name }) => name));
}

/** Reads on while pages come back short: the server looks at a bounded number of rows for each. */
async function lookFor(filters, cursor, signal) {
  const rows = [];
  let next = cursor;
  for (let look = 0; look < LOOKS && rows.length < PAGE; look += 1) {
    const page = await get('/jobs', { ...asked(filters), cursor: next, limit: PAGE - rows.length }, { signal });
    rows.push(...page.jobs);
    next = page.next;
    if (next === null) break;
  }
  const short = rows.length < PAGE && next !== null;
  return { rows, next, note: short ? 'Not everything was looked at yet: Next looks further.' : undefined };
}

function asked({ span, since, until, ...rest }) {
  const micros = (text) => (text ? new Date(text).getTime() * 1000 : '');
  if (SPANS[span]) return { ...rest, since: Math.floor(now() - SPANS[span] * 1_000_000) };
  return span === 'between' ? { ...rest, since: micros(since), until: micros(until) } : rest;
}

function columns() {
  return [
    stateOf,
    job,
    owner,
    {
      title: 'Batch',
      value: ({ batch }) => batch,
      draw: ({ batch }) => batch && h('a.id', { href: `/batches/${batch}` }, batch),
    },
    { title: 'Lane', kind: 'name', value: ({ lane }) => lane ?? '', draw: ({ lane }) => lane && cut(lane) },
    attempts,
    { title: 'Submitted', kind: 'num', value: ({ submitted }) => submitted, draw: ({ submitted }) => ago(submitted) },
  ];
}

function filterForm(filters, changed) {
  const input = (name, more) =>
    h('input', { name, value: filters[name], autocomplete: 'off', spellcheck: 'false', ...more });
  const kinds = suggestions([]);
  const between = h(
    'div.row',
    { hidden: filters.span !== 'between' },
    field('From', input('since', { type: 'datetime-local' })),
    field('Until', input('until', { type: 'datetime-local' })),
  );
  const spans = [
    ['', 'any time'],
    ['15m', 'last 15 min'],
    ['1h', 'last hour'],
    ['1d', 'last day'],
    ['7d', 'last 7 days'],
    ['between', 'between…'],
  ];
  const clear = h('button.plain', { type: 'button' }, 'Clear');
  const element = h(
    'form.filters',
    { role: 'search', 'aria-label': 'Filter the jobs' },
    field('State', choice('state', [['', 'any'], ...STATES], filters.state)),
    field('Kind', input('kind', { list: kinds.id })),
    kinds,
    field('Owner', input('owner')),
    field('Batch', input('batch')),
    field('Lane', input('lane')),
    field('Submitted', choice('span', spans, filters.span)),
    between,
    h('button', { type: 'submit' }, 'Filter'),
    clear,
  );

  const apply = () => {
    const data = new FormData(element);
    between.hidden = data.get('span') !== 'between';
    changed(Object.fromEntries(NAMES.map((name) => [name, data.get(name).trim()])));
  };
  element.addEventListener('submit', (event) => {
    event.preventDefault();
    apply();
  });
  element.addEventListener('change', apply);
  clear.addEventListener('click', () => {
    for (const control of element.elements) control.value = '';
    apply();
  });
  return { element, suggestKinds: (names) => kinds.append(...names.map((name) => h('option', { value: name }))) };
}

function nothing(filters) {
  if (Object.values(filters).some(Boolean))
    return empty('No job fits these filters.', 'Clear them, or look further back.');
  return empty('There are no jobs yet.', 'Submit a first one:', 'turnwise submit echo \'{"hello":"world"}\'');
}
