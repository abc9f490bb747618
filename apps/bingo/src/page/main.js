// The page of bingo: its address says which part of it is shown.

import { frame } from '/assets/app/frame.js';
import { batch } from './batch.js';
import { batches } from './batches.js';
import { comparison } from './compare.js';
import { start } from './start.js';

const PARTS = [
  [/^\/apps\/bingo\/new\/?$/, 'New bingo batch', start],
  [/^\/apps\/bingo\/batch\/([0-9a-z]+)\/?$/i, 'Bingo batch', batch],
  [/^\/apps\/bingo\/compare\/?$/, 'Compare bingo batches', comparison],
  [/^/, 'Bingo', batches],
];

const [pattern, title, show] = PARTS.find(([pattern]) => pattern.test(location.pathname));
const { element, actions, api } = await frame(title);
show({ element, actions, api, id: location.pathname.match(pattern)[1] });
