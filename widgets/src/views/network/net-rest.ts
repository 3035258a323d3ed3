// The networks at rest: slices of routers with their links, trees, listed links, switches and the memories at them.
import { boxOnScreen, isOnSheet, onScreen, type Sheet, SMALL } from "#lib/board.ts";
import { grown } from "#lib/geometry.ts";
import { CELL, type GridShape } from "./grid-shape.ts";
import { type NetScene, type PlacedNetwork, portEnd, stationBox } from "./net-scene.ts";

/** Pixels between neighbours from which on links, and single routers, are drawn. */
export const LINKS_FROM = 9;
export const ROUTERS_FROM = 2.4;

export function paintRest(sheet: Sheet, scene: NetScene): void {
  for (const placed of scene.networks) {
    if (placed.grid !== null) paintGrid(sheet, placed, placed.grid);
    else paintLinks(sheet, placed);
  }
  paintPorts(sheet, scene);
  for (const placed of scene.networks) if (placed.network.form === "switch") paintSwitch(sheet, placed);
}

function paintGrid(sheet: Sheet, placed: PlacedNetwork, grid: GridShape): void {
  const { context, at, colour } = sheet;
  const cell = CELL * at.scale;
  const dead = new Set(placed.network.deadRouters);
  const [routers, gone, rest] = [new Path2D(), new Path2D(), new Path2D()];
  const size = Math.max(1, Math.min(9, cell * 0.5));
  const { cells } = grid;
  for (const slice of grid.slices) {
    const corner = { x: slice.box.x + placed.box.x, y: slice.box.y + placed.box.y };
    const box = boxOnScreen({ ...slice.box, ...corner }, at);
    const frame = boxOnScreen(grown({ ...slice.box, ...corner }, 4), at);
    if (!isOnSheet(frame, sheet)) continue;
    context.fillStyle = colour("--iv-net-slice");
    context.beginPath();
    context.roundRect(frame.x, frame.y, frame.width, frame.height, Math.min(6, cell / 3));
    context.fill();
    if (cell >= ROUTERS_FROM)
      cells.places.forEach(({ x, y }, each) => {
        const path = dead.size > 0 && dead.has(slice.first + cells.routers[each]!) ? gone : routers;
        path.rect(box.x + at.scale * x - size / 2, box.y + at.scale * y - size / 2, size, size);
      });
    if (cell >= LINKS_FROM)
      for (const [from, to] of cells.lines) {
        rest.moveTo(box.x + at.scale * from.x, box.y + at.scale * from.y);
        rest.lineTo(box.x + at.scale * to.x, box.y + at.scale * to.y);
      }
    if (slice.title !== "" && box.width > 34) {
      context.fillStyle = colour("--iv-muted");
      context.font = SMALL;
      context.textAlign = "left";
      context.textBaseline = "bottom";
      context.fillText(slice.title, frame.x + 1, frame.y - 1, Math.max(30, frame.width));
    }
  }
  context.strokeStyle = colour("--iv-strong-line");
  context.lineWidth = Math.min(1.2, cell / 16);
  context.globalAlpha = 0.75;
  context.stroke(rest);
  context.globalAlpha = 1;
  context.fillStyle = colour("--iv-net-router");
  context.fill(routers);
  context.fillStyle = colour("--iv-bad");
  context.fill(gone);
}

function paintLinks(sheet: Sheet, placed: PlacedNetwork): void {
  const { context, at, colour } = sheet;
  const { network } = placed;
  context.strokeStyle = colour("--iv-strong-line");
  for (const [a = 0, b = 0, width = 1] of network.links) {
    const [from, to] = [onScreen(placed.at(a), at), onScreen(placed.at(b), at)];
    context.lineWidth = Math.min(6, 1.6 * width) * Math.min(1, Math.max(0.4, at.scale));
    context.globalAlpha = network.links.length > 400 ? 0.35 : 0.8;
    context.beginPath();
    context.moveTo(from.x, from.y);
    context.lineTo(to.x, to.y);
    context.stroke();
  }
  context.globalAlpha = 1;
  if (network.form === "switch") return;
  const dead = new Set(network.deadRouters);
  for (let router = 0; router < network.routers; router += 1) {
    const { x, y } = onScreen(placed.at(router), at);
    const size = Math.max(2, 13 * at.scale);
    context.fillStyle = colour(dead.has(router) ? "--iv-bad" : "--iv-net-router");
    context.beginPath();
    context.roundRect(x - size / 2, y - size / 2, size, size, size / 4);
    context.fill();
  }
}

function paintPorts(sheet: Sheet, scene: NetScene): void {
  const { context, at, colour } = sheet;
  const lines = new Path2D();
  for (const { station, network, router } of scene.ports) {
    const placed = scene.networks[network];
    if (placed === undefined || placed.grid !== null) continue; // across slices it is drawn when pointed at
    const end = portEnd(placed, router, station.place);
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

function paintSwitch({ context, at, colour }: Sheet, { box, network }: PlacedNetwork): void {
  const place = boxOnScreen(box, at);
  context.fillStyle = colour("--iv-net-slice");
  context.strokeStyle = colour("--iv-strong-line");
  context.lineWidth = 1.2;
  context.beginPath();
  context.roundRect(place.x, place.y, place.width, place.height, 8 * Math.min(1, at.scale));
  context.fill();
  context.stroke();
  if (Math.max(place.width, place.height) < 90) return;
  context.save();
  const upright = place.height > place.width;
  context.translate(place.x + place.width / 2, place.y + place.height * (upright ? 0.5 : 0.72));
  if (upright) context.rotate(-Math.PI / 2);
  context.fillStyle = colour("--iv-muted");
  context.font = SMALL;
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.fillText(`${network.name}: ${network.words}`, 0, 0, Math.max(place.width, place.height) - 8);
  context.restore();
}
