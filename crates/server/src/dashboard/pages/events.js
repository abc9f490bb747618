// Events: what happens, as it happens.

import { Live, live } from '../app/live.js';
import { calmly } from '../app/fresh.js';
import { setQuery, show } from '../app/router.js';
import { fill, h } from '../kit/dom.js';
import { field } from '../kit/form.js';
import { count } from '../kit/number.js';
import { cut, empty, link } from '../kit/parts.js';
import { state, STATES } from '../kit/state.js';
import { table } from '../kit/table.js';
import { timeOfDay } from '../kit/time.js';

const KEPT = 200;
const NAMES = ['owner', 'kind', 'batch'];

export function mount(element, { query, signal, actions }) {
  let tail = [];
  let leftOut = 0;
  let stopped = false;
  const note = h('p.soft', null, 'Waiting for the next event…');
  const list = table({
    caption: 'Events, newest first',
    key: ({ cursor, part }) => `${cursor}.${part}`,
    columns: columns(),
    empty: () =>
      empty(
        'Nothing has happened since you opened this page.',
        'Make something happen:',
        'turnwise submit echo \'{"hello":"world"}\'',
      ),
  });
  const draw = calmly(() => {
    if (stopped) return;
    list.show(tail);
    fill(
      note,
      `${count(tail.length)} newest events`,
      leftOut > 0 &&
        `; ${count(leftOut)} were left out, because more came than anybody can read: filter to see all of some`,
    );
  });
  const filters = Object.fromEntries(NAMES.map((name) => [name, query.get(name) ?? '']).filter(([, value]) => value));

  follow(filters, signal, {
    event(event) {
      if (stopped) return;
      const part = tail.filter(({ cursor }) => cursor === event.cursor).length;
      tail = [{ ...event, part }, ...tail].slice(0, KEPT);
      draw();
    },
    thinned({ left_out: number }) {
      leftOut += number;
      draw();
    },
  });

  const stop = h('button', { type: 'button', 'aria-pressed': 'false' }, 'Hold still');
  stop.addEventListener('click', () => {
    stopped = !stopped;
    stop.setAttribute('aria-pressed', String(stopped));
    fill(stop, stopped ? 'Follow again' : 'Hold still');
    draw();
  });
  actions(stop);
  element.append(filterForm(filters), note, list.element);
  draw();
}

/** Filtered events have a stream of their own, because the server thins the common one. */
function follow(filters, signal, { event, thinned }) {
  const own = Object.keys(filters).length > 0;
  const source = own ? new Live({ filter: filters, signal }) : live;
  source.on('event', event, signal);
  source.on('thinned', thinned, signal);
  if (own) source.follow();
}

function filterForm(filters) {
  const inputs = NAMES.map((name) =>
    field(
      name[0].toUpperCase() + name.slice(1),
      h('input', { name, value: filters[name], autocomplete: 'off', spellcheck: 'false' }),
    ),
  );
  const element = h(
    'form.filters',
    { role: 'search', 'aria-label': 'Filter the events' },
    inputs,
    h('button', { type: 'submit' }, 'Filter'),
  );
  element.addEventListener('submit', (event) => {
    event.preventDefault();
    setQuery(Object.fromEntries([...new FormData(element)].map(([name, value]) => [name, value.trim()])));
    show();
  });
  return element;
}

function columns() {
  return [
    {
      title: 'Time',
      kind: 'tight',
      value: ({ at }) => at,
      draw: ({ at }) => h('time', { datetime: new Date(at / 1000).toISOString() }, timeOfDay(at)),
    },
    { title: 'What', kind: 'tight', value: ({ what, state: now, cause }) => [what, now, cause], draw: happened },
    { title: 'Subject', wide: true, value: ({ job, batch }) => [job, batch], draw: subject },
    { title: 'Kind', kind: 'name', value: ({ kind }) => kind ?? '', draw: ({ kind }) => kind && cut(kind) },
    { title: 'Owner', kind: 'name', value: ({ owner }) => owner ?? '', draw: ({ owner }) => owner && cut(owner) },
    { title: 'More', wide: true, value: more },
    { title: 'Cursor', kind: 'num', value: ({ cursor }) => cursor, draw: ({ cursor }) => h('span.soft', null, cursor) },
  ];
}

function happened({ what, state: now, cause }) {
  if (!STATES.includes(now)) return what.replaceAll('_', ' ');
  return h('span.row', null, state(now), cause && h('span.soft', null, cause));
}

function subject({ job, batch }) {
  return h(
    'span.row',
    null,
    job && link(`/jobs/${job}`, h('span.id', null, job)),
    batch && h('span', null, 'batch ', link(`/batches/${batch}`, h('span.id', null, batch))),
  );
}

/** Whatever else an event says. */
function more(event) {
  const { cursor, at, what, job, state: now, cause, kind, owner, batch, part, ...rest } = event;
  return Object.entries(rest)
    .map(([name, value]) => `${name} ${name === 'due' ? timeOfDay(value) : value}`)
    .join(', ');
}
