// What the pulses say about rates: for each second how many jobs were submitted, started, done and failed, and whose
// they were. It is kept while the page is open, for a few minutes.

import { live } from './live.js';

const SECOND = 1_000_000;

/** How much is kept. */
const WINDOW = 300 * SECOND;
const LONGEST = 10;

const points = [];
let before = null;
let failures = { seen: 0, events: 0, leftOut: 0 };

/** The points inside the window, oldest first: `{ at, submitted, started, done, failed, owners }`, all per second. */
export const recent = () => points;

/** Starts of each owner, summed over bars of equal length; the newest bar is last. */
export function bars(length, number) {
  const end = points.at(-1)?.at;
  if (end === undefined) return [];
  const last = Math.floor(end / length);
  const made = Array.from({ length: number }, (_, at) => {
    const from = (last - number + 1 + at) * length;
    return { from, to: from + length, parts: new Map() };
  });
  for (const { at, seconds, owners } of points) {
    const bar = made[Math.floor(at / length) - (last - number + 1)];
    if (!bar) continue;
    for (const [owner, perSecond] of owners) bar.parts.set(owner, (bar.parts.get(owner) ?? 0) + perSecond * seconds);
  }
  const first = made.findIndex(({ parts }) => parts.size > 0);
  return first < 0 ? [] : made.slice(first);
}

function take(pulse) {
  const failed = failedSince();
  const last = before;
  before = { ...pulse, owners: new Map(Object.entries(pulse.owners)) };
  if (last === null || pulse.time <= last.time) return;
  const seconds = (pulse.time - last.time) / SECOND;
  if (seconds > LONGEST) return; // after a break nobody knows when it happened
  const grown = (now, then) => Math.max(0, now - then) / seconds;
  const owners = startsOf(before.owners, last.owners).map(([owner, starts]) => [owner, starts / seconds]);
  points.push({
    at: pulse.time,
    seconds,
    submitted: grown(sum(pulse.totals), sum(last.totals)),
    started: owners.reduce((all, [, starts]) => all + starts, 0),
    done: grown(pulse.totals.done, last.totals.done),
    failed: failed / seconds,
    owners,
  });
  while (points[0].at < pulse.time - WINDOW) points.shift();
}

/** What each owner started between two pulses. The process counts from its beginning: one that began anew counts less. */
function startsOf(now, then) {
  const anew = [...then].some(([owner, starts]) => (now.get(owner) ?? 0) < starts);
  const grown = [...now].map(([owner, starts]) => [
    owner === '…others' ? 'others' : owner,
    anew ? starts : starts - (then.get(owner) ?? 0),
  ]);
  return grown.filter(([, starts]) => starts > 0);
}

/** Failed attempts since the last pulse. Where events were left out, those that came stand for the others, too. */
function failedSince() {
  const { seen, events, leftOut } = failures;
  failures = { seen: 0, events: 0, leftOut: 0 };
  return events > 0 ? seen * ((events + leftOut) / events) : 0;
}

const sum = (totals) => Object.values(totals).reduce((all, value) => all + value, 0);

live.on('pulse', take);
live.on('thinned', (thinned) => (failures.leftOut += thinned.left_out));
live.on('event', (event) => {
  failures.events += 1;
  if (event.cause === 'failed') failures.seen += 1;
});
