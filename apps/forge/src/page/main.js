// The forge: every lane with who waits where, what ended last, and one request in full.

import { frame } from '/assets/app/frame.js';
import { choice, field } from '/assets/kit/form.js';
import { empty } from '/assets/kit/parts.js';
import { mountRequest } from './request.js';

const WORDS = { Queued: 'waiting', Processing: 'running', Retrying: 'retrying', Completed: 'done', Failed: 'dead', Cancelled: 'cancelled' };
const GLYPHS = { done: 'done', running: 'running', failed: 'dead', waiting: 'waiting' };

const { element, actions, api } = await frame('Forge');
const { h, fill, get, post, keepFresh, table, state, ago, dialog, say } = api;

const chosen = new URLSearchParams(location.search).get('request');
if (chosen) {
  actions(h('a', { href: '/apps/forge/' }, 'All requests'));
  mountRequest(element, api, chosen, { standing, phases });
} else {
  mountLine();
}

function standing(status) {
  return state(WORDS[status], status);
}

function phases(list) {
  return h(
    'ol.steps',
    null,
    list.map(({ phase, state: stands }) => h('li', null, state(GLYPHS[stands], `${phase} ${stands}`))),
  );
}

function requestLink({ job, request }) {
  return h('a', { href: `/apps/forge/?request=${encodeURIComponent(job)}` }, h('span.cut', { title: request }, request));
}

function columns(own) {
  const at = ({ phases: list }) => list.find(({ state: stands }) => ['running', 'failed'].includes(stands))?.phase ?? '–';
  const done = ({ phases: list }) => list.filter(({ state: stands }) => stands === 'done').length;
  return [
    { title: 'Request', head: true, kind: 'name', value: ({ job, request }) => [job, request], draw: requestLink },
    ...own,
    { title: 'Service', kind: 'name', value: ({ service }) => service },
    { title: 'Owner', kind: 'name', value: ({ owner }) => owner },
    { title: 'Stands', value: ({ status }) => status, draw: ({ status }) => standing(status) },
    { title: 'Phase', value: at },
    { title: 'Phases done', kind: 'num', value: done, draw: (row) => `${done(row)} of 5` },
    { title: 'Attempt', kind: 'num', value: ({ attempt, attempts }) => `${attempt} of ${attempts}` },
    { title: 'Since', value: ({ since }) => since, draw: ({ since }) => ago(since) },
  ];
}

function mountLine() {
  const head = h('p.soft');
  const lanes = h('div.page');
  const tables = new Map();
  const recent = table({
    caption: 'What ended last',
    captionSeen: true,
    key: ({ job }) => job,
    columns: columns([]),
    empty: () => 'Nothing has ended yet.',
  });
  const nothing = empty('Nothing waits.', 'Hand in a request:', 'turnwise forge submit service.json');
  element.append(head, lanes, recent.element);

  const reload = keepFresh(
    async () => {
      const line = await get('/forge/queue');
      fill(head, told(line));
      for (const { lane, requests } of line.lanes) {
        if (!tables.has(lane)) tables.set(lane, laneTable(lane));
        tables.get(lane).show(requests);
      }
      const shown = line.lanes.map(({ lane }) => tables.get(lane).element);
      // A lane that stays where it is keeps the focus that is in it.
      const same = shown.length === lanes.childElementCount && shown.every((part, at) => lanes.children[at] === part);
      if (!same || shown.length === 0) fill(lanes, shown.length === 0 ? nothing : shown);
      recent.show(line.recent);
    },
    { when: (event) => event.kind === undefined || event.kind === 'forge.generate', calm: 5_000 },
  );
  actions(h('button.danger', { type: 'button', on: { click: () => clear(reload) } }, 'Clear…'));
}

function laneTable(lane) {
  const position = {
    title: 'Position',
    kind: 'num',
    value: ({ position: before }) => before,
    draw: ({ position: before }) => (before === 0 ? 'head' : String(before)),
  };
  return table({ caption: `Lane ${lane}`, captionSeen: true, key: ({ job }) => job, columns: columns([position]) });
}

function told({ order, leader, counts, more }) {
  const parts = [order === 'global' ? 'One at a time in the whole system.' : 'In order inside each service, side by side across services.'];
  if (leader) {
    const seconds = Math.round(leader.remaining_ms / 1000);
    parts.push(leader.holder ? ` ${leader.holder} leads, in term ${leader.term}, for ${seconds} s more.` : ' Nobody leads at the moment.');
  }
  if (counts) {
    const { waiting, active, delayed, failed, completed } = counts;
    parts.push(` ${waiting} waiting, ${active} active, ${delayed} delayed, ${failed} failed, ${completed} completed.`);
  }
  if (more) parts.push(' Only the first 200 are shown.');
  return parts;
}

async function clear(reload) {
  const what = choice('what', [
    ['waiting', 'Waiting: they are cancelled'],
    ['delayed', 'Delayed: they are cancelled'],
    ['failed', 'Failed: they are forgotten'],
    ['completed', 'Completed: they are forgotten'],
    ['all', 'All of these'],
  ]);
  const done = await dialog({
    title: 'Clear requests?',
    body: [field('Which', what, 'What runs is not touched. Commits and names stay as they are.')],
    confirm: 'Clear',
    danger: true,
    act: (data) => post('/forge/clear', { what: data.get('what') }),
  });
  if (!done) return;
  const { before, after, cleared } = done;
  const sum = (counts) => counts.waiting + counts.delayed + counts.failed + counts.completed;
  say(`Cleared ${cleared}: there were ${sum(before)}, and there are ${sum(after)}.`);
  reload();
}
