// Layouts on spaces, for tests.
import { type Linearization, linearize } from "#model/layouts/linearization.ts";

export function layout(text: string, sizes: Record<string, number>, fields: Record<string, number> = { v: 4 }): Linearization {
  const of = (record: Record<string, number>): { name: string; size: number }[] =>
    Object.entries(record).map(([name, size]) => ({ name, size }));
  const { linear, problem } = linearize(text, of(sizes), of(fields));
  if (linear === null) throw new Error(problem.message);
  return linear;
}

export const COMPLEX = { re: 4, im: 4 };
