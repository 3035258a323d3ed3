// A layout as text. What is typed stays as typed; a wavy line marks the character that is wrong.
import type { JSX } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import type { ShownProblem } from "#model/types.ts";

interface TextFieldProps {
  id: string;
  testid: string;
  label: string;
  text: string;
  problem: ShownProblem | null;
  problemId: string;
  onText: (text: string) => void;
  onFocus: () => void;
}

export function TextField(props: TextFieldProps): JSX.Element {
  const { text, problem } = props;
  const input = useRef<HTMLInputElement>(null);
  const mirror = useRef<HTMLDivElement>(null);
  const align = (): void => {
    if (mirror.current !== null && input.current !== null) mirror.current.scrollLeft = input.current.scrollLeft;
  };
  useLayoutEffect(align);
  // Characters beyond the basic plane are one place for the kernel and two for the browser.
  const chars = [...text];
  const at =
    problem === null || problem.position === null || problem.text !== text ? null : Math.min(problem.position, chars.length);
  const wrong = at === null ? "" : wordAt(chars.slice(at).join(""));
  return (
    <div class="iv-edit-text">
      <label for={props.id} class="iv-hidden">
        {props.label}
      </label>
      <input
        ref={input}
        id={props.id}
        type="text"
        class="iv-input iv-code"
        data-testid={props.testid}
        value={text}
        autocomplete="off"
        autocapitalize="off"
        spellcheck={false}
        aria-invalid={problem !== null}
        aria-describedby={problem !== null ? props.problemId : undefined}
        onInput={(event) => props.onText(event.currentTarget.value)}
        onScroll={align}
        onFocus={props.onFocus}
        onKeyUp={align}
      />
      {at !== null && (
        <div class="iv-edit-mirror" ref={mirror} aria-hidden="true" data-testid={`${props.testid}-mark`}>
          <span>{chars.slice(0, at).join("")}</span>
          {/* At the end of the text there is no character to mark: a space stands in for it. */}
          <mark>{wrong === "" ? "\u00a0" : wrong}</mark>
          <span>{chars.slice(at).join("").slice(wrong.length)}</span>
        </div>
      )}
    </div>
  );
}

/** What is marked of a text that begins with what is wrong: a name or a number as a whole, of other text its first character. */
export function wordAt(text: string): string {
  return /^[\p{L}\p{N}_]+/u.exec(text)?.[0] ?? [...text][0] ?? "";
}
