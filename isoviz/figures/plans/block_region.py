"""The region of two block sizes that sustain a throughput (Isometry, section 4.2)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from isoviz.figures.charts.svg import Drawing, shorten, text_width, wrap
from isoviz.figures.charts.theme import MARGIN, ThemeName
from isoviz.planner.explanation.explanation_words import count_text
from isoviz.units import format_bytes, format_rate

if TYPE_CHECKING:
    from isoviz.planner.explanation.explanation import Region
    from isoviz.planner.program.path_bound import PathProgram

_LEFT, _BOTTOM, _LEGEND = 92.0, 62.0, 300.0
_CLOSE = 1e-6
SPECK = 0.12
"""A region smaller than this share of both axes is enlarged."""

Mark = tuple[float, float, str]
"""A further point: both sizes, and its name."""


@dataclass(frozen=True)
class _Axes:
    """The axes, both logarithmic: the frame in pixels, and the ranges of sizes."""

    frame: tuple[float, float, float, float]
    span_x: tuple[float, float]
    span_y: tuple[float, float]

    def place(self, a: float, b: float) -> tuple[float, float]:
        """The position of two sizes; sizes out of range lie on the border."""
        x, y, wide, high = self.frame
        return x + wide * _share(a, self.span_x), y + high * (1 - _share(b, self.span_y))


def _share(size: float, span: tuple[float, float]) -> float:
    low, high = span
    return min(1.0, max(0.0, math.log(max(size, 1e-9) / low) / math.log(high / low)))


def block_region_svg(
    region: Region,
    program: PathProgram | None = None,
    *,
    marks: Sequence[Mark] = (),
    width: float = 860,
    height: float = 440,
    remark: str = "",
    theme: ThemeName = "auto",
) -> str:
    """The region of block sizes that sustain the throughput of a plan, with the plan's own sizes, both axes logarithmic.

    With the `program` every edge is labelled with its constraint, and the axes show the bytes of a run as well as its elements.
    `marks` are further points.
    """
    title = f"Block sizes that sustain {format_rate(region.throughput)}"
    drawing = Drawing(title, _description(region, marks), theme, remark=remark)
    axes = _axes(region, program, marks, width, height)
    edges = _edges(region, program) if program is not None else []
    _grid(drawing, axes, region, program)
    places = [axes.place(*corner) for corner in region.corners]
    if len(places) > 2:
        data = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in places) + "Z"
        drawing.path(data, fill="dim0", stroke="dim0", width=2, fill_opacity=0.16, stroke_linejoin="round")
    elif len(places) == 2:
        drawing.line(*places[0], *places[1], stroke="dim0", width=3)
    elif places:
        drawing.element("circle", cx=places[0][0], cy=places[0][1], r=4, fill="dim0")
    points = [(*axes.place(*region.chosen), "the plan"), *((*axes.place(a, b), text) for a, b, text in marks)]
    labels = _placed(points, axes)
    _letters(drawing, axes, edges, [*labels, *((x - 8, y - 8, 16.0, 16.0, "") for x, y, _ in points)])
    for (x, y, text), (a, b, _) in zip(points[1:], marks, strict=True):
        drawing.path(f"M{x:.1f} {y - 9:.1f}l9 9l-9 9l-9 -9z", fill="paper", stroke="ink", width=2, tip=f"{text}: {_pair(a, b)}")
    x, y, text = points[0]
    drawing.element(
        "circle", cx=x, cy=y, r=6, fill="path", stroke="paper", stroke_width=1.5, tip=f"{text}: {_pair(*region.chosen)}"
    )
    for number, (x, y, _, _, text) in enumerate(labels):
        drawing.text(x, y + 12, text, size=12, fill="ink" if number else "path", bold=True, halo="panel")
    _legend(drawing, region, edges, marks, width - MARGIN - _LEGEND + 26, MARGIN + 8, height)
    return drawing.render(width, height)


def _axes(region: Region, program: PathProgram | None, marks: Sequence[Mark], width: float, height: float) -> _Axes:
    """Axes from one element to all elements. If the region would be too small, the axes cover only its surroundings."""
    frame = (MARGIN + _LEFT, MARGIN + 4, width - 2 * MARGIN - _LEFT - _LEGEND, height - 2 * MARGIN - _BOTTOM)
    points = [*region.corners, region.chosen, *((a, b) for a, b, _ in marks)]
    highs = program.highs if program is not None else {}
    spans, used = [], []
    for axis, name in enumerate((region.x, region.y)):
        values = [max(1.0, point[axis]) for point in points]
        top = 2.0 ** max(1, math.ceil(math.log2(max(*values, highs.get(name, 1.0)) * 1.05)))
        spans.append((1.0, top))
        used.append((min(values), max(values)))
    if all(math.log(high / low) < SPECK * math.log(span[1]) for (low, high), span in zip(used, spans, strict=True)):
        grow = max(1.005, *((high / low) ** 0.5 for low, high in used))
        spans = [(low / grow, high * grow) for low, high in used]
    return _Axes(frame, spans[0], spans[1])


def _grid(drawing: Drawing, axes: _Axes, region: Region, program: PathProgram | None) -> None:
    left, top, wide, high = axes.frame
    bottom = top + high
    drawing.rect(left, top, wide, high, fill="panel", stroke="faint")
    units = [_bytes_of(program, name) for name in (region.x, region.y)]
    for size in _ticks(axes.span_x):
        px, _ = axes.place(size, axes.span_y[0])
        drawing.line(px, top, px, bottom, stroke="faint")
        drawing.text(px, bottom + 19, count_text(size), size=11.5, anchor="middle")
        if units[0]:
            drawing.text(px, bottom + 34, format_bytes(size * units[0]), size=10.5, fill="muted", anchor="middle")
    for size in _ticks(axes.span_y):
        _, py = axes.place(axes.span_x[0], size)
        drawing.line(left, py, left + wide, py, stroke="faint")
        drawing.text(left - 8, py + (-1 if units[1] else 4), count_text(size), size=11.5, anchor="end")
        if units[1]:
            drawing.text(left - 8, py + 11, format_bytes(size * units[1]), size=10.5, fill="muted", anchor="end")
    names = [_axis_name(name, unit, program) for name, unit in zip((region.x, region.y), units, strict=True)]
    drawing.text(left + wide / 2, bottom + 55, names[0], size=12.5, anchor="middle")
    x, y = MARGIN + 8, top + high / 2
    drawing.text(x, y, names[1], size=12.5, anchor="middle", transform=f"rotate(-90 {x:.1f} {y:.1f})")


def _axis_name(name: str, unit: float, program: PathProgram | None) -> str:
    most = f" (of {count_text(program.highs[name])})" if program is not None and name in program.highs else ""
    return f"{name}: elements{most} and bytes of a run" if unit else f"{name}: elements{most}"


def _bytes_of(program: PathProgram | None, name: str) -> float:
    """Bytes of a run per element of a block, if a hop's run is proportional to this size; else 0."""
    rows = program.throughput if program is not None else ()
    return next((row.run.coefficient for row in rows if row.run.factors == (name,)), 0.0)


def _ticks(span: tuple[float, float], most: int = 7) -> list[float]:
    """Powers of two; round numbers over less than three doublings."""
    low, high = span
    if high / low >= 8:
        doublings = range(math.ceil(math.log2(low) - 1e-9), math.floor(math.log2(high) + 1e-9) + 1)
        return [2.0**power for power in doublings[:: math.ceil(len(doublings) / most)]]
    unit = 10.0 ** math.floor(math.log10((high - low) / most))
    step = next(part * unit for part in (1, 2, 5, 10) if part * unit >= (high - low) / most)
    step = max(1.0, step)  # Elements are whole.
    return [step * k for k in range(math.ceil(low / step), math.floor(high / step) + 1)]


@dataclass(frozen=True)
class _Edge:
    """A side of the region: its ends, and its constraint."""

    here: tuple[float, float]
    there: tuple[float, float]
    text: str


@dataclass(frozen=True)
class _Line:
    """A constraint as a line in the logarithms: coefficient × x^power_x × y^power_y = bound."""

    text: str
    coefficient: float
    power_x: int
    power_y: int
    bound: float

    def holds(self, point: tuple[float, float]) -> bool:
        """Whether a point lies on the line."""
        value = self.coefficient * point[0] ** self.power_x * point[1] ** self.power_y
        return math.isclose(value, self.bound, rel_tol=_CLOSE)


def _edges(region: Region, program: PathProgram) -> list[_Edge]:
    """The sides of a region with an area, and their constraints."""
    corners = region.corners
    if len(corners) < 3:
        return []
    lines = _lines(region, program)
    found = []
    for here, there in pairwise((*corners, corners[0])):
        line = next((line for line in lines if line.holds(here) and line.holds(there)), None)
        if line is not None:
            found.append(_Edge(here, there, line.text))
    return found


def _lines(region: Region, program: PathProgram) -> list[_Line]:
    """All lines that may be a side: runs, limits of space, dimension sizes, one element."""
    x, y = region.x, region.y
    found = []
    for row in program.throughput:
        need = row.throughput.inverse(region.throughput)
        if row.run.factors and 0 < need < math.inf:
            text = f"{row.run.label} ≥ {format_bytes(need)}: hop {row.hop} ({row.channel}) keeps up"
            found.append(_Line(text, row.run.coefficient, row.run.factors.count(x), row.run.factors.count(y), need))
    for space in program.space:
        factors = space.shuffle.factors
        if factors:
            found.append(_Line(space.label, space.shuffle.coefficient, factors.count(x), factors.count(y), space.limit))
    for name, powers in ((x, (1, 0)), (y, (0, 1))):
        high = program.highs.get(name, 1.0)
        found.append(_Line(f"{name} ≤ {count_text(high)}: all there is", 1.0, *powers, high))
        found.append(_Line(f"{name} ≥ 1", 1.0, *powers, 1.0))
    return found


_Box = tuple[float, float, float, float, str]
"""Left, top, width and height of a label, and its text."""


def _apart(first: _Box, second: _Box) -> bool:
    (x1, y1, w1, h1, _), (x2, y2, w2, h2, _) = first, second
    return x1 + w1 <= x2 or x2 + w2 <= x1 or y1 + h1 <= y2 or y2 + h2 <= y1


def _placed(points: Sequence[tuple[float, float, str]], axes: _Axes) -> list[_Box]:
    """Places for the names of points: beside them and in the frame, without covering each other or the points if possible."""
    left, top, wide, high = axes.frame
    discs = [(x - 9, y - 9, 18.0, 18.0, "") for x, y, _ in points]
    found: list[_Box] = []
    for x, y, text in points:
        text = shorten(text, 170, 12, bold=True)
        room = text_width(text, 12, bold=True)
        tries = [
            (x + dx if side > 0 else x - dx - room, y + dy - 8, room, 16.0, text)
            for dx, dy in ((10, -14), (10, 14), (13, 0), (10, -32), (10, 32))
            for side in (1, -1)
        ]
        inside = [box for box in tries if left <= box[0] and box[0] + room <= left + wide and top <= box[1] <= top + high - 16]
        clear = [box for box in inside if all(_apart(box, other) for other in (*found, *discs))]
        found.append((clear or inside or tries)[0])
    return found


def _letters(drawing: Drawing, axes: _Axes, edges: Sequence[_Edge], taken: Sequence[_Box]) -> None:
    """A letter on each side, in its middle or clear of points and names. Short sides have their letter in the legend only."""
    for k, edge in enumerate(edges):
        (x1, y1), (x2, y2) = axes.place(*edge.here), axes.place(*edge.there)
        if math.hypot(x2 - x1, y2 - y1) <= 16:
            continue
        places = [(x1 + share * (x2 - x1), y1 + share * (y2 - y1)) for share in (0.5, 0.4, 0.6, 0.3, 0.7, 0.2, 0.8)]
        free = [(x, y) for x, y in places if all(_apart((x - 10, y - 10, 20.0, 20.0, ""), box) for box in taken)]
        _disc(drawing, *(free or places)[0], k)


def _disc(drawing: Drawing, x: float, y: float, k: int) -> None:
    drawing.element("circle", cx=x, cy=y, r=9, fill="paper", stroke="dim0", stroke_width=1.6)
    drawing.text(x, y + 4, chr(ord("a") + k % 26), size=12, fill="dim0", anchor="middle", bold=True)


def _legend(
    drawing: Drawing, region: Region, edges: Sequence[_Edge], marks: Sequence[Mark], x: float, y: float, height: float
) -> None:
    """The legend of the sides and the points."""
    room = _LEGEND - 52
    if not region.corners:
        for line in wrap(f"No sizes at all sustain {format_rate(region.throughput)}.", room, 12.5):
            drawing.text(x, y + 11, line, size=12.5)
            y += 17
        y += 8
    entries: list[tuple[str, str, str]] = [("plan", "the plan", _pair(*region.chosen, region))]
    entries += [("mark", text, _pair(a, b, region)) for a, b, text in marks]
    for kind, text, sizes in entries:
        if kind == "plan":
            drawing.element("circle", cx=x + 9, cy=y + 8, r=7, fill="path")
        else:
            drawing.path(f"M{x + 9:.1f} {y + 1:.1f}l7 7l-7 7l-7 -7z", fill="paper", stroke="ink", width=2)
        drawing.text(x + 26, y + 8, shorten(text, room, 12.5, bold=True), size=12.5, bold=True)
        drawing.text(x + 26, y + 24, shorten(sizes, room, 12), size=12, fill="muted")
        y += 40
    if edges:
        drawing.text(x, y + 12, "Sides of the region", size=12, fill="muted")
        y += 22
    for k, edge in enumerate(edges):
        lines = wrap(edge.text, room, 12)
        if y + 16 * len(lines) > height - 8:
            break
        _disc(drawing, x + 9, y + 8, k)
        for number, line in enumerate(lines):
            drawing.text(x + 26, y + 12 + 16 * number, line, size=12)
        y += 16 * len(lines) + 10


def _pair(a: float, b: float, region: Region | None = None) -> str:
    if region is None:
        return f"{count_text(a)} × {count_text(b)}"
    return f"{region.x} = {count_text(a)}, {region.y} = {count_text(b)}"


def _description(region: Region, marks: Sequence[Mark]) -> str:
    corners = "; ".join(_pair(a, b) for a, b in region.corners) or "none"
    said = [f"{region.x} across, {region.y} up, both logarithmic. Corners of the region: {corners}."]
    said.append(f"The plan: {_pair(*region.chosen)}.")
    said += [f"{text}: {_pair(a, b)}." for a, b, text in marks]
    return " ".join(said)
