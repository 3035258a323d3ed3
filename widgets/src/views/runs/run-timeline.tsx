// Timelines of runs, one below the other on one axis: the last run below its simulation, and two runs that are compared.
import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import { Button } from "#lib/button.tsx";
import { type Column, Table } from "#lib/table.tsx";
import { differenceWords } from "#model/pinned-plan.ts";
import { type ComparedHop, comparedHops } from "#model/trace/compared-hops.ts";
import { useRunTrace, useTrace } from "#model/trace/use-trace.ts";
import { formatSeconds } from "#model/units.ts";
import { useView } from "#model/view.ts";
import { useWatch } from "#model/watch.ts";
import type { Titled } from "#views/timeline/rows.ts";
import { Timeline } from "#views/timeline/timeline.tsx";

const WATCHED: readonly string[] = ["timeline"];
const NONE: readonly string[] = [];

export function RunTimeline(): JSX.Element | null {
  const { connection, snapshot } = useView();
  const [open, turn] = useState(false);
  useWatch(open && !connection.offline ? WATCHED : NONE);
  const there = snapshot.panes.trace?.measured !== null && snapshot.panes.trace?.measured !== undefined;
  if (!there) return null;
  return (
    <section class="iv-run-timeline" aria-label="Timeline of the run">
      <Button label="Timeline, simulated and measured" testid="run-timeline" pressed={open} onClick={() => turn(!open)} />
      {open && <Both />}
    </section>
  );
}

function Both(): JSX.Element {
  const simulated = useTrace("simulated");
  const measured = useTrace("measured");
  const [one, other] = [simulated.trace, measured.trace];
  const fresh = simulated.told?.fresh !== false && measured.told?.fresh !== false;
  const traces = useMemo<Titled[]>(
    () => [
      ...(one === null || !fresh ? [] : [{ trace: one, title: "Simulated", note: formatSeconds(one.seconds) }]),
      ...(other === null ? [] : [{ trace: other, title: "Measured", note: formatSeconds(other.seconds) }]),
    ],
    [one, other, fresh],
  );
  const error = measured.error || simulated.error;
  if (error !== "") return <p class="iv-faint">{error}</p>;
  if (other === null) return <p class="iv-faint">The trace of the run is on its way.</p>;
  return (
    <div data-testid="run-timelines" data-traces={traces.length}>
      <Timeline traces={traces} wholeAt={one?.id} />
      {!fresh && <p class="iv-faint">The plan has changed since this run: its simulation is not shown beside it.</p>}
    </div>
  );
}

/** A run that is compared: its name in the list, its title, and why it has no timeline ("" where it has one). */
export interface ComparedRun {
  readonly name: string;
  readonly title: string;
  readonly reason: string;
}

interface Compared {
  one: ComparedRun;
  other: ComparedRun;
}

/** The timelines of two runs, which a button shows; or why there are none. */
export function TwoTimelines({ one, other }: Compared): JSX.Element {
  const [open, turn] = useState(false);
  const without = [one, other].filter(({ reason }) => reason !== "");
  if (without.length > 0)
    return (
      <p class="iv-faint" data-testid="no-timelines">
        {without.map(({ title, reason }) => `${title} has no timeline: ${reason}.`).join(" ")}
      </p>
    );
  return (
    <>
      <Button label="Timelines under each other" testid="compare-timelines" pressed={open} onClick={() => turn(!open)} />
      {open && <UnderEachOther one={one} other={other} />}
    </>
  );
}

function UnderEachOther({ one, other }: Compared): JSX.Element {
  const [first, second] = [useRunTrace(one.name), useRunTrace(other.name)];
  const [a, b] = [first.trace, second.trace];
  const traces = useMemo<Titled[]>(() => {
    if (a === null || b === null) return [];
    const note = `${formatSeconds(b.seconds)}, ${differenceWords(b.seconds, a.seconds)}`;
    return [
      { trace: a, title: one.title, note: formatSeconds(a.seconds) },
      { trace: b, title: other.title, note, against: a },
    ];
  }, [a, b, one.title, other.title]);
  const error = first.error || second.error;
  if (error !== "") return <p class="iv-faint">{error}</p>;
  if (a === null || b === null) return <p class="iv-faint">The timelines are on their way.</p>;
  const columns: readonly Column<ComparedHop>[] = [
    { title: "Hop", names: true, cell: (hop) => hop.title },
    { title: `${one.title}: at work`, number: true, cell: ({ one }) => one !== null && formatSeconds(one.busy) },
    { title: `${other.title}: at work`, number: true, cell: ({ other }) => other !== null && formatSeconds(other.busy) },
    { title: "Difference", number: true, cell: (hop) => differenceOf(hop, "busy", "longer", "shorter") },
    { title: `${one.title}: over at`, number: true, cell: ({ one }) => one !== null && formatSeconds(one.ended) },
    { title: `${other.title}: over at`, number: true, cell: ({ other }) => other !== null && formatSeconds(other.ended) },
    { title: "Difference", number: true, cell: (hop) => differenceOf(hop, "ended", "later", "earlier") },
  ];
  return (
    <div data-testid="compared-timelines" data-traces={traces.length}>
      <Timeline traces={traces} wholeAt={`${a.id} ${b.id}`} />
      <p class="iv-faint">
        Both begin with their first request. A dashed line is where a channel of {other.title} was over in {one.title}, and how
        much later or earlier it is over now.
      </p>
      <Table caption="Both runs hop by hop" columns={columns} rows={comparedHops(a, b)} keyOf={(hop) => hop.title} wide />
    </div>
  );
}

/** "3.1 ms longer" */
function differenceOf({ one, other }: ComparedHop, of: "busy" | "ended", more: string, less: string): string {
  if (one === null || other === null) return "";
  const by = other[of] - one[of];
  return by === 0 ? "the same" : `${formatSeconds(Math.abs(by))} ${by > 0 ? more : less}`;
}
