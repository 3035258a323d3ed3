"""Tori and meshes of any number of dimensions."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from isoviz import checks
from isoviz.errors import MachineError
from isoviz.machines.networks.places import Axis, Places
from isoviz.machines.networks.topology import MOST_ROUTERS, Link, Topology, register_topology
from isoviz.schema import member

MOST_DIMENSIONS = 26
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


@dataclass(frozen=True)
class Grid(Topology):
    """Routers on a grid, joined to their neighbours in every dimension.

    Dimensions are called A, B, C, … A router is named by its coordinates, `"0.3.1"`, and numbered in row-major order: the last
    dimension varies fastest. The link of router 0.3.1 to the neighbour with the next larger B is `"0.3.1+B"`, the one to the next
    smaller B is `"0.3.1-B"`.
    """

    sizes: tuple[int, ...]

    def __post_init__(self) -> None:
        owner = f"topology {self.kind!r}"
        object.__setattr__(self, "sizes", _numbers(owner, "sizes", self.sizes))
        if not 1 <= len(self.sizes) <= MOST_DIMENSIONS:
            raise checks.FieldError(owner, "sizes", f"expected 1 to {MOST_DIMENSIONS} sizes, got {len(self.sizes)}")
        if math.prod(self.sizes) > MOST_ROUTERS:
            raise checks.FieldError(owner, "sizes", f"expected at most {MOST_ROUTERS:,} routers, got {math.prod(self.sizes):,}")

    @abstractmethod
    def wraps(self, dimension: int) -> bool:
        """Whether the last router of a dimension is joined to the first one."""

    @property
    def dimensions(self) -> str:
        """The letters of the dimensions."""
        return _LETTERS[: len(self.sizes)]

    @cached_property
    def _steps(self) -> tuple[int, ...]:
        """By dimension: the difference of the numbers of two neighbours."""
        return tuple([math.prod(self.sizes[k + 1 :]) for k in range(len(self.sizes))])

    @cached_property
    def _wrapping(self) -> tuple[bool, ...]:
        return tuple([self.wraps(dimension) for dimension in range(len(self.sizes))])

    @cached_property
    def router_count(self) -> int:
        """The number of routers."""
        return math.prod(self.sizes)

    def coordinates(self, router: int) -> tuple[int, ...]:
        """The coordinates of a router.

        Raises:
            MachineError: there is no router of this number.
        """
        router = self.checked(router)
        return tuple([router // step % size for step, size in zip(self._steps, self.sizes, strict=True)])

    def at(self, coordinates: tuple[int, ...]) -> int:
        """The number of the router at some coordinates.

        Raises:
            MachineError: they are not coordinates of a router.
        """
        owner = f"topology {self.kind!r}"
        coordinates = checks.items(owner, coordinates, f"{len(self.sizes)} coordinates", MachineError)
        if len(coordinates) != len(self.sizes):
            raise MachineError(f"{owner}: expected {len(self.sizes)} coordinates, got {len(coordinates)}")
        for letter, place, size in zip(self.dimensions, coordinates, self.sizes, strict=True):
            checks.whole(owner, f"coordinate {letter}", place, high=size - 1)
        return sum([step * place for step, place in zip(self._steps, coordinates, strict=True)])

    def router_name(self, router: int) -> str:
        """The name of a router: its coordinates, `"0.3.1"`."""
        return ".".join(map(str, self.coordinates(router)))

    def router(self, name: str) -> int:
        """See `Topology.router`."""
        asked: object = name
        parts = asked.split(".") if isinstance(asked, str) else []
        if len(parts) == len(self.sizes) and all(part.isascii() and part.isdecimal() for part in parts):
            place = tuple([int(part) for part in parts if len(part) < 10])
            if len(place) == len(parts) and all(here < size for here, size in zip(place, self.sizes, strict=True)):
                return self.at(place)
        last = ".".join(str(size - 1) for size in self.sizes)
        first = ".".join("0" * len(self.sizes))
        raise MachineError(f"{self.kind}: no router {checks.show(name)}; expected coordinates from {first!r} to {last!r}")

    def step(self, router: int, dimension: int, direction: int) -> Link | None:
        """The link from a router to its neighbour in a dimension; `direction` is 1 or -1. None at the edge of a mesh.

        In a torus of size 2, the two links of a dimension lead to the same router.

        Raises:
            MachineError: there is no such router, dimension or direction.
        """
        if not checks.whole(f"topology {self.kind!r}", "direction", direction, low=-1, high=1):
            raise checks.FieldError(f"topology {self.kind!r}", "direction", "expected 1 or -1, got 0")
        return step_from(self, self.checked(router), self._dimension(dimension), direction)

    def _dimension(self, dimension: object) -> int:
        return checks.whole(f"topology {self.kind!r}", "dimension", dimension, high=len(self.sizes) - 1)

    def _step(self, router: int, name: str, dimension: int, direction: int) -> Link | None:
        size, step = self.sizes[dimension], self._steps[dimension]
        here = router // step % size
        there = here + direction
        if not 0 <= there < size:
            if not self._wrapping[dimension]:
                return None
            there %= size
        if there == here:
            return None
        sign = "+" if direction > 0 else "-"
        return Link(f"{name}{sign}{_LETTERS[dimension]}", router, router + (there - here) * step)

    def links_from(self, router: int) -> tuple[Link, ...]:
        """The links of a router: +A, -A, +B, -B, …

        Raises:
            MachineError: there is no router of this number.
        """
        name = self.router_name(router)
        found = [self._step(router, name, dimension, way) for dimension in range(len(self.sizes)) for way in (1, -1)]
        return tuple([link for link in found if link is not None])

    def distance(self, source: int, destination: int, dimension: int) -> int:
        """The links that a message takes in a dimension: positive in direction +, negative in direction -.

        It is the shorter way. Half-way round a ring both ways are equally long; then routers with an even coordinate send in
        direction +, the others in direction -, so that both directions are used.

        Raises:
            MachineError: there is no such router or dimension.
        """
        return distance_between(self, self.checked(source), self.checked(destination), self._dimension(dimension))

    def places(self) -> Places:
        """Two or more dimensions are a slice; the others place the slices side by side."""
        return Places.in_slices(
            [Axis(*each) for each in zip(self.dimensions, self.sizes, self._wrapping, strict=True)], alike=True
        )

    def __str__(self) -> str:
        return f"{self.kind} {'×'.join(map(str, self.sizes))}"


def step_from(grid: Grid, router: int, dimension: int, direction: int) -> Link | None:
    """`Grid.step` for numbers that are known to be right."""
    return grid._step(router, grid.router_name(router), dimension, direction)  # noqa: SLF001  # this module's


def distance_between(grid: Grid, source: int, destination: int, dimension: int) -> int:
    """`Grid.distance` for numbers that are known to be right."""
    step, size = grid._steps[dimension], grid.sizes[dimension]  # noqa: SLF001  # this module's
    here = source // step % size
    ahead = destination // step % size - here
    if not grid._wrapping[dimension]:  # noqa: SLF001  # this module's
        return ahead
    ahead %= size
    if 2 * ahead == size:
        return ahead if here % 2 == 0 else -ahead
    return ahead if 2 * ahead < size else ahead - size


@register_topology
@dataclass(frozen=True)
class Torus(Grid):
    """A torus: the ends of a dimension are joined, except in dimensions named in `open`, which are those of a mesh.

    `Torus((4, 4, 4, 4, 2))` is half a rack of Blue Gene/Q. `open="AB"` has no wrap-around links in A and B.

    Raises:
        MachineError: a size is not a whole number ≥ 1, there are too many routers, or `open` names no dimensions.
    """

    kind: ClassVar[str] = "torus"
    default_routing: ClassVar[str] = "dimension order"
    open: str = member("", brief=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        named = checks.text("topology 'torus'", "open", self.open, empty=True)
        if not set(named) <= set(self.dimensions) or len(set(named)) < len(named):
            raise checks.FieldError("topology 'torus'", "open", f"expected some of {self.dimensions}, got {checks.show(named)}")
        object.__setattr__(self, "open", "".join(sorted(named)))

    def wraps(self, dimension: int) -> bool:
        """Whether the last router of a dimension is joined to the first one."""
        return _LETTERS[self._dimension(dimension)] not in self.open


@register_topology
@dataclass(frozen=True)
class Mesh(Grid):
    """A mesh: a grid without wrap-around links. `Mesh((4, 8))`.

    Raises:
        MachineError: a size is not a whole number ≥ 1, or there are too many routers.
    """

    kind: ClassVar[str] = "mesh"
    default_routing: ClassVar[str] = "dimension order"

    def wraps(self, dimension: int) -> bool:
        """Whether the last router of a dimension is joined to the first one: in no dimension."""
        self._dimension(dimension)
        return False


def _numbers(owner: str, field: str, given: object) -> tuple[int, ...]:
    """Whole numbers ≥ 1."""
    if isinstance(given, str | bytes) or not isinstance(given, list | tuple):
        raise checks.FieldError(owner, field, f"expected whole numbers, got {checks.show(given)}")
    return tuple([checks.whole(owner, f"{field}[{k}]", each, low=1, high=MOST_ROUTERS) for k, each in enumerate(given)])
