// What moves: numbers for every dimension, a box for every field. The grids of both ends show the same and can be dragged on.
import type { JSX } from "preact";
import { Button } from "#lib/button.tsx";
import { useSeen } from "#lib/error-line.tsx";
import { useId } from "#lib/use-id.ts";
import { dimensionColour } from "#model/colours.ts";
import { EVERYTHING, isEverything, rangeOf, withField, withText } from "#model/part.ts";
import type { Command, ShownRow } from "#model/types.ts";
import { useView } from "#model/view.ts";
import { Term } from "#views/controls/term.tsx";
import { TextControl } from "#views/controls/text-control.tsx";

export function PartControls(): JSX.Element {
  const { connection, snapshot } = useView();
  const { settings } = connection;
  const id = useId();
  const problem = snapshot.faults.problems["part-fields"];
  return (
    <fieldset class="iv-array-group" data-testid="part" aria-describedby={problem === undefined ? undefined : `${id}-fields`}>
      <legend>
        <Term name="part">What moves</Term>
      </legend>
      <div class="iv-part-head" aria-hidden="true">
        <span>dimension</span>
        <span>first index</span>
        <span>indices</span>
        <span>goes to</span>
      </div>
      {settings.dimensions.map((row) => (
        <RangeControls key={row.key} row={row} />
      ))}
      <div class="iv-part-fields">
        {settings.fields.map((field) => (
          <label key={field.key} class="iv-part-field">
            <input
              type="checkbox"
              data-testid={`part-field-${field.name}`}
              checked={!settings.part.leftOut.includes(field.key)}
              aria-invalid={problem !== undefined}
              onChange={(event) =>
                connection.send({
                  kind: "part",
                  control: "fields",
                  part: withField(connection.settings.part, field.key, event.currentTarget.checked),
                })
              }
            />
            {field.name}
          </label>
        ))}
      </div>
      <div class="iv-array-foot">
        <Button
          label="Everything"
          testid="part-everything"
          disabled={isEverything(settings.part)}
          title="Move all entries with all their fields"
          onClick={() => connection.send({ kind: "part", control: "everything", part: EVERYTHING })}
        />
        <p
          class="iv-array-problem"
          id={`${id}-fields`}
          data-testid="error-part-fields"
          role={problem === undefined ? undefined : "alert"}
        >
          {problem?.message}
        </p>
      </div>
    </fieldset>
  );
}

const TEXTS = [
  { name: "first", label: "First index that moves", usual: "0" },
  { name: "extent", label: "Number of indices that move", usual: "all" },
  { name: "to", label: "First index at the destination", usual: "same" },
] as const;

function RangeControls({ row }: { row: ShownRow }): JSX.Element {
  const { connection, snapshot } = useView();
  const { part } = connection.settings;
  const typed = rangeOf(part, row.key);
  const note = `${connection.client}-part-${row.key}`;
  const problems = TEXTS.map(({ name }) => snapshot.faults.problems[`part-${name}:${row.key}`]);
  const seen = useSeen<HTMLParagraphElement>();
  const told = problems.find((problem) => problem !== undefined);
  return (
    <div class="iv-part-row" role="group" aria-label={`part of dimension ${row.name}`}>
      <span class="iv-part-dim">
        <span class="iv-swatch" style={dimensionColour(snapshot.palette, row.name)} aria-hidden="true" />
        {row.name}
      </span>
      {TEXTS.map(({ name, label, usual }, place) => (
        <TextControl
          key={name}
          name={`part-${name}-${row.name}`}
          label={`${label}, ${row.name}`}
          hideLabel
          code
          numeric
          placeholder={usual}
          value={typed[name]}
          problem={problems[place]}
          problemId={note}
          command={(text): Command => ({
            kind: "part",
            control: `${name}:${row.key}`,
            part: withText(connection.settings.part, row.key, { [name]: text }),
          })}
        />
      ))}
      <p
        ref={seen}
        class="iv-array-problem"
        id={note}
        data-testid={`error-part-${row.name}`}
        role={told === undefined ? undefined : "alert"}
      >
        {told?.message}
      </p>
    </div>
  );
}
