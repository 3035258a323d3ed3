"""Cells drawn one by one: sizes that leave every number legible, gaps between blocks, and the line through them.

The line keeps to lanes beside the numbers: along the left and the lower edge of a cell. Jumps go through the gaps between cells.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from isoviz.figures.charts.svg import Drawing, number, shorten, text_width
from isoviz.figures.charts.theme import FIELD_COLOUR, RAMP_INK, colour, dimension_tokens, ramp
from isoviz.figures.layouts.order_view import Cell, OrderView

MAX_CELLS = 300
MAX_HEIGHT = 620.0
FONT = 11.0
ORDER_LINE = "#c0311a"
_RAMP = ramp(48)
_MAX_STRIPS = 4
Way = tuple[tuple[float, float], ...]
MOST_TIPS = 80
"""Cells up to which each has a tip; of more, the numbers in them and the axes say the same."""
_LANE = 6.0
"""Pixels from the left edge of a cell to the line. The number stands right of it."""


@dataclass(frozen=True)
class CellPlot:
    """The first `columns` × `rows` places of a view, and the size of a cell in pixels."""

    view: OrderView
    columns: int
    rows: int
    cell_width: float
    cell_height: float
    label_width: float

    @classmethod
    def plan(cls, view: OrderView, columns: int, rows: int, width: float, *, drop_fields: bool = True) -> CellPlot | None:
        """The plot of these places within `width` pixels; None if its numbers would not be legible.

        If a cell has no room for all fields and `drop_fields` allows it, only the first field is drawn.
        """
        strips = 1 if view.rows_are_fields else len(view.fields)
        if strips <= _MAX_STRIPS and columns * rows * strips <= MAX_CELLS:
            digits = max(2, len(str(_largest_offset(view, columns, rows))))
            # Whole pixels: lines are sharp, and numbers short.
            cell_width = float(max(32, math.ceil(digits * 0.64 * FONT + 14)))
            cell_height = 21.0 * strips if strips > 1 else 30.0
            made = cls(view, columns, rows, cell_width, cell_height, _label_width(view, rows))
            if made.width <= width and made.height <= MAX_HEIGHT:
                wider = min(1.35, width / made.width) if columns <= 12 else 1.0
                return replace(made, cell_width=float(int(cell_width * wider)))
        return cls.plan(_first_field(view), columns, rows, width) if strips > 1 and drop_fields else None

    @classmethod
    def corner(cls, view: OrderView, width: float) -> CellPlot:
        """The largest legible first corner of a view, of whole blocks if a block fits."""
        if not view.rows_are_fields and len(view.fields) > _MAX_STRIPS:
            view = _first_field(view)
        columns = min(16, view.columns)
        rows = min(8, len(view.fields)) if view.rows_are_fields else min((12, 8, 6, 5)[len(view.fields) - 1], view.rows)
        while columns > 1 and cls.plan(view, columns, rows, width, drop_fields=False) is None:
            columns -= 1
        columns = _whole_blocks(columns, view.block_steps(view.horizontal))
        if not view.rows_are_fields:
            rows = _whole_blocks(rows, view.block_steps(view.vertical))
        made = cls.plan(view, columns, rows, width)
        return made if made is not None else cls(view, columns, rows, 48.0, 30.0, _label_width(view, rows))

    def x(self, column: int) -> float:
        return self.label_width + column * self.cell_width + self._gaps(column, self.view.block_steps(self.view.horizontal))

    def y(self, row: int) -> float:
        return 24.0 + row * self.cell_height + self._gaps(row, self.view.block_steps(self.view.vertical))

    @staticmethod
    def _gaps(at: int, steps: tuple[int, ...]) -> float:
        return sum(6.0 * (at // step) for step in steps)

    @property
    def width(self) -> float:
        return self.x(self.columns - 1) + self.cell_width + (_strip_room(self.view))

    @property
    def height(self) -> float:
        return self.y(self.rows - 1) + self.cell_height

    @property
    def strip_height(self) -> float:
        """The height of one field in a cell."""
        return self.cell_height / (1 if self.view.rows_are_fields else len(self.view.fields))

    def corner_of(self, cell: Cell) -> tuple[float, float]:
        """The upper left corner of the field of a cell."""
        return self.x(cell.column), self.y(cell.row) + self.strip_height * cell.strip

    def knot(self, cell: Cell) -> tuple[float, float]:
        """Where the line passes through a cell: left of its number and below it."""
        x, y = self.corner_of(cell)
        return x + _LANE, y + self.strip_height - self._below

    def centre(self, cell: Cell) -> tuple[float, float]:
        """The middle of the number of a cell: right of the line and above it."""
        x, y = self.corner_of(cell)
        return x + int((_LANE + self.cell_width) / 2), y + int((self.strip_height - self._below - 1) / 2)

    @property
    def _below(self) -> float:
        return max(4.0, min(9.0, (self.strip_height - 15) // 2))

    def way(self, first: Cell, second: Cell) -> Way:
        """The points of the line from a cell to the next one in memory."""
        (x1, y1), (x2, y2) = self.knot(first), self.knot(second)
        right, down = second.column - first.column, second.row - first.row
        if x1 == x2 or (y1 == y2 and abs(right) == 1):
            return (x1, y1), (x2, y2)
        edge = self.x(second.column) - 0.5
        if right == 1 and down == 0:
            return (x1, y1), (edge, y1), (edge, y2), (x2, y2)
        # To the gap between the rows, along it to the gap before the column, and into the cell.
        gap = self.y(first.row) - 0.5 if down < 0 else self.y(first.row) + self.cell_height + 0.5
        return (x1, y1), (x1, gap), (edge, gap), (edge, y2), (x2, y2)


def draw_cells(drawing: Drawing, plot: CellPlot, left: float, top: float) -> float:
    """Draw the plot with its upper left corner at (left, top). Returns the bottom."""
    view = plot.view
    cells = view.cells(plot.columns, plot.rows)
    drawing.open(transform=f"translate({left:.1f} {top:.1f})")
    _labels(drawing, plot)
    strip_height = plot.strip_height
    real = [cell for cell in cells if not cell.padding]
    shade = {id(cell): _RAMP[place * (len(_RAMP) - 1) // max(1, len(real) - 1)] for place, cell in enumerate(real)}
    has_tips = len(real) <= MOST_TIPS
    for paint, group in itertools.groupby(cells, key=lambda cell: shade.get(id(cell))):
        inset = 2.0 if paint is None else 1.0
        style = {"stroke": "line", "stroke_dasharray": "3 3"} if paint is None else {"fill": paint}
        width, height = plot.cell_width - 2 * inset, strip_height - 2 * inset
        outlines = ""
        for cell in group:
            x, y = (at + inset for at in plot.corner_of(cell))
            if has_tips:
                drawing.rect(x, y, width, height, radius=2, tip=cell_tip(view, cell), **style)
            else:
                outlines += f"M{number(x)} {number(y)}h{number(width)}v{number(height)}h-{number(width)}z"
        if outlines:
            drawing.path(outlines, **style)  # type: ignore[arg-type]
    _outlines(drawing, plot)
    _order_line(drawing, plot, real)
    drawing.open(
        font_size=FONT, text_anchor="middle", fill=RAMP_INK, stroke_width=4.5, stroke_linejoin="round", paint_order="stroke",
        pointer_events="none", style="font-variant-numeric:tabular-nums",
    )  # fmt: skip
    for cell in cells:
        x, y = plot.centre(cell)
        if cell.padding:
            drawing.element("text", "pad", x=x, y=y + 4, fill="muted", font_size=10)
        else:
            drawing.element("text", str(cell.offset), x=x, y=y + 4, stroke=shade[id(cell)])
    drawing.close()
    drawing.close()
    return top + plot.height


def cell_tip(view: OrderView, cell: Cell) -> str:
    """`x=1, y=2, re: bytes 24 to 27`, or `padding at byte 28`."""
    if cell.padding:
        return f"padding at byte {cell.offset}"
    index = ", ".join(f"{dim}={at}" for dim, at in zip(view.space.dims, cell.index, strict=True))
    last = cell.offset + cell.nbytes - 1
    where = f"byte {cell.offset}" if cell.nbytes == 1 else f"bytes {cell.offset} to {last}"
    return f"{index + ', ' if index else ''}{cell.field}: {where}"


def _labels(drawing: Drawing, plot: CellPlot) -> None:
    view = plot.view
    tokens = dimension_tokens(view.space.dims)
    if view.horizontal:
        token = tokens[view.horizontal]
        for column in range(plot.columns):
            text = f"{view.horizontal[:6]}=0" if column == 0 and len(view.horizontal) <= 2 else str(column)
            centre = plot.x(column) + plot.cell_width / 2
            drawing.text(centre, 16, text, size=11, fill=token, anchor="middle", opacity=None if column < view.columns else 0.5)
        if len(view.horizontal) > 2:
            name = shorten(view.horizontal, plot.label_width - 10, 12, bold=True)
            drawing.text(plot.label_width - 9, 16, name, size=12, fill=token, anchor="end", bold=True)
    for row in range(plot.rows):
        middle = plot.y(row) + plot.cell_height / 2 + 4
        if view.vertical:
            text = f"{view.vertical}={row}" if row == 0 and len(view.vertical) <= 12 else str(row)
            drawing.text(plot.label_width - 9, middle, text, size=11, fill=tokens[view.vertical], anchor="end")
        else:
            text = shorten(view.fields[row], 104, 12)
            drawing.text(plot.label_width - 9, middle, text, size=12, fill=FIELD_COLOUR, anchor="end", tip=view.fields[row])
    if view.vertical and len(view.fields) > 1:
        strip = plot.cell_height / len(view.fields)
        x = plot.x(plot.columns - 1) + plot.cell_width + 7
        for number, name in enumerate(view.fields):
            y = plot.y(0) + strip * (number + 0.5) + 4
            drawing.text(x, y, shorten(name, 82, 11), size=11, fill=FIELD_COLOUR, tip=name)


def _outlines(drawing: Drawing, plot: CellPlot) -> None:
    """A rim around every innermost block; without blocks there is nothing to outline."""
    view = plot.view
    across, down = view.block_steps(view.horizontal), view.block_steps(view.vertical)
    if not across and not down:
        return
    stroke = colour("ink", "light")
    for x0 in range(0, plot.columns, across[0] if across else plot.columns):
        x1 = min(x0 + (across[0] if across else plot.columns), plot.columns) - 1
        for y0 in range(0, plot.rows, down[0] if down else plot.rows):
            y1 = min(y0 + (down[0] if down else plot.rows), plot.rows) - 1
            left, top = plot.x(x0) - 0.6, plot.y(y0) - 0.6
            drawing.rect(
                left, top, plot.x(x1) + plot.cell_width + 0.6 - left, plot.y(y1) + plot.cell_height + 0.6 - top,
                stroke="muted" if drawing.theme == "auto" else stroke, radius=3, stroke_width=1.2,
            )  # fmt: skip


def _order_line(drawing: Drawing, plot: CellPlot, cells: list[Cell]) -> None:
    solid: list[Way] = []
    dashed: list[Way] = []
    for first, second in pairwise(cells):
        target = solid if plot.view.follows(first, second) else dashed
        target.append(plot.way(first, second))
    for ways, dash in ((dashed, "2.5 3.5"), (solid, None)):
        if ways:
            drawing.path(
                _joined_ways(ways), stroke=ORDER_LINE, width=1.6, stroke_dasharray=dash, stroke_linecap="round",
                stroke_linejoin="round", stroke_opacity=0.9 if dash is None else 0.65, pointer_events="none",
            )  # fmt: skip


def _joined_ways(ways: Sequence[Way]) -> str:
    """Ways as a path of SVG; one that begins where the one before ends goes on from there."""
    found, last = "", None
    for first, *others in ways:
        if first != last:
            found += f"M{number(first[0])} {number(first[1])}"
        last = first
        for x, y in others:
            found += f"H{number(x)}" if y == last[1] else f"V{number(y)}" if x == last[0] else f"L{number(x)} {number(y)}"
            last = x, y
    return found


def _whole_blocks(count: int, steps: tuple[int, ...]) -> int:
    fitting = [step for step in steps if step <= count]
    return count // fitting[-1] * fitting[-1] if fitting else count


def _largest_offset(view: OrderView, columns: int, rows: int) -> int:
    across = np.arange(columns, dtype=np.int64)
    down = np.arange(rows if view.vertical else 1, dtype=np.int64)
    return max(int(view.offsets(across, down, field).max()) for field in view.fields)


def _first_field(view: OrderView) -> OrderView:
    return replace(view, fields=view.fields[:1])


def _label_width(view: OrderView, rows: int) -> float:
    if view.vertical:
        widest = max(text_width(f"{rows - 1}", 11), text_width(f"{view.vertical[:12]}=0", 11))
    else:
        widest = min(104.0, max(text_width(name, 12) for name in view.fields[:rows]))
    name = text_width(view.horizontal[:12], 12, bold=True) if view.horizontal and len(view.horizontal) > 2 else 0
    return math.ceil(max(widest, name)) + 12.0


def _strip_room(view: OrderView) -> float:
    if view.rows_are_fields or len(view.fields) == 1:
        return 0.0
    return 10.0 + min(84.0, max(text_width(name, 11) for name in view.fields))
