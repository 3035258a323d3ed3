// The networks at rest, and the memories beside them.
import { boxOnScreen, isOnSheet, onScreen, type Sheet, SMALL } from "#lib/board.ts";
import { type NetScene, type PlacedNetwork, stationBox } from "./net-scene.ts";

export function paintRest(sheet: Sheet, scene: NetScene): void {
  for (const placed of scene.networks) if (placed.holds) paintNetwork(sheet, placed);
  paintPorts(sheet, scene);
  for (const placed of scene.networks) if (!placed.holds) paintNetwork(sheet, placed);
}

/** A network on a sheet whose corner is that of its box. */
function paintNetwork(sheet: Sheet, { box, laid }: PlacedNetwork): void {
  laid.paint({ ...sheet, at: { scale: sheet.at.scale, ...onScreen(box, sheet.at) } });
}

function paintPorts(sheet: Sheet, scene: NetScene): void {
  const { context, at, colour } = sheet;
  const lines = new Path2D();
  for (const { station, network, router } of scene.ports) {
    const placed = scene.networks[network];
    if (placed === undefined || placed.quiet) continue; // it is drawn when pointed at
    const end = placed.end(router, station.place);
    const begin = placed.box.width > placed.box.height ? { x: end.x, y: station.place.y } : station.place;
    const [from, to] = [onScreen(begin, at), onScreen(end, at)];
    lines.moveTo(from.x, from.y);
    lines.lineTo(to.x, to.y);
  }
  context.strokeStyle = colour("--iv-strong-line");
  context.lineWidth = 1;
  context.globalAlpha = 0.5;
  context.stroke(lines);
  context.globalAlpha = 1;
  for (const station of scene.stations) {
    const box = boxOnScreen(stationBox(station.place), at);
    if (!isOnSheet(box, sheet)) continue;
    context.fillStyle = colour("--iv-paper");
    context.strokeStyle = colour("--iv-strong-line");
    context.lineWidth = 1;
    context.beginPath();
    context.roundRect(box.x, box.y, box.width, box.height, 5 * Math.min(1, at.scale));
    context.fill();
    context.stroke();
    if (at.scale > 0.62) {
      context.fillStyle = colour("--iv-ink");
      context.font = SMALL;
      context.textAlign = "center";
      context.textBaseline = "middle";
      context.fillText(station.name, box.x + box.width / 2, box.y + box.height / 2 + 0.5, box.width - 6);
    }
  }
}
