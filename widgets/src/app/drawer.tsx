// The drawer: what moves, and on which machine. It opens from the title.
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { Button } from "#lib/button.tsx";
import { useView } from "#model/view.ts";
import { MenuControl } from "#views/controls/menu-control.tsx";
import { PartControls } from "#views/transfers/part-controls.tsx";
import { TransferControls } from "#views/transfers/transfers.tsx";
import { ArrayControls } from "./array-controls.tsx";
import { MachineControls } from "./machine-controls.tsx";

export function Drawer({ id, close }: { id: string; close: () => void }): JSX.Element {
  const { snapshot } = useView();
  const box = useRef<HTMLElement>(null);
  useEffect(() => box.current?.focus({ preventScroll: true }), []);
  return (
    <section
      class="iv-drawer"
      id={id}
      ref={box}
      tabIndex={-1}
      data-testid="drawer"
      aria-label="Array, machine and planner"
      onKeyDown={(event) => {
        if (event.key !== "Escape" || event.defaultPrevented) return;
        event.stopPropagation();
        close();
      }}
    >
      <header class="iv-card-head">
        <h2>Array, machine and planner</h2>
        <Button label="Close" icon="remove" iconOnly testid="drawer-close" onClick={close} />
      </header>
      <MenuControl
        name="example"
        label="Begin from"
        value=""
        prompt="Choose an example…"
        choices={snapshot.menus.examples}
        problem={undefined}
        command={(value) => ({ kind: "example", value })}
      />
      <ArrayControls />
      <div class="iv-array">
        <PartControls />
        <TransferControls />
      </div>
      <MachineControls />
    </section>
  );
}
