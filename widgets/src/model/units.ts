// Sizes, rates, durations and shares as people write them: what isoviz/units.py gives, character by character. Quantities everywhere
// else are bytes, seconds and bytes per second.

const BINARY = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"] as const;

/** A size in binary units with three digits: 33554432 → "32 MiB". */
export function formatBytes(count: number): string {
  let value = count;
  let unit = 0;
  while (Math.abs(value) >= 1023.5 && unit < BINARY.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${short(value)} ${BINARY[unit]}`;
}

/** A rate in decimal units: 3.18e9 → "3.18 GB/s". */
export function formatRate(rate: number): string {
  for (const [factor, unit] of [
    [1e12, "TB/s"],
    [1e9, "GB/s"],
    [1e6, "MB/s"],
    [1e3, "kB/s"],
  ] as const)
    if (Math.abs(rate) >= factor * 0.9995) return `${short(rate / factor)} ${unit}`;
  return `${short(rate)} B/s`;
}

/** A duration: 0.0012 → "1.2 ms". */
export function formatSeconds(seconds: number): string {
  for (const [factor, unit] of [
    [1, "s"],
    [1e-3, "ms"],
    [1e-6, "µs"],
  ] as const)
    if (Math.abs(seconds) >= factor * 0.9995) return `${short(seconds / factor)} ${unit}`;
  return `${short(seconds / 1e-9)} ns`;
}

/** A share in two digits: "0.012 %", "7.5 %"; from 10 % on without a fraction: "38 %", "1,250 %". */
export function formatShare(share: number): string {
  return Math.abs(share) < 0.0995 ? `${significant(100 * share, 2)} %` : `${whole(100 * share)} %`;
}

const COUNT = /^([0-9]{1,3}(?:,[0-9]{3})+|[0-9]+(?:_[0-9]+)*)(?:([KkMmGgTt])i|[eE]([0-9]{1,2})|(?:\^|\*\*)([0-9]{1,2}))?$/;

/** The whole number in "4096", "4,096", "1_000", "4Ki", "1e3", "2^20" or "2**20"; null where it is none: `parse_count` of isoviz/units.py. */
export function parseCount(text: string): bigint | null {
  const [, digits, unit, tens, power] = (text.length <= 100 ? COUNT.exec(text.trim()) : null) ?? [];
  if (digits === undefined) return null;
  const number = BigInt(digits.replace(/[,_]/g, ""));
  if (unit !== undefined) return number << BigInt(10 * (1 + "kmgt".indexOf(unit.toLowerCase())));
  if (power !== undefined) return number ** BigInt(power);
  return number * 10n ** BigInt(tens ?? "0");
}

/** A whole number in groups of three digits: 2048 → "2,048". */
export function formatCount(count: number): string {
  return whole(count);
}

/** A number of things: "1 hop", "2 hops". */
export function counted(count: number, what: string, plural = `${what}s`): string {
  return `${formatCount(count)} ${count === 1 ? what : plural}`;
}

function short(value: number): string {
  return Math.abs(value) >= 999.5 ? whole(value) : significant(value, 3);
}

/** As Python's `,.0f`: halves go to the even neighbour. */
function whole(value: number): string {
  const below = Math.floor(value);
  const part = value - below;
  const rounded = part === 0.5 ? below + (below % 2 === 0 ? 0 : 1) : part > 0.5 ? below + 1 : below;
  const digits = BigInt(Math.abs(rounded)).toString();
  return `${value < 0 ? "-" : ""}${digits.replace(/\B(?=(\d{3})+$)/g, ",")}`;
}

/** As Python's `.3g` with that many digits: halves go to the even neighbour, trailing zeros go, small ones get an exponent. */
function significant(value: number, digits: number): string {
  if (value === 0) return Object.is(value, -0) ? "-0" : "0";
  const size = Math.abs(value);
  // The exact decimal expansion tells a half from what is a little more or less.
  const [exact = "", power = "0"] = size.toExponential(100).split("e");
  const places = exact.replace(".", "");
  let mantissa = BigInt(places.slice(0, digits));
  let exponent = Number(power);
  const rest = places.slice(digits);
  const first = rest[0] ?? "0";
  const isHalf = first === "5" && /^50*$/.test(rest);
  if (isHalf ? mantissa % 2n === 1n : first >= "5") mantissa += 1n;
  if (mantissa === 10n ** BigInt(digits)) {
    mantissa /= 10n;
    exponent += 1;
  }
  const text = mantissa.toString();
  const sign = value < 0 ? "-" : "";
  if (exponent < -4 || exponent >= digits) {
    const tail = text.slice(1).replace(/0+$/, "");
    const shown = Math.abs(exponent).toString().padStart(2, "0");
    return `${sign}${text[0]}${tail === "" ? "" : `.${tail}`}e${exponent < 0 ? "-" : "+"}${shown}`;
  }
  const padded = exponent < 0 ? "0".repeat(-exponent) + text : text;
  const point = exponent < 0 ? 1 : exponent + 1;
  const decimals = padded.slice(point).replace(/0+$/, "");
  return `${sign}${padded.slice(0, point)}${decimals === "" ? "" : `.${decimals}`}`;
}
