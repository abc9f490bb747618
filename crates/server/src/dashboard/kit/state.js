// A state is a glyph and a word; the colour only repeats it.

import { h } from './dom.js';
import { icon } from './icon.js';

/** The states of a job, in the order in which people think of them. */
export const STATES = ['running', 'ready', 'retrying', 'scheduled', 'waiting', 'done', 'dead', 'cancelled'];

/** The states that a job never leaves by itself. */
export const FINAL = ['done', 'dead', 'cancelled'];

const GLYPHS = {
  open: 'ready',
  sealed: 'running',
  settled: 'done',
  parked: 'paused',
  alive: 'live',
  gone: 'dead',
  held: 'done',
};

/** A state of a job, a batch, a lane or a node. `word` says it otherwise than its name. */
export function state(name, word = name) {
  return h(`span.state.${name}`, null, icon(GLYPHS[name] ?? name), word);
}
