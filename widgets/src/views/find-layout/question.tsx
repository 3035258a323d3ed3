// The question of Find a layout: which end, how the array is used, and what a layout must have.
import type { JSX } from "preact";
import { Button } from "#lib/button.tsx";
import { ErrorLine } from "#lib/error-line.tsx";
import { useId } from "#lib/use-id.ts";
import { prettyLayout, useNames, withKind, withMoreUse, withUse } from "#model/layout-question.ts";
import type { FindLayoutPart, MenuEntry, ShownLayoutQuestion, ShownTypedUse, Side } from "#model/types.ts";
import { useView } from "#model/view.ts";
import { MenuControl } from "#views/controls/menu-control.tsx";
import { TextControl } from "#views/controls/text-control.tsx";

/** Uses besides the transfer itself: more could not be told apart in a table. */
const MOST_USES = 5;

const KINDS: readonly MenuEntry[] = [
  { name: "along", title: "read along", about: "" },
  { name: "to", title: "copied to", about: "" },
  { name: "from", title: "copied from", about: "" },
];

/** The question as it stands, with edits that the kernel does not have yet. */
export function useQuestion(part: FindLayoutPart): ShownLayoutQuestion {
  return useView().connection.settings.layoutQuestion ?? part.question;
}

export function Question({ part }: { part: FindLayoutPart }): JSX.Element {
  const { connection } = useView();
  const question = useQuestion(part);
  const { settings } = connection;
  const [own, other] =
    question.side === "source" ? [settings.source, settings.destination] : [settings.destination, settings.source];
  const { array: ofArray } = part.problems;
  const arrives = question.side === "destination";
  const ask = (next: ShownLayoutQuestion, control: string) => ({ kind: "find-layout", question: next, control }) as const;
  return (
    <section class="iv-find-question" aria-label="What is asked">
      <h3>
        A layout for{" "}
        <Choice
          label="The end whose layout is looked for"
          testid="find-side"
          value={question.side}
          choices={[
            ["destination", "the destination"],
            ["source", "the source"],
          ]}
          choose={(side) => connection.send(ask({ ...question, side: side as Side }, ""))}
        />
      </h3>
      <p class="iv-faint">The array lies in {own.memory}. Each use counts as often as its weight says.</p>
      {ofArray !== undefined && <ErrorLine name="find-array">{ofArray.message}</ErrorLine>}
      <ol class="iv-find-uses">
        <li>
          <div class="iv-find-use" role="group" aria-label="Use 1, the transfer">
            <b class="iv-find-number">1</b>
            <Weight part={part} place={0} value={question.weight} next={(weight) => ({ ...question, weight })} />
            <p class="iv-find-fixed">
              {arrives ? "arrives from" : "leaves for"} {other.memory} <code>{prettyLayout(other.layout)}</code>
            </p>
          </div>
        </li>
        {question.uses.map((use, place) => (
          <OtherUse key={place} part={part} question={question} use={use} place={place} />
        ))}
      </ol>
      <Button
        label="Add a use"
        icon="add"
        quiet
        testid="find-add-use"
        disabled={question.uses.length >= MOST_USES}
        onClick={() => connection.send(ask(withMoreUse(question, settings), ""))}
      />
      <h4>It must have</h4>
      {part.problem !== "" && <ErrorLine name="find-layout">{part.problem}</ErrorLine>}
      <div class="iv-find-demands">
        <span class="iv-find-run" role="group" aria-label="Runs">
          runs along{" "}
          <Choice
            label="Dimension of the runs"
            testid="find-run-dim"
            value={question.runDim === "" ? (settings.dimensions[0]?.name ?? "") : question.runDim}
            choices={settings.dimensions.map(({ name }) => [name, name] as const)}
            choose={(runDim) => connection.send(ask({ ...question, runDim }, ""))}
          />
          <TextControl
            name="find-least-run"
            label="of at least"
            value={question.leastRun}
            placeholder="any"
            numeric
            problem={part.problems["least-run"] ?? part.problems["run-dim"]}
            command={(leastRun) => ask({ ...question, leastRun }, "least-run")}
          />
        </span>
        <TextControl
          name="find-most-padding"
          label="padding of at most, in percent"
          value={question.mostPadding}
          placeholder="0"
          numeric
          problem={part.problems["most-padding"]}
          command={(mostPadding) => ask({ ...question, mostPadding }, "most-padding")}
        />
        <Check
          label="the fields of an entry together"
          testid="find-fields-together"
          on={question.fieldsTogether}
          turn={(fieldsTogether) => connection.send(ask({ ...question, fieldsTogether }, ""))}
        />
        <Check
          label={`the order ${settings.dimensions.map(({ name }) => name).join(", ")}, also inside blocks`}
          testid="find-keep-order"
          on={question.keepOrder}
          turn={(keepOrder) => connection.send(ask({ ...question, keepOrder }, ""))}
        />
      </div>
    </section>
  );
}

interface UseProps {
  part: FindLayoutPart;
  question: ShownLayoutQuestion;
  use: ShownTypedUse;
  place: number;
}

function OtherUse({ part, question, use, place }: UseProps): JSX.Element {
  const { connection, snapshot } = useView();
  const { settings } = connection;
  const name = `use-${place + 1}`;
  const along = use.kind === "along";
  const ask = (next: ShownLayoutQuestion, control: string) => ({ kind: "find-layout", question: next, control }) as const;
  const words = useNames(question)[place + 1] ?? "";
  const own = settings[question.side].memory;
  return (
    <li>
      <div class="iv-find-use" role="group" aria-label={`Use ${place + 2}, ${words}`}>
        <b class="iv-find-number">{place + 2}</b>
        <Weight
          part={part}
          place={place + 1}
          value={use.weight}
          next={(weight) => withUse(connection.settings.layoutQuestion ?? question, place, { weight })}
        />
        <MenuControl
          name={`find-${name}-kind`}
          label={`How it is used, use ${place + 2}`}
          hideLabel
          value={use.kind}
          choices={KINDS}
          problem={undefined}
          command={(kind) => ask(withKind(question, place, kind as ShownTypedUse["kind"], settings), "")}
        />
        {along ? (
          <MenuControl
            name={`find-${name}-what`}
            label={`Dimension, use ${place + 2}`}
            hideLabel
            value={use.what}
            choices={settings.dimensions.map((row) => ({ name: row.name, title: row.name, about: "" }))}
            problem={part.problems[`${name}-what`]}
            command={(what) => ask(withUse(question, place, { what }), "")}
          />
        ) : (
          <>
            <MenuControl
              name={`find-${name}-memory`}
              label={`Memory, use ${place + 2}`}
              hideLabel
              hideAbout
              value={use.memory === "" ? own : use.memory}
              choices={snapshot.menus.memories.map((entry) => ({ ...entry, title: entry.name }))}
              problem={part.problems[`${name}-memory`]}
              command={(memory) => ask(withUse(question, place, { memory }), "")}
            />
            <TextControl
              name={`find-${name}-what`}
              label={`Layout there, use ${place + 2}`}
              hideLabel
              code
              value={use.what}
              problem={part.problems[`${name}-what`]}
              command={(what) => ask(withUse(connection.settings.layoutQuestion ?? question, place, { what }), `${name}-what`)}
            />
          </>
        )}
        <Button
          label={`Remove use ${place + 2}`}
          icon="remove"
          iconOnly
          testid={`find-remove-${name}`}
          onClick={() => connection.send(ask({ ...question, uses: question.uses.filter((_, at) => at !== place) }, ""))}
        />
      </div>
    </li>
  );
}

interface WeightProps {
  part: FindLayoutPart;
  place: number;
  value: string;
  next: (weight: string) => ShownLayoutQuestion;
}

function Weight({ part, place, value, next }: WeightProps): JSX.Element {
  return (
    <span class="iv-find-weight">
      <TextControl
        name={`find-use-${place}-weight`}
        label={`Weight of use ${place + 1}`}
        hideLabel
        numeric
        value={value}
        problem={part.problems[`use-${place}-weight`]}
        command={(weight) => ({ kind: "find-layout", question: next(weight), control: `weight-${place}` })}
      />
      <span aria-hidden="true">×</span>
    </span>
  );
}

interface ChoiceProps {
  label: string;
  testid: string;
  value: string;
  choices: readonly (readonly [string, string])[];
  choose: (value: string) => void;
}

/** A menu in a line of text. */
export function Choice({ label, testid, value, choices, choose }: ChoiceProps): JSX.Element {
  return (
    <select
      class="iv-input iv-find-choice"
      aria-label={label}
      data-testid={testid}
      value={value}
      onChange={(event) => choose(event.currentTarget.value)}
    >
      {choices.map(([name, title]) => (
        <option key={name} value={name}>
          {title}
        </option>
      ))}
    </select>
  );
}

function Check({
  label,
  testid,
  on,
  turn,
}: {
  label: string;
  testid: string;
  on: boolean;
  turn: (on: boolean) => void;
}): JSX.Element {
  const id = useId();
  return (
    <label class="iv-find-check" for={id}>
      <input id={id} type="checkbox" data-testid={testid} checked={on} onChange={(event) => turn(event.currentTarget.checked)} />
      {label}
    </label>
  );
}
