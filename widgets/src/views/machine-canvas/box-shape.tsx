// Nodes and the boxes in them on the canvas: a frame, and a head with a title and the shared resources that lie there.
import type { JSX } from "preact";
import type { DrawnResource } from "#model/types.ts";
import { counted, formatRate } from "#model/units.ts";
import { type Box, tagsOf } from "./boxes.ts";
import { useEditing } from "./edits.ts";

interface BoxProps {
  box: Box;
  chosen: boolean;
  /** Resources that the plan uses. */
  used: ReadonlySet<number>;
}

/** The frame of a box; that of a node has its head. */
export function BoxFrame({ box, chosen, used, reached }: BoxProps & { reached: boolean }): JSX.Element {
  const state = chosen ? " iv-mc-chosen" : "";
  const depth = box.within.length;
  if (depth > 0)
    return <div class={`iv-mc-box${depth % 2 === 1 ? " iv-mc-odd" : ""}${state}`} data-box={box.key} aria-hidden="true" />;
  const remark = remarkOf(box.all);
  return (
    <div class={`iv-mc-node${state}`} data-box={box.key}>
      <button
        type="button"
        class="iv-mc-title"
        data-of={box.key}
        data-testid={`canvas-node-${box.key}`}
        aria-pressed={chosen}
        tabIndex={reached ? 0 : -1}
      >
        node {box.node}
        {remark !== "" && <span class="iv-mc-remark"> {remark}</span>}
        <span class="iv-mc-count">{counted(box.all.length, "memory", "memories")}</span>
      </button>
      <Tags box={box} used={used} />
      <div class="iv-mc-node-open" data-of={box.key} aria-hidden="true" />
    </div>
  );
}

/** The head of a box in a node, above the lines. */
export function BoxHead({ box, chosen, used }: BoxProps): JSX.Element {
  const name = box.within.at(-1) ?? "";
  // Where there is little room, the last two words say enough: "switch 3".
  const words = name.split(" ");
  const lead = words.length > 2 ? `${words.slice(0, -2).join(" ")} ` : "";
  return (
    <div class={`iv-mc-head${box.within.length % 2 === 1 ? " iv-mc-odd" : ""}`} data-box={box.key}>
      <button
        type="button"
        class="iv-mc-title"
        data-of={box.key}
        data-testid={`canvas-box-${box.key}`}
        aria-pressed={chosen}
        aria-label={`${name} of node ${box.node}`}
        title={[`node ${box.node}`, ...box.within].join(" / ")}
        tabIndex={-1}
      >
        {lead !== "" && <span class="iv-mc-lead">{lead}</span>}
        {name.slice(lead.length)}
      </button>
      <Tags box={box} used={used} />
    </div>
  );
}

function Tags({ box, used }: { box: Box; used: ReadonlySet<number> }): JSX.Element | null {
  const { part, chosen } = useEditing();
  if (box.resources.length === 0) return null;
  return (
    <span class="iv-mc-tags">
      {tagsOf(box, part.resources).map(({ places, name }) => {
        const [first] = places.flatMap((place) => part.resources[place] ?? []);
        if (first === undefined) return null;
        const selected = chosen.kind === "resource" && places.includes(chosen.place);
        const state = `${selected ? " iv-mc-chosen" : ""}${places.some((place) => used.has(place)) ? " iv-mc-used" : ""}`;
        const names = places.map((place) => part.resources[place]?.name).join(", ");
        return (
          <span
            key={name}
            class={`iv-mc-tag${state}`}
            data-resource={places[0]}
            title={`${names}: ${amountOf(first)}${places.length > 1 ? " each way" : ""}${state.includes("used") ? ", used by the plan" : ""}`}
          >
            <i />
            <span class="iv-mc-tag-text">
              {name} {amountOf(first)}
            </span>
          </span>
        );
      })}
    </span>
  );
}

/** What there is of a resource, in words. */
export const amountOf = ({ capacity, held }: DrawnResource): string => (held ? `amount ${capacity}` : formatRate(capacity));

/** The remark that all memories of a node share, such as their host. */
function remarkOf(members: readonly { label: string }[]): string {
  const label = members[0]?.label ?? "";
  return label !== "" && members.length > 1 && members.every((each) => each.label === label) ? label : "";
}
