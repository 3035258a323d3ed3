// The plan by hand: the path hop by hop, the layout of every buffer as chips, blocks, chunk and target by sliders.

import type { JSX } from "preact";
import { useRef, useState } from "preact/hooks";
import { Button } from "#lib/button.tsx";
import { ProblemLine } from "#lib/error-line.tsx";
import { Icon } from "#lib/icon.tsx";
import { useId } from "#lib/use-id.ts";
import { byName } from "#model/by-name.ts";
import { spacesOf } from "#model/ends.ts";
import { stays } from "#model/fixed.ts";
import { layoutText, parse } from "#model/layouts/notation.ts";
import type { ShownByHand, ShownHandPath, ShownHandStop, WhyPart } from "#model/types.ts";
import { formatBytes, formatCount, formatRate, formatSeconds, formatShare } from "#model/units.ts";
import { useView } from "#model/view.ts";
import { Term } from "#views/controls/term.tsx";
import { Chips } from "#views/layout-editor/chips.tsx";
import { Strip } from "#views/layout-editor/strip.tsx";
import { TextField } from "#views/layout-editor/text-field.tsx";
import { partKey } from "#views/layout-editor/words.ts";
import { blockStops, blocksOf, chunkStops, withBlocks, withHop, withoutHop } from "./hand.ts";
import { LogSlider } from "./slider.tsx";
import { useHand } from "./use-hand.ts";

export function ByHand({ hand, why }: { hand: ShownByHand; why: WhyPart | null }): JSX.Element {
  const { snapshot } = useView();
  const send = useHand();
  const path = snapshot.panes.hand.path;
  const stops = path?.stops.slice(1, hand.layouts.length + 1) ?? [];
  const blocks = blocksOf(hand.layouts, byName(snapshot.panes.layout.dims));
  return (
    <section class="iv-why-part iv-hand" data-testid="by-hand" aria-label="Path by hand">
      {path !== null && <PathByHand hand={hand} path={path} />}
      <ProblemLine name="by-hand-path" problem={snapshot.faults.problems["by-hand-path"]} />
      {blocks.map((each) => (
        <LogSlider
          key={each.name}
          testid={`by-hand-block-${each.name}`}
          label={
            <>
              block <code>{each.name}</code>
            </>
          }
          name={`Block ${each.name} in every buffer`}
          low={1}
          high={each.most}
          stops={blockStops(each.most, each.block)}
          value={each.block}
          text={formatCount(each.block)}
          onValue={(block) =>
            send(`block ${each.name}`, { ...hand, layouts: withBlocks(hand.layouts, new Map([[each.name, block]])) })
          }
        />
      ))}
      {hand.layouts.length > 0 && <Chunk hand={hand} />}
      {why !== null && <Target hand={hand} why={why} />}
      {hand.layouts.map((text, place) => (
        <BufferLayout key={place} hand={hand} place={place} text={text} stop={stops[place]} />
      ))}
    </section>
  );
}

/** "By hand 361 ms, the planner 358 ms: 0.8 % more." */
export function timeWords(why: WhyPart): string {
  if (why.referenceSeconds === null) return `By hand it takes ${formatSeconds(why.seconds)}.`;
  const ratio = why.seconds / why.referenceSeconds - 1;
  if (ratio >= 1)
    return `By hand it takes ${formatSeconds(why.seconds)}, ${(ratio + 1).toPrecision(2)} times the planner's ${formatSeconds(why.referenceSeconds)}.`;
  const compared =
    Math.abs(ratio) < 5e-5 ? "just as long" : `${formatShare(Math.abs(ratio))} ${ratio > 0 ? "longer" : "shorter"}`;
  return `By hand it takes ${formatSeconds(why.seconds)}, ${compared} than the planner's ${formatSeconds(why.referenceSeconds)}.`.replace(
    "long than",
    "long as",
  );
}

function PathByHand({ hand, path }: { hand: ShownByHand; path: ShownHandPath }): JSX.Element {
  const { connection, snapshot } = useView();
  const send = useHand();
  const { layout } = connection.settings.source;
  return (
    <div class="iv-hand-path" role="group" aria-label="The path, hop by hop">
      {path.stops.map((stop, place) => (
        <span key={place} class="iv-hand-stop">
          {place > 0 && <span class="iv-hand-hop">{path.hops[place - 1]} →</span>}
          <b>{stop.words}</b> <span class="iv-faint">{stop.where}</span>
        </span>
      ))}
      {path.reaches && (
        <span class="iv-holds" title="The path ends at the destination">
          <Icon name="good" />
          <span class="iv-hidden">reaches the destination</span>
        </span>
      )}
      {!stays(snapshot, "path") && (
        <span class="iv-hand-edit">
          {path.onward.length > 0 && (
            <select
              class="iv-input"
              data-testid="by-hand-next"
              aria-label={`The next hop, from ${path.stops.at(-1)?.memory ?? "the source"}`}
              value=""
              onChange={(event) => {
                const channel = event.currentTarget.value;
                event.currentTarget.value = "";
                if (channel !== "") send("", withHop(hand, channel, layout));
              }}
            >
              <option value="">Next hop…</option>
              {path.onward.map((channel) => (
                <option key={channel.name} value={channel.name}>
                  {channel.words} to {channel.destination}, up to {formatRate(channel.peak)}
                </option>
              ))}
            </select>
          )}
          <Button
            label="Remove the last hop"
            icon="remove"
            iconOnly
            testid="by-hand-back"
            disabled={hand.path.length === 0}
            onClick={() => send("", withoutHop(hand))}
          />
        </span>
      )}
    </div>
  );
}

function Chunk({ hand }: { hand: ShownByHand }): JSX.Element | null {
  const { snapshot } = useView();
  const send = useHand();
  const typed = /^\s*(\d+)\s*$/.exec(hand.chunk)?.[1];
  const planned = snapshot.panes.plan?.paths[0]?.chunkBytes;
  const value = typed !== undefined ? Number(typed) : (planned ?? 2 ** 20);
  const slots = snapshot.panes.why?.constraints.filter((row) => row.kind === "slot").map((row) => row.bound) ?? [];
  const most = 4 * Math.max(2 ** 20, ...slots);
  const own = hand.chunk.trim() !== "";
  return (
    <div class="iv-hand-line">
      <LogSlider
        testid="by-hand-chunk"
        label={<Term name="chunk" />}
        name="Chunk"
        low={512}
        high={most}
        stops={chunkStops(most, Math.round(value))}
        value={Math.round(value)}
        text={own ? formatBytes(value) : `${formatBytes(value)}, least time`}
        onValue={(next) => send("chunk", { ...hand, chunk: String(next) })}
      />
      <Button
        label="Least time"
        quiet
        testid="by-hand-chunk-auto"
        disabled={!own}
        title="Let the chunk be the one of the least time"
        onClick={() => send("", { ...hand, chunk: "" })}
      />
      <ProblemLine name="by-hand-chunk" problem={snapshot.faults.problems["by-hand-chunk"]} />
    </div>
  );
}

function Target({ hand, why }: { hand: ShownByHand; why: WhyPart }): JSX.Element {
  const send = useHand();
  const most = why.optimum ?? why.target;
  const value = hand.target ?? most;
  return (
    <div class="iv-hand-line">
      <LogSlider
        testid="by-hand-target"
        label={<Term name="target" />}
        name="Target: the throughput for which the constraints are judged"
        low={most / 32}
        high={most * 4}
        value={value}
        text={hand.target === null ? `${formatRate(value)}, the most` : formatRate(value)}
        onValue={(next) => send("target", { ...hand, target: next })}
      />
      <Button
        label="The most"
        quiet
        testid="by-hand-target-most"
        disabled={hand.target === null}
        title={`The most that this path sustains: ${formatRate(most)}`}
        onClick={() => send("", { ...hand, target: null })}
      />
    </div>
  );
}

/** The layout of one buffer, as in the layout editor. */
function BufferLayout({
  hand,
  place,
  text,
  stop,
}: {
  hand: ShownByHand;
  place: number;
  text: string;
  stop: ShownHandStop | undefined;
}): JSX.Element {
  const { connection, snapshot } = useView();
  const send = useHand();
  const [selected, select] = useState<string | null>(null);
  const focus = useRef<string | null>(null);
  const id = useId();
  const last = useRef(parse(text).parts ?? []);
  const parsed = parse(text);
  if (parsed.parts !== null) last.current = parsed.parts;
  const parts = last.current;
  const told = snapshot.faults.problems[`by-hand-layout:${place}`];
  const own = parsed.problem === null ? null : { message: parsed.problem.message, text, position: parsed.problem.position };
  const problem = own ?? (told?.text === text || told?.text === null ? told : null) ?? null;
  const at = selected === null ? -1 : parts.findIndex((part) => partKey(part) === selected);
  const enter = (value: string): void => {
    if (value !== text)
      send(`layout ${place}`, { ...hand, layouts: hand.layouts.map((each, other) => (other === place ? value : each)) });
  };
  const name = `buffer ${place + 1}`;
  return (
    <div class="iv-edit iv-hand-buffer" role="group" aria-label={`Layout of ${name}`} data-testid={`by-hand-buffer-${place}`}>
      <p class="iv-hand-buffer-name">
        <b>{stop?.words ?? name}</b> <span class="iv-faint">{stop?.where ?? ""}</span>
      </p>
      <div class="iv-edit-top">
        <Chips
          title={`the layout of ${name}`}
          parts={parts}
          palette={snapshot.palette}
          stale={problem !== null}
          prefix={0}
          suffix={0}
          selected={at >= 0 && problem === null ? selected : null}
          stripId={`${id}-strip`}
          onSelect={select}
          onChange={(next) => enter(layoutText(next))}
          linear={null}
          focus={focus}
        />
        <TextField
          id={id}
          testid={`by-hand-layout-${place}`}
          label={`Layout of ${name} as text`}
          text={text}
          problem={problem}
          problemId={`${id}-problem`}
          onText={enter}
          onFocus={() => select(null)}
        />
      </div>
      {problem !== null && (
        <p class="iv-edit-problem" id={`${id}-problem`} role="alert" data-testid={`error-by-hand-layout-${place}`}>
          {problem.message}
        </p>
      )}
      {problem === null && at >= 0 && (
        <Strip
          id={`${id}-strip`}
          parts={parts}
          at={at}
          spaces={spacesOf(connection.settings, snapshot)}
          palette={snapshot.palette}
          onChange={(next, key) => {
            enter(layoutText(next));
            select(key);
          }}
          onClose={() => {
            focus.current = selected;
            select(null);
          }}
        />
      )}
    </div>
  );
}
