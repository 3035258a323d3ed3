"""A time axis, and quantities over it: one unit, round ticks, samples at the resolution of the picture."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from isoviz.figures.charts.svg import Drawing

_UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))
LABEL_WIDTH = 236.0
"""Pixels left of the axis for the names of rows, such as `node0.sys->node3.reg TwoSided`. They are equal in all figures of a run,
so that their axes align."""
_TICK_ROOM = 84.0
"""Least distance of two ticks, in pixels."""


class TimeAxis:
    """Seconds from 0 to `seconds`, over `width` pixels from `left` on."""

    def __init__(self, seconds: float, left: float, width: float) -> None:
        self.seconds = seconds if seconds > 0 else 1e-9
        self.left, self.width = left, width
        self.factor, self.unit = next(
            ((factor, unit) for factor, unit in _UNITS if self.seconds >= factor * (1 - 1e-9)), _UNITS[-1]
        )

    def at(self, seconds: float) -> float:
        """The pixel of a time."""
        return self.left + self.width * seconds / self.seconds

    @property
    def right(self) -> float:
        """The pixel at the end."""
        return self.left + self.width

    def ticks(self) -> list[tuple[float, str]]:
        """Pairs (seconds, number in the unit of the axis) at round distances from 0 on."""
        most = max(2, int(self.width / _TICK_ROOM))
        rough = self.seconds / self.factor / most
        decade = 10.0 ** math.floor(math.log10(rough))
        step = next(part * decade for part in (1, 2, 2.5, 5, 10) if part * decade >= rough * (1 - 1e-9))
        count = int(self.seconds / self.factor / step * (1 + 1e-9))
        return [(k * step * self.factor, f"{k * step:,.6g}") for k in range(count + 1)]

    def grid(self, drawing: Drawing, top: float, bottom: float) -> None:
        """Lines at the ticks."""
        for seconds, _ in self.ticks():
            drawing.line(self.at(seconds), top, self.at(seconds), bottom, stroke="faint")

    def draw(self, drawing: Drawing, y: float, title: str) -> float:
        """Draw the axis with its numbers and its title below `y`; the result is its lower end."""
        drawing.line(self.left, y, self.right, y, stroke="line")
        for seconds, text in self.ticks():
            drawing.line(self.at(seconds), y, self.at(seconds), y + 5, stroke="line")
            drawing.text(self.at(seconds), y + 19, text, size=11.5, fill="muted", anchor="middle")
        drawing.text(self.left + self.width / 2, y + 39, f"{title} ({self.unit})", size=12, fill="muted", anchor="middle")
        return y + 48


def sampled(
    steps: Sequence[tuple[float, float]], seconds: float, columns: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """A step function in columns of equal width over 0 to `seconds`: its mean and its maximum in each.

    `steps` are (time, value from then on), ascending; before the first one it is 0.
    """
    edges = np.linspace(0.0, seconds, columns + 1)
    times = np.array([-1.0, *(time for time, _ in steps)])
    values = np.array([0.0, *(value for _, value in steps)])
    # The integral up to each edge: the difference of two neighbours is the integral over a column.
    lengths = np.diff(times, append=np.inf)
    areas = np.concatenate([[0.0], np.cumsum(values[:-1] * lengths[:-1])])
    inside = np.searchsorted(times, edges, side="right") - 1
    integral = areas[inside] + values[inside] * (edges - times[inside])
    mean = np.diff(integral) / (seconds / columns if seconds > 0 else 1.0)
    most = values[inside[:-1]].copy()
    column = np.clip(np.searchsorted(edges, times[1:], side="right") - 1, 0, columns - 1)
    np.maximum.at(most, column, values[1:])
    return np.maximum(mean, 0.0), most


def outline(heights: NDArray[np.float64], left: float, column: float, floor: float, scale: float) -> str:
    """The path of a step plot: `heights` of columns `column` pixels wide, `scale` pixels a unit, above `floor`."""
    changes = np.flatnonzero(np.diff(np.round(heights * scale, 1), prepend=np.nan) != 0)
    parts = [f"M{left:.1f} {floor:.1f}"]
    parts += [f"H{left + i * column:.1f}V{floor - heights[i] * scale:.1f}" for i in changes.tolist()]
    return "".join(parts) + f"H{left + len(heights) * column:.1f}V{floor:.1f}z"
