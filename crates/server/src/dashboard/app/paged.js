// A table that is read page by page. The place is in the address, so that a page can be linked to and gone back from.

import { fill, h } from '../kit/dom.js';
import { keepFresh } from './fresh.js';
import { setQuery } from './router.js';

/**
 * Puts a table and its pager on a page, and keeps them fresh.
 *
 * `load(cursor)` answers `{ rows, next, note }`. `filters()` are the entries of the query beside the cursor. Answers
 * `{ reload, restart }`: the second goes back to the first page, for use after the filters have changed.
 */
export function paged(element, { query, signal }, { table, load, filters = () => ({}), when }) {
  let cursor = query.get('cursor');
  let trail = history.state?.trail ?? [];
  let next = null;

  const first = h('button', { type: 'button', on: { click: () => turn(null, []) } }, 'First page');
  const back = h(
    'button',
    { type: 'button', on: { click: () => turn(trail.at(-1) ?? null, trail.slice(0, -1)) } },
    'Previous',
  );
  const on = h('button', { type: 'button', on: { click: () => turn(next, [...trail, cursor]) } }, 'Next');
  const note = h('span.soft', { 'aria-live': 'polite' });
  const pager = h('nav.pager', { 'aria-label': 'Pages of this list', hidden: true }, first, back, on, note);
  element.append(table.element, pager);

  function turn(to, path) {
    [cursor, trail] = [to, path];
    setQuery({ ...filters(), cursor }, { trail });
    reload().then(() => scrollTo({ top: 0 }));
  }

  async function refresh() {
    const asked = cursor;
    const page = await load(asked);
    if (signal.aborted || asked !== cursor) return;
    next = page.next;
    table.show(page.rows);
    first.disabled = cursor === null;
    back.disabled = cursor === null;
    on.disabled = next === null;
    pager.hidden = cursor === null && next === null;
    fill(note, page.note ?? (trail.length > 0 ? `Page ${trail.length + 1}` : ''));
  }

  const reload = keepFresh(element, signal, refresh, { when });
  return { reload, restart: () => turn(null, []) };
}
