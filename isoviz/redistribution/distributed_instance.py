"""Distributed instances: an array whose parts lie in memories of several ranks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from isoviz import checks
from isoviz.checks import expect
from isoviz.errors import DistributionError, LayoutError, MachineError
from isoviz.layouts import FieldSpace, IndexSpace, Layout
from isoviz.planner import Instance
from isoviz.planner.intermediate.part_layouts import fitted
from isoviz.redistribution.distribution import Distribution

if TYPE_CHECKING:
    from isoviz.redistribution.regular import Axis

IntArray = np.ndarray[Any, np.dtype[np.int64]]


@dataclass(frozen=True)
class DistributedInstance:
    """An array spread over ranks: index space, field space, distribution, the layout of every rank's part, and the memory.

    `layout` is the order in which each rank stores its part; it may be given as text. A part that is smaller than a block of the
    layout is stored without this block. `memory` is the short name of a memory that every rank has: `sys`, `reg` or `dsk` for
    `node0.sys`, `node1.sys`, …

    Raises:
        DistributionError: a dimension that is spread is not in the index space, or the memory's name names a rank.
        NotationError, LayoutError: the layout is invalid, or does not fit the index space.
    """

    space: IndexSpace
    fields: FieldSpace
    distribution: Distribution
    layout: Layout
    memory: str = "sys"

    def __post_init__(self) -> None:
        expect("distributed instance", self.space, IndexSpace, "an index space")
        expect("distributed instance", self.fields, FieldSpace, "a field space")
        expect("distributed instance", self.distribution, Distribution, "a distribution")
        try:
            checks.text("distributed instance", "memory", self.memory, spaces=False)
        except MachineError as error:
            raise DistributionError(str(error)) from None
        if "." in self.memory:
            raise DistributionError(
                f"distributed instance, memory: expected the name of a memory without rank, such as 'sys', got {self.memory!r}"
            )
        object.__setattr__(self, "layout", Layout(self.layout))
        self.axes  # noqa: B018  raises where the distribution does not fit
        if set(self.layout.dims) != set(self.space.dims):
            given, expected = ", ".join(self.layout.dims), ", ".join(self.space)
            raise LayoutError(f"layout {self.layout}: has dimensions ({given}), the index space ({expected})")

    @cached_property
    def axes(self) -> Mapping[str, Axis]:
        """The distribution of each dimension, in the order of the index space."""
        return self.distribution.axes(self.space)

    @property
    def ranks(self) -> tuple[int, ...]:
        """The ranks of the process grid, in its order."""
        return self.distribution.ranks

    @property
    def nbytes(self) -> int:
        """Bytes of the whole array, without padding."""
        return self.space.volume * self.fields.nbytes

    @cached_property
    def _parts(self) -> dict[int, Instance | None]:
        """Cache of `part`."""
        return {}

    def part(self, rank: int) -> Instance | None:
        """The part that a rank holds, as an instance with local coordinates; None if it holds nothing.

        A rank outside the process grid holds nothing.
        """
        rank = checks.count("distributed instance", "rank", rank, error=DistributionError)
        if rank not in self._parts:
            self._parts[rank] = self._part(rank)
        return self._parts[rank]

    def _part(self, rank: int) -> Instance | None:
        place = self.distribution.coordinates(rank)
        if place is None:
            return None
        sizes = {dim: axis.count(place.get(dim, 0)) for dim, axis in self.axes.items()}
        if not all(sizes.values()):
            return None
        space = IndexSpace.of(sizes)
        layout = fitted(self.layout, space, self.fields).layout if self.layout.is_blocked else self.layout
        return Instance(f"node{rank}.{self.memory}", space, self.fields, layout)

    def owner(self, index: Mapping[str, int]) -> tuple[int, dict[str, int]]:
        """The rank that holds a point, and the local coordinates of the point there.

        Raises:
            DistributionError: the point is not in the index space.
        """
        index = _point(index)
        if set(index) != set(self.space.dims) or not all(0 <= index[dim] < self.space[dim] for dim in self.space):
            raise DistributionError(f"point {index}: not in the index space ({self.space})")
        place = {dim: self.axes[dim].owner(index[dim]) for dim in self.distribution.over}
        return self.distribution.rank_at(place), {dim: axis.local(index[dim]) for dim, axis in self.axes.items()}

    def index(self, rank: int, local: Mapping[str, int]) -> dict[str, int]:
        """The point of the index space at local coordinates of a rank: the inverse of `owner`.

        Raises:
            DistributionError: the rank does not hold such a point.
        """
        part, local = self.part(rank), _point(local)
        if part is None or set(local) != set(part.space.dims) or not all(0 <= local[dim] < part.space[dim] for dim in part.space):
            holds = "nothing" if part is None else str(part.space)
            raise DistributionError(f"local point {local}: rank {rank} holds {holds}")
        place = self.distribution.coordinates(rank) or {}
        return {dim: axis.index(place.get(dim, 0), local[dim]) for dim, axis in self.axes.items()}

    def coordinates(self, rank: int) -> dict[str, IntArray]:
        """For each dimension, the coordinates of the index space that a rank holds, in ascending order; empty if it holds no
        part."""
        place = self.distribution.coordinates(rank)
        found: dict[str, IntArray] = {}
        for dim, axis in self.axes.items():
            count = 0 if place is None else axis.count(place.get(dim, 0))
            local = np.arange(count, dtype=np.int64)
            part = 0 if place is None else place.get(dim, 0)
            found[dim] = (local // axis.block * axis.parts + part) * axis.block + local % axis.block
        return found

    def to_json(self) -> dict[str, Any]:
        """A JSON object; `isoviz.redistribution.files` reads it."""
        return {
            "space": self.space.as_dict(),
            "fields": self.fields.as_dict(),
            "distribution": self.distribution.to_json(),
            "layout": str(self.layout),
            "memory": self.memory,
        }

    def __str__(self) -> str:
        return f"{self.memory} {self.layout}, {self.distribution}"


def _point(given: object) -> dict[str, int]:
    """A point, given by its coordinates by dimension."""
    expect("point", given, Mapping, "a coordinate for each dimension, such as {'x': 3}")
    points: Mapping[str, object] = given  # type: ignore[assignment]
    return {dim: checks.count("point", str(dim), at, error=DistributionError) for dim, at in points.items()}
