// What if: sliders that plan anew while they are dragged, and what follows beside the plan as it is.

import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { Button } from "#lib/button.tsx";
import { byName, withName } from "#model/by-name.ts";
import { GIVEN, keepsNothing } from "#model/fixed.ts";
import type { PlanPart, ShownChannel, ShownHeld, ShownTurn, WhatIfPart } from "#model/types.ts";
import { formatBytes, formatCount, formatRate, formatSeconds, formatShare } from "#model/units.ts";
import { useView } from "#model/view.ts";
import { hopsOf, meanOf } from "#model/words.ts";
import { Term } from "#views/controls/term.tsx";
import { LogSlider, type SliderMark } from "./slider.tsx";
import { type Tried, useTried } from "./tried.ts";

/** A bandwidth can be tried up to this factor from what it is. */
const REACH = 16;
/** Starts that can be tried; after the last of them what is kept hardly counts. */
const STARTS = [1, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 50, 100, 200, 300, 500, 1000, 2000, 5000, 10_000];

/** Shares of a resource that something else may take. */
const SHARES = [...Array.from({ length: 20 }, (_, k) => k / 20), 0.98, 0.99];
/** Resources that have a slider: those of the path come first. */
const MOST_HELD = 4;

/** The sliders, the answer, and what makes settings of it. */
export function WhatIf(): JSX.Element | null {
  const { connection, snapshot } = useView();
  const { plan, why } = snapshot.panes;
  const tried = useTried();
  const [more, setMore] = useState<readonly string[]>([]);
  if (plan === null || connection.offline) return null;
  const channels = why?.channels ?? [];
  const slowest = hopsOf(plan).find(({ hop }) => hop.bottleneck) ?? hopsOf(plan)[0];
  const own = slowest === undefined ? [] : [slowest.hop.channel];
  const shown = [...new Set([...own, ...Object.keys(tried.whatIf.bandwidths), ...more])];
  const others = channels.filter((channel) => !shown.includes(channel.name));
  return (
    <section class="iv-why-part" data-testid="what-if" aria-label="What if">
      <header class="iv-why-head">
        <h3>
          <Term name="what if">What if</Term>
        </h3>
        <span class="iv-why-buttons">
          <Button
            label="Keep"
            testid="what-if-keep"
            disabled={!tried.active || keepsNothing(snapshot)}
            title={keepsNothing(snapshot) ? GIVEN : "Make settings of what is tried; undo takes it back"}
            onClick={tried.keep}
          />
          <Button
            label="Reset"
            testid="what-if-reset"
            disabled={!tried.active}
            title="Try nothing any more"
            onClick={tried.reset}
          />
        </span>
      </header>
      {shown.map((name) => (
        <Bandwidth key={name} channel={channelNamed(name, channels, plan)} tried={tried} turns={why?.turns ?? []} />
      ))}
      {others.length > 0 && (
        <label class="iv-why-add">
          <span class="iv-hidden">Try the bandwidth of another channel</span>
          <select
            class="iv-input"
            data-testid="what-if-channel"
            value=""
            onChange={(event) => {
              if (event.currentTarget.value !== "") setMore([...more, event.currentTarget.value]);
              event.currentTarget.value = "";
            }}
          >
            <option value="">Another channel…</option>
            {others.map((channel) => (
              <option key={channel.name} value={channel.name}>
                {channel.words}, {channel.source} → {channel.destination}
              </option>
            ))}
          </select>
        </label>
      )}
      {(why?.held ?? []).slice(0, MOST_HELD).map((each) => (
        <Taken key={each.name} of={each} tried={tried} />
      ))}
      <SlotLimit tried={tried} />
      <Sizes tried={tried} />
      <Reuse tried={tried} />
      <Answer />
    </section>
  );
}

/** A channel by its name: from the explanation, or from the plan itself. */
function channelNamed(name: string, channels: readonly ShownChannel[], plan: PlanPart): ShownChannel {
  const hop = hopsOf(plan).find((each) => each.hop.channel === name)?.hop;
  return (
    channels.find((channel) => channel.name === name) ?? {
      name,
      words: hop?.words ?? name,
      source: hop?.source ?? "",
      destination: hop?.destination ?? "",
      peak: hop?.peak ?? 1,
    }
  );
}

function Bandwidth({ channel, tried, turns }: { channel: ShownChannel; tried: Tried; turns: readonly ShownTurn[] }): JSX.Element {
  const marks: SliderMark[] = turns
    .filter((turn) => turn.parameter === "bandwidth" && turn.name === channel.name)
    .map((turn) => ({ value: turn.value, title: `At ${formatRate(turn.value)} path ${turn.rival + 1} wins` }));
  const where = channel.source === channel.destination ? channel.source : `${channel.source} → ${channel.destination}`;
  return (
    <BandwidthSlider
      testid={`what-if-bandwidth-${channel.name}`}
      channel={channel.name}
      peak={channel.peak}
      tried={tried}
      marks={marks}
      name={`Bandwidth of ${channel.words}, ${where}`}
      label={
        <>
          {channel.words} <span class="iv-faint">{where}</span>
        </>
      }
    />
  );
}

interface BandwidthProps {
  testid: string;
  channel: string;
  peak: number;
  tried: Tried;
  marks: readonly SliderMark[];
  name: string;
  label: JSX.Element | string;
}

function BandwidthSlider({ channel, peak, tried, ...rest }: BandwidthProps): JSX.Element {
  const asked = byName(tried.whatIf.bandwidths).get(channel);
  const value = asked ?? peak;
  const ask = (next: number, moving: boolean): void =>
    tried.ask({ bandwidths: withName(tried.whatIf.bandwidths, channel, next) }, moving);
  return (
    <LogSlider
      {...rest}
      low={peak / REACH}
      high={peak * REACH}
      value={value}
      text={formatRate(value)}
      // The paths that may win here are looked for while the pointer is still at rest.
      onHold={() => asked === undefined && ask(peak, true)}
      onValue={ask}
    />
  );
}

function SlotLimit({ tried }: { tried: Tried }): JSX.Element | null {
  const { snapshot } = useView();
  const slot = snapshot.panes.why?.constraints.find((row) => row.kind === "slot");
  if (slot === undefined) return null;
  const turns = snapshot.panes.why?.turns.filter((turn) => turn.parameter === "slot_limit") ?? [];
  const value = tried.whatIf.slotLimit ?? slot.bound;
  return (
    <LogSlider
      testid="what-if-slot-limit"
      label={<Term name="slot limit" />}
      name="Slot limit"
      low={Math.max(1, slot.bound / 4096)}
      high={slot.bound * 64}
      whole
      value={value}
      text={formatBytes(value)}
      marks={turns.map((turn) => ({ value: turn.value, title: `At ${formatBytes(turn.value)} path ${turn.rival + 1} wins` }))}
      onValue={(next, moving) => tried.ask({ slotLimit: next }, moving)}
    />
  );
}

function Sizes({ tried }: { tried: Tried }): JSX.Element {
  const { snapshot } = useView();
  const turns = snapshot.panes.why?.turns.filter((turn) => turn.parameter === "size") ?? [];
  return (
    <>
      {snapshot.panes.layout.dims.map(([dim, size]) => {
        const value = byName(tried.whatIf.sizes).get(dim) ?? size;
        return (
          <LogSlider
            key={dim}
            testid={`what-if-size-${dim}`}
            label={
              <>
                size of <code>{dim}</code>
              </>
            }
            name={`Size of ${dim}`}
            low={Math.max(1, size / 64)}
            high={size * 16}
            whole
            value={value}
            text={formatCount(value)}
            marks={turns
              .filter((turn) => turn.name === dim)
              .map((turn) => ({ value: turn.value, title: `At ${formatCount(turn.value)} path ${turn.rival + 1} wins` }))}
            onValue={(next, moving) => tried.ask({ sizes: withName(tried.whatIf.sizes, dim, next) }, moving)}
          />
        );
      })}
    </>
  );
}

/** What something else takes of a resource that channels hold while they work, such as a processor. */
function Taken({ of: { name, capacity, whole }, tried }: { of: ShownHeld; tried: Tried }): JSX.Element {
  const left = byName(tried.whatIf.capacities).get(name) ?? capacity;
  const share = Math.max(0, Number((1 - left / whole).toFixed(6)));
  return (
    <LogSlider
      testid={`what-if-taken-${name}`}
      label={
        <>
          <code>{name}</code> busy elsewhere
        </>
      }
      name={`Share of ${name} that something else takes`}
      low={0.01}
      high={1}
      stops={SHARES}
      value={share}
      text={formatShare(share)}
      onValue={(next, moving) => tried.ask({ capacities: withName(tried.whatIf.capacities, name, whole * (1 - next)) }, moving)}
    />
  );
}

/** How often the transfer starts. */
function Reuse({ tried }: { tried: Tried }): JSX.Element {
  const value = tried.whatIf.reuse ?? useView().snapshot.panes.plan?.reuse ?? 1;
  return (
    <LogSlider
      testid="what-if-reuse"
      label={<Term name="reuse" />}
      name="Reuse"
      low={1}
      high={10_000}
      stops={STARTS}
      value={value}
      text={startsText(value)}
      onValue={(next, moving) => tried.ask({ reuse: next }, moving)}
    />
  );
}

/** "one start", "100 starts". */
function startsText(count: number): string {
  return count === 1 ? "one start" : `${formatCount(count)} starts`;
}

/** What follows from what is tried. */
function Answer(): JSX.Element {
  const { snapshot } = useView();
  const { plan, what_if: answer } = snapshot.panes;
  if (answer === null || plan === null)
    return <p class="iv-faint">Drag a slider: the plan that follows stands beside the plan as it is.</p>;
  return (
    <div
      class="iv-tried"
      data-testid="what-if-answer"
      data-final={answer.isAnswer && answer.isFinal}
      role="status"
      aria-live="polite"
    >
      <p>{answerWords(plan, answer)}</p>
      {!answer.samePath && answer.hops.length > 0 && (
        <p class="iv-faint">Another path: {answer.hops.map((hop) => hop.words).join(" → ")}.</p>
      )}
      {answer.isAnswer && !answer.isFinal && answer.problem === "" && (
        <p class="iv-faint">The best of the paths that are known; released, all are compared.</p>
      )}
    </div>
  );
}

/**
 * "358 ms → 239 ms (33 % less), 4.5 GB/s. Slowest then: GPU read, 5.9 GB/s." Of several starts the mean is compared, of as many starts
 * of the plan as it is.
 */
export function answerWords(plan: PlanPart, answer: WhatIfPart): string {
  if (answer.problem !== "") return answer.problem;
  const { seconds, again, reuse } = answer;
  if (seconds === null || again === null || answer.throughput === null) return "Planning with the changes…";
  const [before, after] = [meanOf(plan.seconds, plan.again, reuse), meanTime(answer)];
  const change = after / before - 1;
  const share = Math.abs(change) < 5e-5 ? "as long" : `${formatShare(Math.abs(change))} ${change < 0 ? "less" : "more"}`;
  const starts =
    reuse === 1
      ? ""
      : ` The first of ${startsText(reuse)} takes ${formatSeconds(seconds)}, every later one ${formatSeconds(again)}.`;
  const mean = reuse === 1 ? "" : "In the mean ";
  return `${mean}${formatSeconds(before)} → ${formatSeconds(after)} (${share}), ${formatRate(answer.throughput)}.${starts} ${slowestWords(answer)}`;
}

/** The seconds of a start with what is tried, in the mean of all. */
export function meanTime({ seconds, again, reuse }: WhatIfPart): number {
  return meanOf(seconds ?? 0, again ?? 0, reuse);
}

/** The time with what is tried: "239 ms", "239 ms in the mean of 100 starts". */
export function timeWords(answer: WhatIfPart): string {
  return formatSeconds(meanTime(answer)) + (answer.reuse === 1 ? "" : ` in the mean of ${startsText(answer.reuse)}`);
}

/** Which hop is the slowest with what is tried. */
export function slowestWords(answer: WhatIfPart): string {
  const slowest = answer.hops.find((hop) => hop.slowest);
  return slowest === undefined ? "" : `Slowest then: ${slowest.words}, ${formatRate(slowest.rate)}.`;
}

/** The slider in the inspector of a hop: what if its channel were faster or slower. */
export function HopWhatIf({ channel, peak, words }: { channel: string; peak: number; words: string }): JSX.Element | null {
  const { connection, snapshot } = useView();
  const tried = useTried();
  if (connection.offline) return null;
  const { plan, what_if: answer } = snapshot.panes;
  const slowest = answer?.hops.find((hop) => hop.slowest);
  return (
    <div class="iv-hop-what-if">
      <BandwidthSlider
        testid="hop-what-if"
        channel={channel}
        peak={peak}
        tried={tried}
        marks={[]}
        name={`What if ${words} had another bandwidth`}
        label="What if it had"
      />
      {tried.active && plan !== null && answer !== null && (
        <p
          class="iv-faint iv-hop-tried"
          data-testid="hop-what-if-answer"
          data-answers={answer.isAnswer ? byName(answer.whatIf.bandwidths).get(channel) : ""}
        >
          {answer.problem !== "" || answer.throughput === null
            ? answerWords(plan, answer)
            : `${formatRate(answer.throughput)}, ${timeWords(answer)}: ${slowest === undefined ? "one hop" : slowest.words} is the slowest`}{" "}
          {!keepsNothing(snapshot) && <Button label="Keep" quiet testid="hop-what-if-keep" onClick={tried.keep} />}{" "}
          <Button label="Reset" quiet testid="hop-what-if-reset" onClick={tried.reset} />
        </p>
      )}
    </div>
  );
}
