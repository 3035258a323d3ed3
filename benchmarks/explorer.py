"""How quickly the explorer answers in JupyterLab: from an event in the browser to the frame that shows what follows from it."""

from __future__ import annotations

import inspect
import json
import os
import random
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import isoviz
from benchmarks.browser import box_of, frames, open_notebook, running_chromium, running_lab, spread_row, timed
from benchmarks.clicks import CELL_TOOLBAR, random_clicks
from isoviz.bench.table import Row, Table, scratch_folder
from isoviz.units import format_bytes
from isoviz.widgets.script import SCRIPTS, packed, parts_of_view

if TYPE_CHECKING:
    from harness import Lab, Notebook
    from playwright.sync_api import Browser, Locator

_EXPLORE = {
    "local": "import isoviz\nexplorer = isoviz.explore(restore=False, example='transpose')",
    "sapling": "import isoviz\nexplorer = isoviz.explore(restore=False, example='tensor', machine_options={'nodes': 4})",
    "DGX pair": "import isoviz\nexplorer = isoviz.explore(restore=False, machine='dgx-h100-pair')",
    "bgq 512": "import isoviz\nexplorer = isoviz.explore(restore=False, machine='bgq', machine_options={'nodes': 512})",
}
_FIRST = "import isoviz\nexplorer = isoviz.explore(restore=False)"
_LARGE = (
    "import isoviz\nexplorer = isoviz.explore(restore=False, space={'x': 4096, 'y': 4096}, "
    "source=('node0.sys', '<F, x_in=64, y_in=64, x_out, y_out>'), destination=('node0.sys', '<F, y, x>'))"
)
PHOTO = (2000, 2000)
_PHOTO = f"""\
import numpy, isoviz
photo = numpy.random.default_rng(1).integers(0, 256, {(*PHOTO, 3)}, numpy.uint8)
explorer = isoviz.explore(photo, restore=False)
"""
_MACHINE = """\
import isoviz
from dataclasses import replace
whole = isoviz.machines.preset("sapling", nodes=40)
node = {memory.name: memory.node for memory in whole.memories}
near = [each for each in whole.channels if (node[each.destination] - node[each.source]) % 40 < 4]
editor = isoviz.MachineEditor(replace(whole, name="ring of 40 nodes", channels=tuple(near)))
editor
"""
"""200 memories, and about 2,000 channels: those within a node, and to the next three nodes of a ring."""
REQUESTS = 1_000_000
"""Requests of the trace that the timeline shows."""

_GRID = "[data-testid=end-source] [data-testid=linearization-memory]"
_DRAWN = f"(document.querySelector('{_GRID} canvas').dataset.drawn ?? '')"
_MARKED = f"(document.querySelectorAll('{_GRID} canvas')[1].dataset.drawn ?? '')"
_EXPLORER = "document.querySelector('[data-testid=explorer]')"
_TIMELINE = "[data-testid=timeline-area]"
_STAGE = "[data-testid=machine-stage]"


def measure(repeat: int = 40, minutes: float = 0.0) -> Table:
    """Each gesture `repeat` times; then random clicks for that many `minutes`, with the memory of browser and kernel.

    Raises:
        MissingPartError: Playwright is not installed. InputError: there is no Chromium.
    """
    rows: list[Row] = []
    load, few = os.getloadavg()[0], max(3, repeat // 10)
    with scratch_folder(None) as home, running_chromium() as browser:
        with running_lab(home / "gestures") as lab:
            rows += _ready(browser, lab)
            for machine, code in _EXPLORE.items():
                with open_notebook(browser, lab, machine, code) as notebook:
                    rows += _gestures(notebook, machine, repeat)
                    rows += _what_if(notebook, machine, repeat)
            with open_notebook(browser, lab, "large", _LARGE) as notebook:
                rows += _frames(notebook)
                rows += _cancel(notebook, few)
            with open_notebook(browser, lab, "photo", _PHOTO) as notebook:
                rows += _photo(notebook, repeat)
            with open_notebook(browser, lab, "timeline") as notebook:
                rows += _timeline(notebook, few)
            with open_notebook(browser, lab, "machine", _MACHINE) as notebook:
                rows += _machine(notebook)
        if minutes > 0:
            with (
                running_lab(home / "clicks", CELL_TOOLBAR) as lab,
                open_notebook(browser, lab, "clicks", _EXPLORE["local"]) as notebook,
            ):
                rows += random_clicks(notebook, minutes)
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


def _ready(browser: Browser, lab: Lab) -> Iterator[Row]:
    """From Shift+Enter to a plan that is drawn, in a new kernel: for the very first time, and again.

    The very first plan has assumed rates. This computer is measured meanwhile, and the plan follows.
    """
    for number, name in enumerate(("the very first time", "again, in a new kernel")):
        with open_notebook(browser, lab, f"ready-{number}") as notebook:
            notebook.enter(0, _FIRST)
            drawn = "() => document.querySelector('[data-testid=journey] canvas') !== null"
            begin = time.perf_counter()
            ready = timed(notebook, "keydown", drawn, notebook.run_first_cell)
            settled = time.perf_counter() - begin
        yield spread_row(f"ready, {name}", [ready], "≤ 3 s")
        if number == 0:
            yield spread_row("this computer is measured and the plan follows, the very first time", [settled], "")


def _gestures(notebook: Notebook, machine: str, repeat: int) -> Iterator[Row]:
    """A chip moved by a key: when the picture of the layout follows, and when the plan does; and an entry pointed at."""
    page = notebook.page
    notebook.end("source").locator(".iv-edit-chip").first.focus()
    pictures: list[float] = []
    plans: list[float] = []

    def press(key: str) -> Callable[[], None]:
        return lambda: page.keyboard.press(key)

    for number in range(repeat):
        key, back = ("ArrowRight", "ArrowLeft")[:: 1 if number % 2 == 0 else -1]
        before = json.dumps(page.evaluate(f"() => {_DRAWN}"))
        pictures.append(timed(notebook, "keydown", f"() => {_DRAWN} !== {before}", press(key)))
        notebook.settled()
        revision = page.evaluate(f"() => {_EXPLORER}.dataset.revision")
        planned = f"() => {_EXPLORER}.dataset.busy === 'false' && {_EXPLORER}.dataset.revision !== '{revision}'"
        plans.append(timed(notebook, "keydown", planned, press(back)))
        notebook.settled()
        page.keyboard.press(key)
        notebook.settled()
    yield spread_row(f"{machine}: a chip moves, the picture follows", pictures, "≤ 50 ms")
    yield spread_row(f"{machine}: a chip moves, the plan follows", plans, "≤ 100 ms")
    box = box_of(page.locator(_GRID).first)
    hovers = []
    draw = random.Random(7)  # noqa: S311  # no secret

    def point(down: tuple[float, float]) -> tuple[float, float]:
        return box["x"] + box["width"] * draw.uniform(0.3, 0.6), box["y"] + box["height"] * draw.uniform(*down)

    for _ in range(repeat):
        page.mouse.move(*point((0.3, 0.6)))
        page.wait_for_timeout(30)
        before, other = json.dumps(page.evaluate(f"() => {_MARKED}")), point((0.65, 0.9))
        hovers.append(timed(notebook, "pointermove", f"() => {_MARKED} !== {before}", lambda at=other: page.mouse.move(*at)))  # type: ignore[misc]
    yield spread_row(f"{machine}: an entry pointed at is marked", hovers, "≤ 50 ms")


def _photo(notebook: Notebook, repeat: int) -> Iterator[Row]:
    """A chip of the destination moved by a key: when its picture, coloured by the photo's values, follows."""
    page = notebook.page
    drawn = f"(document.querySelector('{_GRID.replace('source', 'destination')} canvas').dataset.drawn ?? '')"
    notebook.end("destination").locator(".iv-edit-chip").first.focus()
    pictures = []
    for number in range(repeat):
        key = ("ArrowRight", "ArrowLeft")[number % 2]
        before = json.dumps(page.evaluate(f"() => {drawn}"))
        pictures.append(timed(notebook, "keydown", f"() => {drawn} !== {before}", lambda key=key: page.keyboard.press(key)))  # type: ignore[misc]
        notebook.settled()
    megapixels = PHOTO[0] * PHOTO[1] / 1e6
    yield spread_row(f"a photo of {megapixels:g} megapixels by address: a chip moves, the picture follows", pictures, "≤ 100 ms")


def _what_if(notebook: Notebook, machine: str, repeat: int) -> Iterator[Row]:
    """The bandwidth of the slowest hop dragged by the pointer: when the plan that follows is on screen."""
    page = notebook.page
    page.get_by_test_id("hop-0").first.click()
    slider = page.get_by_test_id("hop-what-if").first
    slider.scroll_into_view_if_needed()
    box = box_of(slider)
    middle = box["y"] + box["height"] / 2
    answered = """() => {
      const answer = document.querySelector('[data-testid=hop-what-if-answer]');
      return answer !== null && answer.dataset.answers === document.querySelector('[data-testid=hop-what-if]').dataset.value;
    }"""
    page.mouse.move(box["x"] + box["width"] / 2, middle)
    page.mouse.down()
    notebook.settled()
    answers = []
    for number in range(repeat):
        # Back and forth around the middle, never to the same place twice in a row.
        away = (number % 20 + 1) * (1 if number % 40 < 20 else -1)
        x = box["x"] + box["width"] * (0.5 + away / 50)
        answers.append(timed(notebook, "input", answered, lambda x=x: page.mouse.move(x, middle)))  # type: ignore[misc]
    page.mouse.up()
    notebook.settled()
    yield spread_row(f"{machine}: a bandwidth is dragged, the plan follows", answers, "≤ 100 ms")
    page.get_by_test_id("hop-what-if-reset").first.click()
    notebook.settled()


def _frames(notebook: Notebook) -> Iterator[Row]:
    """Times between frames while the pointer moves over, and drags, a picture of 4096 × 4096 entries."""
    mouse = notebook.page.mouse
    grid = notebook.page.locator(_GRID).first
    box = box_of(grid)
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    mouse.move(x, y)
    grid.focus()
    for _ in range(4):
        notebook.page.keyboard.press("+")

    def at(step: int) -> tuple[float, float]:
        return x + 40 * ((step % 21) / 10 - 1), y + 25 * ((step % 13) / 6 - 1)

    yield spread_row("4096 × 4096: between two frames, hover", frames(notebook, at), "≤ 33 ms")
    mouse.move(x, y)
    mouse.down()
    gaps = frames(notebook, at)
    mouse.up()
    yield spread_row("4096 × 4096: between two frames, pan", gaps, "≤ 33 ms")


def _cancel(notebook: Notebook, repeat: int) -> Iterator[Row]:
    """A run of 1 GiB cancelled at a random moment: when the click shows, and when the run is over."""
    page, cancel = notebook.page, notebook.page.get_by_test_id("cancel").first
    acknowledged, ended = [], []
    draw = random.Random(11)  # noqa: S311  # no secret
    for _ in range(repeat):
        page.get_by_test_id("run").click()
        cancel.wait_for()
        page.wait_for_timeout(draw.uniform(0, 600))
        if cancel.count() == 0:
            continue
        seen = f"() => {_EXPLORER}.dataset.phase !== 'running'"
        began = time.perf_counter()
        acknowledged.append(timed(notebook, "click", seen, cancel.click))
        page.wait_for_function(f"() => {_EXPLORER}.dataset.running === 'false'")
        ended.append(time.perf_counter() - began)
    if acknowledged:
        yield spread_row("Cancel is acknowledged", acknowledged, "≤ 100 ms")
        yield spread_row("Cancel has ended the run", ended, "≤ 1 s")


def long_trace(requests: int) -> "isoviz.Trace":  # noqa: UP037  # a cell of a notebook evaluates it
    """A trace of about `requests` requests over six channels, made without simulating them; the slowest is always at work."""
    from isoviz.runtime.trace.trace import RequestSpan, Trace, TransferSpan
    from isoviz.scheduling.work import Ring, Work

    seconds = (4e-6, 1.1e-5, 0.9e-5, 1.4e-5, 1.0e-5, 3e-6)  # of a request, by hop
    hops = len(seconds)
    chunks = max(1, requests // hops)
    rings = tuple(Ring(f"node0.buffer{number}", 1 << 19, 2) for number in range(hops - 1))
    channels = tuple(f"channel {number}" for number in range(hops))
    period = max(seconds)
    begins = [sum(seconds[:hop]) for hop in range(hops)]
    spans = [
        RequestSpan(0, hop, chunk, 0, begins[hop] + chunk * period, begins[hop] + chunk * period + seconds[hop])
        for chunk in range(chunks)
        for hop in range(hops)
    ]
    work = Work.one_path(channels, chunks, rings)
    size = float(1 << 19)
    return Trace((TransferSpan(0, "a long transfer", work, chunks * size, size, 0.0, 0.0, spans[-1].end),), tuple(spans))


def _timeline(notebook: Notebook, repeat: int) -> Iterator[Row]:
    """From the trace being there, in the kernel, to its picture on the screen; and the times between frames while it is moved."""
    page = notebook.page
    notebook.python(f"import time, isoviz\n{inspect.getsource(long_trace)}\ntrace = long_trace({REQUESTS})")
    opened = []
    painted = f"() => document.querySelector('{_TIMELINE} .iv-tl-rows canvas')?.dataset.drawn"
    for number in range(repeat):
        page.evaluate("() => document.querySelectorAll('[data-testid=explorer]').forEach(each => each.remove())")
        notebook.enter(0, f"began = time.time()  # {number}\nisoviz.TraceView(trace)")
        page.evaluate(f"() => {{ window.isovizTime = window.isovizWatch('keydown', {painted}).then(() => Date.now() / 1000) }}")
        notebook.run_first_cell()
        seen = float(page.evaluate("() => window.isovizTime"))
        opened.append(seen - float(notebook.python("print(began)")))
    yield spread_row(f"timeline of {REQUESTS:,} requests: open", opened, "≤ 2 s")
    for what, name in (("whole", "the whole, zoomed and moved"), ("first", "every request, moved")):
        page.get_by_test_id(f"timeline-{what}").first.click()
        area = page.locator(_TIMELINE).first
        area.scroll_into_view_if_needed()
        box = box_of(area)
        x, y = box["x"] + 0.6 * box["width"], box["y"] + 60
        page.mouse.move(x, y)
        page.keyboard.down("Control")
        page.mouse.wheel(0, -200)
        page.keyboard.up("Control")
        page.mouse.down()
        wide = 0.25 * box["width"]
        gaps = frames(notebook, lambda step, x=x, y=y, wide=wide: (x + wide * ((step % 41) / 20 - 1), y))  # type: ignore[misc]
        page.mouse.up()
        yield spread_row(f"timeline of {REQUESTS:,} requests: between two frames, {name}", gaps, "≤ 33 ms")


def _machine(notebook: Notebook) -> Iterator[Row]:
    """Times between frames on a machine of 200 memories and 2,000 channels, far away and close by."""
    page = notebook.page
    stage = page.locator(_STAGE).first
    stage.evaluate("element => element.scrollIntoView({block: 'center'})")
    said = str(stage.get_attribute("aria-label")).partition(": ")[2]
    node = page.locator(f"{_STAGE} .iv-mc-title").nth(17)
    yield spread_row(f"{said}: between two frames, a node is dragged", _dragged(notebook, node), "≤ 33 ms")
    page.get_by_test_id("machine-search").fill("node17.sys")
    page.get_by_test_id("machine-search").press("Enter")
    for _ in range(3):  # as far away as memories are shown one by one
        page.get_by_test_id("zoom-out").click()
    memory = page.locator(f"{_STAGE} [data-testid='canvas-memory-node17.sys']").first
    yield spread_row(f"{said}: between two frames, a memory is dragged", _dragged(notebook, memory), "≤ 33 ms")
    yield spread_row(f"{said}: between two frames, the drawing is dragged", _dragged(notebook, stage), "≤ 33 ms")


def _dragged(notebook: Notebook, element: Locator) -> list[float]:
    """Seconds between the frames while something is dragged about."""
    box = box_of(element)
    x, y = (box["x"] + min(box["width"] / 2, 8), box["y"] + min(box["height"] / 2, 8))
    notebook.page.mouse.move(x, y)
    notebook.page.mouse.down()
    gaps = frames(notebook, lambda step: (x + 60 * ((step % 21) / 10 - 1), y + 30 * ((step % 13) / 6 - 1)))
    notebook.page.mouse.up()
    notebook.settled()
    return gaps


def _sizes() -> Iterator[Row]:
    """Bytes of the script, compressed: what the first view needs, and all parts."""
    everything = ("explorer.css", *SCRIPTS)
    for what, names, aim in (("core", parts_of_view("explorer"), 130), ("all parts", everything, 300)):
        size = sum(len(packed(name)) for name in names)
        yield {"what": f"script, {what}, gzip", "median": format_bytes(size), "p95": "", "aim": f"≤ {aim} KiB", "bytes": size}
