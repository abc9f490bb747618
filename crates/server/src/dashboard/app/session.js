// Who is looking: what the token of this browser allows.

import { get } from './api.js';

let session = { scopes: [], owners: null, name: '' };

/** Asks the server who we are. It fails with status 401 for a stranger. */
export async function recognise() {
  session = await get('/session');
  return session;
}

/** Whether the token allows more than reading. The server judges each action again. */
export const mayAct = () => session.scopes.some((scope) => scope !== 'read');

/** Whether the token allows everything. */
export const mayManage = () => session.scopes.includes('admin');
