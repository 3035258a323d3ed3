// The layout of one end, by hand: chips in linearization order, the text of the layout, and the controls of a chip.
import type { JSX } from "preact";
import { useRef, useState } from "preact/hooks";
import { useId } from "#lib/use-id.ts";
import { keptByBoth, layoutAtEnd, spacesOf } from "#model/ends.ts";
import type { Linearization } from "#model/layouts/linearization.ts";
import { layoutText, type Part } from "#model/layouts/notation.ts";
import type { Side } from "#model/settings.ts";
import { useView } from "#model/view.ts";
import { Chips } from "./chips.tsx";
import { Notes } from "./notes.tsx";
import { Strip } from "./strip.tsx";
import { TextField } from "./text-field.tsx";
import { partKey } from "./words.ts";

interface LayoutEditorProps {
  side: Side;
  /** The layout of the stop that stands beside this end, in the place of the other one. */
  beside?: Linearization | undefined;
}

export function LayoutEditor({ side, beside }: LayoutEditorProps): JSX.Element {
  const { connection, snapshot } = useView();
  const [selected, select] = useState<string | null>(null);
  const focus = useRef<string | null>(null);
  const id = useId();
  const own = layoutAtEnd(connection, snapshot, side);
  const other = layoutAtEnd(connection, snapshot, side === "source" ? "destination" : "source");
  const kept = snapshot.frame.bothEnds ? keptByBoth(own, beside === undefined ? other : { linear: beside }) : null;
  const { parts, problem, stale } = own;
  const at = selected === null ? -1 : parts.findIndex((part) => partKey(part) === selected);

  const enter = (value: string): void => {
    if (value !== own.text) connection.send({ kind: "set", field: `${side}-layout`, value });
  };
  const change = (next: readonly Part[]): void => enter(layoutText(next));
  return (
    <div
      class="iv-edit"
      role="group"
      aria-label={`Layout of the ${side}`}
      data-testid={`layout-editor-${side}`}
      data-stale={stale ? "true" : "false"}
    >
      <div class="iv-edit-top">
        <Chips
          title={`the ${side} layout`}
          parts={parts}
          palette={snapshot.palette}
          stale={stale}
          prefix={kept?.prefix ?? 0}
          suffix={kept === null || kept.same ? 0 : kept.suffix}
          selected={at >= 0 && problem === null ? selected : null}
          stripId={`${id}-strip`}
          onSelect={select}
          onChange={change}
          linear={own.linear}
          focus={focus}
        />
        <TextField
          id={id}
          testid={`${side}-layout`}
          label={`Layout of the ${side} as text`}
          text={own.text}
          problem={problem}
          problemId={`${id}-problem`}
          onText={enter}
          onFocus={() => select(null)}
        />
      </div>
      <div class="iv-edit-below">
        {problem !== null ? (
          <p class="iv-edit-problem" id={`${id}-problem`} data-testid={`error-${side}-layout`} role="alert">
            {problem.message}
          </p>
        ) : (
          !connection.quiet && <Notes kept={kept} linear={own.linear} />
        )}
        {problem === null && at >= 0 && (
          <Strip
            id={`${id}-strip`}
            parts={parts}
            at={at}
            spaces={own.linear ?? spacesOf(connection.settings, snapshot)}
            palette={snapshot.palette}
            onChange={(next, key) => {
              change(next);
              select(key);
            }}
            onClose={() => {
              focus.current = selected;
              select(null);
            }}
          />
        )}
      </div>
    </div>
  );
}
