// One toolbar for the pictures of both ends: the way they are drawn, what colours say, the player, the part, the zoom, and the rest.
import type { ComponentChildren, JSX } from "preact";
import { Icon, type IconName } from "#lib/icon.tsx";
import { entryFrom, shownFrom } from "#model/entries.ts";
import { type ChunkNumbers, chunkOf } from "#model/layouts/chunks.ts";
import type { Linearization } from "#model/layouts/linearization.ts";
import { type Extent, usePictureWay, type Way } from "#model/picture-way.ts";
import { useSelection } from "#model/selection.ts";
import type { Side } from "#model/settings.ts";
import { type Change, ColourMenu, Drop, MoreControls } from "./controls.tsx";
import type { Lens } from "./lens.ts";
import type { ViewOptions } from "./options.ts";
import { Player } from "./player.tsx";

interface ToolbarProps {
  /** The layout that menus are about, and the layouts whose orders can be played. */
  linear: Linearization;
  ends: Readonly<Partial<Record<Side, Linearization>>>;
  options: ViewOptions;
  change: Change;
  /** The dimensions that are drawn. */
  dims: readonly string[];
  chunks: ChunkNumbers | null;
  /** Whether there is a path, and so a block. */
  hasBlock: boolean;
  hasValues: boolean;
  /** Whether the other end is drawn beside this one. */
  hasTwin: boolean;
  lens: Lens;
  /** Chooses what moves of the array; null where that is not offered. */
  part?: { readonly words: string; readonly everything: () => void } | null;
  /** False where the way is chosen elsewhere on the screen. */
  ways?: boolean;
  /** Pins and lets go the layouts that are shown. */
  compare?: JSX.Element | null;
  /** What else stands at the right. */
  children?: ComponentChildren;
}

const WAYS: readonly (readonly [Way, string, string])[] = [
  ["index", "by index", "The array, coloured by address"],
  ["address", "by address", "Memory byte after byte, coloured by what lies there"],
  ["both", "both, with lines", "The array and its memory, with lines from one to the other"],
];
const EXTENTS: readonly (readonly [Extent, string, string])[] = [
  ["whole", "whole", "All of the array"],
  ["block", "one block", "One block, as it moves along the path"],
];

/** How layouts are drawn, in every view. */
export function WayChoice(): JSX.Element {
  const { way, change } = usePictureWay();
  return <Choice label="How layouts are drawn" name="way" choices={WAYS} value={way} set={(next) => change({ way: next })} />;
}

export function Toolbar(props: ToolbarProps): JSX.Element {
  const { linear, ends, options, change, dims, chunks, lens, part = null } = props;
  const picture = usePictureWay();
  const [selection, select] = useSelection();
  const selected = entryFrom(linear, selection.entry);
  const hasChunks = chunks !== null && chunks.count > 1;
  const controls = {
    ...{ linear, options, dims, hasChunks, change, way: picture.way },
    hasValues: props.hasValues,
    hasTwin: props.hasTwin,
  };
  const marking =
    hasChunks && (selected !== null || selection.chunk !== null)
      ? {
          on: selection.chunk !== null,
          set: (on: boolean) =>
            select({
              chunk: on && selected !== null ? chunkOf(chunks, linear.dims, selected.index, selected.field) : null,
            }),
        }
      : null;
  const played = ends[options.plays] ?? linear;
  const both = ends.source !== undefined && ends.destination !== undefined;
  return (
    <div class="iv-lin-bar" data-toolbar role="group" aria-label="How the pictures are drawn" data-testid="linearization-toolbar">
      {props.ways !== false && <WayChoice />}
      {props.hasBlock && (
        <Choice
          label="How much is drawn"
          name="extent"
          choices={EXTENTS}
          value={options.extent ?? picture.extent}
          set={(extent) => {
            picture.change({ extent });
            change({ extent: null });
          }}
        />
      )}
      <ColourMenu {...controls} lying={picture.lying} lie={(lying) => picture.change({ lying })} />
      <Player
        linear={played}
        selected={selection.entry === null ? null : entryFrom(played, selection.entry)}
        onSelect={(entry) => select({ entry: shownFrom(played, entry) })}
        playing={options.playing}
        play={(playing) => change({ playing })}
      />
      <Drop label="More about the pictures">
        <MoreControls {...controls} marking={marking} plays={both} />
        {props.compare}
      </Drop>
      {picture.way !== "address" && (
        <>
          {part !== null && (
            <span class="iv-lin-part" role="group" aria-label="Part">
              {part.words !== "" && (
                <button
                  type="button"
                  class="iv-lin-button iv-lin-wide-button"
                  title={`Moves ${part.words}. Move everything instead`}
                  data-testid="linearization-everything"
                  onClick={part.everything}
                >
                  All
                </button>
              )}
              <Tool
                label="Choose a part: drag on the source, or move it on the destination"
                icon="part"
                testid="linearization-part"
                pressed={options.choosing}
                onClick={() => change({ choosing: !options.choosing })}
              />
            </span>
          )}
          <span class="iv-lin-zoom" role="group" aria-label="Zoom">
            <Tool label="Zoom out" icon="minus" onClick={() => lens.zoom(1 / 1.6, options.linked)} />
            <Tool label="Zoom in" icon="add" onClick={() => lens.zoom(1.6, options.linked)} />
            <Tool label="Show the whole grid" icon="fit" onClick={() => lens.fit()} />
          </span>
        </>
      )}
      <span class="iv-lin-tools">{props.children}</span>
    </div>
  );
}

interface ChoiceProps<Value extends string> {
  label: string;
  name: string;
  choices: readonly (readonly [Value, string, string])[];
  value: Value;
  set: (value: Value) => void;
}

/** Buttons beside each other for the values of a choice. The chosen one is pressed. */
function Choice<Value extends string>({ label, name, choices, value, set }: ChoiceProps<Value>): JSX.Element {
  return (
    <span class="iv-lin-choice" role="group" aria-label={label}>
      {choices.map(([each, words, title]) => (
        <button
          key={each}
          type="button"
          aria-pressed={each === value}
          title={title}
          data-testid={`${name}-${each}`}
          onClick={() => set(each)}
        >
          {words}
        </button>
      ))}
    </span>
  );
}

interface ToolProps {
  label: string;
  icon: IconName;
  testid?: string;
  pressed?: boolean;
  onClick: () => void;
}

function Tool({ label, icon, testid, pressed, onClick }: ToolProps): JSX.Element {
  return (
    <button
      type="button"
      class="iv-lin-button"
      aria-label={label}
      title={label}
      aria-pressed={pressed}
      data-testid={testid}
      onClick={onClick}
    >
      <Icon name={icon} />
    </button>
  );
}
