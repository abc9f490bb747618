// Settings in force, and where each came from.

import { get } from '../app/api.js';
import { keepFresh } from '../app/fresh.js';
import { h } from '../kit/dom.js';
import { table } from '../kit/table.js';

export function mount(element, { signal }) {
  const list = table({
    caption: 'Settings in force',
    key: ({ name }) => name,
    columns: [
      {
        title: 'Setting',
        head: true,
        kind: 'name',
        value: ({ name }) => name,
        draw: ({ name }) => h('code', null, name),
      },
      {
        title: 'Value',
        wide: true,
        value: ({ value }) => value,
        draw: ({ value }) => (value === '' ? h('span.soft', null, 'not set') : h('code', null, value)),
      },
      { title: 'From', value: ({ from }) => from, draw: ({ from }) => h('span.tag', null, from) },
    ],
  });
  element.append(
    h(
      'p.soft',
      null,
      'What this node runs with. A flag beats the environment, the environment the file, the file the default. Secrets are hidden. A change takes effect when the node starts again.',
    ),
    list.element,
  );
  keepFresh(element, signal, async () => list.show((await get('/settings', {}, { signal })).settings), {
    calm: 60_000,
  });
}
