// Submits one job by hand.

import { get, post } from '../app/api.js';
import { go } from '../app/router.js';
import { dialog } from '../kit/dialog.js';
import { h } from '../kit/dom.js';
import { field, json, suggestions, text, whole } from '../kit/form.js';
import { say } from '../kit/say.js';

/** Asks for a job, submits it, and goes to its page. */
export async function askForJob() {
  const { kinds } = await get('/kinds');
  const known = suggestions(kinds.map(({ name }) => name));
  const input = (name, more) => h('input', { name, autocomplete: 'off', spellcheck: 'false', ...more });
  const made = await dialog({
    title: 'Submit a job',
    body: [
      field('Kind', input('kind', { required: true, list: known.id })),
      known,
      field('Payload (JSON)', h('textarea', { name: 'payload', spellcheck: 'false' }, '{"hello":"world"}')),
      field('Owner', input('owner', { placeholder: 'default' })),
      field(
        'Lane',
        input('lane', { placeholder: 'none' }),
        'Jobs of one lane run one at a time, in the order in which they were submitted.',
      ),
      field('Delay in seconds', input('delay', { inputmode: 'numeric', placeholder: 'none' })),
    ],
    confirm: 'Submit',
    act: (data) => post('/jobs', wish(data)),
  });
  if (!made) return;
  say(made.existing ? 'There was such a job already.' : 'The job is accepted.');
  go(`/jobs/${made.id}`);
}

function wish(data) {
  const delay = whole(data, 'delay', 'Delay in seconds');
  return {
    kind: text(data, 'kind'),
    payload: json(data, 'payload', 'The payload'),
    owner: text(data, 'owner'),
    lane: text(data, 'lane'),
    delay_ms: delay === null ? undefined : delay * 1000,
  };
}
