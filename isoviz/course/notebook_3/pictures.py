"""Pictures of notebook 3: tables of hops and rows, block sizes on a plane in the logarithms, throughput functions."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from isoviz.course import path_rates
from isoviz.figures.charts.html_parts import representation, table
from isoviz.figures.charts.svg import Drawing

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BELOW = 600.0, 320.0, 74.0, 34.0, 30.0, 44.0


@dataclass(frozen=True)
class Drawn:
    """A picture that is made when it is shown."""

    make: Callable[[], str]

    def _repr_html_(self) -> str:
        return self.make()


def rate_text(throughput: float) -> str:
    """A rate with as many digits as a comparison needs: 2.521 GB/s."""
    return f"{throughput / 1e9:.3f} GB/s"


def framed(*parts: str) -> str:
    """Parts of a picture of the course as one element."""
    return representation("course", *parts)


def rows_table(caption: str, header: Sequence[str], rows: Iterable[Sequence[object]], marked: Iterable[int] = ()) -> str:
    """A table whose columns after the first are numbers."""
    return table(caption, header, rows, numbers=range(1, len(header)), marked=marked)


@dataclass(frozen=True)
class Axis:
    """A logarithmic axis: its name, its ends, and how a value is written.

    Ticks are powers of two, or `decimal` numbers, or all multiples of `step`.
    """

    name: str
    low: float
    high: float
    text: Callable[[float], str]
    decimal: bool = False
    step: float = 0.0

    def share(self, value: float) -> float:
        """Where a value lies: 0 at the low end, 1 at the high one."""
        return (math.log(value) - math.log(self.low)) / (math.log(self.high) - math.log(self.low))

    def holds(self, value: float) -> bool:
        """Whether a value lies on it."""
        return self.low * 0.999 <= value <= self.high * 1.001

    @property
    def ticks(self) -> list[float]:
        """Round values, so few that they do not touch."""
        if self.step:
            return [number * self.step for number in range(math.ceil(self.low / self.step), int(self.high / self.step) + 1)]
        if self.decimal:
            powers = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
            wide = self.high / self.low > 100
            found = [digit * 10.0**power for power in powers for digit in ((1,) if wide else (1, 2, 5))]
            return [value for value in found if self.low <= value <= self.high]
        first, last = math.ceil(math.log2(self.low) - 1e-9), math.floor(math.log2(self.high) + 1e-9)
        return [2.0**power for power in range(first, last + 1, max(1, math.ceil((last - first) / 7)))]


class Plane:
    """A plane with two axes. Points are given in their own units."""

    def __init__(self, title: str, across: Axis, up: Axis) -> None:
        self.drawing = Drawing(title, f"{up.name} over {across.name}, both in logarithms")
        self._across, self._up = across, up
        floor = HEIGHT - BELOW
        for value in across.ticks:
            self.drawing.line(self.x(value), TOP, self.x(value), floor, stroke="faint")
            self.drawing.text(self.x(value), floor + 15, across.text(value), size=11, fill="muted", anchor="middle")
        for value in up.ticks:
            self.drawing.line(LEFT, self.y(value), WIDTH - RIGHT, self.y(value), stroke="faint")
            self.drawing.text(LEFT - 6, self.y(value) + 4, up.text(value), size=11, fill="muted", anchor="end")
        self.drawing.text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 8, across.name, anchor="middle")
        self.drawing.text(8, 16, up.name)

    def x(self, value: float) -> float:
        """Pixels from the left."""
        return LEFT + (WIDTH - LEFT - RIGHT) * self._across.share(value)

    def y(self, value: float) -> float:
        """Pixels from the top."""
        return HEIGHT - BELOW - (HEIGHT - BELOW - TOP) * self._up.share(value)

    def line(self, points: Iterable[tuple[float, float]], colour: str, *, dashed: bool = False) -> None:
        """A line through points; it ends where it leaves the plane."""
        inside = [(self.x(x), self.y(y)) for x, y in points if self._across.holds(x) and self._up.holds(y)]
        data = " L".join(f"{x:.1f} {y:.1f}" for x, y in inside)
        more = {"stroke_dasharray": "5 4"} if dashed else {}
        if inside:
            self.drawing.path(f"M{data}", stroke=colour, width=2, **more)

    def area(self, corners: Iterable[tuple[float, float]]) -> None:
        """A green polygon: what is asked for."""
        data = " L".join(f"{self.x(x):.1f} {self.y(y):.1f}" for x, y in corners)
        if data:
            self.drawing.path(f"M{data}Z", fill="good-soft", stroke="good", width=2)

    def point(self, x: float, y: float, text: str, colour: str = "path", *, below: bool = False) -> None:
        """A dot with its name, left above it or right below; a point beyond an axis stands at its end."""
        at = min(max(self.x(x), LEFT), WIDTH - RIGHT), min(max(self.y(y), TOP), HEIGHT - BELOW)
        self.drawing.element("circle", cx=at[0], cy=at[1], r=4.5, fill=colour, stroke="paper")
        is_right = at[0] > WIDTH - 120 or (at[0] > LEFT + 120 and not below)
        place = at[0] + (-10 if is_right else 10), at[1] + (18 if below else -9)
        self.drawing.text(*place, text, anchor="end" if is_right else "start", bold=True, halo="paper")

    def svg(self) -> str:
        """The picture."""
        return self.drawing.render(WIDTH, HEIGHT)


def curve(hop: path_rates.Data, low: float, high: float, points: int = 60) -> list[tuple[float, float]]:
    """A throughput function as points (run, rate)."""
    runs = [low * (high / low) ** (k / points) for k in range(points + 1)]
    return [(run, path_rates.rate(hop, run)) for run in runs]
