// Controls: each tied to a label, to its problem in words, and to the kernel through commands.
import { createContext, type ComponentChildren, type JSX } from "preact";
import { useContext, useEffect, useId as useRootId, useState } from "preact/hooks";
import { caret } from "./chips.ts";
import { shown, type Connection, type Draft } from "./connection.ts";
import type { Choice, Command, Problem, Snapshot } from "./types.ts";

export interface View {
  connection: Connection;
  snapshot: Snapshot;
}

export const ViewContext = createContext<View | null>(null);

export function useView(): View {
  const view = useContext(ViewContext);
  if (view === null) throw new Error("a control outside of the explorer");
  return view;
}

/** An id of its own on the whole page: Preact counts afresh for every explorer on it. */
function useId(): string {
  return `${useView().connection.client}-${useRootId()}`;
}

/** JupyterLab leaves keys alone on elements that carry this. */
export const keys = { "data-lm-suppress-shortcuts": "true" } as const;

/** The problem of a control in words, with a caret below the character that causes it where there is one. */
export function ProblemNote({ id, name, problem }: { id: string; name: string; problem: Problem | undefined }): JSX.Element | null {
  if (problem === undefined) return null;
  return (
    <div class="iv-problem" id={id} data-testid={`error-${name}`} role="alert">
      {problem.text !== null && problem.position !== null && problem.text.trim() !== "" && (
        <pre class="iv-caret" aria-hidden="true">
          {caret(problem.text, problem.position)}
        </pre>
      )}
      <span>{problem.message}</span>
    </div>
  );
}

interface TextProps {
  /** For tests and problems: `size-x`, `source-layout`. */
  name: string;
  label: string;
  hideLabel?: boolean;
  value: string;
  problem: Problem | undefined;
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
    if (acknowledged) setDraft(null);
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
        {...keys}
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
          if (event.key === "Escape" && draft?.number === Infinity) setDraft(null);
        }}
      />
      {props.children}
      {props.problemId === undefined && <ProblemNote id={problemId} name={props.name} problem={props.problem} />}
    </div>
  );
}

interface SelectProps {
  name: string;
  label: string;
  hideLabel?: boolean;
  value: string;
  choices: readonly Choice[];
  problem: Problem | undefined;
  command: (value: string) => Command;
  testid?: string;
  /** Shown first where nothing is chosen. */
  prompt?: string;
}

export function SelectControl(props: SelectProps): JSX.Element {
  const { connection } = useView();
  const [draft, setDraft] = useState<Draft | null>(null);
  const id = useId();
  const value = shown(draft, props.value, connection.acknowledged);
  const known = props.choices.find((choice) => choice.name === value);
  const about = known?.about ?? "";
  const described = [props.problem !== undefined ? `${id}-problem` : "", about !== "" ? `${id}-about` : ""].filter((part) => part !== "");
  return (
    <div class={`iv-control${props.hideLabel ? " iv-control-bare" : ""}`}>
      <label for={id} class={props.hideLabel ? "iv-hidden" : "iv-label"}>
        {props.label}
      </label>
      <span class="iv-select">
        <select
          {...keys}
          id={id}
          class="iv-input"
          data-testid={props.testid ?? props.name}
          value={value}
          aria-invalid={props.problem !== undefined}
          aria-describedby={described.length > 0 ? described.join(" ") : undefined}
          onChange={(event) => {
            const chosen = event.currentTarget.value;
            if (chosen !== "") setDraft({ text: chosen, number: connection.send(props.command(chosen)) });
          }}
        >
          {props.prompt !== undefined && <option value="">{props.prompt}</option>}
          {known === undefined && value !== "" && <option value={value}>{value} (not there)</option>}
          {props.choices.map((choice) => (
            <option key={choice.name} value={choice.name}>
              {choice.title}
            </option>
          ))}
        </select>
        <Icon name="down" />
      </span>
      {about !== "" && (
        <p class="iv-about" id={`${id}-about`}>
          {about}
        </p>
      )}
      <ProblemNote id={`${id}-problem`} name={props.name} problem={props.problem} />
    </div>
  );
}

const shapes: Record<string, string> = {
  down: "M3.5 6 8 10.5 12.5 6",
  remove: "M4 4l8 8M12 4l-8 8",
  add: "M8 3v10M3 8h10",
  run: "M5 3.2v9.6L12.8 8z",
  stop: "M4.5 4.5h7v7h-7z",
  good: "M3 8.5 6.5 12 13 4.5",
  bad: "M8 3.5v5.5M8 12v.5",
  swap: "M3 5.5h9M9.5 3 12 5.5 9.5 8M13 10.5H4M6.5 8 4 10.5 6.5 13",
  zoom: "M6.8 11.2a4.4 4.4 0 1 0 0-8.8 4.4 4.4 0 0 0 0 8.8zM10 10l3.5 3.5M4.9 6.8h3.8M6.8 4.9v3.8",
};

export function Icon({ name }: { name: keyof typeof shapes }): JSX.Element {
  const filled = name === "run" || name === "stop";
  return (
    <svg class="iv-icon" viewBox="0 0 16 16" width="16" height="16" aria-hidden="true" focusable="false">
      <path
        d={shapes[name] ?? ""}
        fill={filled ? "currentColor" : "none"}
        stroke="currentColor"
        stroke-width={1.6}
        stroke-linecap="round"
        stroke-linejoin="round"
      />
    </svg>
  );
}

interface ButtonProps {
  label: string;
  icon?: string;
  /** Show the icon only; the label is for screen readers and the tooltip. */
  iconOnly?: boolean;
  testid?: string;
  primary?: boolean;
  disabled?: boolean;
  pressed?: boolean;
  describedBy?: string;
  title?: string;
  onClick: () => void;
}

export function Button(props: ButtonProps): JSX.Element {
  return (
    <button
      {...keys}
      type="button"
      class={`iv-button${props.primary ? " iv-primary" : ""}${props.iconOnly ? " iv-icon-button" : ""}`}
      data-testid={props.testid}
      // A disabled button keeps the focus and its reason readable: it is told so and does nothing.
      aria-disabled={props.disabled ? "true" : undefined}
      aria-pressed={props.pressed}
      aria-label={props.iconOnly ? props.label : undefined}
      aria-describedby={props.describedBy}
      title={props.title ?? (props.iconOnly ? props.label : undefined)}
      onClick={() => {
        if (!props.disabled) props.onClick();
      }}
    >
      {props.icon !== undefined && <Icon name={props.icon} />}
      {!props.iconOnly && <span>{props.label}</span>}
    </button>
  );
}
