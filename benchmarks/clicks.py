"""Random clicks in the explorer: what the browser and the kernel hold, minute after minute."""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import psutil
from playwright.sync_api import Error

from isoviz.bench.table import Row
from isoviz.units import format_bytes

if TYPE_CHECKING:
    from harness import Notebook
    from playwright.sync_api import Locator

SAMPLES = 16
"""Samples of the memory, evenly spread; the first quarter of them is taken while caches fill, and does not count."""
CELL_TOOLBAR = "@jupyterlab/cell-toolbar-extension:plugin"
"""An extension of JupyterLab that is left out: whenever another cell becomes the active one, it makes a new toolbar and keeps the
old one, with 250 elements and 800 listeners."""
PATIENCE = 400
"""Milliseconds that a gesture waits for what it acts on. What is covered or disabled is given up then."""
LONGEST = 120
"""Seconds that anything else waits."""
_FILES = "".join(f":not([data-testid={name}])" for name in ("menu-open-session", "open-machine", "canvas-open"))
"""Not the buttons that ask for a file."""
_ANYTHING = ", ".join(
    f"{control}{_FILES}"
    for control in ("button", "summary", "[role=tab]", "[role=radio]", "input[type=checkbox]", "input[type=radio]")
)
_EDGES = ("ArrowLeft", "ArrowRight", "PageUp", "PageDown", "Home", "End")


class Hand:
    """A hand that clicks at random: every kind of control, each about as often as the others. `done` counts its gestures."""

    def __init__(self, notebook: Notebook, seed: int = 3) -> None:
        self._notebook, self._page = notebook, notebook.page
        self._draw = random.Random(seed)  # noqa: S311  # no secret
        self.done: dict[str, int] = {}
        self._gestures: dict[str, tuple[int, Callable[[], object]]] = {
            "anything": (6, lambda: self._click(_ANYTHING)),
            "chip moved": (6, self._chip),
            "layout typed": (2, self._layout),
            "chip split": (2, self._split),
            "size": (2, self._size),
            "example": (1, lambda: self._choose(self._drawer().get_by_test_id("example"))),
            "menu": (2, lambda: self._choose(self._any("select"))),
            "run": (1, self._run),
            "tab": (2, lambda: self._click("[role=tab]")),
            "journey": (3, lambda: self._click("[data-testid^=stop-], [data-testid^=hop-]")),
            "drawer": (1, lambda: self._click("[data-testid=title]")),
            "play": (1, self._play),
            "slider": (2, lambda: self._slide("input[type=range]")),
            "pointer": (3, self._point),
            "canvas": (3, self._canvas),
            "timeline": (2, self._timeline),
            "what if": (2, self._what_if),
            "dock": (1, lambda: self._click("[data-testid=dock-size]")),
            "undo": (3, lambda: self._page.keyboard.press(self._draw.choice(("Control+z", "Control+z", "Control+Shift+z")))),
        }

    def one(self) -> None:
        """The next gesture. What lies in its way is closed, and the gesture is given up."""
        names = list(self._gestures)
        name = self._draw.choices(names, [self._gestures[each][0] for each in names])[0]
        self._page.set_default_timeout(5 * PATIENCE)
        try:
            self._gestures[name][1]()
        except (Error, LookupError):
            self._page.keyboard.press("Escape")
            name = f"{name}, not there"
        self._page.set_default_timeout(1000 * LONGEST)
        self.done[name] = self.done.get(name, 0) + 1

    def rest(self) -> None:
        """Bring the explorer back to where it began: the same array and the same tab, nothing open, nothing running."""
        notebook, page = self._notebook, self._page
        page.keyboard.press("Escape")
        notebook.until(lambda: notebook.explorer.get_attribute("data-running") == "false")
        self._drawer().get_by_test_id("example").select_option("transpose")
        notebook.settled()  # what follows from it may move the button
        notebook.close_drawer()
        notebook.explorer.locator("[role=tab]").first.click()
        notebook.settled()
        page.mouse.move(1, 1)
        page.wait_for_timeout(300)

    def _any(self, selector: str) -> Locator:
        """One of the controls that can be seen now."""
        controls: Locator = self._notebook.explorer.locator(selector).filter(visible=True)
        count = controls.count()
        if count == 0:
            raise LookupError(selector)
        return controls.nth(self._draw.randrange(count))

    def _click(self, selector: str) -> None:
        self._any(selector).click(timeout=PATIENCE)

    def _keys(self, *keys: str) -> None:
        for _ in range(self._draw.randint(1, 4)):
            self._page.keyboard.press(self._draw.choice(keys))

    def _drawer(self) -> Locator:
        drawer: Locator = self._notebook.open_drawer()
        return drawer

    def _choose(self, menu: Locator) -> None:
        menu.select_option(index=self._draw.randrange(menu.locator("option").count()), timeout=PATIENCE)

    def _chip(self) -> None:
        if self._draw.random() < 0.5:
            self._click(".iv-edit-chip")
            self._keys("ArrowLeft", "ArrowRight", "Home", "End")
        else:
            self._drag(".iv-edit-chip", ".iv-edit-chip")

    def _layout(self) -> None:
        text = self._any("[data-testid=source-layout], [data-testid=destination-layout]")
        parts = text.input_value(timeout=PATIENCE).strip("<> ").split(", ")
        self._draw.shuffle(parts)
        text.fill(f"<{', '.join(parts)}" + self._draw.choice((">", ">", ">", "")), timeout=PATIENCE)

    def _split(self) -> None:
        self._click(".iv-edit-chip")
        self._click(".iv-edit-strip button")

    def _size(self) -> None:
        self._drawer()
        self._any("[data-testid^=size-]").fill(str(self._draw.randint(2, 2048)), timeout=PATIENCE)

    def _run(self) -> None:
        self._click("[data-testid=run]")
        self._page.wait_for_timeout(self._draw.uniform(0, 600))
        if self._notebook.part("cancel").count():  # it may be over
            self._click("[data-testid=cancel]")

    def _play(self) -> None:
        for _ in range(2):
            self._click("[data-testid=linearization-play]")
            self._page.wait_for_timeout(200)

    def _slide(self, selector: str) -> None:
        self._click(selector)
        self._keys(*_EDGES)

    def _point(self) -> None:
        picture = self._any("[data-testid=linearization-memory], [data-testid=tape-source]")
        box = picture.bounding_box(timeout=PATIENCE)
        if box is None:
            raise LookupError("a picture")
        for _ in range(6):
            across, down = self._draw.random() * box["width"], self._draw.random() * box["height"]
            picture.hover(position={"x": across, "y": down}, timeout=PATIENCE)
        if self._draw.random() < 0.3:
            self._page.keyboard.press(self._draw.choice("+-0"))
            self._drag("[data-testid=linearization-memory]", "[data-testid=linearization-memory]")

    def _canvas(self) -> None:
        """Memories of the machine: clicked, dragged, moved by keys."""
        self._click("[data-testid=tab-machine]")
        if self._draw.random() < 0.5:
            self._drag("[data-testid^=canvas-memory-]", "[data-testid^=canvas-memory-]")
        else:
            self._click("[data-testid^=canvas-memory-]")
            self._keys("ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "Delete", "Escape")

    def _timeline(self) -> None:
        """The timeline: zoomed, dragged and scrubbed."""
        self._click("[data-testid=tab-timeline]")
        area = self._any("[data-testid=timeline-area]")
        for _ in range(4):
            area.hover(timeout=PATIENCE)
            self._page.mouse.wheel(0, self._draw.choice((-400, 400)))
        self._drag("[data-testid=timeline-area]", "[data-testid=timeline-area]")

    def _what_if(self) -> None:
        """A slider that plans again while it moves."""
        self._click("[data-testid=tab-why]")
        self._slide("[data-testid=what-if] input[type=range]")

    def _drag(self, begin: str, end: str) -> None:
        """From the middle of one control to the edge of another one, or of the same."""
        self._any(begin).drag_to(self._any(end), target_position={"x": 4, "y": 4}, timeout=PATIENCE)


def random_clicks(notebook: Notebook, minutes: float) -> Iterator[Row]:
    """Click at random for so long; gives what is held, as it was in the beginning and in the end, and how it grew in between."""
    session = notebook.context.new_cdp_session(notebook.page)
    kernel = psutil.Process(int(notebook.python("import os; print(os.getpid())")))
    notebook.to_top()
    hand = Hand(notebook)
    began = time.monotonic()
    held: dict[str, list[tuple[float, float]]] = {}
    for sample in range(SAMPLES):
        while time.monotonic() < began + 60 * minutes * (sample + 1) / SAMPLES:
            hand.one()
        hand.rest()
        for what, value in memory(session, kernel).items():
            held.setdefault(what, []).append((time.monotonic() - began, value))
    clicks = sum(count for name, count in hand.done.items() if not name.endswith("not there"))
    for what, samples in held.items():
        write = _count if what in ("elements", "listeners") else _bytes
        counted = samples[len(samples) // 4 :]
        growth = per_minute(counted)
        slope = f"{'+' if growth >= 0 else '−'}{write(abs(growth))} a minute"
        yield {
            "what": f"{what}, {minutes:g} minutes of random clicks ({clicks}): {slope}", "median": write(counted[0][1]),
            "p95": write(counted[-1][1]), "aim": "flat", "samples": samples, "per_minute": growth, "gestures": hand.done,
        }  # fmt: skip


def _bytes(value: float) -> str:
    return format_bytes(round(value))


def _count(value: float) -> str:
    return f"{value:,.0f}"


def per_minute(samples: Sequence[tuple[float, float]]) -> float:
    """The growth in a minute: the slope of a straight line through samples of (seconds, value)."""
    times, values = zip(*samples, strict=True)
    return 0.0 if len(times) < 2 else 60 * statistics.linear_regression(times, values).slope


def memory(session: Any, kernel: psutil.Process) -> dict[str, float]:
    """What is held: bytes of the browser's heap and of the kernel, and the elements and listeners that the browser knows."""
    for _ in range(2):  # what finalizers let go is collected by the second
        session.send("HeapProfiler.collectGarbage")
    counts = session.send("Memory.getDOMCounters")
    return {
        "the browser's heap": float(session.send("Runtime.getHeapUsage")["usedSize"]),
        "the kernel's memory": float(kernel.memory_info().rss),
        "elements": counts["nodes"],
        "listeners": counts["jsEventListeners"],
    }
