// Numbers as people read them.

const grouped = new Intl.NumberFormat('en-GB');
const compact = new Intl.NumberFormat('en-US', { notation: 'compact', maximumFractionDigits: 1 });

/** 12,345 */
export const count = (value) => grouped.format(value);

/** 12,345 as it is; more than that is short: 1.2M. */
export const brief = (value) => (value < 100_000 ? grouped.format(value) : compact.format(value));

/** Something per second: 0.4, 12, 1,250. */
export const rate = (value) => (value > 0 && value < 10 ? value.toFixed(1) : grouped.format(Math.round(value)));

/** A part of a whole: "0 %", "0.4 %", "37 %". Almost everything is not everything. */
export function percent(part, whole) {
  if (!whole || !part) return '0 %';
  const value = (100 * part) / whole;
  if (value < 1) return '< 1 %';
  return value > 99 && part < whole ? '99 %' : `${Math.round(value)} %`;
}

/** "1 job", "2 jobs", "2 batches". */
export function many(value, one, more = `${one}s`) {
  return `${grouped.format(value)} ${value === 1 ? one : more}`;
}
