// The way of a chunk in time: `at` counts hops, with the share of the one that is going on.

/** Where the chunk is some seconds later; `lasting` are the seconds of each hop. */
export function advanced(at: number, seconds: number, lasting: readonly number[]): number {
  let [next, left] = [at, seconds];
  while (next < lasting.length) {
    const hop = Math.floor(next);
    const all = lasting[hop] ?? 1;
    const rest = (hop + 1 - next) * all;
    if (left < rest) return next + left / all;
    left -= rest;
    next = hop + 1;
  }
  return lasting.length;
}
