// Keeps what a page shows up to date, without haste: soon after something happened, and now and then regardless.

import { describe } from '../kit/say.js';
import { notice } from '../kit/parts.js';
import { live } from './live.js';

const SOON = 1_000;
const CALM = 15_000;
const BETWEEN_DRAWINGS = 250;

/**
 * Calls `load` now, at most once a second after an event that `when` names, and every 15 seconds, until the signal
 * ends it. Nothing is loaded while nobody looks. A problem is shown at the top of `element` until a load succeeds.
 *
 * Answers a function that loads at once, for use after an action.
 */
export function keepFresh(element, signal, load, { when = () => false, calm = CALM } = {}) {
  let busy = false;
  let again = null; // how long to wait before the next load, if one was asked for while busy
  let timer = null;
  let soon = false;
  let trouble = null;
  let lost = live.state === 'reconnecting';

  async function run() {
    if (signal.aborted) return;
    if (busy) {
      again = 0;
      return;
    }
    [busy, again] = [true, null];
    try {
      await load();
      show(null);
    } catch (problem) {
      if (!signal.aborted && problem.name !== 'AbortError' && problem.status !== 401) show(problem);
    }
    busy = false;
    plan(again ?? calm);
  }

  function show(problem) {
    trouble?.remove();
    trouble = problem && notice('critical', describe(problem));
    if (trouble) element.prepend(trouble);
  }

  function plan(wait) {
    clearTimeout(timer);
    soon = wait < calm;
    if (!signal.aborted) timer = setTimeout(() => (document.hidden ? plan(calm) : run()), wait);
  }

  function hear(event) {
    if (!when(event)) return;
    if (busy) again ??= SOON;
    else if (!soon) plan(SOON);
  }

  live.on('event', hear, signal);
  live.on('thinned', () => hear({ what: 'thinned' }), signal);
  live.on(
    'state',
    (state) => {
      if (state === 'live' && lost) run();
      lost = state !== 'live';
    },
    signal,
  );
  document.addEventListener('visibilitychange', () => document.hidden || run(), { signal });
  signal.addEventListener('abort', () => clearTimeout(timer));
  run();
  return run;
}

/** Wraps a drawing so that it happens at most four times a second, and with the newest data. */
export function calmly(draw) {
  let timer = null;
  let last = 0;
  return () => {
    if (timer !== null) return;
    timer = setTimeout(
      () => {
        timer = null;
        last = performance.now();
        draw();
      },
      Math.max(0, BETWEEN_DRAWINGS - (performance.now() - last)),
    );
  };
}
