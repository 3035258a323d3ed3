// What can be changed of a memory, and the channels that begin and end there.
import type { JSX } from "preact";
import { useContext } from "preact/hooks";
import { Button } from "#lib/button.tsx";
import type { DrawnMemory, SetMemory } from "#model/types.ts";
import { formatBytes, formatRate } from "#model/units.ts";
import { useView } from "#model/view.ts";
import { Term } from "#views/controls/term.tsx";
import { fittingFrom } from "./drawing.tsx";
import { useEditing } from "./edits.ts";
import { Choice, Field, GivenContext, GivenLine, Refused, Tick, WithinField } from "./field.tsx";

const DEVICES: ReadonlyMap<string, string> = new Map([
  ["number", "number of the device"],
  ["directory", "directory"],
  ["text", "name of the device"],
]);
/** Channels that are listed at once. */
const MOST_LISTED = 12;

export function MemoryEditor({ memory, alone }: { memory: DrawnMemory; alone: boolean }): JSX.Element {
  const editing = useEditing();
  const { connection } = useView();
  const { part, send } = editing;
  const set =
    (field: SetMemory["field"]) =>
    (value: string): SetMemory => ({ do: "set-memory", memory: memory.name, field, value });
  const given = useContext(GivenContext);
  const kind = part.memoryKinds.find(({ name }) => name === memory.kind);
  const fitting = fittingFrom(part, memory.name);
  const index = part.memories.indexOf(memory);
  const ends = connection.settings;
  return (
    <section class="iv-mc-edit" data-testid="edit-memory" aria-label={`Memory ${memory.name}`}>
      <h3>
        <Term name="memory">Memory</Term> · {kind?.words ?? memory.kind}
      </h3>
      <GivenLine />
      <Field name="memory-name" label="Name" value={memory.name} edit={set("name")} />
      <Choice
        name="memory-kind"
        label="Kind"
        value={memory.kind}
        choices={part.memoryKinds.map(({ name, words }) => ({ name, title: words }))}
        choose={(value) => send("memory-kind", set("kind")(value))}
      />
      <Field name="memory-node" label={<Term name="node">Node</Term>} value={String(memory.node)} edit={set("node")} />
      <WithinField name="memory-within" within={memory.within} edit={set("within")} />
      <Field
        name="memory-capacity"
        label={<Term name="capacity">Capacity</Term>}
        value={memory.capacity === null ? "" : formatBytes(memory.capacity)}
        edit={set("capacity")}
        placeholder="not limited"
      />
      <Field
        name="memory-slot-limit"
        label={<Term name="slot limit">Slot limit</Term>}
        value={memory.slotLimit === null ? "" : formatBytes(memory.slotLimit)}
        edit={set("slot-limit")}
        placeholder="that of the machine"
      />
      <Field
        name="memory-device"
        label={<Term name="device">Device</Term>}
        value={memory.device}
        edit={set("device")}
        placeholder={DEVICES.get(kind?.device ?? "") ?? ""}
      />
      <Field name="memory-label" label="Remark" value={memory.label} edit={set("label")} />
      <div class="iv-mc-row">
        <Tick
          name="memory-emulated"
          label={<Term name="emulated">emulated</Term>}
          checked={memory.emulated}
          turn={(on) => send("memory-emulated", { do: "emulate", memories: [memory.name], on })}
        />
        <span class="iv-faint">
          {memory.emulated ? "Main memory stands in for it." : memory.here ? "This computer has it." : "This computer lacks it."}
        </span>
      </div>
      {!alone && (
        <div class="iv-mc-row">
          <Button
            label={ends.source.memory === memory.name ? "Is the source" : "Use as source"}
            testid="use-source"
            pressed={ends.source.memory === memory.name}
            onClick={() => connection.send({ kind: "set", field: "source-memory", value: memory.name })}
          />
          <Button
            label={ends.destination.memory === memory.name ? "Is the destination" : "Use as destination"}
            testid="use-destination"
            pressed={ends.destination.memory === memory.name}
            onClick={() => connection.send({ kind: "set", field: "destination-memory", value: memory.name })}
          />
        </div>
      )}
      <h4>Channels</h4>
      <Channels
        title="from here"
        places={part.channels.flatMap((each, place) => (each.source === index ? [place] : []))}
        far="destination"
      />
      <Channels
        title="to here"
        places={part.channels.flatMap((each, place) => (each.destination === index && each.source !== index ? [place] : []))}
        far="source"
      />
      <GivenContext.Provider value={false}>
        <Choice
          name="connect"
          label="Connect to"
          prompt={fitting.size === 0 ? "no memory fits" : "a memory…"}
          value=""
          choices={part.memories
            .filter(({ name }) => fitting.has(name))
            .map(({ name }) => ({ name, title: name === memory.name ? `${name} (itself)` : name }))}
          choose={(destination) => {
            editing.expect("channel");
            send("connect", { do: "connect", source: memory.name, destination, channelKind: "" });
          }}
        />
      </GivenContext.Provider>
      {!given && (
        <div class="iv-mc-row">
          <Button
            label="Delete memory"
            testid="delete-memory"
            onClick={() => send("memory", { do: "delete", memories: [memory.name], channels: [], resources: [] })}
          />
        </div>
      )}
      <Refused name="memory" />
      <Refused name="memory-emulated" />
    </section>
  );
}

function Channels({
  title,
  places,
  far,
}: {
  title: string;
  places: readonly number[];
  far: "source" | "destination";
}): JSX.Element | null {
  const { part, choose } = useEditing();
  if (places.length === 0) return null;
  return (
    <div class="iv-mc-channels">
      <span class="iv-faint">{title}</span>
      <ul>
        {places.slice(0, MOST_LISTED).map((place) => {
          const channel = part.channels[place];
          if (channel === undefined) return null;
          const words = part.channelKinds.find(({ name }) => name === channel.kind)?.words ?? channel.kind;
          return (
            <li key={place}>
              <button
                type="button"
                class="iv-link iv-mc-link"
                title={channel.name}
                onClick={() => choose({ kind: "channel", name: channel.name, place })}
              >
                {words} {far === "destination" ? "→" : "←"} {part.memories[channel[far]]?.name} ·{" "}
                {formatRate(part.functions[channel.function]?.bandwidth ?? 0)}
              </button>
            </li>
          );
        })}
      </ul>
      {places.length > MOST_LISTED && <span class="iv-faint">and {places.length - MOST_LISTED} more: search finds them</span>}
    </div>
  );
}
