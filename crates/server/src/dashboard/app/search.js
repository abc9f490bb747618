// The search field in the bar. It takes an id, `field:value` pairs, a state, or the name of a kind or an owner.

import { h } from '../kit/dom.js';
import { STATES } from '../kit/state.js';
import { say, sayProblem } from '../kit/say.js';
import { at, get } from './api.js';
import { go } from './router.js';

const FIELDS = ['state', 'kind', 'owner', 'batch', 'lane'];
const ID = /^[0-9a-z]{13}$/i;

/** What a search means: `{ id }` or `{ filters }`. `kinds` are the names that are known as kinds. */
export function understand(text, kinds = []) {
  const words = text.trim().split(/\s+/).filter(Boolean);
  if (words.length === 1 && ID.test(words[0]) && !kinds.includes(words[0])) return { id: words[0] };
  const filters = {};
  for (const word of words) {
    const [, field, value] = /^(\w+):(.+)$/.exec(word) ?? [];
    if (FIELDS.includes(field)) filters[field] = value;
    else if (STATES.includes(word)) filters.state = word;
    else if (kinds.includes(word)) filters.kind = word;
    else filters.owner = word;
  }
  return { filters };
}

/** The search form of the bar. */
export function searchForm() {
  const hint = 'Search: an id, kind:echo, owner:acme, dead…';
  const input = h('input', {
    type: 'search',
    name: 'search',
    placeholder: hint,
    'aria-label': hint,
    'aria-keyshortcuts': '/',
    autocomplete: 'off',
    spellcheck: 'false',
  });
  const search = async (event) => {
    event.preventDefault();
    if (!input.value.trim()) return;
    try {
      await goTo(input.value);
      input.value = '';
    } catch (problem) {
      sayProblem(problem);
    }
  };
  return h('form.bar-search', { role: 'search', on: { submit: search } }, input);
}

async function goTo(text) {
  const { kinds } = await get('/kinds');
  const { id, filters } = understand(
    text,
    kinds.map(({ name }) => name),
  );
  if (!id) return go(`/jobs?${new URLSearchParams(filters)}`);
  if (await exists(at`/jobs/${id}`)) return go(at`/jobs/${id}`);
  if (await exists(at`/batches/${id}`)) return go(at`/batches/${id}`);
  say(`Nothing has the id ${id}. Showing the jobs of an owner of that name.`);
  return go(`/jobs?${new URLSearchParams({ owner: id })}`);
}

async function exists(path) {
  try {
    await get(path);
    return true;
  } catch (problem) {
    if (problem.status === 404 || problem.status === 400) return false;
    throw problem;
  }
}
