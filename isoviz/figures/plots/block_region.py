"""The region of two block sizes that sustain a throughput (Isometry, section 4.2)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, cast

from isoviz.figures.charts.theme import colour
from isoviz.figures.plots.bokeh_plot import Axis, add_hover, add_legend, new_plot, text_style
from isoviz.planner.explanation.explanation_words import count_text
from isoviz.units import format_bytes, format_rate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bokeh.plotting import figure

    from isoviz.planner.explanation.explanation import Region
    from isoviz.planner.program.path_bound import PathProgram

_CLOSE = 1e-6
SPECK = 0.12
"""A region smaller than this share of both axes is enlarged."""
SHORT = 0.06
"""A side shorter than this share of the axes has its letter in the legend only."""

Mark = tuple[float, float, str]
"""A further point: both sizes, and its name."""
Span = tuple[float, float]


def block_region_figure(
    region: Region, program: PathProgram | None = None, *, marks: Sequence[Mark] = (), remark: str = ""
) -> figure:
    """The region of block sizes that sustain the throughput of a plan, with the plan's own sizes, both axes logarithmic.

    With `program`, every side of the region is labelled with its constraint. `marks` are further points. `remark` is a sentence
    below.

    Raises:
        MissingPartError: Bokeh is not installed.
    """
    spans = _spans(region, program, marks)
    names = [_axis_name(name, program) for name in (region.x, region.y)]
    across, up = (Axis(name, "number", *span) for name, span in zip(names, spans, strict=True))
    rate = format_rate(region.throughput)
    title = f"Block sizes that sustain {rate}" if region.corners else f"No block sizes at all sustain {rate}"
    plot = new_plot(title, across, up, height=420, remark=remark)
    xs, ys = [x for x, _ in region.corners], [y for _, y in region.corners]
    if len(region.corners) > 2:
        style = {"fill_color": colour("dim0"), "fill_alpha": 0.16, "line_color": colour("dim0"), "line_width": 2}
        shape = plot.patch(xs, ys, **style)
    elif len(region.corners) == 2:
        shape = plot.line(xs, ys, line_color=colour("dim0"), line_width=3)
    else:
        shape = plot.scatter(xs, ys, size=8, color=colour("dim0"))
    edges = _edges(region, program) if program is not None else []
    sides = [_side(plot, edge, chr(ord("a") + k % 26), spans, shape) for k, edge in enumerate(edges)]
    points = [_point(plot, (*region.chosen, "the plan"), region, program, "path", "circle")]
    points += [_point(plot, mark, region, program, "ink", "diamond") for mark in marks]
    add_hover(plot, [glyphs[0] for _, glyphs in points])
    entries = [*points, *sides]
    add_legend(plot, entries, columns=2 if len(entries) > 4 else 1)
    return cast("figure", plot)


def _spans(region: Region, program: PathProgram | None, marks: Sequence[Mark]) -> list[Span]:
    """Axes from one element to all elements. If the region would be too small, the axes cover only its surroundings."""
    points = [*region.corners, region.chosen, *((a, b) for a, b, _ in marks)]
    highs = program.highs if program is not None else {}
    spans, used = [], []
    for axis, name in enumerate((region.x, region.y)):
        values = [max(1.0, point[axis]) for point in points]
        spans.append((0.9, 2.0 ** max(1, math.ceil(math.log2(max(*values, highs.get(name, 1.0)) * 1.05)))))
        used.append((min(values), max(values)))
    if all(math.log(high / low) < SPECK * math.log(span[1]) for (low, high), span in zip(used, spans, strict=True)):
        grow = max(1.005, *((high / low) ** 0.5 for low, high in used))
        return [(low / grow, high * grow) for low, high in used]
    return spans


def _axis_name(name: str, program: PathProgram | None) -> str:
    """The size, how many elements there are, and what one of them adds to a run."""
    most = f" (of {count_text(program.highs[name])})" if program is not None and name in program.highs else ""
    unit = _bytes_of(program, name)
    return f"{name}: elements{most}" + (f", {format_bytes(unit)} of a run each" if unit else "")


def _bytes_of(program: PathProgram | None, name: str) -> float:
    """Bytes of a run per element of a block, if a hop's run is proportional to this size; else 0."""
    rows = program.throughput if program is not None else ()
    return next((row.run.coefficient for row in rows if row.run.factors == (name,)), 0.0)


def _point(plot: Any, mark: Mark, region: Region, program: PathProgram | None, token: str, marker: str) -> tuple[str, list[Any]]:
    """A point with its entry of the legend: its name and both sizes, in bytes too where they make up a run."""
    a, b, text = mark
    said = f"{text}: {_size(region.x, a, program)}, {_size(region.y, b, program)}"
    columns = {"x": [a], "y": [b], "tip": [said]}
    style = {"marker": marker, "size": 13, "fill_color": colour(token), "line_color": colour("paper"), "line_width": 1.5}
    return said, [plot.scatter("x", "y", source=columns, **style)]


def _size(name: str, size: float, program: PathProgram | None) -> str:
    unit = _bytes_of(program, name)
    return f"{name} = {count_text(size)}" + (f" ({format_bytes(size * unit)})" if unit else "")


def _side(plot: Any, edge: _Edge, letter: str, spans: Sequence[Span], shape: Any) -> tuple[str, list[Any]]:
    """The letter of a side in its middle, and the entry of the legend. A short side has no letter in the plot."""
    (x1, y1), (x2, y2) = edge.start, edge.end
    lengths = (
        math.log(max(a, b) / min(a, b)) / math.log(span[1] / span[0])
        for a, b, span in zip((x1, y1), (x2, y2), spans, strict=True)
    )
    said = f"{letter}: {edge.text}"
    if math.hypot(*lengths) < SHORT:
        return said, [shape]
    x, y = math.sqrt(x1 * x2), math.sqrt(y1 * y2)
    disc = plot.scatter([x], [y], size=19, fill_color=colour("paper"), line_color=colour("dim0"), line_width=1.6)
    text = plot.text([x], [y], text=[letter], **text_style("dim0", text_align="center", text_font_style="bold"))
    return said, [disc, text]


@dataclass(frozen=True)
class _Edge:
    """A side of the region: its ends, and its constraint."""

    start: Span
    end: Span
    text: str


@dataclass(frozen=True)
class _Line:
    """A constraint as a line in the logarithms: coefficient × x^power_x × y^power_y = bound."""

    text: str
    coefficient: float
    power_x: int
    power_y: int
    bound: float

    def holds(self, point: Span) -> bool:
        """Whether a point lies on the line."""
        value = self.coefficient * point[0] ** self.power_x * point[1] ** self.power_y
        return math.isclose(value, self.bound, rel_tol=_CLOSE)


def _edges(region: Region, program: PathProgram) -> list[_Edge]:
    """The sides of a region with an area, and their constraints."""
    corners = region.corners
    if len(corners) < 3:
        return []
    lines = _lines(region, program)
    edges = []
    for start, end in pairwise((*corners, corners[0])):
        line = next((line for line in lines if line.holds(start) and line.holds(end)), None)
        if line is not None:
            edges.append(_Edge(start, end, line.text))
    return edges


def _lines(region: Region, program: PathProgram) -> list[_Line]:
    """All lines that may be a side: runs, limits of space, dimension sizes, one element."""
    x, y = region.x, region.y
    lines = []
    for row in program.throughput:
        need = row.throughput.inverse(region.throughput)
        if row.run.factors and 0 < need < math.inf:
            text = f"{row.run.label} ≥ {format_bytes(need)}: hop {row.hop} ({row.channel}) keeps up"
            lines.append(_Line(text, row.run.coefficient, row.run.factors.count(x), row.run.factors.count(y), need))
    for space in program.space:
        factors = space.shuffle.factors
        if factors:
            lines.append(_Line(space.label, space.shuffle.coefficient, factors.count(x), factors.count(y), space.limit))
    for name, powers in ((x, (1, 0)), (y, (0, 1))):
        high = program.highs.get(name, 1.0)
        lines.append(_Line(f"{name} ≤ {count_text(high)}: all there is", 1.0, *powers, high))
        lines.append(_Line(f"{name} ≥ 1", 1.0, *powers, 1.0))
    return lines
