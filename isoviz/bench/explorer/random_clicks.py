"""Random clicks in the explorer: what the browser and the kernel hold, minute after minute."""

from __future__ import annotations

import os
import random
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from isoviz.bench.explorer.lab_page import LabPage
from isoviz.bench.table import Row
from isoviz.units import format_bytes

SAMPLES = 16
"""Samples of the memory, evenly spread; the first quarter of them is taken while caches fill, and does not count."""
CELL_TOOLBAR = "@jupyterlab/cell-toolbar-extension:plugin"
"""An extension of JupyterLab that is left out: whenever another cell becomes the active one, it makes a new toolbar and keeps the
old one, with 250 elements and 800 listeners."""
_EXPLORER = "[data-testid=explorer]"
_SOMEWHERE = "button, summary, [role=tab], [role=radio], input[type=checkbox], input[type=radio]"
"""What a click anywhere may hit."""
_LEFT_ALONE = ("menu-open-session", "open-machine", "canvas-open")
"""Buttons that ask for a file."""
_BYTES = ("the browser's heap", "the kernel's memory")
_FIND = """([selector, leftAlone, which]) => {
  const able = [...document.querySelectorAll('[data-testid=explorer]')].flatMap(each => [...each.querySelectorAll(selector)])
    .filter(each => each.getClientRects().length > 0 && each.ariaDisabled !== 'true' && !each.disabled
      && !leftAlone.includes(each.dataset.testid));
  if (able.length === 0) return null;
  const each = able[Math.floor(which * able.length)];
  each.scrollIntoView({block: 'nearest', inline: 'nearest'});
  const box = each.getBoundingClientRect();
  const top = document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2);
  const covered = top === null || !(each.contains(top) || top.contains(each) || top.closest('label')?.control === each);
  return [box.x, box.y, box.width, box.height, covered ? top?.outerHTML.slice(0, 300) ?? 'it lies outside of the window' : ''];
}"""
"""The place of one of the controls of a kind, and what else lies over it."""


@dataclass
class Held:
    """What is held over time: samples of one quantity, each with the seconds since the begin."""

    what: str
    samples: list[tuple[float, float]] = field(default_factory=list)

    @property
    def counted(self) -> Sequence[tuple[float, float]]:
        """The samples after the first quarter."""
        return self.samples[len(self.samples) // 4 :]

    @property
    def per_minute(self) -> float:
        """The growth in a minute: the slope of a straight line through the samples that count."""
        times, values = zip(*self.counted, strict=True)
        return 0.0 if len(times) < 2 else 60 * statistics.linear_regression(times, values).slope


class Box(NamedTuple):
    """The place of a control on the page, in CSS pixels."""

    x: float
    y: float
    width: float
    height: float

    @property
    def middle(self) -> tuple[float, float]:
        """Where to click."""
        return self.at(0.5, 0.5)

    def at(self, across: float, down: float) -> tuple[float, float]:
        """A point of it, by its shares of the width and of the height."""
        return self.x + self.width * across, self.y + self.height * down


class Clicks:
    """A hand that clicks at random: every kind of control, each about as often as the others."""

    def __init__(self, lab: LabPage, seed: int = 3) -> None:
        self._page = lab.page
        self._draw = random.Random(seed)  # noqa: S311  # no secret
        self.done: dict[str, int] = {}
        self._gestures: Mapping[str, tuple[int, Callable[[], None]]] = {
            "anything": (6, lambda: self._click(_SOMEWHERE)),
            "chip moved": (6, self._chip),
            "layout typed": (2, self._layout),
            "chip split": (2, self._block),
            "size": (2, self._size),
            "example": (1, self._example),
            "menu": (2, lambda: self._choose("select:visible")),
            "run": (1, self._run),
            "tab": (2, lambda: self._click("[role=tab]")),
            "journey": (3, lambda: self._click("[data-testid^=stop-], [data-testid^=hop-]")),
            "drawer": (1, lambda: self._click("[data-testid=title]")),
            "play": (1, self._play),
            "slider": (2, self._slider),
            "pointer": (3, self._point),
            "canvas": (3, self._canvas),
            "timeline": (2, self._timeline),
            "what if": (2, self._what_if),
            "dock": (1, lambda: self._click("[data-testid=dock-size]")),
            "undo": (3, lambda: self._page.keyboard.press(self._draw.choice(("Control+z", "Control+z", "Control+Shift+z")))),
        }

    def one(self) -> None:
        """The next gesture; one that finds nothing to act on, or is in the way of another, is given up."""
        names = list(self._gestures)
        name = self._draw.choices(names, [self._gestures[each][0] for each in names])[0]
        try:
            self._gestures[name][1]()
        except Exception:  # noqa: BLE001 - there is none of them now
            self._page.keyboard.press("Escape")
            name = f"{name}, not there"
        self.done[name] = self.done.get(name, 0) + 1

    def _one_of(self, selector: str) -> Box:
        """The place of one of the controls that there are now; what lies over it is closed first."""
        which, covered = self._draw.random(), "nowhere"
        for _ in range(3):
            found = self._page.evaluate(_FIND, [selector, _LEFT_ALONE, which])
            if found is None:
                break
            *place, covered = found
            if not covered:
                return Box(*place)
            self._page.keyboard.press("Escape")
        raise LookupError(f"{selector}: {covered}")

    def _click(self, selector: str) -> None:
        self._page.mouse.click(*self._one_of(selector).middle)

    def _keys(self, *keys: str) -> None:
        for _ in range(self._draw.randint(1, 4)):
            self._page.keyboard.press(self._draw.choice(keys))

    def _chip(self) -> None:
        chip = self._one_of(".iv-edit-chip")
        if self._draw.random() < 0.5:
            self._page.mouse.click(*chip.middle)
            self._keys("ArrowLeft", "ArrowRight", "Home", "End")
        else:
            self._drag(chip, self._one_of(".iv-edit-chip"))

    def _layout(self) -> None:
        self._page.mouse.click(*self._one_of("[data-testid=source-layout], [data-testid=destination-layout]").middle)
        parts = str(self._page.evaluate("() => document.activeElement.value")).strip("<> ").split(", ")
        self._draw.shuffle(parts)
        self._typed(f"<{', '.join(parts)}" + self._draw.choice((">", ">", ">", "")))

    def _block(self) -> None:
        self._click(".iv-edit-chip")
        self._click(".iv-edit-strip button")

    def _size(self) -> None:
        self._open_drawer()
        self._page.mouse.click(*self._one_of("[data-testid^=size-]").middle)
        self._typed(str(self._draw.randint(2, 2048)))

    def _typed(self, text: str) -> None:
        self._page.keyboard.press("ControlOrMeta+a")
        self._page.keyboard.insert_text(text)

    def _example(self) -> None:
        self._open_drawer()
        self._choose("select[data-testid=example]")

    def _open_drawer(self) -> None:
        if self._page.get_by_test_id("drawer").count() == 0:
            self._click("[data-testid=title]")

    def _choose(self, selector: str) -> None:
        menus = self._page.locator(f"{_EXPLORER} {selector}")
        menu = menus.nth(self._draw.randrange(menus.count()))
        menu.select_option(index=self._draw.randrange(menu.locator("option").count()), timeout=500)

    def rest(self) -> None:
        """Bring the explorer back to where it began: the same array and the same tab, nothing open, nothing running."""
        page = self._page
        page.keyboard.press("Escape")
        page.wait_for_function(f"() => document.querySelector('{_EXPLORER}').dataset.running === 'false'")
        self._open_drawer()
        page.get_by_test_id("example").select_option("transpose")
        page.get_by_test_id("drawer-close").click()
        page.locator(f"{_EXPLORER} [role=tab]").first.click()
        page.locator(f"{_EXPLORER}[data-busy=false]").first.wait_for()
        page.mouse.move(1, 1)
        page.wait_for_timeout(300)

    def _run(self) -> None:
        self._click("[data-testid=run]")
        self._page.wait_for_timeout(self._draw.uniform(0, 600))
        with suppress(LookupError):  # it may be over
            self._click("[data-testid=cancel]")

    def _play(self) -> None:
        self._click("[data-testid=linearization-play]")
        self._page.wait_for_timeout(400)
        self._click("[data-testid=linearization-play]")

    def _slider(self) -> None:
        self._click("input[type=range]")
        self._keys("ArrowLeft", "ArrowRight", "PageUp", "PageDown", "Home", "End")

    def _point(self) -> None:
        box = self._one_of("[data-testid=linearization-grid], [data-testid=linearization-tape]")
        for _ in range(6):
            self._page.mouse.move(*box.at(self._draw.random(), self._draw.random()))
        if self._draw.random() < 0.3:
            self._page.keyboard.press(self._draw.choice("+-0"))
            self._drag(box, self._one_of("[data-testid=linearization-grid]"))

    def _canvas(self) -> None:
        """Memories of the machine: clicked, dragged, moved by keys."""
        self._click("[data-testid=tab-machine]")
        memory = self._one_of("[data-testid^=canvas-memory-]")
        if self._draw.random() < 0.5:
            self._drag(memory, self._one_of("[data-testid^=canvas-memory-]"))
        else:
            self._page.mouse.click(*memory.middle)
            self._keys("ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "Delete", "Escape")

    def _timeline(self) -> None:
        """The timeline: pointed at, zoomed, dragged and scrubbed."""
        self._click("[data-testid=tab-timeline]")
        area = self._one_of("[data-testid=timeline-area]")
        for _ in range(4):
            self._page.mouse.move(*area.at(self._draw.random(), self._draw.random()))
            self._page.mouse.wheel(0, self._draw.choice((-400, 400)))
        self._drag(area, area)

    def _what_if(self) -> None:
        """A slider that plans again while it moves."""
        self._click("[data-testid=tab-why]")
        self._click("[data-testid=what-if] input[type=range]")
        self._keys("ArrowLeft", "ArrowRight", "PageUp", "PageDown", "Home", "End")

    def _drag(self, begin: Box, end: Box) -> None:
        mouse = self._page.mouse
        mouse.move(*begin.middle)
        mouse.down()
        mouse.move(*end.at(0.1, 0.5), steps=4)
        mouse.up()


def random_clicks(lab: LabPage, minutes: float) -> Iterator[Row]:
    """Click at random for so long; gives what is held, as it was in the beginning and in the end, and how it grew in between."""
    session = lab.page.context.new_cdp_session(lab.page)
    session.send("Performance.enable")
    kernel = kernel_of(lab)
    hand = Clicks(lab)
    began = time.monotonic()
    held: dict[str, Held] = {}
    for sample in range(SAMPLES):
        due = began + 60 * minutes * (sample + 1) / SAMPLES
        while time.monotonic() < due:
            hand.one()
        hand.rest()
        for what, value in now(session, kernel).items():
            held.setdefault(what, Held(what)).samples.append((time.monotonic() - began, value))
    clicks = sum(count for name, count in hand.done.items() if not name.endswith("not there"))
    for each in held.values():
        write = _bytes if each.what in _BYTES else _count
        first, last = each.counted[0][1], each.counted[-1][1]
        slope = f"{'+' if each.per_minute >= 0 else '−'}{write(abs(each.per_minute))} a minute"
        yield {
            "what": f"{each.what}, {minutes:g} minutes of random clicks ({clicks}): {slope}", "median": write(first),
            "p95": write(last), "aim": "flat", "samples": each.samples, "per_minute": each.per_minute, "gestures": hand.done,
        }  # fmt: skip


def kernel_of(lab: LabPage) -> int:
    """The process of the kernel, which says it itself."""
    page = lab.page
    page.locator(".jp-CodeCell .jp-InputArea-editor").last.click()
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.insert_text("import os; print('pid', os.getpid())")
    page.keyboard.press("Control+Enter")
    said = page.locator(".jp-OutputArea-output pre", has_text="pid ").last
    said.wait_for()
    page.evaluate(f"() => document.querySelector('{_EXPLORER}').scrollIntoView({{block: 'start'}})")
    return int(said.inner_text().split()[-1])


def now(session: Any, kernel: int) -> dict[str, float]:
    """What is held: bytes of the browser's heap and of the kernel, and the elements and listeners that the browser knows."""
    for _ in range(2):  # what finalizers let go is collected by the second
        session.send("HeapProfiler.collectGarbage")
    counts = session.send("Memory.getDOMCounters")
    pages = int(Path(f"/proc/{kernel}/statm").read_text(encoding="ascii").split()[1])
    heap = session.send("Runtime.getHeapUsage")["usedSize"]
    held = (float(heap), float(pages * os.sysconf("SC_PAGE_SIZE")))
    return dict(zip(_BYTES, held, strict=True)) | {"elements": counts["nodes"], "listeners": counts["jsEventListeners"]}


def _bytes(value: float) -> str:
    return format_bytes(round(value))


def _count(value: float) -> str:
    return f"{value:,.0f}"
