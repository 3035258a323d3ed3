// The layouts of both ends in numbers: the NumPy array with the same bytes, and the stride of every component.
import type { JSX } from "preact";
import { type Column, Table } from "#lib/table.tsx";
import { dimensionColour } from "#model/colours.ts";
import { registerPane } from "#model/pane.ts";
import type { Side } from "#model/settings.ts";
import type { Named, ShownColour, ShownDigit, ShownEnd } from "#model/types.ts";
import { formatBytes, formatCount } from "#model/units.ts";
import { useView } from "#model/view.ts";
import { Term } from "#views/controls/term.tsx";

registerPane({ name: "layouts", title: "Layouts in numbers", tab: 6, render: () => <NumbersPane /> });

function NumbersPane(): JSX.Element {
  return (
    <div class="iv-numbers">
      <End side="source" title="Source" />
      <End side="destination" title="Destination" />
    </div>
  );
}

function End({ side, title }: { side: Side; title: string }): JSX.Element | null {
  const { snapshot } = useView();
  const end = snapshot.panes.layout[side];
  if (end === null) return null;
  return (
    <section
      class={snapshot.faults.stale.includes(side) ? "iv-stale" : ""}
      data-testid={`numbers-${side}`}
      aria-label={`${title} in numbers`}
    >
      <h3>
        {title} <code>{end.pretty}</code>
      </h3>
      <p class="iv-faint">
        {formatBytes(end.bytes)}
        {end.padding > 0 && (
          <>
            , {formatBytes(end.padding)} of it <Term name="padding">padding</Term>
          </>
        )}
      </p>
      <pre class="iv-numpy" title="The NumPy array whose bytes lie in this order, and how an element is reached">
        {end.numpy}
      </pre>
      <Table
        caption={`Components of ${end.pretty}, fastest first`}
        columns={digitColumns(end, snapshot.palette)}
        rows={end.digits}
        keyOf={(digit) => digit.component}
      />
    </section>
  );
}

function digitColumns(end: ShownEnd, palette: Named<ShownColour>): readonly Column<ShownDigit>[] {
  return [
    {
      title: () => <Term name="component">Component</Term>,
      names: true,
      cell: (digit) => (
        <>
          <span class="iv-swatch" style={dimensionColour(palette, digit.dim)} aria-hidden="true" /> <code>{digit.component}</code>
        </>
      ),
    },
    { title: () => <Term name="extent">Extent</Term>, number: true, cell: (digit) => formatCount(digit.extent) },
    {
      title: () => <Term name="step">Step</Term>,
      number: true,
      cell: (digit) => (digit.step === null ? "" : formatCount(digit.step)),
    },
    {
      title: () => <Term name="stride">Stride in bytes</Term>,
      number: true,
      cell: (digit) => strideText(digit.strides, end.fields),
    },
  ];
}

/** The strides of a component: one for all fields, or one for each; of many fields the first ones. */
export function strideText(strides: readonly number[], fields: number): string {
  const told = strides.map(formatCount).join(" / ");
  return strides.length > 1 && fields > strides.length ? `${told} / …` : told;
}
