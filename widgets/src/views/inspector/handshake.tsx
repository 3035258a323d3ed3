// The messages of a hop as a sequence: both ends as lines, time downwards, every message an arrow from when it is sent to when it has
// arrived. The table beside it has the same in words.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { Button } from "#lib/button.tsx";
import { Table } from "#lib/table.tsx";
import type { ShownHandshake, ShownMessage } from "#model/types.ts";
import { formatBytes, formatSeconds } from "#model/units.ts";
import { useRequests } from "./descriptors.tsx";

const WIDTH = 250;
const LINES = { source: 40, destination: WIDTH - 40 };
const TOP = 30;
/** Pixels from one label to the next. */
const APART = 16;
const LEAST = 200;
const MOST = 460;
/** Messages with fewer pixels each are drawn as one band. */
const DENSE = 6;

export function Messages({ hop }: { hop: number }): JSX.Element {
  const found = useRequests(hop)?.handshakes ?? [];
  const [again, setAgain] = useState(false);
  const shown = found.find((each) => each.again === again) ?? found[0];
  if (shown === undefined) return <p class="iv-faint">Being worked out…</p>;
  return (
    <div data-testid="handshake" data-again={shown.again}>
      {found.length > 1 && (
        <p class="iv-handshake-starts">
          {[false, true].map((later) => (
            <Button
              key={String(later)}
              label={later ? "Later starts" : "First start"}
              testid={later ? "handshake-again" : "handshake-first"}
              pressed={shown.again === later}
              onClick={() => setAgain(later)}
            />
          ))}
        </p>
      )}
      <Sequence of={shown} />
      <details class="iv-details">
        <summary>As a table</summary>
        <Table caption="The messages of the hop" columns={COLUMNS} rows={shown.messages} keyOf={(row) => row.start} wide />
      </details>
    </div>
  );
}

const COLUMNS = [
  { title: "message", names: true, cell: (row: ShownMessage) => nameOf(row) },
  { title: "from", cell: (row: ShownMessage) => row.sender },
  { title: "to", cell: (row: ShownMessage) => (row.sender === row.receiver ? "itself" : row.receiver) },
  { title: "begins", number: true, cell: (row: ShownMessage) => formatSeconds(row.start) },
  { title: "ends", number: true, cell: (row: ShownMessage) => formatSeconds(row.end) },
  { title: "bytes", number: true, cell: (row: ShownMessage) => formatBytes(row.bytes) },
  { title: "what it says", cell: (row: ShownMessage) => row.words },
];

const nameOf = ({ name, count }: ShownMessage): string => (count > 1 ? `${count} × ${name}` : name);

/** A message, or a band of messages that would lie on each other, with where it is drawn. */
export interface Drawn {
  readonly first: ShownMessage;
  readonly last: ShownMessage;
  readonly count: number;
  readonly bytes: number;
  readonly band: boolean;
  readonly named: boolean;
  readonly middle: number;
}

/** What is drawn: true to time, in a picture of a height that fits the number of messages. */
export function placed({ messages, seconds }: ShownHandshake): { height: number; at: (time: number) => number; drawn: Drawn[] } {
  const height = Math.min(MOST, Math.max(LEAST, APART * messages.length));
  const at = (time: number): number => TOP + (seconds > 0 ? (time / seconds) * height : 0);
  const groups: ShownMessage[][] = [];
  for (const message of messages) {
    const group = groups.at(-1);
    const like = group?.[0];
    if (like?.name === message.name && like.sender === message.sender && like.receiver === message.receiver) group?.push(message);
    else groups.push([message]);
  }
  const all = groups.flatMap((group) => {
    const [first, last] = [group[0], group.at(-1)];
    if (first === undefined || last === undefined) return [];
    return at(last.end) - at(first.start) < DENSE * group.length ? [group] : group.map((each) => [each]);
  });
  const whole = all.map((group): Drawn => {
    const [first, last] = [group[0], group.at(-1)] as [ShownMessage, ShownMessage];
    const sum = (read: (each: ShownMessage) => number): number => group.reduce((total, each) => total + read(each), 0);
    const middle = (at(first.start) + at(last.end)) / 2;
    return {
      first,
      last,
      count: sum(({ count }) => count),
      bytes: sum(({ bytes }) => bytes),
      band: group.length > 1,
      named: false,
      middle,
    };
  });
  // A name stands where it does not touch another one; names that are rare go first. That of what takes no time is short, at the side.
  const apart = (one: Drawn, other: Drawn): number => (takesTime(one) === takesTime(other) ? APART : APART / 2) - 2;
  const rare = (each: Drawn): boolean => whole.filter((other) => other.first.name === each.first.name).length < 3;
  const named = new Set<Drawn>();
  for (const each of [...whole.filter(rare), ...whole.filter((other) => !rare(other))])
    if ([...named].every((other) => Math.abs(other.middle - each.middle) >= apart(each, other))) named.add(each);
  return { height, at, drawn: whole.map((each) => ({ ...each, named: named.has(each) })) };
}

const takesTime = ({ first, last }: Drawn): boolean => last.end > first.start;

function Sequence({ of }: { of: ShownHandshake }): JSX.Element {
  const { height, at, drawn } = placed(of);
  const bottom = TOP + height;
  return (
    <svg
      class="iv-handshake"
      viewBox={`0 0 ${WIDTH} ${bottom + 22}`}
      role="img"
      aria-label={`${of.messages.length} messages between ${of.source} and ${of.destination} in ${formatSeconds(of.seconds)}`}
      data-testid="handshake-picture"
    >
      {(["source", "destination"] as const).map((side) => (
        <g key={side}>
          <text x={LINES[side]} y={14} text-anchor="middle" class="iv-handshake-end">
            {of[side]}
          </text>
          <line class="iv-handshake-line" x1={LINES[side]} x2={LINES[side]} y1={TOP - 8} y2={bottom + 6} />
        </g>
      ))}
      {drawn.map((each) => (
        <g key={each.first.start} class={`iv-handshake-message iv-handshake-${kindOf(each.first)}`}>
          <title>
            {`${wordsOf(each)}, ${formatSeconds(each.first.start)} to ${formatSeconds(each.last.end)}: ${each.band ? formatBytes(each.bytes) : each.first.words}`}
          </title>
          <Shape of={each} at={at} />
          {each.named && <Label of={each} />}
        </g>
      ))}
      <text class="iv-handshake-time" x={WIDTH / 2} y={bottom + 18} text-anchor="middle">
        {formatSeconds(of.seconds)} in all
      </text>
    </svg>
  );
}

const wordsOf = ({ first, count }: Drawn): string => nameOf({ ...first, count });

/** What one end does by itself, a message with data, or one without. */
const kindOf = ({ sender, receiver, words, name }: ShownMessage): "work" | "data" | "signal" =>
  sender === receiver ? "work" : words.startsWith(name) ? "data" : "signal";

function Shape({ of: { first, last, band }, at }: { of: Drawn; at: (time: number) => number }): JSX.Element {
  const [x1, x2] = [LINES[first.sender], LINES[first.receiver]];
  const [y1, y2] = [at(first.start), at(first.end)];
  if (first.sender === first.receiver) return <rect x={x1 - 4} y={y1} width={8} height={Math.max(2, at(last.end) - y1)} rx={2} />;
  if (band) return <path class="iv-handshake-band" d={`M${x1} ${y1}L${x2} ${y2}V${at(last.end)}L${x1} ${at(last.start)}z`} />;
  const [dx, dy] = [x2 - x1, y2 - y1];
  const long = Math.hypot(dx, dy) || 1;
  const [ux, uy] = [dx / long, dy / long];
  const tip = [x2 - Math.sign(dx) * 1.5, y2] as const;
  const foot = (side: number): string =>
    `${(tip[0] - 7 * ux - side * 3 * uy).toFixed(1)} ${(tip[1] - 7 * uy + side * 3 * ux).toFixed(1)}`;
  return (
    <>
      <line x1={x1} y1={y1} x2={tip[0]} y2={tip[1]} />
      <path d={`M${tip[0]} ${tip[1]}L${foot(1)}L${foot(-1)}z`} />
    </>
  );
}

function Label({ of }: { of: Drawn }): JSX.Element {
  const { first, last, middle } = of;
  const left = first.sender === "source";
  const [x, anchor] =
    first.sender === first.receiver ? [LINES[first.sender] + (left ? 9 : -9), left ? "start" : "end"] : [WIDTH / 2, "middle"];
  // Beside a bar and in a band it stands in the middle, else over its arrow; that of what takes no time over all of them.
  const y = middle + (!takesTime(of) ? -5 : first.sender === first.receiver || of.band ? 4 : -3);
  return (
    <text x={x} y={y} text-anchor={anchor as "start" | "middle" | "end"}>
      {wordsOf(of)}
      {takesTime(of) && <tspan class="iv-handshake-time"> {formatSeconds(last.end - first.start)}</tspan>}
    </text>
  );
}
