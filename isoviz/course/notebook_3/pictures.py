"""Pictures of notebook 3: tables of hops and rows, block sizes on a plane in the logarithms, throughput functions."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from isoviz.course import path_rates
from isoviz.figures.charts.html_parts import representation, table
from isoviz.figures.charts.svg import Drawing
from isoviz.units import format_bytes, format_rate, format_seconds

WIDTH, HEIGHT, LEFT, BELOW = 560.0, 300.0, 74.0, 44.0


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


class Plane:
    """A plane with two logarithmic axes. Points are given in their own units."""

    def __init__(self, title: str, across: tuple[str, float, float], up: tuple[str, float, float], text: Callable[[float], str],
                 text_up: Callable[[float], str] | None = None) -> None:  # fmt: skip
        self.drawing = Drawing(title, f"{up[0]} over {across[0]}, both in logarithms")
        self._across, self._up = across[1:], up[1:]
        self._axes(across[0], up[0], text, text_up or text)

    def x(self, value: float) -> float:
        """Pixels from the left."""
        return LEFT + (WIDTH - LEFT - 16) * _share(value, *self._across)

    def y(self, value: float) -> float:
        """Pixels from the top."""
        return HEIGHT - BELOW - (HEIGHT - BELOW - 24) * _share(value, *self._up)

    def line(self, points: Iterable[tuple[float, float]], token: str, *, dashed: bool = False) -> None:
        """A line through points; it is cut where it leaves the plane."""
        inside = [(self.x(x), self.y(y)) for x, y in points if self._holds(x, y)]
        data = " L".join(f"{x:.1f} {y:.1f}" for x, y in inside)
        more = {"stroke_dasharray": "5 4"} if dashed else {}
        if inside:
            self.drawing.path(f"M{data}", stroke=token, width=2, **more)

    def area(self, corners: Iterable[tuple[float, float]], token: str) -> None:
        """A filled polygon."""
        data = " L".join(f"{self.x(x):.1f} {self.y(y):.1f}" for x, y in corners)
        if data:
            self.drawing.path(f"M{data}Z", fill=token, stroke="good", width=1.5)

    def point(self, x: float, y: float, text: str, colour: str = "path") -> None:
        """A dot with its name; a point beyond the axes stands at their end."""
        at = min(max(self.x(x), LEFT), WIDTH - 16), min(max(self.y(y), 24), HEIGHT - BELOW)
        self.drawing.element("circle", cx=at[0], cy=at[1], r=5.5, fill=colour)
        beside = -10 if at[0] > WIDTH / 2 else 10
        self.drawing.text(at[0] + beside, at[1] - 9, text, anchor="end" if beside < 0 else "start", bold=True, halo="paper")

    def svg(self) -> str:
        """The picture."""
        return self.drawing.render(WIDTH, HEIGHT)

    def _holds(self, x: float, y: float) -> bool:
        return all(low * 0.999 <= value <= high * 1.001 for value, (low, high) in ((x, self._across), (y, self._up)))

    def _axes(self, across: str, up: str, text: Callable[[float], str], text_up: Callable[[float], str]) -> None:
        drawing, floor = self.drawing, HEIGHT - BELOW
        for value in _ticks(*self._across):
            drawing.line(self.x(value), 24, self.x(value), floor, stroke="faint")
            drawing.text(self.x(value), floor + 15, text(value), size=11, fill="muted", anchor="middle")
        for value in _ticks(*self._up):
            drawing.line(LEFT, self.y(value), WIDTH - 16, self.y(value), stroke="faint")
            drawing.text(LEFT - 6, self.y(value) + 4, text_up(value), size=11, fill="muted", anchor="end")
        drawing.text((LEFT + WIDTH - 16) / 2, HEIGHT - 8, across, anchor="middle")
        drawing.text(4, 14, up)


def _share(value: float, low: float, high: float) -> float:
    return (math.log(value) - math.log(low)) / (math.log(high) - math.log(low))


def _ticks(low: float, high: float) -> list[float]:
    """Powers of two, so many that they do not touch."""
    first, last = math.ceil(math.log2(low) - 1e-9), math.floor(math.log2(high) + 1e-9)
    step = max(1, (last - first) // 6)
    return [2.0**power for power in range(first, last + 1, step)]


def curve(hop: path_rates.Data, low: float, high: float, points: int = 60) -> list[tuple[float, float]]:
    """A throughput function as points (run, rate)."""
    runs = [low * (high / low) ** (k / points) for k in range(points + 1)]
    return [(run, path_rates.rate(hop, run)) for run in runs]


def hop_figures(hop: path_rates.Data) -> str:
    """Latency and bandwidth of a hop in words."""
    bandwidth = format_rate(hop["bandwidth"])
    return f"{hop['name']} {format_seconds(hop['latency'])}, {bandwidth}" if hop["latency"] else f"{hop['name']} {bandwidth}"


def size_text(value: Any) -> str:
    """Bytes of a block or slot."""
    return format_bytes(value)
