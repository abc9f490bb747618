// Two batches side by side: which differences are more than luck?

import { fill, h } from '/assets/kit/dom.js';
import { count } from '/assets/kit/number.js';
import { empty, link, notice } from '/assets/kit/parts.js';
import { describe } from '/assets/kit/say.js';
import { state } from '/assets/kit/state.js';
import { table } from '/assets/kit/table.js';
import { NOTHING, decimal, percent, teamName } from './words.js';

// What is compared, how it is shown, and what a reader counts from: rows begin with the first.
const MEASURES = [
  ['win_rate', 'Win rate', percent, 0],
  ['points', 'Points', decimal, 0],
  ['tiles', 'Tiles', decimal, 0],
  ['row_reached', 'Last row', decimal, 1],
];

export async function comparison({ element, actions, api }) {
  actions(h('a.button', { href: '/apps/bingo/' }, 'All batches'));
  const asked = new URLSearchParams(location.search);
  const [first, second] = [asked.get('first'), asked.get('second')];
  if (!first || !second) {
    element.append(empty('Two batches are compared.', 'Choose two in the list of batches, and press “Compare two”.'));
    return;
  }
  try {
    const [one, other, compared] = await Promise.all([
      api.get(api.at`/bingo/batches/${first}`),
      api.get(api.at`/bingo/batches/${second}`),
      api.get('/bingo/compare', { first, second }),
    ]);
    const bounded = compared.teams.some(({ points }) => points.clear !== null);
    const note = bounded && h('p.soft.small', null, 'In 95 of 100 comparisons the bounds hold every true difference of the table.');
    fill(element, heads(one, other), differences(compared.teams), note, missing(compared));
  } catch (problem) {
    fill(element, notice('critical', describe(problem)));
  }
}

function heads(one, other) {
  const head = (word, batch) =>
    h(
      'section.card',
      null,
      h('h2', null, `${word}: `, link(`/apps/bingo/batch/${batch.id}`, batch.name)),
      h('p.soft', null, `${batch.scenario}, ${count(batch.runs)} runs, seed `, h('code', null, batch.seed)),
    );
  return h('div.grid-2', null, head('First', one), head('Second', other));
}

function differences(teams) {
  const signed = (shown) => (value) => {
    const text = shown(Math.abs(value));
    return Number.parseFloat(text) === 0 ? text : `${value > 0 ? '+' : '−'}${text}`;
  };
  const known = (value, shown) => (value === null ? NOTHING : shown(value));
  const number = (title, value) => ({ title, kind: 'num', value });
  const list = table({
    caption: 'Differences, team by team',
    captionSeen: true,
    key: ({ key }) => key,
    empty: () => empty('No team is in both.', 'Teams are matched by their keys in the scenario.'),
    columns: [
      { title: 'Team', head: true, kind: 'name', value: ({ team }) => team.name, draw: ({ team, index }) => teamName(team, index) },
      { title: 'What', value: ({ title }) => title },
      number('First', ({ first, from, shown }) => known(first, (value) => shown(from + value))),
      number('Second', ({ second, from, shown }) => known(second, (value) => shown(from + value))),
      number('Difference', ({ difference, shown }) => known(difference, signed(shown))),
      number('Bounds', ({ low, high, shown }) => known(low, () => `${signed(shown)(low)} to ${signed(shown)(high)}`)),
      {
        title: 'Verdict',
        value: ({ clear, difference }) => [clear, difference > 0],
        draw: ({ clear, difference }) => {
          if (clear === null) return state('waiting', 'too few runs');
          return clear ? state('done', difference > 0 ? 'the second is higher' : 'the first is higher') : state('waiting', 'may be luck');
        },
      },
    ],
  });
  const rows = teams.flatMap((team, index) =>
    MEASURES.map(([what, title, shown, from]) => ({ key: `${team.key} ${what}`, team, index, title, shown, from, ...team[what] })),
  );
  list.show(rows);
  return list.element;
}

function missing({ only_first, only_second }) {
  const say = (word, keys) => keys.length > 0 && h('p.soft', null, `Only in the ${word}: ${keys.join(', ')}.`);
  return [say('first', only_first), say('second', only_second)];
}
