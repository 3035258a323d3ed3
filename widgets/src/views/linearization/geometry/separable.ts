// Numbers of an entry that are sums over its coordinates: the offset, a digit, the number of a block of a chunk. One value for each
// column and one for each row are enough to draw a picture of any size, and means over many cells have a closed form.

/** A digit of a coordinate i with its weight: `(i // step) % extent × weight`. */
export interface Term {
  readonly step: number;
  readonly extent: number;
  readonly weight: number;
}

/** The sum of the terms at a coordinate. */
export function valueAt(terms: readonly Term[], i: number): number {
  let sum = 0;
  for (const { step, extent, weight } of terms) sum += (Math.floor(i / step) % extent) * weight;
  return sum;
}

/** The mean of `valueAt` over the coordinates from `from` up to `to`, exactly, however many they are. */
export function meanOver(terms: readonly Term[], from: number, to: number): number {
  if (to - from <= 1) return valueAt(terms, from);
  let sum = 0;
  for (const term of terms) sum += ((summed(term, to) - summed(term, from)) / (to - from)) * term.weight;
  return sum;
}

/** The sum of a digit over the coordinates 0 up to n. */
function summed({ step, extent }: Term, n: number): number {
  const period = step * extent;
  const turns = Math.floor(n / period);
  const rest = n - turns * period;
  const whole = Math.floor(rest / step);
  return turns * step * ((extent * (extent - 1)) / 2) + step * ((whole * (whole - 1)) / 2) + whole * (rest - whole * step);
}

/** The smallest and the largest value over the coordinates from `from` up to `to`, looked up at up to nine of them. */
export function rangeOver(terms: readonly Term[], from: number, to: number): [number, number] {
  const last = Math.max(from, to - 1);
  let low = valueAt(terms, from);
  let high = low;
  const looks = Math.min(8, last - from);
  for (let look = 1; look <= looks; look += 1) {
    const value = valueAt(terms, from + Math.floor(((last - from) * look) / looks));
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return [low, high];
}
