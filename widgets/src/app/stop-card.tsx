// A stop between the ends in the place of an end: its layout to look at, in the same grid, tape and player.
import type { JSX } from "preact";
import { Button } from "#lib/button.tsx";
import { dimensionColour } from "#model/colours.ts";
import { keptByBoth } from "#model/ends.ts";
import type { Linearization } from "#model/layouts/linearization.ts";
import { parse, partText } from "#model/layouts/notation.ts";
import type { Side } from "#model/settings.ts";
import type { Cards, StopOnCard } from "#model/shown-stops.ts";
import { useView } from "#model/view.ts";
import { type PlacedStop, whereOf } from "#model/words.ts";
import { Term } from "#views/controls/term.tsx";
import { ChipText } from "#views/layout-editor/chips.tsx";
import { Notes } from "#views/layout-editor/notes.tsx";

function titleOf({ number, place, stop, path }: PlacedStop): string {
  const end = place === 0 ? "Source" : place === path.stops.length - 1 ? "Destination" : `Stop ${number}`;
  return `${end} · ${stop.words}`;
}

/** Chooses the stop that a card shows. */
export function StopPicker({ side, cards }: { side: Side; cards: Cards }): JSX.Element {
  const own = cards.shown[side]?.placed.number;
  const end = side === "source" ? 0 : cards.choices.length - 1;
  return (
    <select
      class="iv-input iv-stop-picker"
      aria-label={side === "source" ? "What the left card shows" : "What the right card shows"}
      data-testid={`shows-${side}`}
      value={String(own ?? end)}
      onChange={(event) => cards.choose(side, Number(event.currentTarget.value))}
    >
      {cards.choices.map((each) => (
        <option key={each.number} value={String(each.number)}>
          {titleOf(each)}
        </option>
      ))}
    </select>
  );
}

interface StopHeadProps {
  side: Side;
  cards: Cards;
  on: StopOnCard;
  /** The layout on the other card. */
  other: Linearization | null;
}

/** What stands above the picture of a stop: which one it is, the way back, its components and what both cards keep. */
export function StopHead({ side, cards, on, other }: StopHeadProps): JSX.Element {
  const { snapshot } = useView();
  const { stop } = on.placed;
  const parts = parse(stop.layout).parts ?? [];
  const kept = other === null ? null : keptByBoth({ linear: on.linear }, { linear: other });
  return (
    <>
      <header class="iv-card-head iv-end-head">
        <StopPicker side={side} cards={cards} />
        <span class="iv-faint iv-stop-where" title={whereOf(stop)}>
          node {stop.node}
        </span>
        <Button label="Back" quiet testid={`back-${side}`} title="Show source and destination (Escape)" onClick={cards.back} />
      </header>
      <div class="iv-edit" data-testid={`stop-layout-${side}`}>
        <div class="iv-edit-top">
          <div class="iv-edit-order">
            <span class="iv-edit-end">
              <Term name="fastest" />
            </span>
            <ol class="iv-edit-chips" aria-label="Components, fastest first">
              {parts.map((part) => (
                <li key={partText(part)} class="iv-edit-item">
                  <span
                    class="iv-edit-chip iv-edit-fixed"
                    style={dimensionColour(snapshot.palette, part === "F" ? "F" : part.dim)}
                  >
                    <ChipText linear={on.linear} part={part} />
                  </span>
                </li>
              ))}
            </ol>
          </div>
        </div>
        <div class="iv-edit-below">
          <Notes kept={kept} linear={on.linear} />
        </div>
      </div>
    </>
  );
}
