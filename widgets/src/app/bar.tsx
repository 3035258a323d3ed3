// The bar on top, always in sight: what moves, the plan in figures, Run, undo and redo, the menu, and what is going on.
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Button } from "#lib/button.tsx";
import { Icon } from "#lib/icon.tsx";
import type { News } from "#model/exports.ts";
import type { TermName } from "#model/glossary.ts";
import { measuredOf } from "#model/measured.ts";
import { partWords } from "#model/part.ts";
import { statusText } from "#model/status.ts";
import type { PlanPart } from "#model/types.ts";
import { formatBytes, formatCount, formatRate, formatSeconds } from "#model/units.ts";
import { useView } from "#model/view.ts";
import { intervalAbout, intervalText, machineWords, meanOf, memoryWords, titleOf } from "#model/words.ts";
import { Errors } from "#views/controls/errors.tsx";
import { Term } from "#views/controls/term.tsx";
import { TriedFigure } from "#views/plan/tried-marks.tsx";
import { Progress } from "#views/runs/progress.tsx";
import { Menu } from "./menu.tsx";

/** Milliseconds for which good news stays. */
const GOOD_NEWS = 4000;
/** Where plans do not run. */
const NOWHERE = "simulated only";

interface BarProps {
  drawer: string;
  drawerOpen: boolean;
  turnDrawer: () => void;
  /** Shows the control of that name, and what is wrong with it. */
  lead: (control: string) => void;
  beginTour: () => void;
  /** The tour, where it goes on. */
  children: ComponentChildren;
}

export function Bar({ drawer, drawerOpen, turnDrawer, lead, beginTour, children }: BarProps): JSX.Element {
  const { snapshot, connection } = useView();
  const [news, setNews] = useState<News | null>(null);
  useEffect(() => {
    if (news === null || !news.good) return;
    const timer = setTimeout(() => setNews(null), GOOD_NEWS);
    return () => clearTimeout(timer);
  }, [news]);
  const { frame } = snapshot;
  return (
    <div class="iv-bar" data-toolbar>
      <div class="iv-bar-row">
        <Title drawer={drawer} open={drawerOpen} turn={turnDrawer} />
        <Figures />
        <div class="iv-bar-buttons">
          <Button
            label="Undo"
            icon="undo"
            iconOnly
            testid="undo"
            title="Undo (Ctrl+Z)"
            disabled={!frame.canUndo || connection.gone}
            onClick={() => connection.send({ kind: "undo" })}
          />
          <Button
            label="Redo"
            icon="redo"
            iconOnly
            testid="redo"
            title="Redo (Shift+Ctrl+Z)"
            disabled={!frame.canRedo || connection.gone}
            onClick={() => connection.send({ kind: "redo" })}
          />
          <Menu tell={setNews} beginTour={beginTour} />
        </div>
        <span class="iv-own-stop" data-own-stops>
          <RunButton />
        </span>
      </div>
      <StatusRow lead={lead} />
      {children}
      <div class="iv-told">
        <Errors runs />
        <div role="status" aria-live="polite" data-testid="toast">
          {news !== null && (
            <p class={news.good ? "iv-toast iv-toast-good" : "iv-toast iv-toast-bad"}>
              <Icon name={news.good ? "good" : "bad"} />
              <span>{news.text}</span>
              <Button label="Close" icon="remove" iconOnly onClick={() => setNews(null)} />
            </p>
          )}
        </div>
      </div>
    </div>
  );
}

function Title({ drawer, open, turn }: { drawer: string; open: boolean; turn: () => void }): JSX.Element {
  const { snapshot, connection } = useView();
  const { settings } = connection;
  const { memories } = snapshot.menus;
  const [from, to] = [memoryWords(memories, settings.source.memory), memoryWords(memories, settings.destination.memory)];
  const part = partWords(settings);
  const sub = `${part === "" ? "" : `moves ${part} · `}${machineWords(settings.machine)} · ${from} → ${to}`;
  const problems = Object.keys(snapshot.faults.problems).filter((name) => !/^(source|destination|transfer)/.test(name));
  return (
    <button
      type="button"
      class="iv-title"
      data-testid="title"
      aria-expanded={open}
      aria-controls={open ? drawer : undefined}
      title={`${titleOf(settings)}\n${sub}\nChange the array, the machine and the planner`}
      onClick={turn}
    >
      <span class="iv-title-text">
        <b>{titleOf(settings)}</b>
        <span class={problems.length > 0 ? "iv-title-wrong" : "iv-faint"} title={sub}>
          {problems.length > 0 ? "Something here needs correction" : sub}
        </span>
      </span>
      <Icon name="settings" />
    </button>
  );
}

interface FigureValue {
  name: string;
  title: string;
  term: TermName;
  value: (plan: PlanPart) => string;
  beside?: (plan: PlanPart) => ComponentChildren;
}

const figures: readonly FigureValue[] = [
  { name: "bytes", title: "moves", term: "payload", value: (plan) => formatBytes(plan.bytes) },
  {
    name: "seconds",
    title: "time",
    term: "predicted time",
    value: (plan) => formatSeconds(plan.seconds),
    beside: ({ interval, seconds, again, reuse }) => (
      <>
        {interval !== null && reuse === 1 && (
          <span class="iv-figure-beside" data-testid="figure-interval" title={intervalAbout(seconds, interval)}>
            {intervalText(seconds, interval)}
          </span>
        )}
        {reuse > 1 && (
          <span
            class="iv-figure-beside"
            data-testid="figure-again"
            title={`The first of ${formatCount(reuse)} starts takes ${formatSeconds(seconds)}, every later one ${formatSeconds(again)}: ${formatSeconds(meanOf(seconds, again, reuse))} in the mean`}
          >
            then {formatSeconds(again)}
          </span>
        )}
      </>
    ),
  },
  { name: "throughput", title: "steady rate", term: "throughput", value: (plan) => formatRate(plan.throughput) },
  {
    name: "buffers",
    title: "buffers",
    term: "buffer",
    value: (plan) => (plan.buffers > 0 ? formatBytes(plan.bufferBytes) : "none"),
  },
];

export function Figures(): JSX.Element {
  const { snapshot } = useView();
  const { plan } = snapshot.panes;
  const stale = snapshot.faults.stale.includes("plan");
  return (
    <dl class={`iv-figures${stale ? " iv-stale" : ""}`} data-testid="figures">
      {figures.map((figure) => (
        <div key={figure.name} class={`iv-figure iv-figure-${figure.name}`} data-testid={`figure-${figure.name}`}>
          <dt>
            <Term name={figure.term}>{figure.title}</Term>
            {plan !== null && figure.beside?.(plan)}
            {figure.name === "seconds" && <MeasuredTime />}
            <TriedFigure name={figure.name} />
          </dt>
          <dd>{plan === null ? "–" : figure.value(plan)}</dd>
        </div>
      ))}
    </dl>
  );
}

/** What the last run of this plan took. */
function MeasuredTime(): JSX.Element | null {
  const measured = measuredOf(useView().snapshot);
  if (measured === null || measured.emulated) return null;
  return (
    <span class="iv-figure-beside iv-figure-measured" data-testid="figure-measured" title={`Run ${measured.run}`}>
      {measured.tried !== null && `${formatSeconds(measured.tried)} after the trial, `}
      {formatSeconds(measured.seconds)} measured
    </span>
  );
}

function RunButton(): JSX.Element {
  const { snapshot, connection } = useView();
  const run = snapshot.panes.run.now;
  const active = run.phase === "running" || run.phase === "cancelling";
  return (
    <Button
      label={active ? "Running…" : "Run and measure"}
      icon="run"
      primary
      testid="run"
      disabled={!run.canRun || connection.gone}
      {...(run.reason !== "" ? { describedBy: `${connection.client}-reason` } : {})}
      onClick={() => connection.send({ kind: "run" })}
    />
  );
}

/** What is going on, and beside it what there is to do about it. */
function StatusRow({ lead }: Pick<BarProps, "lead">): JSX.Element {
  const { snapshot, connection } = useView();
  const { plan } = snapshot.panes;
  const run = snapshot.panes.run.now;
  const busy = !connection.gone && (!snapshot.frame.settled || connection.waiting);
  const active = run.phase === "running" || run.phase === "cancelling";
  const told = statusText(snapshot, connection);
  const wrong = Object.keys(snapshot.faults.problems).find((control) => control !== "transfer");
  const lost = connection.gone || connection.unanswered;
  return (
    <div class="iv-bar-row iv-status-row">
      {plan !== null && !snapshot.faults.stale.includes("plan") && (
        <span class={`iv-where${plan.where === NOWHERE ? "" : " iv-where-here"}`} data-testid="figure-where">
          {plan.where === NOWHERE ? plan.where : `runs on ${plan.where}`}
        </span>
      )}
      <p class={`iv-status${busy ? " iv-busy" : ""}`} data-testid="status" role="status" aria-live="polite" title={told}>
        {told}
      </p>
      {active ? (
        <Progress />
      ) : (
        run.reason !== "" &&
        !lost && (
          <p class="iv-reason">
            <span id={`${connection.client}-reason`} data-testid="run-reason" title={run.reason}>
              {run.reason}
            </span>
            {wrong !== undefined && (
              <Button
                label="Show it"
                quiet
                testid="show-problem"
                title="Go to the control that is to be corrected"
                onClick={() => lead(wrong)}
              />
            )}
            {run.offerEmulated.length > 0 && (
              <Button
                label="Emulate here"
                quiet
                testid="use-emulated"
                title={`Main memory stands in for ${run.offerEmulated.join(", ")}: the bytes are real, the speed says nothing about the hardware.`}
                onClick={() =>
                  connection.send({ kind: "edit-machine", edit: { do: "emulate", memories: [...run.offerEmulated], on: true } })
                }
              />
            )}
            {run.offerLocal && (
              <Button
                label="Plan the same on this computer"
                quiet
                testid="use-local"
                onClick={() => connection.send({ kind: "use-local" })}
              />
            )}
          </p>
        )
      )}
    </div>
  );
}
