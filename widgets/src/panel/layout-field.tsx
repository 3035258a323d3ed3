// A layout as text and as chips, one showing the other; chips are moved with the arrow keys or dragged.
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { dropPlace, layoutText, moved } from "../chips.ts";
import { dimensionColour } from "../components/colours.ts";
import { TextControl } from "../components/text-control.tsx";
import { keys, useView } from "../components/view.ts";
import type { ShownComponent, Side } from "../types.ts";

export function LayoutField({ side }: { side: Side }): JSX.Element {
  const { snapshot } = useView();
  return (
    <>
      <TextControl
        name={`${side}-layout`}
        label="Layout"
        code
        value={snapshot.settings[side].layout}
        problem={snapshot.problems[`${side}-layout`]}
        command={(value) => ({ kind: "set", field: `${side}-layout`, value })}
        title="Fastest-varying component first"
      >
        <Chips side={side} components={snapshot.panes.layout[side]?.components ?? []} stale={snapshot.stale.includes(side)} />
      </TextControl>
    </>
  );
}

function Chips({ side, components, stale }: { side: Side; components: ShownComponent[]; stale: boolean }): JSX.Element | null {
  const { connection, snapshot } = useView();
  // The order on screen runs ahead of the kernel until it has acknowledged the move.
  const [ahead, setAhead] = useState<{ order: ShownComponent[]; number: number } | null>(null);
  const [dragged, setDragged] = useState<number | null>(null);
  const list = useRef<HTMLOListElement>(null);
  const focus = useRef<number | null>(null);
  const order = ahead !== null && ahead.number > connection.acknowledged ? ahead.order : components;

  useEffect(() => {
    if (focus.current === null) return;
    list.current?.querySelectorAll<HTMLElement>("button")[focus.current]?.focus();
    focus.current = null;
  });

  if (components.length === 0 || stale) return null;

  const commit = (next: ShownComponent[]): void => {
    const text = layoutText(next.map((component) => component.text));
    setAhead({ order: next, number: connection.send({ kind: "set", field: `${side}-layout`, value: text }) });
  };
  const move = (from: number, to: number): void => {
    if (to < 0 || to >= order.length) return;
    focus.current = to;
    commit(moved(order, from, to));
  };
  const place = (event: PointerEvent): number => {
    const chips = [...(list.current?.querySelectorAll<HTMLElement>("button") ?? [])];
    const middles = chips
      .filter((_, index) => index !== dragged)
      .map((chip) => chip.getBoundingClientRect())
      .map((box) => box.left + box.width / 2);
    return dropPlace(middles, event.clientX);
  };
  return (
    <div class="iv-chips-line">
      <span class="iv-faint iv-fastest">fastest</span>
      <ol
        class="iv-chips"
        ref={list}
        aria-label={`Components of the ${side} layout, fastest first; arrow keys move them`}
        // The list holds the pointer: a chip that moves in the document would lose it.
        onPointerDown={(event) => {
          const chips = [...event.currentTarget.querySelectorAll("button")];
          const index = chips.findIndex((chip) => chip.contains(event.target as Node));
          if (event.button !== 0 || index < 0) return;
          event.currentTarget.setPointerCapture(event.pointerId);
          setDragged(index);
        }}
        onPointerMove={(event) => {
          if (dragged === null) return;
          const to = place(event);
          if (to !== dragged) {
            setAhead({ order: moved(order, dragged, to), number: Infinity });
            setDragged(to);
          }
        }}
        onPointerUp={() => {
          setDragged(null);
          if (ahead?.number === Infinity) commit(ahead.order);
        }}
        onPointerCancel={() => {
          setDragged(null);
          if (ahead?.number === Infinity) setAhead(null);
        }}
      >
        {order.map((component, index) => (
          <li key={component.text}>
            <button
              {...keys}
              type="button"
              class={`iv-chip${dragged === index ? " iv-dragged" : ""}`}
              style={dimensionColour(snapshot.palette, component.dim)}
              aria-label={`${component.text}, ${index + 1} of ${order.length}`}
              title="Drag, or press ← →, to move"
              onKeyDown={(event) => {
                const step = event.key === "ArrowLeft" ? -1 : event.key === "ArrowRight" ? 1 : 0;
                if (step === 0) return;
                event.preventDefault();
                move(index, index + step);
              }}
            >
              {component.text}
            </button>
          </li>
        ))}
      </ol>
    </div>
  );
}
