// One batch: how far it is, and what it came to.

import { action } from '/assets/app/act.js';
import { fill, h } from '/assets/kit/dom.js';
import { shareMeter } from '/assets/kit/meter.js';
import { count } from '/assets/kit/number.js';
import { part } from '/assets/kit/part.js';
import { facts, link, notice } from '/assets/kit/parts.js';
import { describe } from '/assets/kit/say.js';
import { table } from '/assets/kit/table.js';
import { ago, span } from '/assets/kit/time.js';
import { pointsCharts, rowsChart, winChart } from './charts.js';
import { NOTHING, batchState, decimal, eventTime, isOver, percent, teamName } from './words.js';

export function batch({ element, actions, api, id }) {
  const progress = part(h('section.card'));
  const results = h('div.page', { hidden: true });
  element.append(progress.element, results);
  const path = api.at`/bingo/batches/${id}`;
  let shown = false;

  const reload = api.keepFresh(
    async () => {
      if (shown) return;
      const status = await api.get(path);
      document.querySelector('h1').textContent = status.name;
      document.title = `${status.name} – Turnwise`;
      progress.show(status, () => about(status));
      actions(buttons(status, api, path, () => reload()));
      if (!isOver(status)) return;
      shown = true;
      try {
        show(results, await api.get(`${path}/results`), await duration(api, path), api, path);
      } catch (problem) {
        fill(results, notice('warning', describe(problem)));
      }
      results.hidden = false;
    },
    { when: (event) => event.batch === id || event.what === 'thinned', calm: 2_000 },
  );
}

async function duration(api, path) {
  const { text } = await api.get(`${path}/scenario`);
  return JSON.parse(text).duration_seconds;
}

function buttons(status, api, path, reload) {
  const again = `/apps/bingo/new?${new URLSearchParams({ from: status.id, runs: status.runs, seed: status.seed })}`;
  const cancel =
    !isOver(status) &&
    action('Cancel', {
      slim: false,
      danger: true,
      ask: {
        title: `Cancel ${status.name}?`,
        text: 'Runs that have not begun are left out. What was simulated is merged all the same.',
        confirm: 'Cancel the batch',
      },
      work: () => api.post(`${path}/cancel`),
      done: 'The batch is being cancelled.',
      after: reload,
    });
  return [cancel, h('a.button', { href: again }, 'Run again'), h('a.button', { href: '/apps/bingo/' }, 'All batches')].filter(
    Boolean,
  );
}

function about(status) {
  const left = status.seconds_left === null ? 'not known yet' : `about ${span(status.seconds_left * 1e6)}`;
  return [
    h('div.card-head', null, batchState(status), status.message && h('span.soft', null, status.message)),
    !isOver(status) &&
      shareMeter(
        status.ended_runs,
        status.runs,
        h('span', null, `about ${count(status.ended_runs)} of ${count(status.runs)} runs`),
      ),
    facts([
      ['Runs', count(status.runs)],
      ['Failed runs', status.failed_runs > 0 ? count(status.failed_runs) : null],
      ['Runs/s', count(Math.round(status.runs_per_s))],
      [isOver(status) ? 'Took' : 'Time left', isOver(status) ? span(status.seconds * 1e6) : left],
      ['Seed', h('code', null, status.seed)],
      ['Scenario', status.scenario],
      ['Owner', status.owner],
      ['Started', ago(status.started)],
      ['Jobs', link(`/batches/${status.id}`, `${count(status.jobs)}: show the batch`)],
    ]),
  ];
}

function show(place, { summary, simulated, failures, failed_runs }, seconds, api, path) {
  const { teams, runs } = summary;
  if (runs === 0) {
    fill(place, failed(failures, failed_runs), notice('warning', 'No run was simulated: there is nothing to show.'));
    return;
  }
  const card = (title, ...content) => h('section.card', null, h('h2', null, title), content);
  fill(
    place,
    failed(failures, failed_runs),
    card('Who wins', winChart(teams), h('p.soft.small', null, 'A win that several teams share counts in parts. The mark holds the true rate in 95 of 100 cases.')),
    h('h2', null, 'Points at the end'),
    pointsCharts(teams, runs),
    teamsTable(teams),
    card(
      'When rows are unlocked',
      h('p.soft.small', null, 'From the 5th to the 95th percentile, with a mark at the median; paler where fewer runs get there.'),
      rowsChart(teams, seconds),
    ),
    details('Rows in numbers', () => rowsTable(teams)),
    details('Tiles in numbers', () => tilesTable(teams)),
    oneRun(simulated, api, path),
    card(
      'Every single run',
      h(
        'div.row',
        null,
        h('a.button', { href: `/api/v1${path}/runs?format=csv`, download: true }, 'CSV'),
        h('a.button', { href: `/api/v1${path}/runs?format=json`, download: true }, 'JSON, a run in a line'),
        h('span.soft.small', null, 'They are kept as long as finished jobs are.'),
      ),
    ),
  );
}

function failed(failures, count_failed) {
  if (failures.length === 0) return null;
  const lines = failures.slice(0, 10).map(({ run, error }) => h('li', null, h('code', null, run), ': ', error));
  const words = `${count(count_failed)} runs failed. The figures are those of the others.`;
  return notice('warning', h('p', null, words), h('ul.faults', null, lines));
}

function teamsTable(teams) {
  const number = (title, value) => ({ title, kind: 'num', value });
  const list = table({
    caption: 'Teams',
    captionSeen: true,
    key: ({ key }) => key,
    columns: [
      { title: 'Team', head: true, kind: 'name', value: ({ name }) => name, draw: (team) => teamName(team, teams.indexOf(team)) },
      { title: 'Strategy', value: ({ strategy }) => strategy },
      number('Wins', ({ wins }) => percent(wins.rate)),
      number('Points', ({ points }) => decimal(points.mean)),
      number('± 95 %', ({ points: { ci95 } }) => (ci95 ? decimal((ci95.high - ci95.low) / 2) : NOTHING)),
      number('Spread', ({ points }) => decimal(points.sd)),
      number('Least', ({ points }) => points.min),
      number('5 %', ({ points }) => points.p5),
      number('Median', ({ points }) => points.p50),
      number('95 %', ({ points }) => points.p95),
      number('Most', ({ points }) => points.max),
      number('Tiles', ({ tiles }) => decimal(tiles.mean)),
      number('Last row', ({ row_reached }) => decimal(row_reached.mean + 1)),
    ],
  });
  list.show(teams);
  return list.element;
}

const times = [
  { title: 'Share of runs', kind: 'num', value: ({ share }) => percent(share) },
  { title: '5 %', kind: 'num', value: ({ p5 }) => eventTime(p5) },
  { title: 'Median', kind: 'num', value: ({ p50 }) => eventTime(p50) },
  { title: '95 %', kind: 'num', value: ({ p95 }) => eventTime(p95) },
];

function rowsTable(teams) {
  const list = table({
    caption: 'When rows are unlocked',
    key: ({ key }) => key,
    columns: [
      { title: 'Row', head: true, value: ({ row }) => row },
      { title: 'Team', value: ({ team }) => team.name, draw: ({ team, index }) => teamName(team, index) },
      ...times,
    ],
  });
  const rows = teams[0].rows.flatMap((_, row) =>
    teams.map((team, index) => ({ key: `${row} ${team.key}`, row: row + 1, team, index, ...team.rows[row] })),
  );
  list.show(rows);
  return list.element;
}

function tilesTable(teams) {
  const list = table({
    caption: 'When tiles are complete',
    key: ({ key }) => key,
    columns: [
      { title: 'Tile', head: true, value: ({ tile }) => `${tile.name} (row ${tile.row + 1}, ${tile.points} points)` },
      { title: 'Team', value: ({ team }) => team.name, draw: ({ team, index }) => teamName(team, index) },
      ...times,
    ],
  });
  const rows = teams[0].tile_times.flatMap((tile, at) =>
    teams.map((team, index) => ({ key: `${tile.key} ${team.key}`, tile, team, index, ...pick(team.tile_times[at]) })),
  );
  list.show(rows);
  return list.element;
}

const pick = ({ share, p5, p50, p95 }) => ({ share, p5, p50, p95 });

/** Long tables are made when somebody looks at them. */
function details(title, make) {
  const element = h('details.card', null, h('summary', null, title));
  element.addEventListener('toggle', () => element.children.length === 1 && element.append(make()), { once: true });
  return element;
}

/** One run again, event by event. */
function oneRun(runs, api, path) {
  const number = h('input', { name: 'run', inputmode: 'numeric', value: '0', 'aria-label': 'Number of the run', size: 12 });
  const told = h('div', { role: 'status' });
  const form = h(
    'form.row',
    null,
    h('label', null, 'Run ', number),
    h('button', { type: 'submit' }, 'Tell it'),
    h('span.soft.small', null, `0 to ${count(runs - 1)}, played again from its seed`),
  );
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    try {
      fill(told, timeline(await api.get(`${path}/runs/${encodeURIComponent(number.value.trim())}`)));
    } catch (problem) {
      fill(told, notice('critical', describe(problem)));
    }
  });
  return h('section.card', null, h('h2', null, 'One run'), form, told);
}

const TOLD = ['tile', 'row', 'online', 'offline'];

function timeline({ run, teams }) {
  return h(
    'div.grid-2.runs-told',
    null,
    teams.map((team, index) => {
      const { points, tiles } = run.teams[index];
      const moments = team.moments.filter(({ what }) => TOLD.includes(what));
      return h(
        'div',
        null,
        h('h3', null, teamName(team, index)),
        h('p.soft', null, `${points} points, ${count(tiles)} tiles, ${count(team.moments.length + team.left_out)} moments`),
        h('ol.timeline', null, moments.slice(0, 400).map(moment)),
      );
    }),
  );
}

function moment(one) {
  const words = {
    tile: () => [h('strong', null, one.tile), ` is complete: ${one.points} points`],
    row: () => `Row ${one.row + 1} is unlocked`,
    online: () => `${one.player} comes`,
    offline: () => `${one.player} goes`,
  };
  const good = ['tile', 'row'].includes(one.what) ? 'good' : null;
  return h('li', { class: good }, h('span.soft', null, eventTime(one.second)), h('span.text', null, words[one.what]()));
}
