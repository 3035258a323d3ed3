// The layout in numbers, folded below its pictures: its size, the NumPy array with the same bytes, and the stride of every component.
import type { JSX } from "preact";
import { type Column, Table } from "#lib/table.tsx";
import { dimensionColour } from "#model/colours.ts";
import type { Digit, Linearization } from "#model/layouts/linearization.ts";
import type { Named, ShownColour } from "#model/types.ts";
import { formatBytes, formatCount } from "#model/units.ts";
import { Term } from "#views/controls/term.tsx";

/** Strides of more fields than this are not told one by one. */
const MOST = 3;

interface DigitsProps {
  linear: Linearization;
  palette: Named<ShownColour>;
  numpy: string;
}

export function Digits({ linear, palette, numpy }: DigitsProps): JSX.Element {
  return (
    <details class="iv-lin-digits" data-testid="linearization-digits">
      <summary>In numbers</summary>
      <p class="iv-faint">
        {formatBytes(linear.nbytes)}
        {linear.nbytes > linear.payload && (
          <>
            , {formatBytes(linear.nbytes - linear.payload)} of it <Term name="padding">padding</Term>
          </>
        )}
      </p>
      <Table
        caption="Components, fastest first"
        columns={columns(linear, palette)}
        rows={linear.digits.map((digit, place) => ({ digit, place }))}
        keyOf={({ digit }) => digit.text}
      />
      {numpy !== "" && (
        <pre
          class="iv-lin-numpy"
          title="The NumPy array whose bytes lie in this order, and how an element is reached"
          tabIndex={0}
        >
          {numpy}
        </pre>
      )}
    </details>
  );
}

interface Row {
  digit: Digit;
  place: number;
}

function columns(linear: Linearization, palette: Named<ShownColour>): readonly Column<Row>[] {
  return [
    {
      title: "Component",
      names: true,
      cell: ({ digit }) => (
        <>
          <span class="iv-swatch" style={dimensionColour(palette, digit.dim)} aria-hidden="true" /> <code>{digit.text}</code>
        </>
      ),
    },
    { title: () => <Term name="extent">Extent</Term>, number: true, cell: ({ digit }) => formatCount(digit.extent) },
    {
      title: () => <Term name="step">Step</Term>,
      number: true,
      cell: ({ digit }) => (digit.part === "F" ? "" : formatCount(digit.step)),
    },
    { title: () => <Term name="stride">Bytes</Term>, number: true, cell: ({ place }) => strides(linear, place) },
  ];
}

/** The bytes from one value of a digit to the next: one number, or one for each of the first fields. */
export function strides(linear: Linearization, place: number): string {
  if (linear.digits[place]?.part === "F") return linear.fields.length > 1 ? formatCount(linear.base(1)) : "";
  const each = linear.fields.map((_, field) => linear.stride(place, field));
  if (new Set(each).size === 1) return formatCount(each[0] ?? 0);
  return `${each.slice(0, MOST).map(formatCount).join(" / ")}${each.length > MOST ? " / …" : ""}`;
}
