// Elements are made here and nowhere else. Text only ever becomes a text node, so a script in the name of a job is
// shown, not run.

/**
 * Makes an element: `h('td.num', { title: 'jobs' }, 42)`.
 *
 * Properties are attributes (`true` is an empty one; `false`, `null` and `undefined` are left out), except `on` (event
 * listeners), `data` (data attributes) and `style` (set one by one, as the content security policy demands). Children
 * are nodes, texts, numbers or lists of them; what is empty is left out.
 */
export function h(name, props, ...children) {
  const [tag, ...classes] = name.split('.');
  return dress(document.createElement(tag), classes, props, children);
}

/** The same for the elements of a drawing. */
export function svg(name, props, ...children) {
  const [tag, ...classes] = name.split('.');
  return dress(document.createElementNS('http://www.w3.org/2000/svg', tag), classes, props, children);
}

/** Replaces what is in an element. */
export function fill(element, ...children) {
  element.replaceChildren(...children.flat(Infinity).filter(isContent));
  return element;
}

function dress(element, classes, props, children) {
  if (classes.length > 0) element.classList.add(...classes);
  for (const [key, value] of Object.entries(props ?? {})) set(element, key, value);
  element.append(...children.flat(Infinity).filter(isContent));
  return element;
}

function set(element, key, value) {
  if (!isThere(value)) return;
  if (key === 'on') {
    for (const [type, listener] of Object.entries(value)) element.addEventListener(type, listener);
  } else if (key === 'data') {
    Object.assign(element.dataset, value);
  } else if (key === 'style') {
    for (const [name, text] of Object.entries(value)) element.style.setProperty(name, text);
  } else {
    element.setAttribute(key, value === true ? '' : value);
  }
}

const isThere = (value) => value !== null && value !== undefined && value !== false;
const isContent = (child) => isThere(child) && child !== '';
