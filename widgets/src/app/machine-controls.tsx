// The machine that is planned on, and how it is planned.

import type { JSX } from "preact";
import { useRef, useState } from "preact/hooks";
import { Button } from "#lib/button.tsx";
import { byName } from "#model/by-name.ts";
import type { TermName } from "#model/glossary.ts";
import { glossary } from "#model/glossary.ts";
import type { Command, MachineOption, ShownMachineChoice } from "#model/types.ts";
import { formatBytes } from "#model/units.ts";
import { useView } from "#model/view.ts";
import { MenuControl } from "#views/controls/menu-control.tsx";
import { Term } from "#views/controls/term.tsx";
import { TextControl } from "#views/controls/text-control.tsx";

/** Bytes of the largest machine file that is read here. */
const LARGEST_FILE = 16 * 2 ** 20;

export function MachineControls(): JSX.Element {
  return (
    <div class="iv-array">
      <Machine />
      <Planner />
    </div>
  );
}

function Machine(): JSX.Element {
  const { connection, snapshot } = useView();
  const { machine } = connection.settings;
  const presets = snapshot.menus.machines.map((entry) => (entry.name === "local" ? { ...entry, title: "this computer" } : entry));
  // A described machine has an entry of its own while it is chosen; no preset has a name with a colon.
  const described = { name: `described:${machine.name}`, title: machine.name, about: originOf(machine) };
  const named = machine.kind === "preset" || machine.kind === "measured";
  const options = named ? (presets.find((choice) => choice.name === machine.name)?.options ?? []) : [];
  return (
    <fieldset class="iv-array-group">
      <legend>
        <Term name="machine">Machine</Term>
      </legend>
      <MenuControl
        name="machine"
        label="Machine"
        hideLabel
        value={named ? machine.name : described.name}
        choices={named ? presets : [described, ...presets]}
        problem={snapshot.faults.problems.machine}
        command={(value) => ({ kind: "set", field: "machine", value })}
      />
      <div class="iv-machine-options">
        {options.map((option) => (
          <OptionControl key={`${machine.name}-${option.name}`} option={option} machine={machine} />
        ))}
      </div>
      <div class="iv-machine-actions">
        <Button
          label={machine.kind === "measured" ? "Measure again" : "Measure this computer"}
          testid="measure"
          title={glossary.probe}
          onClick={() => connection.send({ kind: "measure" })}
        />
        <OpenMachine />
      </div>
    </fieldset>
  );
}

/** Where a machine that is no preset comes from. */
function originOf(machine: ShownMachineChoice): string {
  if (machine.kind === "file") return machine.path === "" ? "read from a file" : `read from ${machine.path}`;
  return "a machine of your own";
}

function OptionControl({ option, machine }: { option: MachineOption; machine: ShownMachineChoice }): JSX.Element {
  const { snapshot } = useView();
  const common = {
    name: `machine-option-${option.name}`,
    label: option.name,
    value: byName(machine.options).get(option.name) ?? option.value,
    problem: snapshot.faults.problems[`machine-option:${option.name}`],
    command: (value: string): Command => ({ kind: "set", field: "machine-option", name: option.name, value }),
  };
  if (option.kind === "choice")
    return <MenuControl {...common} choices={option.choices.map((name) => ({ name, title: name, about: "" }))} />;
  return <TextControl {...common} numeric={option.kind === "number"} whenDone={option.kind === "text"} title={option.title} />;
}

/** Opens a machine file of the person's own computer. */
function OpenMachine(): JSX.Element {
  const { connection } = useView();
  const input = useRef<HTMLInputElement>(null);
  const [problem, setProblem] = useState("");
  const read = async (file: File): Promise<void> => {
    if (file.size > LARGEST_FILE) {
      setProblem(`${file.name} has ${formatBytes(file.size)}; a machine file has at most ${formatBytes(LARGEST_FILE)}`);
      return;
    }
    try {
      const text = await file.text();
      setProblem("");
      connection.send({ kind: "open-machine", name: file.name, text });
    } catch (error) {
      setProblem(`${file.name} cannot be read: ${error instanceof Error ? error.message : String(error)}`);
    }
  };
  const { refusal } = connection.snapshot?.frame ?? { refusal: null };
  const refused =
    refusal !== null && refusal.kind === "open-machine" && refusal.client === connection.client ? refusal.message : "";
  const message = problem !== "" ? problem : refused;
  return (
    <>
      <Button label="Open a machine file…" testid="open-machine" onClick={() => input.current?.click()} />
      <input
        ref={input}
        type="file"
        class="iv-hidden"
        accept=".json,application/json"
        data-testid="machine-file"
        tabIndex={-1}
        aria-label="Machine file"
        onChange={(event) => {
          const file = event.currentTarget.files?.[0];
          event.currentTarget.value = ""; // the same file may be opened again
          if (file !== undefined) void read(file);
        }}
      />
      <p class="iv-array-problem" data-testid="error-machine-file" role={message === "" ? undefined : "alert"}>
        {message}
      </p>
    </>
  );
}

function Planner(): JSX.Element {
  const { connection, snapshot } = useView();
  const { settings } = connection;
  const { problems } = snapshot.faults;
  const planners = snapshot.menus.planners.map((entry) => ({ ...entry, about: glossary[entry.name as TermName] ?? entry.about }));
  return (
    <fieldset class="iv-array-group">
      <legend>
        <Term name="planner">Planner</Term> and limits
      </legend>
      <MenuControl
        name="planner"
        label="Planner"
        hideLabel
        value={settings.planner}
        choices={planners}
        problem={problems.planner}
        command={(value) => ({ kind: "set", field: "planner", value })}
      />
      <div class="iv-machine-options">
        <TextControl
          name="slot-limit"
          label={<Term name="slot limit">Slot limit</Term>}
          placeholder="32 MiB"
          value={settings.slotLimit}
          problem={problems["slot-limit"]}
          command={(value) => ({ kind: "set", field: "slot-limit", value })}
        />
        <TextControl
          name="memory-limit"
          label={<Term name="memory limit">Memory limit</Term>}
          placeholder="no limit"
          value={settings.memoryLimit}
          problem={problems["memory-limit"]}
          command={(value) => ({ kind: "set", field: "memory-limit", value })}
        />
        <TextControl
          name="reuse"
          label={<Term name="reuse">Reuse</Term>}
          placeholder="one start"
          value={settings.reuse}
          problem={problems.reuse}
          command={(value) => ({ kind: "set", field: "reuse", value })}
        />
      </div>
    </fieldset>
  );
}
