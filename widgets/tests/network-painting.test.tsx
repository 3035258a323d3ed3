// Networks at rest, asked by their pixels: routers at their places, links where there are some, in each panel its own.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ShownNetwork } from "#model/types.ts";
import "#views/network/net-scene.ts";
import { shapeOf } from "#views/network/shape.ts";

const COLOURS: Record<string, string> = { "--iv-net-router": "#00ff00", "--iv-bad": "#ff0000", "--iv-strong-line": "#0000ff" };

const network = (change: Partial<ShownNetwork>): ShownNetwork => ({
  name: "net",
  kind: "own",
  words: "own",
  shape: "routers",
  sizes: [],
  apart: 40,
  axes: [],
  panels: [
    { x: 0, y: 0, title: "" },
    { x: 0, y: 60, title: "" },
  ],
  alike: false,
  points: [[3, 0, 0, 40, 0]],
  reading: "",
  routers: 6,
  names: [],
  links: [[1, 0, 1, 1, 0, 0, 0]],
  rate: 1e9,
  whole: null,
  routing: "shortest",
  ports: [],
  deadLinks: [],
  deadRouters: [4],
  ...change,
});

/** What is painted at places that are given from the first router. */
function painted(shown: ShownNetwork, scale = 1): (x: number, y: number) => string {
  const laid = shapeOf(shown).lay(shown, { width: 0, height: 0, number: 0 });
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [300, 300];
  const context = canvas.getContext("2d")!;
  laid.paint({ context, width: 300, height: 300, at: { scale, x: 20, y: 20 }, colour: (name) => COLOURS[name] ?? "#808080" });
  const first = laid.at(0);
  return (x, y) => {
    const at = [20 + scale * (first.x + x), 20 + scale * (first.y + y)].map(Math.round);
    const [red = 0, green = 0, blue = 0, alpha = 0] = context.getImageData(at[0]!, at[1]!, 1, 1).data;
    if (alpha === 0) return "nothing";
    const most = Math.max(red, green, blue) - Math.min(red, green, blue) < 30 ? "frame" : Math.max(red, green, blue);
    return most === "frame" ? most : most === green ? "router" : most === red ? "dead" : "link";
  };
}

test("routers are at their places, and a link is in the panel that has it", () => {
  const at = painted(network({}));
  assert.deepEqual([at(0, 0), at(40, 0), at(80, 0), at(0, 60), at(40, 60)], ["router", "router", "router", "router", "dead"]);
  assert.deepEqual([at(20, 0), at(60, 0), at(20, 60)], ["link", "nothing", "nothing"]);
  const alike = painted(network({ alike: true }));
  assert.deepEqual([alike(20, 0), alike(60, 0), alike(20, 60)], ["link", "nothing", "link"]);
});

test("routers with coordinates lie in frames, which stand for them from afar, and links leave a frame where they go around", () => {
  const framed = network({
    apart: 16,
    axes: [
      { name: "A", size: 2, wraps: false },
      { name: "B", size: 3, wraps: true },
    ],
    points: [[3, 0, 0, 16, 0]],
    links: [
      [2, 0, 1, 1, 1, 1, 0],
      [1, 0, 2, 1, 0, 0, 0],
    ],
    alike: true,
    deadRouters: [],
  });
  const at = painted(framed, 2);
  assert.deepEqual([at(0, 0), at(8, 0), at(8, 6), at(8, 20)], ["router", "link", "frame", "nothing"]);
  assert.deepEqual([at(-10, 0), at(42, 0), at(42, 6), at(16, -10)], ["link", "link", "frame", "frame"]);
  const far = painted(framed, 0.1);
  assert.deepEqual([far(16, 0), far(16, 60), far(16, 30)], ["frame", "frame", "nothing"]);
  for (let x = -10; x <= 42; x += 1) assert.ok(["frame", "nothing"].includes(far(x, 0)), `a router at ${x}`);
});

test("the switch of a data vortex has a ring for each cylinder, and says where packets enter", () => {
  const vortex = network({
    shape: "vortex",
    sizes: [4, 8, 4, 1],
    panels: [{ x: 0, y: 0, title: "" }],
    points: [[1, 0, 0, 0, 0]],
  });
  const laid = shapeOf(vortex).lay(vortex, { width: 0, height: 0, number: 0 });
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [Math.ceil(laid.width), Math.ceil(laid.height)];
  const context = canvas.getContext("2d")!;
  const colour = (name: string): string =>
    ({ ...COLOURS, "--iv-ink": "#ff00ff", "--iv-net-slice": "#ffffff" })[name] ?? "#808080";
  laid.paint({ context, width: canvas.width, height: canvas.height, at: { scale: 1, x: 0, y: 0 }, colour });
  const { x, y } = laid.at(0);
  const outermost = 40 + 3 * 20;
  const channels = (far: number, turned: number): number[] => {
    const [across, down] = [x + far * Math.cos(turned), y + far * Math.sin(turned)];
    return [...context.getImageData(Math.round(across), Math.round(down), 1, 1).data];
  };
  /** How often a line that goes outwards meets what is bluer than the ground. */
  const rings = (turned: number): number => {
    let [count, within] = [0, false];
    for (let far = 4; far < laid.width / 2; far += 0.5) {
      const [red = 0, green = 0, , alpha = 0] = channels(far, turned);
      const on = alpha > 128 && red < 190 && green < 190;
      if (on && !within) count += 1;
      within = on;
    }
    return count;
  };
  assert.ok(rings(0.62) >= 5, `${rings(0.62)} rings: four cylinders and the ports`);
  const isInk = ([red = 0, green = 0, blue = 0, alpha = 0]: number[]): boolean =>
    alpha > 200 && red > 200 && blue > 200 && green < 60;
  const entry = (turned: number): boolean =>
    Array.from({ length: 16 }, (_, far) => channels(outermost + 4 + far, turned)).some(isInk);
  assert.deepEqual([-Math.PI / 2, 0, Math.PI / 2, Math.PI].map(entry), [true, false, false, false]);
});
