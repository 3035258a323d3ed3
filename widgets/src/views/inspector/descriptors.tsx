// What the requests or keys of a hop name: a list to go through with the pointer or the arrow keys. The runs of the one that is pointed
// at are marked in the grids and on the tapes of both ends.
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { useId } from "#lib/use-id.ts";
import { type PointedBytes, usePlace, usePointedBytes } from "#model/selection.ts";
import type { ShownDescriptors, ShownHopRequests, ShownPieces } from "#model/types.ts";
import { counted, formatBytes, formatCount } from "#model/units.ts";
import { useView } from "#model/view.ts";
import { useWatch } from "#model/watch.ts";

/** The requests of a hop, once they are known; they are worked out while something shows them. */
export function useRequests(hop: number): ShownHopRequests | undefined {
  useWatch(["requests"]);
  const part = useView().snapshot.panes.requests;
  return part?.isOfPlan ? part.hops.find((each) => each.hop === hop) : undefined;
}

export function Descriptors({ hop }: { hop: number }): JSX.Element {
  const found = useRequests(hop)?.descriptors ?? null;
  return found === null ? <p class="iv-faint">Being worked out…</p> : <List key={hop} hop={hop} of={found} />;
}

/** The stretches of one request or key at one end. */
export function piecesOf(pieces: ShownPieces, owner: number): PointedBytes["source"] {
  const [from, to] = [pieces.owners.indexOf(owner), pieces.owners.lastIndexOf(owner) + 1];
  return from < 0
    ? { starts: [], lengths: [] }
    : { starts: pieces.starts.slice(from, to), lengths: pieces.lengths.slice(from, to) };
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

/** "key 3: 22 → 16 runs, 22 KiB". */
export function descriptorWords(of: ShownDescriptors, owner: number): string {
  const [here, there] = [piecesOf(of.source, owner), piecesOf(of.destination, owner)];
  const [from, to] = [here.starts.length, there.starts.length];
  const runs = from === to ? counted(from, "run") : `${formatCount(from)} → ${counted(to, "run")}`;
  return `${of.name} ${owner}: ${runs}, ${formatBytes(sum(here.lengths))}`;
}

/** What all of them are, in a sentence. */
export function descriptorsSaid(of: ShownDescriptors): string {
  const chunk = of.chunks > 1 ? `The first of ${formatCount(of.chunks)} chunks takes` : "It takes";
  const each = of.window === null ? "" : `, ${formatBytes(of.window)} each,`;
  const list = of.shown < of.count ? ` The first ${formatCount(of.shown)} are listed.` : "";
  return `${chunk} ${counted(of.count, of.name)}${each} with at most ${counted(of.limit, "run")} at either end.${list}`;
}

function List({ hop, of }: { hop: number; of: ShownDescriptors }): JSX.Element {
  const [at, setAt] = useState<number | null>(null);
  const [kept, keep] = useState(false);
  const [, point] = usePointedBytes();
  const [place, select] = usePlace();
  const id = useId();
  const { name } = of;
  const go = (owner: number | null): void => {
    setAt(owner);
    // The cards show both ends of the hop while it is selected.
    if (owner !== null && place.hop !== hop) select({ hop });
    point(owner === null ? null : { hop, source: piecesOf(of.source, owner), destination: piecesOf(of.destination, owner) });
  };
  useEffect(() => () => point(null), [of]);
  useEffect(() => {
    if (at !== null) document.getElementById(`${id}-${at}`)?.scrollIntoView({ block: "nearest" });
  }, [at]);
  const leave = (): void => {
    if (!kept) go(null);
  };
  const step: Record<string, (from: number) => number> = {
    ArrowDown: (from) => from + 1,
    ArrowUp: (from) => from - 1,
    Home: () => 0,
    End: () => of.shown - 1,
  };
  return (
    <>
      <p class="iv-faint">{descriptorsSaid(of)}</p>
      <ul
        class="iv-descriptors"
        role="listbox"
        tabIndex={0}
        data-testid="descriptor-list"
        aria-label={`The ${name}s of hop ${hop}; the runs of the chosen one are marked at both ends`}
        aria-activedescendant={at === null ? undefined : `${id}-${at}`}
        onPointerLeave={leave}
        onBlur={() => {
          keep(false);
          go(null);
        }}
        onKeyDown={(event) => {
          const next = step[event.key];
          if (event.key === "Escape" && at !== null) {
            keep(false);
            go(null);
          } else if (next === undefined) return;
          else {
            keep(true);
            go(at === null ? 0 : Math.min(of.shown - 1, Math.max(0, next(at))));
          }
          event.preventDefault();
          event.stopPropagation();
        }}
      >
        {Array.from({ length: of.shown }, (_, owner) => (
          <li
            key={owner}
            id={`${id}-${owner}`}
            role="option"
            aria-selected={owner === at}
            class={owner === at ? "iv-selected" : undefined}
            data-testid={`descriptor-${owner}`}
            onPointerEnter={() => {
              if (!kept) go(owner);
            }}
            onClick={() => {
              keep(!(kept && at === owner));
              go(owner);
            }}
          >
            {descriptorWords(of, owner)}
          </li>
        ))}
      </ul>
    </>
  );
}
