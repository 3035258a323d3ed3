// What is known of an entry: index, byte, element, cache line, what follows in memory, and the run that it moves with.
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { Linearization } from "#model/layouts/linearization.ts";
import { type Entry, positionOf } from "#model/layouts/order.ts";
import { formatBytes, formatCount } from "#model/units.ts";
import { Term } from "#views/controls/term.tsx";
import { nextElement, stepText } from "#views/linearization/geometry/order.ts";
import { entryText } from "./entries.ts";
import { CACHE_LINE } from "./options.ts";

interface FactsProps {
  linear: Linearization;
  entry: Entry | null;
  selected: Entry | null;
  /** The run that both ends keep, in bytes; null where there is no other end. */
  runBytes: number | null;
  /** The entry lies in another slice than the one that is drawn. */
  elsewhere: boolean;
  compact: boolean;
}

export function Facts({ linear, entry, selected, runBytes, elsewhere, compact }: FactsProps): JSX.Element {
  const offset = entry === null ? null : linear.offset(entry.index, entry.field);
  const next = entry === null ? null : nextElement(linear, entry);
  // Words without figures take no room.
  const nothing = compact && entry === null;
  const size = entry === null ? 0 : (linear.fields[entry.field]?.size ?? 1);
  return (
    <>
      <dl class="iv-lin-facts iv-lin-about" data-testid="linearization-facts">
        <div class={`iv-lin-entry${linear.dims.length > 2 ? " iv-lin-long" : ""}`}>
          <dt>
            <Term name="entry">entry</Term>
            {elsewhere && " (in another slice)"}
          </dt>
          <dd data-fact="entry" title={entry === null ? undefined : entryText(linear, entry)}>
            {entry === null ? "point at one" : entryText(linear, entry)}
          </dd>
        </div>
      </dl>
      <dl class="iv-lin-facts">
        <Fact name="byte" hidden={nothing}>
          {offset === null
            ? ""
            : !compact && size > 1
              ? `${formatCount(offset)} to ${formatCount(offset + size - 1)}`
              : formatCount(offset)}
        </Fact>
        <Fact name="element" hidden={nothing}>
          {entry === null ? "" : formatCount(positionOf(linear, entry.index, entry.field))}
        </Fact>
        <Fact name="cache line" hidden={nothing} shown={compact ? "line" : "cache line"}>
          {offset === null ? "" : formatCount(Math.floor(offset / CACHE_LINE))}
        </Fact>
        <Fact name="next in memory" hidden={nothing} shown={compact ? "next" : "next in memory"}>
          {entry === null ? "" : next === null ? "the end" : stepText(linear, entry, next)}
        </Fact>
        {!compact && runBytes !== null && <Fact name="run">{formatBytes(runBytes)}</Fact>}
        {!compact && (
          <Fact name="size">
            {formatBytes(linear.nbytes)}
            {linear.payload < linear.nbytes && `, ${formatBytes(linear.nbytes - linear.payload)} padding`}
          </Fact>
        )}
      </dl>
      <Spoken text={selected === null ? "" : spoken(linear, selected)} />
    </>
  );
}

function Fact({
  name,
  shown = name,
  hidden = false,
  children,
}: {
  name: string;
  hidden?: boolean;
  shown?: string;
  children: JSX.Element | string | (string | false)[];
}): JSX.Element {
  const term = name === "cache line" || name === "element" || name === "run" ? name : null;
  return (
    <div hidden={hidden}>
      <dt>{term === null ? shown : <Term name={term}>{shown}</Term>}</dt>
      <dd data-fact={name.replaceAll(" ", "-")} title={typeof children === "string" ? children : undefined}>
        {children}
      </dd>
    </div>
  );
}

function spoken(linear: Linearization, entry: Entry): string {
  const offset = linear.offset(entry.index, entry.field);
  return `${entryText(linear, entry)}: byte ${formatCount(offset)}, cache line ${formatCount(Math.floor(offset / CACHE_LINE))}`;
}

/** Says the selected entry to those who do not see it, once it has rested for a moment. */
function Spoken({ text }: { text: string }): JSX.Element {
  const [said, setSaid] = useState("");
  useEffect(() => {
    const timer = setTimeout(() => setSaid(text), 250);
    return () => clearTimeout(timer);
  }, [text]);
  return (
    <p class="iv-hidden" aria-live="polite" data-testid="linearization-said">
      {said}
    </p>
  );
}
