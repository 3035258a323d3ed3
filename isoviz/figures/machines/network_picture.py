"""The figure of a torus or a mesh: its slices with the routers, and the paths of a plan from link to link, proxies as rings."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise, product
from typing import TYPE_CHECKING, NamedTuple

from isoviz.figures.charts.svg import Drawing, number, shorten
from isoviz.figures.charts.theme import DIMENSION_COLOURS, FIELD_COLOUR, MARGIN, ThemeName
from isoviz.machines import machine_argument
from isoviz.machines.networks import Grid
from isoviz.units import format_share

if TYPE_CHECKING:
    from isoviz.machines import Machine, MachineLike
    from isoviz.machines.networks import Link, Network
    from isoviz.planner import Plan

CELL = 15.0
"""Between neighbours of a slice, in pixels."""
APART = 26.0
"""Between slices, with room for the name of the lower one."""
ENOUGH = 3
"""Routers of a slice in one direction that are enough: further dimensions place the slices."""
MOST_DRAWN = 1024
"""Routers that are drawn; of more, only the slices and the stops of the plan are."""
STUB = 9.0
"""How far a link goes beyond the edge of a slice where its dimension wraps around."""
TRACKS = (*DIMENSION_COLOURS, FIELD_COLOUR, "predicted")
"""The colours of paths, in turn."""

Point = tuple[float, float]


class _Axis(NamedTuple):
    """The dimensions along one side of the drawing, the slowest first: those that place a slice, and those within it."""

    outer: tuple[int, ...]
    inner: tuple[int, ...]


class Slices:
    """Where the routers of a grid lie: two or more dimensions are a slice, the others place the slices in rows and columns."""

    def __init__(self, grid: Grid) -> None:
        self.grid = grid
        self.across, self.down = _axes(grid.sizes)
        self.width, self.height = self._count(self.across.inner) * CELL, self._count(self.down.inner) * CELL
        columns, rows = self._count(self.across.outer), self._count(self.down.outer)
        self.size = columns * (self.width + APART) - APART, rows * (self.height + APART)

    def _count(self, dims: Sequence[int]) -> int:
        return math.prod([self.grid.sizes[dim] for dim in dims])

    def _number(self, dims: Sequence[int], place: Sequence[int]) -> int:
        found = 0
        for dim in dims:
            found = found * self.grid.sizes[dim] + place[dim]
        return found

    def corner(self, place: Sequence[int]) -> Point:
        """The upper left corner of the slice of some coordinates."""
        column, row = self._number(self.across.outer, place), self._number(self.down.outer, place)
        return column * (self.width + APART), APART + row * (self.height + APART)

    def at(self, router: int) -> Point:
        """The middle of a router."""
        place = self.grid.coordinates(router)
        left, top = self.corner(place)
        column, row = self._number(self.across.inner, place), self._number(self.down.inner, place)
        return left + (column + 0.5) * CELL, top + (row + 0.5) * CELL

    def titles(self) -> list[tuple[Point, str]]:
        """The corner of every slice, and its fixed coordinates."""
        outer = sorted((*self.across.outer, *self.down.outer))
        found = []
        for values in product(*[range(self.grid.sizes[dim]) for dim in outer]):
            place = [0] * len(self.grid.sizes)
            for dim, value in zip(outer, values, strict=True):
                place[dim] = value
            found.append((self.corner(place), " ".join(f"{self.grid.dimensions[dim]}{place[dim]}" for dim in outer)))
        return found

    def line(self, link: Link) -> str:
        """A link as a path of SVG: straight within a slice, around its edge, or an arc from slice to slice."""
        here, there = self.grid.coordinates(link.source), self.grid.coordinates(link.destination)
        dim = next((dim for dim, (a, b) in enumerate(zip(here, there, strict=True)) if a != b), 0)
        (x, y), (to_x, to_y) = self.at(link.source), self.at(link.destination)
        if dim not in (*self.across.inner, *self.down.inner):
            bend = 0.13
            middle = (x + to_x) / 2 - (to_y - y) * bend, (y + to_y) / 2 + (to_x - x) * bend
            return f"M{_point(x, y)}Q{_point(*middle)} {_point(to_x, to_y)}"
        size = self.grid.sizes[dim]
        if not (size > 2 and abs(there[dim] - here[dim]) == size - 1):
            return f"M{_point(x, y)}L{_point(to_x, to_y)}"
        way = STUB if here[dim] else -STUB
        dx, dy = (way, 0.0) if dim in self.across.inner else (0.0, way)
        return f"M{_point(x, y)}L{_point(x + dx, y + dy)}M{_point(to_x - dx, to_y - dy)}L{_point(to_x, to_y)}"


def _point(x: float, y: float) -> str:
    return f"{number(x)} {number(y)}"


def _axes(sizes: Sequence[int]) -> tuple[_Axis, _Axis]:
    """The dimensions of both sides: from the last one on, each goes to the shorter side."""
    dims: tuple[list[int], list[int]] = [], []
    lengths = [1, 1]
    for dim in reversed(range(len(sizes))):
        side = 0 if lengths[0] <= lengths[1] else 1
        dims[side].insert(0, dim)
        lengths[side] *= sizes[dim]
    found = []
    for each in dims:
        count, first = 1, len(each)
        while first and count < ENOUGH:
            first -= 1
            count *= sizes[each[first]]
        found.append(_Axis(tuple(each[:first]), tuple(each[first:])))
    return found[0], found[1]


def grid_networks(machine: Machine) -> list[Network]:
    """The networks of a machine that have such a figure."""
    return [network for network in machine.networks if isinstance(network.topology, Grid)]


def network_svg(machine: MachineLike, plan: Plan | None = None, *, theme: ThemeName = "auto") -> str:
    """The first torus or mesh of a machine as slices, and the paths of `plan` over its links.

    The names of slices are their fixed coordinates. Lines that end beyond an edge go on at the other edge. Rings are proxies.
    "" if the machine has no such network.
    """
    machine = machine_argument("figure", machine)
    network = next(iter(grid_networks(machine)), None)
    if network is None or not isinstance(network.topology, Grid):
        return ""
    slices = Slices(network.topology)
    paths = plan.paths if plan is not None else ()
    said = f"{len(paths)} paths over it" if paths else "without a plan"
    drawing = Drawing(f"Network {network.name}: {network.topology}", f"Slices of {network.topology}, {said}.", theme)
    drawing.open(transform=f"translate({MARGIN} {MARGIN})")
    _rest(drawing, network.topology, slices)
    for track in range(len(paths)):
        _track(drawing, network, slices, paths[track].memories, TRACKS[track % len(TRACKS)])
    if plan is not None:
        for role, end in (("source", plan.transfer.source.memory), ("destination", plan.transfer.destination.memory)):
            if network.has_port(end):
                x, y = slices.at(network.router_of(end))
                drawing.element("circle", cx=x, cy=y, r=5.0, fill="ink", stroke="paper", stroke_width=1.5)
                above = y > slices.size[1] / 2
                side = "end" if x > slices.size[0] / 2 else "start"
                drawing.text(x, y - 10 if above else y + 18, f"{role} {end}", size=11.5, bold=True, halo="paper", anchor=side)
    drawing.close()
    width = max(slices.size[0] + 2 * MARGIN, 640.0)
    y = MARGIN + slices.size[1] + 40
    for track, path in enumerate(paths):
        drawing.line(MARGIN, y - 4, MARGIN + 18, y - 4, stroke=TRACKS[track % len(TRACKS)], width=4)
        share = format_share(path.bytes / plan.bytes) if plan is not None else ""
        words = f"path {track}: {share}, {' → '.join(path.memories)}"
        drawing.text(MARGIN + 26, y, shorten(words, width - 2 * MARGIN - 26, 11.5), size=11.5)
        y += 17
    return drawing.render(width, y + MARGIN - 12)


def _rest(drawing: Drawing, grid: Grid, slices: Slices) -> None:
    for (x, y), title in slices.titles():
        drawing.rect(x - 3, y - 3, slices.width + 6, slices.height + 6, fill="panel", radius=4)
        if title:
            drawing.text(x, y - 6, title, size=10.5, fill="muted")
    if grid.router_count <= MOST_DRAWN:
        dots = "".join(f"M{_point(x - 2.5, y - 2.5)}h5v5h-5z" for x, y in map(slices.at, range(grid.router_count)))
        drawing.path(dots, fill="line")


def _track(drawing: Drawing, network: Network, slices: Slices, memories: Sequence[str], token: str) -> None:
    """The links of a path, and its proxies as rings."""
    for here, there in pairwise(memories):
        if network.has_port(here) and network.has_port(there):
            data = "".join(slices.line(link) for link in network.route(here, there) or ())
            drawing.path(data, stroke=token, width=2.2, stroke_linecap="round")
    for name in memories[1:-1]:
        if network.has_port(name):
            x, y = slices.at(network.router_of(name))
            drawing.element("circle", cx=x, cy=y, r=4.5, fill="paper", stroke=token, stroke_width=2)
