// One request: where it stands, its phases, what went wrong, and what it said on its way.

import { code, facts, notice } from '/assets/kit/parts.js';

const ENDED = ['Completed', 'Failed', 'Cancelled'];

export function mountRequest(element, { h, fill, get, at, keepFresh, ago, table }, id, { standing, phases }) {
  const about = h('section.card');
  const parts = h('section.card');
  const problems = h('div.page');
  const made = h('div');
  const log = table({
    caption: 'Log',
    captionSeen: true,
    key: ({ number }) => number,
    columns: [
      { title: 'When', value: ({ at: time }) => time, draw: ({ at: time }) => ago(time) },
      { title: 'Phase', value: ({ phase }) => phase ?? '–' },
      { title: 'What', head: true, wide: true, value: ({ text }) => text },
    ],
    empty: () => 'It has said nothing yet.',
  });
  element.append(about, parts, problems, log.element, made);
  let drawn = '';

  keepFresh(
    async () => {
      const request = await get(at`/forge/requests/${id}`);
      log.show(request.log.map((line, number) => ({ ...line, number })));
      const { log: _, ...rest } = request;
      const print = JSON.stringify(rest);
      if (print === drawn) return;
      drawn = print;
      fill(about, h('h2', null, request.service), told(request));
      fill(parts, h('h2', null, 'Phases'), phases(request.phases));
      fill(problems, request.errors.map(problem));
      fill(made, request.result ? code('What was made', request.result) : []);
    },
    { when: (event) => event.job === id, calm: 2_000 },
  );

  function told(request) {
    return facts([
      ['Stands', standing(request.status)],
      ['Position', request.position === null ? null : request.position === 0 ? 'head of its lane' : `${request.position} before it`],
      ['Lane', request.lane],
      ['Owner', request.owner],
      ['Request', h('code', null, request.request)],
      ['Job', h('a', { href: `/jobs/${request.job}` }, h('code', null, request.job))],
      ['Trace', h('code', null, request.trace_id)],
      ['Attempts', `${request.attempt} of ${request.attempts}`],
      ['Accepted', ago(request.submitted)],
      [ENDED.includes(request.status) ? 'Ended' : 'Since', ago(request.since)],
    ]);
  }

  function problem({ attempt, class: sort, text, age_seconds: age }) {
    return notice(sort === 'STALE' ? 'warning' : 'critical', `Attempt ${attempt}, after ${age.toFixed(1)} s: `, h('strong', null, sort), ` ${text}`);
  }
}
