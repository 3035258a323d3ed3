// The layouts of both ends: how their elements follow each other, as which NumPy array, with which strides.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { BokehPlot } from "../components/bokeh-plot.tsx";
import { Button } from "../components/button.tsx";
import { Card, Folded, Picture } from "../components/card.tsx";
import { dimensionColour } from "../components/colours.ts";
import { Table, type Column } from "../components/table.tsx";
import { useView } from "../components/view.ts";
import type { ShownColour, ShownDigit, ShownEnd, Side } from "../types.ts";
import { formatBytes, formatCount } from "../units.ts";

export function LayoutPane(): JSX.Element {
  return (
    <div class="iv-plots">
      <End side="source" title="Source" />
      <End side="destination" title="Destination" />
    </div>
  );
}

function End({ side, title }: { side: Side; title: string }): JSX.Element {
  const { snapshot } = useView();
  const [zoom, setZoom] = useState(false);
  const end = snapshot.panes.layout[side];
  return (
    <Card
      title={
        <>
          {title} <code>{end?.pretty ?? ""}</code>
        </>
      }
      stale={snapshot.stale.includes(side)}
      actions={
        end !== null && (
          <Button
            label={zoom ? "Plain picture" : "Zoom and hover"}
            icon="zoom"
            iconOnly
            pressed={zoom}
            testid={`zoom-${side}`}
            onClick={() => setZoom(!zoom)}
          />
        )
      }
    >
      <div class="iv-plot" data-testid={`plot-${side}`}>
        {zoom ? <BokehPlot side={side} /> : <Picture name={side} />}
      </div>
      {end !== null && (
        <>
          <pre class="iv-numpy" title="The NumPy array whose bytes lie in this order, and how an element is reached">
            {end.numpy}
          </pre>
          <Folded title={`${formatBytes(end.bytes)}${end.padding > 0 ? `, ${formatBytes(end.padding)} of it padding` : ""}: strides`}>
            <Table
              caption={`Components of ${end.pretty}, fastest first`}
              columns={digitColumns(end, snapshot.palette)}
              rows={end.digits}
              keyOf={(digit) => digit.component}
            />
          </Folded>
        </>
      )}
    </Card>
  );
}

function digitColumns(end: ShownEnd, palette: Record<string, ShownColour>): readonly Column<ShownDigit>[] {
  return [
    {
      title: "Component",
      names: true,
      cell: (digit) => (
        <>
          <span class="iv-swatch" style={dimensionColour(palette, digit.dim)} aria-hidden="true" /> <code>{digit.component}</code>
        </>
      ),
    },
    { title: "Extent", number: true, cell: (digit) => formatCount(digit.extent) },
    { title: "Step", number: true, cell: (digit) => (digit.step === null ? "" : formatCount(digit.step)) },
    { title: "Stride in bytes", number: true, cell: (digit) => strideText(digit.strides, end.fields) },
  ];
}

/** The strides of a component: one for all fields, or one for each; of many fields the first ones. */
export function strideText(strides: readonly number[], fields: number): string {
  const told = strides.map(formatCount).join(" / ");
  return strides.length > 1 && fields > strides.length ? `${told} / …` : told;
}
