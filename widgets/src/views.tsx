// What follows from the choices: the answer, both plots, the path, the plan, runs.
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { BokehPlot } from "./bokeh.tsx";
import { Button, Icon, keys, useView } from "./controls.tsx";
import { swatch } from "./panel.tsx";
import type { End, Report, Side } from "./types.ts";

function Card(props: {
  title: ComponentChildren;
  testid?: string;
  stale?: boolean;
  actions?: ComponentChildren;
  children: ComponentChildren;
}): JSX.Element {
  return (
    <section class={`iv-card${props.stale ? " iv-stale" : ""}`} data-testid={props.testid} data-stale={props.stale ? "true" : "false"}>
      <header class="iv-card-head">
        <h2>{props.title}</h2>
        {props.actions}
      </header>
      {props.children}
    </section>
  );
}

/** A picture drawn by the kernel; it is replaced in one step, so that nothing flickers. */
function Picture({ name, testid }: { name: string; testid?: string }): JSX.Element {
  const { connection } = useView();
  const svg = connection.pictures[name] ?? "";
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    // What is wider than its place scrolls, by keyboard too.
    const element = box.current;
    if (element !== null && element.scrollWidth > element.clientWidth) element.tabIndex = 0;
    else element?.removeAttribute("tabindex");
  });
  return <div {...keys} class="iv-picture" data-testid={testid} ref={box} dangerouslySetInnerHTML={{ __html: svg }} />;
}

export function Answer(): JSX.Element {
  const { snapshot, connection } = useView();
  const { plan, run, stale } = snapshot;
  const old = stale.includes("plan");
  const active = run.phase === "running" || run.phase === "cancelling";
  return (
    <div class="iv-answer">
      <div class={`iv-figures${old ? " iv-stale" : ""}`} role="group" aria-label="The plan in figures">
        {(plan?.figures ?? []).map((figure) => (
          <div key={figure.name} data-testid={`figure-${figure.name}`}>
            <span class="iv-figure-title">{figure.title}</span>
            <span class="iv-figure-value">{figure.value}</span>
          </div>
        ))}
        {plan === null && <p class="iv-faint">{snapshot.step === "" ? "No plan yet." : `${snapshot.step}…`}</p>}
      </div>
      <div class="iv-run">
        <Button
          label={active ? "Running…" : "Run and measure"}
          icon="run"
          primary
          testid="run"
          disabled={!run.canRun || connection.gone}
          {...(run.reason !== "" ? { describedBy: `${connection.client}-reason` } : {})}
          onClick={() => connection.send({ kind: "run" })}
        />
        {run.reason !== "" && (
          <p class="iv-reason" id={`${connection.client}-reason`} data-testid="run-reason">
            {run.reason}
          </p>
        )}
        {run.offerLocal && (
          <Button
            label="Plan the same on this computer"
            testid="use-local"
            onClick={() => connection.send({ kind: "use-local" })}
          />
        )}
      </div>
    </div>
  );
}

export function Plots(): JSX.Element {
  return (
    <div class="iv-plots">
      <Plot side="source" />
      <Plot side="destination" />
    </div>
  );
}

function Plot({ side }: { side: Side }): JSX.Element {
  const { snapshot } = useView();
  const [zoom, setZoom] = useState(false);
  const end = snapshot.ends[side];
  const title = side === "source" ? "Source" : "Destination";
  return (
    <Card
      title={
        <>
          {title} <code>{end?.pretty ?? ""}</code>
        </>
      }
      stale={snapshot.stale.includes(side)}
      actions={
        end !== null && (
          <Button
            label={zoom ? "Plain picture" : "Zoom and hover"}
            icon="zoom"
            iconOnly
            pressed={zoom}
            testid={`zoom-${side}`}
            onClick={() => setZoom(!zoom)}
          />
        )
      }
    >
      <div class="iv-plot" data-testid={`plot-${side}`}>
        {zoom ? <BokehPlot side={side} /> : <Picture name={side} />}
      </div>
      {end !== null && (
        <>
          <pre class="iv-numpy" title="The NumPy array whose bytes lie in this order, and how an element is reached">
            {end.numpy}
          </pre>
          <DigitTable end={end} />
        </>
      )}
    </Card>
  );
}

function DigitTable({ end }: { end: End }): JSX.Element {
  const { snapshot } = useView();
  return (
    <details class="iv-details">
      <summary {...keys}>
        {end.size}
        {end.note !== "" && <>, {end.note}</>}: strides
      </summary>
      <div class="iv-scroll">
        <table class="iv-table">
          <caption class="iv-hidden">Components of {end.pretty}, fastest first</caption>
          <thead>
            <tr>
              <th scope="col">Component</th>
              <th scope="col" class="iv-number">
                Extent
              </th>
              <th scope="col" class="iv-number">
                Step
              </th>
              <th scope="col" class="iv-number">
                Stride in bytes
              </th>
            </tr>
          </thead>
          <tbody>
            {end.digits.map((digit) => (
              <tr key={digit.component}>
                <th scope="row">
                  <span class="iv-swatch" style={swatch(snapshot.palette, digit.dim)} aria-hidden="true" /> <code>{digit.component}</code>
                </th>
                <td class="iv-number">{digit.extent}</td>
                <td class="iv-number">{digit.step}</td>
                <td class="iv-number">{digit.stride}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </details>
  );
}

export function PlanCards(): JSX.Element | null {
  const { snapshot, connection } = useView();
  const { plan } = snapshot;
  if (plan === null) return null;
  const stale = snapshot.stale.includes("plan");
  return (
    <>
      <Card title="Path" stale={stale}>
        <Picture name="path" testid="path" />
      </Card>
      <Card title={`Plan, hop by hop (${plan.planner})`} stale={stale} testid="plan">
        <div class="iv-scroll" tabIndex={0} {...keys} role="region" aria-label="Plan, hop by hop">
          <table class="iv-table">
            <thead>
              <tr>
                <th scope="col">Channel</th>
                <th scope="col">From</th>
                <th scope="col">To</th>
                <th scope="col" class="iv-number">
                  Run
                </th>
                <th scope="col" class="iv-number">
                  Shuffle
                </th>
                <th scope="col" class="iv-number">
                  Predicted
                </th>
              </tr>
            </thead>
            <tbody>
              {plan.hops.map((hop, index) => (
                <tr key={index} class={hop.bottleneck ? "iv-bottleneck" : ""}>
                  <th scope="row">
                    {hop.index} {hop.kind}
                    {hop.bottleneck && <span class="iv-tag">slowest hop</span>}
                  </th>
                  <td>
                    {hop.source}
                    <br />
                    <code>{hop.sourceLayout}</code>
                  </td>
                  <td>
                    {hop.destination}
                    <br />
                    <code>{hop.destinationLayout}</code>
                  </td>
                  <td class="iv-number">{hop.run}</td>
                  <td class="iv-number">{hop.shuffle}</td>
                  <td class="iv-number">{hop.rate}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
        {plan.notes.length > 0 && (
          <ul class="iv-notes">
            {plan.notes.map((note) => (
              <li key={note}>{note}</li>
            ))}
          </ul>
        )}
      </Card>
      {(connection.pictures["throughput"] ?? "") !== "" && (
        <Card title="Throughput of the channels, and where this plan works on them" stale={stale}>
          <Picture name="throughput" testid="throughput" />
        </Card>
      )}
    </>
  );
}

export function Runs(): JSX.Element | null {
  const { snapshot, connection } = useView();
  const { run, report, history } = snapshot;
  if (run.number === 0) return null;
  const active = run.phase === "running" || run.phase === "cancelling";
  const percent = Math.round(run.fraction * 100);
  return (
    <Card
      title={`Run ${run.number}`}
      actions={
        active && (
          <Button
            label="Cancel"
            icon="stop"
            testid="cancel"
            disabled={run.phase === "cancelling"}
            onClick={() => connection.send({ kind: "cancel" })}
          />
        )
      }
    >
      <p class="iv-transfer">
        <code>{run.transfer}</code>
      </p>
      {active && (
        <div class="iv-progress-line">
          <progress data-testid="progress" max={100} value={percent} aria-label={`Run ${run.number}`} />
          <span class="iv-number">{percent} %</span>
          <span class="iv-faint">{run.text}</span>
        </div>
      )}
      {(run.phase === "failed" || run.phase === "cancelled") && (
        <p class={run.phase === "failed" ? "iv-problem" : "iv-reason"} data-testid="error-run" role="alert">
          {run.error}
        </p>
      )}
      {report !== null && !active && run.phase === "done" && <ReportView report={report} />}
      {history.length > 1 && <History />}
    </Card>
  );
}

export function Badge({ verified, verdict }: { verified: boolean | null; verdict: string }): JSX.Element {
  const kind = verified === true ? "good" : verified === false ? "bad" : "none";
  return (
    <span class={`iv-badge iv-badge-${kind}`} data-testid="verified" data-verified={String(verified)}>
      {verified !== null && <Icon name={kind} />}
      {verdict}
    </span>
  );
}

function ReportView({ report }: { report: Report }): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    // The report came because somebody asked for it: bring it into view where it is not.
    box.current?.scrollIntoView({ block: "nearest" });
  }, [report.number]);
  return (
    <div data-testid="report" ref={box}>
      <p class="iv-verdict">
        <Badge verified={report.verified} verdict={report.verdict} />
        <span>
          <b>{report.seconds}</b> measured, {report.predictedSeconds} predicted
        </span>
      </p>
      <div class="iv-scroll">
        <table class="iv-table iv-report">
          <caption class="iv-hidden">Predicted and measured throughput, overall and for every hop</caption>
          <thead>
            <tr>
              <th scope="col">Hop</th>
              <th scope="col" class="iv-number">
                Predicted
              </th>
              <th scope="col" class="iv-number">
                Measured
              </th>
              <th scope="col" class="iv-bars-head">
                <span class="iv-key iv-key-predicted" aria-hidden="true" /> predicted{" "}
                <span class="iv-key iv-key-measured" aria-hidden="true" /> measured
              </th>
              <th scope="col" class="iv-number">
                Measured ÷ predicted
              </th>
            </tr>
          </thead>
          <tbody>
            {report.rows.map((row) => (
              <tr key={row.name}>
                <th scope="row" title={row.name}>
                  {row.title}
                </th>
                <td class="iv-number">{row.predicted}</td>
                <td class="iv-number">{row.measured}</td>
                <td aria-hidden="true" class="iv-bars">
                  <span class="iv-bar iv-bar-predicted" style={{ width: `${row.predictedShare * 100}%` }} />
                  <span class="iv-bar iv-bar-measured" style={{ width: `${row.measuredShare * 100}%` }} />
                </td>
                <td class="iv-number">{row.ratio}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {report.notes.length > 0 && (
        <ul class="iv-notes">
          {report.notes.map((note) => (
            <li key={note}>{note}</li>
          ))}
        </ul>
      )}
    </div>
  );
}

function History(): JSX.Element {
  const { snapshot, connection } = useView();
  return (
    <details class="iv-details" data-testid="history">
      <summary {...keys}>All {snapshot.history.length} runs</summary>
      <div class="iv-scroll">
        <table class="iv-table">
          <thead>
            <tr>
              <th scope="col">Run</th>
              <th scope="col">Transfer</th>
              <th scope="col" class="iv-number">
                Size
              </th>
              <th scope="col" class="iv-number">
                Predicted
              </th>
              <th scope="col" class="iv-number">
                Measured
              </th>
              <th scope="col">Outcome</th>
            </tr>
          </thead>
          <tbody>
            {snapshot.history.map((run) => (
              <tr key={run.number}>
                <th scope="row">{run.number}</th>
                <td>
                  <code>{run.transfer}</code>
                </td>
                <td class="iv-number">{run.bytes}</td>
                <td class="iv-number">{run.predicted}</td>
                <td class="iv-number">{run.measured}</td>
                <td>{run.outcome}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <Button label="Forget these runs" onClick={() => connection.send({ kind: "forget" })} />
    </details>
  );
}
