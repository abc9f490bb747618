// Schedules: what is submitted at which times.

import { at, get, put, remove } from '../app/api.js';
import { action, actionRow } from '../app/act.js';
import { keepFresh } from '../app/fresh.js';
import { dialog } from '../kit/dialog.js';
import { h } from '../kit/dom.js';
import { choice, field, json, suggestions, text } from '../kit/form.js';
import { cut, empty, jobsLink, link } from '../kit/parts.js';
import { say } from '../kit/say.js';
import { table } from '../kit/table.js';
import { ago } from '../kit/time.js';

// What becomes of ticks that nobody was there for, and of one while the job of the last is unfinished.
const MISSED = { one: 'one job for all', all: 'a job for each', skip: 'no job' };
const OVERLAP = { allow: 'submits all the same', skip: 'is left out' };

export function mount(element, { signal, actions }) {
  const list = table({
    caption: 'Schedules',
    key: ({ name }) => name,
    columns: columns(() => reload()),
    empty: () =>
      empty(
        'There are no schedules.',
        'A schedule submits one job at each tick of a cron line. Add the first one with the button above.',
      ),
  });
  element.append(list.element);
  const reload = keepFresh(
    element,
    signal,
    async () => list.show((await get('/schedules', {}, { signal })).schedules),
    { when: (event) => event.what === 'audit' || event.cause === 'submitted' },
  );
  actions(action('Add a schedule…', { slim: false, work: () => askFor({}, () => reload()) }));
}

function columns(reload) {
  return [
    { title: 'Schedule', head: true, kind: 'name', value: ({ name }) => name, draw: ({ name }) => cut(name) },
    { title: 'Line', value: ({ line }) => line, draw: ({ line }) => h('code', null, line) },
    { title: 'Zone', value: ({ zone }) => zone },
    {
      title: 'Next tick',
      kind: 'num',
      value: ({ next }) => next,
      draw: ({ next }) => (next ? ago(next) : h('span.soft', null, 'never')),
    },
    {
      title: 'Last tick',
      kind: 'num',
      value: ({ last, job }) => [last, job],
      draw: ({ last, job }) => (job ? link(`/jobs/${job}`, ago(last)) : h('span.soft', null, 'none yet')),
    },
    { title: 'Kind', kind: 'name', value: ({ kind }) => kind, draw: ({ kind }) => jobsLink({ kind }, cut(kind)) },
    { title: 'Owner', kind: 'name', value: ({ owner }) => owner, draw: ({ owner }) => cut(owner) },
    { title: 'Missed ticks', value: ({ missed }) => MISSED[missed] },
    { title: 'While one runs', value: ({ overlap }) => OVERLAP[overlap] },
    {
      title: 'Actions',
      kind: 'acts',
      value: (schedule) => schedule,
      draw: (schedule) => actionRow(change(schedule, reload), removal(schedule, reload)),
    },
  ];
}

const change = (schedule, reload) =>
  action('Change', { label: `Change ${schedule.name}`, work: () => askFor(schedule, reload) });

function removal({ name }, reload) {
  return action('Remove', {
    label: `Remove ${name}`,
    danger: true,
    ask: {
      title: `Remove the schedule ${name}?`,
      text: 'It will not tick again. Jobs that it has submitted already are not touched.',
      confirm: 'Remove the schedule',
    },
    work: () => remove(at`/schedules/${name}`),
    done: `The schedule ${name} is removed.`,
    after: reload,
  });
}

async function askFor(schedule, reload) {
  const { kinds } = await get('/kinds');
  const known = suggestions(kinds.map(({ name }) => name));
  const zones = suggestions(['UTC', ...Intl.supportedValuesOf('timeZone')]);
  const input = (name, more) =>
    h('input', { name, autocomplete: 'off', spellcheck: 'false', value: schedule[name], ...more });
  const saved = await dialog({
    title: schedule.name ? `Change ${schedule.name}` : 'Add a schedule',
    body: [
      field('Name', input('name', { required: true, readonly: Boolean(schedule.name) })),
      field(
        'Cron line',
        input('line', { required: true, placeholder: '30 7 * * MON-FRI' }),
        'Minute, hour, day of the month, month, weekday.',
      ),
      field('Time zone', input('zone', { list: zones.id, value: schedule.zone ?? 'UTC' })),
      zones,
      field('Kind', input('kind', { required: true, list: known.id })),
      known,
      field('Owner', input('owner', { placeholder: 'default' })),
      field(
        'Payload (JSON)',
        h(
          'textarea',
          { name: 'payload', spellcheck: 'false' },
          schedule.payload === undefined ? '{}' : JSON.stringify(schedule.payload, null, 2),
        ),
      ),
      field('Ticks that nobody was there for', choice('missed', Object.entries(MISSED), schedule.missed)),
      field('A tick while the last job is unfinished', choice('overlap', Object.entries(OVERLAP), schedule.overlap)),
    ],
    confirm: 'Save',
    act: (data) =>
      put(at`/schedules/${text(data, 'name')}`, {
        line: text(data, 'line'),
        zone: text(data, 'zone'),
        kind: text(data, 'kind'),
        owner: text(data, 'owner'),
        payload: json(data, 'payload', 'The payload'),
        missed: data.get('missed'),
        overlap: data.get('overlap'),
      }),
  });
  if (saved) {
    say(`The schedule ${saved.name} is saved.`);
    reload();
  }
}
