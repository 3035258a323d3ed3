// A line of text that edits the machine when it is finished: by Enter, or by leaving it. What was refused stays, with the reason.
import { type ComponentChildren, createContext, type JSX } from "preact";
import { useContext, useEffect, useRef, useState } from "preact/hooks";
import { ErrorLine } from "#lib/error-line.tsx";
import { useId } from "#lib/use-id.ts";
import { GIVEN } from "#model/fixed.ts";
import type { MachineEdit } from "#model/types.ts";
import { Term } from "#views/controls/term.tsx";
import { useEditing } from "./edits.ts";

interface FieldProps {
  /** For tests and refusals. */
  name: string;
  label: ComponentChildren;
  value: string;
  edit: (value: string) => MachineEdit;
  hideLabel?: boolean;
  placeholder?: string;
  title?: string;
  /** Takes the focus with all of its text selected. */
  eager?: boolean;
  /** Called when editing ends, done or not. */
  ended?: () => void;
}

/** Whether the part whose controls these are was given, and stays. */
export const GivenContext = createContext(false);

/** Says so above the controls of a part that was given. */
export function GivenLine(): JSX.Element | null {
  return useContext(GivenContext) ? (
    <p class="iv-faint" data-testid="given">
      {GIVEN}.
    </p>
  ) : null;
}

export function Field(props: FieldProps): JSX.Element {
  const editing = useEditing();
  const given = useContext(GivenContext);
  const [draft, setDraft] = useState<{ text: string; number: number } | null>(null);
  const input = useRef<HTMLInputElement>(null);
  /** What was sent last: leaving the text after Enter sends nothing again. */
  const sent = useRef<string | null>(null);
  const id = useId();
  const problem = editing.problem(props.name);
  const answered = draft !== null && editing.answered(draft.number);
  useEffect(() => {
    // By now more may have been typed.
    if (answered && problem === "") setDraft((now) => (now !== null && editing.answered(now.number) ? null : now));
  }, [answered, problem]);
  useEffect(() => {
    if (props.eager) input.current?.select();
  }, []);
  const finish = (text: string): void => {
    if (given || sent.current === text) return;
    sent.current = text;
    if (text === props.value) setDraft(null);
    else setDraft({ text, number: editing.send(props.name, props.edit(text)) });
  };
  return (
    <div class={`iv-control${props.hideLabel ? " iv-control-bare" : ""}`}>
      <label for={id} class={props.hideLabel ? "iv-hidden" : "iv-label"}>
        {props.label}
      </label>
      <input
        id={id}
        ref={input}
        type="text"
        class="iv-input"
        data-testid={props.name}
        value={draft?.text ?? props.value}
        placeholder={props.placeholder ?? ""}
        title={given ? GIVEN : props.title}
        readOnly={given}
        autocomplete="off"
        spellcheck={false}
        aria-invalid={problem !== ""}
        aria-describedby={problem === "" ? undefined : `${id}-problem`}
        onInput={(event) => {
          sent.current = null;
          setDraft({ text: event.currentTarget.value, number: Infinity });
        }}
        onBlur={(event) => {
          finish(event.currentTarget.value);
          props.ended?.();
        }}
        onKeyDown={(event) => {
          if (event.key === "Enter") {
            finish(event.currentTarget.value);
            props.ended?.();
          } else if (event.key === "Escape") {
            event.stopPropagation();
            event.currentTarget.value = sent.current = props.value;
            setDraft(null);
            props.ended?.();
          } else if (!event.ctrlKey && !event.metaKey) event.stopPropagation(); // keys of the canvas are letters in a text
        }}
      />
      {problem !== "" && (
        <ErrorLine name={props.name} id={`${id}-problem`}>
          {problem}
        </ErrorLine>
      )}
    </div>
  );
}

/** The boxes that a part lies in, as one text. */
export function WithinField({
  name,
  within,
  edit,
}: Pick<FieldProps, "name" | "edit"> & { within: readonly string[] }): JSX.Element {
  return (
    <Field
      name={name}
      label={<Term name="box">Lies in</Term>}
      value={within.join(" / ")}
      edit={edit}
      placeholder="socket 0 / GPU 1"
      title="Boxes in the node, the outermost first, with a slash between them"
    />
  );
}

interface ChoiceProps {
  name: string;
  label: ComponentChildren;
  value: string;
  choices: readonly { name: string; title: string }[];
  choose: (value: string) => void;
  prompt?: string;
  hideLabel?: boolean;
}

/** One of several, chosen at once. */
export function Choice({ name, label, value, choices, choose, prompt, hideLabel }: ChoiceProps): JSX.Element {
  const editing = useEditing();
  const given = useContext(GivenContext);
  const id = useId();
  const problem = editing.problem(name);
  return (
    <div class={`iv-control${hideLabel ? " iv-control-bare" : ""}`}>
      <label for={id} class={hideLabel ? "iv-hidden" : "iv-label"}>
        {label}
      </label>
      <span class="iv-select">
        <select
          id={id}
          class="iv-input"
          data-testid={name}
          value={value}
          disabled={given}
          title={given ? GIVEN : undefined}
          aria-invalid={problem !== ""}
          aria-describedby={problem === "" ? undefined : `${id}-problem`}
          onChange={(event) => {
            const chosen = event.currentTarget.value;
            if (prompt !== undefined) event.currentTarget.value = "";
            if (chosen !== "") choose(chosen);
          }}
        >
          {prompt !== undefined && <option value="">{prompt}</option>}
          {choices.map((choice) => (
            <option key={choice.name} value={choice.name}>
              {choice.title}
            </option>
          ))}
        </select>
      </span>
      {problem !== "" && (
        <ErrorLine name={name} id={`${id}-problem`}>
          {problem}
        </ErrorLine>
      )}
    </div>
  );
}

/** The refusal of a button, where there is one. */
export function Refused({ name }: { name: string }): JSX.Element | null {
  const problem = useEditing().problem(name);
  return problem === "" ? null : <ErrorLine name={name}>{problem}</ErrorLine>;
}

interface TickProps {
  name: string;
  label: ComponentChildren;
  checked: boolean;
  turn: (on: boolean) => void;
}

export function Tick({ name, label, checked, turn }: TickProps): JSX.Element {
  const given = useContext(GivenContext);
  return (
    <label class="iv-mc-tick" title={given ? GIVEN : undefined}>
      <input
        type="checkbox"
        disabled={given}
        data-testid={name}
        checked={checked}
        onChange={(event) => turn(event.currentTarget.checked)}
      />
      <span>{label}</span>
    </label>
  );
}
