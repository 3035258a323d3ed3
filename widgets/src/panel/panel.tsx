// The controls: machine, array, both ends, planner.
import type { JSX } from "preact";
import { Button } from "../components/button.tsx";
import { Folded } from "../components/card.tsx";
import { MenuControl } from "../components/menu-control.tsx";
import { TextControl } from "../components/text-control.tsx";
import { useView } from "../components/view.ts";
import type { Command, Side } from "../types.ts";
import { Group } from "./group.tsx";
import { LayoutField } from "./layout-field.tsx";
import { RowsGroup } from "./rows-group.tsx";

export function Panel(): JSX.Element {
  const { snapshot, connection } = useView();
  return (
    <div class="iv-panel">
      <Group title="Begin from">
        <div class="iv-begin">
          <MenuControl
            name="example"
            label="Example transfer"
            hideLabel
            value=""
            prompt="Choose an example…"
            choices={snapshot.menus.examples}
            problem={undefined}
            command={(value) => ({ kind: "example", value })}
          />
          <Button label="Undo" icon="undo" iconOnly testid="undo" disabled={!snapshot.canUndo} onClick={() => connection.send({ kind: "undo" })} />
          <Button label="Redo" icon="redo" iconOnly testid="redo" disabled={!snapshot.canRedo} onClick={() => connection.send({ kind: "redo" })} />
        </div>
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

function MachineGroup(): JSX.Element {
  const { snapshot } = useView();
  const { machine } = snapshot.settings;
  const presets = snapshot.menus.machines;
  // A described machine has an entry of its own while it is chosen; no preset has a name with a colon.
  const described = { name: `described:${machine.name}`, title: machine.name, about: "a machine of your own" };
  const options = machine.kind === "preset" ? (presets.find((choice) => choice.name === machine.name)?.options ?? []) : [];
  return (
    <Group title="Machine">
      <MenuControl
        name="machine"
        label="Machine"
        hideLabel
        value={machine.kind === "preset" ? machine.name : described.name}
        choices={machine.kind === "preset" ? presets : [described, ...presets]}
        problem={snapshot.problems["machine"]}
        command={(value) => ({ kind: "set", field: "machine", value })}
      />
      <div class="iv-options">
        {options.map((option) => {
          const common = {
            name: `machine-option-${option.name}`,
            label: option.name,
            value: machine.options[option.name] ?? option.value,
            problem: snapshot.problems[`machine-option:${option.name}`],
            command: (value: string): Command => ({ kind: "set", field: "machine-option", name: option.name, value }),
          };
          return option.kind === "choice" ? (
            <MenuControl
              key={`${machine.name}-${option.name}`}
              {...common}
              choices={option.choices.map((name) => ({ name, title: name, about: "" }))}
            />
          ) : (
            <TextControl
              key={`${machine.name}-${option.name}`}
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

function EndGroup({ side, title }: { side: Side; title: string }): JSX.Element {
  const { snapshot } = useView();
  return (
    <Group title={title}>
      <MenuControl
        name={`${side}-memory`}
        label="Memory"
        value={snapshot.settings[side].memory}
        choices={snapshot.menus.memories}
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
      <MenuControl
        name="planner"
        label="Planner"
        hideLabel
        value={settings.planner}
        choices={snapshot.menus.planners}
        problem={problems["planner"]}
        command={(value) => ({ kind: "set", field: "planner", value })}
      />
      <Folded title="Limits" open={limited}>
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
      </Folded>
    </Group>
  );
}
