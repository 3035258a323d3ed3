// Edits of a layout by hand: components in, components out. What an edit does not fit is left as it is.
import type { Component, Part } from "./notation.ts";

/** The components with the one at `from` moved to `to`; the others keep their order. */
export function moved(parts: readonly Part[], from: number, to: number): Part[] {
  const part = parts[from];
  const rest = parts.filter((_, place) => place !== from);
  if (part === undefined) return [...parts];
  rest.splice(Math.max(0, Math.min(to, rest.length)), 0, part);
  return rest;
}

/**
 * The component at `at` split: its `block` fastest values become a digit of their own, just before the rest.
 *
 * A whole dimension becomes `x_in=block, x_out`. A digit becomes two, and the digits of its dimension are numbered anew.
 * Where `block` does not divide the digit, the rest is rounded up.
 */
export function split(parts: readonly Part[], at: number, block: number): Part[] {
  const part = parts[at];
  if (part === undefined || part === "F" || !isBlock(block)) return [...parts];
  const { dim, rank, extent } = part;
  if (part.label === "") return replaced(parts, at, [digit(dim, "in", 0, block), digit(dim, "out", 1, null)]);
  const rest = extent === null ? null : Math.ceil(extent / block);
  return parts.flatMap((other, place): Part[] => {
    if (place === at) return [numbered(dim, rank, block), numbered(dim, rank + 1, rest)];
    if (other === "F" || other.dim !== dim) return [other];
    return [numbered(dim, other.rank > rank ? other.rank + 1 : other.rank, other.extent)];
  });
}

/** The components with a dimension whole again, at the place of its slowest digit. */
export function merged(parts: readonly Part[], dim: string): Part[] {
  const own = parts.filter((part): part is Component => part !== "F" && part.dim === dim);
  const top = own.length - 1;
  return parts.flatMap((part): Part[] => {
    if (part === "F" || part.dim !== dim) return [part];
    return part.rank === top ? [digit(dim, "", 0, null)] : [];
  });
}

/** The components with another block at `at`. The slowest digit of a dimension has none: its extent follows. */
export function withBlock(parts: readonly Part[], at: number, block: number): Part[] {
  const part = parts[at];
  if (part === undefined || part === "F" || part.extent === null || !isBlock(block)) return [...parts];
  return replaced(parts, at, [{ ...part, extent: block }]);
}

const TRIED = 1_000_000;

/** The divisors of a whole number, ascending. Of numbers above 10^12, those made of two primes above 10^6 are left out. */
export function divisors(n: number): number[] {
  if (!Number.isSafeInteger(n) || n < 1) return [];
  let found = [1];
  let rest = n;
  for (let prime = 2; prime * prime <= rest && prime <= TRIED; prime += prime === 2 ? 1 : 2) {
    if (rest % prime !== 0) continue;
    const before = found;
    for (let power = prime; rest % prime === 0; power *= prime) {
      rest /= prime;
      found = found.concat(before.map((divisor) => divisor * power));
    }
  }
  if (rest > 1) found = found.concat(found.map((divisor) => divisor * rest));
  return found.sort((one, other) => one - other);
}

function isBlock(block: number): boolean {
  return Number.isSafeInteger(block) && block >= 1;
}

function digit(dim: string, label: string, rank: number, extent: number | null): Component {
  return { dim, label, rank, extent };
}

function numbered(dim: string, rank: number, extent: number | null): Component {
  return digit(dim, String(rank), rank, extent);
}

function replaced(parts: readonly Part[], at: number, by: readonly Part[]): Part[] {
  return [...parts.slice(0, at), ...by, ...parts.slice(at + 1)];
}
