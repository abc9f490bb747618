// One job: where it stands, how it came there, what it said and what it made.

import { at, get, post } from '../app/api.js';
import { action } from '../app/act.js';
import { keepFresh } from '../app/fresh.js';
import { h } from '../kit/dom.js';
import { icon } from '../kit/icon.js';
import { shareMeter } from '../kit/meter.js';
import { part } from '../kit/part.js';
import { code, facts, jobsLink, link } from '../kit/parts.js';
import { FINAL, state, STATES } from '../kit/state.js';
import { ago, inFull, span, timeOfDay } from '../kit/time.js';

// The parts of the page: what of a job each depends on, and how it is drawn.
const PARTS = {
  about: {
    of: [
      'kind',
      'owner',
      'batch',
      'lane',
      'priority',
      'attempt',
      'attempts',
      'submitted',
      'state',
      'at',
      'cancel_asked',
    ],
    draw: about,
  },
  progress: { of: ['progress', 'state'], draw: progress },
  errors: { of: ['errors'], draw: errors },
  result: { of: ['result', 'state'], draw: result },
  payload: { of: ['payload'], draw: payload },
  timeline: { of: ['timeline'], draw: timeline },
  steps: { of: ['steps'], draw: steps },
};

export function mount(element, { params, signal, title, actions }) {
  const place = Object.fromEntries(Object.keys(PARTS).map((name) => [name, part(h('section.card', { hidden: true }))]));
  const column = (...names) =>
    h(
      'div.page',
      null,
      names.map((name) => place[name].element),
    );
  element.append(
    place.about.element,
    h('div.grid-2', null, column('progress', 'errors', 'result', 'payload'), column('timeline', 'steps')),
  );

  let stood = null;
  let badge = null;
  const reload = keepFresh(
    element,
    signal,
    async () => {
      const job = await get(at`/jobs/${params.id}`, {}, { signal });
      for (const [name, { of, draw }] of Object.entries(PARTS))
        place[name].show(
          of.map((field) => job[field]),
          () => draw(job),
        );
      if (stood === job.state) return;
      stood = job.state;
      badge?.remove();
      badge = state(job.state);
      title(job.kind, badge);
      actions(jobActions(job, () => reload()));
    },
    { when: (event) => event.job === params.id || event.what === 'thinned', calm: 5_000 },
  );
}

function about(job) {
  const due = ['scheduled', 'retrying'].includes(job.state) ? 'Due' : 'In this state since';
  return [
    facts([
      ['Id', h('code', null, job.id)],
      ['Kind', jobsLink({ kind: job.kind }, job.kind)],
      ['Owner', jobsLink({ owner: job.owner }, job.owner)],
      ['Batch', job.batch && link(`/batches/${job.batch}`, h('code', null, job.batch))],
      ['Lane', job.lane && jobsLink({ lane: job.lane }, job.lane)],
      ['Priority', `${job.priority} of 9`],
      ['Attempts', `${job.attempt} of ${job.attempts}`],
      ['Submitted', ago(job.submitted)],
      [due, ago(job.at)],
      ['Cancel', job.cancel_asked && !FINAL.includes(job.state) ? 'asked for: the handler is told to stop' : null],
    ]),
  ];
}

function progress({ progress: said, state: stands }) {
  if (!said || stands !== 'running') return null;
  return [
    h('h2', null, 'Progress'),
    shareMeter(said.fraction, 1, h('span', null, said.note)),
    h('p.soft.small', null, 'Said ', ago(said.at)),
  ];
}

function errors({ errors: failed }) {
  if (failed.length === 0) return null;
  const attempt = ({ attempt: number, started, ended, failure, error }) =>
    h(
      'article.attempt',
      null,
      h(
        'div.attempt-head',
        null,
        h('h3', null, `Attempt ${number}`),
        state('dead', failure),
        h('span.soft.small', { title: inFull(ended) }, `${timeOfDay(ended)}, after ${span(ended - started)}`),
      ),
      code(`Error of attempt ${number}`, error),
    );
  const [newest, ...older] = [...failed].reverse();
  const more =
    older.length > 0 &&
    h('details', null, h('summary', null, `Earlier attempts (${older.length})`), older.map(attempt));
  return [h('h2', null, 'Errors'), attempt(newest), more].filter(Boolean);
}

function result({ result: made, state: stands }) {
  return stands === 'done' ? [code('Result', made)] : null;
}

function payload({ payload: given }) {
  return [code('Payload', given)];
}

function steps({ steps: finished }) {
  if (finished.length === 0) return null;
  return [
    h('h2', null, 'Finished steps'),
    h(
      'ol.steps',
      null,
      finished.map((name) => h('li', null, icon('done'), name)),
    ),
  ];
}

function timeline({ timeline: entries }) {
  const tone = (what, text) => ({ failed: 'bad', ended: { done: 'good', dead: 'bad' }[text] })[what];
  const line = ({ at: moment, what, text }) =>
    h(
      'li',
      { class: tone(what, text) },
      h('span.soft.small', null, ago(moment)),
      h('span.text', null, STATES.includes(text) ? state(text) : text),
    );
  return [h('h2', null, 'Timeline'), h('ol.timeline', null, entries.map(line))];
}

function jobActions(job, reload) {
  const to = (verb) => () => post(`${at`/jobs/${job.id}`}/${verb}`);
  const said = (words) => (answer) => `${words} It is ${answer.state}.`;
  if (['dead', 'cancelled'].includes(job.state)) {
    return [
      action('Replay', {
        slim: false,
        work: to('replay'),
        done: said('The job has a new life with all its attempts.'),
        after: reload,
      }),
    ];
  }
  if (FINAL.includes(job.state)) return [];
  const cancel = action('Cancel', {
    slim: false,
    danger: true,
    ask: {
      title: 'Cancel this job?',
      text: job.state === 'running' ? 'It runs: its handler is asked to stop.' : 'It will not run.',
      confirm: 'Cancel the job',
    },
    work: to('cancel'),
    done: said('Cancelled.'),
    after: reload,
  });
  const retry =
    ['retrying', 'scheduled'].includes(job.state) &&
    action('Run now', { slim: false, work: to('retry'), done: said('It does not wait any longer.'), after: reload });
  return [retry, cancel];
}
