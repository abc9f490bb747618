// Who got how many turns: one stacked bar for every few seconds, each as high as the others, so that a fair engine
// shows level stripes.

import { h, svg } from './dom.js';
import { count, percent } from './number.js';
import { span, timeOfDay } from './time.js';

const HUES = 7;
const LEAST_BARS = 12;
const WIDTH = 600;
const HEIGHT = 100;
const REST = 'others';

/** The chart. A bar is `{ from, to, parts: Map(owner → starts) }`; the oldest comes first. */
export class Shares {
  #drawing = svg('svg', { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: 'none', role: 'img' });
  #words = h('div.plot-times', { 'aria-hidden': 'true' });
  #legend = h('div.legend', { role: 'group', 'aria-label': 'Owners: press one to see it alone' });
  #bars = [];
  #room = LEAST_BARS;
  #names = []; // the owners with a hue of their own, in the order of the stripes
  #picked = null;

  element = h('div.shares', null, this.#drawing, this.#words, this.#legend);

  constructor() {
    this.#drawing.addEventListener('pointermove', (event) => this.#readOut(this.#barAt(event)));
    this.#drawing.addEventListener('pointerleave', () => this.#readOut());
    this.show([]);
  }

  /** Draws these bars in place of those before. */
  show(bars) {
    this.#bars = bars;
    this.#room = Math.max(LEAST_BARS, bars.length);
    const sums = sum(bars);
    this.#names = largest(sums);
    this.#drawing.replaceChildren(...bars.flatMap((bar, index) => this.#stripes(bar, index)));
    this.#drawing.setAttribute('aria-label', describe(sums));
    this.element.classList.toggle('picked', this.#picked !== null);
    this.#refreshLegend(sums);
    this.#readOut();
  }

  #stripes({ parts }, index) {
    const width = WIDTH / this.#room;
    const x = (index + this.#room - this.#bars.length) * width;
    const all = total(parts);
    let y = HEIGHT;
    return stack(parts, this.#names).map(([name, value]) => {
      const height = (value / all) * HEIGHT;
      y -= height;
      return svg('rect', {
        class: `${this.#hue(name)}${name === this.#picked ? ' picked' : ''}`,
        x,
        y,
        width: width - 1,
        height,
      });
    });
  }

  #refreshLegend(sums) {
    const entries = stack(sums, this.#names);
    const shown = [...this.#legend.children].map((button) => button.dataset.name);
    if (JSON.stringify(shown) !== JSON.stringify(entries.map(([name]) => name))) {
      this.#legend.replaceChildren(...entries.map(([name]) => this.#legendButton(name)));
    }
    entries.forEach(([name, value], at) => {
      const button = this.#legend.children[at];
      button.setAttribute('aria-pressed', String(name === this.#picked));
      button.lastChild.textContent = percent(value, total(sums));
    });
  }

  #legendButton(name) {
    const pick = () => {
      this.#picked = this.#picked === name ? null : name;
      this.show(this.#bars);
    };
    const swatch = h('span.swatch', { class: `swatch ${this.#hue(name)}` });
    return h(
      'button',
      { type: 'button', title: name, data: { name }, on: { click: pick } },
      swatch,
      h('span.cut', null, name),
      h('span.soft'),
    );
  }

  #barAt(event) {
    const box = this.#drawing.getBoundingClientRect();
    const index = Math.floor(((event.clientX - box.left) / box.width) * this.#room) - (this.#room - this.#bars.length);
    return this.#bars[index];
  }

  #readOut(bar) {
    if (bar && bar.parts.size > 0) {
      const all = total(bar.parts);
      const parts = stack(bar.parts, this.#names).map(([name, value]) => `${name} ${percent(value, all)}`);
      this.#words.replaceChildren(
        h('strong', null, `${timeOfDay(bar.from)}: ${count(Math.round(all))} starts – ${parts.join(', ')}`),
      );
    } else if (this.#bars.length > 0) {
      const [{ from, to }] = this.#bars;
      this.#words.replaceChildren(h('span', null, `${span(this.#room * (to - from))} ago`), h('span', null, 'now'));
    } else {
      this.#words.replaceChildren('Shares appear as soon as jobs start.');
    }
  }

  #hue(name) {
    const at = this.#names.indexOf(name);
    return at < 0 ? 'part-rest' : `part-${at + 1}`;
  }
}

const total = (parts) => [...parts.values()].reduce((all, value) => all + value, 0);

function sum(bars) {
  const sums = new Map();
  for (const { parts } of bars) for (const [name, value] of parts) sums.set(name, (sums.get(name) ?? 0) + value);
  return sums;
}

/** The owners with the most starts, by name so that the stripes keep their places. */
function largest(sums) {
  const own = [...sums].filter(([name]) => name !== REST).sort((a, b) => b[1] - a[1]);
  return own
    .slice(0, HUES)
    .map(([name]) => name)
    .sort();
}

/** The parts in the order of the stripes; whoever has no hue is in the rest. */
function stack(parts, names) {
  const own = names.filter((name) => parts.has(name)).map((name) => [name, parts.get(name)]);
  const rest = total(parts) - own.reduce((all, [, value]) => all + value, 0);
  return rest > 0.001 ? [...own, [REST, rest]] : own;
}

function describe(sums) {
  if (sums.size === 0) return 'Shares of turns: nothing has started yet.';
  const said = [...sums].sort((a, b) => b[1] - a[1]).slice(0, HUES);
  return `Shares of turns: ${said.map(([name, value]) => `${name} ${percent(value, total(sums))}`).join(', ')}.`;
}
