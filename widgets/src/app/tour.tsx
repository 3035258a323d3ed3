// The tour for somebody who is new here: a line of the bar that explains the controls below it, one after the other. It lies over
// nothing, notices what was done, and goes on when it is told to.
import "./tour.css";
import type { JSX, RefObject } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Button } from "#lib/button.tsx";
import { Icon } from "#lib/icon.tsx";
import { useId } from "#lib/use-id.ts";
import { usePlace } from "#model/selection.ts";
import { useView } from "#model/view.ts";
import { type Now, nowOf, steps } from "./tour-steps.ts";

/** The number of the step that is shown, -1 where there is none, and what goes to another one. */
export function useTour(): [number, (step: number) => void] {
  const { connection } = useView();
  const [chosen, choose] = useState<number | null>(null);
  // Whether there is a kernel tells its answer: the state of a saved notebook may still ask for the tour.
  useEffect(() => {
    if (connection.isNewcomer) connection.send({ kind: "hello" });
  }, []);
  const step = connection.gone ? -1 : (chosen ?? (connection.isNewcomer && connection.acknowledged > 0 ? 0 : -1));
  const go = (to: number): void => {
    choose(to);
    if (to < 0) connection.endTour();
  };
  return [step, go];
}

interface TourProps {
  /** `step` and `go` are what `useTour` gives. */
  step: number;
  go: (step: number) => void;
  screen: RefObject<HTMLElement | null>;
  /** Closes what lies over the controls, or has taken their place. */
  clear: () => void;
}

export function Tour({ step, go, screen, clear }: TourProps): JSX.Element | null {
  const view = useView();
  const [place] = usePlace();
  const id = useId();
  const before = useRef(-1);
  const shown = steps[step];
  const watched = useRef<{ step: number; first: Now; isDone: boolean } | null>(null);
  if (shown !== undefined) {
    const now = nowOf(view, place);
    if (watched.current?.step !== step) watched.current = { step, first: now, isDone: false };
    watched.current.isDone ||= shown.isDone(now, watched.current.first);
  } else watched.current = null;
  const isDone = watched.current?.isDone === true;

  const focus = (testid: string): void => screen.current?.querySelector<HTMLElement>(`[data-testid=${testid}]`)?.focus();
  const lead = (to: boolean): void => {
    clear();
    // It may not be drawn yet.
    requestAnimationFrame(() =>
      requestAnimationFrame(() => {
        const at = screen.current?.querySelector<HTMLElement>(shown?.at ?? "");
        at?.scrollIntoView({ block: "nearest" });
        if (to) (at?.matches("button") ? at : at?.querySelector<HTMLElement>("button"))?.focus({ preventScroll: true });
      }),
    );
  };
  useEffect(() => {
    const from = before.current;
    before.current = step;
    // A tour that begins by itself takes no focus, and scrolls nothing.
    if (step < 0 || from === step || (from < 0 && view.connection.isNewcomer)) return;
    if (from < 0) focus("tour-next");
    lead(false);
  }, [step]);
  if (shown === undefined) return null;
  const end = (): void => {
    focus("menu"); // where it can be begun again
    go(-1);
  };
  const last = step === steps.length - 1;
  return (
    <section
      class="iv-tour"
      id={id}
      data-toolbar
      data-no-picture
      data-testid="tour"
      data-step={step + 1}
      data-done={isDone}
      aria-label="Tour"
      onKeyDown={(event) => {
        if (event.key !== "Escape") return;
        event.preventDefault();
        event.stopPropagation();
        end();
      }}
    >
      <style>{`.iv-screen:has(#${id}) :is(${shown.at}){box-shadow:0 0 1px 3px var(--iv-accent);scroll-margin:var(--iv-under) 0 8px}`}</style>
      <div class="iv-tour-text">
        <p id={`${id}-text`} role="status">
          <b>
            {step + 1} of {steps.length} · {shown.title}.
          </b>{" "}
          {isDone && <Icon name="good" />} <Words text={isDone ? shown.told : shown.ask} />
        </p>
        {/* The line is as high as the longer one of both texts: nothing below moves when a step is done. */}
        <p aria-hidden="true">
          <b>
            {step + 1} of {steps.length} · {shown.title}.
          </b>{" "}
          <Words text={isDone ? shown.ask : shown.told} />
        </p>
      </div>
      <div class="iv-tour-buttons">
        <Button label="Go to it" quiet testid="tour-show" title="Go to the outlined control" onClick={() => lead(true)} />
        {step > 0 && <Button label="Back" testid="tour-back" onClick={() => go(step - 1)} />}
        <Button
          label={last ? "Finish" : "Next"}
          primary={isDone}
          testid="tour-next"
          describedBy={`${id}-text`}
          onClick={() => (last ? end() : go(step + 1))}
        />
        <Button label="End the tour" icon="remove" iconOnly testid="tour-end" title="End the tour (Escape)" onClick={end} />
      </div>
    </section>
  );
}

/** A text in which names of controls stand between asterisks. */
function Words({ text }: { text: string }): JSX.Element {
  return <>{text.split("*").map((part, place) => (place % 2 === 1 ? <b key={place}>{part}</b> : part))}</>;
}
