// The parser of layout texts such as `<x_in=4, F, x_out>`, the twin of isoviz/layouts/notation.py: the same grammar, the same
// rules, and the same error at the same character.
import { cut, quoted, sentence } from "./error-text.ts";

/**
 * One digit of a dimension as written: `x`, `x_in=4`, `x_out`, `x_1=512`. `rank` is the number of the digit within its
 * dimension; the fastest is 0. `label` is the text behind the underscore, "" for a whole dimension. `extent` is the written
 * number, null where it follows from the size of the dimension.
 */
export interface Component {
  readonly dim: string;
  readonly label: string;
  readonly rank: number;
  readonly extent: number | null;
}

/** A component of a layout: a digit, or the field space. */
export type Part = Component | "F";

/** What is wrong with a text. `position` counts code points. */
export interface TextProblem {
  readonly message: string;
  readonly position: number;
}

export type Parsed =
  | { readonly parts: readonly Part[]; readonly problem: null }
  | { readonly parts: null; readonly problem: TextProblem };

/** The name of a dimension in a text, and its position in code points. */
export interface PlacedName {
  readonly dim: string;
  readonly position: number;
}

interface Placed {
  readonly part: Part;
  readonly position: number;
}

/** The components of the layout that a text describes, fastest first, or what is wrong with the text. */
export function parse(text: string): Parsed {
  try {
    return { parts: new Reader(text).layout(), problem: null };
  } catch (error) {
    if (error instanceof Wrong) return { parts: null, problem: error.problem };
    throw error;
  }
}

/** The dimensions that a text names, as far as it can be read as components with commas between them. */
export function namedDimensions(text: string): PlacedName[] {
  return new Reader(text).names();
}

/** The name of a digit: `x`, `x_in`, `x_1`. */
export function componentName(part: Component): string {
  return part.label === "" ? part.dim : `${part.dim}_${part.label}`;
}

/** A component as text: `x_in=4`, `F`. */
export function partText(part: Part): string {
  if (part === "F") return "F";
  return part.extent === null ? componentName(part) : `${componentName(part)}=${part.extent}`;
}

/** The text of a layout: `<x_in=4, F, x_out>`. */
export function layoutText(parts: readonly Part[]): string {
  return `<${parts.map(partText).join(", ")}>`;
}

/** A problem in words, as the kernel says it. */
export function textProblem(position: number, problem: string, expected: string): TextProblem {
  return { message: sentence(`${cut(problem)}; expected ${cut(expected)}`), position };
}

/** The position at which a further component would stand: before the spaces and closing brackets at the end. */
export function endOf(text: string): number {
  const chars = [...text];
  while (/^\s$/.test(chars.at(-1) ?? "")) chars.pop();
  while (Object.values(BRACKETS).includes(chars.at(-1) ?? "")) chars.pop();
  return chars.length;
}

class Wrong extends Error {
  readonly problem: TextProblem;
  constructor(position: number, problem: string, expected: string) {
    super(problem);
    this.problem = textProblem(position, problem, expected);
  }
}

const BRACKETS: Readonly<Record<string, string>> = { "<": ">", "⟨": "⟩" };
const WORD = /[\p{L}\p{N}_]/u;
const DECIMAL = /\p{Nd}/u;
const DIGIT = /^(.+)_(in|out|\p{Nd}+)$/u;
const RANK = /^(?:0|[1-9][0-9]{0,5})$/;

/** The dimension and the label in the name of a component; the label is "" for a whole dimension. */
function digitOf(name: string): { dim: string; label: string } {
  const found = name.includes("_") ? DIGIT.exec(name) : null;
  return { dim: found?.[1] ?? name, label: found?.[2] ?? "" };
}

/** One pass over the text; `at` is the position of the next character. */
class Reader {
  private readonly chars: readonly string[];
  private at = 0;
  private close = "";
  /** What a double cannot hold; told only where the kernel finds nothing wrong. */
  private uncountable: Wrong | null = null;

  constructor(text: string) {
    this.chars = [...text];
  }

  layout(): Part[] {
    const found: Placed[] = [];
    this.open();
    for (;;) {
      this.skip();
      const position = this.at;
      found.push({ part: this.component(), position });
      this.skip();
      if (this.peek() !== ",") break;
      this.at += 1;
    }
    this.end();
    check(found);
    if (this.uncountable !== null) throw this.uncountable;
    return found.map(({ part }) => part);
  }

  names(): PlacedName[] {
    const found: PlacedName[] = [];
    this.open();
    for (;;) {
      this.skip();
      const position = this.at;
      const name = this.name();
      if (name === "") return found;
      if (name !== "F") found.push({ dim: digitOf(name).dim, position });
      this.skip();
      if (this.peek() === "=") {
        this.at += 1;
        this.skip();
        this.number();
        this.skip();
      }
      if (this.peek() !== ",") return found;
      this.at += 1;
    }
  }

  private component(): Part {
    const start = this.at;
    const name = this.name();
    if (name === "") throw this.wrong(this.here(), "a component: F, a dimension such as x, or a digit such as x_in=4");
    const extent = this.extent();
    if (name === "F") {
      if (extent !== null) throw this.wrong("F takes no size", "F alone", start);
      return "F";
    }
    const { dim, label } = digitOf(name);
    if (label === "") {
      if (extent !== null)
        throw this.wrong(
          `${quoted(name)} is a whole dimension, whose size the index space gives`,
          `'${name}' alone, or the digits '${name}_in=${extent}' and '${name}_out'`,
          start,
        );
      return { dim, label, rank: 0, extent: null };
    }
    if (label === "out" && extent !== null)
      throw this.wrong(`${quoted(name)} follows from the size of ${quoted(dim)}`, `'${name}' alone`, start);
    if (label === "in" && extent === null) throw this.wrong(`${quoted(name)} has no block size`, `a size, such as '${name}=4'`);
    if (label === "in" || label === "out") return { dim, label, rank: label === "in" ? 0 : 1, extent };
    if (!RANK.test(label))
      throw this.wrong(`${quoted(name)} does not number a digit`, `0, 1, … without leading zeros, such as '${dim}_0'`, start);
    return { dim, label, rank: Number(label), extent };
  }

  private extent(): number | null {
    const mark = this.at;
    this.skip();
    if (this.peek() !== "=") {
      this.at = mark;
      return null;
    }
    this.at += 1;
    this.skip();
    const start = this.at;
    const digits = this.number();
    if (digits === "") throw this.wrong(this.here(), "a block size of at least 1, such as 4");
    if (Number(digits) === 0 || digits.length >= 20 || BigInt(digits) >= 2n ** 63n)
      throw this.wrong(`block size ${digits} cannot be`, "a block size of at least 1 and below 2^63", start);
    if (!Number.isSafeInteger(Number(digits)))
      this.uncountable ??= this.wrong(`block size ${digits} is too large to be shown`, "a block size below 2^53", start);
    return Number(digits);
  }

  private name(): string {
    const start = this.at;
    if (DECIMAL.test(this.peek())) return "";
    while (WORD.test(this.peek())) this.at += 1;
    return this.chars.slice(start, this.at).join("");
  }

  private number(): string {
    const start = this.at;
    while (/^[0-9]$/.test(this.peek())) this.at += 1;
    return this.chars.slice(start, this.at).join("");
  }

  private open(): void {
    this.skip();
    this.close = BRACKETS[this.peek()] ?? "";
    if (this.close !== "") this.at += 1;
  }

  private end(): void {
    if (this.close !== "") {
      if (this.peek() !== this.close) throw this.wrong(this.here(), `',' or '${this.close}'`);
      this.at += 1;
      this.skip();
    }
    if (this.at < this.chars.length)
      throw this.wrong(this.here(), this.close === "" ? "',' or the end of the layout" : "the end of the layout");
  }

  private skip(): void {
    while (/^\s$/.test(this.peek())) this.at += 1;
  }

  private peek(): string {
    return this.chars[this.at] ?? "";
  }

  private here(): string {
    return this.peek() === "" ? "the text ends" : `found ${quoted(this.peek())}`;
  }

  private wrong(problem: string, expected: string, position = this.at): Wrong {
    return new Wrong(position, problem, expected);
  }
}

/** Check the rules for several components: `F` appears once, and the digits of every dimension cover it once. */
function check(found: readonly Placed[]): void {
  const byDim = new Map<string, Placed[]>();
  const seen = new Set<string>();
  const fields = found.filter(({ part }) => part === "F");
  if (fields[1] !== undefined) throw new Wrong(fields[1].position, "F appears twice", "F exactly once");
  for (const placed of found) {
    if (placed.part === "F") continue;
    const name = componentName(placed.part);
    if (seen.has(name)) throw new Wrong(placed.position, `${quoted(name)} appears twice`, "every component once");
    seen.add(name);
    const others = byDim.get(placed.part.dim);
    if (others === undefined) byDim.set(placed.part.dim, [placed]);
    else others.push(placed);
  }
  for (const [dim, parts] of byDim) checkDimension(dim, parts);
  const last = found.at(-1);
  if (fields.length === 0 && last !== undefined)
    throw new Wrong(
      last.position + [...partText(last.part)].length,
      "F is missing",
      "F exactly once, also where there is one field",
    );
}

function checkDimension(dim: string, placed: readonly Placed[]): void {
  const parts = placed.map(({ part }) => part as Component);
  const labels = new Set(parts.map((part) => part.label));
  const last = placed.at(-1)?.position ?? 0;
  const only = (label: string): boolean => labels.size === 1 && labels.has(label);
  const named = [...labels].filter((label) => label === "in" || label === "out");
  if (labels.has("") && labels.size > 1)
    throw new Wrong(last, `${quoted(dim)} appears whole and in digits`, `either '${dim}' or its digits`);
  if (only("in")) throw new Wrong(last, `'${dim}_in' without '${dim}_out'`, `'${dim}_out' as well`);
  if (only("out")) throw new Wrong(last, `'${dim}_out' without '${dim}_in'`, `'${dim}_in=…' as well`);
  if (named.length > 0 && named.length < labels.size)
    throw new Wrong(
      last,
      `${quoted(dim)} mixes _in/_out with numbered digits`,
      `'${dim}_in', '${dim}_out' or '${dim}_0', '${dim}_1', …`,
    );
  const ranks = parts.map((part) => part.rank).sort((one, other) => one - other);
  if (ranks.some((rank, place) => rank !== place))
    throw new Wrong(
      last,
      `the digits of ${quoted(dim)} are numbered [${ranks.join(", ")}]`,
      `'${dim}_0' to '${dim}_${ranks.length - 1}'`,
    );
  parts.forEach((part, place) => {
    const position = placed[place]?.position ?? 0;
    const top = part.rank === parts.length - 1;
    const name = componentName(part);
    if (part.label !== "" && !top && part.extent === null)
      throw new Wrong(position, `${quoted(name)} has no extent`, `an extent, such as '${name}=4'`);
    if (top && part.extent !== null)
      throw new Wrong(position, `${quoted(name)} follows from the size of ${quoted(dim)}`, `'${name}' without an extent`);
  });
}
