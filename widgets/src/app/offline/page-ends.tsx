// Both ends of a saved page, each on its own spaces, as fully interactive pictures.
import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import { useDark } from "#lib/hooks.ts";
import { byName } from "#model/by-name.ts";
import { type Linearization, linearize } from "#model/layouts/linearization.ts";
import { usePointedBytes } from "#model/selection.ts";
import type { Side } from "#model/settings.ts";
import type { PageEnd } from "#model/types.ts";
import { useView } from "#model/view.ts";
import { Term } from "#views/controls/term.tsx";
import { gradient } from "#views/linearization/legend.tsx";
import { Lens } from "#views/linearization/lens.ts";
import { OPTIONS } from "#views/linearization/options.ts";
import { LinearizationView } from "#views/linearization/view.tsx";
import { offsetScale } from "#views/memory/scales.ts";

/** Bytes with padding that a browser can count. */
const MOST = 2 ** 52;

function linearOf(end: PageEnd): Linearization | null {
  const entry = end.fields.reduce((sum, field) => sum + field.size, 0);
  const dims = end.dims.map(([name, size]) => ({ name, size }));
  if (dims.reduce((product, dim) => product * dim.size, entry) >= MOST) return null;
  return linearize(end.layout, dims, end.fields).linear;
}

export function PageEnds({ ends }: { ends: Record<Side, PageEnd> }): JSX.Element {
  const { snapshot } = useView();
  const [options, setOptions] = useState(OPTIONS);
  const linear = useMemo(() => ({ source: linearOf(ends.source), destination: linearOf(ends.destination) }), [ends]);
  const [path] = snapshot.panes.plan?.paths ?? [];
  const chunks = useMemo(
    () => (path === undefined ? null : { digits: path.chunkDigits, perChunk: path.perChunk, count: path.chunks }),
    [path],
  );
  const { source, destination } = linear;
  const exchange = useMemo(() => (source === null || destination === null ? null : ([source, destination] as const)), [linear]);
  const block = useMemo(() => {
    if (path === undefined || source === null) return null;
    const stops = path.stops.flatMap(({ layout }) => linearize(layout, source.dims, source.fields).linear ?? []);
    return stops.length < path.stops.length ? null : { extents: byName(path.block), path: stops };
  }, [path, source]);
  const [lens] = useState(() => new Lens());
  const dark = useDark();
  const [pointed] = usePointedBytes();
  const hops = { source: 0, destination: (snapshot.panes.plan?.paths[0]?.hops.length ?? 1) - 1 };
  const both: readonly [Side, string][] = [
    ["source", "Source"],
    ["destination", "Destination"],
  ];
  return (
    <div class="iv-sides iv-page-ends">
      {both.map(([side, title]) => {
        const own = linear[side];
        const shown = snapshot.panes.layout[side];
        return (
          <section key={side} data-testid={`page-end-${side}`} aria-label={`${title} of the transfer`}>
            <h3>
              <Term name={side}>{title}</Term> <code>{shown?.pretty ?? ends[side].layout}</code>
            </h3>
            {ends[side].listed !== null && (
              <p class="iv-faint" data-testid={`listed-${side}`}>
                The entries of the list have colours in the order in which they move: first{" "}
                <i class="iv-lin-ramp" style={{ background: gradient(offsetScale(dark)) }} /> last.
              </p>
            )}
            {ends[side].moved !== "" && <p class="iv-faint">Moves: {ends[side].moved}</p>}
            {own === null ? (
              <p class="iv-faint">This array is too large to be drawn.</p>
            ) : (
              <LinearizationView
                linear={own}
                other={linear[side === "source" ? "destination" : "source"]}
                side={side}
                palette={snapshot.palette}
                chunks={chunks}
                ends={exchange}
                block={block}
                values={null}
                options={options}
                lens={lens}
                onOptions={(change) => setOptions({ ...options, ...change })}
                bytesAt={pointed?.hop === hops[side] ? (pointed?.[side] ?? null) : ends[side].listed}
                title={title}
                numpy={shown?.numpy ?? ""}
              />
            )}
          </section>
        );
      })}
    </div>
  );
}
