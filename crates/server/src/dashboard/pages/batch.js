// One batch.

import { at, get } from '../app/api.js';
import { keepFresh } from '../app/fresh.js';
import { learn } from '../app/pace.js';
import { h } from '../kit/dom.js';
import { batchMeter } from '../kit/meter.js';
import { count } from '../kit/number.js';
import { part } from '../kit/part.js';
import { facts, jobsLink } from '../kit/parts.js';
import { ago } from '../kit/time.js';
import { batchActions, batchState, followGraph, leftWords } from './batch-parts.js';

export function mount(element, { params, signal, title, actions }) {
  const progress = part(h('section.card'));
  const follow = part(h('section.card', { hidden: true }));
  const about = part(h('section.card'));
  element.append(progress.element, follow.element, about.element);

  let stood = null;
  const reload = keepFresh(
    element,
    signal,
    async () => {
      const batch = await get(at`/batches/${params.id}`, {}, { signal });
      learn(batch);
      title(`Batch ${batch.name || batch.id}`);
      progress.show([batch, leftWords(batch)], () => [
        h('h2', null, 'Progress'),
        h('div.card-head', null, batchState(batch), h('span.soft', null, timeWords(batch))),
        batchMeter(batch),
      ]);
      about.show(batch, () => [h('h2', null, 'About'), aboutFacts(batch)]);
      const stands = JSON.stringify([batch.phase, batch.paused, batch.cancel]);
      if (stands !== stood) actions(batchActions(batch, () => reload()));
      stood = stands;
      const job = batch.then && (await get(at`/jobs/${batch.then.job}`, {}, { signal }).catch(() => null));
      follow.show([batch, job?.state], () => batch.then && [h('h2', null, 'What follows'), followGraph(batch, job)]);
    },
    { when: (event) => event.batch === params.id || event.what === 'thinned' },
  );
}

function timeWords(batch) {
  const left = leftWords(batch);
  if (left === '–') return 'time left: not known yet';
  return left.startsWith('about') ? `${left} left` : left;
}

function aboutFacts(batch) {
  const jobs = (state, number) => number > 0 && jobsLink({ batch: batch.id, state }, count(number));
  return facts([
    ['Id', h('code', null, batch.id)],
    ['Owner', jobsLink({ owner: batch.owner }, batch.owner)],
    ['Jobs', jobsLink({ batch: batch.id }, `${count(batch.total)}: show them`)],
    ['Pending', count(batch.pending)],
    ['Done', jobs('done', batch.done) || '0'],
    ['Dead', jobs('dead', batch.dead) || '0'],
    ['Cancelled', jobs('cancelled', batch.cancelled) || '0'],
    ['Repaired by replay', batch.repaired > 0 ? count(batch.repaired) : null],
    ['Opened', ago(batch.opened)],
    ['Settled', batch.settled ? ago(batch.settled) : 'not yet'],
  ]);
}
