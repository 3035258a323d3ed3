// What can be changed of a channel: its figures, its throughput function, the resources that it shares.
import type { JSX } from "preact";
import { useContext } from "preact/hooks";
import { Button } from "#lib/button.tsx";
import type { DrawnChannel, SetChannel } from "#model/types.ts";
import { formatRate, formatSeconds } from "#model/units.ts";
import { plainTimes } from "#model/words.ts";
import { Term } from "#views/controls/term.tsx";
import { CurveEditor, type CurvePointXY } from "./curve-editor.tsx";
import { useEditing } from "./edits.ts";
import { Choice, Field, GivenContext, GivenLine, Refused } from "./field.tsx";
import { PartLink } from "./part-link.tsx";

/** Another channel between the same memories, by its kind. */
function BesideLink({ place }: { place: number }): JSX.Element | null {
  const { part, choose } = useEditing();
  const channel = part.channels[place];
  if (channel === undefined) return null;
  const words = part.channelKinds.find(({ name }) => name === channel.kind)?.words ?? channel.kind;
  return (
    <button
      type="button"
      class="iv-link iv-mc-link"
      title={channel.name}
      onClick={() => choose({ kind: "channel", name: channel.name, place })}
    >
      {words}
    </button>
  );
}

export function ChannelEditor({
  channel,
  operating,
}: {
  channel: DrawnChannel;
  operating: CurvePointXY | null;
}): JSX.Element | null {
  const editing = useEditing();
  const { part, send } = editing;
  const given = useContext(GivenContext);
  const [source, destination] = [part.memories[channel.source], part.memories[channel.destination]];
  const shape = part.functions[channel.function];
  const kind = part.channelKinds.find(({ name }) => name === channel.kind);
  const fitting = part.channelKinds.filter(
    (each) =>
      each.sources.includes(source?.kind ?? "") &&
      each.destinations.includes(destination?.kind ?? "") &&
      each.crosses === (source?.node !== destination?.node),
  );
  const set =
    (field: SetChannel["field"]) =>
    (value: string): SetChannel => ({ do: "set-channel", channel: channel.name, field, value });
  const back = part.channels.find(
    (each) => each.source === channel.destination && each.destination === channel.source && each !== channel,
  );
  const beside = part.channels.flatMap((each, place) =>
    each !== channel && each.source === channel.source && each.destination === channel.destination ? [place] : [],
  );
  const unused = part.resources.filter((_, index) => !channel.uses.some(([used]) => used === index));
  if (source === undefined || destination === undefined || shape === undefined) return null;
  const origin = part.origins[channel.origin] ?? "";
  return (
    <section class="iv-mc-edit" data-testid="edit-channel" aria-label={`Channel ${channel.name}`}>
      <h3>
        <Term name="channel">Channel</Term> · {kind?.words ?? channel.kind}
      </h3>
      <p>
        <PartLink kind="memory" place={channel.source} /> → <PartLink kind="memory" place={channel.destination} />
      </p>
      {beside.length > 0 && (
        <p class="iv-mc-beside" data-testid="beside-channel">
          <span class="iv-faint">Between the same memories:</span>
          {beside.map((place, number) => (
            <span key={place}>
              {number === 0 ? " " : " · "}
              <BesideLink place={place} />
            </span>
          ))}
        </p>
      )}
      <GivenLine />
      <Field name="channel-name" label="Name" value={channel.name} edit={set("name")} />
      {fitting.length > 1 && (
        <Choice
          name="channel-kind"
          label="Kind"
          value={channel.kind}
          choices={fitting.map(({ name, words }) => ({ name, title: words }))}
          choose={(value) => send("channel-kind", set("kind")(value))}
        />
      )}
      {shape.editable && (
        <Field
          name="channel-bandwidth"
          label={<Term name="peak">Bandwidth</Term>}
          value={formatRate(shape.bandwidth)}
          edit={set("bandwidth")}
          placeholder="3 GB/s"
        />
      )}
      {shape.editable && shape.latency !== null && (
        <Field
          name="channel-latency"
          label={<Term name="latency">Latency</Term>}
          value={formatSeconds(shape.latency)}
          edit={set("latency")}
          placeholder="5 µs"
        />
      )}
      <h4>
        <Term name="throughput function">Throughput function</Term>
      </h4>
      <CurveEditor channel={channel.name} shape={given ? { ...shape, editable: false } : shape} operating={operating} />
      <Field
        name="channel-setup"
        label={<Term name="set-up">Set-up</Term>}
        value={formatSeconds(channel.setup)}
        edit={set("setup")}
        placeholder="0 s"
      />
      <Field
        name="channel-conversion-setup"
        label={<Term name="conversion">Conversion</Term>}
        value={formatSeconds(channel.conversionSetup)}
        edit={set("conversion-setup")}
        title="Set-up time that is paid besides where the hop converts the layout"
      />
      <Field
        name="channel-in-flight"
        label={<Term name="in flight">In flight</Term>}
        value={String(channel.inFlight)}
        edit={set("in-flight")}
      />
      <h4>
        <Term name="resource">Shared resources</Term>
      </h4>
      {channel.uses.map(([index = 0, weight]) => {
        const resource = part.resources[index];
        if (resource === undefined) return null;
        return (
          <div key={resource.name} class="iv-mc-use">
            <PartLink kind="resource" place={index} />
            <Field
              name={`use-${resource.name}`}
              label={`Weight of ${resource.name}`}
              hideLabel
              value={String(weight)}
              title={
                resource.held
                  ? "How much of it the channel holds while it works"
                  : "Bytes of the resource for each byte that moves"
              }
              edit={(value) => ({ do: "set-use", channel: channel.name, resource: resource.name, weight: value })}
            />
            {!given && (
              <Button
                label={`${channel.name} no longer uses ${resource.name}`}
                icon="remove"
                iconOnly
                onClick={() => send("use", { do: "set-use", channel: channel.name, resource: resource.name, weight: null })}
              />
            )}
          </div>
        );
      })}
      {!given && (
        <div class="iv-mc-row">
          {unused.length > 0 && (
            <Choice
              name="use"
              label="Use a resource"
              hideLabel
              prompt="Use a resource…"
              value=""
              choices={unused.map(({ name }) => ({ name, title: name }))}
              choose={(value) => send("use", { do: "set-use", channel: channel.name, resource: value, weight: "1" })}
            />
          )}
          <Button
            label="New resource"
            icon="add"
            testid="new-use"
            onClick={() => send("use", { do: "add-resource", channel: channel.name })}
          />
        </div>
      )}
      <Refused name="use" />
      {origin !== "" && <p class="iv-faint">Figures: {plainTimes(origin)}</p>}
      <div class="iv-mc-row">
        {back === undefined && channel.source !== channel.destination && (
          <Button
            label="Add the way back"
            testid="way-back"
            onClick={() => {
              editing.expect("channel");
              send("channel", { do: "connect", source: destination.name, destination: source.name, channelKind: "" });
            }}
          />
        )}
        {!given && (
          <Button
            label="Delete channel"
            testid="delete-channel"
            onClick={() => send("channel", { do: "delete", memories: [], channels: [channel.name], resources: [] })}
          />
        )}
      </div>
      <Refused name="channel" />
    </section>
  );
}
