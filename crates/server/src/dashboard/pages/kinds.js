// Kinds: their rules, their totals, and their caps.

import { at, get, patch, post } from '../app/api.js';
import { action, actionRow, pauseAction } from '../app/act.js';
import { keepFresh } from '../app/fresh.js';
import { boundTo } from '../app/session.js';
import { dialog } from '../kit/dialog.js';
import { h } from '../kit/dom.js';
import { field, whole } from '../kit/form.js';
import { brief, many } from '../kit/number.js';
import { cut, empty, jobsLink, notice } from '../kit/parts.js';
import { say } from '../kit/say.js';
import { table } from '../kit/table.js';
import { span } from '../kit/time.js';
import { kindState } from './kind-state.js';

export function mount(element, { signal }) {
  const list = table({
    caption: 'Kinds',
    key: ({ name }) => name,
    columns: columns(() => reload()),
    empty: () => empty('No kind is known yet.', 'A kind appears when a worker declares it.'),
  });
  const off = h('div.notices');
  element.append(list.element, off);
  const reload = keepFresh(
    element,
    signal,
    async () => {
      const answer = await get('/kinds', {}, { signal });
      list.show(answer.kinds);
      const words = answer.off.map(({ name, flag }) =>
        notice(
          'warning',
          'The built-in kind ',
          h('code', null, name),
          ' is off. To switch it on, start the node with ',
          h('code', null, flag),
          '.',
        ),
      );
      if (off.children.length !== words.length) off.replaceChildren(...words);
    },
    { when: () => true },
  );
}

function columns(reload) {
  const total = (title, name) => ({
    title,
    kind: 'num',
    value: ({ totals }) => totals[name],
    draw: ({ totals }) => (boundTo() ? '–' : brief(totals[name])), // counts of all owners together are not for some
  });
  return [
    {
      title: 'Kind',
      head: true,
      kind: 'name',
      value: ({ name }) => name,
      draw: ({ name }) => jobsLink({ kind: name }, cut(name)),
    },
    { title: 'Stands', kind: 'tight', value: ({ paused, alarm }) => [paused, alarm], draw: kindState },
    total('Ready', 'ready'),
    total('Running', 'running'),
    total('Retrying', 'retrying'),
    total('Done', 'done'),
    total('Dead', 'dead'),
    { title: 'Rules', kind: 'rules', wide: true, value: rules },
    { title: 'Caps', kind: 'tight', value: capWords },
    {
      title: 'Actions',
      kind: 'acts',
      value: ({ name, paused, cap, key_cap: keyCap }) => [name, paused, cap, keyCap],
      draw: (kind) => actions(kind, reload),
    },
  ];
}

function rules({ name, pool, retry, deadline, rescues, lease }) {
  const words = [
    retryWords(retry),
    deadline !== null && `deadline ${span(deadline * 1000)}`,
    `${many(rescues, 'rescue')}`,
    pool !== name && `pool ${pool}`,
    lease && `lease ${lease}`,
  ];
  return words.filter(Boolean).join(', ');
}

/** The retry policy: how often, and how long in between. */
function retryWords({ shape, attempts, cap, jitter }) {
  if (attempts === 1) return '1 attempt';
  const most = cap && `at most ${wait(cap)}`;
  const less = jitter > 0 && `shortened by up to ${jitter} %`;
  return [`${attempts} attempts`, shapeWords(shape), most, less].filter(Boolean).join(', ');
}

/** How the waits grow. A shape is an object with one entry, named after it. */
function shapeWords({ fixed, linear, exponential, list }) {
  if (fixed) return `${wait(fixed)} apart`;
  if (linear) return `${wait(linear)} apart, longer by as much each time`;
  if (exponential) return `${wait(exponential.first)} apart, ${exponential.factor} times as long each time`;
  return list && `${list.map(wait).join(', ')} apart`;
}

const wait = ({ secs, nanos }) => span(secs * 1_000_000 + nanos / 1000);

function capWords({ cap, key_cap: keyCap }) {
  const words = [cap !== null && `${cap} at once`, keyCap !== null && `${keyCap} per key`].filter(Boolean);
  return words.join(', ') || 'none';
}

function actions(kind, reload) {
  const { name, paused } = kind;
  const caps = action('Caps', { label: `Change the caps of ${name}`, work: () => askCaps(kind, reload) });
  return actionRow(
    pauseAction(`Kind ${name}`, paused, (verb) => post(`${at`/kinds/${name}`}/${verb}`), reload),
    caps,
  );
}

async function askCaps({ name, cap, key_cap: keyCap }, reload) {
  const input = (called, value) => h('input', { name: called, inputmode: 'numeric', value, placeholder: 'none' });
  const saved = await dialog({
    title: `Caps of ${name}`,
    body: [
      field(
        'Cap',
        input('cap', cap),
        'How many jobs of this kind run at once, in all processes together. Empty: no cap.',
      ),
      field('Cap per key', input('key_cap', keyCap), 'The same for each limit key. Empty: no cap.'),
    ],
    confirm: 'Save',
    act: (data) =>
      patch(at`/kinds/${name}`, { cap: whole(data, 'cap', 'Cap'), key_cap: whole(data, 'key_cap', 'Cap per key') }),
  });
  if (saved) {
    say(`The caps of ${name} are saved.`);
    reload();
  }
}
