// The simulation step by step: what happened, and what the scheduler answers.
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Button } from "#lib/button.tsx";
import { useSelection } from "#model/selection.ts";
import { requestOf } from "#model/trace/find-request.ts";
import type { TraceData } from "#model/trace/trace-data.ts";
import type { TraceStep } from "#model/types.ts";
import { formatCount } from "#model/units.ts";
import { useView } from "#model/view.ts";
import { Term } from "#views/controls/term.tsx";
import { momentText } from "./span.ts";

interface Known {
  /** The steps that have come, by number. */
  readonly steps: readonly TraceStep[];
  readonly more: boolean;
  readonly error: string;
}

const NOTHING: Known = { steps: [], more: true, error: "" };

interface StepsProps {
  trace: TraceData;
  /** Told of the requests that a step is about. */
  mark: (requests: readonly number[]) => void;
}

export function Steps({ trace, mark }: StepsProps): JSX.Element {
  const { connection } = useView();
  const [, select] = useSelection();
  const [known, setKnown] = useState(NOTHING);
  const [at, setAt] = useState(0);
  const asking = useRef(false);
  const box = useRef<HTMLElement>(null);
  // It is opened by a button that stands above the picture: its own buttons come into sight.
  useEffect(() => box.current?.scrollIntoView({ block: "nearest" }), []);
  const ask = (first: number): void => {
    if (asking.current) return;
    asking.current = true;
    void connection.ask({ kind: "steps", first }).then(({ message, error }) => {
      asking.current = false;
      if (message?.kind !== "steps" || message.error !== "")
        setKnown((before) => ({ ...before, more: false, error: error || "The steps did not come." }));
      else if (message.id === trace.id)
        setKnown((before) => ({ steps: [...before.steps.slice(0, first), ...message.steps], more: message.more, error: "" }));
    });
  };
  useEffect(() => {
    setKnown(NOTHING);
    setAt(0);
    asking.current = false;
    ask(0);
    return () => mark([]);
  }, [trace.id]);
  const step = known.steps[at];
  useEffect(() => {
    if (step === undefined) return;
    const about = [...(step.ended === null ? [] : [step.ended]), ...step.begun];
    mark(about.map((each) => requestOf(trace, each)).filter((request) => request !== null));
    select({ time: step.seconds });
  }, [step]);
  const go = (to: number): void => {
    // A step that has not come yet is shown as soon as it is there.
    const next = Math.max(0, Math.min(to, known.more ? known.steps.length : known.steps.length - 1));
    setAt(next);
    if (next >= known.steps.length - 2 && known.more) ask(known.steps.length);
  };
  const last = known.steps.length - 1;
  return (
    <section ref={box} class="iv-tl-steps" aria-label="Step by step" data-testid="timeline-steps">
      <div class="iv-tl-steps-head">
        <Button label="First step" testid="step-first" disabled={at === 0} onClick={() => go(0)} />
        <Button label="Back" testid="step-back" disabled={at === 0} onClick={() => go(at - 1)} />
        <Button
          label="Next"
          testid="step-next"
          primary
          disabled={step === undefined || (at >= last && !known.more)}
          onClick={() => go(at + 1)}
        />
        <b data-testid="step-number">
          Step {formatCount(at + 1)}
          {known.more ? "" : ` of ${formatCount(known.steps.length)}`}
        </b>
        {step !== undefined && <span class="iv-faint">at {momentText(step.seconds, trace.seconds / 1e5)}</span>}
      </div>
      <div aria-live="polite">
        {step === undefined ? (
          <p class="iv-faint">{known.error || "Simulating step by step…"}</p>
        ) : (
          <>
            <p data-testid="step-stimulus">{step.stimulus}</p>
            <p class="iv-faint">
              The <Term name="scheduler" /> answers:
            </p>
            <ul class="iv-notes" data-testid="step-answers">
              {step.answers.map((answer, place) => (
                <li key={place}>{answer}</li>
              ))}
            </ul>
          </>
        )}
      </div>
    </section>
  );
}
