// What the list of batches and a batch's own page share.

import { at, post } from '../app/api.js';
import { action, pauseAction } from '../app/act.js';
import { timeLeft } from '../app/pace.js';
import { h } from '../kit/dom.js';
import { icon } from '../kit/icon.js';
import { count } from '../kit/number.js';
import { link } from '../kit/parts.js';
import { state } from '../kit/state.js';
import { span } from '../kit/time.js';

/** Where a batch stands. */
export function batchState({ phase, paused, cancel }) {
  if (phase === 'settled') return state('settled');
  if (phase === 'parked') return state('parked', 'parked: decide');
  if (cancel) return state('cancelled', 'being cancelled');
  if (paused) return state('paused');
  return phase === 'open' ? state('open', 'open: takes jobs') : state('sealed', 'running');
}

/** How long it will still take, in words. */
export function leftWords(batch) {
  if (batch.phase === 'settled' || batch.phase === 'parked') return '';
  if (batch.paused) return 'paused';
  const left = timeLeft(batch);
  return left === null ? '–' : `about ${span(Math.max(1_000_000, left))}`;
}

/** The state of a continuation, as far as the batch tells it. */
export const followState = (phase) =>
  ({ settled: state('settled', 'released'), parked: state('paused', 'held back') })[phase] ?? state('waiting');

/** The continuation in a cell of a table: an arrow and its state. */
export function followSmall({ then, phase }) {
  if (!then) return h('span.soft', null, '–');
  return h(
    'span.follow-small',
    null,
    icon('arrow'),
    h('a', { href: `/jobs/${then.job}`, title: `Continuation ${then.job}` }, followState(phase)),
  );
}

/** The batch and its continuation as a small graph. `job` is the continuation itself, once it was read. */
export function followGraph(batch, job) {
  const box = (...lines) => h('div.follow-box', null, lines);
  const when = batch.then.when === 'all_done' ? 'if all are done' : 'when all have ended';
  return h(
    'div.follow',
    null,
    box(h('strong', null, batch.name || batch.id), batchState(batch)),
    h('div.follow-arrow', null, icon('arrow'), h('span', null, when)),
    box(
      link(`/jobs/${batch.then.job}`, job?.kind ?? 'continuation'),
      job ? state(job.state) : followState(batch.phase),
    ),
  );
}

/** What can be done with a batch as it is now. */
export function batchActions(batch, reload) {
  const { id, name, phase, paused, cancel: cancelled, pending } = batch;
  const called = name || id;
  const to = (verb) => post(`${at`/batches/${id}`}/${verb}`);
  if (phase === 'settled') return [];
  if (phase === 'parked') return [release(called, to, reload)];
  const cancel =
    !cancelled &&
    action('Cancel', {
      label: `Cancel the batch ${called}`,
      danger: true,
      ask: {
        title: `Cancel the batch ${called}?`,
        text: `${count(pending)} unfinished jobs will be cancelled. Those that run are asked to stop. This cannot be undone.`,
        confirm: 'Cancel the batch',
      },
      work: () => to('cancel'),
      done: `The batch ${called} is being cancelled.`,
      after: reload,
    });
  const seal =
    phase === 'open' &&
    action('Seal', {
      label: `Seal the batch ${called}`,
      ask: {
        title: `Seal the batch ${called}?`,
        text: 'It takes no more jobs afterwards, and settles when those that it has have ended.',
        confirm: 'Seal the batch',
      },
      work: () => to('seal'),
      done: `The batch ${called} is sealed.`,
      after: reload,
    });
  return [pauseAction(`Batch ${called}`, paused, to, reload), seal, cancel];
}

function release(called, to, reload) {
  return action('Release', {
    label: `Release the continuation of ${called}`,
    ask: {
      title: `Release the continuation of ${called}?`,
      text: 'Jobs of this batch died or were cancelled. The continuation runs all the same, once. To mend the batch instead, replay its dead jobs: the continuation then follows by itself.',
      confirm: 'Release it',
    },
    work: () => to('release'),
    done: `The continuation of ${called} is released.`,
    after: reload,
  });
}
