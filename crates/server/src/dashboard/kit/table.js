// A table that can be shown again and again. Rows are known by their key and cells by their value: what has not
// changed is left alone, so that the focus, a selection and the place on the page stay while the numbers move.

import { fill, h } from './dom.js';

/**
 * Makes a table.
 *
 * A column is `{ title, value, draw, kind, head, wide }`: `value(row)` is compared (as JSON) to learn whether the cell
 * changed; `draw(row)` makes its content, and is the value itself unless given. `kind` is a class, such as `num`.
 * `head` marks the cell that names the row; `wide` gives it a whole line on a phone.
 */
export function table({ caption, columns, key, empty, captionSeen = false }) {
  const body = h('tbody', { role: 'rowgroup' });
  const heads = columns.map((column) =>
    h('th', { scope: 'col', role: 'columnheader', class: column.kind }, column.title),
  );
  const label = h('caption', captionSeen ? null : { class: 'unseen' }, caption);
  const grid = h(
    'table',
    { role: 'table' },
    label,
    h('thead', { role: 'rowgroup' }, h('tr', { role: 'row' }, heads)),
    body,
  );
  const nothing = h('div.table-empty.soft', null, 'Loading…');
  const element = h('div.table-box', null, grid, nothing);
  const known = new Map();

  function show(rows) {
    const wanted = new Set();
    let place = body.firstChild;
    for (const row of rows) {
      const name = String(key(row));
      wanted.add(name);
      const line = known.get(name) ?? newLine(columns);
      known.set(name, line);
      refreshLine(line, columns, row);
      if (line.element === place) place = place.nextSibling;
      else body.insertBefore(line.element, place);
    }
    for (const [name, line] of known) {
      if (wanted.has(name)) continue;
      line.element.remove();
      known.delete(name);
    }
    const none = rows.length === 0;
    if (none) fill(nothing, empty?.() ?? 'Nothing here.');
    nothing.classList.remove('soft');
    nothing.hidden = !none;
    grid.hidden = none && !captionSeen;
  }

  return { element, show };
}

function newLine(columns) {
  const cells = columns.map((column) => {
    const place = column.wide ? `${column.kind ?? ''} wide` : column.kind;
    if (column.head) return h('th', { scope: 'row', role: 'rowheader', class: place });
    return h('td', { role: 'cell', class: place, data: { label: column.title } });
  });
  return { element: h('tr', { role: 'row' }, cells), cells, values: [] };
}

function refreshLine(line, columns, row) {
  columns.forEach((column, at) => {
    const value = column.value(row);
    const print = JSON.stringify(value) ?? '';
    if (line.values[at] === print) return;
    line.values[at] = print;
    redraw(line.cells[at], column.draw ? column.draw(row) : value);
    line.cells[at].classList.toggle('zero', value === 0);
  });
}

/** Fills a cell anew; what had the focus in it gets it back. */
function redraw(cell, content) {
  const focusable = 'a, button, input, summary';
  const focused = [...cell.querySelectorAll(focusable)].indexOf(document.activeElement);
  fill(cell, content);
  if (focused >= 0) [...cell.querySelectorAll(focusable)].at(focused)?.focus({ preventScroll: true });
}
