// What applications add: entries of the navigation, and panels on the overview. docs/dashboard.md is the contract.

import { dialog } from '../kit/dialog.js';
import { fill, h, svg } from '../kit/dom.js';
import { notice } from '../kit/parts.js';
import { describe, say, sayProblem } from '../kit/say.js';
import { state } from '../kit/state.js';
import { table } from '../kit/table.js';
import { ago, span } from '../kit/time.js';
import * as server from './api.js';
import { keepFresh } from './fresh.js';
import { live } from './live.js';

let asked;

/** What the applications add, asked for once: each has a page, and may have a panel. */
export function extensions() {
  asked ??= server.get('/pages').then(
    ({ pages }) => pages,
    () => [],
  );
  return asked;
}

/** What a panel or a page of an application is given to work with, until the signal ends it. */
export function panelApi(element, signal) {
  return {
    signal,
    get: server.get,
    post: server.post,
    put: server.put,
    patch: server.patch,
    remove: server.remove,
    at: server.at,
    onEvent: (listener) => live.on('event', listener, signal),
    onPulse: (listener) => live.on('pulse', listener, signal),
    keepFresh: (load, options) => keepFresh(element, signal, load, options),
    h,
    svg,
    fill,
    table,
    state,
    ago,
    span,
    dialog,
    say,
    sayProblem,
    notice,
  };
}

/** A panel in its card. A panel that fails says so in its own place, and troubles nobody else. */
export function panelCard({ title, panel }, signal) {
  const place = h('div');
  const card = h('section.card', null, h('h2', null, title), place);
  import(panel)
    .then(({ mount }) => signal.aborted || mount(place, panelApi(place, signal)))
    .catch((problem) => fill(place, notice('warning', `The panel ${panel} does not work: ${describe(problem)}`)));
  return card;
}
