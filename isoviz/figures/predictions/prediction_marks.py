"""Marks for runs: a shape and a colour for each kind of path, shared by all figures of predictions."""

from __future__ import annotations

from isoviz.figures.charts.svg import Drawing
from isoviz.figures.charts.theme import DIMENSION_COLOURS
from isoviz.runtime.ledger.prediction_errors import Outcome
from isoviz.units import format_seconds

BANDS = ((0.30, 0.10), (0.10, 0.16))
"""The bands: errors as shares of the measured time, each with its opacity."""
MOST_PATHS = 7
"""Paths with a mark of their own; the rest share one."""

Frame = tuple[float, float, float, float]
"""Left, top, width and height of a plot."""


def mark_token(number: int) -> str:
    """The colour of path `number`."""
    return DIMENSION_COLOURS[number] if number < MOST_PATHS else "muted"


_SQUARE = ((-1, -1), (1, -1), (1, 1), (-1, 1))
_UP, _DOWN = ((0, -1.3), (1.2, 0.9), (-1.2, 0.9)), ((0, 1.3), (1.2, -0.9), (-1.2, -0.9))
_DIAMOND = ((0, -1.4), (1.4, 0), (0, 1.4), (-1.4, 0))
_HALF_PLUS = ((-0.4, -1.3), (0.4, -1.3), (0.4, -0.4), (1.3, -0.4), (1.3, 0.4), (0.4, 0.4))
_PLUS = (*_HALF_PLUS, *((-x, -y) for x, y in _HALF_PLUS))
_HOURGLASS = ((-1.1, -1.2), (1.1, -1.2), (-1.1, 1.2), (1.1, 1.2))
_SHAPES: tuple[tuple[tuple[float, float], ...] | None, ...] = (None, _SQUARE, _UP, _DIAMOND, _DOWN, _PLUS, _HOURGLASS)
"""Corners of the marks, in multiples of the radius; None is a circle. Shapes differ even without colour."""


def draw_mark(drawing: Drawing, x: float, y: float, number: int, *, radius: float = 4.0, tip: str | None = None) -> None:
    """Draw the mark of path `number` around a point."""
    look = {"fill": mark_token(number), "stroke": "panel", "stroke_width": 1.0, "tip": tip}
    corners = _SHAPES[number] if number < len(_SHAPES) else None
    if corners is None:
        drawing.element("circle", cx=x, cy=y, r=radius, **look)  # type: ignore[arg-type]
    else:
        data = "M" + "L".join(f"{x + radius * dx:.1f} {y + radius * dy:.1f}" for dx, dy in corners) + "Z"
        drawing.element("path", d=data, **look)  # type: ignore[arg-type]


def said_of(each: Outcome) -> str:
    """A run in a sentence."""
    said = f"{each.label}: predicted {format_seconds(each.predicted)}, measured {format_seconds(each.measured)}"
    if each.interval is not None:
        said += f" ({format_seconds(each.interval[0])} to {format_seconds(each.interval[1])} expected)"
    return f"{said}; {each.path}"
