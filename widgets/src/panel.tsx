// The controls: machine, array, both ends, planner.
import type { CSSProperties, JSX } from "preact";
import { Button, keys, ProblemNote, SelectControl, TextControl, useView } from "./controls.tsx";
import { LayoutField } from "./layout-field.tsx";
import type { Problem, Row, Side } from "./types.ts";

export function Panel(): JSX.Element {
  const { snapshot, connection } = useView();
  return (
    <div class="iv-panel">
      <Group title="Begin from">
        <SelectControl
          name="example"
          label="Example transfer"
          hideLabel
          value=""
          prompt="Choose an example…"
          choices={snapshot.choices.examples}
          problem={undefined}
          command={(value) => ({ kind: "example", value })}
        />
      </Group>
      <MachineGroup />
      <RowsGroup
        title="Index space"
        what="dimension"
        rows={snapshot.settings.dimensions}
        problem={snapshot.problems["dimensions"]}
      />
      <RowsGroup title="Field space F" what="field" rows={snapshot.settings.fields} problem={snapshot.problems["fields"]} />
      <EndGroup side="source" title="Source" />
      <div class="iv-swap">
        <Button label="Swap source and destination" icon="swap" testid="swap" onClick={() => connection.send({ kind: "swap" })} />
      </div>
      <EndGroup side="destination" title="Destination" />
      <PlannerGroup />
    </div>
  );
}

function Group({ title, children }: { title: string; children: JSX.Element | JSX.Element[] }): JSX.Element {
  return (
    <fieldset class="iv-group">
      <legend>{title}</legend>
      {children}
    </fieldset>
  );
}

function MachineGroup(): JSX.Element {
  const { snapshot } = useView();
  const { machine, machineOptions } = snapshot.settings;
  const options = snapshot.choices.machines.find((choice) => choice.name === machine)?.options ?? [];
  return (
    <Group title="Machine">
      <SelectControl
        name="machine"
        label="Preset"
        hideLabel
        value={machine}
        choices={snapshot.choices.machines}
        problem={snapshot.problems["machine"]}
        command={(value) => ({ kind: "set", field: "machine", value })}
      />
      <div class="iv-options">
        {options.map((option) => {
          const common = {
            name: `machine-option-${option.name}`,
            label: option.name,
            value: machineOptions[option.name] ?? option.value,
            problem: snapshot.problems[`machine-option:${option.name}`],
            command: (value: string) => ({ kind: "set", field: "machine-option", name: option.name, value }),
          };
          return option.kind === "choice" ? (
            <SelectControl
              key={`${machine}-${option.name}`}
              {...common}
              choices={option.choices.map((name) => ({ name, title: name, about: "" }))}
            />
          ) : (
            <TextControl
              key={`${machine}-${option.name}`}
              {...common}
              numeric={option.kind === "number"}
              whenDone={option.kind === "text"}
              title={option.title}
            />
          );
        })}
      </div>
    </Group>
  );
}

interface RowsProps {
  title: string;
  what: "dimension" | "field";
  rows: Row[];
  problem: Problem | undefined;
}

function RowsGroup({ title, what, rows, problem }: RowsProps): JSX.Element {
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
              <span class="iv-swatch" style={swatch(snapshot.palette, what === "dimension" ? row.name : "F")} aria-hidden="true" />
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
                command={(text) => ({ kind: "set", field: `${what}-${value}`, row: row.key, value: text })}
              />
              <Button
                label={`Remove ${what} ${row.name}`}
                icon="remove"
                iconOnly
                disabled={rows.length === 1}
                testid={`remove-${short}-${row.name}`}
                onClick={() => connection.send({ kind: `remove-${what}`, row: row.key })}
              />
              <ProblemNote id={note} name={`${short}-${row.name}`} problem={wrong} />
            </div>
          );
        })}
      </div>
      <ProblemNote id={`${connection.client}-${what}s`} name={`${what}s`} problem={problem} />
      <Button
        label={`Add a ${what}`}
        icon="add"
        testid={`add-${what}`}
        onClick={() => connection.send({ kind: `add-${what}` })}
      />
      {what === "field" ? (
        <datalist id={`${connection.client}-dtypes`}>
          {snapshot.choices.dtypes.map((name) => (
            <option key={name} value={name} />
          ))}
        </datalist>
      ) : (
        <></>
      )}
    </Group>
  );
}

export function swatch(palette: Record<string, { light: string; dark: string }>, dim: string): CSSProperties {
  const colour = palette[dim];
  return colour === undefined ? {} : { "--iv-chip-light": colour.light, "--iv-chip-dark": colour.dark };
}

function EndGroup({ side, title }: { side: Side; title: string }): JSX.Element {
  const { snapshot } = useView();
  return (
    <Group title={title}>
      <SelectControl
        name={`${side}-memory`}
        label="Memory"
        value={snapshot.settings[side].memory}
        choices={snapshot.choices.memories}
        problem={snapshot.problems[`${side}-memory`]}
        command={(value) => ({ kind: "set", field: `${side}-memory`, value })}
      />
      <LayoutField side={side} />
    </Group>
  );
}

function PlannerGroup(): JSX.Element {
  const { snapshot } = useView();
  const { settings, problems } = snapshot;
  const limited = settings.slotLimit !== "" || settings.memoryLimit !== "";
  return (
    <Group title="Planner">
      <SelectControl
        name="planner"
        label="Planner"
        hideLabel
        value={settings.planner}
        choices={snapshot.choices.planners}
        problem={problems["planner"]}
        command={(value) => ({ kind: "set", field: "planner", value })}
      />
      <details class="iv-details" open={limited || undefined}>
        <summary {...keys}>Limits</summary>
        <div class="iv-options">
          <TextControl
            name="slot-limit"
            label="One slot"
            placeholder="32 MiB"
            value={settings.slotLimit}
            problem={problems["slot-limit"]}
            command={(value) => ({ kind: "set", field: "slot-limit", value })}
            title="The most one slot of a buffer may hold (TH in the paper)"
          />
          <TextControl
            name="memory-limit"
            label="All buffers"
            placeholder="no limit"
            value={settings.memoryLimit}
            problem={problems["memory-limit"]}
            command={(value) => ({ kind: "set", field: "memory-limit", value })}
            title="The most all buffers of the transfer may hold together"
          />
        </div>
      </details>
    </Group>
  );
}
