"""The predicted time over a parameter, and the best path for each value."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from isoviz.figures.charts.svg import Drawing, shorten, text_width
from isoviz.figures.charts.theme import DIMENSION_COLOURS, MARGIN, ThemeName
from isoviz.machines.memory import emulated_text
from isoviz.planner.explanation.explanation_words import path_text
from isoviz.units import format_bytes, format_seconds

if TYPE_CHECKING:
    from isoviz.planner.explanation.explanation import Sweep, SweepPoint

_LEFT, _BOTTOM = 78.0, 48.0
_DASHES = (None, "8 3", "2 3", "10 3 2 3", "5 2", "12 4", "2 6", "7 3 2 3 2 3")
MOST = 12
"""Most paths with their own lines; further paths share one."""

Way = tuple[tuple[str, ...], int | None]

NAMES = {"slot_limit": "slot limit TH", "size": "bytes that move"}
"""Parameter of a sweep → its name in figures."""


def ways(sweep: Sweep) -> dict[Way, str]:
    """The winning paths in the order in which they win, each with a letter."""
    found = dict.fromkeys((point.channels, point.converting) for point in sweep.points)
    return {way: chr(ord("A") + k) if k < 26 else f"Z{k - 25}" for k, way in enumerate(found)}


def sweep_svg(sweep: Sweep, *, width: float = 860, height: float = 360, theme: ThemeName = "auto") -> str:
    """Predicted seconds of the best plan over the parameter, both logarithmic.

    Each path has a colour, a dash pattern and a letter.
    """
    name = NAMES.get(sweep.parameter, sweep.parameter)
    drawing = Drawing(f"Predicted time over {name}", _description(sweep), theme, remark=emulated_text(sweep.emulated))
    if not sweep.points:
        drawing.text(MARGIN, 34, "No value has a plan: nothing to draw.", size=13, fill="muted")
        return drawing.render(width, 54)
    letters = ways(sweep)
    memories = {(point.channels, point.converting): point.memories for point in sweep.points}
    plot = _Plot(sweep, (MARGIN + _LEFT, MARGIN + 18, width - 2 * MARGIN - _LEFT - 20, height - 2 * MARGIN - _BOTTOM - 18))
    plot.grid(drawing, name)
    x, top = plot.place(sweep.now, plot.high)[0], plot.frame[1]
    if plot.frame[0] - 1 <= x <= plot.frame[0] + plot.frame[2] + 1:
        drawing.line(x, top, x, top + plot.frame[3], stroke="ink", width=1.5, stroke_dasharray="4 4")
        drawing.text(x, top - 7, f"now: {_value(sweep, sweep.now)}", size=12, anchor=_anchor(x, plot.frame), bold=True)
    stretches = _stretches(sweep)
    for way, first, last in stretches:
        _line(drawing, plot, first, last, list(letters).index(way))
    _discs(drawing, plot, stretches, letters)
    y = height - 8
    for k, (way, letter) in enumerate(list(letters.items())[:MOST]):
        _entry(drawing, MARGIN + 8, y, k, letter, path_text(memories[way], way[1]), width)
        y += 24
    if len(letters) > MOST:
        drawing.text(MARGIN + 8, y + 12, f"and {len(letters) - MOST} more paths, dotted", size=12, fill="muted")
        y += 24
    return drawing.render(width, y + 8)


class _Plot:
    """The frame of the plot, and the range of its axes."""

    def __init__(self, sweep: Sweep, frame: tuple[float, float, float, float]) -> None:
        self.points, self.frame, self.sweep = sweep.points, frame, sweep
        values = [point.value for point in sweep.points]
        self.first, self.last = min(values), max(values)
        if self.last <= self.first:
            self.first, self.last = self.first / 2, self.last * 2
        times = [point.seconds for point in sweep.points]
        low, high = math.log10(min(times)), math.log10(max(times))
        # Whole decades. If less than one is in use, a third of a decade around it.
        if high - low < 0.8:
            self.low, self.high = 10 ** (low - 0.15), 10 ** (high + 0.15)
        else:
            self.low, self.high = 10.0 ** math.floor(low + 1e-9), 10.0 ** math.ceil(high - 1e-9)

    def place(self, value: float, seconds: float) -> tuple[float, float]:
        x, y, wide, high = self.frame
        across = math.log(value / self.first) / math.log(self.last / self.first)
        return x + wide * across, y + high * (1 - math.log(seconds / self.low) / math.log(self.high / self.low))

    def grid(self, drawing: Drawing, name: str) -> None:
        x, y, wide, high = self.frame
        drawing.rect(x, y, wide, high, fill="panel", stroke="faint")
        powers = range(math.ceil(math.log2(self.first) - 1e-9), math.floor(math.log2(self.last) + 1e-9) + 1)
        step = max(1, math.ceil(len(powers) / 9))
        for power in powers:
            if power % step == 0:
                px, _ = self.place(2.0**power, self.low)
                drawing.line(px, y, px, y + high, stroke="faint")
                drawing.text(px, y + high + 17, _value(self.sweep, 2.0**power), size=11.5, fill="muted", anchor="middle")
        for tick in self._seconds():
            _, py = self.place(self.first, tick)
            drawing.line(x, py, x + wide, py, stroke="faint")
            drawing.text(x - 8, py + 4, format_seconds(tick), size=11.5, fill="muted", anchor="end")
        drawing.text(x + wide / 2, y + high + 37, name, size=12.5, anchor="middle")

    def _seconds(self) -> list[float]:
        """Ticks of the time axis: decades, and parts of decades if there are few."""
        decades = math.log10(self.high / self.low)
        parts = (1, 1.5, 2, 3, 4, 5, 6, 8) if decades < 1.2 else (1, 2, 5) if decades < 3 else (1,)
        first, last = math.floor(math.log10(self.low)), math.ceil(math.log10(self.high))
        found = [part * 10.0**power for power in range(first, last + 1) for part in parts]
        found = [tick for tick in found if self.low * 0.999 <= tick <= self.high * 1.001]
        return found[:: max(1, math.ceil(len(found) / 9))]


def _stretches(sweep: Sweep) -> list[tuple[Way, int, int]]:
    """Triples (path, first point, last point): consecutive points with the same winning path."""
    found = []
    for way, points in itertools.groupby(enumerate(sweep.points), key=lambda item: (item[1].channels, item[1].converting)):
        numbers = [number for number, _ in points]
        found.append((way, numbers[0], numbers[-1]))
    return found


def _token(number: int) -> str:
    return DIMENSION_COLOURS[number % len(DIMENSION_COLOURS)] if number < MOST else "muted"


def _discs(drawing: Drawing, plot: _Plot, stretches: Sequence[tuple[Way, int, int]], letters: dict[Way, str]) -> None:
    """A letter at the middle of each stretch, longest first.

    A letter that would cover another is omitted, unless it is the only one of its path.
    """
    taken: list[tuple[float, float]] = []
    named: set[Way] = set()
    top, high = plot.frame[1], plot.frame[3]
    for way, first, last in sorted(stretches, key=lambda stretch: stretch[1] - stretch[2]):
        point = plot.points[(first + last) // 2]
        x, y = plot.place(point.value, point.seconds)
        tries = [at for at in ((x, y - 19), (x, y + 19), (x, y - 40), (x, y + 40)) if top + 10 <= at[1] <= top + high - 10]
        free = [at for at in tries if all(math.dist(at, other) > 21 for other in taken)]
        if free or way not in named:
            at = (free or tries or [(x, y)])[0]
            _disc(drawing, *at, _token(list(letters).index(way)), letters[way])
            taken.append(at)
            named.add(way)


def _line(drawing: Drawing, plot: _Plot, first: int, last: int, number: int) -> None:
    """The line of one path where it wins. It meets its neighbours half-way."""
    points = plot.points
    places = [plot.place(point.value, point.seconds) for point in points[first : last + 1]]
    token = _token(number)
    line = list(places)
    if first > 0:
        line.insert(0, _between(plot, points[first - 1], points[first]))
    if last + 1 < len(points):
        line.append(_between(plot, points[last], points[last + 1]))
    dash = _DASHES[number % len(_DASHES)] if number < MOST else "1 4"
    data = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in line)
    drawing.path(data, stroke=token, width=2.6, stroke_dasharray=dash, stroke_linejoin="round")
    for (x, y), point in zip(places, points[first : last + 1], strict=True):
        tip = f"{_value(plot.sweep, point.value)}: {format_seconds(point.seconds)}, {path_text(point.memories, point.converting)}"
        drawing.element("circle", cx=x, cy=y, r=3, fill=token, tip=tip)


def _between(plot: _Plot, here: SweepPoint, there: SweepPoint) -> tuple[float, float]:
    return plot.place(math.sqrt(here.value * there.value), math.sqrt(here.seconds * there.seconds))


def _disc(drawing: Drawing, x: float, y: float, token: str, letter: str) -> None:
    drawing.element("circle", cx=x, cy=y, r=9.5, fill="paper", stroke=token, stroke_width=1.8)
    drawing.text(x, y + 4.2, letter, size=12 if len(letter) == 1 else 9, fill=token, anchor="middle", bold=True)


def _entry(drawing: Drawing, x: float, y: float, number: int, letter: str, text: str, width: float) -> None:
    token = DIMENSION_COLOURS[number % len(DIMENSION_COLOURS)]
    _disc(drawing, x + 10, y + 10, token, letter)
    drawing.line(x + 28, y + 10, x + 64, y + 10, stroke=token, width=2.6, stroke_dasharray=_DASHES[number % len(_DASHES)])
    drawing.text(x + 74, y + 14.3, shorten(text, width - x - 74 - MARGIN, 12.5), size=12.5, tip=text)


def _anchor(x: float, frame: tuple[float, float, float, float]) -> str:
    room = text_width("now: 1000 MiB", 12, bold=True) / 2
    return "start" if x - room < frame[0] else "end" if x + room > frame[0] + frame[2] else "middle"


def _value(sweep: Sweep, value: float) -> str:
    return format_bytes(value) if sweep.unit == "B" else f"{value:,.6g}"


def _description(sweep: Sweep) -> str:
    said: list[str] = []
    changes: Sequence[tuple[SweepPoint | None, SweepPoint]] = list(zip((None, *sweep.points), sweep.points, strict=False))
    for before, point in changes:
        if before is None or (before.channels, before.converting) != (point.channels, point.converting):
            path = path_text(point.memories, point.converting)
            said.append(f"From {_value(sweep, point.value)}, {format_seconds(point.seconds)}: {path}.")
    return " ".join(said) or "No value has a plan."
