// Which path wins for which length and number of runs: a map of regions, the transfer as a point in it. It is worked out while it is
// open. The pointer or the arrow keys move over the points, and what is known of one is told.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { Table } from "#lib/table.tsx";
import { useId } from "#lib/use-id.ts";
import type { Connection } from "#model/connection.ts";
import type { ShownMap, WinnerMapPart } from "#model/types.ts";
import { counted, formatBytes, formatCount, formatSeconds } from "#model/units.ts";
import { useView } from "#model/view.ts";
import { useWatch } from "#model/watch.ts";
import { Term } from "#views/controls/term.tsx";
import { logAxis, powers } from "./chart.ts";

const WIDTH = 460;
const HEIGHT = 330;
const BOX = { left: 58, right: WIDTH - 12, top: 10, bottom: HEIGHT - 40 };

/** What is kept of the maps of a session: whether one is open, and the colours that paths have got, so that they keep them. */
interface Kept {
  open: boolean;
  colours: Map<string, number>;
}

const known = new WeakMap<Connection, Kept>();

function keptOf(connection: Connection): Kept {
  let kept = known.get(connection);
  if (kept === undefined) known.set(connection, (kept = { open: false, colours: new Map() }));
  return kept;
}

/** The number of the colour of each path, by its key: in the order in which they were first seen. */
export function coloursOf(map: Pick<ShownMap, "ways">, given: Map<string, number>): number[] {
  return map.ways.map(({ key }) => {
    if (!given.has(key)) given.set(key, given.size);
    return given.get(key) ?? 0;
  });
}

/** The edges of the cells around values, on a logarithmic axis. */
export function cellEdges(values: readonly number[]): number[] {
  const inner = values.slice(1).map((value, place) => Math.sqrt(value * (values[place] ?? value)));
  const [first = 1, last = 1] = [values[0], values.at(-1)];
  return [first ** 2 / (inner[0] ?? first * 1.4), ...inner, last ** 2 / (inner.at(-1) ?? last / 1.4)];
}

export const sizeWords = (run: number, runs: number): string => `${counted(runs, "run")} of ${formatBytes(run)}`;

export function WinnerMap(): JSX.Element | null {
  const { connection, snapshot } = useView();
  const kept = keptOf(connection);
  const part = snapshot.panes.winner_map;
  const [open, setOpen] = useState(kept.open || (connection.offline && part !== null));
  if (snapshot.panes.plan === null || (connection.offline && part === null)) return null;
  return (
    <section
      class="iv-why-part"
      data-testid="winner-map"
      data-done={part?.isDone && part.isOfPlan}
      aria-label="Which path wins where"
    >
      <details
        class="iv-details iv-map-fold"
        open={open}
        onToggle={(event) => {
          kept.open = event.currentTarget.open;
          setOpen(kept.open);
        }}
      >
        <summary data-testid="winner-map-open">
          <Term name="map">Map</Term>: which path wins for which runs
        </summary>
        {open && <Open part={part} colours={kept.colours} />}
      </details>
    </section>
  );
}

function Open({ part, colours }: { part: WinnerMapPart | null; colours: Map<string, number> }): JSX.Element {
  useWatch(["map"]);
  const map = part?.map ?? null;
  if (part === null || map === null)
    return <p class="iv-faint">{part === null || part.problem === "" ? "Working out which path wins…" : part.problem}</p>;
  return (
    <div class={part.isOfPlan ? "" : "iv-stale"}>
      <p class="iv-faint">{map.meaning}</p>
      <Picture map={map} part={part} numbers={coloursOf(map, colours)} />
      {!part.isDone && <p class="iv-faint">More points are being worked out…</p>}
      {part.problem !== "" && <p class="iv-reason">{part.problem}</p>}
      <ul class="iv-map-said" data-testid="winner-map-said">
        {map.said.map((each) => (
          <li key={each}>{each}</li>
        ))}
      </ul>
      <details class="iv-details">
        <summary>As a table</summary>
        <Points map={map} />
      </details>
    </div>
  );
}

interface PictureProps {
  map: ShownMap;
  part: WinnerMapPart;
  numbers: readonly number[];
}

function Picture({ map, part, numbers }: PictureProps): JSX.Element {
  const [at, setAt] = useState<{ i: number; j: number } | null>(null);
  const hint = useId();
  const [columns, rows] = [cellEdges(map.columns), cellEdges(map.rows)];
  const x = logAxis(columns[0] ?? 1, columns.at(-1) ?? 2, BOX.left, BOX.right);
  const y = logAxis(rows[0] ?? 1, rows.at(-1) ?? 2, BOX.bottom, BOX.top);
  const [lefts, tops] = [columns.map(x.place), rows.map(y.place)];
  const cell = (i: number, j: number): { x: number; y: number; width: number; height: number } => {
    const [left = 0, right = 0, bottom = 0, top = 0] = [lefts[i], lefts[i + 1], tops[j], tops[j + 1]];
    return { x: left, y: top, width: right - left, height: bottom - top };
  };
  const winner = (i: number, j: number): number | null => map.winners[j]?.[i] ?? null;
  const style = (way: number): Record<string, string> => {
    const colour = part.colours[numbers[way] ?? part.colours.length];
    return colour === undefined ? {} : { "--iv-chip-light": colour.light, "--iv-chip-dark": colour.dark };
  };
  const told = at === null ? "" : pointWords(map, at.i, at.j);
  const { now } = map;
  const nearest = (values: readonly number[], value: number): number =>
    values.reduce(
      (best, each, place) => (Math.abs(Math.log(each / value)) < Math.abs(Math.log((values[best] ?? 1) / value)) ? place : best),
      0,
    );
  const begin = { i: nearest(map.columns, now?.run ?? 1024), j: nearest(map.rows, now?.runs ?? 64) };
  return (
    <>
      <svg
        class="iv-why-chart iv-map-chart"
        data-testid="winner-map-chart"
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        role="application"
        tabIndex={0}
        aria-label={map.title}
        aria-describedby={hint}
        onPointerMove={(event) => {
          const box = event.currentTarget.getBoundingClientRect();
          const place = [((event.clientX - box.left) / box.width) * WIDTH, ((event.clientY - box.top) / box.height) * HEIGHT];
          const i = lefts.findIndex((left, k) => left <= (place[0] ?? 0) && (place[0] ?? 0) < (lefts[k + 1] ?? left));
          const j = tops.findIndex((bottom, k) => bottom >= (place[1] ?? 0) && (place[1] ?? 0) > (tops[k + 1] ?? bottom));
          setAt(i < 0 || j < 0 ? null : { i, j });
        }}
        onPointerLeave={() => setAt(null)}
        onBlur={() => setAt(null)}
        onKeyDown={(event) => {
          const step = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1], Home: null, Enter: null }[
            event.key
          ];
          if (step === undefined) return;
          event.preventDefault();
          const clamp = (value: number, most: number): number => Math.min(most - 1, Math.max(0, value));
          setAt((from) =>
            from === null || step === null
              ? begin
              : { i: clamp(from.i + (step[0] ?? 0), map.columns.length), j: clamp(from.j + (step[1] ?? 0), map.rows.length) },
          );
        }}
      >
        <rect class="iv-region-ground" x={BOX.left} y={BOX.top} width={BOX.right - BOX.left} height={BOX.bottom - BOX.top} />
        {map.rows.flatMap((runs, j) =>
          map.columns.map((run, i) => {
            const way = winner(i, j);
            return way === null ? null : (
              <rect
                key={`${run}-${runs}`}
                class="iv-map-cell"
                data-way={map.ways[way]?.letter}
                style={style(way)}
                {...cell(i, j)}
              />
            );
          }),
        )}
        <path class="iv-map-border" d={borders(map, lefts, tops)} />
        {map.regions.map((point) => (
          <text
            key={`${point.run}-${point.runs}`}
            class="iv-map-letter"
            x={x.place(point.run)}
            y={y.place(point.runs) + 5}
            text-anchor="middle"
          >
            {map.ways[point.way]?.letter}
          </text>
        ))}
        {powers(x, 4, 6).map((run) => (
          <text key={run} class="iv-curve-text" x={x.place(run)} y={BOX.bottom + 16} text-anchor="middle">
            {formatBytes(run)}
          </text>
        ))}
        {powers(y, 4, 6).map((runs) => (
          <text key={runs} class="iv-curve-text" x={BOX.left - 6} y={y.place(runs) + 4} text-anchor="end">
            {formatCount(runs)}
          </text>
        ))}
        <text class="iv-curve-text" x={(BOX.left + BOX.right) / 2} y={HEIGHT - 6} text-anchor="middle">
          bytes of a run
        </text>
        <text class="iv-curve-text" transform={`translate(11 ${(BOX.top + BOX.bottom) / 2}) rotate(-90)`} text-anchor="middle">
          number of runs
        </text>
        {map.turns.map((turn) => {
          const row = turn.axis === "runs";
          const [left, top] = row ? [x.place(turn.fixed), y.place(turn.value)] : [x.place(turn.value), y.place(turn.fixed)];
          return (
            <g key={`${turn.axis}-${turn.value}`} class="iv-map-turn" data-testid="winner-map-turn">
              <line
                {...(row ? { x1: left - 6, x2: left + 6, y1: top, y2: top } : { x1: left, x2: left, y1: top - 6, y2: top + 6 })}
              />
              <text x={row ? left + 9 : left} y={row ? top + 4 : top + 18} text-anchor={row ? "start" : "middle"}>
                {map.ways[turn.after]?.letter} from {turn.text}
              </text>
            </g>
          );
        })}
        {now !== null && (
          <g class="iv-map-now" data-testid="winner-map-now">
            <circle cx={x.place(now.run)} cy={y.place(now.runs)} r={6} />
            <title>{`The transfer: ${sizeWords(now.run, now.runs)}`}</title>
          </g>
        )}
        {at !== null && <rect class="iv-map-at" {...cell(at.i, at.j)} />}
      </svg>
      <p class="iv-faint iv-map-told" id={hint} role="status" aria-live="polite" data-testid="winner-map-told">
        {told || `The ring is the transfer. The pointer or the arrow keys tell of every point.`}
      </p>
      <ul class="iv-why-legend iv-map-legend" data-testid="winner-map-legend">
        {map.ways.map((way, number) => (
          <li key={way.key}>
            <i class="iv-map-key" style={style(number)}>
              {way.letter}
            </i>
            {way.name}
          </li>
        ))}
      </ul>
    </>
  );
}

/** What is known of a point: "64 runs of 1 KiB: B, GPU copy · network, T = 12.3 µs". */
export function pointWords(map: ShownMap, i: number, j: number): string {
  const [run = 1, runs = 1, way, seconds] = [map.columns[i], map.rows[j], map.winners[j]?.[i], map.seconds[j]?.[i]];
  const known = way == null ? undefined : map.ways[way];
  return `${sizeWords(run, runs)}: ${known === undefined || seconds == null ? "no plan" : `${known.letter}, ${known.words}, T = ${formatSeconds(seconds)}`}.`;
}

/** Lines between neighbouring cells with different winners. */
function borders(map: ShownMap, lefts: readonly number[], tops: readonly number[]): string {
  const lines: string[] = [];
  map.winners.forEach((row, j) =>
    row.forEach((way, i) => {
      const [right, above] = [row[i + 1], map.winners[j + 1]?.[i]];
      if (way === null) return;
      if (right != null && right !== way) lines.push(`M${lefts[i + 1]} ${tops[j]}V${tops[j + 1]}`);
      if (above != null && above !== way) lines.push(`M${lefts[i]} ${tops[j + 1]}H${lefts[i + 1]}`);
    }),
  );
  return lines.join("");
}

function Points({ map }: { map: ShownMap }): JSX.Element {
  const columns = map.rows.map((runs, j) => ({
    title: formatCount(runs),
    number: true,
    cell: (i: number) => {
      const [way, seconds] = [map.winners[j]?.[i], map.seconds[j]?.[i]];
      return way == null || seconds == null ? "–" : `${map.ways[way]?.letter} ${formatSeconds(seconds)}`;
    },
  }));
  return (
    <Table
      caption={`${map.title}: the path that wins and T, for the bytes of a run and the number of runs`}
      columns={[{ title: "run \\ runs", names: true, cell: (i: number) => formatBytes(map.columns[i] ?? 0) }, ...columns]}
      rows={map.columns.map((_, i) => i)}
      keyOf={(i) => i}
      wide
    />
  );
}
