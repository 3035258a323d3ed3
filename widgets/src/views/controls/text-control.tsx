// A line of text, tied to a label, to its problem in words, and to the kernel through commands.
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { ProblemLine } from "#lib/error-line.tsx";
import { useId } from "#lib/use-id.ts";
import { type Draft, shown } from "#model/connection.ts";
import type { Command, ShownProblem } from "#model/types.ts";
import { useView } from "#model/view.ts";

interface TextProps {
  /** For tests and problems: `size-x`, `source-layout`. */
  name: string;
  label: ComponentChildren;
  hideLabel?: boolean;
  value: string;
  problem: ShownProblem | undefined;
  command: (value: string) => Command;
  /** Send when editing ends instead of with every key. */
  whenDone?: boolean;
  placeholder?: string;
  list?: string;
  code?: boolean;
  numeric?: boolean;
  testid?: string;
  title?: string;
  /** The problem is shown elsewhere, under this id. */
  problemId?: string;
  children?: ComponentChildren;
}

/** A line of text. What is being typed stays until the kernel has it. */
export function TextControl(props: TextProps): JSX.Element {
  const { connection } = useView();
  const [draft, setDraft] = useState<Draft | null>(null);
  const id = useId();
  const text = shown(draft, props.value, connection.acknowledged);
  const acknowledged = draft !== null && draft.number <= connection.acknowledged;
  useEffect(() => {
    // By now more may have been typed, which the kernel does not have yet.
    if (acknowledged) setDraft((now) => (now !== null && now.number <= connection.acknowledged ? null : now));
  }, [acknowledged]);

  const send = (value: string): void => {
    setDraft({ text: value, number: connection.send(props.command(value)) });
  };
  const finish = (): void => {
    if (draft !== null && draft.number === Infinity) send(draft.text);
  };
  const problemId = props.problemId ?? `${id}-problem`;
  return (
    <div class={`iv-control${props.hideLabel ? " iv-control-bare" : ""}`}>
      <label for={id} class={props.hideLabel ? "iv-hidden" : "iv-label"}>
        {props.label}
      </label>
      <input
        id={id}
        type="text"
        class={`iv-input${props.code ? " iv-code" : ""}${props.numeric ? " iv-numeric" : ""}`}
        data-testid={props.testid ?? props.name}
        value={text}
        placeholder={props.placeholder ?? ""}
        list={props.list}
        title={props.title}
        inputMode={props.numeric ? "numeric" : undefined}
        autocomplete="off"
        autocapitalize="off"
        spellcheck={false}
        aria-invalid={props.problem !== undefined}
        aria-describedby={props.problem !== undefined ? problemId : undefined}
        onInput={(event) => {
          const value = event.currentTarget.value;
          if (props.whenDone) setDraft({ text: value, number: Infinity });
          else send(value);
        }}
        onBlur={finish}
        onKeyDown={(event) => {
          if (event.key === "Enter") finish();
          if (event.key === "Escape" && draft?.number === Infinity) {
            event.stopPropagation(); // what is around it stays open
            setDraft(null);
          }
        }}
      />
      {props.children}
      {props.problemId === undefined && <ProblemLine id={problemId} name={props.name} problem={props.problem} />}
    </div>
  );
}
