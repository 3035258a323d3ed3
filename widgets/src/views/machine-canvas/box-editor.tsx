// What a selected box holds, and the channels of a selected bundle.
import type { JSX } from "preact";
import type { CanvasPart } from "#model/types.ts";
import { counted, formatRate } from "#model/units.ts";
import { Term } from "#views/controls/term.tsx";
import { amountOf } from "./box-shape.tsx";
import type { Box } from "./boxes.ts";
import { useEditing } from "./edits.ts";
import { PartLink } from "./part-link.tsx";
import { type Bundle, bundleWords, type Edge, endName } from "./scene.ts";

/** Channels of a kind that are listed at once. */
const MOST_LISTED = 8;
/** Resources that are listed one by one; more of them are listed by family. */
const MOST_APART = 12;

export function BoxEditor({ box }: { box: Box }): JSX.Element {
  const { part, choose } = useEditing();
  return (
    <section class="iv-mc-edit" data-testid="edit-box" aria-label={box.within.join(" / ")}>
      <h3>
        <Term name="box">Box</Term> · {box.within.at(-1)}
      </h3>
      <p class="iv-faint">In {[`node ${box.node}`, ...box.within.slice(0, -1)].join(", ")}.</p>
      <ul class="iv-mc-list">
        {box.inner.map(({ key, within, all }) => (
          <li key={key}>
            <button type="button" class="iv-link iv-mc-link" onClick={() => choose({ kind: "box", key })}>
              {within.at(-1)}
            </button>{" "}
            <span class="iv-faint">{all.length > 0 && counted(all.length, "memory", "memories")}</span>
          </li>
        ))}
        {box.memories.map(({ name, kind }) => (
          <li key={name}>
            <PartLink kind="memory" place={part.memories.findIndex((each) => each.name === name)} />{" "}
            <span class="iv-faint">{part.memoryKinds.find((each) => each.name === kind)?.words}</span>
          </li>
        ))}
      </ul>
      <ResourceList places={box.resources} />
      <p class="iv-faint">
        A memory that you add now lies in it. To move one into another box, enter its boxes under <em>Lies in</em>.
      </p>
    </section>
  );
}

/** The channels of a bundle by kind and rate. */
export function BundleEditor({ bundle }: { bundle: Bundle }): JSX.Element {
  const groups = new Map<string, Edge[]>();
  for (const edge of bundle.edges) {
    const title = `${edge.kind} · ${formatRate(edge.rate)}`;
    groups.set(title, [...(groups.get(title) ?? []), edge]);
  }
  return (
    <section class="iv-mc-edit" data-testid="edit-bundle" aria-label="Channels on one line">
      <h3>
        {endName(bundle.from)} {bundle.both ? "↔" : "→"} {endName(bundle.to)}
      </h3>
      <p class="iv-faint">{bundleWords(bundle)}</p>
      {[...groups].map(([title, edges]) => (
        <div key={title}>
          <h4>
            {edges.length} × {title}
          </h4>
          <ul class="iv-mc-list">
            {edges.slice(0, MOST_LISTED).map(({ index }) => (
              <li key={index}>
                <PartLink kind="channel" place={index} />
              </li>
            ))}
          </ul>
          {edges.length > MOST_LISTED && <span class="iv-faint">and {edges.length - MOST_LISTED} more: search finds them</span>}
        </div>
      ))}
    </section>
  );
}

/** Shared resources; of many, each family is one line that opens. */
export function ResourceList({ places }: { places: readonly number[] }): JSX.Element {
  const { part } = useEditing();
  if (places.length <= MOST_APART) return <Resources part={part} places={places} />;
  const families = new Map<string, number[]>();
  for (const place of places) {
    const resource = part.resources[place];
    if (resource === undefined) continue;
    const title = `${resource.name.replace(/^node\d+\./, "").replace(/\d+/g, "*")} · ${amountOf(resource)}`;
    families.set(title, [...(families.get(title) ?? []), place]);
  }
  return (
    <>
      {[...families].map(([title, members]) => (
        <details key={title} class="iv-mc-family">
          <summary>
            {members.length} × {title}
          </summary>
          <Resources part={part} places={members} />
        </details>
      ))}
    </>
  );
}

function Resources({ part, places }: { part: CanvasPart; places: readonly number[] }): JSX.Element {
  return (
    <ul class="iv-mc-list">
      {places.map((place) => {
        const resource = part.resources[place];
        return (
          <li key={place}>
            <PartLink kind="resource" place={place} />{" "}
            {resource !== undefined && <span class="iv-faint">{amountOf(resource)}</span>}
          </li>
        );
      })}
    </ul>
  );
}
