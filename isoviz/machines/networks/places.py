"""Where the routers of a topology are drawn: one value for the explorer, the static picture and the browser."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any, NamedTuple

from isoviz import checks
from isoviz.errors import MachineError

Point = tuple[float, float]

CELL = 16.0
"""Between neighbours in a slice, in pixels at natural size, as all lengths here."""
_PAIR, _BETWEEN_PAIRS = 10.0, 8.0
"""Between routers of an inner dimension that lie side by side in one place of a slice, and around such a place."""
APART = 30.0
"""Between slices, with room for the name of the lower one."""
STUB = 11.0
"""How far a link goes beyond the edge of its panel where it goes around."""
_ENOUGH = 3
"""Routers of a slice in one direction that are enough."""
_WIDEST, _WANTED = 3.4, 1.8
"""The largest width of a drawing, and the width to which a wider one is folded, both as multiples of its height."""
_HOST, _LEVEL, _IN_CIRCLE = 26.0, 74.0, 74.0
"""Between hosts of a tree, between its levels, and between neighbours in a circle."""


class Axis(NamedTuple):
    """A coordinate of the routers. `name` stands before it in an address: "A" in "A0 B3". Where it `wraps`, links lead around."""

    name: str
    size: int
    wraps: bool = False


class Panel(NamedTuple):
    """One of several parts of a drawing: its upper left corner, and its title."""

    x: float
    y: float
    title: str = ""


@dataclass(frozen=True)
class Places:
    """Where the routers of a topology are drawn, in pixels at natural size; y goes down.

    - `points`: the places of the routers of a panel, from its corner.
    - `apart`: how far two neighbours are from each other: routers are smaller than that, and have their names where it is enough.
    - `panels`: parts of the drawing: router r is the r % n-th of panel r // n, where n is the number of points.
    - `alike`: whether all panels have the same links between their routers: then those of the first one are told for all.
    - `axes`: coordinates that count the routers, the last one fastest. Panels of a drawing with axes have frames, and an address
      is made of coordinates. Without axes a router has its name.
    - `reading`: how the drawing is read, in a sentence.
    - `shape`: how the browser draws it; "routers" draws places and links. Another name is that of a file of
      `widgets/src/views/network/shapes`; a name that the browser does not know is "routers".
    - `sizes`: whole numbers that the shape is drawn with, such as the number of its rings.

    Raises:
        MachineError: a place is not a pair of numbers, a panel or an axis is none, `apart` is not a number > 0, there are no
            points, or the axes count another number of routers than the panels hold.
    """

    points: tuple[Point, ...]
    apart: float = _IN_CIRCLE
    panels: tuple[Panel, ...] = (Panel(0.0, 0.0),)
    axes: tuple[Axis, ...] = ()
    alike: bool = False
    reading: str = ""
    shape: str = "routers"
    sizes: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        points = checks.items("places", self.points, "pairs of numbers", MachineError)
        object.__setattr__(self, "points", tuple([_pair(k, point) for k, point in enumerate(points)]))
        object.__setattr__(self, "apart", checks.number("places", "apart", self.apart, open_low=True))
        for field, kind in (("panels", Panel), ("axes", Axis)):
            parts = checks.items("places", getattr(self, field), f"of {kind.__name__}", MachineError)
            for k, part in enumerate(parts):
                if not isinstance(part, kind):
                    raise checks.FieldError("places", f"{field}[{k}]", f"expected {kind.__name__}(…), got {checks.show(part)}")
            object.__setattr__(self, field, parts)
        checks.flag("places", "alike", self.alike)
        sizes = checks.items("places", self.sizes, "of whole numbers", MachineError)
        object.__setattr__(self, "sizes", tuple([checks.whole("places", f"sizes[{k}]", each) for k, each in enumerate(sizes)]))
        for field in ("reading", "shape"):
            checks.text("places", field, getattr(self, field), empty=field == "reading")
        if not self.points or not self.panels:
            raise MachineError("places: expected a point and a panel at least, got none")
        if self.axes and math.prod(axis.size for axis in self.axes) != self.count:
            counted = " × ".join(str(axis.size) for axis in self.axes)
            raise MachineError(f"places: the axes count {counted} routers, the panels hold {self.count}")

    @property
    def count(self) -> int:
        """How many routers there are."""
        return len(self.points) * len(self.panels)

    @cached_property
    def panel(self) -> tuple[float, float, float, float]:
        """The rectangle of a panel around its routers: left and top from its corner, width and height."""
        room = min(self.apart, _HOST) / 2
        left, top = min(x for x, _ in self.points) - room, min(y for _, y in self.points) - room
        right, bottom = max(x for x, _ in self.points) + room, max(y for _, y in self.points) + room
        return left, top, right - left, bottom - top

    def at(self, router: int) -> Point:
        """Where a router lies."""
        panel, place = divmod(router, len(self.points))
        (x, y), corner = self.points[place], self.panels[panel]
        return corner.x + x, corner.y + y

    def is_across(self, source: int, destination: int) -> bool:
        """Whether two routers lie in different panels."""
        return source // len(self.points) != destination // len(self.points)

    def around(self, source: int, destination: int) -> Point | None:
        """The way, of length 1, in which a link leaves its panel to come in again at the other edge; None where it does not."""
        stride = self.count
        for axis in self.axes:
            stride //= axis.size
            here, there = source // stride % axis.size, destination // stride % axis.size
            if not axis.wraps or axis.size <= 2 or abs(there - here) != axis.size - 1:
                continue
            (x, y), (to_x, to_y) = self.at(source), self.at(source + (there - here) * stride)
            length = math.hypot(x - to_x, y - to_y)
            return ((x - to_x) / length, (y - to_y) / length) if length else None
        return None

    @classmethod
    def in_circle(cls, count: int) -> Places:
        """Routers in a circle; two side by side."""
        if count <= 2:
            return cls(tuple([(place * 2 * _IN_CIRCLE, 0.0) for place in range(count)]))
        radius = max(1.2 * _IN_CIRCLE, count * _IN_CIRCLE / (2 * math.pi))
        angles = [2 * math.pi * (place + 0.5) / count - math.pi / 2 for place in range(count)]
        return cls(tuple([(1.5 * radius * math.cos(angle), radius * math.sin(angle)) for angle in angles]))

    @classmethod
    def on_levels(cls, counts: Sequence[int], reading: str = "") -> Places:
        """Routers on levels one above the other, the first level at the bottom."""
        widest, top = max(counts) * _HOST, len(counts) - 1
        height = max(_LEVEL, widest / _WIDEST / max(1, top))
        points = [
            (widest * (place + 0.5) / count, (top - level) * height)
            for level, count in enumerate(counts)
            for place in range(count)
        ]
        return cls(tuple(points), _HOST, reading=reading)

    @classmethod
    def in_slices(cls, axes: Sequence[Axis], *, alike: bool = False) -> Places:
        """Routers on a grid: the fastest axes are a slice, the others place the slices side by side."""
        return _Slices(axes, alike).places


def places_of(topology: Any) -> Places:
    """Where the routers of a topology are drawn.

    Raises:
        MachineError: its `places()` returns something else, or places for another number of routers.
    """
    found: object = topology.places()
    owner = f"topology {topology.kind!r}"
    if not isinstance(found, Places):
        raise checks.FieldError(owner, "places()", f"expected Places, got {checks.show(found)}")
    if found.count != topology.router_count:
        raise checks.FieldError(owner, "places()", f"expected {topology.router_count} routers, got places for {found.count}")
    return found


def _pair(number: int, point: Any) -> Point:
    if type(point) is tuple and len(point) == 2 and type(point[0]) is type(point[1]) is float and math.isfinite(sum(point)):
        return point
    pair = checks.items("places", point, f"two numbers in points[{number}]", MachineError)
    if len(pair) != 2:
        raise checks.FieldError("places", f"points[{number}]", f"expected two numbers, got {checks.show(point)}")
    x, y = [checks.number("places", f"points[{number}]", each, low=-math.inf) for each in pair]
    return x, y


class _Side(NamedTuple):
    """The axes along one side of the drawing by number, the slowest first: those that place a slice, and those within it."""

    outer: tuple[int, ...]
    inner: tuple[int, ...]


class _Slices:
    """The places of routers on a grid."""

    def __init__(self, axes: Sequence[Axis], alike: bool) -> None:
        self.axes, self.sizes = tuple(axes), [axis.size for axis in axes]
        across, down = self._sides()
        outer, inner = sorted(across.outer + down.outer), sorted(across.inner + down.inner)
        steps = [(0.0, 0.0)] * len(self.sizes)
        width = self._lay(across.inner, steps, sideways=True)
        height = self._lay(down.inner, steps, sideways=False)
        points = [(CELL / 2, CELL / 2)]
        for dim in inner:
            (dx, dy), places = steps[dim], range(self.sizes[dim])
            points = [(x + dx * place, y + dy * place) for x, y in points for place in places]
        self.places = Places(
            tuple(points),
            CELL,
            self._panels(across, down, outer, width, height),
            self.axes,
            alike,
            self._reading(across, down, outer),
        )

    def _sides(self) -> tuple[_Side, _Side]:
        """The axes of both sides: from the last one on, each goes to the shorter side.

        The fastest that make a slice long enough are in it: all axes in a slice are faster than those that place it.
        """
        dims: tuple[list[int], list[int]] = [], []
        lengths = [1, 1]
        for dim in reversed(range(len(self.sizes))):
            side = 0 if lengths[0] <= lengths[1] else 1
            dims[side].insert(0, dim)
            lengths[side] *= self.sizes[dim]
        sides = []
        for each in dims:
            count, first = 1, len(each)
            while first and count < _ENOUGH:
                first -= 1
                count *= self.sizes[each[first]]
            sides.append(_Side(tuple(each[:first]), tuple(each[first:])))
        return sides[0], sides[1]

    def _lay(self, dims: Sequence[int], steps: list[Point], *, sideways: bool) -> float:
        """Sets the steps between neighbours in the axes of a slice; returns its length."""
        length = 0.0
        for place, dim in enumerate(reversed(dims)):
            alone = place == len(dims) - 1
            pitch = length + _BETWEEN_PAIRS if place else CELL if alone else _PAIR
            steps[dim] = (pitch, 0.0) if sideways else (0.0, pitch)
            length = pitch * (self.sizes[dim] - 1) + (length if place else CELL if alone else _PAIR)
        return max(CELL, length + (CELL - _PAIR if len(dims) > 1 else 0))

    def _panels(self, across: _Side, down: _Side, outer: Sequence[int], width: float, height: float) -> tuple[Panel, ...]:
        """The slices in rows and columns; where they would be one long row, it is folded."""
        columns = math.prod([self.sizes[dim] for dim in across.outer])
        rows = math.prod([self.sizes[dim] for dim in down.outer])
        ratio = columns * (width + APART) / (rows * (height + APART))
        folds = min(columns, max(1, round(math.sqrt(ratio / _WANTED)))) if ratio > _WIDEST else 1
        in_row = math.ceil(columns / folds)
        panels = []
        for values in product(*[range(self.sizes[dim]) for dim in outer]):
            place = dict(zip(outer, values, strict=True))
            column, row = self._number(across.outer, place), self._number(down.outer, place)
            x, y = column % in_row * (width + APART), (row + rows * (column // in_row)) * (height + APART)
            panels.append(Panel(x, y, " ".join(f"{self.axes[dim].name}{place[dim]}" for dim in outer)))
        return tuple(panels)

    def _number(self, dims: Sequence[int], place: dict[int, int]) -> int:
        found = 0
        for dim in dims:
            found = found * self.sizes[dim] + place[dim]
        return found

    def _reading(self, across: _Side, down: _Side, outer: Sequence[int]) -> str:
        def named(dims: Sequence[int]) -> str:
            return ", ".join(self.axes[dim].name.strip() for dim in dims)

        parts = [
            f"{named(dims)} {words}"
            for dims, words in ((across.inner, "across"), (down.inner, "down"), (outer, "from slice to slice"))
            if dims
        ]
        ring = [dim for dim, axis in enumerate(self.axes) if axis.wraps and axis.size > 2]
        around = f"{named(ring)} {'wraps' if len(ring) == 1 else 'wrap'}"
        wraps = f"{around} around: short ends at an edge go on at the other" if ring else "Nothing wraps around"
        return f"{'; '.join(parts)}. {wraps[:1].upper()}{wraps[1:]}."
