"""A topology is one file: it is planned, simulated and drawn as what it says. A shape of its own is one TypeScript file more."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import harness
import pytest
from playwright.sync_api import Browser, Page
from test_new_pane import PATIENCE, copy, page_of_views  # noqa: F401  # fixtures

TOPOLOGY = """\
from dataclasses import dataclass
from typing import ClassVar

from isoviz.errors import MachineError
from isoviz.machines.networks import Link, Places, Topology, register_topology

POINTS = ((0.0, 0.0), (120.0, 0.0), (240.0, 40.0), (60.0, 100.0), (180.0, 140.0), (20.0, 180.0))
JOINED = ((0, 1), (1, 2), (1, 3), (2, 4), (3, 5), (4, 5))


@register_topology
@dataclass(frozen=True)
class Kite(Topology):
    kind: ClassVar[str] = "kite"
    default_routing: ClassVar[str] = "shortest"
    shape: str = "routers"

    @property
    def router_count(self) -> int:
        return len(POINTS)

    def router_name(self, router: int) -> str:
        return f"knot{self.checked(router)}"

    def router(self, name: str) -> int:
        for router in range(len(POINTS)):
            if name == f"knot{router}":
                return router
        raise MachineError(f"kite: no router {name!r}; there are knot0 to knot5")

    def links_from(self, router: int) -> tuple[Link, ...]:
        both = (*JOINED, *[(b, a) for a, b in JOINED])
        return tuple(Link(f"knot{a}>knot{b}", a, b) for a, b in both if a == router)

    def places(self) -> Places:
        return Places(POINTS, apart=80, shape=self.shape)
"""
USED = """\
import json, pathlib, sys
import isoviz
from isoviz.figures import network_svg
from isoviz.machines import ChannelKind, LatencyBandwidth, Machine, Memory
from isoviz.machines.networks import Network, Port, Transport
from isoviz.widgets.pages.plan_page import plan_page
from isoviz.widgets.panes.network_pane import networks_of
import kite

out, shape = pathlib.Path(sys.argv[1]), sys.argv[2]
memories = tuple(Memory(f"node{k}.sys", "SYS", k) for k in range(6))
ports = tuple(Port(memory.name, f"knot{k}") for k, memory in enumerate(memories))
way = Transport(ChannelKind.REMOTE_MEMCPY, LatencyBandwidth(1e-6, 1e9))
machine = Machine("kite", memories, (), networks=(Network("net", kite.Kite(shape), ports, (way,), 2e9),))
ends = ("node0.sys", "<F, x>", "node5.sys", "<F, x>")
plan = isoviz.plan(isoviz.Transfer.whole(isoviz.IndexSpace(x=2**16), isoviz.FieldSpace(v="f8"), *ends), machine)
routes = [[link.name for link in machine.networks[0].route(hop.source, hop.destination)] for hop in plan.hops]
simulator = isoviz.Simulator(machine)
simulator.submit(plan)
(out / "page.html").write_text(plan_page(plan, machine, kind="explorer"))
(out / "network.svg").write_text(network_svg(machine, plan))
told = {"routes": routes, "planned": plan.seconds, "simulated": simulator.run().seconds}
(out / "told.json").write_text(json.dumps({**told, "networks": networks_of(machine)[0]}))
"""
POINTS = ((0.0, 0.0), (120.0, 0.0), (240.0, 40.0), (60.0, 100.0), (180.0, 140.0), (20.0, 180.0))

PIXELS = """\
stage => {
  if (stage === null) return {};  // the page is being loaded again
  const canvas = stage.querySelector("canvas"), { width, height } = canvas;
  if (width === 0 || height === 0) return {};
  const { data } = canvas.getContext("2d").getImageData(0, 0, width, height);
  const found = {};
  for (let at = 0; at < width * height; at += 1) {
    if (data[4 * at + 3] < 255) continue;
    const colour = [0, 1, 2].map(part => data[4 * at + part].toString(16).padStart(2, "0")).join("");
    (found[colour] ??= []).push([at % width, Math.floor(at / width)]);
  }
  return found;
}"""


@pytest.fixture
def told(tmp_path: Path) -> Path:
    """A folder with the file of a topology, and what isoviz makes of it."""
    return made(tmp_path, "routers")


def made(folder: Path, shape: str) -> Path:
    (folder / "kite.py").write_text(TOPOLOGY)
    command = [sys.executable, "-c", USED, str(folder), shape]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder


def groups(pixels: Sequence[tuple[int, int]]) -> list[tuple[float, float]]:
    """The middles of squares, from the pixels of all of them."""
    squares: list[list[tuple[int, int]]] = []
    for x, y in pixels:
        near = next((each for each in squares if abs(each[-1][0] - x) + abs(each[-1][1] - y) < 40), None)
        if near is None:
            squares.append([(x, y)])
        else:
            near.append((x, y))
    extents = [(min(p[k] for p in square) + max(p[k] for p in square)) / 2 for square in squares for k in (0, 1)]
    return list(zip(extents[::2], extents[1::2], strict=True))


def assert_alike(found: Sequence[tuple[float, float]], wanted: Sequence[tuple[float, float]]) -> None:
    """That places are the wanted ones, at some scale, somewhere."""
    found, wanted = sorted(found), sorted(wanted)
    assert len(found) == len(wanted)
    scale = (found[-1][0] - found[0][0]) / (wanted[-1][0] - wanted[0][0])
    moved = [(found[0][0] + scale * (x - wanted[0][0]), found[0][1] + scale * (y - wanted[0][1])) for x, y in wanted]
    assert found == [pytest.approx(place, abs=1.5) for place in moved]


def pixels_of(page: Page) -> dict[str, list[tuple[int, int]]]:
    stage = page.get_by_test_id("network-stage")
    stage.wait_for()
    page.wait_for_function("stage => Number(stage.dataset.drawn) > 0", arg=stage.element_handle())
    found: dict[str, list[tuple[int, int]]] = stage.evaluate(PIXELS)
    return found


def test_a_topology_is_one_file(browser: Browser, told: Path) -> None:
    facts = json.loads((told / "told.json").read_text())
    assert facts["routes"] == [["knot0>knot1", "knot1>knot3", "knot3>knot5"]]
    assert facts["simulated"] == pytest.approx(facts["planned"], rel=1e-9)
    assert [facts["networks"][0][key] for key in ("kind", "names")] == ["kite", [f"knot{router}" for router in range(6)]]
    picture = (told / "network.svg").read_text()
    data = next(data for data in re.findall(r' d="([^"]*)"', picture) if "h" in data)
    assert_alike([(float(x), float(y)) for x, y in re.findall(r"M(\S+) ([^h]+)h", data)], POINTS)
    assert picture.count(">knot") == 4, "all but both ends"

    context = browser.new_context(viewport={"width": 1280, "height": 900}, color_scheme="light")
    try:
        page = context.new_page()
        page.set_default_timeout(harness.PATIENCE)
        page.goto((told / "page.html").as_uri())
        page.get_by_test_id("view-machine").locator("summary").first.click()
        assert_alike(groups(pixels_of(page)["93a0b0"]), POINTS)
    finally:
        context.close()


SHAPE = """\
// A kite: all of it is red.
import { registerShape } from "#views/network/shape.ts";

registerShape("cloth", {
  holds: true,
  quiet: () => false,
  lay: () => {
    const at = (router: number) => ({ x: 30 * router, y: 20 });
    return {
      width: 180,
      height: 60,
      at,
      end: at,
      lines: () => [],
      paint: ({ context, at: { x, y, scale } }) => {
        context.fillStyle = "#d02030";
        context.fillRect(x, y, 180 * scale, 60 * scale);
      },
    };
  },
});
"""


def test_a_shape_of_its_own_is_one_file(browser: Browser, tmp_path: Path, copy: Path, page_of_views: str) -> None:  # noqa: F811
    recorded = copy / "tests" / "snapshot.json"
    state = json.loads(recorded.read_text(encoding="utf-8"))
    folder = tmp_path / "kite"
    folder.mkdir()
    networks = json.loads((made(folder, "cloth") / "told.json").read_text())["networks"]
    network = {"networks": networks, "others": [], "legs": []}
    recorded.write_text(json.dumps({**state, "panes": {**state["panes"], "network": network}}))
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    try:
        page = context.new_page()
        page.goto(f"{page_of_views}?pane=machine", timeout=PATIENCE)
        before = pixels_of(page)
        assert_alike(groups(before["93a0b0"]), POINTS)
        assert "d02030" not in before, "a shape that is not there is drawn as routers"
        (copy / "src" / "views" / "network" / "shapes" / "cloth.ts").write_text(SHAPE)  # the page is loaded again by itself
        page.wait_for_function(f"({PIXELS})(document.querySelector('[data-testid=network-stage]')).d02030", timeout=PATIENCE)
        after = pixels_of(page)
        xs, ys = zip(*after["d02030"], strict=True)
        assert (max(xs) - min(xs) + 1) / (max(ys) - min(ys) + 1) == pytest.approx(3, rel=0.02)
        assert "93a0b0" not in after
    finally:
        context.close()
