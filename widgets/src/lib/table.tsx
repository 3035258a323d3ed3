// A table: columns are values, so that what a table shows can be read in one place.
import type { ComponentChildren, JSX } from "preact";

export interface Column<Row> {
  /** A function where it is more than words: an element that outlives its table would keep the page that showed it last in memory. */
  title: string | (() => JSX.Element);
  cell: (row: Row) => ComponentChildren;
  /** The cell that names the row. */
  names?: boolean;
  /** What the cell that names the row says on hover. */
  hover?: (row: Row) => string;
  /** Numbers stand to the right, with digits of one width. */
  number?: boolean;
  /** Classes of the cells and of the head, where the column is drawn in a way of its own. */
  drawn?: { cells: string; head: string };
}

interface TableProps<Row> {
  /** Says what the table shows, for those who do not see it. */
  caption: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  keyOf: (row: Row) => string | number;
  rowClass?: (row: Row) => string;
  tableClass?: string;
  /** Wide tables scroll: the keyboard has to reach them. */
  wide?: boolean;
}

export function Table<Row>(props: TableProps<Row>): JSX.Element {
  const reachable = props.wide ? { tabIndex: 0, role: "region" as const, "aria-label": props.caption } : {};
  return (
    <div class="iv-scroll" {...reachable}>
      <table class={`iv-table${props.tableClass === undefined ? "" : ` ${props.tableClass}`}`}>
        <caption class="iv-hidden">{props.caption}</caption>
        <thead>
          <tr>
            {props.columns.map((column, place) => (
              <th key={place} scope="col" class={column.drawn?.head ?? (column.number ? "iv-number" : undefined)}>
                {typeof column.title === "string" ? column.title : column.title()}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {props.rows.map((row) => (
            <tr key={props.keyOf(row)} class={props.rowClass?.(row) || undefined}>
              {props.columns.map((column, place) => (
                <Cell key={place} column={column} row={row} />
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Cell<Row>({ column, row }: { column: Column<Row>; row: Row }): JSX.Element {
  const content = column.cell(row);
  if (column.names)
    return (
      <th scope="row" title={column.hover?.(row)}>
        {content}
      </th>
    );
  if (column.drawn !== undefined)
    return (
      <td class={column.drawn.cells} aria-hidden="true">
        {content}
      </td>
    );
  return <td class={column.number ? "iv-number" : undefined}>{content}</td>;
}
