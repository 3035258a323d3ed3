// Draws a chunk on its way: the memory of every stop with the pieces that it holds, and those that a hop is moving.
import { cssOf, offsetScale } from "#views/memory/scales.ts";
import { GAP, type MotionPicture, type Place, type StopPicture } from "./picture.ts";

/** Where the stops stand and how large a piece is, in CSS pixels. */
export interface Stage {
  readonly width: number;
  readonly height: number;
  /** The width of the column of a stop, and of a hop. */
  readonly stop: number;
  readonly hop: number;
  readonly piece: number;
}

export interface MotionInk {
  readonly ground: string;
  readonly line: string;
  readonly muted: string;
  readonly turn: string;
}

/** The least width of a hop: its words stand above it, and reach over the stops. */
const LEAST_HOP = 64;
const LEAST_STOP = 58;
const LARGEST_PIECE = 44;
const EDGE = 4;

/** The stage for a picture in some room. It may be wider than the room: then it is scrolled. */
export function stageOf(picture: MotionPicture, width: number, height: number): Stage {
  const [stops, hops] = [picture.stops.length, picture.hops.length];
  const wide = Math.max(...picture.stops.map((stop) => stop.width));
  const high = Math.max(...picture.stops.map((stop) => stop.height));
  const room = Math.max(LEAST_STOP, Math.min((width - hops * LEAST_HOP) / stops, 0.6 * (width / stops)));
  const piece = Math.max(
    5,
    Math.min(LARGEST_PIECE, Math.floor((room - 2 * EDGE) / wide), Math.floor((height - 2 * EDGE) / high)),
  );
  const stop = Math.max(LEAST_STOP, Math.ceil(piece * wide + 2 * EDGE));
  const hop = Math.max(LEAST_HOP, Math.floor((width - stops * stop) / Math.max(1, hops)));
  return { width: stops * stop + hops * hop, height, stop, hop, piece };
}

/** What a moment shows: `at` counts hops, with the share of the one that is going on. */
export function drawMotion(
  context: CanvasRenderingContext2D,
  picture: MotionPicture,
  stage: Stage,
  at: number,
  converting: number,
  ink: MotionInk,
  ratio: number,
  dark: boolean,
): void {
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, stage.width, stage.height);
  const hops = picture.hops.length;
  const over = at >= hops;
  const now = Math.min(hops - 1, Math.floor(at));
  const share = at - now;
  picture.hops.forEach((_, hop) => drawArrow(context, stage, hop, Math.max(0, Math.min(1, at - hop)), hop === converting, ink));
  picture.stops.forEach((stop, place) => drawFrame(context, stage, stop, place, ink));
  const scale = offsetScale(dark);
  const colours = picture.pieces.map((_, piece) =>
    cssOf(scale[Math.round((piece / Math.max(1, picture.pieces.length - 1)) * (scale.length - 1))] ?? 0),
  );
  const fill = (piece: number, x: number, y: number, alpha: number): void => {
    context.globalAlpha = alpha;
    context.fillStyle = colours[piece] ?? ink.muted;
    const inset = stage.piece >= 8 ? 0.5 : 0;
    context.fillRect(x + inset, y + inset, stage.piece - 2 * inset, stage.piece - 2 * inset);
    context.globalAlpha = 1;
  };
  const where = (place: number, piece: number): { x: number; y: number } => {
    const stop = picture.stops[place] as StopPicture;
    return spot(stage, stop, place, stop.places[piece] as Place);
  };
  // Pieces that have been at a stop stay there faintly: the way stays readable.
  picture.stops.forEach((_, place) => {
    const passed = over || place < now;
    if (!passed) return;
    picture.pieces.forEach((_piece, piece) => {
      const { x, y } = where(place, piece);
      fill(piece, x, y, over ? 1 : 0.35);
    });
  });
  if (over) {
    picture.pieces.forEach((_, piece) => fill(piece, where(hops, piece).x, where(hops, piece).y, 1));
    return;
  }
  const groups = picture.hops[now]?.groups ?? [];
  const flying: (() => void)[] = [];
  groups.forEach((group, number) => {
    const gone = progressOf(number, groups.length, share);
    for (const piece of group) {
      const [from, to] = [where(now, piece), where(now + 1, piece)];
      fill(piece, from.x, from.y, gone > 0 ? 0.35 : 1);
      if (gone > 0 && gone < 1) {
        const eased = gone * gone * (3 - 2 * gone);
        flying.push(() => fill(piece, from.x + (to.x - from.x) * eased, from.y + (to.y - from.y) * eased, 1));
      } else if (gone >= 1) fill(piece, to.x, to.y, 1);
    }
  });
  for (const draw of flying) draw();
}

/** The part of a hop for which a group is on its way. */
const flight = (groups: number): number => Math.min(1, Math.max(1.6 / groups, 0.3));

/** How far a group of a hop has come, from 0 to 1: groups leave one after the other. */
export function progressOf(group: number, groups: number, share: number): number {
  const own = flight(groups);
  const begin = groups < 2 ? 0 : (group / (groups - 1)) * (1 - own);
  return Math.max(0, Math.min(1, (share - begin) / own));
}

/** The share of a hop at which its next group arrives. */
export function nextArrival(groups: number, share: number): number {
  const own = flight(groups);
  for (let group = 0; group < groups; group += 1) {
    const arrival = (groups < 2 ? 0 : (group / (groups - 1)) * (1 - own)) + own;
    if (arrival > share + 1e-6) return arrival;
  }
  return 1;
}

function spot(stage: Stage, stop: StopPicture, place: number, at: Place): { x: number; y: number } {
  const left = place * (stage.stop + stage.hop) + (stage.stop - stop.width * stage.piece) / 2;
  const top = (stage.height - stop.height * stage.piece) / 2;
  return {
    x: left + (at.column + GAP * at.gapsBefore) * stage.piece,
    y: top + (at.line + GAP * at.gapsAbove) * stage.piece,
  };
}

/** The room that memory has for the pieces: empty cells. */
function drawFrame(context: CanvasRenderingContext2D, stage: Stage, stop: StopPicture, place: number, ink: MotionInk): void {
  for (const at of stop.places) {
    const { x, y } = spot(stage, stop, place, at);
    context.fillStyle = ink.line;
    context.fillRect(x - 0.5, y - 0.5, stage.piece + 1, stage.piece + 1);
  }
  for (const at of stop.places) {
    const { x, y } = spot(stage, stop, place, at);
    context.fillStyle = ink.ground;
    context.fillRect(x + 0.5, y + 0.5, stage.piece - 1, stage.piece - 1);
  }
}

function drawArrow(
  context: CanvasRenderingContext2D,
  stage: Stage,
  hop: number,
  share: number,
  converts: boolean,
  ink: MotionInk,
): void {
  const from = (hop + 1) * stage.stop + hop * stage.hop + 7;
  const to = from + stage.hop - 14;
  const y = stage.height / 2;
  const colour = converts ? ink.turn : ink.muted;
  const line = (end: number, style: string): void => {
    context.strokeStyle = style;
    context.lineWidth = 4;
    context.beginPath();
    context.moveTo(from, y);
    context.lineTo(end, y);
    context.stroke();
  };
  context.globalAlpha = 0.3;
  line(to - 8, colour);
  context.globalAlpha = 1;
  if (share > 0) line(from + (to - 8 - from) * share, colour);
  context.fillStyle = colour;
  context.beginPath();
  context.moveTo(to, y);
  context.lineTo(to - 9, y - 6);
  context.lineTo(to - 9, y + 6);
  context.closePath();
  context.fill();
}
