// One path as a strip: stops and hops are buttons, arrow keys move along, Enter selects.

import type { ComponentChildren, JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { useSize } from "#lib/hooks.ts";
import { placeAfter } from "#lib/tabs.tsx";
import { byName } from "#model/by-name.ts";
import { useShowLarge } from "#model/large-hop.ts";
import { measuredOf } from "#model/measured.ts";
import { useHighlightedPath, useSelection } from "#model/selection.ts";
import type { ShownHop, ShownPath, ShownStop } from "#model/types.ts";
import { formatRate, formatShare } from "#model/units.ts";
import { useView } from "#model/view.ts";
import { runText, shortLayout, whereOf, within } from "#model/words.ts";
import { Thumbnail } from "#views/linearization/thumbnail.tsx";
import { TriedRate } from "#views/plan/tried-marks.tsx";
import { ChunkMark, type JourneyMoment, movingText, SlotMarks, useJourneyMoment } from "#views/timeline/journey-marks.tsx";
import { HeldMark, type MovedConversion, useDraggedConversion } from "./move-conversion.tsx";
import { arranged, type Row } from "./strip-rows.ts";

/** The share of the window's height that a picture may take, and the side of one that is only compared with. */
const OF_HEIGHT = 0.17;
const COMPARED = 88;

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
  const high = OF_HEIGHT * useWindowHeight();
  const seen = {
    stop: selection.stop === null ? null : selection.stop - firstStop,
    hop: selection.hop === null ? null : selection.hop - firstHop,
  };
  const strung = { nodes: path.stops.map((stop) => stop.node), keeps: path.hops.map((hop) => hop.order === "keeps"), seen };
  const { stops, rows, side, hop: hopWidth } = arranged(strung, width, still ? Math.min(COMPARED, high) : high);
  // Stops and hops take turns: stop i has place 2 i, hop i has place 2 i + 1. Folded hops stand at the place of the first of them.
  const places = stops.flatMap((stop, place) => (place < stops.length - 1 ? [2 * stop, 2 * stop + 1] : [2 * stop]));
  const chosen = seen.stop !== null ? 2 * seen.stop : seen.hop !== null ? 2 * seen.hop + 1 : -1;
  const here = places.includes(chosen) ? chosen : -1;
  const reached = at !== null && places.includes(at) ? at : Math.max(0, here);
  const button = (place: number): RoveProps => ({
    tabIndex: place === reached ? 0 : -1,
    pressed: place === here,
    onFocus: () => setAt(place),
  });
  const part = (place: number, column: number): JSX.Element | null => {
    const index = Math.floor(place / 2);
    const stop = path.stops[index];
    if (stop === undefined) return null;
    if (place % 2 === 0)
      return (
        <Stop
          key={place}
          stop={stop}
          side={side}
          beside={isAlone(stop, path.stops) ? "" : within(stop.where)}
          path={path}
          place={index}
          column={column}
          number={firstStop + index}
          still={still}
          moment={moment}
          filledBy={stop.buffer === null ? null : firstHop + index - 1}
          {...button(place)}
          onClick={() => select({ stop: place === here ? null : firstStop + index })}
        />
      );
    const next = stops[stops.indexOf(index) + 1] ?? index + 1;
    const hops = path.hops.slice(index, next);
    const [hop] = hops;
    if (hop === undefined) return null;
    if (hops.length > 1)
      return (
        <Folded
          key={place}
          hops={hops}
          place={index}
          column={column}
          number={firstHop + index}
          {...button(place)}
          onClick={() => {
            const shown = slowestOf(hops)?.index ?? index;
            select({ hop: firstHop + shown });
            // The arrow is gone then: the focus goes to the hop.
            requestAnimationFrame(() =>
              requestAnimationFrame(() => box.current?.querySelector<HTMLElement>(`[data-place="${2 * shown + 1}"]`)?.focus()),
            );
          }}
        />
      );
    return (
      <Hop
        key={place}
        hop={hop}
        slowest={path.pace.words === "" ? "slowest" : path.pace.takesTurns ? "takes turns" : "slowed down"}
        place={index}
        column={column}
        number={firstHop + index}
        still={still}
        moment={moment}
        moved={moved}
        {...button(place)}
        onClick={() => {
          if (moved.ends()) return;
          if (place === here) showLarge(firstHop + index);
          else select({ hop: firstHop + index });
        }}
      />
    );
  };
  return (
    <div
      class="iv-strip"
      style={{ "--iv-stop": `${side}px`, "--iv-hop": `${hopWidth}px` }}
      inert={still}
      role="group"
      aria-label={`${name}: ${path.hops.length} hops; arrow keys move along, Enter selects, F shows a hop large`}
      ref={box}
      onKeyDown={(event) => {
        if (event.key === "f" && reached % 2 === 1 && !event.ctrlKey && !event.metaKey && !event.altKey)
          showLarge(firstHop + (reached - 1) / 2);
        const to = placeAfter(event.key, places.indexOf(reached), places.length);
        if (to === null) return;
        event.preventDefault();
        const next = box.current?.querySelector<HTMLElement>(`[data-place="${places[to]}"]`);
        next?.focus();
        next?.scrollIntoView({ block: "nearest", inline: "nearest" });
      }}
    >
      {rows.map((row) => {
        const shown = stops.slice(row.from, row.to + 1);
        const inRow = shown.flatMap((stop) => path.stops[stop] ?? []);
        return (
          <div class="iv-strip-row" key={row.from} style={{ gridTemplateColumns: columnsOf(path.stops, stops, row) }}>
            {nodesOf(inRow).map((group) => (
              <div
                class="iv-node"
                key={group.from}
                style={{ gridColumn: `${2 * group.from + 2} / ${2 * group.to + 3}` }}
                aria-hidden="true"
              >
                <span>node {group.node}</span>
              </div>
            ))}
            {shown.flatMap((stop, at) => [
              part(2 * stop, 2 * at + 2),
              stop < path.stops.length - 1 ? part(2 * stop + 1, 2 * at + 3) : null,
            ])}
          </div>
        );
      })}
      {moved.held !== null && <HeldMark held={moved.held} word={path.hops[moved.from]?.order ?? ""} />}
    </div>
  );
}

/** The height of the window. */
function useWindowHeight(): number {
  const [height, setHeight] = useState(innerHeight);
  useEffect(() => {
    const changed = (): void => setHeight(innerHeight);
    window.addEventListener("resize", changed);
    return () => window.removeEventListener("resize", changed);
  }, []);
  return height;
}

/** The columns of a row. A hop to another node stands between the grounds of two nodes. The hop to the next row is the last but one. */
function columnsOf(stops: readonly ShownStop[], shown: readonly number[], { from, to }: Row): string {
  const columns = shown.slice(from, to + 1).flatMap((stop, at) => {
    const next = shown[from + at + 1];
    if (next === undefined) return ["var(--iv-stop)"];
    return ["var(--iv-stop)", stops[stop]?.node === stops[next]?.node ? "var(--iv-hop)" : "calc(var(--iv-hop) + 16px)"];
  });
  return ["12px", ...columns, "12px"].join(" ");
}

/** Whether no other memory of its kind is on the same node: then its kind names it. */
const isAlone = (stop: ShownStop, stops: readonly ShownStop[]): boolean =>
  stops.every((other) => other.node !== stop.node || other.words !== stop.words || other.memory === stop.memory);

const slowestOf = (hops: readonly ShownHop[]): ShownHop | undefined =>
  hops.find((hop) => hop.bottleneck) ?? [...hops].sort((one, other) => one.rate - other.rate)[0];

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

/** `beside` tells it from its like; `filledBy` is the hop that fills the buffer at a stop, null where it has none. */
function Stop({
  stop,
  side,
  beside,
  place,
  column,
  number,
  pressed,
  moment,
  filledBy,
  path,
  still,
  ...rest
}: PartProps & { stop: ShownStop; side: number; beside: string; filledBy: number | null; path: ShownPath }): JSX.Element {
  return (
    <button
      type="button"
      class="iv-stop"
      data-testid={still ? undefined : `stop-${number}`}
      data-place={2 * place}
      style={{ gridColumn: column }}
      aria-pressed={pressed}
      title={`${stop.memory}\n${whereOf(stop)}\n${stop.pretty}`}
      {...rest}
    >
      <span class="iv-stop-picture">
        <Thumbnail layout={stop.layout} size={side} block={byName(path.block)} path={path.stops.map((each) => each.layout)} />
        {moment !== null && filledBy !== null && <SlotMarks moment={moment} hop={filledBy} />}
      </span>
      <span class="iv-hidden">
        Stop {number}, node {stop.node}:
      </span>
      <span class="iv-stop-text">
        <b>{stop.words}</b>
        {(beside !== "" || stop.emulated) && (
          <span class="iv-faint">{[beside, stop.emulated ? "emulated" : ""].filter((word) => word !== "").join(", ")}</span>
        )}
        <code>{shortLayout(stop.layout)}</code>
      </span>
    </button>
  );
}

interface HopProps extends PartProps {
  hop: ShownHop;
  /** The word of a hop that sets the pace. */
  slowest: string;
  moved: MovedConversion;
}

function Hop({ hop, slowest, place, column, number, pressed, moment, moved, still, ...rest }: HopProps): JSX.Element {
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
      <span class="iv-hop-above">
        <span class="iv-hop-words">{hop.words}</span>{" "}
        <b class="iv-hop-rate">
          {formatRate(hop.rate)}
          {!still && <MeasuredRate planned={hop.rate} number={number} />}
          <TriedRate channel={hop.channel} rate={hop.rate} />
        </b>
      </span>
      <Shaft busy={hop.busy}>{moment !== null && <ChunkMark moment={moment} hop={number} />}</Shaft>
      <span class="iv-hop-below">
        {moment !== null ? (
          <span class="iv-hop-mark">{movingText(moment, number)}</span>
        ) : (
          <span
            class={`iv-hop-mark${movable ? " iv-hop-movable" : ""}${hop.order === "keeps" ? " iv-hidden" : ""}`}
            data-testid={movable ? "conversion" : undefined}
            title={movable ? "Drag it to another hop: the plan by hand that converts there" : undefined}
            {...(movable ? moved.handlers : {})}
          >
            {hop.order}
          </span>
        )}{" "}
        {hop.bottleneck && <span class="iv-hop-slowest">{slowest}</span>} <span class="iv-hop-run">{runText(hop.run)}</span>
      </span>
    </button>
  );
}

/** The arrow of a hop, of one length. Its filled part is the share of the time for which the channel is at work. */
function Shaft({ busy, children }: { busy: number; children?: ComponentChildren }): JSX.Element {
  return (
    <span class="iv-shaft">
      <span style={{ width: `${(100 * busy).toFixed(2)}%` }} />
      {children}
    </span>
  );
}

interface FoldedProps extends RoveProps {
  hops: readonly ShownHop[];
  place: number;
  column: number;
  number: number;
  onClick: () => void;
}

/** Hops that only keep the order, as one arrow. Selecting it selects the slowest of them, and so shows them all. */
function Folded({ hops, place, column, number, pressed, ...rest }: FoldedProps): JSX.Element {
  const slowest = slowestOf(hops);
  return (
    <button
      type="button"
      class={`iv-hop iv-hop-folded${slowest?.bottleneck === true ? " iv-slowest" : ""}`}
      data-testid={`folded-${number}`}
      data-place={2 * place + 1}
      style={{ gridColumn: column }}
      aria-expanded={false}
      title={`${hops.map((hop) => `${hop.words}, ${formatRate(hop.rate)}`).join("\n")}\nSelect it to see them all`}
      {...rest}
    >
      <span class="iv-hop-above">
        <b class="iv-hop-rate">{slowest !== undefined && formatRate(slowest.rate)}</b>
      </span>
      <Shaft busy={slowest?.busy ?? 0} />
      <span class="iv-hop-below">
        {slowest?.bottleneck === true && <span class="iv-hop-slowest">slowest</span>}{" "}
        <span class="iv-hop-run">{hops.length} hops keep it</span>
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
