// The bar on top, always in sight: what moves, the sentence that leads, Run, undo and redo, the menu, and what is going on.
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Button } from "#lib/button.tsx";
import { Icon } from "#lib/icon.tsx";
import type { News } from "#model/exports.ts";
import type { TermName } from "#model/glossary.ts";
import { partWords } from "#model/part.ts";
import { statusText } from "#model/status.ts";
import type { PlanPart, ShownRun } from "#model/types.ts";
import { formatBytes, formatCount, formatRate, formatSeconds } from "#model/units.ts";
import { useView } from "#model/view.ts";
import { intervalAbout, intervalText, machineWords, meanOf, memoryWords, titleOf } from "#model/words.ts";
import { Errors } from "#views/controls/errors.tsx";
import { Term } from "#views/controls/term.tsx";
import { Leading } from "#views/journey/leading.tsx";
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
  /** Shows a tab of the dock. */
  openTab: (tab: string) => void;
  beginTour: () => void;
  /** The tour, where it goes on. */
  children: ComponentChildren;
}

export function Bar({ drawer, drawerOpen, turnDrawer, lead, openTab, beginTour, children }: BarProps): JSX.Element {
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
      <div class="iv-bar-head">
        <Title drawer={drawer} open={drawerOpen} turn={turnDrawer} />
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
          <Run />
        </span>
        <Leading openTab={openTab} />
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
  term?: TermName;
  value: (plan: PlanPart) => string;
}

/** What there is to know of a plan beside its sentence. */
const figures: readonly FigureValue[] = [
  { name: "throughput", title: "steady rate", term: "throughput", value: (plan) => formatRate(plan.throughput) },
  {
    name: "interval",
    title: "likely time",
    value: ({ interval, seconds, reuse }) => (interval === null || reuse > 1 ? "" : intervalText(seconds, interval)),
  },
  {
    name: "mean",
    title: "mean time",
    value: ({ seconds, again, reuse }) =>
      reuse > 1 ? `${formatSeconds(meanOf(seconds, again, reuse))} of ${formatCount(reuse)} starts` : "",
  },
  {
    name: "buffers",
    title: "buffers",
    term: "buffer",
    value: (plan) => (plan.buffers > 0 ? formatBytes(plan.bufferBytes) : "none"),
  },
  {
    name: "chunks",
    title: "chunks",
    term: "chunk",
    value: ({ paths }) => {
      const [only] = paths;
      return paths.length !== 1 || only === undefined ? "" : `${formatCount(only.chunks)} of ${formatBytes(only.chunkBytes)}`;
    },
  },
  { name: "planner", title: "planned", value: ({ planner }) => (planner === "by hand" ? planner : `by the planner ${planner}`) },
];

/** The figures of the plan: in the explorer they stand in a fold, on a page in sight. */
export function Figures(): JSX.Element | null {
  const { plan } = useView().snapshot.panes;
  if (plan === null) return null;
  return (
    <dl class="iv-figures" data-testid="figures">
      {figures.map(({ name, title, term, value }) => {
        const text = value(plan);
        const about = name === "interval" && plan.interval !== null ? intervalAbout(plan.seconds, plan.interval) : undefined;
        return (
          text !== "" && (
            <div key={name} class="iv-figure" data-testid={`figure-${name}`} title={about}>
              <dt>{term === undefined ? title : <Term name={term}>{title}</Term>}</dt>
              <dd>{text}</dd>
            </div>
          )
        );
      })}
    </dl>
  );
}

/** The button that runs the plan. Why it cannot run here, and what there is to do about it, is said once somebody is at it. */
function Run(): JSX.Element {
  const { snapshot, connection } = useView();
  const box = useRef<HTMLDivElement>(null);
  const [at, setAt] = useState(false);
  const run = snapshot.panes.run.now;
  const active = run.phase === "running" || run.phase === "cancelling";
  const blocked = run.reason !== "" && !active && !connection.gone && !connection.unanswered;
  useEffect(() => {
    if (!at) return;
    const away = (event: PointerEvent): void => {
      if (!(event.target instanceof Node) || box.current?.contains(event.target) !== true) setAt(false);
    };
    window.addEventListener("pointerdown", away, true);
    return () => window.removeEventListener("pointerdown", away, true);
  }, [at]);
  return (
    <div
      class="iv-run"
      ref={box}
      onFocusIn={() => setAt(true)}
      onClick={(event) => event.target instanceof Element && event.target.closest("[data-testid=run]") !== null && setAt(true)}
      onFocusOut={(event) => {
        if (!(event.relatedTarget instanceof Node) || box.current?.contains(event.relatedTarget) !== true) setAt(false);
      }}
      onKeyDown={(event) => {
        if (event.key !== "Escape" || !at || !blocked) return;
        event.stopPropagation();
        box.current?.querySelector<HTMLElement>("[data-testid=run]")?.focus();
        setAt(false);
      }}
    >
      <Button
        label={active ? "Running…" : "Run and measure"}
        icon="run"
        primary
        testid="run"
        disabled={!run.canRun || connection.gone}
        {...(blocked ? { describedBy: `${connection.client}-reason` } : {})}
        onClick={() => connection.send({ kind: "run" })}
      />
      {blocked && (
        <div class={at ? "iv-run-why" : "iv-hidden"} data-testid="run-why">
          <p id={`${connection.client}-reason`} data-testid="run-reason">
            {run.reason}
          </p>
          {at && <Offers offerEmulated={run.offerEmulated} offerLocal={run.offerLocal} />}
        </div>
      )}
    </div>
  );
}

/** What there is to do where a plan cannot run on this computer. */
function Offers({ offerEmulated, offerLocal }: Pick<ShownRun, "offerEmulated" | "offerLocal">): JSX.Element | null {
  const { connection } = useView();
  if (offerEmulated.length === 0 && !offerLocal) return null;
  return (
    <p class="iv-run-offers">
      {offerEmulated.length > 0 && (
        <Button
          label="Emulate here"
          quiet
          testid="use-emulated"
          title={`Main memory stands in for ${offerEmulated.join(", ")}: the bytes are real, the speed says nothing about the hardware.`}
          onClick={() =>
            connection.send({ kind: "edit-machine", edit: { do: "emulate", memories: [...offerEmulated], on: true } })
          }
        />
      )}
      {offerLocal && (
        <Button
          label="Plan the same on this computer"
          quiet
          testid="use-local"
          onClick={() => connection.send({ kind: "use-local" })}
        />
      )}
    </p>
  );
}

/** Small, below the sentence: where the plan runs, its figures, what is tried, and what is going on. */
function StatusRow({ lead }: Pick<BarProps, "lead">): JSX.Element {
  const { snapshot } = useView();
  const { plan } = snapshot.panes;
  return (
    <div class="iv-status-row">
      {plan !== null && !snapshot.faults.stale.includes("plan") && (
        <>
          <span class={`iv-where${plan.where === NOWHERE ? "" : " iv-where-here"}`} data-testid="figure-where">
            {plan.where === NOWHERE ? plan.where : `runs on ${plan.where}`}
          </span>
          <FiguresFold />
          <TriedFigure name="seconds" />
          <TriedFigure name="throughput" />
        </>
      )}
      <Status lead={lead} />
    </div>
  );
}

function Status({ lead }: Pick<BarProps, "lead">): JSX.Element {
  const { snapshot, connection } = useView();
  const { phase } = snapshot.panes.run.now;
  const busy = !connection.gone && (!snapshot.frame.settled || connection.waiting);
  const told = statusText(snapshot, connection);
  const wrong = Object.keys(snapshot.faults.problems).find((control) => control !== "transfer");
  return (
    <>
      <p class={`iv-status${busy ? " iv-busy" : ""}`} data-testid="status" role="status" aria-live="polite" title={told}>
        {told}
      </p>
      {wrong !== undefined && !connection.gone && (
        <Button
          label="Show it"
          quiet
          testid="show-problem"
          title="Go to the control that is to be corrected"
          onClick={() => lead(wrong)}
        />
      )}
      {(phase === "running" || phase === "cancelling") && <Progress />}
    </>
  );
}

/** The figures, over what is below while they are open. */
function FiguresFold(): JSX.Element {
  const box = useRef<HTMLDetailsElement>(null);
  const [open, setOpen] = useState(false);
  useEffect(() => {
    if (!open) return;
    const away = (event: PointerEvent): void => {
      if (!(event.target instanceof Node) || box.current?.contains(event.target) !== true) setOpen(false);
    };
    window.addEventListener("pointerdown", away, true);
    return () => window.removeEventListener("pointerdown", away, true);
  }, [open]);
  return (
    <details
      class="iv-figures-fold"
      data-testid="figures-fold"
      ref={box}
      open={open}
      onToggle={(event) => setOpen(event.currentTarget.open)}
      onKeyDown={(event) => {
        if (event.key !== "Escape" || !open) return;
        event.stopPropagation();
        setOpen(false);
        box.current?.querySelector<HTMLElement>("summary")?.focus();
      }}
    >
      <summary data-testid="figures-open">Figures</summary>
      <Figures />
    </details>
  );
}
