// One hop, large: the memory before it and the memory behind it, one block or all of it, and its requests one by one.

import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Button } from "#lib/button.tsx";
import { wantsStillness } from "#lib/hooks.ts";
import { useWholeWindow } from "#lib/whole-window.tsx";
import { byName } from "#model/by-name.ts";
import { useLargeHop, useLeaveLarge, useShowLarge } from "#model/large-hop.ts";
import { runsOfBlock } from "#model/layouts/requests.ts";
import type { Extent } from "#model/picture-way.ts";
import { usePlace } from "#model/selection.ts";
import { proxyWords, trackColour } from "#model/tracks.ts";
import type { ShownPath } from "#model/types.ts";
import { counted, formatBytes, formatCount, formatRate, formatShare } from "#model/units.ts";
import { useView } from "#model/view.ts";
import { hopsOf, type PlacedHop } from "#model/words.ts";
import { OrderTag } from "#views/controls/order-tag.tsx";
import { WhyHere } from "#views/plan/why-here.tsx";
import { type HopLayouts, useHopLayouts } from "./hop-layouts.ts";
import { type Counted, Pictures } from "./pictures.tsx";
import { waysOf } from "./words.ts";

/** The seconds that a hop takes on the screen, and the most seconds of one of its steps. */
const PACES = { slow: { all: 24, step: 2.4 }, medium: { all: 9, step: 1.2 }, fast: { all: 3, step: 0.5 } } as const;
type Pace = keyof typeof PACES;
/** Seconds for which an element is in the air, and the pause before the next hop of a chunk that is followed. */
const FLIGHT = 0.5;
const PAUSE = 0.8;

export function Stage(): JSX.Element {
  const { snapshot } = useView();
  const { plan } = snapshot.panes;
  const [{ hop }, select] = usePlace();
  const leave = useLeaveLarge();
  const show = useShowLarge();
  const [chosen, choose] = useState<Extent | null>(null);
  const box = useRef<HTMLDivElement>(null);
  const keys = useRef<(key: string) => boolean>(() => false);
  useWholeWindow(box, true, leave);
  useFocusHere(box, hop);
  const hops = plan === null ? [] : hopsOf(plan);
  const number = Math.min(
    hop ??
      Math.max(
        0,
        hops.findIndex((each) => each.hop.bottleneck),
      ),
    hops.length - 1,
  );
  const placed = hops[number];
  const layouts = useHopLayouts(placed);
  const go = (by: number): void => {
    if (hops[number + by] !== undefined) select({ hop: number + by });
  };
  const hasBlock = placed !== undefined && typeof layouts !== "string" && isCut(placed.path, layouts);
  // Where only the place of blocks changes, one block has nothing to show.
  const usual = placed !== undefined && /blocks$/.test(placed.hop.order) ? "whole" : "block";
  const extent = hasBlock ? (chosen ?? usual) : "block";
  return (
    <div
      ref={box}
      class="iv-whole iv-stage"
      role="dialog"
      aria-modal="true"
      aria-label={`Hop ${number}, large`}
      tabIndex={-1}
      data-testid="stage"
      data-hop={number}
      data-whole="true"
      data-own-stops
      // A button that was clicked does not keep the focus: Space goes on to play and pause.
      onClick={(event) => {
        if (event.detail > 0 && (event.target as Element).closest("button") !== null) box.current?.focus({ preventScroll: true });
      }}
      onKeyDown={(event) => {
        if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
        const target = event.target as HTMLElement;
        const takes = target.matches("select") || (event.key === " " && target.matches("button"));
        const way = { ArrowUp: -1, "[": -1, ArrowDown: 1, "]": 1 }[event.key];
        if (event.key === "Escape") leave();
        else if (takes) return;
        else if (way !== undefined) go(way);
        else if (!keys.current(event.key)) return;
        event.preventDefault();
        event.stopPropagation();
      }}
    >
      <header class="iv-stage-head">
        <h2>
          Hop {number} · {placed?.hop.words ?? "none"}
        </h2>
        {placed?.hop.bottleneck && <span class="iv-tag iv-tag-slow">slowest hop</span>}
        {placed !== undefined && <OrderTag order={placed.hop.order} />}
        {placed !== undefined && <WhichPath path={placed.path} />}
        <div class="iv-stage-tools">
          {hasBlock && (
            <div class="iv-stage-switch" role="group" aria-label="How much is shown">
              {(["whole", "block"] as const).map((each) => (
                <Button
                  key={each}
                  label={each === "whole" ? "whole" : "one block"}
                  testid={`stage-${each}`}
                  pressed={extent === each}
                  onClick={() => choose(each)}
                />
              ))}
            </div>
          )}
          <Button
            label="Hop before"
            icon="up"
            iconOnly
            testid="stage-before"
            disabled={number <= 0}
            title="Hop before (↑)"
            onClick={() => go(-1)}
          />
          <Button
            label="Next hop"
            icon="down"
            iconOnly
            testid="stage-next"
            disabled={number >= hops.length - 1}
            title="Next hop (↓)"
            onClick={() => go(1)}
          />
          <Button
            label="Back to the page"
            icon="remove"
            iconOnly
            testid="stage-close"
            title="Back to the page (Escape)"
            onClick={leave}
          />
        </div>
      </header>
      {placed === undefined || typeof layouts === "string" ? (
        <p class="iv-stage-none" data-testid="stage-none">
          {typeof layouts === "string" ? layouts : "There is no plan yet."}
        </p>
      ) : (
        <Playing
          placed={placed}
          layouts={layouts}
          extent={extent}
          keys={keys}
          goOn={number < hops.length - 1 && hops[number + 1]?.path === placed.path ? () => show(number + 1, "follows") : null}
        />
      )}
      {placed !== undefined && <WhyHere {...placed} asked />}
    </div>
  );
}

/** The focus is in the dialog while it is there, and then back where it was. */
function useFocusHere(box: { readonly current: HTMLElement | null }, hop: number | null): void {
  const [before] = useState(() => document.activeElement);
  const journey = useRef<Element | null>(null);
  const last = useRef(hop);
  last.current = hop;
  // What had it may be gone: a hop that converts is no longer offered to convert.
  useEffect(() => {
    if (box.current?.contains(document.activeElement) === false) box.current.focus({ preventScroll: true });
  });
  useEffect(() => {
    journey.current = box.current?.closest(".isoviz") ?? null;
    return () => {
      const origin = before instanceof HTMLElement && before !== document.body && before.isConnected ? before : null;
      (origin ?? journey.current?.querySelector<HTMLElement>(`[data-testid=hop-${last.current}]`))?.focus({
        preventScroll: true,
      });
    };
  }, []);
}

function WhichPath({ path }: { path: ShownPath }): JSX.Element | null {
  const { plan } = useView().snapshot.panes;
  const number = plan?.paths.indexOf(path) ?? -1;
  if (plan === null || plan.paths.length < 2 || number < 0) return null;
  return (
    <p class="iv-faint" data-testid="stage-path">
      <i class="iv-track-key" style={{ background: `var(${trackColour(number)})` }} /> path {number} of {plan.paths.length},{" "}
      {formatShare(path.share)} of the data, {proxyWords(path.stops.length - 2)}
    </p>
  );
}

const sizesOf = (path: ShownPath, { from }: HopLayouts): number[] => {
  const block = byName(path.block);
  return from.dims.map(({ name, size }) => Math.min(size, block.get(name) ?? size));
};

/** Whether the path moves blocks that are smaller than what it moves. */
const isCut = (path: ShownPath, layouts: HopLayouts): boolean =>
  sizesOf(path, layouts).some((size, dim) => size < (layouts.from.dims[dim]?.size ?? 1));

interface PlayingProps {
  placed: PlacedHop;
  layouts: HopLayouts;
  extent: Extent;
  /** Where what a key does is left for the dialog. */
  keys: { current: (key: string) => boolean };
  /** On to the next hop of the path, once this one is played to its end; null at the last one. */
  goOn: (() => void) | null;
}

/** How far a hop is played; null: to its end. */
interface Run {
  readonly of: string;
  readonly at: number | null;
  readonly playing: boolean;
}

/** The moment of a hop, and what plays it. */
function Playing({ placed, layouts, extent, keys, goOn }: PlayingProps): JSX.Element {
  const { hop, path } = placed;
  const still = wantsStillness();
  const follows = useLargeHop() === "follows" && !still;
  const show = useShowLarge();
  const [pace, setPace] = useState<Pace>("medium");
  // What is set belongs to one hop and to one way to show it; the controls stay, and keep the focus.
  const own = `${placed.number} ${extent}`;
  const [set, setRun] = useState<Run>({ of: "", at: null, playing: false });
  const { at, playing } = set.of === own ? set : { at: follows ? 0 : null, playing: follows };
  const run = (at: number | null, playing: boolean): void => setRun({ of: own, at, playing });
  const [{ count, starts }, setCounted] = useState<Counted>({ count: 1, starts: null });
  const reached = Math.min(count, at ?? count);
  const moment = useRef({ at: reached, count, pace });
  moment.current = { at: reached, count, pace };
  const each = Math.min(PACES[pace].step, PACES[pace].all / count);
  useEffect(() => {
    if (!playing) return;
    let [last, frame] = [performance.now(), 0];
    const next = (now: number): void => {
      const { count, pace } = moment.current;
      const seconds = Math.min(PACES[pace].step, PACES[pace].all / count);
      const to = Math.min(count, moment.current.at + (now - last) / 1000 / seconds);
      last = now;
      moment.current.at = to;
      run(to, to < count);
      if (to < count) frame = requestAnimationFrame(next);
    };
    frame = requestAnimationFrame(next);
    return () => cancelAnimationFrame(frame);
  }, [playing, own]);
  useEffect(() => {
    if (!follows || goOn === null || playing || at === null || at < count) return;
    const timer = setTimeout(goOn, PAUSE * 1000);
    return () => clearTimeout(timer);
  }, [follows, playing, at, own]);
  const to = (step: number): void => {
    show(placed.number); // a chunk is followed no more
    run(Math.max(0, Math.min(count, step)), false);
  };
  const step = (by: number): void => to(by > 0 ? Math.floor(reached + 1e-6) + 1 : Math.ceil(reached - 1e-6) - 1);
  const play = (): void => {
    if (still) return to(reached >= count ? 1 : Math.floor(reached) + 1);
    if (playing) return to(Math.floor(reached)); // what is in the air has not arrived
    run(reached >= count ? 0 : reached, true);
  };
  keys.current = (key) => {
    const does = { " ": play, ArrowLeft: () => step(-1), ArrowRight: () => step(1), Home: () => to(0), End: () => to(count) }[
      key
    ];
    does?.();
    return does !== undefined;
  };
  const whole = extent === "whole";
  const fields = layouts.from.fields.length;
  const sizes = sizesOf(path, layouts);
  const done = Math.floor(reached + 1e-6);
  const elements = (whole ? layouts.from.dims.map(({ size }) => size) : sizes).reduce((product, size) => product * size, fields);
  // A chunk cuts what would be one run.
  const bytes = (elements / fields) * layouts.from.entryBytes;
  const requests = Math.max(runsOfBlock(layouts.box, layouts.from, sizes), Math.round(bytes / hop.run));
  const share = starts === null ? done / count : (starts[done] ?? 0) / Math.max(1, starts[count] ?? 1);
  const [written, what] = [Math.round(elements * share), fields > 1 ? "element" : "entry"];
  const told = whole
    ? `${formatCount(done)} of ${counted(path.chunks, "chunk")} written`
    : `${formatCount(written)} of ${counted(elements, what, what === "entry" ? "entries" : undefined)} written`;
  const ways = waysOf(layouts.from, layouts.to, byName(path.block));
  return (
    <>
      <Pictures
        placed={placed}
        layouts={layouts}
        extent={extent}
        at={reached}
        flight={playing ? Math.max(1, FLIGHT / each) : 1}
        tell={setCounted}
      >
        <b class="iv-stage-run">{formatBytes(hop.run)} at a time</b>
        {ways === null ? (
          <span>read and written in the same order</span>
        ) : (
          <>
            <span>read {ways.read},</span>
            <span>written {ways.written}</span>
          </>
        )}
        <span class={`iv-stage-arrow${hop.order === "converts" ? " iv-stage-turns" : ""}`} aria-hidden="true" />
        <b data-testid="stage-told">{told}</b>
        {!whole && <span class="iv-faint">in {counted(requests, "request")}</span>}
        <span class="iv-faint">{formatRate(hop.rate)}</span>
      </Pictures>
      <div class="iv-stage-player" data-testid="stage-player">
        <Button
          label={still ? "Next request" : playing ? "Pause" : "Play"}
          icon={playing ? "pause" : "run"}
          testid="stage-play"
          primary
          onClick={play}
        />
        <Button
          label="One request back"
          icon="back"
          iconOnly
          testid="stage-step-back"
          title="One request back (←)"
          onClick={() => step(-1)}
        />
        <Button
          label="One request on"
          icon="next"
          iconOnly
          testid="stage-step"
          title="One request on (→)"
          onClick={() => step(1)}
        />
        <input
          type="range"
          min={0}
          max={count}
          step={1}
          value={done}
          aria-label={whole ? "Chunks written" : "Requests done"}
          aria-valuetext={told}
          data-testid="stage-scrub"
          onInput={(event) => to(Number(event.currentTarget.value))}
        />
        {!still && (
          <select
            class="iv-input"
            aria-label="Pace"
            data-testid="stage-pace"
            value={pace}
            onChange={(event) => setPace(event.currentTarget.value as Pace)}
          >
            {Object.keys(PACES).map((name) => (
              <option key={name} value={name}>
                {name}
              </option>
            ))}
          </select>
        )}
      </div>
    </>
  );
}
