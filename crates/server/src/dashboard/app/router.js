// Goes from page to page without loading the document again. Links are plain links; a path that is not a page of the
// dashboard, such as an application's, is left to the browser.

import { fill } from '../kit/dom.js';
import { empty, notice } from '../kit/parts.js';
import { describe } from '../kit/say.js';
import { match } from './routes.js';
import { boundTo, mayOpen } from './session.js';

let frame;
let leaving = new AbortController();

/** Starts routing inside a frame. */
export function route(madeFrame) {
  frame = madeFrame;
  addEventListener('popstate', () => show());
  document.addEventListener('click', (event) => {
    const link = event.target.closest?.('a[href]');
    if (!link || event.defaultPrevented || !isPlain(event) || link.target || link.origin !== location.origin) return;
    if (!match(link.pathname)) return;
    event.preventDefault();
    go(link.pathname + link.search);
  });
  return show();
}

/** Goes to another page. On the page of an application, which has no router, the browser goes there. */
export function go(address) {
  if (!frame) return location.assign(address);
  history.pushState(null, '', address);
  scrollTo(0, 0);
  return show();
}

/** Shows the present page anew, for example after the reader has signed in. */
export async function show() {
  leaving.abort();
  leaving = new AbortController();
  const { signal } = leaving;
  // Whoever sees some owners only begins with them.
  if (location.pathname === '/' && boundTo()) history.replaceState(null, '', '/owners');
  const found = match(location.pathname);
  const page = frame.turnTo(found?.route.name ?? 'No such page', found?.route.under ?? found?.route.path);
  if (!found) {
    fill(
      page.element,
      empty('There is no page at this address.', 'Take one from the navigation, or press ? for the keys.'),
    );
    return;
  }
  if (!mayOpen(found.route)) {
    fill(page.element, empty('Your token does not open this page.', 'Ask an administrator for one that does.'));
    return;
  }
  try {
    const { mount } = await found.route.load();
    if (signal.aborted) return;
    const query = new URLSearchParams(location.search);
    await mount(page.element, { ...page, params: found.params, query, signal });
  } catch (problem) {
    if (!signal.aborted && problem.status !== 401) fill(page.element, notice('critical', describe(problem)));
  }
}

/** Writes the query into the address without leaving the page, so that it can be linked to and gone back from. */
export function setQuery(entries, state = null) {
  const there = Object.entries(entries).filter(([, value]) => value !== undefined && value !== null && value !== '');
  const search = new URLSearchParams(there);
  history.pushState(state, '', `${location.pathname}${search.size > 0 ? `?${search}` : ''}`);
}

const isPlain = (event) => event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey && !event.altKey;
