// A list that people edit: dimensions with sizes, or fields with dtypes.
import type { JSX } from "preact";
import { Button } from "../components/button.tsx";
import { dimensionColour } from "../components/colours.ts";
import { ProblemLine } from "../components/error-line.tsx";
import { TextControl } from "../components/text-control.tsx";
import { useView } from "../components/view.ts";
import type { ShownProblem, ShownRow } from "../types.ts";
import { Group } from "./group.tsx";

interface RowsProps {
  title: string;
  what: "dimension" | "field";
  rows: readonly ShownRow[];
  problem: ShownProblem | undefined;
}

export function RowsGroup({ title, what, rows, problem }: RowsProps): JSX.Element {
  const { snapshot, connection } = useView();
  const value = what === "dimension" ? "size" : "dtype";
  const short = what === "dimension" ? "size" : "field";
  return (
    <Group title={title}>
      <div class="iv-rows">
        {rows.map((row) => {
          const wrong = snapshot.problems[`${what}:${row.key}`];
          const note = `${connection.client}-${row.key}`;
          return (
            <div class="iv-row" key={row.key}>
              <span class="iv-swatch" style={dimensionColour(snapshot.palette, what === "dimension" ? row.name : "F")} aria-hidden="true" />
              <TextControl
                name={`name-${row.name}`}
                label={`Name of ${what} ${row.name}`}
                hideLabel
                code
                whenDone
                value={row.name}
                problem={wrong}
                problemId={note}
                command={(text) => ({ kind: "set", field: `${what}-name`, row: row.key, value: text.trim() })}
              />
              <TextControl
                name={`${short}-${row.name}`}
                label={`${value === "size" ? "Size" : "Type"} of ${what} ${row.name}`}
                hideLabel
                code
                value={row.value}
                problem={wrong}
                problemId={note}
                numeric={what === "dimension"}
                {...(what === "field" ? { list: `${connection.client}-dtypes` } : {})}
                command={(text) => ({ kind: "set", field: what === "dimension" ? "dimension-size" : "field-dtype", row: row.key, value: text })}
              />
              <Button
                label={`Remove ${what} ${row.name}`}
                icon="remove"
                iconOnly
                disabled={rows.length === 1}
                testid={`remove-${short}-${row.name}`}
                onClick={() => connection.send({ kind: `remove-${what}`, row: row.key })}
              />
              <ProblemLine id={note} name={`${short}-${row.name}`} problem={wrong} />
            </div>
          );
        })}
      </div>
      <ProblemLine id={`${connection.client}-${what}s`} name={`${what}s`} problem={problem} />
      <Button
        label={`Add a ${what}`}
        icon="add"
        testid={`add-${what}`}
        onClick={() => connection.send({ kind: `add-${what}` })}
      />
      {what === "field" ? (
        <datalist id={`${connection.client}-dtypes`}>
          {snapshot.menus.dtypes.map((name) => (
            <option key={name} value={name} />
          ))}
        </datalist>
      ) : (
        <></>
      )}
    </Group>
  );
}
