// The one place that speaks to the server. An answer is its JSON; anything else is a `Problem`.

const ROOT = '/api/v1';

/** What the server refused, or could not do: `title` and `detail` are for people, `code` is for programs. */
export class Problem extends Error {
  constructor({ status = 0, code = 'unreachable', title, detail }) {
    super(detail ? `${title}: ${detail}` : title);
    Object.assign(this, { status, code, title, detail });
  }
}

/** Writes a path whose values are escaped: at`/jobs/${id}`. */
export const at = (parts, ...values) => String.raw({ raw: parts }, ...values.map(encodeURIComponent));

/** Reads. Empty values of the query are left out. */
export function get(path, query = {}, { signal } = {}) {
  const asked = Object.entries(query).filter(([, value]) => value !== undefined && value !== null && value !== '');
  const search = asked.length > 0 ? `?${new URLSearchParams(asked)}` : '';
  return call('GET', `${path}${search}`, undefined, signal);
}

/** Changes something. */
export const post = (path, body = {}) => call('POST', path, body);
export const put = (path, body) => call('PUT', path, body);
export const patch = (path, body) => call('PATCH', path, body);
export const remove = (path) => call('DELETE', path);

/** Opens the stream of events behind a place in it, or from now on. */
export async function openEvents({ after, filter = {}, signal }) {
  const headers = { Accept: 'text/event-stream', ...(after === null ? {} : { 'Last-Event-ID': after }) };
  const query = new URLSearchParams(filter);
  const answer = await reach(`/events${query.size > 0 ? `?${query}` : ''}`, { headers, signal, cache: 'no-store' });
  if (!answer.ok) throw await problemOf(answer);
  return answer.body;
}

let strangers = () => {};

/** Calls `listener` when the server does not know who asks. */
export function onStranger(listener) {
  strangers = listener;
}

async function call(method, path, body, signal) {
  const headers = body === undefined ? {} : { 'Content-Type': 'application/json' };
  const answer = await reach(path, { method, headers, body: JSON.stringify(body), signal });
  if (!answer.ok) throw await problemOf(answer);
  return answer.status === 204 ? undefined : answer.json();
}

async function reach(path, options) {
  try {
    return await fetch(`${ROOT}${path}`, options);
  } catch (error) {
    if (error.name === 'AbortError') throw error;
    throw new Problem({
      title: 'The server does not answer',
      detail: 'Is `turnwise up` running? This page tries again by itself.',
    });
  }
}

async function problemOf(answer) {
  const said = await answer.json().catch(() => ({}));
  const problem = new Problem({
    status: answer.status,
    code: said.code ?? 'unknown',
    title: said.title ?? `The server answered ${answer.status}`,
    detail: said.detail ?? answer.statusText,
  });
  if (answer.status === 401) strangers(problem);
  return problem;
}
