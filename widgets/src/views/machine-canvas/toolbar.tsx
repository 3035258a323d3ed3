// Where a machine comes from and goes to, and what can be added to it.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { Button } from "#lib/button.tsx";
import { ErrorLine } from "#lib/error-line.tsx";
import { chosenFile, type News, save } from "#model/exports.ts";
import { glossary } from "#model/glossary.ts";
import { useView } from "#model/view.ts";
import { MenuControl } from "#views/controls/menu-control.tsx";
import { type Chosen, useEditing } from "./edits.ts";
import { Refused } from "./field.tsx";
import { Search } from "./search.tsx";
import { Outline } from "./shape.tsx";

interface ToolbarProps {
  /** Adds a memory of a kind; where it was dropped, if it was dragged onto the drawing. */
  add: (kind: string, dropped: { clientX: number; clientY: number } | null) => void;
  go: (chosen: Chosen) => void;
}

export function Toolbar({ add, go }: ToolbarProps): JSX.Element {
  const { connection, snapshot } = useView();
  const editing = useEditing();
  const [news, setNews] = useState<News | null>(null);
  const { machine } = connection.settings;
  const { canUndo, canRedo, step, settled, refusal } = snapshot.frame;
  // Another machine would lack what was given.
  const given = (snapshot.frame.fixed?.memories.length ?? 0) > 0;
  const presets = snapshot.menus.machines.map((entry) => (entry.name === "local" ? { ...entry, title: "this computer" } : entry));
  const described = { name: `described:${machine.name}`, title: machine.name, about: "" };
  const named = machine.kind === "preset" || machine.kind === "measured";
  const refused =
    refusal !== null && ["open-machine", "measure"].includes(refusal.kind) && refusal.client === connection.client
      ? refusal.message
      : "";
  const measuring = !settled && step.startsWith("Measuring");
  const measure = (): void => {
    if (machine.kind !== "measured") connection.send({ kind: "set", field: "machine", value: "local" });
    connection.send({ kind: "measure" });
  };
  const open = async (): Promise<void> => {
    const file = await chosenFile(".json,application/json");
    if (file !== null) connection.send({ kind: "open-machine", name: file.name, text: file.text });
  };
  return (
    <div class="iv-mc-toolbar">
      <div class="iv-mc-row">
        {!given && (
          <>
            <Button
              label="New machine"
              icon="add"
              testid="new-machine"
              onClick={() => editing.send("new-machine", { do: "new" })}
            />
            <MenuControl
              name="canvas-machine"
              label="Machine"
              hideLabel
              hideAbout
              value={named ? machine.name : described.name}
              choices={named ? presets : [described, ...presets]}
              problem={undefined}
              command={(value) => ({ kind: "set", field: "machine", value })}
            />
            <Button label="Open…" testid="canvas-open" onClick={() => void open()} />
          </>
        )}
        <Button label="Save" testid="canvas-save" onClick={() => void save(connection, "machine").then(setNews)} />
        {!given && (
          <Button
            label={machine.kind === "measured" ? "Measure again" : "Measure this computer"}
            testid="canvas-measure"
            title={glossary.probe}
            onClick={measure}
          />
        )}
        <span class="iv-mc-spread" />
        <Search go={go} />
      </div>
      <div class="iv-mc-row" role="group" aria-label="Add to the machine">
        <span class="iv-faint">Add</span>
        {editing.part.memoryKinds.map(({ name, words }) => (
          <button
            key={name}
            type="button"
            class="iv-button iv-mc-add"
            data-testid={`add-${name}`}
            title={`Add ${words}: click, or drag it onto the drawing`}
            onClick={(event) => {
              if (event.detail === 0) add(name, null); // by key; the pointer is below
            }}
            onPointerDown={(event) => {
              if (event.button === 0) event.currentTarget.setPointerCapture(event.pointerId);
            }}
            onPointerUp={(event) => {
              const box = event.currentTarget.getBoundingClientRect();
              const here =
                event.clientX >= box.left &&
                event.clientX <= box.right &&
                event.clientY >= box.top &&
                event.clientY <= box.bottom;
              add(name, here ? null : event);
            }}
          >
            <Outline kind={name} />
            <span>{words}</span>
          </button>
        ))}
        <Button
          label="Node"
          icon="add"
          testid="add-node"
          title="Add a node with main memory"
          onClick={() => {
            editing.expect("memory");
            editing.send("add", { do: "add-node" });
          }}
        />
        <span class="iv-mc-spread" />
        <Button
          label="Arrange"
          testid="arrange"
          title="Place all memories by kind and node"
          onClick={() => editing.send("add", { do: "arrange" })}
        />
        <Button
          label="Undo"
          icon="undo"
          iconOnly
          testid="canvas-undo"
          disabled={!canUndo}
          onClick={() => connection.send({ kind: "undo" })}
        />
        <Button
          label="Redo"
          icon="redo"
          iconOnly
          testid="canvas-redo"
          disabled={!canRedo}
          onClick={() => connection.send({ kind: "redo" })}
        />
      </div>
      {measuring && (
        <p class="iv-mc-progress" data-testid="measuring" role="status">
          {step}…
          <Button label="Cancel" testid="cancel-measuring" onClick={() => connection.send({ kind: "cancel" })} />
        </p>
      )}
      {refused !== "" && <ErrorLine name="canvas-machine">{refused}</ErrorLine>}
      <Refused name="new-machine" />
      <Refused name="add" />
      {news !== null && (
        <p class={news.good ? "iv-faint" : "iv-problem"} role="status">
          {news.text}
        </p>
      )}
    </div>
  );
}
