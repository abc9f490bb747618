// Nodes: which processes live, what they do, and who holds which lease.

import { action, actionRow } from '../app/act.js';
import { at, get, post } from '../app/api.js';
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
    columns: nodeColumns(() => reload()),
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
  const reload = keepFresh(element, signal, load, {
    when: ({ what }) => ['session_opened', 'session_ended', 'lease_taken', 'paused'].includes(what),
    calm: 3_000,
  });
}

function nodeColumns(reload) {
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
      value: ({ alive, drained, running }) => [alive, drained, running === 0],
      draw: standing,
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
    {
      title: 'Actions',
      kind: 'acts',
      value: ({ node, drained, roles }) => [node, drained, roles],
      draw: (row) => nodeActions(row, reload),
    },
  ];
}

function standing({ alive, drained, running }) {
  if (!alive) return state('gone', 'gone');
  if (!drained) return state('alive');
  return state('paused', running === 0 ? 'drained' : 'draining');
}

function nodeActions({ node, drained, roles }, reload) {
  if (drained) {
    return actionRow(
      action('Resume', {
        label: `Resume node ${node}`,
        work: () => post(at`/nodes/${node}/resume`),
        done: `Node ${node} goes on with its next heartbeat.`,
        after: reload,
      }),
    );
  }
  if (!roles.includes('worker')) return null;
  return actionRow(
    action('Drain', {
      label: `Drain node ${node}`,
      work: () => post(at`/nodes/${node}/drain`),
      done: `Node ${node} begins nothing more: what runs there ends.`,
      after: reload,
      ask: {
        title: `Drain node ${node}?`,
        text: ['What it runs ends there; nothing more begins. Others take over, if they have the handlers.'],
        confirm: 'Drain',
      },
    }),
  );
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
