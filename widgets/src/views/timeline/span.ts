// The part of the time that a timeline shows: zoomed, moved, and divided for its axis.

/** A part of a trace, in seconds. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/** The whole is at most this many times as long as the shortest part that can be shown. */
const DEEPEST = 1e7;

/** The span within the whole, as long as it is, but not longer than the whole and not shorter than can be drawn. */
export function within(span: Span, whole: number): Span {
  const length = Math.min(whole, Math.max(span.to - span.from, whole / DEEPEST));
  const middle = (span.from + span.to) / 2;
  const from = Math.max(0, Math.min(whole - length, span.to - span.from === length ? span.from : middle - length / 2));
  return { from, to: from + length };
}

/** The span `factor` times as long; the moment `fixed` stays where it is on the screen. */
export function zoomed(span: Span, factor: number, fixed: number, whole: number): Span {
  const length = Math.min(whole, Math.max((span.to - span.from) * factor, whole / DEEPEST));
  const share = (fixed - span.from) / (span.to - span.from);
  return within({ from: fixed - share * length, to: fixed + (1 - share) * length }, whole);
}

/** The span moved by seconds. */
export function moved(span: Span, by: number, whole: number): Span {
  return within({ from: span.from + by, to: span.to + by }, whole);
}

/** The span moved so that a moment is in it, near its left edge where it has to be turned over. */
export function showing(span: Span, time: number, whole: number): Span {
  if (time >= span.from && time <= span.to) return span;
  const length = span.to - span.from;
  return within({ from: time - 0.1 * length, to: time + 0.9 * length }, whole);
}

const UNITS = [
  [1, "s"],
  [1e-3, "ms"],
  [1e-6, "µs"],
  [1e-9, "ns"],
] as const;

function unitOf(seconds: number): readonly [number, string] {
  return UNITS.find(([size]) => seconds >= size * 0.9995) ?? UNITS[3];
}

/** A moment with as many digits as a step of `resolution` seconds needs: 0.0123456 at 1e-6 → "12.346 ms". */
export function momentText(time: number, resolution: number): string {
  const [size, unit] = unitOf(Math.max(time, resolution));
  const digits = Math.max(0, Math.min(7, Math.ceil(-Math.log10(resolution / size) - 1e-9)));
  return `${(time / size).toFixed(digits)} ${unit}`;
}

/** The places of the labels of an axis, about `count` of them, at round numbers. */
export function ticks(span: Span, count: number): { times: number[]; step: number } {
  const raw = (span.to - span.from) / Math.max(1, count);
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((each) => each * power).find((each) => each >= raw * 0.999) ?? raw;
  const times: number[] = [];
  for (let n = Math.ceil(span.from / step - 1e-9); n * step <= span.to * (1 + 1e-12); n += 1) times.push(n * step);
  return { times, step };
}

/** The label of a tick: all labels of an axis have one unit. */
export function tickText(time: number, step: number, span: Span): string {
  const [size, unit] = unitOf(Math.max(span.to, step));
  const digits = Math.max(0, Math.min(9, Math.ceil(-Math.log10(step / size) - 1e-9)));
  return `${(time / size).toFixed(digits)} ${unit}`;
}
