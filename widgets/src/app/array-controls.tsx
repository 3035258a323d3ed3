// The array: the dimensions of its index space, and the fields of its entries.
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { Button } from "#lib/button.tsx";
import { useSeen } from "#lib/error-line.tsx";
import { dimensionColour } from "#model/colours.ts";
import { dimensionProblem } from "#model/ends.ts";
import { MOST_DIMENSIONS } from "#model/layouts/spaces.ts";
import type { ShownProblem, ShownRow } from "#model/types.ts";
import { formatBytes, formatCount, parseCount } from "#model/units.ts";
import { useView } from "#model/view.ts";
import { Term } from "#views/controls/term.tsx";
import { TextControl } from "#views/controls/text-control.tsx";

type What = "dimension" | "field";

export function ArrayControls(): JSX.Element {
  return (
    <div class="iv-array">
      <Rows what="dimension" />
      <Rows what="field" />
      <Extent />
    </div>
  );
}

/** What the two kinds of rows are called, and what they are told apart by. */
const KINDS = {
  dimension: { title: "Index space", term: "index space", value: "Size", column: "size", field: "size", list: false },
  field: { title: "Fields", term: "F", value: "Type", column: "dtype", field: "field", list: true },
} as const;

function Rows({ what }: { what: What }): JSX.Element {
  const { connection, snapshot } = useView();
  const kind = KINDS[what];
  const rows = what === "dimension" ? connection.settings.dimensions : connection.settings.fields;
  const box = useRef<HTMLFieldSetElement>(null);
  // What has the focus once the kernel has added or removed a row.
  const wanted = useRef<{ count: number; place: number } | null>(null);
  useEffect(() => {
    const to = wanted.current;
    if (to === null || rows.length === to.count) return;
    wanted.current = null;
    const inputs = [...(box.current?.querySelectorAll<HTMLInputElement>(".iv-array-name input") ?? [])];
    const input = inputs[Math.min(to.place, inputs.length - 1)];
    input?.focus();
    input?.select();
  }, [rows.length]);
  const full = what === "dimension" && rows.length >= MOST_DIMENSIONS;
  const problem = snapshot.faults.problems[`${what}s`];
  const tooMany =
    what === "dimension" && rows.length > MOST_DIMENSIONS
      ? `${rows.length} dimensions are too many; the explorer shows up to ${MOST_DIMENSIONS}`
      : "";
  const message = problem?.message ?? tooMany;
  const note = `${connection.client}-${what}s`;
  return (
    <fieldset class="iv-array-group" ref={box} data-testid={`${what}s`} aria-describedby={message === "" ? undefined : note}>
      <legend>
        <Term name={kind.term}>{kind.title}</Term>
      </legend>
      <div class="iv-array-head" aria-hidden="true">
        <span>name</span>
        <span>{kind.column}</span>
      </div>
      {rows.map((row, place) => (
        <RowControls
          key={row.key}
          what={what}
          row={row}
          rows={rows}
          onRemove={() => {
            wanted.current = { count: rows.length, place: Math.min(place, rows.length - 2) };
            connection.send({ kind: `remove-${what}`, row: row.key });
          }}
        />
      ))}
      <div class="iv-array-foot">
        <Button
          label={`Add a ${what}`}
          icon="add"
          testid={`add-${what}`}
          disabled={full}
          {...(full ? { title: `The explorer shows up to ${MOST_DIMENSIONS} dimensions` } : {})}
          onClick={() => {
            wanted.current = { count: rows.length, place: rows.length };
            connection.send({ kind: `add-${what}` });
          }}
        />
        <p class="iv-array-problem" id={note} data-testid={`error-${what}s`} role={message === "" ? undefined : "alert"}>
          {message}
        </p>
      </div>
      {kind.list && (
        <datalist id={`${connection.client}-dtypes`}>
          {snapshot.menus.dtypes.map((name) => (
            <option key={name} value={name} />
          ))}
        </datalist>
      )}
    </fieldset>
  );
}

interface RowProps {
  what: What;
  row: ShownRow;
  rows: readonly ShownRow[];
  onRemove: () => void;
}

function RowControls({ what, row, rows, onRemove }: RowProps): JSX.Element {
  const { connection, snapshot } = useView();
  const kind = KINDS[what];
  const seen = useSeen<HTMLParagraphElement>();
  const problem = useRowProblem(what, row, rows);
  const about = problem === undefined ? null : causeOf(what, row, rows);
  const note = `${connection.client}-${what}-${row.key}`;
  return (
    <div class="iv-array-row" role="group" aria-label={`${what} ${row.name}`}>
      <span
        class="iv-swatch"
        style={dimensionColour(snapshot.palette, what === "dimension" ? row.name : "F")}
        aria-hidden="true"
      />
      <span class="iv-array-name">
        <TextControl
          name={`name-${row.name}`}
          label={`Name of ${what} ${row.name}`}
          hideLabel
          code
          whenDone
          value={row.name}
          problem={about === "value" ? undefined : problem}
          problemId={note}
          command={(text) => ({ kind: "set", field: `${what}-name`, row: row.key, value: text.trim() })}
        />
      </span>
      <span class="iv-array-value">
        <TextControl
          name={`${kind.field}-${row.name}`}
          label={`${kind.value} of ${what} ${row.name}`}
          hideLabel
          code
          value={row.value}
          problem={about === "name" ? undefined : problem}
          problemId={note}
          numeric={what === "dimension"}
          {...(kind.list ? { list: `${connection.client}-dtypes` } : {})}
          command={(text) => ({
            kind: "set",
            field: what === "dimension" ? "dimension-size" : "field-dtype",
            row: row.key,
            value: text,
          })}
        />
      </span>
      <Button
        label={`Remove ${what} ${row.name}`}
        icon="remove"
        iconOnly
        disabled={rows.length === 1}
        testid={`remove-${kind.field}-${row.name}`}
        onClick={onRemove}
      />
      <p
        ref={seen}
        class="iv-array-problem"
        id={note}
        data-testid={`error-${kind.field}-${row.name}`}
        role={problem === undefined ? undefined : "alert"}
      >
        {problem?.message}
      </p>
    </div>
  );
}

/** What is wrong with a row: the kernel's word where it has seen the row, what the browser can tell before that. */
function useRowProblem(what: What, row: ShownRow, rows: readonly ShownRow[]): ShownProblem | undefined {
  const { connection, snapshot } = useView();
  const { settings, frame, faults } = snapshot;
  const known = (what === "dimension" ? settings.dimensions : settings.fields).find((each) => each.key === row.key);
  const told = faults.problems[`${what}:${row.key}`];
  const same = known !== undefined && known.name === row.name && known.value === row.value;
  if (same && (frame.settled || told !== undefined)) return told;
  if (what === "field") return same || !connection.waiting ? told : undefined;
  const own = dimensionProblem(row, rows);
  return own === null ? undefined : { message: own.message, text: null, position: null };
}

/** Which text of a row a problem is about, as far as the browser can tell. */
function causeOf(what: What, row: ShownRow, rows: readonly ShownRow[]): "name" | "value" | null {
  if (what === "dimension") return dimensionProblem(row, rows)?.about ?? null;
  return row.name === "" || rows.find((other) => other.name === row.name)?.key !== row.key ? "name" : "value";
}

/** How large the array is: the last right one. */
function Extent(): JSX.Element {
  const { connection, snapshot } = useView();
  const { fieldSizes, dims } = snapshot.panes.layout;
  const { dimensions } = connection.settings;
  const right = dimensions.every((row) => dimensionProblem(row, dimensions) === null);
  const sizes = right ? dimensions.map((row) => Number(parseCount(row.value))) : dims.map(([, size]) => size);
  const entry = fieldSizes.reduce((sum, field) => sum + field.size, 0);
  const bytes = sizes.reduce((product, size) => product * size, entry);
  return (
    <p class="iv-array-extent" data-testid="array-extent">
      {sizes.map(formatCount).join(" × ")} <Term name="entry">{sizes.every((size) => size === 1) ? "entry" : "entries"}</Term> of{" "}
      {formatBytes(entry)}: {formatBytes(bytes)}
    </p>
  );
}
