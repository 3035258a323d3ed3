// A bar for one router that joins whatever stands beside it: an all-to-all switch.
import { boxOnScreen, SMALL } from "#lib/board.ts";
import { registerShape, straight } from "#views/network/shape.ts";

const THICK = 30;
const LEAST = 90;
/** Between the end of a line and that of the bar, and between the lines from one memory to several bars. */
const EDGE = 8;
const BESIDE = 12;

registerShape("bar", {
  holds: false,
  quiet: () => false,
  lay: ({ name, words }, room) => {
    const flat = room.width > room.height;
    const [width, height] = flat ? [room.width, THICK] : [THICK, Math.max(LEAST, room.height * 0.8)];
    const at = () => ({ x: width / 2, y: height / 2 });
    const near = (value: number, size: number): number => Math.max(EDGE, Math.min(size - EDGE, value));
    return {
      width,
      height,
      at,
      end: (_router, { x, y }) =>
        flat ? { x: near(x + BESIDE * room.number, width), y: height * 0.3 } : { x: width / 2, y: near(y, height) },
      lines: () => [straight(at(), at())],
      paint: ({ context, at: placement, colour }) => {
        const box = boxOnScreen({ x: 0, y: 0, width, height }, placement);
        context.fillStyle = colour("--iv-net-slice");
        context.strokeStyle = colour("--iv-strong-line");
        context.lineWidth = 1.2;
        context.beginPath();
        context.roundRect(box.x, box.y, box.width, box.height, 8 * Math.min(1, placement.scale));
        context.fill();
        context.stroke();
        const long = Math.max(box.width, box.height);
        if (long < LEAST) return;
        context.save();
        context.translate(box.x + box.width / 2, box.y + box.height * (flat ? 0.72 : 0.5));
        if (!flat) context.rotate(-Math.PI / 2);
        context.fillStyle = colour("--iv-muted");
        context.font = SMALL;
        context.textAlign = "center";
        context.textBaseline = "middle";
        context.fillText(`${name}: ${words}`, 0, 0, long - 8);
        context.restore();
      },
    };
  },
});
