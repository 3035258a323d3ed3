"""How smoothly a large machine moves on its canvas: frames while memories and nodes are dragged, and while the drawing is."""

from __future__ import annotations

import time
from collections.abc import Iterator

from isoviz.bench.explorer.gesture_rows import spread_row
from isoviz.bench.explorer.lab_page import LabPage
from isoviz.bench.table import Row

SECONDS = 3.0
_CODE = """\
import isoviz
from dataclasses import replace
whole = isoviz.machines.preset("sapling", nodes=40)
node = {memory.name: memory.node for memory in whole.memories}
near = [each for each in whole.channels if (node[each.destination] - node[each.source]) % 40 < 4]
editor = isoviz.MachineEditor(replace(whole, name="ring of 40 nodes", channels=tuple(near)))
editor
"""
"""200 memories, and about 2,000 channels: those within a node, and to the next three nodes of a ring."""
_STAGE = "[data-testid=machine-stage]"
_WATCH = """seconds => {
  window.isovizGaps = new Promise(resolve => {
    const gaps = []; let last = performance.now(); const end = last + 1000 * seconds;
    const look = now => { gaps.push(now - last); last = now; now < end ? requestAnimationFrame(look) : resolve(gaps.slice(1)); };
    requestAnimationFrame(look);
  });
}"""


def machine_frames(lab: LabPage) -> Iterator[Row]:
    """Times between frames on a machine of 200 memories and 2,000 channels, far away and close by."""
    page = lab.page
    page.evaluate("() => document.querySelectorAll('[data-testid=explorer]').forEach(each => each.remove())")
    lab.run(_CODE)
    lab.settled()
    stage = page.locator(_STAGE).first
    stage.wait_for()
    stage.evaluate("element => element.scrollIntoView({block: 'center'})")
    said = str(stage.get_attribute("aria-label")).partition(": ")[2]
    yield spread_row(
        f"{said}: between two frames, a node is dragged", _dragged(lab, f"{_STAGE} .iv-mc-title >> nth=17"), "≤ 33 ms"
    )
    page.get_by_test_id("machine-search").fill("node17.sys")
    page.get_by_test_id("machine-search").press("Enter")
    for _ in range(3):  # as far away as memories are shown one by one
        page.get_by_test_id("zoom-out").click()
    body = f"{_STAGE} [data-testid='canvas-memory-node17.sys']"
    yield spread_row(f"{said}: between two frames, a memory is dragged", _dragged(lab, body), "≤ 33 ms")
    yield spread_row(f"{said}: between two frames, the drawing is dragged", _dragged(lab, _STAGE), "≤ 33 ms")


def _dragged(lab: LabPage, what: str) -> list[float]:
    """Seconds between the frames while something is dragged about."""
    page = lab.page
    element = page.locator(what).first
    box = element.bounding_box()
    assert box is not None
    x, y = (box["x"] + min(box["width"] / 2, 8), box["y"] + min(box["height"] / 2, 8))
    page.mouse.move(x, y)
    page.mouse.down()
    page.evaluate(_WATCH, SECONDS)
    end = time.perf_counter() + SECONDS
    step = 0
    while time.perf_counter() < end:
        step += 1
        page.mouse.move(x + 60 * ((step % 21) / 10 - 1), y + 30 * ((step % 13) / 6 - 1))
    gaps = [float(gap) / 1000 for gap in page.evaluate("() => window.isovizGaps")]
    page.mouse.up()
    lab.settled()
    return gaps
