// Logarithmic axes for the charts of the plan.

export interface Axis {
  low: number;
  high: number;
  place: (value: number) => number;
  value: (place: number) => number;
}

/** A logarithmic axis from one place to another. */
export function logAxis(low: number, high: number, from: number, to: number): Axis {
  const [first, span] = [Math.log(low), Math.log(high / low) || 1];
  return {
    low,
    high,
    place: (value) => from + ((Math.log(value) - first) / span) * (to - from),
    value: (place) => Math.exp(first + ((place - from) / (to - from)) * span),
  };
}

/** Whole powers of a base on an axis, at most `most`. */
export function powers({ low, high }: Axis, base: number, most: number): number[] {
  const found: number[] = [];
  const first = Math.ceil(Math.log(low) / Math.log(base) - 1e-9);
  for (let power = first; base ** power <= high * (1 + 1e-9); power += 1) found.push(base ** power);
  const every = Math.max(1, Math.ceil(found.length / most));
  return found.filter((_, place) => (found.length - 1 - place) % every === 0);
}
