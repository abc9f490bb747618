// Tokens: who may do what.

import { at, get, post, remove } from '../app/api.js';
import { action } from '../app/act.js';
import { keepFresh } from '../app/fresh.js';
import { dialog } from '../kit/dialog.js';
import { h } from '../kit/dom.js';
import { boxes, field, text, whole } from '../kit/form.js';
import { copyButton, cut, empty, notice } from '../kit/parts.js';
import { table } from '../kit/table.js';
import { ago } from '../kit/time.js';

const SCOPES = ['read', 'submit', 'work', 'admin'];
const DAY = 86_400_000;

export function mount(element, { signal, actions }) {
  const list = table({
    caption: 'Tokens',
    key: ({ name }) => name,
    columns: columns(() => reload()),
    empty: () => empty('There are no tokens.', 'Make one with the button above.'),
  });
  element.append(list.element);
  const reload = keepFresh(element, signal, async () => list.show((await get('/tokens', {}, { signal })).tokens), {
    when: ({ what }) => what === 'audit',
  });
  actions(action('Make a token…', { slim: false, work: () => askFor(() => reload()) }));
}

function columns(reload) {
  const tags = (words) =>
    h(
      'span.tags',
      null,
      words.map((word) => h('span.tag', null, word)),
    );
  return [
    { title: 'Token', head: true, kind: 'name', value: ({ name }) => name, draw: ({ name }) => cut(name) },
    { title: 'Allows', value: ({ scopes }) => scopes, draw: ({ scopes }) => tags(scopes) },
    { title: 'Owners', value: ({ owners }) => owners, draw: ({ owners }) => (owners ? tags(owners) : 'all') },
    { title: 'Made', kind: 'num', value: ({ made }) => made, draw: ({ made }) => ago(made) },
    { title: 'Ends', kind: 'num', value: ({ until }) => until, draw: ({ until }) => (until ? ago(until) : 'never') },
    { title: 'Actions', kind: 'acts', value: ({ name }) => name, draw: ({ name }) => revoke(name, reload) },
  ];
}

function revoke(name, reload) {
  return action('Revoke', {
    label: `Revoke the token ${name}`,
    danger: true,
    ask: {
      title: `Revoke the token ${name}?`,
      text: 'Whoever uses it is refused from now on, browsers that signed in with it included. This cannot be undone.',
      confirm: 'Revoke the token',
    },
    work: () => remove(at`/tokens/${name}`),
    done: `The token ${name} is revoked.`,
    after: reload,
  });
}

async function askFor(reload) {
  const made = await dialog({
    title: 'Make a token',
    body: [
      field(
        'Name',
        h('input', { name: 'name', required: true, autocomplete: 'off' }),
        'Who or what will use it, such as “billing worker”.',
      ),
      boxes('It allows to', 'scopes', SCOPES, ['read']),
      field(
        'Owners',
        h('input', { name: 'owners', autocomplete: 'off', placeholder: 'all' }),
        'Only the work of these owners, separated by commas. Empty: of all.',
      ),
      field('Ends after days', h('input', { name: 'days', inputmode: 'numeric', placeholder: 'never' })),
    ],
    confirm: 'Make the token',
    act: (data) => post('/tokens', wish(data)),
  });
  if (!made) return;
  reload();
  await dialog({
    title: `The token ${made.name}`,
    body: [
      notice('warning', 'It is shown this once. Copy it now and keep it like a password.'),
      h('code.secret', null, made.token),
      h('div', null, copyButton(made.token, 'Copy the token')),
    ],
    leave: 'I have kept it',
  });
}

function wish(data) {
  const scopes = data.getAll('scopes');
  if (scopes.length === 0) throw new Error('Tick at least one thing that the token allows.');
  const owners =
    text(data, 'owners')
      ?.split(',')
      .map((owner) => owner.trim())
      .filter(Boolean) ?? null;
  const days = whole(data, 'days', 'Ends after days');
  return { name: text(data, 'name'), scopes, owners, ttl_ms: days === null ? null : days * DAY };
}
