// What is wrong, in words.
import type { ComponentChildren, JSX } from "preact";
import type { ShownProblem } from "../types.ts";

interface ErrorLineProps {
  /** For tests: `error-` and this. */
  name: string;
  id?: string;
  /** Not a fault but something that a person did: said without red. */
  calm?: boolean;
  children: ComponentChildren;
}

export function ErrorLine({ name, id, calm, children }: ErrorLineProps): JSX.Element {
  return (
    <div class={calm ? "iv-reason" : "iv-problem"} id={id} data-testid={`error-${name}`} role="alert">
      {children}
    </div>
  );
}

/** The problem of a control, with a caret below the character that causes it where there is one. */
export function ProblemLine({ name, id, problem }: { name: string; id?: string; problem: ShownProblem | undefined }): JSX.Element | null {
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
