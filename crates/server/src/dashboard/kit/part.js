// A part of a page that is drawn again only when what it shows has changed. Until then a focus, a selection and an
// opened detail in it stay as they are; times in it keep themselves right.

import { fill } from './dom.js';

/** Makes an element such a part: `show(data, draw)` fills it with `draw(data)`, and hides it if that is nothing. */
export function part(element) {
  let print;
  return {
    element,
    show(data, draw) {
      const now = JSON.stringify(data) ?? '';
      if (now === print) return;
      print = now;
      const content = draw(data);
      element.hidden = !content;
      fill(element, content);
    },
  };
}
