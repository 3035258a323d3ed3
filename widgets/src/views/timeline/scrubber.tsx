// Plays and scrubs the time: the selected moment, which every view of the session shows.
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { wantsStillness } from "#lib/hooks.ts";
import { Icon } from "#lib/icon.tsx";
import { useSelection } from "#model/selection.ts";
import { momentText, type Span } from "./span.ts";

/** Seconds in which the part that is shown passes by at speed 1. */
const LONG = 10;
const SPEEDS = [0.25, 0.5, 1, 2, 4] as const;
const STEPS = 10_000;

interface ScrubberProps {
  whole: number;
  span: Span;
  /** Moves the part that is shown to where the time has come. */
  follow: (time: number) => void;
  /** What moves at the selected moment. */
  told: string;
}

export function Scrubber({ whole, span, follow, told }: ScrubberProps): JSX.Element {
  const [selection, select] = useSelection();
  const [playing, setPlaying] = useState(false);
  const [speed, setSpeed] = useState(1);
  const time = selection.time === null ? 0 : Math.max(0, Math.min(whole, selection.time));
  const now = useRef({ time, whole, span, speed, select, follow });
  now.current = { time, whole, span, speed, select, follow };
  useEffect(() => {
    if (!playing) return;
    let last = performance.now();
    const timer = setInterval(
      () => {
        const shown = now.current;
        const moment = performance.now();
        const next = shown.time + (((moment - last) / 1000) * shown.speed * (shown.span.to - shown.span.from)) / LONG;
        last = moment;
        if (next >= shown.whole) {
          setPlaying(false);
          shown.select({ time: shown.whole });
          return;
        }
        shown.select({ time: next }, true);
        shown.follow(next);
      },
      wantsStillness() ? 500 : 33,
    );
    return () => {
      clearInterval(timer);
      now.current.select({ time: now.current.time }); // where it has come to rest
    };
  }, [playing]);
  const label = playing ? "Pause" : "Play the transfer";
  const resolution = (span.to - span.from) / 500;
  const text = momentText(time, resolution);
  return (
    <div class="iv-tl-scrubber">
      <button
        type="button"
        class="iv-button iv-icon-button"
        data-testid="timeline-play"
        aria-label={label}
        title={label}
        aria-pressed={playing}
        onClick={() => {
          if (!playing && time >= whole) select({ time: 0 }, true);
          if (!playing) follow(time >= whole ? 0 : time);
          setPlaying(!playing);
        }}
      >
        <Icon name={playing ? "pause" : "run"} />
      </button>
      <select
        class="iv-input iv-tl-speed"
        aria-label="Speed"
        title={`At 1 ×, the part that is shown passes by in ${LONG} seconds`}
        data-testid="timeline-speed"
        value={String(speed)}
        onChange={(event) => setSpeed(Number(event.currentTarget.value))}
      >
        {SPEEDS.map((each) => (
          <option key={each} value={String(each)}>
            {each} ×
          </option>
        ))}
      </select>
      <input
        type="range"
        class="iv-tl-slider"
        min={0}
        max={STEPS}
        step={1}
        value={Math.round((time / (whole || 1)) * STEPS)}
        aria-label="Moment of the transfer"
        aria-valuetext={selection.time === null ? "no moment is selected" : `${text}: ${told}`}
        title="Moment of the transfer"
        data-testid="timeline-scrub"
        onInput={(event) => {
          setPlaying(false);
          const to = (Number(event.currentTarget.value) / STEPS) * whole;
          select({ time: to });
          follow(to);
        }}
      />
      <output class="iv-tl-time" data-testid="timeline-time">
        {selection.time === null ? "–" : text}
      </output>
    </div>
  );
}
