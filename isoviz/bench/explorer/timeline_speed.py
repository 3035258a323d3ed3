"""How quickly the timeline shows and moves a trace of a million requests, in JupyterLab."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from isoviz.bench.explorer.gesture_rows import spread_row
from isoviz.bench.table import Row

if TYPE_CHECKING:
    from isoviz.bench.explorer.lab_page import LabPage

REQUESTS = 1_000_000
_MAKE = f"""import time, isoviz
from isoviz.bench.explorer.long_trace import long_trace
trace = long_trace({REQUESTS})
print("made", len(trace.requests))"""
_SHOW = """began = time.time()
isoviz.TraceView(trace)"""
_AREA = "[data-testid=timeline-area]"
_PAINTED = f"() => document.querySelector('{_AREA} .iv-tl-rows canvas')?.dataset.drawn"
_FRAMES = """seconds => { window.isovizGaps = new Promise(resolve => {
  const gaps = []; let last = performance.now(); const end = last + 1000 * seconds;
  const look = now => { gaps.push(now - last); last = now; now < end ? requestAnimationFrame(look) : resolve(gaps.slice(1)); };
  requestAnimationFrame(look);
}) }"""


def timeline_rows(lab: LabPage, repeat: int) -> Iterator[Row]:
    """From the trace being there, in the kernel, to its picture on the screen; and the times between frames while it is moved."""
    page = lab.page
    lab.run(_MAKE)
    page.get_by_text("made ").last.wait_for()
    opened = []
    for _ in range(repeat):
        page.evaluate("() => document.querySelectorAll('[data-testid=explorer]').forEach(each => each.remove())")
        lab.run(_SHOW)
        page.wait_for_function(_PAINTED)
        painted = float(page.evaluate("() => Date.now() / 1000"))
        lab.settled()
        opened.append(painted - _began(lab))
    yield spread_row(f"timeline of {REQUESTS:,} requests: open", opened, "≤ 2 s")
    lab.run(_SHOW)
    page.wait_for_function(_PAINTED)
    for what in ("whole", "first"):
        page.get_by_test_id(f"timeline-{what}").first.click()
        yield spread_row(f"timeline of {REQUESTS:,} requests: between two frames, {_NAMES[what]}", _moved(lab), "≤ 33 ms")


_NAMES = {"whole": "the whole, zoomed and moved", "first": "every request, moved"}


def _began(lab: LabPage) -> float:
    """When the last cell began to make the view, by the clock of the computer."""
    lab.page.keyboard.press("Escape")
    lab.run("print(f'began {began}')")
    text = lab.page.locator(".jp-OutputArea-output pre", has_text="began ").last
    text.wait_for()
    return float(text.inner_text().split()[-1])


def _moved(lab: LabPage) -> list[float]:
    """Seconds between frames while the timeline is dragged to and fro."""
    page = lab.page
    area = page.locator(_AREA).first
    area.scroll_into_view_if_needed()
    box = area.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 0.6 * box["width"], box["y"] + 60)
    page.keyboard.down("Control")
    page.mouse.wheel(0, -200)
    page.keyboard.up("Control")
    page.mouse.down()
    page.evaluate(_FRAMES, 3)
    end, step = time.perf_counter() + 3, 0
    while time.perf_counter() < end:
        step += 1
        page.mouse.move(box["x"] + box["width"] * (0.6 + 0.25 * ((step % 41) / 20 - 1)), box["y"] + 60)
    gaps = [gap / 1000 for gap in page.evaluate("() => window.isovizGaps")]
    page.mouse.up()
    return gaps
