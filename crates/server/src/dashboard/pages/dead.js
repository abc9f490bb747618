// Dead letters: what failed for good, and a new life for it.

import { at, get, post } from '../app/api.js';
import { action } from '../app/act.js';
import { paged } from '../app/paged.js';
import { dialog } from '../kit/dialog.js';
import { h } from '../kit/dom.js';
import { field } from '../kit/form.js';
import { many } from '../kit/number.js';
import { empty } from '../kit/parts.js';
import { say } from '../kit/say.js';
import { table } from '../kit/table.js';
import { ago } from '../kit/time.js';
import { attempts, job, owner } from './job-columns.js';

const SHORT = 160;

export function mount(element, context) {
  const { signal, query } = context;
  const filters = { kind: query.get('kind') ?? '', owner: query.get('owner') ?? '' };
  element.append(filterForm(filters, () => page.restart()));
  const list = table({
    caption: 'Dead letters, newest first',
    key: ({ id }) => id,
    columns: columns(() => page.reload()),
    empty: () =>
      filters.kind || filters.owner
        ? empty('No dead letter fits these filters.')
        : empty('There are no dead letters.', 'A job that failed for good would be kept here with all its errors.'),
  });
  const load = async (cursor) => {
    const { jobs, next } = await get('/dead', { ...filters, cursor, limit: 50 }, { signal });
    return { rows: jobs, next };
  };
  const page = paged(element, context, {
    table: list,
    load,
    filters: () => filters,
    when: (event) => event.state === 'dead' || event.cause === 'replayed' || event.what === 'thinned',
  });
  context.actions(action('Replay many…', { slim: false, work: () => replayMany(filters, () => page.reload()) }));
}

function columns(reload) {
  return [
    job,
    owner,
    { title: 'Error', wide: true, value: ({ failure, error }) => [failure, error], draw: errorCell },
    attempts,
    { title: 'Died', kind: 'num', value: (row) => row.at, draw: (row) => ago(row.at) },
    { title: 'Actions', kind: 'acts', value: ({ id }) => id, draw: ({ id }) => replayOne(id, reload) },
  ];
}

function errorCell({ failure, error }) {
  const short = error.length > SHORT ? `${error.slice(0, SHORT)}…` : error;
  return h('div.error-cell', { title: error.slice(0, 1000) }, h('span.tag', null, failure), ' ', short);
}

function replayOne(id, reload) {
  return action('Replay', {
    label: `Replay ${id}`,
    work: () => post(`${at`/jobs/${id}`}/replay`),
    done: ({ state }) => `The job ${id} has a new life. It is ${state}.`,
    after: reload,
  });
}

/** First a dry run that counts, then the question, then the replay. */
async function replayMany({ kind, owner: whose }, reload) {
  const chosen = { kind: kind || undefined, owner: whose || undefined };
  const { count } = await post('/dead/replay', { ...chosen, dry_run: true });
  const which =
    [kind && `of the kind ${kind}`, whose && `of the owner ${whose}`].filter(Boolean).join(' ') ||
    'of every kind and owner';
  if (count === 0) {
    say(`There are no dead letters ${which}.`);
    return;
  }
  const answer = await dialog({
    title: `Replay ${many(count, 'dead letter')}?`,
    body: [
      h(
        'p',
        null,
        `${many(count, 'job')} ${which} will run again, each with all its attempts. If what killed them is not mended, they will die again.`,
      ),
    ],
    confirm: `Replay ${many(count, 'job')}`,
    act: () => post('/dead/replay', { ...chosen, dry_run: false }),
  });
  if (answer) {
    say(`${many(answer.count, 'job')} run again.`);
    reload();
  }
}

function filterForm(filters, changed) {
  const input = (name) => h('input', { name, value: filters[name], autocomplete: 'off', spellcheck: 'false' });
  const element = h(
    'form.filters',
    { role: 'search', 'aria-label': 'Filter the dead letters' },
    field('Kind', input('kind')),
    field('Owner', input('owner')),
    h('button', { type: 'submit' }, 'Filter'),
  );
  element.addEventListener('submit', (event) => {
    event.preventDefault();
    for (const name of Object.keys(filters)) filters[name] = new FormData(element).get(name).trim();
    changed();
  });
  return element;
}
