// The transfers of a trace, where there are several: who goes first, who waits, and for how long.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { Button } from "#lib/button.tsx";
import { type Column, Table } from "#lib/table.tsx";
import { lengthUpTo } from "#model/trace/segments.ts";
import { toneOfTransfer } from "#model/trace/tones.ts";
import type { TraceData } from "#model/trace/trace-data.ts";
import type { ShownSettings, ShownTransfer, TraceTransfer } from "#model/types.ts";
import { formatSeconds } from "#model/units.ts";
import { useView } from "#model/view.ts";
import { Term } from "#views/controls/term.tsx";

/** For every transfer, the longest time that it waits on one lane while the channel serves others, and that lane. */
export function waitsOf(trace: TraceData): { seconds: number; lane: number }[] {
  return trace.transfers.map((_, transfer) => {
    let best = { seconds: 0, lane: -1 };
    trace.tracks.forEach((tracks, lane) => {
      const own = tracks.find((track) => track.transfer === transfer);
      const seconds = own === undefined ? 0 : lengthUpTo(own.waiting, Infinity);
      if (seconds > best.seconds) best = { seconds, lane };
    });
    return best;
  });
}

/** Who waits, in one sentence for each transfer that does. */
export function waitingTold(trace: TraceData): string[] {
  const waits = waitsOf(trace);
  return trace.transfers.flatMap((transfer, place) => {
    const { seconds, lane } = waits[place]!;
    const others = trace.transfers.filter(
      (other, at) => at !== place && other.ended > transfer.submitted && other.submitted < transfer.ended,
    );
    const urgent = others.filter((other) => other.priority > transfer.priority);
    const takes = formatSeconds(transfer.ended - transfer.submitted);
    const alone = transfer.alone === null ? takes : formatSeconds(transfer.alone);
    const instead = alone === takes ? takes : `${takes} instead of ${alone} alone`;
    if (others.length === 0) return [`${transfer.label} meets no other transfer: it takes ${takes}.`];
    const equal = others.filter((other) => other.priority === transfer.priority);
    if (urgent.length === 0 && equal.length === 0) {
      const until =
        seconds > 1e-9 ? ` once the requests that are under way have ended, at most ${formatSeconds(seconds)} later` : "";
      return [`${transfer.label} goes first${until}: it takes ${instead}.`];
    }
    if (lane < 0) return [`${transfer.label} does not wait: it takes ${instead}.`];
    const whom = (urgent.length > 0 ? urgent : equal).map((other) => other.label).join(" and ");
    const how = urgent.length > 0 ? `while ${whom} goes first` : `in turn with ${whom}, which is as urgent`;
    return [`${transfer.label} waits ${formatSeconds(seconds)} for the ${trace.lanes[lane]!.title} ${how}: it takes ${instead}.`];
  });
}

/** The transfer of the settings with that key. */
function typed(settings: ShownSettings, key: number | null): ShownTransfer | null {
  if (key === null) return null;
  return settings.key === key ? settings : (settings.beside.find((each) => each.key === key) ?? null);
}

interface Placed {
  readonly transfer: TraceTransfer;
  readonly place: number;
  readonly waits: number;
}

export function Transfers({ trace }: { trace: TraceData }): JSX.Element {
  const { connection, snapshot } = useView();
  const { settings } = connection;
  const { problems } = snapshot.faults;
  const waits = waitsOf(trace);
  const rows: Placed[] = trace.transfers.map((transfer, place) => ({ transfer, place, waits: waits[place]!.seconds }));
  const problem = Object.entries(problems).find(([name]) => name.startsWith("transfer-") || name.startsWith("beside:"))?.[1];
  const entry =
    (field: "transfer-priority" | "transfer-begin", label: string) =>
    ({ transfer }: Placed) => {
      const from = connection.offline ? null : typed(settings, transfer.key);
      if (from === null || transfer.key === null)
        return field === "transfer-priority" ? transfer.priority : formatSeconds(transfer.submitted);
      return (
        <Entry
          key={`${field}-${transfer.key}`}
          testid={`${field}-${transfer.key}`}
          label={`${label} of ${transfer.label}`}
          value={field === "transfer-priority" ? from.priority : from.begin}
          send={(value) => connection.send({ kind: "set", field, transfer: transfer.key!, value })}
        />
      );
    };
  const columns: readonly Column<Placed>[] = [
    {
      title: () => <Term name="transfer">Transfer</Term>,
      names: true,
      cell: ({ transfer, place }) => (
        <span class="iv-tl-transfer">
          <i class="iv-tl-swatch" style={{ background: `var(${toneOfTransfer(trace, place)})` }} />
          {transfer.label}
        </span>
      ),
    },
    { title: () => <Term name="priority">Priority</Term>, number: true, cell: entry("transfer-priority", "Priority") },
    { title: "Begins, in seconds", number: true, cell: entry("transfer-begin", "Begin in seconds") },
    { title: "Ends", number: true, cell: ({ transfer }) => formatSeconds(transfer.ended) },
    { title: "Takes", number: true, cell: ({ transfer }) => formatSeconds(transfer.ended - transfer.submitted) },
    { title: "Alone", number: true, cell: ({ transfer }) => (transfer.alone === null ? "–" : formatSeconds(transfer.alone)) },
    { title: "Waits for others", number: true, cell: (row) => formatSeconds(row.waits) },
    {
      title: () => <span class="iv-hidden">Remove</span>,
      cell: ({ transfer }) =>
        connection.offline || transfer.key === null || transfer.key === settings.key ? null : (
          <Button
            label={`Remove ${transfer.label}`}
            icon="remove"
            iconOnly
            testid={`transfer-remove-${transfer.key}`}
            onClick={() => connection.send({ kind: "remove-transfer", transfer: transfer.key! })}
          />
        ),
    },
  ];
  return (
    <div class="iv-tl-transfers" data-testid="timeline-transfers">
      <Table caption="Transfers and what they wait for" columns={columns} rows={rows} keyOf={({ place }) => place} />
      {problem !== undefined && (
        <p class="iv-problem" role="alert">
          {problem.message}
        </p>
      )}
      <ul class="iv-notes" data-testid="timeline-waits">
        {waitingTold(trace).map((line) => (
          <li key={line}>{line}</li>
        ))}
      </ul>
    </div>
  );
}

interface EntryProps {
  label: string;
  value: string;
  testid: string;
  send: (value: string) => void;
}

/** A number that is entered: what is being typed stays until it is left or confirmed. */
function Entry({ label, value, testid, send }: EntryProps): JSX.Element {
  const [draft, setDraft] = useState<string | null>(null);
  const enter = (): void => {
    if (draft !== null && draft !== value) send(draft);
    setDraft(null);
  };
  return (
    <input
      class="iv-input iv-tl-entry"
      type="text"
      inputMode="decimal"
      aria-label={label}
      data-testid={testid}
      value={draft ?? value}
      onInput={(event) => setDraft(event.currentTarget.value)}
      onBlur={enter}
      onKeyDown={(event) => {
        if (event.key === "Enter") enter();
        if (event.key === "Escape" && draft !== null) {
          event.stopPropagation();
          setDraft(null);
        }
      }}
    />
  );
}
