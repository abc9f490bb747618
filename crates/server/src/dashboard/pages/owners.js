// Owners: who gets which share of the turns, and who should get more.

import { at, get, patch, post } from '../app/api.js';
import { action, actionRow, pauseAction } from '../app/act.js';
import { calmly } from '../app/fresh.js';
import { live } from '../app/live.js';
import { paged } from '../app/paged.js';
import { bars, recent } from '../app/rates.js';
import { boundTo } from '../app/session.js';
import { dialog } from '../kit/dialog.js';
import { h } from '../kit/dom.js';
import { field, whole } from '../kit/form.js';
import { brief, count, percent } from '../kit/number.js';
import { cut, empty, jobsLink } from '../kit/parts.js';
import { say } from '../kit/say.js';
import { Shares } from '../kit/shares.js';
import { state } from '../kit/state.js';
import { table } from '../kit/table.js';

const BAR = 5_000_000;
const BARS = 60;

export function mount(element, context) {
  const { signal } = context;
  if (!boundTo()) element.append(shareCard(signal));
  const list = table({
    caption: 'Owners',
    key: ({ owner }) => owner,
    columns: columns(() => page.reload()),
    empty: () =>
      empty(
        'No owner has jobs yet.',
        'Jobs belong to the owner “default” unless they name another:',
        'turnwise submit echo \'{"hello":"world"}\' --owner acme',
      ),
  });
  const load = async (cursor) => {
    const { owners, next } = await get('/owners', { cursor, limit: 100 }, { signal });
    return { rows: owners, next };
  };
  const page = paged(element, context, { table: list, load, when: () => true });
}

/** Who got how many turns. A token that is bound to owners is not told those of others. */
function shareCard(signal) {
  const chart = new Shares();
  const draw = calmly(() => chart.show(bars(BAR, BARS)));
  live.on('pulse', draw, signal);
  draw();
  return h(
    'section.card',
    null,
    h(
      'div.card-head',
      null,
      h('h2', null, 'Share of turns'),
      h(
        'span.soft.small',
        null,
        'Starts of each owner, one bar for 5 seconds. Among owners with enough ready jobs, twice the weight makes a stripe twice as high.',
      ),
    ),
    chart.element,
  );
}

function columns(reload) {
  const number = (title, name) => ({ title, kind: 'num', value: (row) => row[name], draw: (row) => brief(row[name]) });
  return [
    {
      title: 'Owner',
      head: true,
      kind: 'name',
      value: ({ owner }) => owner,
      draw: ({ owner }) => jobsLink({ owner }, cut(owner)),
    },
    {
      title: 'Stands',
      kind: 'tight',
      value: ({ paused }) => paused,
      draw: ({ paused }) => (paused ? state('paused') : state('alive', 'takes turns')),
    },
    number('Weight', 'weight'),
    ...(boundTo() ? [] : [{ title: 'Turns, 5 min', kind: 'num', value: turnsOf }]),
    {
      title: 'Backlog of quota',
      kind: 'num',
      value: ({ backlog, quota }) => [backlog, quota],
      draw: ({ backlog, quota }) => `${count(backlog)} of ${brief(quota)}`,
    },
    number('Ready', 'ready'),
    number('Running', 'running'),
    number('Waiting', 'waiting'),
    number('Done', 'done'),
    number('Dead', 'dead'),
    {
      title: 'Actions',
      kind: 'acts',
      value: ({ owner, paused, weight, quota }) => [owner, paused, weight, quota],
      draw: (row) => actions(row, reload),
    },
  ];
}

/** An owner's part of all starts of the last minutes. Owners without a place of their own in the pulses have none here. */
function turnsOf({ owner }) {
  const starts = recent().flatMap(({ owners, seconds }) =>
    owners.map(([name, perSecond]) => [name, perSecond * seconds]),
  );
  const sum = (entries) => entries.reduce((all, [, value]) => all + value, 0);
  return percent(sum(starts.filter(([name]) => name === owner)), sum(starts));
}

function actions(row, reload) {
  const { owner, paused } = row;
  const change = action('Change', { label: `Change weight and quota of ${owner}`, work: () => askChange(row, reload) });
  return actionRow(
    pauseAction(`Owner ${owner}`, paused, (verb) => post(`${at`/owners/${owner}`}/${verb}`), reload),
    change,
  );
}

async function askChange({ owner, weight, quota }, reload) {
  const input = (name, value) => h('input', { name, inputmode: 'numeric', required: true, value });
  const answer = await dialog({
    title: `Change ${owner}`,
    body: [
      field('Weight', input('weight', weight), 'An owner with weight 2 gets twice the turns of one with weight 1.'),
      field('Quota', input('quota', quota), 'How many unfinished jobs the owner may have; more are refused.'),
    ],
    confirm: 'Save',
    act: (data) =>
      patch(at`/owners/${owner}`, { weight: whole(data, 'weight', 'Weight'), quota: whole(data, 'quota', 'Quota') }),
  });
  if (answer) {
    say(`${owner} now has weight ${answer.weight} and a quota of ${count(answer.quota)}.`);
    reload();
  }
}
