// The beginning: a frame, and the page that the address names.

import './app/rates.js';
import { makeFrame } from './app/frame.js';
import { route, show } from './app/router.js';

route(await makeFrame({ signedIn: show }));
