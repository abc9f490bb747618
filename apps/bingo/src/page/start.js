// A new batch: the scenario in an editor that is checked while one writes, how many runs, and the seed.

import { fill, h } from '/assets/kit/dom.js';
import { choice, field } from '/assets/kit/form.js';
import { count, many } from '/assets/kit/number.js';
import { notice } from '/assets/kit/parts.js';
import { describe, sayProblem } from '/assets/kit/say.js';

const AFTER_TYPING = 400;

export async function start({ element, actions, api }) {
  actions(h('a.button', { href: '/apps/bingo/' }, 'All batches'));
  const asked = new URLSearchParams(location.search);
  const text = h('textarea.scenario', { spellcheck: 'false', autocomplete: 'off', rows: 24 });
  const runs = h('input', { inputmode: 'numeric', value: asked.get('runs') ?? '100000', autocomplete: 'off' });
  const seed = h('input', { value: asked.get('seed') ?? anySeed(), autocomplete: 'off', maxlength: 256 });
  const name = h('input', { placeholder: 'the name in the scenario', autocomplete: 'off', maxlength: 256 });
  const found = h('div', { role: 'status' });
  const begin = h('button.first', { type: 'submit' }, 'Start');
  const problem = h('div', { role: 'alert' });
  const samples = await api.get('/bingo/scenarios');
  const from = choice('sample', [['', 'Choose one…'], ...samples.map((sample) => [sample.name, sample.title])], '');

  const form = h(
    'form.start',
    null,
    h(
      'section.card.editor',
      null,
      field('Scenario', text, 'JSON, as docs/bingo.md describes it. It is checked while you write.'),
      found,
    ),
    h(
      'section.card.settings',
      null,
      h('h2', null, 'Batch'),
      field('Begin with a scenario that ships with Turnwise', from),
      field('Runs', runs, 'A million runs hold the win rate to about ± 0.1 %.'),
      field('Seed', seed, 'The same scenario and seed give the same results, run by run.'),
      field('Name', name),
      problem,
      h('div.row', null, begin),
    ),
  );
  element.append(form);

  let newest = 0;
  let timer;
  const check = async () => {
    const number = (newest += 1);
    if (text.value.trim() === '') return fill(found, h('p.soft', null, 'Write or choose a scenario.'));
    try {
      const checked = await api.post('/bingo/check', { scenario: text.value });
      if (number === newest) fill(found, verdict(checked));
    } catch (error) {
      if (number === newest) fill(found, notice('critical', describe(error)));
    }
  };
  text.addEventListener('input', () => {
    clearTimeout(timer);
    timer = setTimeout(check, AFTER_TYPING);
  });
  from.addEventListener('change', async () => {
    if (from.value === '') return;
    text.value = (await api.get(api.at`/bingo/scenarios/${from.value}`)).text;
    check();
  });
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    if (begin.disabled) return;
    begin.disabled = true;
    problem.replaceChildren();
    try {
      const { batch } = await api.post('/bingo/batches', wish({ text, runs, seed, name }));
      location.assign(`/apps/bingo/batch/${batch}`);
    } catch (error) {
      fill(problem, notice('critical', h('div.faults', null, describe(error))));
      begin.disabled = false;
    }
  });

  try {
    const again = asked.get('from');
    if (again) text.value = (await api.get(api.at`/bingo/batches/${again}/scenario`)).text;
  } catch (error) {
    sayProblem(error);
  }
  check();
}

function wish({ text, runs, seed, name }) {
  const typed = runs.value.replaceAll(/[\s,_]/g, '');
  if (!/^\d{1,15}$/.test(typed)) throw new Error(`Runs: “${runs.value}” is not a whole number.`);
  return {
    scenario: text.value,
    runs: Number(typed),
    seed: seed.value,
    ...(name.value.trim() === '' ? {} : { name: name.value.trim() }),
  };
}

function verdict({ ok, name, teams, rows, tiles, faults, more }) {
  if (ok) {
    const about = `${name}: ${many(teams.length, 'team')}, ${many(rows, 'row')}, ${many(tiles, 'tile')}.`;
    const said = teams.slice(0, 12).map((team) => `${team.name} (${many(team.players, 'player')}, ${team.strategy})`);
    return notice('good', h('p', null, about), h('p.soft', null, said.join(' · ')));
  }
  const lines = faults.map(({ place, wrong }) => h('li', null, place && h('code', null, place), place && ': ', wrong));
  const rest = more > 0 && h('p.soft', null, `and ${count(more)} more`);
  return notice('critical', h('p', null, many(faults.length + more, 'fault')), h('ul.faults', null, lines), rest);
}

/** A seed that nobody has used. */
function anySeed() {
  return [...crypto.getRandomValues(new Uint8Array(6))].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}
