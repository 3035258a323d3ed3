// A menu, tied to a label, to its problem in words, and to the kernel through commands.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { ProblemLine } from "#lib/error-line.tsx";
import { Icon } from "#lib/icon.tsx";
import { useId } from "#lib/use-id.ts";
import { type Draft, shown } from "#model/connection.ts";
import type { Command, MenuEntry, ShownProblem } from "#model/types.ts";
import { useView } from "#model/view.ts";

interface MenuProps {
  name: string;
  label: string;
  hideLabel?: boolean;
  /** The line that explains what is chosen is said elsewhere. */
  hideAbout?: boolean;
  value: string;
  choices: readonly MenuEntry[];
  problem: ShownProblem | undefined;
  command: (value: string) => Command;
  testid?: string;
  /** Shown first where nothing is chosen. */
  prompt?: string;
}

/** A menu: one of several, with a line that explains what is chosen. */
export function MenuControl(props: MenuProps): JSX.Element {
  const { connection } = useView();
  const [draft, setDraft] = useState<Draft | null>(null);
  const id = useId();
  const value = shown(draft, props.value, connection.acknowledged);
  const known = props.choices.find((choice) => choice.name === value);
  const about = props.hideAbout ? "" : (known?.about ?? "");
  const described = [props.problem !== undefined ? `${id}-problem` : "", about !== "" ? `${id}-about` : ""].filter(
    (part) => part !== "",
  );
  return (
    <div class={`iv-control${props.hideLabel ? " iv-control-bare" : ""}`}>
      <label for={id} class={props.hideLabel ? "iv-hidden" : "iv-label"}>
        {props.label}
      </label>
      <span class="iv-select">
        <select
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
      <ProblemLine id={`${id}-problem`} name={props.name} problem={props.problem} />
    </div>
  );
}
