// Source and destination: each end is handled where it is seen.
import type { JSX } from "preact";
import { Button } from "#lib/button.tsx";
import type { Side } from "#model/settings.ts";
import { useView } from "#model/view.ts";
import { memoryTitle } from "#model/words.ts";
import { MenuControl } from "#views/controls/menu-control.tsx";
import { Term } from "#views/controls/term.tsx";
import { LayoutEditor } from "#views/layout-editor/layout-editor.tsx";
import { LinearizationView } from "#views/linearization/linearization-view.tsx";

export function Ends(): JSX.Element {
  const { connection } = useView();
  return (
    <div class="iv-ends">
      <End side="source" title="Source" />
      <div class="iv-swap">
        <Button
          label="Swap source and destination"
          icon="swap"
          iconOnly
          testid="swap"
          onClick={() => connection.send({ kind: "swap" })}
        />
      </div>
      <End side="destination" title="Destination" />
    </div>
  );
}

function End({ side, title }: { side: Side; title: string }): JSX.Element {
  const { snapshot, connection } = useView();
  return (
    <section class="iv-card iv-end" data-testid={`end-${side}`} aria-label={`${title} of the transfer`}>
      <header class="iv-card-head iv-end-head">
        <h2>
          <Term name={side}>{title}</Term>
        </h2>
        <MenuControl
          name={`${side}-memory`}
          label={`Memory of the ${side}`}
          hideLabel
          hideAbout
          value={connection.settings[side].memory}
          choices={snapshot.menus.memories.map((entry) => ({ ...entry, title: memoryTitle(entry) }))}
          problem={snapshot.faults.problems[`${side}-memory`]}
          command={(value) => ({ kind: "set", field: `${side}-memory`, value })}
        />
      </header>
      <LayoutEditor side={side} />
      <LinearizationView side={side} compact />
    </section>
  );
}
