// A plan of several paths: parallel tracks from the source to the destination, each as wide as its share of the bytes.
import type { JSX } from "preact";
import { useRef, useState } from "preact/hooks";
import { placeAfter } from "#lib/tabs.tsx";
import { useSelection } from "#model/selection.ts";
import { hopOfTrack, proxyWords, selectedTrack, type Track, trackColour, tracksOf } from "#model/tracks.ts";
import type { PlanPart, ShownStop } from "#model/types.ts";
import { formatBytes, formatRate, formatShare } from "#model/units.ts";
import { useView } from "#model/view.ts";
import { useJourneyMoment } from "#views/timeline/journey-marks.tsx";
import { Strip } from "./strip.tsx";

/** Pixels of all bands together, and of the thinnest one. */
const ALL = 92;
const LEAST = 5;

export function Tracks({ plan }: { plan: PlanPart }): JSX.Element {
  const { snapshot } = useView();
  const [selection, select] = useSelection();
  const [at, setAt] = useState<number | null>(null);
  const box = useRef<HTMLDivElement>(null);
  const moment = useJourneyMoment();
  const tracks = tracksOf(plan, snapshot.panes.network);
  const selected = selectedTrack(tracks, selection);
  const reached = Math.min(tracks.length - 1, at ?? selected?.number ?? 0);
  const [first] = tracks;
  if (first === undefined) return <div />;
  const ends = first.path.stops;
  return (
    <>
      <div
        class="iv-tracks"
        ref={box}
        role="group"
        data-testid="tracks"
        aria-label={`${tracks.length} paths beside each other, as wide as their shares; arrow keys move along, Enter selects`}
        onKeyDown={(event) => {
          const to = placeAfter(event.key, reached, tracks.length);
          if (to === null) return;
          event.preventDefault();
          box.current?.querySelector<HTMLElement>(`[data-track="${to}"]`)?.focus();
        }}
      >
        <End stop={ends[0]} />
        <div class="iv-track-list">
          {tracks.map((track) => (
            <Band
              key={track.number}
              track={track}
              bytes={plan.bytes}
              pressed={selected?.number === track.number}
              faint={selected !== null && selected.number !== track.number}
              chunks={track.path.hops.flatMap((_, place) => {
                const moving = moment?.moving.get(track.firstHop + place);
                return moving === undefined ? [] : [(place + moving.share) / track.path.hops.length];
              })}
              tabIndex={track.number === reached ? 0 : -1}
              onFocus={() => setAt(track.number)}
              onClick={() => select(selected?.number === track.number ? { hop: null, stop: null } : { hop: hopOfTrack(track) })}
            />
          ))}
        </div>
        <End stop={ends.at(-1)} />
      </div>
      {selected === null ? (
        <p class="iv-faint iv-path-head">Select a path to see its stops.</p>
      ) : (
        <div class="iv-path" key={selected.number} data-testid="track-strip">
          <p class="iv-path-head">
            <i class="iv-track-key" style={{ background: `var(${trackColour(selected.number)})` }} /> Path {selected.number} ·{" "}
            {formatShare(selected.path.share)} of the data
          </p>
          <Strip
            path={selected.path}
            name={`Path ${selected.number}`}
            firstStop={selected.firstStop}
            firstHop={selected.firstHop}
          />
        </div>
      )}
    </>
  );
}

function End({ stop }: { stop: ShownStop | undefined }): JSX.Element | null {
  if (stop === undefined) return null;
  return (
    <div class="iv-track-end">
      <b>{stop.words}</b>
      <span class="iv-faint">{stop.where}</span>
    </div>
  );
}

interface BandProps {
  track: Track;
  bytes: number;
  pressed: boolean;
  faint: boolean;
  /** How far the chunks are that are under way at the selected moment, from 0 to 1. */
  chunks: readonly number[];
  tabIndex: number;
  onFocus: () => void;
  onClick: () => void;
}

function Band({ track, bytes, pressed, faint, chunks, ...button }: BandProps): JSX.Element {
  const { number, path, proxies } = track;
  const rate = Math.min(...path.hops.map((hop) => hop.rate));
  const height = Math.max(LEAST, ALL * path.share);
  const words = `Path ${number}: ${formatShare(path.share)}, ${formatBytes(Math.round(bytes * path.share))}, ${proxyWords(proxies.length)}, ${formatRate(rate)}`;
  return (
    <button
      type="button"
      class={`iv-track${faint ? " iv-track-faint" : ""}`}
      data-testid={`track-${number}`}
      data-track={number}
      aria-pressed={pressed}
      aria-label={words}
      title={words}
      style={{ "--iv-track": `var(${trackColour(number)})`, "--iv-track-wide": `${height.toFixed(1)}px` }}
      {...button}
    >
      <b>{number}</b>
      <span class="iv-track-band">
        {proxies.map((name, place) => (
          <i key={name} style={{ left: `${(100 * (place + 1)) / (proxies.length + 1)}%` }} title={`through ${name}`} />
        ))}
        {chunks.map((share, place) => (
          <s key={place} style={{ left: `${(100 * share).toFixed(2)}%` }} />
        ))}
      </span>
      <span class="iv-track-share">{formatShare(path.share)}</span>
      <span class="iv-faint">{proxyWords(proxies.length)}</span>
      <span class="iv-track-rate">{formatRate(rate)}</span>
    </button>
  );
}
