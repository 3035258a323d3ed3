// What is wrong, in words.
import type { ComponentChildren, JSX, RefObject } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { Button } from "./button.tsx";

/** For an element that says what is wrong with the text beside it. It is seen where the text is typed, also at the edge of the window. */
export function useSeen<T extends HTMLElement>(): RefObject<T | null> {
  const element = useRef<T>(null);
  const last = useRef("");
  useEffect(() => {
    const said = element.current?.textContent ?? "";
    const typing = document.activeElement;
    const beside =
      typing instanceof HTMLInputElement &&
      (element.current?.closest("[role=group]") ?? element.current?.parentElement)?.contains(typing) === true;
    if (said !== "" && said !== last.current && beside) element.current?.scrollIntoView({ block: "nearest" });
    last.current = said;
  });
  return element;
}

interface ErrorLineProps {
  /** For tests: `error-` and this. */
  name: string;
  id?: string;
  /** Not a fault but something that a person did: said without red. */
  calm?: boolean;
  /** Takes it off the screen: for what lies over something else. */
  close?: () => void;
  children: ComponentChildren;
}

export function ErrorLine({ name, id, calm, close, children }: ErrorLineProps): JSX.Element {
  const looks = `${calm ? "iv-reason" : "iv-problem"}${close === undefined ? "" : " iv-closable"}`;
  const line = useSeen<HTMLDivElement>();
  return (
    <div ref={line} class={looks} id={id} data-testid={`error-${name}`} role="alert">
      {close === undefined ? children : <div>{children}</div>}
      {close !== undefined && <Button label="Close" icon="remove" iconOnly onClick={close} />}
    </div>
  );
}

/** What is wrong with a text, and at which of its characters where that is known. */
interface TextProblem {
  message: string;
  text: string | null;
  position: number | null;
}

/** The problem of a control, with a caret below the character that causes it where there is one. */
export function ProblemLine({
  name,
  id,
  problem,
}: {
  name: string;
  id?: string;
  problem: TextProblem | undefined;
}): JSX.Element | null {
  if (problem === undefined) return null;
  return (
    <ErrorLine name={name} {...(id === undefined ? {} : { id })}>
      {problem.text !== null && problem.position !== null && problem.text.trim() !== "" && (
        <pre class="iv-caret" aria-hidden="true">
          {caret(problem.text, problem.position)}
        </pre>
      )}
      <span>{problem.message}</span>
    </ErrorLine>
  );
}

/** The text up to an offending character and a caret below it, as two lines. */
export function caret(text: string, position: number): string {
  // Characters beyond the basic plane are one place for the kernel and two for the browser.
  const before = [...text].slice(0, position);
  return `${text}\n${" ".repeat(before.length)}^`;
}
