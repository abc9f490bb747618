// Nodes: which processes live, what they do, and who holds which lease.

import { get } from '../app/api.js';
import { keepFresh } from '../app/fresh.js';
import { learnTime } from '../kit/clock.js';
import { h } from '../kit/dom.js';
import { shareMeter } from '../kit/meter.js';
import { count } from '../kit/number.js';
import { cut, empty } from '../kit/parts.js';
import { state } from '../kit/state.js';
import { table } from '../kit/table.js';
import { ago } from '../kit/time.js';

export function mount(element, { signal }) {
  const nodes = table({
    caption: 'Nodes',
    captionSeen: true,
    key: ({ number, session }) => `${number} ${session}`,
    columns: nodeColumns(),
    empty: () => empty('No node has a session.', 'Start one:', 'turnwise up'),
  });
  const leases = table({
    caption: 'Leases',
    captionSeen: true,
    key: ({ name }) => name,
    columns: leaseColumns(),
    empty: () => empty('Nobody holds a lease.'),
  });
  element.append(nodes.element, leases.element);
  const load = async () => {
    const answer = await get('/nodes', {}, { signal });
    learnTime(answer.time);
    nodes.show(answer.nodes);
    leases.show(answer.leases);
  };
  keepFresh(element, signal, load, {
    when: ({ what }) => ['session_opened', 'session_ended', 'lease_taken'].includes(what),
    calm: 3_000,
  });
}

function nodeColumns() {
  return [
    {
      title: 'Node',
      head: true,
      kind: 'name',
      value: ({ node, number }) => [node, number],
      draw: ({ node, number }) => h('div', null, cut(node), h('div.soft.small', null, `number ${number}`)),
    },
    {
      title: 'Stands',
      kind: 'tight',
      value: ({ alive }) => alive,
      draw: ({ alive }) => (alive ? state('alive') : state('gone', 'gone')),
    },
    {
      title: 'Roles',
      value: ({ roles, leads }) => [roles, leads],
      draw: ({ roles, leads }) =>
        h(
          'span.tags',
          null,
          roles.map((role) => h('span.tag', null, role)),
          leads && h('span.tag', null, h('strong', null, 'leads')),
        ),
    },
    { title: 'Running of its slots', value: ({ running, slots }) => [running, slots], draw: slotsOf },
    {
      title: 'Slots by pool',
      wide: true,
      value: ({ slots }) => slots,
      draw: ({ slots }) =>
        h(
          'span.tags',
          null,
          Object.entries(slots).map(([pool, number]) => h('span.tag', null, `${pool} ${count(number)}`)),
        ),
    },
    { title: 'Session', value: ({ session }) => session, draw: ({ session }) => h('code', null, session) },
    { title: 'Since', kind: 'num', value: ({ since }) => since, draw: ({ since }) => ago(since) },
    { title: 'Session ends', kind: 'num', value: ({ until }) => until, draw: ({ until }) => ago(until) },
  ];
}

function slotsOf({ running, slots }) {
  const all = Object.values(slots).reduce((sum, number) => sum + number, 0);
  return shareMeter(running, all, h('span', null, `${count(running)} of ${count(all)}`));
}

function leaseColumns() {
  return [
    { title: 'Lease', head: true, kind: 'name', value: ({ name }) => name, draw: ({ name }) => cut(name) },
    {
      title: 'Stands',
      kind: 'tight',
      value: ({ held }) => held,
      draw: ({ held }) => (held ? state('held') : state('waiting', 'free')),
    },
    { title: 'Holder', kind: 'name', value: ({ holder }) => holder },
    { title: 'Term', kind: 'num', value: ({ term }) => term, draw: ({ term }) => count(term) },
    { title: 'Ends', kind: 'num', value: ({ until }) => until, draw: ({ until }) => ago(until) },
  ];
}
