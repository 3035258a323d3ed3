"""A layout as a small picture: the whole array by offset, and over its corner a close look at one block with its order as a line.

Two layouts look alike in the close look if they have the same order inside a block. The browser draws the same
(`widgets/src/views/linearization/close-up.tsx`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from isoviz.figures.charts.svg import Drawing
from isoviz.figures.charts.theme import ramp
from isoviz.layouts import Mode

if TYPE_CHECKING:
    from isoviz.layouts import Linearization

_CELLS = 8
"""Cells along a side of the whole."""
_ALONG, _BESIDE_ACROSS, _BESIDE_DOWN = 5, 2, 4
"""Coordinates along a side of the close look. With two fields beside each other there are fewer: their line goes to and fro."""
_MOST_FIELDS, _MOST_CLOSE = 3, 2
"""The most fields beside each other, in the whole and in the close look. Of more fields, the first and last are shown."""
_RAMP = ramp(25)
_LENS = 0.74
"""The side of the close look as a share of that of the whole."""
OVERHANG = 0.25
"""How far the close look reaches over the lower right corner, as a share of the side of the whole."""


class CloseLook(NamedTuple):
    """Some entries of a block on a grid. `order` has their (column, row) in the order of memory.

    A field has `each` columns. The fields stand beside each other, or below each other if there is one dimension.
    """

    columns: int
    rows: int
    each: int
    order: tuple[tuple[int, int], ...]


def turned_dims(source: Linearization, destination: Linearization) -> tuple[str, ...]:
    """The two dimensions to draw: the first that change places between the ends; otherwise the first and the last long ones."""
    before, after = _order_of(source), _order_of(destination)
    for place, slow in enumerate(before):
        for fast in before[:place]:
            if after.index(slow) < after.index(fast):
                return fast, slow
    dims = [dim for dim in source.space.dims if source.space[dim] > 1] or list(source.space.dims)
    return tuple(dims) if len(dims) < 2 else (dims[0], dims[-1])


def _order_of(linear: Linearization) -> list[str]:
    return list(dict.fromkeys(part.dim for part in linear.parts if isinstance(part, Mode) and linear.space[part.dim] > 1))


def close_look(linear: Linearization, dims: tuple[str, ...], block: Mapping[str, int]) -> CloseLook:
    """A close look at the first block: `dims` go right and down, the other dimensions stand at 0."""
    fields = _fields(linear, _MOST_CLOSE)
    alone = len(fields) == 1
    wraps = len(dims) < 2 or linear.space[dims[1]] < 2
    columns = _along(linear, dims[0], block, _ALONG if wraps or alone else _BESIDE_ACROSS) if dims else [0]
    rows = [0] if wraps else _along(linear, dims[1], block, _ALONG if alone else _BESIDE_DOWN)
    found: list[tuple[int, tuple[int, int]]] = []
    for panel, field in enumerate(fields):
        for column, x in enumerate(columns):
            for row, y in enumerate(rows):
                place = (column, panel) if wraps else (panel * len(columns) + column, row)
                found.append((_offset(linear, dims, (x, y), field), place))
    order = tuple(place for _, place in sorted(found))
    if wraps:
        return CloseLook(len(columns), len(fields), len(columns), order)
    return CloseLook(len(columns) * len(fields), len(rows), len(columns), order)


def draw_small_picture(
    drawing: Drawing, linear: Linearization, dims: tuple[str, ...], block: Mapping[str, int], x: float, y: float, size: float
) -> None:
    """Draw a layout in a square of side `size`; the close look reaches over it by `OVERHANG`."""
    _draw_whole(drawing, linear, dims, x, y, size)
    side = size * _LENS
    left = x + size * (1 + OVERHANG) - side
    top = y + size * (1 + OVERHANG) - side
    drawing.rect(left - 3, top - 3, side + 6, side + 6, fill="paper", radius=5)
    drawing.rect(left - 1.5, top - 1.5, side + 3, side + 3, fill="ink", radius=4)
    _draw_block(drawing, close_look(linear, dims, block), left, top, side)


def _draw_whole(drawing: Drawing, linear: Linearization, dims: tuple[str, ...], x: float, y: float, size: float) -> None:
    fields = _fields(linear, _MOST_FIELDS)
    gap = 2.0 if len(fields) > 1 else 0.0
    wide = (size - gap * (len(fields) - 1)) / len(fields)
    cells: dict[str, list[str]] = {}
    for panel, field in enumerate(fields):
        columns = _along(linear, dims[0], {}, max(2, _CELLS // len(fields))) if dims else [0]
        rows = _along(linear, dims[1], {}, _CELLS) if len(dims) > 1 else [0]
        for column, i in enumerate(columns):
            for row, j in enumerate(rows):
                share = _offset(linear, dims, (i, j), field) / max(1, linear.nbytes)
                across, down = wide / len(columns), size / len(rows)
                left, top = x + panel * (wide + gap) + column * across, y + row * down
                at = f"M{left:.1f} {top:.1f}h{across:.1f}v{down:.1f}h{-across:.1f}z"
                cells.setdefault(_RAMP[min(len(_RAMP) - 1, int(share * len(_RAMP)))], []).append(at)
    for colour, paths in cells.items():
        drawing.path("".join(paths), fill=colour)


def _draw_block(drawing: Drawing, look: CloseLook, x: float, y: float, side: float) -> None:
    gap = 2.0
    across = (side - gap * (look.columns // look.each - 1)) / look.columns
    down = side / look.rows
    points = []
    for place, (column, row) in enumerate(look.order):
        left, top = x + column * across + gap * (column // look.each), y + row * down
        colour = _RAMP[round(place / max(1, len(look.order) - 1) * (len(_RAMP) - 1))]
        drawing.rect(left, top, across + 0.1, down + 0.1, fill=colour)
        points.append(f"{left + across / 2:.1f} {top + down / 2:.1f}")
    line = f"M{'L'.join(points)}"
    drawing.path(line, stroke="#ffffff", width=3, stroke_linejoin="round", stroke_opacity=0.85)
    drawing.path(line, stroke="#10161f", width=1.4, stroke_linejoin="round")
    start = points[0].split(" ")
    drawing.element("circle", cx=float(start[0]), cy=float(start[1]), r=2.4, fill="#10161f")


def _fields(linear: Linearization, most: int) -> list[str]:
    names = linear.fields.names
    return list(names) if len(names) <= most else [names[0], names[-1]]


def _along(linear: Linearization, dim: str, block: Mapping[str, int], most: int) -> list[int]:
    """Coordinates in even steps through a block of a dimension."""
    extent = min(linear.space[dim], block.get(dim, linear.space[dim]))
    count = min(most, extent)
    return [step * extent // count for step in range(count)]


def _offset(linear: Linearization, dims: tuple[str, ...], at: tuple[int, int], field: str) -> int:
    index = dict.fromkeys(linear.space.dims, 0)
    index.update(zip(dims[:2], at, strict=False))
    return linear.offset(index, field)
