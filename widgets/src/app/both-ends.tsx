// Source and destination: each end is handled where it is seen.
import type { JSX } from "preact";
import { Button } from "#lib/button.tsx";
import { WholeWindow } from "#lib/whole-window.tsx";
import { layoutAtEnd } from "#model/ends.ts";
import type { Side } from "#model/settings.ts";
import { type Cards, useCards } from "#model/shown-stops.ts";
import { counted } from "#model/units.ts";
import { useView } from "#model/view.ts";
import { memoryTitle } from "#model/words.ts";
import { MenuControl } from "#views/controls/menu-control.tsx";
import { Term } from "#views/controls/term.tsx";
import { TextControl } from "#views/controls/text-control.tsx";
import { LayoutEditor } from "#views/layout-editor/layout-editor.tsx";
import { EndCard, EndsTape, EndsToolbar } from "#views/linearization/linearization-view.tsx";
import { StopHead, StopPicker } from "./stop-card.tsx";

export function Ends(): JSX.Element {
  const { connection } = useView();
  const cards = useCards();
  const away = cards.choices.length > 0;
  return (
    <WholeWindow name="both layouts" testid="ends" class={`iv-ends${away ? " iv-ends-away" : ""}`}>
      {(tool, whole) => (
        <>
          <EndsToolbar shown={cards.shown} ways={whole}>
            {tool}
          </EndsToolbar>
          <End side="source" title="Source" cards={cards} />
          <div class="iv-swap">
            <Button
              label="Swap source and destination"
              icon="swap"
              iconOnly
              testid="swap"
              onClick={() => connection.send({ kind: "swap" })}
            />
          </div>
          <End side="destination" title="Destination" cards={cards} />
          <EndsTape shown={cards.shown} />
        </>
      )}
    </WholeWindow>
  );
}

/** An end of the transfer, or the stop that is shown in its place. */
function End({ side, title, cards }: { side: Side; title: string; cards: Cards }): JSX.Element {
  const { snapshot, connection } = useView();
  const on = cards.shown[side];
  const otherSide = side === "source" ? "destination" : "source";
  const beside = cards.shown[otherSide]?.linear;
  if (on !== null) {
    const other = beside ?? layoutAtEnd(connection, snapshot, otherSide).linear;
    const { number, stop } = on.placed;
    return (
      <section
        class="iv-card iv-end"
        data-toolbar
        data-testid={`end-${side}`}
        data-shows={number}
        aria-label={`Stop ${number}, ${stop.words}, in the place of the ${side}`}
      >
        <StopHead side={side} cards={cards} on={on} other={other} />
        <EndCard side={side} shown={cards.shown} />
      </section>
    );
  }
  return (
    <section
      class="iv-card iv-end"
      data-toolbar
      data-testid={`end-${side}`}
      data-shows="end"
      aria-label={`${title} of the transfer`}
    >
      <header class="iv-card-head iv-end-head">
        {cards.choices.length > 0 ? (
          <StopPicker side={side} cards={cards} />
        ) : (
          <h2>
            <Term name={side}>{title}</Term>
          </h2>
        )}
        <MemoryChoice side={side} />
      </header>
      <LayoutEditor side={side} beside={beside} />
      <EndCard side={side} shown={cards.shown} />
    </section>
  );
}

/** Memories of which a menu is read; among more, the name is typed, or the memory is chosen on the drawing of the machine. */
const MOST_LISTED = 400;

function MemoryChoice({ side }: { side: Side }): JSX.Element {
  const { connection, snapshot } = useView();
  const { memories } = snapshot.menus;
  const name: `${Side}-memory` = `${side}-memory`;
  const common = {
    name,
    label: `Memory of the ${side}`,
    hideLabel: true,
    value: connection.settings[side].memory,
    problem: snapshot.faults.problems[name],
    command: (value: string) => ({ kind: "set" as const, field: name, value }),
  };
  if (memories.length > MOST_LISTED)
    return <TextControl {...common} whenDone code title={`One of ${counted(memories.length, "memory", "memories")}`} />;
  return <MenuControl {...common} hideAbout choices={memories.map((entry) => ({ ...entry, title: memoryTitle(entry) }))} />;
}
