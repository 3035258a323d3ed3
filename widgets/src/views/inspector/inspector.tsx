// The inspector: what there is to know about the stop or the hop that is selected, or else about the slowest hop.

import type { ComponentChildren, JSX } from "preact";
import { useState } from "preact/hooks";
import { Button } from "#lib/button.tsx";
import { Folded } from "#lib/card.tsx";
import { later } from "#lib/later.tsx";
import { byName } from "#model/by-name.ts";
import { useShowLarge } from "#model/large-hop.ts";
import { usePlace, useSelection } from "#model/selection.ts";
import { proxyWords, trackColour } from "#model/tracks.ts";
import type { ShownPath, ShownStop } from "#model/types.ts";
import { formatBytes, formatRate, formatShare } from "#model/units.ts";
import { useView } from "#model/view.ts";
import { inspected, type PlacedHop, type PlacedStop, plainTimes, whereOf } from "#model/words.ts";
import { OrderTag } from "#views/controls/order-tag.tsx";
import { Term } from "#views/controls/term.tsx";
import { Thumbnail } from "#views/linearization/thumbnail.tsx";
import { useTried } from "#views/plan/tried.ts";
import { HopWhatIf } from "#views/plan/what-if.tsx";
import { WhyHere } from "#views/plan/why-here.tsx";
import { Curve } from "./curve.tsx";

const Messages = later(() => import("./handshake.tsx").then((part) => part.Messages));
const Descriptors = later(() => import("./descriptors.tsx").then((part) => part.Descriptors));

export function Inspector(): JSX.Element {
  const { snapshot } = useView();
  const [selection] = useSelection();
  const { plan } = snapshot.panes;
  const found = plan === null ? null : inspected(plan, selection);
  const stale = snapshot.faults.stale.includes("plan");
  return (
    <section
      class={`iv-card iv-inspector${stale ? " iv-stale" : ""}`}
      data-toolbar
      data-testid="inspector"
      aria-label="What is selected"
      aria-live="off"
    >
      {found !== null && <WhichPath path={"hop" in found ? found.hop.path : found.stop.path} />}
      {found === null ? <Nothing /> : "hop" in found ? <AboutHop {...found.hop} /> : <AboutStop {...found.stop} />}
    </section>
  );
}

/** Which of several paths the stop or hop is on. */
function WhichPath({ path }: { path: ShownPath }): JSX.Element | null {
  const { plan } = useView().snapshot.panes;
  const number = plan?.paths.indexOf(path) ?? -1;
  if (plan === null || plan.paths.length < 2 || number < 0) return null;
  return (
    <p class="iv-path-head" data-testid="inspector-path">
      <i class="iv-track-key" style={{ background: `var(${trackColour(number)})` }} />
      Path {number} of {plan.paths.length} · {formatShare(path.share)} of the data · {proxyWords(path.stops.length - 2)}
    </p>
  );
}

function Nothing(): JSX.Element {
  return (
    <>
      <header class="iv-card-head">
        <h2>Selected</h2>
      </header>
      <p class="iv-faint">A stop or a hop of the journey is explained here once there is a plan.</p>
    </>
  );
}

const place = (stop: ShownStop | undefined): string => (stop === undefined ? "" : `${stop.words}, ${whereOf(stop)}`);

function AboutHop({ number, hop, path }: PlacedHop): JSX.Element {
  // What is tried takes the place of the origin: the grids below keep their height.
  // Were the slowest hop faster, the rate of the path would rise to that of the next one; those that set the pace together stay.
  const tried = useTried();
  const [selection] = usePlace();
  const showLarge = useShowLarge();
  const next = hop.bottleneck
    ? ([...path.hops].filter((other) => !path.pace.hops.includes(other.index)).sort((a, b) => a.rate - b.rate)[0] ?? null)
    : null;
  return (
    <>
      <header class="iv-card-head">
        <h2>
          Hop {number} · {hop.words}
        </h2>
        {hop.bottleneck && <span class="iv-tag iv-tag-slow">slowest hop</span>}
        <OrderTag order={hop.order} />
        <Button
          label="Show it large"
          icon="expand"
          quiet
          testid="show-large"
          title="Both memories on the whole screen, and its requests one by one (F)"
          onClick={() => showLarge(number)}
        />
      </header>
      <p class="iv-faint">
        {place(path.stops[hop.index])} → {place(path.stops[hop.index + 1])}
      </p>
      <div class={`iv-inspector-picture${hop.bottleneck ? " iv-slowest" : hop.order === "converts" ? " iv-converts" : ""}`}>
        <Curve hop={hop} />
      </div>
      <Facts>
        <Fact term={<Term name="rate">rate</Term>}>{formatRate(hop.rate)}</Fact>
        <Fact term={<Term name="peak">peak</Term>}>{formatRate(hop.peak)}</Fact>
        <Fact term={<Term name="run">run</Term>}>{formatBytes(hop.run)}</Fact>
        <Fact term={<Term name="shuffle">shuffle</Term>}>{hop.shuffle === null ? "none" : formatBytes(hop.shuffle)}</Fact>
        <Fact term={<Term name="busy">busy</Term>}>{formatShare(hop.busy)}</Fact>
      </Facts>
      {hop.hasProtocol && (
        <Opened title={<Term name="handshake">Messages</Term>} testid="messages">
          <Messages key={number} hop={number} />
        </Opened>
      )}
      {hop.descriptors !== null && (
        <Opened title={<Term name="descriptor">Descriptors</Term>} testid="descriptors">
          <Descriptors hop={number} />
        </Opened>
      )}
      {hop.limits !== "" && (
        <>
          <h3>{hop.bottleneck ? "Why it is the slowest" : "What limits its rate"}</h3>
          <p>{hop.limits}.</p>
        </>
      )}
      {next !== null && (
        <p class="iv-faint">
          The next slowest is hop {next.index + number - hop.index}, {next.words}, with {formatRate(next.rate)}.
        </p>
      )}
      <WhyHere hop={hop} path={path} number={number} asked={selection.hop !== null} />
      <HopWhatIf key={hop.channel} channel={hop.channel} peak={hop.peak} words={hop.words} />
      {hop.origin !== "" && !tried.active && (
        <Folded title="Where the figures are from">
          <p class="iv-faint iv-origin">{plainTimes(hop.origin)}</p>
        </Folded>
      )}
    </>
  );
}

/** What is worked out while it is open. */
function Opened({
  title,
  testid,
  children,
}: {
  title: ComponentChildren;
  testid: string;
  children: ComponentChildren;
}): JSX.Element {
  const [open, setOpen] = useState(false);
  return (
    <details class="iv-details" data-testid={testid} open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{title}</summary>
      {open && <div data-own-stops>{children}</div>}
    </details>
  );
}

function AboutStop({ number, place: at, stop, path }: PlacedStop): JSX.Element {
  const end = at === 0 ? "source" : at === path.stops.length - 1 ? "destination" : "";
  return (
    <>
      <header class="iv-card-head">
        <h2>
          Stop {number} · {stop.words}
        </h2>
        {end !== "" && <span class="iv-tag">{end}</span>}
      </header>
      <p class="iv-faint">
        {stop.where}
        {stop.emulated && ", emulated in main memory"}
      </p>
      <div class="iv-inspector-picture">
        <span class="iv-inspector-stop">
          <Thumbnail layout={stop.layout} size={120} block={byName(path.block)} path={path.stops.map((each) => each.layout)} />
        </span>
      </div>
      <p>
        <code class="iv-layout-text">{stop.pretty}</code>
      </p>
      <Facts>
        {stop.buffer === null ? (
          <Fact term="holds">the whole array</Fact>
        ) : (
          <>
            <Fact term={<Term name="buffer">buffer</Term>}>
              {stop.buffer.slots} × {formatBytes(stop.buffer.slotBytes)}
            </Fact>
            <Fact term={<Term name="chunk">chunk</Term>}>{formatBytes(path.chunkBytes)}</Fact>
          </>
        )}
        <Fact term="name">
          <code>{stop.memory}</code>
        </Fact>
      </Facts>
    </>
  );
}

function Facts({ children }: { children: ComponentChildren }): JSX.Element {
  return <dl class="iv-facts">{children}</dl>;
}

function Fact({ term, children }: { term: ComponentChildren; children: ComponentChildren }): JSX.Element {
  return (
    <div>
      <dt>{term}</dt>
      <dd>{children}</dd>
    </div>
  );
}
