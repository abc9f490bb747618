// Where a kind stands, for the pages that list kinds.

import { state } from '../kit/state.js';

/** Open, paused, or in alarm because ready jobs have no worker. */
export function kindState({ paused, alarm }) {
  if (alarm) return state('critical', 'no worker');
  return paused ? state('paused') : state('alive', 'open');
}
