// Charts of results. Each says in words what it shows, and every number is in the tables too.

import { h, svg } from '/assets/kit/dom.js';
import { count } from '/assets/kit/number.js';
import { decimal, eventTime, hue, percent, teamName } from './words.js';

const WIDTH = 600;
const HEIGHT = 100;
const TIMELINES = 7; // teams with a colour of their own

/** How many points a team ends with: a bar for each number, on one scale for all teams. */
export function pointsCharts(teams, runs) {
  const values = teams.flatMap(({ histogram }) => histogram.map(([points]) => points));
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const top = Math.max(...teams.flatMap(({ histogram }) => histogram.map(([, times]) => times)));
  return h(
    'div.plots',
    null,
    teams.map((team, index) => pointsChart(team, index, runs, { low, high, top })),
  );
}

function pointsChart(team, index, runs, { low, high, top }) {
  const slot = WIDTH / (high - low + 1);
  const { points } = team;
  const words = h('div.plot-times');
  const range = () => words.replaceChildren(h('span', null, `${low}`), h('span', null, 'points'), h('span', null, `${high}`));
  const bars = team.histogram.map(([value, times]) => {
    const height = Math.max(1, (times / top) * (HEIGHT - 4));
    return svg('rect', {
      class: hue(index),
      x: (value - low) * slot + slot * 0.08,
      y: HEIGHT - height,
      width: slot * 0.84,
      height,
    });
  });
  const at = (value) => (value - low + 0.5) * slot;
  const mean = svg('line.mark', { x1: at(points.mean), x2: at(points.mean), y1: 0, y2: HEIGHT });
  const grid = svg('line.grid', { x1: 0, x2: WIDTH, y1: HEIGHT - 0.5, y2: HEIGHT - 0.5 });
  const label = `${team.name}: ${decimal(points.mean)} points on average, half of the runs between ${points.p25} and ${points.p75}`;
  const drawing = svg(
    'svg',
    { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: 'none', role: 'img', 'aria-label': label },
    grid,
    bars,
    mean,
  );
  drawing.addEventListener('pointermove', (event) => {
    const box = drawing.getBoundingClientRect();
    const value = low + Math.floor(((event.clientX - box.left) / box.width) * (high - low + 1));
    const times = team.histogram.find(([points]) => points === value)?.[1] ?? 0;
    words.replaceChildren(h('strong', null, `${value} points in ${count(times)} runs, ${percent(times / runs)}`));
  });
  drawing.addEventListener('pointerleave', range);
  range();
  return h(
    'section.card.plot',
    null,
    h('div.plot-head', null, h('h3', null, teamName(team, index)), h('span.now', null, decimal(points.mean))),
    h('p.soft.small', null, `± ${decimal(points.sd)}; middle half ${points.p25} to ${points.p75}`),
    h('div.plot-field', null, drawing),
    words,
  );
}

/** How often each team wins, with the bounds that hold the true rate in 95 of 100 cases. */
export function winChart(teams) {
  const rows = teams.map((team, index) => {
    const { rate, ci95 } = team.wins;
    const bar = h('i', { class: hue(index), style: { width: `${100 * rate}%` } });
    const bounds = h('b.bounds', { style: { left: `${100 * ci95.low}%`, width: `${100 * (ci95.high - ci95.low)}%` } });
    return h(
      'li',
      null,
      teamName(team, index),
      h('div.win-bar', { 'aria-hidden': 'true' }, bar, bounds),
      h(
        'span.num',
        null,
        h('strong', null, percent(rate)),
        h('span.soft.small', null, ` ${percent(ci95.low)} to ${percent(ci95.high)}`),
      ),
    );
  });
  return h('ul.wins', null, rows);
}

/** When rows are unlocked: a line from the 5th to the 95th percentile, and a mark at the median, for each team. */
export function rowsChart(teams, duration) {
  const shown = teams.slice(0, TIMELINES);
  const rows = shown[0]?.rows.length ?? 0;
  const band = 6 * shown.length + 6;
  const height = rows * band;
  const x = (second) => (second / duration) * WIDTH;
  const parts = [];
  for (let row = 0; row < rows; row += 1) {
    const y = row * band;
    parts.push(svg('line.grid', { x1: 0, x2: WIDTH, y1: y + band, y2: y + band }));
    shown.forEach((team, index) => {
      const { p5, p50, p95, share } = team.rows[row];
      if (p50 === null || p50 === undefined) return;
      const top = y + 4 + index * 6;
      const words = `${team.name}, row ${row + 1}: unlocked in ${percent(share)} of the runs, median ${eventTime(p50)}, from ${eventTime(p5)} to ${eventTime(p95)}`;
      parts.push(
        svg(
          'g',
          { class: hue(index), opacity: 0.35 + 0.65 * share },
          svg('title', null, words),
          svg('rect', { x: x(p5), y: top + 1, width: Math.max(1, x(p95) - x(p5)), height: 2, opacity: 0.55 }),
          svg('rect', { x: Math.max(0, x(p50) - 2), y: top, width: 4, height: 4 }),
        ),
      );
    });
  }
  const label = `When each of ${rows} rows is unlocked, for ${shown.map(({ name }) => name).join(', ')}: the table below has the numbers.`;
  const drawing = svg(
    'svg',
    { viewBox: `0 0 ${WIDTH} ${height}`, preserveAspectRatio: 'none', role: 'img', 'aria-label': label },
    parts,
  );
  drawing.style.height = `${height}px`;
  const names = Array.from({ length: rows }, (_, row) => {
    const name = h('span', null, `${row + 1}`);
    name.style.height = `${band}px`;
    return name;
  });
  const quarters = [0, 0.25, 0.5, 0.75, 1].map((part) => h('span', null, eventTime(part * duration)));
  return h(
    'div',
    null,
    h('div.rows-chart', null, h('div.row-names', { 'aria-hidden': 'true' }, names), h('div.rows-field', null, drawing)),
    h('div.plot-times.rows-times', { 'aria-hidden': 'true' }, quarters),
    h('div.legend', null, shown.map((team, index) => teamName(team, index))),
    teams.length > TIMELINES && h('p.soft.small', null, `The first ${TIMELINES} of ${teams.length} teams.`),
  );
}
