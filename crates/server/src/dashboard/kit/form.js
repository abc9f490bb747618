// Fields of forms, each with its label and what to write into it.

import { h } from './dom.js';

let made = 0;

/** A field: `field('Owner', h('input', { name: 'owner' }), 'Whose turns its jobs take.')`. */
export function field(label, control, hint) {
  const id = `field-${(made += 1)}`;
  control.id = id;
  const help = hint && h('span.hint', { id: `${id}-hint` }, hint);
  if (help) control.setAttribute('aria-describedby', help.id);
  return h('div.field', null, h('label', { for: id }, label), control, help);
}

/** A list to choose one from. Each choice is a value, or a pair of value and words. */
export function choice(name, choices, chosen) {
  const options = choices.map((entry) => {
    const [value, words] = [entry].flat();
    return h('option', { value, selected: value === chosen }, words ?? value);
  });
  return h('select', { name }, options);
}

/** Boxes to tick, any number of them. */
export function boxes(legend, name, values, ticked = []) {
  const box = (value) =>
    h('label', null, h('input', { type: 'checkbox', name, value, checked: ticked.includes(value) }), value);
  return h('fieldset.choices', null, h('legend', null, legend), values.map(box));
}

/** Suggestions for a text field: an element to append, and its id for the field's `list`. */
export function suggestions(values) {
  const id = `values-${(made += 1)}`;
  return h(
    'datalist',
    { id },
    values.map((value) => h('option', { value })),
  );
}

/** What was typed, or `undefined` for nothing. */
export const text = (data, name) => data.get(name)?.trim() || undefined;

/** A whole number that was typed; `null` for nothing. */
export function whole(data, name, word) {
  const typed = text(data, name);
  if (typed === undefined) return null;
  if (!/^\d{1,15}$/.test(typed)) throw new Error(`${word}: “${typed}” is not a whole number. Write digits only.`);
  return Number(typed);
}

/** JSON that was typed; `undefined` for nothing. */
export function json(data, name, word) {
  const typed = text(data, name);
  if (typed === undefined) return undefined;
  try {
    return JSON.parse(typed);
  } catch (error) {
    throw new Error(`${word} is not JSON: ${error.message}.`, { cause: error });
  }
}
