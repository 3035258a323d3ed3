// What is known of an entry: index, byte, element, cache line, what follows in memory, and the run that it moves with.
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { type Column, Table } from "#lib/table.tsx";
import { entryText } from "#model/entries.ts";
import type { Linearization } from "#model/layouts/linearization.ts";
import { type Entry, positionOf } from "#model/layouts/order.ts";
import { formatBytes, formatCount } from "#model/units.ts";
import { Term } from "#views/controls/term.tsx";
import type { LayoutPicture } from "#views/linearization/drawing/picture.ts";
import { nextElement, stepText } from "#views/linearization/geometry/order.ts";
import { CACHE_LINE } from "./options.ts";

interface FactsProps {
  now: LayoutPicture;
  /** The layout that is pinned beside it; null where none is. */
  pinned: LayoutPicture | null;
  entry: Entry | null;
  selected: Entry | null;
  /** The entry lies in another slice than the one that is drawn. */
  elsewhere: boolean;
}

/** What is known of an entry in a layout, and of the layout, as text; "" is what nobody knows. */
function factsOf({ linear, runBytes }: LayoutPicture, entry: Entry | null) {
  const offset = entry === null ? null : linear.offset(entry.index, entry.field);
  const next = entry === null ? null : nextElement(linear, entry);
  const padding = linear.payload < linear.nbytes ? `, ${formatBytes(linear.nbytes - linear.payload)} padding` : "";
  return {
    byte: offset === null ? "" : formatCount(offset),
    element: entry === null ? "" : formatCount(positionOf(linear, entry.index, entry.field)),
    line: offset === null ? "" : formatCount(Math.floor(offset / CACHE_LINE)),
    next: entry === null ? "" : next === null ? "the end" : stepText(linear, entry, next),
    run: runBytes === null ? "" : formatBytes(runBytes),
    size: `${formatBytes(linear.nbytes)}${padding}`,
  };
}

export function Facts({ now, pinned, entry, selected, elsewhere }: FactsProps): JSX.Element {
  const { linear } = now;
  const facts = factsOf(now, entry);
  // Words without figures take no room.
  const nothing = entry === null;
  return (
    <>
      <dl class="iv-lin-facts iv-lin-about" data-testid="linearization-facts">
        <div class="iv-lin-entry">
          {elsewhere && <dt>in another slice</dt>}
          <dd data-fact="entry" title={entry === null ? undefined : entryText(linear, entry)}>
            {entry === null ? "" : entryText(linear, entry)}
          </dd>
        </div>
      </dl>
      {pinned !== null ? (
        <div class="iv-lin-compared" data-testid="compared-layouts">
          <Table
            caption="The pinned layout and the present one"
            columns={COMPARED}
            rows={[
              { name: "Pinned", ...factsOf(pinned, entry) },
              { name: "Now", ...facts },
            ]}
            keyOf={(row) => row.name}
          />
        </div>
      ) : (
        <dl class="iv-lin-facts">
          <Fact name="byte" hidden={nothing}>
            {facts.byte}
          </Fact>
          <Fact name="cache line" hidden={nothing} shown="line">
            {facts.line}
          </Fact>
          <Fact name="next in memory" hidden={nothing} shown="next">
            {facts.next}
          </Fact>
          <Fact name="element" hidden={nothing}>
            {facts.element}
          </Fact>
        </dl>
      )}
      <Spoken text={selected === null ? "" : spoken(linear, selected, pinned?.linear)} />
    </>
  );
}

type ComparedFacts = { readonly name: string } & ReturnType<typeof factsOf>;

const COMPARED: readonly Column<ComparedFacts>[] = [
  { title: "", names: true, cell: (row) => row.name },
  { title: "byte", number: true, cell: (row) => row.byte },
  { title: () => <Term name="element">element</Term>, number: true, cell: (row) => row.element },
  { title: () => <Term name="cache line">line</Term>, number: true, cell: (row) => row.line },
  { title: () => <Term name="run">run</Term>, number: true, cell: (row) => row.run },
  { title: "size", number: true, cell: (row) => row.size },
  { title: "next", cell: (row) => <span title={row.next}>{row.next}</span> },
];

function Fact({
  name,
  shown = name,
  hidden = false,
  children,
}: {
  name: string;
  hidden?: boolean;
  shown?: string;
  children: string;
}): JSX.Element {
  const term = name === "cache line" || name === "element" || name === "run" ? name : null;
  return (
    <div hidden={hidden}>
      <dt>{term === null ? shown : <Term name={term}>{shown}</Term>}</dt>
      <dd data-fact={name.replaceAll(" ", "-")} title={children}>
        {children}
      </dd>
    </div>
  );
}

function spoken(linear: Linearization, entry: Entry, pinned: Linearization | undefined): string {
  const place = (of: Linearization): string => {
    const offset = of.offset(entry.index, entry.field);
    return `byte ${formatCount(offset)}, cache line ${formatCount(Math.floor(offset / CACHE_LINE))}`;
  };
  return `${entryText(linear, entry)}: ${place(linear)}${pinned === undefined ? "" : `; in the pinned layout ${place(pinned)}`}`;
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
