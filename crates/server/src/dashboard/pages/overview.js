// The overview: is everything well, what happens right now, and what needs a person.

import { get } from '../app/api.js';
import { extensions, panelCard } from '../app/extensions.js';
import { calmly, keepFresh } from '../app/fresh.js';
import { live } from '../app/live.js';
import { recent } from '../app/rates.js';
import { learnTime, now } from '../kit/clock.js';
import { h } from '../kit/dom.js';
import { brief, count } from '../kit/number.js';
import { part } from '../kit/part.js';
import { cut, empty, jobsLink, link, notice, prose } from '../kit/parts.js';
import { Plot, roundTop } from '../kit/plot.js';
import { state } from '../kit/state.js';
import { table } from '../kit/table.js';
import { ago, span } from '../kit/time.js';
import { kindState } from './kind-state.js';

const LEAST = 60_000_000; // the plots begin with a minute and grow with what is known
const TILES = ['running', 'ready', 'retrying', 'scheduled', 'waiting', 'dead'];
const WHERE = { dead_letters: ['/dead', 'Look at the dead letters'], paused_kind: ['/kinds', 'Go to kinds'] };

export async function mount(element, { signal }) {
  const alarms = part(h('section.notices', { 'aria-label': 'Alarms', 'aria-live': 'polite' }));
  const tiles = tileRow();
  const plots = ratePlots();
  const kinds = kindTable();
  const panels = h('div.grid-2');
  element.append(alarms.element, tiles.element, plots.element, kinds.element, panels);

  let oldest = null;
  const drawPulse = calmly(() => {
    plots.show();
    tiles.showOldest(oldest);
  });
  live.on(
    'pulse',
    ({ totals }) => {
      tiles.show(totals);
      drawPulse();
    },
    signal,
  );
  drawPulse();

  const refresh = async () => {
    const overview = await get('/overview', {}, { signal });
    learnTime(overview.time);
    oldest = Math.min(...overview.kinds.map((kind) => kind.oldest_ready ?? Infinity));
    tiles.show(overview.totals);
    tiles.showOldest(oldest);
    alarms.show([overview.alarms, Object.values(overview.totals).every((value) => value === 0)], alarmBoxes);
    kinds.show(overview.kinds);
  };
  keepFresh(element, signal, refresh, { calm: 3_000 });

  const added = await extensions();
  if (!signal.aborted) panels.append(...added.filter(({ panel }) => panel).map((one) => panelCard(one, signal)));
}

function tileRow() {
  const figures = Object.fromEntries(TILES.map((name) => [name, h('span.figure', null, '–')]));
  const age = h('span.figure', null, '–');
  const tile = (name) =>
    h(
      'a.tile',
      { href: name === 'dead' ? '/dead' : `/jobs?state=${name}` },
      figures[name],
      h('span.word', null, state(name)),
    );
  const oldestTile = h('div.tile', null, age, h('span.word', null, state('scheduled', 'oldest ready job')));
  const links = TILES.map(tile);
  links.splice(2, 0, oldestTile);
  return {
    element: h('section.tiles', { 'aria-label': 'Jobs by state' }, links),
    show(totals) {
      for (const [name, figure] of Object.entries(figures)) {
        figure.textContent = brief(totals[name]);
        figure.title = count(totals[name]);
      }
    },
    showOldest: (since) =>
      (age.textContent = Number.isFinite(since) && since !== null ? span(Math.max(0, now() - since)) : '–'),
  };
}

function ratePlots() {
  const made = {
    submitted: new Plot('Submitted'),
    started: new Plot('Started'),
    done: new Plot('Done'),
    failed: new Plot('Failed attempts', { tone: 'bad' }),
  };
  return {
    element: h(
      'section.plots',
      { 'aria-label': 'Rates of the last five minutes' },
      Object.values(made).map((each) => each.element),
    ),
    show() {
      const points = recent();
      const to = points.at(-1)?.at ?? now();
      const from = Math.min(points[0]?.at ?? to, to - LEAST);
      const names = Object.keys(made);
      const top = roundTop(points.flatMap((point) => names.map((name) => point[name])));
      for (const name of names)
        made[name].show(
          points.map((point) => ({ at: point.at, value: point[name] })),
          { from, to, top },
        );
    },
  };
}

function alarmBoxes([alarms, nothingYet]) {
  if (nothingYet)
    return empty(
      'Nothing has been submitted yet.',
      'Submit a first job and watch it pass by:',
      'turnwise submit echo \'{"hello":"world"}\'',
    );
  if (alarms.length === 0) return notice('good', 'No alarms: every kind with ready jobs has a worker.');
  return alarms.map(({ severity, text, code, kind }) => {
    const [href, what] =
      WHERE[code] ??
      (kind ? [`/jobs?${new URLSearchParams({ kind })}`, 'Look at its jobs'] : ['/nodes', 'Go to nodes']);
    return notice(
      severity,
      h('strong', null, `${severity === 'critical' ? 'Critical' : 'Warning'}: `),
      prose(`${text}. `),
      link(href, what),
    );
  });
}

function kindTable() {
  const number = (title, name) => ({
    title,
    kind: 'num',
    value: (kind) => kind.totals[name],
    draw: (kind) => brief(kind.totals[name]),
  });
  return table({
    caption: 'Kinds',
    captionSeen: true,
    key: (kind) => kind.name,
    columns: [
      {
        title: 'Kind',
        head: true,
        kind: 'name',
        value: (kind) => kind.name,
        draw: (kind) => jobsLink({ kind: kind.name }, cut(kind.name)),
      },
      { title: 'Stands', kind: 'tight', value: (kind) => [kind.paused, kind.alarm], draw: kindState },
      number('Ready', 'ready'),
      {
        title: 'Oldest ready',
        kind: 'num',
        value: (kind) => kind.oldest_ready,
        draw: (kind) => ago(kind.oldest_ready),
      },
      number('Running', 'running'),
      number('Retrying', 'retrying'),
      number('Done', 'done'),
      number('Dead', 'dead'),
    ],
    empty: () => empty('No kind is known yet.', 'A kind appears when a worker declares it or a job names it.'),
  });
}
