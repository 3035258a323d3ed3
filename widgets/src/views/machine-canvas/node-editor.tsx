// What can be changed of a node, of a shared resource, and of the machine as a whole.
import type { JSX } from "preact";
import { useContext, useState } from "preact/hooks";
import { Button } from "#lib/button.tsx";
import { useId } from "#lib/use-id.ts";
import { isGiven } from "#model/fixed.ts";
import type { DrawnResource, MachinePart, SetResource } from "#model/types.ts";
import { counted, formatRate } from "#model/units.ts";
import { useView } from "#model/view.ts";
import { plainTimes } from "#model/words.ts";
import { Term } from "#views/controls/term.tsx";
import { ResourceList } from "./box-editor.tsx";
import { useEditing } from "./edits.ts";
import { Field, GivenContext, GivenLine, Refused, Tick, WithinField } from "./field.tsx";
import { PartLink } from "./part-link.tsx";

export function NodeEditor({ node }: { node: number }): JSX.Element {
  const { part, send, problem } = useEditing();
  const [times, setTimes] = useState("1");
  const id = useId();
  const { snapshot } = useView();
  const given = part.memories.some((memory) => memory.node === node && isGiven(snapshot, "memory", memory.name));
  const members = part.memories.flatMap((memory, place) => (memory.node === node ? [place] : []));
  return (
    <section class="iv-mc-edit" data-testid="edit-node" aria-label={`Node ${node}`}>
      <h3>
        <Term name="node">Node</Term> {node}
      </h3>
      <ul class="iv-mc-list">
        {members.map((place) => (
          <li key={place}>
            <PartLink kind="memory" place={place} />{" "}
            <span class="iv-faint">{part.memoryKinds.find(({ name }) => name === part.memories[place]?.kind)?.words}</span>
          </li>
        ))}
      </ul>
      <div class="iv-mc-row">
        <label for={id}>Copies</label>
        <input
          id={id}
          class="iv-input iv-mc-short"
          type="text"
          inputMode="numeric"
          data-testid="copy-times"
          value={times}
          aria-invalid={problem("copy-node") !== ""}
          onInput={(event) => setTimes(event.currentTarget.value)}
          onKeyDown={(event) => {
            event.stopPropagation();
            if (event.key === "Enter") send("copy-node", { do: "copy-node", node, value: times });
          }}
        />
        <Button
          label="Copy this node"
          testid="copy-node"
          onClick={() => send("copy-node", { do: "copy-node", node, value: times })}
        />
      </div>
      <p class="iv-faint">A copy has the same memories and channels, and is joined to the other nodes as this one is.</p>
      <Refused name="copy-node" />
      {!given && (
        <div class="iv-mc-row">
          <Button
            label="Delete node"
            testid="delete-node"
            onClick={() => send("delete-node", { do: "delete-node", node, value: "" })}
          />
        </div>
      )}
      <Refused name="delete-node" />
    </section>
  );
}

export function ResourceEditor({ resource, place }: { resource: DrawnResource; place: number }): JSX.Element {
  const { part, send } = useEditing();
  const set =
    (field: SetResource["field"]) =>
    (value: string): SetResource => ({ do: "set-resource", resource: resource.name, field, value });
  const users = part.channels.flatMap((channel, index) => (channel.uses.some(([used]) => used === place) ? [index] : []));
  return (
    <section class="iv-mc-edit" data-testid="edit-resource" aria-label={`Shared resource ${resource.name}`}>
      <h3>
        <Term name="resource">Shared resource</Term>
      </h3>
      <GivenLine />
      <Field name="resource-name" label="Name" value={resource.name} edit={set("name")} />
      <Field
        name="resource-capacity"
        label={<Term name="resource capacity">Capacity</Term>}
        value={resource.held ? String(resource.capacity) : formatRate(resource.capacity)}
        edit={set("capacity")}
      />
      <Field
        name="resource-node"
        label={<Term name="node">Node</Term>}
        value={String(resource.node ?? "")}
        edit={set("node")}
        placeholder="none"
      />
      {resource.node !== null && <WithinField name="resource-within" within={resource.within} edit={set("within")} />}
      <Tick
        name="resource-held"
        label="held for as long as a channel works"
        checked={resource.held}
        turn={(on) => send("resource", set("held")(on ? "yes" : "no"))}
      />
      <p class="iv-faint">{users.length === 0 ? "No channel uses it." : `Used by ${counted(users.length, "channel")}:`}</p>
      <ul class="iv-mc-list">
        {users.slice(0, 12).map((index) => (
          <li key={index}>
            <PartLink kind="channel" place={index} />
          </li>
        ))}
      </ul>
      {!useContext(GivenContext) && (
        <div class="iv-mc-row">
          <Button
            label="Delete resource"
            testid="delete-resource"
            onClick={() => send("resource", { do: "delete", memories: [], channels: [], resources: [resource.name] })}
          />
        </div>
      )}
      <Refused name="resource" />
    </section>
  );
}

export function MachineOverview({ machine }: { machine: MachinePart }): JSX.Element {
  const { part, send, expect } = useEditing();
  return (
    <section class="iv-mc-edit" data-testid="edit-machine" aria-label={`Machine ${machine.name}`}>
      <h3>
        <Term name="machine">Machine</Term>
      </h3>
      <Field name="machine-name" label="Name" value={machine.name} edit={(value) => ({ do: "name-machine", value })} />
      <p class="iv-faint">
        {counted(machine.memories, "memory", "memories")}, {counted(machine.channels, "channel")}
        {machine.provenance !== "" && <>. Figures: {plainTimes(machine.provenance)}</>}
      </p>
      <h4>
        <Term name="resource">Shared resources</Term>
      </h4>
      {part.resources.length === 0 && <p class="iv-faint">None: every channel has its whole throughput for itself.</p>}
      <ResourceList places={part.resources.map((_, place) => place)} />
      <div class="iv-mc-row">
        <Button
          label="Add a shared resource"
          icon="add"
          testid="add-resource"
          onClick={() => {
            expect("resource");
            send("add-resource", { do: "add-resource", channel: "" });
          }}
        />
      </div>
      <Refused name="add-resource" />
      <p class="iv-faint">
        Select a memory, a channel or a node to change it. Keys on a memory: arrows go on, Shift and arrows move it, C draws a
        channel, B and N select its box and its node, F2 renames, Delete deletes.
      </p>
    </section>
  );
}
