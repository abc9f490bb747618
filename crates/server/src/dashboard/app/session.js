// Who is looking: what the token of this browser allows.

import { get } from './api.js';

let session = { scopes: [], owners: null, name: '' };

/** Asks the server who we are. It fails with status 401 for a stranger. */
export async function recognise() {
  session = await get('/session');
  document.documentElement.toggleAttribute('data-only-reads', !mayAct());
  return session;
}

/** Whether the token allows more than reading. The server judges each action again. */
export const mayAct = () => session.scopes.some((scope) => scope !== 'read');

/** The owners that the token is bound to, or `null` if it sees the work of all. */
export const boundTo = () => session.owners;

/** Whether there is anything to see for this token on a page: some are about everybody, some are for administrators. */
export const mayOpen = ({ whole = false, admin = false }) =>
  (!whole || session.owners === null) && (!admin || session.scopes.includes('admin'));
