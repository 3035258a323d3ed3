// The array by index, coloured by field: it says nothing of where entries lie in memory, neither to the eye nor to the ear nor to the
// keys. It is the same picture for every layout, as it is drawn from one that all arrays have.
import type { JSX } from "preact";
import { useCallback, useMemo, useRef } from "preact/hooks";
import { byName } from "#model/by-name.ts";
import { entryText } from "#model/entries.ts";
import { type Linearization, linearize } from "#model/layouts/linearization.ts";
import type { Dimension, Field } from "#model/layouts/spaces.ts";
import { formatCount } from "#model/units.ts";
import type { LayoutPicture } from "#views/linearization/drawing/picture.ts";
import { useLayoutPicture } from "#views/linearization/drawing/picture.ts";
import { Slices } from "./controls.tsx";
import { Grid } from "./grid.tsx";
import { Fields } from "./legend.tsx";
import { Lens, type Zoomer } from "./lens.ts";
import type { Places } from "./memory.tsx";
import { OPTIONS, type ViewOptions } from "./options.ts";
import { type LinearizationProps, useInk, useMarks } from "./view.tsx";

const QUIET: ViewOptions = { ...OPTIONS, colour: "field", numbers: "none", order: false, runs: false, chunks: false };

export function QuietView(props: LinearizationProps): JSX.Element {
  const { palette } = props;
  const { dims: sides, fields } = props.linear;
  const linear = useMemo(() => plainOrder(sides, fields) ?? props.linear, [sides, fields]);
  const root = useRef<HTMLElement>(null);
  const zoomer = useRef<Zoomer>(null);
  const places: Places = useRef(null);
  const ink = useInk(root);
  const lens = useMemo(() => new Lens(), []);
  const options = useMemo(() => ({ ...QUIET, fixed: props.options.fixed }), [props.options.fixed]);
  const { looks, marks, onSelect } = useMarks({
    ...props,
    linear,
    options,
    other: null,
    ends: null,
    chunks: null,
    bytesAt: null,
  });
  const { dims, fixed, dark, entry } = looks;
  const now = useLayoutPicture(linear, { ...looks, seen: ALL }) as LayoutPicture;
  const dimColour = useCallback(
    (dim: string): string => byName(palette).get(dim)?.[dark ? "dark" : "light"] ?? "currentColor",
    [palette, dark],
  );
  const sizes = linear.dims.map(({ name, size }) => `${name} ${formatCount(size)}`).join(" by ");
  return (
    <section ref={root} class="iv-lin" aria-label={props.title} data-testid="linearization" data-quiet="true">
      <Slices
        {...{ linear, dims, at: fixed, colourOf: dimColour }}
        set={(dim, to) => props.onOptions({ fixed: new Map(props.options.fixed).set(dim, to) })}
      />
      <div class="iv-lin-main">
        <div class="iv-lin-pictures" data-way="index">
          <Grid
            {...{ linear, dims, fixed, options, dimColour, lens, ink, zoomer, places, onSelect, ...marks }}
            quiet
            others={[]}
            colours={now.inView}
            label={`The array by index: ${sizes}; fields ${linear.fields.map(({ name }) => name).join(", ")}`}
            paint={null}
            block={null}
            values={null}
            runs={null}
            chunks={null}
            marked={null}
            warp={[]} // in the place of a cache line
            trail={0}
            box={null}
            end={props.side}
            choosing={null}
            onPick={onSelect}
            onChunk={null}
            onBox={() => undefined}
            onSeen={() => undefined}
          />
        </div>
        <div class="iv-lin-aside">
          <div class="iv-lin-legend">{linear.fields.length > 1 && <Fields linear={linear} />}</div>
          <p class="iv-lin-facts" data-fact="entry">
            {entry === null ? "" : entryText(linear, entry)}
          </p>
          <p class="iv-faint">Where entries lie in memory is not shown yet.</p>
        </div>
      </div>
    </section>
  );
}

function plainOrder(dims: readonly Dimension[], fields: readonly Field[]): Linearization | null {
  return linearize(`<${["F", ...dims.map(({ name }) => name)].join(", ")}>`, dims, fields).linear;
}

const ALL = { ranges: [], stretch: 1, named: false, missing: 0 };
