// Lists, creates and removes records of the service that serves this page.

const ENTITIES = {{entities}};

const nav = document.querySelector('nav');
const main = document.querySelector('main');
const status = document.querySelector('[role=status]');

/** An element; text is only ever text. */
function make(tag, properties = {}, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
}

async function ask(method, path, body) {
  const answer = await fetch(path, {
    method,
    headers: body && { 'content-type': 'application/json' },
    body: body && JSON.stringify(body),
  });
  const said = answer.status === 204 ? null : await answer.json();
  if (!answer.ok) throw new Error(said.error);
  return said;
}

/** What was typed into a field, as its type has it; `undefined` for nothing. */
function value(field, control) {
  if (field.type === 'boolean') return control.checked;
  if (control.value === '') return undefined;
  return field.type === 'text' ? control.value : Number(control.value);
}

function form(entity) {
  const controls = entity.fields.map((field) => {
    const type = { boolean: 'checkbox', text: 'text' }[field.type] ?? 'number';
    const step = field.type === 'number' ? 'any' : '1';
    return [field, make('input', { type, step, required: field.required && type !== 'checkbox' })];
  });
  const labels = controls.map(([field, control]) => make('label', {}, field.name, control));
  const element = make('form', {}, ...labels, make('button', {}, 'Create'));
  element.addEventListener('submit', async (event) => {
    event.preventDefault();
    const record = Object.fromEntries(controls.map(([field, control]) => [field.name, value(field, control)]));
    await act(() => ask('POST', `/api/${entity.name}`, record), entity, 'Created.');
  });
  return element;
}

async function act(work, entity, said) {
  try {
    await work();
    await show(entity);
    status.textContent = said;
  } catch (error) {
    status.textContent = error.message;
  }
}

async function show(entity) {
  for (const button of nav.children) {
    if (button.textContent === entity.name) button.setAttribute('aria-current', 'true');
    else button.removeAttribute('aria-current');
  }
  const { items, next } = await ask('GET', `/api/${entity.name}`);
  const names = ['id', ...entity.fields.map(({ name }) => name)];
  const head = make('tr', {}, ...names.map((name) => make('th', { scope: 'col' }, name)), make('th'));
  const rows = items.map((item) => {
    const remove = make('button', { type: 'button' }, 'Delete');
    remove.setAttribute('aria-label', `Delete ${entity.name} ${item.id}`);
    remove.addEventListener('click', () =>
      act(() => ask('DELETE', `/api/${entity.name}/${item.id}`), entity, 'Deleted.'),
    );
    return make('tr', {}, ...names.map((name) => make('td', {}, Object.hasOwn(item, name) ? String(item[name] ?? '') : '')), make('td', {}, remove));
  });
  const more = next === null ? '' : make('p', {}, 'Only the first are shown.');
  main.replaceChildren(form(entity), make('table', {}, make('thead', {}, head), make('tbody', {}, ...rows)), more);
}

for (const entity of ENTITIES) {
  const button = make('button', { type: 'button' }, entity.name);
  button.addEventListener('click', () => act(async () => {}, entity, ''));
  nav.append(button);
}
await act(async () => {}, ENTITIES[0], '');
