// Texts as Python writes them, so that an error reads the same whether the browser or the kernel finds it.

/** Text as Python's `repr` writes it: in quotes, with escapes for what cannot be printed. */
export function repr(text: string): string {
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'";
  let found = quote;
  for (const char of text) {
    if (char === "\\" || char === quote) found += `\\${char}`;
    else found += isPrintable(char) ? char : escaped(char);
  }
  return found + quote;
}

/** A name as an error quotes it: short, on one line. */
export function show(text: string): string {
  const chars = [...text];
  return chars.length <= 60 ? repr(text) : `${repr(chars.slice(0, 57).join(""))}…`;
}

/** Text on one printable line of at most `most` characters. A longer text is cut in its middle. */
export function line(text: string, most = 110): string {
  let chars = [...text];
  if (chars.length > 4 * most) chars = [...chars.slice(0, 2 * most), "…", ...chars.slice(-2 * most)];
  chars = [...chars.map((char) => (isPrintable(char) || /\p{Zs}/u.test(char) ? char : escaped(char))).join("")];
  if (chars.length <= most) return chars.join("");
  const end = Math.floor(most / 3);
  return `${chars.slice(0, most - end - 1).join("")}…${chars.slice(-end).join("")}`;
}

/** The text with a capital letter in front, unless it begins with a quoted name or the like. */
export function sentence(text: string): string {
  const [first = "", ...rest] = text;
  return first.toUpperCase() + rest.join("");
}

/** `x`, `x or y`, `x, y or z`. */
export function listed(names: readonly string[]): string {
  const last = names.at(-1) ?? "";
  return names.length < 2 ? last : `${names.slice(0, -1).join(", ")} or ${last}`;
}

function isPrintable(char: string): boolean {
  return char === " " || !/[\p{C}\p{Z}]/u.test(char);
}

const SHORT: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

function escaped(char: string): string {
  const code = char.codePointAt(0) ?? 0;
  const hex = (digits: number): string => code.toString(16).padStart(digits, "0");
  return SHORT[char] ?? (code < 0x100 ? `\\x${hex(2)}` : code < 0x10000 ? `\\u${hex(4)}` : `\\U${hex(8)}`);
}
