// Every page of the dashboard: its path, its name, its place in the navigation, the key that follows `g`, and whether it is
// about the whole engine (`whole`) or for administrators (`admin`).

export const ROUTES = [
  { path: '/', whole: true, name: 'Overview', group: 'Watch', key: 'o', load: () => import('../pages/overview.js') },
  { path: '/events', name: 'Events', group: 'Watch', key: 'e', load: () => import('../pages/events.js') },
  { path: '/jobs', name: 'Jobs', group: 'Work', key: 'j', load: () => import('../pages/jobs.js') },
  { path: '/jobs/:id', name: 'Job', under: '/jobs', load: () => import('../pages/job.js') },
  { path: '/batches', name: 'Batches', group: 'Work', key: 'b', load: () => import('../pages/batches.js') },
  { path: '/batches/:id', name: 'Batch', under: '/batches', load: () => import('../pages/batch.js') },
  { path: '/lanes', name: 'Lanes', group: 'Work', key: 'l', load: () => import('../pages/lanes.js') },
  { path: '/dead', name: 'Dead letters', group: 'Work', key: 'd', load: () => import('../pages/dead.js') },
  { path: '/schedules', name: 'Schedules', group: 'Work', key: 's', load: () => import('../pages/schedules.js') },
  { path: '/owners', name: 'Owners', group: 'Engine', key: 'w', load: () => import('../pages/owners.js') },
  { path: '/kinds', name: 'Kinds', group: 'Engine', key: 'k', load: () => import('../pages/kinds.js') },
  { path: '/nodes', whole: true, name: 'Nodes', group: 'Engine', key: 'n', load: () => import('../pages/nodes.js') },
  { path: '/tokens', admin: true, name: 'Tokens', group: 'Engine', key: 't', load: () => import('../pages/tokens.js') },
  {
    path: '/settings',
    whole: true,
    name: 'Settings',
    group: 'Engine',
    key: ',',
    load: () => import('../pages/settings.js'),
  },
];

/** The route of a path with the values of its `:names`, or `null` if the path is not a page of the dashboard. */
export function match(path) {
  const parts = path.split('/');
  for (const route of ROUTES) {
    const wanted = route.path.split('/');
    const named = (at) => wanted[at].startsWith(':') && parts[at] !== '';
    if (wanted.length !== parts.length || !parts.every((part, at) => part === wanted[at] || named(at))) continue;
    const values = parts.flatMap((part, at) => (named(at) ? [[wanted[at].slice(1), decodeURIComponent(part)]] : []));
    return { route, params: Object.fromEntries(values) };
  }
  return null;
}
