// How long a batch will still take, from what it did in the last minute or so.

import { now } from '../kit/clock.js';

const MEMORY = 90_000_000;
const ENOUGH = 3_000_000;

const seen = new Map();

/** Learns how many jobs of a batch have ended. */
export function learn({ id, done, dead, cancelled }) {
  const samples = seen.get(id) ?? [];
  samples.push({ at: now(), ended: done + dead + cancelled });
  while (samples.length > 2 && samples[0].at < now() - MEMORY) samples.shift();
  seen.set(id, samples);
}

/** Microseconds until the batch has ended at its present pace, or `null` where nobody can say. */
export function timeLeft({ id, total, done, dead, cancelled }) {
  const samples = seen.get(id) ?? [];
  if (samples.length < 2) return null;
  const [first, last] = [samples[0], samples.at(-1)];
  const moved = last.ended - first.ended;
  const took = last.at - first.at;
  if (moved <= 0 || took < ENOUGH) return null;
  return Math.max(0, total - done - dead - cancelled) * (took / moved);
}
