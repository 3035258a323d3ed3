// Plays and scrubs the order of memory: its position is the selected entry, so that every view follows.
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { wantsStillness } from "#lib/hooks.ts";
import { Icon } from "#lib/icon.tsx";
import { entryText } from "#model/entries.ts";
import type { Linearization } from "#model/layouts/linearization.ts";
import { type Entry, orderLength, positionOf } from "#model/layouts/order.ts";
import { elementFrom } from "#views/linearization/geometry/order.ts";

/** Seconds that a whole order takes, twice as many at most; short ones go a step every quarter of a second. */
const LONGEST = 16;
const SCRUB = 4096;

interface PlayerProps {
  linear: Linearization;
  selected: Entry | null;
  onSelect: (entry: Entry) => void;
  playing: boolean;
  play: (playing: boolean) => void;
}

export function Player({ linear, selected, onSelect, playing, play }: PlayerProps): JSX.Element {
  const length = orderLength(linear);
  const position = selected === null ? 0 : positionOf(linear, selected.index, selected.field);
  const now = useRef({ position, linear, onSelect });
  now.current = { position, linear, onSelect };
  useEffect(() => () => play(false), []);
  useEffect(() => {
    if (!playing) return;
    const ticks = wantsStillness() ? 2 : length <= 4 * LONGEST ? 4 : 20;
    const stride = Math.max(1, Math.floor(length / (LONGEST * ticks)));
    const timer = setInterval(() => {
      const shown = now.current;
      const next = elementFrom(shown.linear, shown.position + stride);
      if (next === null) play(false);
      else shown.onSelect(next);
    }, 1000 / ticks);
    return () => clearInterval(timer);
  }, [playing, length]);
  const most = Math.max(1, Math.min(length - 1, SCRUB));
  const go = (to: number): void => {
    const entry = elementFrom(linear, to) ?? elementFrom(linear, 0);
    if (entry !== null) onSelect(entry);
  };
  const label = playing ? "Pause" : "Play the order in memory";
  return (
    <div class="iv-lin-player">
      <button
        type="button"
        class="iv-lin-button"
        aria-label={label}
        title={label}
        aria-pressed={playing}
        data-testid="linearization-play"
        onClick={() => {
          if (!playing && (selected === null || position >= length - 1)) go(0);
          play(!playing);
        }}
      >
        <Icon name={playing ? "pause" : "run"} />
      </button>
      <input
        type="range"
        min={0}
        max={most}
        step={1}
        value={Math.round((position / Math.max(1, length - 1)) * most)}
        aria-label="Position in the order in memory"
        aria-valuetext={selected === null ? "no entry is selected" : entryText(linear, selected)}
        title="Position in the order in memory"
        data-testid="linearization-scrub"
        onInput={(event) => {
          play(false);
          go(Math.round((Number(event.currentTarget.value) / most) * (length - 1)));
        }}
      />
    </div>
  );
}
