// The live connection: it follows the events, and after a break it goes on behind the last one that it saw.

import { learnTime } from '../kit/clock.js';
import { openEvents } from './api.js';
import { messages } from './sse.js';

const FIRST_WAIT = 500;
const LONGEST_WAIT = 5_000;
const SILENCE = 40_000; // the server says something at least every 15 s
const HIDDEN_REST = 60_000; // a browser opens few connections to one server, and hidden tabs would hold them

/**
 * Follows the stream of events until the signal ends it.
 *
 * It dispatches `event` (with an event of the engine), `pulse`, `thinned` and `state`, each with its data in `detail`.
 * The state is `connecting`, `live`, `reconnecting` or `resting` (while nobody looks).
 */
export class Live extends EventTarget {
  state = 'connecting';
  #cursor = null;
  #filter;
  #signal;
  #connection = null;
  #following = false;
  #wake = () => {};

  constructor({ filter = {}, signal } = {}) {
    super();
    this.#filter = filter;
    this.#signal = signal;
    this.#restWhileHidden();
  }

  /** Listens until `signal` ends it; the listener gets the data. */
  on(name, listener, signal) {
    this.addEventListener(name, ({ detail }) => listener(detail), { signal });
  }

  /** Connects and stays connected. It ends for a stranger; call it again once the reader has signed in. */
  async follow() {
    if (this.#following) return;
    this.#following = true;
    try {
      await this.#stay();
    } finally {
      this.#following = false;
    }
  }

  async #stay() {
    let wait = FIRST_WAIT;
    while (!this.#signal?.aborted) {
      try {
        if (this.state !== 'resting') await this.#connect(() => (wait = FIRST_WAIT));
      } catch (problem) {
        if (problem.status === 401) return this.#become('connecting');
        if (problem.status === 410) this.#cursor = null;
      }
      if (this.#signal?.aborted) return;
      if (this.state !== 'resting') this.#become('reconnecting');
      await this.#pause(this.state === 'resting' ? null : wait * (0.75 + Math.random() / 2));
      wait = Math.min(LONGEST_WAIT, wait * 2);
    }
  }

  async #connect(opened) {
    this.#connection = new AbortController();
    const ends = [this.#connection.signal, this.#signal].filter(Boolean);
    const watch = silence(() => this.#connection.abort());
    try {
      const body = await openEvents({ after: this.#cursor, filter: this.#filter, signal: AbortSignal.any(ends) });
      opened();
      this.#become('live');
      for await (const message of messages(body)) {
        watch.heard();
        this.#take(message);
      }
    } finally {
      watch.stop();
    }
  }

  #take({ id, event, data }) {
    if (id) this.#cursor = id;
    if (data === undefined) return;
    const detail = JSON.parse(data);
    if (event === 'pulse') learnTime(detail.time);
    const name = ['pulse', 'thinned', 'dropped'].includes(event) ? event : 'event';
    this.dispatchEvent(new CustomEvent(name, { detail }));
  }

  #become(state) {
    if (state === this.state) return;
    this.state = state;
    this.dispatchEvent(new CustomEvent('state', { detail: state }));
  }

  #restWhileHidden() {
    let timer;
    const rest = () => {
      clearTimeout(timer);
      this.#become('resting');
      this.#connection?.abort();
    };
    const changed = () => {
      clearTimeout(timer);
      if (document.hidden) {
        timer = setTimeout(rest, HIDDEN_REST);
      } else if (this.state === 'resting') {
        this.#become('reconnecting');
        this.#wake();
      }
    };
    const options = { signal: this.#signal };
    document.addEventListener('visibilitychange', changed, options);
    // A page that was left is kept for the way back, and its connection with it: a few such pages would hold all that the
    // browser opens.
    window.addEventListener('pagehide', rest, options);
    window.addEventListener('pageshow', changed, options);
  }

  #pause(milliseconds) {
    return new Promise((resolve) => {
      this.#wake = resolve;
      this.#signal?.addEventListener('abort', resolve, { once: true });
      if (milliseconds !== null) setTimeout(resolve, milliseconds);
    });
  }
}

/** Calls `broken` once nothing was heard for too long. */
function silence(broken) {
  let timer;
  const heard = () => {
    clearTimeout(timer);
    timer = setTimeout(broken, SILENCE);
  };
  heard();
  return { heard, stop: () => clearTimeout(timer) };
}

/** The connection that the whole page shares. */
export const live = new Live();
