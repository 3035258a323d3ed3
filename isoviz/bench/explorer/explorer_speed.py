"""How quickly the explorer answers in JupyterLab: from an event in the browser to the frame that shows what follows from it."""

from __future__ import annotations

import gzip
import json
import os
import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from isoviz.bench.explorer.gesture_rows import spread_row
from isoviz.bench.explorer.lab_page import LabPage, browser, lab_page, server
from isoviz.bench.explorer.machine_frames import machine_frames
from isoviz.bench.explorer.random_clicks import CELL_TOOLBAR, random_clicks
from isoviz.bench.explorer.timeline_speed import timeline_rows
from isoviz.bench.table import Row, Table, scratch_folder
from isoviz.units import format_bytes

if TYPE_CHECKING:
    from playwright.sync_api import Browser

_EXPLORE = {
    "local": "import isoviz\nexplorer = isoviz.explore(restore=False, example='transpose')",
    "sapling": "import isoviz\nexplorer = isoviz.explore(restore=False, example='tensor', machine_options={'nodes': 4})",
}
_LARGE = (
    "import isoviz\nexplorer = isoviz.explore(restore=False, space={'x': 4096, 'y': 4096}, "
    "source=('node0.sys', '<F, x_in=64, y_in=64, x_out, y_out>'), destination=('node0.sys', '<F, y, x>'))"
)

_CHIP = "[data-testid=end-source] .iv-edit-chip"
_GRID = "[data-testid=end-source] [data-testid=linearization-grid]"
_CANCEL = "[data-testid=cancel]"
_DRAWN = f"(document.querySelector('{_GRID} canvas').dataset.drawn ?? '')"
_MARKED = f"(document.querySelectorAll('{_GRID} canvas')[1].dataset.drawn ?? '')"
_EXPLORER = "document.querySelector('[data-testid=explorer]')"

_WATCH = """() => {
  // Milliseconds from the next event of that kind to the frame after `shown` holds.
  window.isovizWatch = (kind, shown) => new Promise(resolve => {
    const begin = event => {
      window.removeEventListener(kind, begin, true);
      const channel = new MessageChannel();
      const look = () => requestAnimationFrame(() => channel.port2.postMessage(0));
      // A task after a frame: what that frame drew is on screen.
      channel.port1.onmessage = () => shown() ? resolve(performance.now() - event.timeStamp) : look();
      look();
    };
    window.addEventListener(kind, begin, true);
  });
  window.isovizFrames = seconds => new Promise(resolve => {
    const gaps = []; let last = performance.now(); const end = last + 1000 * seconds;
    const look = now => { gaps.push(now - last); last = now; now < end ? requestAnimationFrame(look) : resolve(gaps.slice(1)); };
    requestAnimationFrame(look);
  });
}"""


def measure(repeat: int = 40, minutes: float = 0.0) -> Table:
    """Each gesture `repeat` times; then random clicks for that many `minutes`, with the memory of browser and kernel.

    Raises:
        MissingPartError: Playwright is not installed. InputError: there is no Chromium, or JupyterLab does not start.
    """
    rows: list[Row] = []
    load = os.getloadavg()[0]
    with scratch_folder(None) as home, browser() as chromium:
        with server(home) as url:
            rows += _ready(chromium, url)
            for machine, code in _EXPLORE.items():
                with lab_page(chromium, url) as lab:
                    _shown(lab, code)
                    rows += _gestures(lab, machine, repeat)
                    rows += _what_if(lab, machine, repeat)
            with lab_page(chromium, url) as lab:
                _shown(lab, _LARGE)
                rows += _frames(lab)
                rows += _cancel(lab, max(3, repeat // 10))
            with lab_page(chromium, url) as lab:
                rows += timeline_rows(lab, max(3, repeat // 10))
            with lab_page(chromium, url) as lab:
                rows += machine_frames(lab)
        if minutes > 0:
            with server(home / "clicks", (CELL_TOOLBAR,)) as url, lab_page(chromium, url) as lab:
                _shown(lab, _EXPLORE["local"])
                rows += random_clicks(lab, minutes)
        rows += _sizes()
    return Table(
        "explorer",
        f"the explorer in JupyterLab, {repeat} gestures each",
        {
            "what": ("what", str),
            "median": ("median", str),
            "p95": ("p95", str),
            "aim": ("aim", str),
        },
        rows,
        (f"load of the computer at the beginning: {load:.1f}", "times from the event in the browser to the painted answer"),
    )


class _Start(NamedTuple):
    """Seconds from Shift+Enter until a plan is drawn, and until nothing is computed or measured any more."""

    ready: float
    settled: float


def _shown(lab: LabPage, code: str) -> _Start:
    """Run a cell that shows the explorer, and wait until nothing changes any more."""
    lab.page.evaluate(_WATCH)
    # The explorer of an earlier page may stand in the saved notebook: what is waited for is a new one.
    lab.page.evaluate("() => document.querySelectorAll('[data-testid=explorer]').forEach(each => each.remove())")
    began = time.perf_counter()
    lab.run(code)
    lab.page.locator("[data-testid=journey] canvas").first.wait_for()
    ready = time.perf_counter() - began
    lab.settled()
    settled = time.perf_counter() - began
    lab.page.evaluate(f"() => {_EXPLORER}.scrollIntoView({{block: 'start'}})")
    return _Start(ready, settled)


def _ready(chromium: Browser, url: str) -> Iterator[Row]:
    """From Shift+Enter to a plan that is drawn, in a new kernel: for the very first time, and again.

    The very first plan has assumed rates. This computer is measured meanwhile, and the plan follows.
    """
    code = "import isoviz\nexplorer = isoviz.explore(restore=False)"
    for name in ("the very first time", "again, in a new kernel"):
        with lab_page(chromium, url) as lab:
            start = _shown(lab, code)
            _restarted(lab)
        yield spread_row(f"ready, {name}", [start.ready], "≤ 3 s")
        if name == "the very first time":
            yield spread_row("this computer is measured and the plan follows, the very first time", [start.settled], "")


def _restarted(lab: LabPage) -> None:
    lab.page.evaluate("""async () => {
      const kernels = await (await fetch('/api/kernels')).json();
      const xsrf = document.cookie.match(/_xsrf=([^;]*)/)?.[1] ?? '';
      for (const each of kernels)
        await fetch(`/api/kernels/${each.id}/restart`, {method: 'POST', headers: {'X-XSRFToken': xsrf}});
    }""")


def _timed(lab: LabPage, kind: str, shown: str, gesture: Callable[[], None]) -> float:
    """Seconds from the event of a gesture to the painted answer; `shown` is JavaScript that says whether it is there."""
    lab.page.evaluate(f"() => {{ window.isovizTime = window.isovizWatch('{kind}', {shown}) }}")
    gesture()
    return float(lab.page.evaluate("() => window.isovizTime")) / 1000


def _gestures(lab: LabPage, machine: str, repeat: int) -> Iterator[Row]:
    """A chip moved by a key: when the picture of the layout follows, and when the plan does; and an entry pointed at."""
    page = lab.page
    chip = page.locator(_CHIP).first
    chip.focus()
    local: list[float] = []
    plans: list[float] = []
    for number in range(repeat):
        key = "ArrowRight" if number % 2 == 0 else "ArrowLeft"
        before = page.evaluate(f"() => {_DRAWN}")
        local.append(_timed(lab, "keydown", f"() => {_DRAWN} !== {json.dumps(before)}", lambda key=key: page.keyboard.press(key)))  # type: ignore[misc]
        lab.settled()
        revision = page.evaluate(f"() => {_EXPLORER}.dataset.revision")
        back = "ArrowLeft" if key == "ArrowRight" else "ArrowRight"
        done = f"() => {_EXPLORER}.dataset.busy === 'false' && {_EXPLORER}.dataset.revision !== '{revision}'"
        plans.append(_timed(lab, "keydown", done, lambda back=back: page.keyboard.press(back)))  # type: ignore[misc]
        lab.settled()
        page.keyboard.press(key)
        lab.settled()
    yield spread_row(f"{machine}: a chip moves, the picture follows", local, "≤ 50 ms")
    yield spread_row(f"{machine}: a chip moves, the plan follows", plans, "≤ 100 ms")
    box = page.locator(_GRID).first.bounding_box()
    assert box is not None
    hovers = []
    draw = random.Random(7)  # noqa: S311  # no secret
    for _ in range(repeat):
        place = (box["x"] + box["width"] * draw.uniform(0.3, 0.6), box["y"] + box["height"] * draw.uniform(0.3, 0.6))
        page.mouse.move(place[0], place[1] + 1)
        page.wait_for_timeout(30)
        before = page.evaluate(f"() => {_MARKED}")
        other = (box["x"] + box["width"] * draw.uniform(0.3, 0.6), box["y"] + box["height"] * draw.uniform(0.65, 0.9))
        changed = f"() => {_MARKED} !== {json.dumps(before)}"
        hovers.append(_timed(lab, "pointermove", changed, lambda other=other: page.mouse.move(*other)))  # type: ignore[misc]
    yield spread_row(f"{machine}: an entry pointed at is marked", hovers, "≤ 50 ms")


def _what_if(lab: LabPage, machine: str, repeat: int) -> Iterator[Row]:
    """The bandwidth of the slowest hop dragged by the pointer: when the plan that follows is on screen."""
    page = lab.page
    slider = page.get_by_test_id("hop-what-if").first
    slider.scroll_into_view_if_needed()
    box = slider.bounding_box()
    assert box is not None
    middle = box["y"] + box["height"] / 2
    answered = """() => {
      const answer = document.querySelector('[data-testid=hop-what-if-answer]');
      return answer !== null && answer.dataset.answers === document.querySelector('[data-testid=hop-what-if]').dataset.value;
    }"""
    page.mouse.move(box["x"] + box["width"] / 2, middle)
    page.mouse.down()
    lab.settled()
    answers = []
    for number in range(repeat):
        # Back and forth around the middle, never to the same place twice in a row.
        away = (number % 20 + 1) * (1 if number % 40 < 20 else -1)
        place = box["x"] + box["width"] * (0.5 + away / 50)
        answers.append(_timed(lab, "input", answered, lambda place=place: page.mouse.move(place, middle)))  # type: ignore[misc]
    page.mouse.up()
    lab.settled()
    yield spread_row(f"{machine}: a bandwidth is dragged, the plan follows", answers, "≤ 100 ms")
    page.get_by_test_id("hop-what-if-reset").first.click()
    lab.settled()


def _frames(lab: LabPage) -> Iterator[Row]:
    """Times between frames while the pointer moves over, and drags, a picture of 4096 × 4096 entries."""
    page = lab.page
    box = page.locator(_GRID).first.bounding_box()
    assert box is not None
    middle = (box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.move(*middle)
    page.locator(_GRID).first.focus()
    for _ in range(4):
        page.keyboard.press("+")
    for what, dragging in (("hover", False), ("pan", True)):
        page.mouse.move(*middle)
        if dragging:
            page.mouse.down()
        page.evaluate("() => { window.isovizGaps = window.isovizFrames(3) }")
        end = time.perf_counter() + 3
        step = 0
        while time.perf_counter() < end:
            step += 1
            page.mouse.move(middle[0] + 40 * ((step % 21) / 10 - 1), middle[1] + 25 * ((step % 13) / 6 - 1))
        gaps = [gap / 1000 for gap in page.evaluate("() => window.isovizGaps")]
        if dragging:
            page.mouse.up()
        yield spread_row(f"4096 × 4096: between two frames, {what}", gaps, "≤ 33 ms")


def _cancel(lab: LabPage, repeat: int) -> Iterator[Row]:
    """A run of 1 GiB cancelled at a random moment: when the click shows, and when the run is over."""
    page = lab.page
    acknowledged, ended = [], []
    draw = random.Random(11)  # noqa: S311  # no secret
    for _ in range(repeat):
        page.get_by_test_id("run").click()
        page.locator(_CANCEL).first.wait_for()
        page.wait_for_timeout(draw.uniform(0, 600))
        if page.locator(_CANCEL).count() == 0:
            continue
        over = f"() => {_EXPLORER}.dataset.running === 'false'"
        seen = f"() => {_EXPLORER}.dataset.phase !== 'running'"
        began = time.perf_counter()
        acknowledged.append(_timed(lab, "click", seen, lambda: page.locator(_CANCEL).first.click()))
        page.wait_for_function(over)
        ended.append(time.perf_counter() - began)
    if acknowledged:
        yield spread_row("Cancel is acknowledged", acknowledged, "≤ 100 ms")
        yield spread_row("Cancel has ended the run", ended, "≤ 1 s")


def _sizes() -> Iterator[Row]:
    """Bytes of the bundle, raw and compressed."""
    files = list((Path(__file__).parents[2] / "widgets" / "static").glob("explorer.*"))
    raw = sum(file.stat().st_size for file in files)
    small = sum(len(gzip.compress(file.read_bytes())) for file in files)
    yield {"what": "bundle", "median": format_bytes(raw), "p95": "", "aim": "≤ 700 KiB", "bytes": raw}
    yield {"what": "bundle, gzip", "median": format_bytes(small), "p95": "", "aim": "≤ 200 KiB", "bytes": small}
