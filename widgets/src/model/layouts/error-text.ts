// Texts of which errors are made, as the kernel makes them: whoever finds an error, it reads the same.

/** A name in quotes, short, on one line; what cannot be seen of it is written as a number. */
export function quoted(text: string): string {
  const quote = text.includes("'") ? '"' : "'";
  const chars = [...text].map((char) => (char === "\\" ? "\\\\" : isSeen(char) ? char : numbered(char)));
  return chars.length <= 60 ? quote + chars.join("") + quote : `${quote}${chars.slice(0, 57).join("")}${quote}…`;
}

const isSeen = (char: string): boolean => char === " " || !/[\p{C}\p{Z}]/u.test(char);
const numbered = (char: string): string => `\\u${(char.codePointAt(0) ?? 0).toString(16).padStart(4, "0")}`;

/** Text of at most `most` characters. A longer text is cut in its middle. */
export function cut(text: string, most = 110): string {
  const chars = [...text];
  if (chars.length <= most) return text;
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
