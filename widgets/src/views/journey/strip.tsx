// One path as a strip: stops and hops are buttons, arrow keys move along, Enter selects.

import type { JSX } from "preact";
import { useRef, useState } from "preact/hooks";
import { useSize } from "#lib/hooks.ts";
import { placeAfter } from "#lib/tabs.tsx";
import { byName } from "#model/by-name.ts";
import { useShowLarge } from "#model/large-hop.ts";
import { measuredOf } from "#model/measured.ts";
import { useHighlightedPath, useSelection } from "#model/selection.ts";
import type { ShownHop, ShownPath, ShownStop } from "#model/types.ts";
import { formatBytes, formatRate, formatShare } from "#model/units.ts";
import { useView } from "#model/view.ts";
import { shortLayout, within } from "#model/words.ts";
import { Thumbnail } from "#views/linearization/thumbnail.tsx";
import { TriedRate } from "#views/plan/tried-marks.tsx";
import { ChunkMark, type JourneyMoment, movingText, SlotMarks, useJourneyMoment } from "#views/timeline/journey-marks.tsx";
import { HeldMark, type MovedConversion, useDraggedConversion } from "./move-conversion.tsx";
import { arranged, type Row } from "./strip-rows.ts";

/** Pixels of the picture of a stop where there is the most room; elsewhere it is shown smaller. */
const PICTURE = 76;

interface StripProps {
  path: ShownPath;
  name: string;
  /** The numbers that the first stop and the first hop of this path have in the plan. */
  firstStop: number;
  firstHop: number;
  /** A strip to look at only: another one is the plan. */
  still?: boolean;
}

const NOTHING_SELECTED = { stop: null, hop: null };

export function Strip({ path, name, firstStop, firstHop, still = false }: StripProps): JSX.Element {
  const [selected, select] = useSelection();
  const selection = still ? NOTHING_SELECTED : selected;
  const showLarge = useShowLarge();
  const [at, setAt] = useState<number | null>(null);
  const box = useRef<HTMLDivElement>(null);
  const current = useJourneyMoment();
  const moment = still ? null : current;
  const moved = useDraggedConversion(path, box, still);
  const { width } = useSize(box);
  const { narrow, rows } = arranged(
    path.stops.map((stop) => stop.node),
    width,
  );
  const count = path.stops.length + path.hops.length;
  // Stops and hops take turns: stop i has place 2 i, hop i has place 2 i + 1.
  const chosen =
    selection.stop !== null ? 2 * (selection.stop - firstStop) : selection.hop !== null ? 2 * (selection.hop - firstHop) + 1 : -1;
  const here = chosen >= 0 && chosen < count ? chosen : -1;
  const reached = Math.min(count - 1, at ?? Math.max(0, here));
  const hopAt = (place: number): number => firstHop + (place - 1) / 2;
  const selectHop = (hop: number): void => select({ hop });
  const button = (place: number): RoveProps => ({
    tabIndex: place === reached ? 0 : -1,
    pressed: place === here,
    onFocus: () => setAt(place),
  });
  return (
    <div
      class={`iv-strip${narrow ? " iv-strip-narrow" : ""}`}
      inert={still}
      role="group"
      aria-label={`${name}: ${path.hops.length} hops; arrow keys move along, Enter selects, F shows a hop large`}
      ref={box}
      onKeyDown={(event) => {
        if (event.key === "f" && reached % 2 === 1 && !event.ctrlKey && !event.metaKey && !event.altKey)
          showLarge(hopAt(reached));
        const to = placeAfter(event.key, reached, count);
        if (to === null) return;
        event.preventDefault();
        const next = box.current?.querySelector<HTMLElement>(`[data-place="${to}"]`);
        next?.focus();
        next?.scrollIntoView({ block: "nearest", inline: "nearest" });
      }}
    >
      {rows.map((row) => (
        <div
          class="iv-strip-row"
          key={row.from}
          data-many={row.to - row.from > 4}
          style={{ gridTemplateColumns: columnsOf(path.stops, row) }}
        >
          {nodesOf(path.stops.slice(row.from, row.to + 1)).map((group) => (
            <div
              class="iv-node"
              key={group.from}
              style={{ gridColumn: `${2 * group.from + 2} / ${2 * group.to + 3}` }}
              aria-hidden="true"
            >
              <span>node {group.node}</span>
            </div>
          ))}
          {path.stops.slice(row.from, row.to + 1).flatMap((stop, at) => {
            const place = row.from + at;
            const hop = path.hops[place];
            const parts = [
              <Stop
                key={`stop-${place}`}
                stop={stop}
                path={path}
                place={place}
                column={2 * at + 2}
                number={firstStop + place}
                still={still}
                moment={moment}
                filledBy={stop.buffer === null ? null : firstHop + place - 1}
                {...button(2 * place)}
                onClick={() => select({ stop: 2 * place === here ? null : firstStop + place })}
              />,
            ];
            if (hop !== undefined)
              parts.push(
                <Hop
                  key={`hop-${place}`}
                  hop={hop}
                  place={place}
                  column={2 * at + 3}
                  number={firstHop + place}
                  still={still}
                  moment={moment}
                  moved={moved}
                  {...button(2 * place + 1)}
                  onClick={() => !moved.ends() && (2 * place + 1 === here ? showLarge : selectHop)(firstHop + place)}
                />,
              );
            return parts;
          })}
        </div>
      ))}
      {moved.held !== null && <HeldMark held={moved.held} word={path.hops[moved.from]?.order ?? ""} />}
    </div>
  );
}

/**
 * The columns of a row: labels are wider than stops, so there is room at both ends. A hop to another node has more room: it stands in
 * the gap between two nodes. The hop to the next row is the last column but one.
 */
function columnsOf(stops: readonly ShownStop[], { from, to }: Row): string {
  const hops = stops
    .slice(from + 1, to + 2)
    .map((stop, at) =>
      stop.node === stops[from + at]?.node ? "minmax(var(--iv-hop), 1fr)" : "minmax(var(--iv-crossing), 1.2fr)",
    );
  const columns = stops.slice(from, to + 1).flatMap((_, at) => ["var(--iv-stop)", ...(hops[at] === undefined ? [] : [hops[at]])]);
  return ["var(--iv-pad)", ...columns, "var(--iv-pad)"].join(" ");
}

/** Stops next to each other that are on the same node. */
export function nodesOf(stops: readonly ShownStop[]): { node: number; from: number; to: number }[] {
  const groups: { node: number; from: number; to: number }[] = [];
  stops.forEach((stop, place) => {
    const last = groups.at(-1);
    if (last !== undefined && last.node === stop.node) last.to = place;
    else groups.push({ node: stop.node, from: place, to: place });
  });
  return groups;
}

interface RoveProps {
  tabIndex: number;
  pressed: boolean;
  onFocus: () => void;
}

interface PartProps extends RoveProps {
  place: number;
  column: number;
  number: number;
  still: boolean;
  /** What happens at the selected moment. */
  moment: JourneyMoment | null;
  onClick: () => void;
}

/** `filledBy` is the hop that fills the buffer at a stop, null where it has none. */
function Stop({
  stop,
  place,
  column,
  number,
  pressed,
  moment,
  filledBy,
  path,
  still,
  ...rest
}: PartProps & { stop: ShownStop; filledBy: number | null; path: ShownPath }): JSX.Element {
  return (
    <button
      type="button"
      class="iv-stop"
      data-testid={still ? undefined : `stop-${number}`}
      data-place={2 * place}
      style={{ gridColumn: column }}
      aria-pressed={pressed}
      title={`${stop.memory}\n${stop.pretty}`}
      {...rest}
    >
      <span class="iv-stop-picture">
        <Thumbnail layout={stop.layout} size={PICTURE} block={byName(path.block)} path={path.stops.map((each) => each.layout)} />
        {moment !== null && filledBy !== null && <SlotMarks moment={moment} hop={filledBy} />}
      </span>
      <span class="iv-hidden">
        Stop {number}, node {stop.node}:
      </span>
      <span class="iv-stop-text">
        <b>{stop.words}</b>
        <span class="iv-faint">
          {within(stop.where) || stop.where}
          {stop.emulated && ", emulated"}
        </span>
        <code>{shortLayout(stop.layout)}</code>
      </span>
    </button>
  );
}

interface HopProps extends PartProps {
  hop: ShownHop;
  moved: MovedConversion;
}

function Hop({ hop, place, column, number, pressed, moment, moved, still, ...rest }: HopProps): JSX.Element {
  const movable = moved.from === place;
  const target = moved.held !== null && moved.held.over === place && !movable ? " iv-hop-target" : "";
  const converts = hop.order === "converts";
  const kind = hop.bottleneck ? " iv-slowest" : converts ? " iv-converts" : "";
  const [pointed] = useHighlightedPath();
  const left = pointed !== null && !pointed.includes(hop.channel) ? " iv-hop-left" : "";
  return (
    <button
      type="button"
      class={`iv-hop${kind}${left}${target}`}
      data-testid={still ? undefined : `hop-${number}`}
      data-hop={place}
      data-change={still ? undefined : hop.order}
      data-place={2 * place + 1}
      style={{ gridColumn: column }}
      aria-pressed={pressed}
      title={`${hop.channel}\n${formatShare(hop.busy)} busy`}
      {...rest}
    >
      <span class="iv-hidden">Hop {number}: </span>
      <span class="iv-hop-words">{hop.words}</span>
      <b class="iv-hop-rate">
        {formatRate(hop.rate)}
        {!still && <MeasuredRate planned={hop.rate} number={number} />}
        <TriedRate channel={hop.channel} rate={hop.rate} />
      </b>
      <span class="iv-shaft">
        <span style={{ width: `${(100 * hop.busy).toFixed(2)}%` }} />
        {moment !== null && <ChunkMark moment={moment} hop={number} />}
      </span>
      <span class="iv-hop-run">run {formatBytes(hop.run)}</span>
      <span
        class={`iv-hop-mark${hop.order === "keeps" ? "" : " iv-hop-changes"}${movable ? " iv-hop-movable" : ""}`}
        data-testid={movable ? "conversion" : undefined}
        title={movable ? "Drag it to another hop: the plan by hand that converts there" : undefined}
        {...(movable ? moved.handlers : {})}
      >
        {moment !== null ? movingText(moment, number) : hop.bottleneck ? `${hop.order} · slowest` : hop.order}
      </span>
    </button>
  );
}

/** The rate that a run of this plan has measured. It is a part of its own: what a run tells changes while it goes on. */
function MeasuredRate({ planned, number }: { planned: number; number: number }): JSX.Element | null {
  const measured = measuredOf(useView().snapshot);
  const [rate, tried] = [measured?.rates[number], measured?.triedRates[number] ?? null];
  // The rate of a memory that stood in does not stand beside the plan's: it is in the report, where that is said.
  if (rate === undefined || measured?.emulated) return null;
  const trial = tried === null ? "" : `, ${formatRate(tried)} after the trial`;
  return (
    <>
      <span class="iv-hidden"> planned{trial},</span>{" "}
      <span
        class="iv-measured-rate"
        data-testid={`measured-${number}`}
        title={`${formatRate(planned)} planned${trial}, ${formatRate(rate)} measured`}
      >
        {formatRate(rate)}
      </span>
      <span class="iv-hidden"> measured</span>
    </>
  );
}
