// Glyphs, drawn here so that they look alike whatever fonts the reader has. They stand beside words and are hidden
// from screen readers.

import { svg } from './dom.js';

const ROUND = 'M8 2a6 6 0 1 0 0 12A6 6 0 1 0 8 2';

const PATHS = {
  waiting: ['M8 2v.01M12.2 3.8v.01M14 8v.01M12.2 12.2v.01M8 14v.01M3.8 12.2v.01M2 8v.01M3.8 3.8v.01'],
  scheduled: [ROUND, 'M8 4.8V8l2.2 1.6'],
  ready: [ROUND],
  running: ['M5 3.2v9.6L12.6 8z'],
  retrying: ['M13 6.5A5.3 5.3 0 1 0 13.2 9.6', 'M13.4 3v3.6H9.8'],
  done: ['M2.8 8.6 6.2 12 13.2 4.4'],
  dead: ['M3.6 3.6l8.8 8.8M12.4 3.6l-8.8 8.8'],
  cancelled: [ROUND, 'M4 12 12 4'],
  paused: ['M5.2 3.2v9.6M10.8 3.2v9.6'],
  halted: ['M5.4 2h5.2L14 5.4v5.2L10.6 14H5.4L2 10.6V5.4z', 'M6.2 8h3.6'],
  warning: ['M8 2.4 14.4 13.4H1.6z', 'M8 6.6v3M8 11.6v.01'],
  critical: ['M5.4 2h5.2L14 5.4v5.2L10.6 14H5.4L2 10.6V5.4z', 'M8 5v3.6M8 10.8v.01'],
  arrow: ['M2 8h11M9.4 4.4 13 8l-3.6 3.6'],
  live: ['M8 6.4a1.6 1.6 0 1 0 0 3.2 1.6 1.6 0 1 0 0-3.2', 'M4.4 4.4a5 5 0 0 0 0 7.2M11.6 4.4a5 5 0 0 1 0 7.2'],
  light: [
    'M8 5a3 3 0 1 0 0 6 3 3 0 1 0 0-6',
    'M8 1v1.4M8 13.6V15M1 8h1.4M13.6 8H15M3 3l1 1M12 12l1 1M3 13l1-1M12 4l1-1',
  ],
  dark: ['M13.4 9.8A6 6 0 1 1 6.2 2.6a4.8 4.8 0 0 0 7.2 7.2z'],
  system: ['M2 3h12v8H2z', 'M5.4 14h5.2'],
  menu: ['M2.5 4.5h11M2.5 8h11M2.5 11.5h11'],
  close: ['M4 4l8 8M12 4l-8 8'],
  help: ['M5.6 6a2.4 2.4 0 1 1 3.4 2.2c-.7.4-1 .8-1 1.6', 'M8 12.4v.01'],
};

/** The glyph of that name. */
export function icon(name) {
  const paths = PATHS[name].map((d) => svg('path', { d }));
  const look = {
    fill: 'none',
    stroke: 'currentColor',
    'stroke-width': 1.7,
    'stroke-linecap': 'round',
    'stroke-linejoin': 'round',
  };
  return svg(
    'svg',
    { viewBox: '0 0 16 16', width: 16, height: 16, 'aria-hidden': 'true', focusable: 'false', ...look },
    paths,
  );
}
