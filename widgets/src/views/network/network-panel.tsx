// What is chosen of the networks, in words: a memory with its place and its tracks, else the networks and all tracks.
import type { JSX } from "preact";
import { Button } from "#lib/button.tsx";
import { proxyWords, type Track, trackColour } from "#model/tracks.ts";
import type { NetworkPart, ShownNetwork } from "#model/types.ts";
import { counted, formatRate, formatShare } from "#model/units.ts";
import { useView } from "#model/view.ts";
import { memoryWords } from "#model/words.ts";
import { addressOf, type NetScene } from "./net-scene.ts";

interface PanelProps {
  part: NetworkPart;
  scene: NetScene;
  tracks: readonly Track[];
  selected: Track | null;
  chosen: string | null;
  choose: (memory: string | null) => void;
  takeTrack: (track: Track | null) => void;
  alone: boolean;
  /** Shows the switch of a Data Vortex at work. */
  watch?: () => void;
}

export function NetworkPanel(props: PanelProps): JSX.Element {
  const { chosen, part, tracks, watch } = props;
  return (
    <aside class="iv-mc-editor" data-testid="network-panel" aria-label="What is chosen of the networks">
      {chosen !== null && <ChosenMemory {...props} memory={chosen} />}
      {tracks.length > 0 && <TrackList {...props} />}
      {part.networks.map((network) => (
        <section key={network.name} class="iv-net-about">
          <h3>{network.name}</h3>
          <p>
            {network.words}, {rateWords(network)}, routing: {network.routing}
            {network.deadLinks.length + network.deadRouters.length > 0 &&
              `; dead: ${counted(network.deadLinks.length, "link")}, ${counted(network.deadRouters.length, "router")}`}
          </p>
          {network.whole !== null && watch !== undefined && (
            <Button label="Watch the switch" testid="net-watch-switch" onClick={watch} />
          )}
        </section>
      ))}
    </aside>
  );
}

/** What a network carries: over each link, or, where all messages share one switch, in all. */
export function rateWords({ rate, whole, sizes: [, heights = 1, , inputs = 1] }: ShownNetwork): string {
  if (whole === null) return `${formatRate(rate)} of data over a link`;
  const ports = heights * inputs;
  const share = (whole / ports / rate).toPrecision(3);
  return `${formatRate(whole)} of data through the whole switch: ${counted(ports, "port")} × ${share} words per cycle × ${formatRate(rate)}, a word in each cycle`;
}

function ChosenMemory({ memory, scene, tracks, choose, alone }: PanelProps & { memory: string }): JSX.Element {
  const { connection, snapshot } = useView();
  const { settings } = connection;
  const address = addressOf(scene, memory);
  const through = tracks.filter(({ path }) => path.stops.some((stop) => stop.memory === memory));
  const use = (side: "source" | "destination"): JSX.Element => (
    <Button
      label={settings[side].memory === memory ? `Is the ${side}` : `Use as ${side}`}
      testid={`net-use-${side}`}
      pressed={settings[side].memory === memory}
      onClick={() => connection.send({ kind: "set", field: `${side}-memory`, value: memory })}
    />
  );
  return (
    <section data-testid="net-chosen" data-memory={memory}>
      <h3>
        {memory} <Button label="Let go" quiet testid="net-let-go" onClick={() => choose(null)} />
      </h3>
      <p>
        {memoryWords(snapshot.menus.memories, memory)}
        {address !== "" && (
          <>
            {" at "}
            <b>{address}</b>
          </>
        )}
        {through.length > 0 && `, on ${through.length === 1 ? `path ${through[0]!.number}` : counted(through.length, "path")}`}
      </p>
      {!alone && !connection.offline && (
        <div class="iv-mc-row">
          {use("source")}
          {use("destination")}
        </div>
      )}
    </section>
  );
}

/** The tracks as a table: what the drawing shows, in words and numbers. */
function TrackList({ tracks, selected, takeTrack }: PanelProps): JSX.Element {
  return (
    <section>
      <h3>{counted(tracks.length, "path")}</h3>
      <ul class="iv-net-tracks" data-testid="net-track-list">
        {tracks.map((track) => (
          <li key={track.number}>
            <button
              type="button"
              class="iv-net-track"
              data-testid={`net-track-${track.number}`}
              aria-pressed={selected?.number === track.number}
              onClick={() => takeTrack(selected?.number === track.number ? null : track)}
            >
              <i style={{ background: `var(${trackColour(track.number)})` }} />
              <b>{track.number}</b>
              <span>{formatShare(track.path.share)}</span>
              <span>{proxyWords(track.proxies.length)}</span>
              <span class="iv-faint">{track.links > 0 && counted(track.links, "link")}</span>
            </button>
          </li>
        ))}
      </ul>
    </section>
  );
}
