// The navigation: the dashboard's pages, those of the applications, and which node one is looking at.

import { fill, h } from '../kit/dom.js';
import { brief } from '../kit/number.js';
import { sayProblem } from '../kit/say.js';
import { get, remove } from './api.js';
import { extensions } from './extensions.js';
import { live } from './live.js';
import { ROUTES } from './routes.js';
import { boundTo, mayOpen } from './session.js';

/** The navigation. `begin` fills in what only a reader who is known may see; `mark` shows where one is. */
export class Navigation {
  #links = new Map();
  #path = null;
  #about = h('p');
  #foot = h('div.nav-foot', null, this.#about, signOutButton());

  constructor() {
    const titles = new Set(ROUTES.flatMap(({ group }) => group ?? []));
    const sections = [...titles].map((title) =>
      this.#section(
        title,
        ROUTES.filter(({ group }) => group === title),
      ),
    );
    this.element = h('nav.nav', { id: 'navigation', 'aria-label': 'Pages' }, sections, this.#foot);
  }

  /** Shows which page is open. All pages of an application are one entry. */
  mark(path) {
    this.#path = path;
    for (const [of, link] of this.#links) {
      if (of === path || (of.startsWith('/apps/') && path?.startsWith(of))) link.setAttribute('aria-current', 'page');
      else link.removeAttribute('aria-current');
    }
  }

  /** Adds counts, the applications' pages and the node's name. */
  async begin() {
    this.#count();
    for (const { path } of ROUTES.filter((route) => !mayOpen(route))) this.#links.get(path).parentElement.remove();
    try {
      const [pages, about] = await Promise.all([extensions(), aboutNode()]);
      const added = pages.map(({ path, title }) => ({ path, name: title }));
      if (added.length > 0) this.#foot.before(this.#section('Applications', added));
      fill(this.#about, about, ' · ', h('a', { href: '/api' }, 'API'));
      this.mark(this.#path);
    } catch (problem) {
      sayProblem(problem);
    }
  }

  #section(title, pages) {
    const entries = pages.map(({ path, name }) => {
      const link = h('a', { href: path }, name);
      this.#links.set(path, link);
      return h('li', null, link);
    });
    return h('section', null, h('h2', null, title), h('ul', null, entries));
  }

  #count() {
    const dead = h('span.count.bad');
    const running = h('span.count');
    this.#links.get('/dead').append(dead);
    this.#links.get('/jobs').append(running);
    live.on('pulse', ({ totals }) => {
      dead.textContent = totals.dead > 0 ? brief(totals.dead) : '';
      running.textContent = totals.running > 0 ? `${brief(totals.running)} running` : '';
    });
  }
}

/** Which node this is; for a reader who sees some owners only, which ones. */
async function aboutNode() {
  if (boundTo()) return `Only ${boundTo().join(', ')}`;
  const { node, version, profile } = await get('/overview');
  return [`${node} · ${profile}`, h('br'), `Turnwise ${version}`];
}

function signOutButton() {
  const leave = async () => {
    try {
      await remove('/session');
      location.reload();
    } catch (problem) {
      sayProblem(problem);
    }
  };
  return h('button.slim', { type: 'button', on: { click: leave } }, 'Sign out');
}
