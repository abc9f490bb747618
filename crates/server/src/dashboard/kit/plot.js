// One rate over time as a filled curve. Several of them stand side by side on one scale, because curves that are drawn
// over each other hide each other as soon as everything goes well.

import { h, svg } from './dom.js';
import { rate } from './number.js';
import { span, timeOfDay } from './time.js';

const WIDTH = 600;
const HEIGHT = 100;

/** A plot. Points are `{ at, value }`, oldest first; the frame is `{ from, to, top }`. */
export class Plot {
  #label;
  #area = svg('path.area');
  #curve = svg('path.curve');
  #mark = svg('line.mark', { y1: 0, y2: HEIGHT, visibility: 'hidden' });
  #drawing = svg('svg', { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: 'none', role: 'img' });
  #present = h('span.now', null, '–');
  #top = h('span.plot-top', { 'aria-hidden': 'true' });
  #times = h('div.plot-times', { 'aria-hidden': 'true' });
  #points = [];
  #frame = { from: 0, to: 1, top: 1 };
  #pointed = null; // where the pointer is, from 0 to 1

  constructor(label, { tone = 'calm' } = {}) {
    this.#label = label;
    this.element = h(
      `section.card.plot.${tone}`,
      null,
      h('div.plot-head', null, h('h2', null, label), this.#present),
      h('div.plot-field', null, this.#drawing, this.#top),
      this.#times,
    );
    const lines = [0.5, HEIGHT / 2, HEIGHT - 0.5].map((y) => svg('line.grid', { x1: 0, x2: WIDTH, y1: y, y2: y }));
    this.#drawing.append(...lines, this.#area, this.#curve, this.#mark);
    this.#drawing.addEventListener('pointermove', (event) => {
      const box = this.#drawing.getBoundingClientRect();
      this.#pointed = (event.clientX - box.left) / box.width;
      this.#readOut();
    });
    this.#drawing.addEventListener('pointerleave', () => {
      this.#pointed = null;
      this.#readOut();
    });
    this.#readOut();
  }

  /** Draws these points in place of those before. */
  show(points, frame) {
    this.#points = points;
    this.#frame = frame;
    const last = points.at(-1);
    const places = points.map(({ at, value }) => `${this.#x(at)} ${this.#y(value)}`);
    this.#curve.setAttribute('d', last ? `M${places.join('L')}` : '');
    this.#area.setAttribute('d', last ? `M${this.#x(points[0].at)} ${HEIGHT}L${places.join('L')}V${HEIGHT}Z` : '');
    this.#present.textContent = last ? `${rate(last.value)}/s` : '–';
    this.#top.textContent = last ? `${rate(frame.top)}/s` : '';
    this.#drawing.setAttribute('aria-label', describe(this.#label, points));
    this.#readOut();
  }

  #x(at) {
    return (((at - this.#frame.from) / (this.#frame.to - this.#frame.from)) * WIDTH).toFixed(1);
  }

  #y(value) {
    return (HEIGHT - (value / this.#frame.top) * (HEIGHT - 4)).toFixed(1);
  }

  /** The value under the pointer; otherwise the time that the plot covers. */
  #readOut() {
    const { from, to } = this.#frame;
    const near = this.#pointed === null ? undefined : nearest(this.#points, from + this.#pointed * (to - from));
    this.#mark.setAttribute('visibility', near ? 'visible' : 'hidden');
    if (near) {
      for (const end of ['x1', 'x2']) this.#mark.setAttribute(end, this.#x(near.at));
      this.#times.replaceChildren(h('strong', null, `${rate(near.value)}/s at ${timeOfDay(near.at)}`));
    } else if (this.#points.length > 0) {
      this.#times.replaceChildren(h('span', null, `${span(to - from)} ago`), h('span', null, 'now'));
    } else {
      this.#times.replaceChildren('The first value comes in a few seconds.');
    }
  }
}

/** The smallest round number that is not below any of these. */
export function roundTop(values) {
  const highest = Math.max(1, ...values);
  const size = 10 ** Math.floor(Math.log10(highest));
  return [1, 1.5, 2, 3, 4, 5, 6, 8, 10].map((step) => step * size).find((top) => top >= highest);
}

function nearest(points, at) {
  const closer = (best, point) => (Math.abs(point.at - at) < Math.abs(best.at - at) ? point : best);
  return points.length > 0 ? points.reduce(closer) : undefined;
}

function describe(label, points) {
  if (points.length === 0) return `${label}: no values yet.`;
  const highest = Math.max(...points.map(({ value }) => value));
  return `${label}: now ${rate(points.at(-1).value)} per second, at most ${rate(highest)} in the time shown.`;
}
