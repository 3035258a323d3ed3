"""Distributions: how the index space of an array is spread over ranks."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NoReturn

from isoviz import checks
from isoviz.checks import expect
from isoviz.errors import DistributionError, show
from isoviz.layouts import IndexSpace
from isoviz.layouts.spaces import check_dimension
from isoviz.redistribution.regular import Axis

MOST_RANKS = 1 << 16
"""The largest number of ranks of a distribution."""


@dataclass(frozen=True)
class Distribution:
    """How an index space is spread over ranks: some dimensions are cut into blocks, which the ranks of a grid take in turn.

    `over` gives the number of parts of each dimension that is spread: `over={"y": 4}` for four ranks, `over={"x": 2, "y": 3}` for
    a grid of 2 × 3 ranks. Dimensions that are not named are not spread. The first dimension varies fastest over the ranks: in the
    grid of 2 × 3, the second rank is the neighbour of the first one in x.

    `block` gives the extent of the blocks of a dimension: 1 means a cyclic distribution, a larger number a block-cyclic one. A
    dimension without it has one block of ⌈size / parts⌉ coordinates per part. The last block may be short, and the last ranks may
    hold nothing.

    `ranks` are the ranks of the grid in its order; without it they are 0, 1, 2, …

    Raises:
        DistributionError: a number of parts or a block is not a whole number of at least 1, a block is given for a dimension that
            is not spread, a rank is named twice, or the number of ranks is not that of the grid.
        SpaceError: a name is not valid for a dimension.
    """

    over: Mapping[str, int]
    block: Mapping[str, int] = field(default_factory=dict)
    ranks: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        over = _whole_numbers("over", self.over)
        block = _whole_numbers("block", self.block)
        for dim in block:
            if dim not in over:
                _refuse(f"block: dimension {dim!r} is not spread; expected one of {', '.join(over) or 'none'}")
        size = math.prod(over.values())
        if size > MOST_RANKS:
            _refuse(f"over: a grid of {show(size)} ranks; expected at most {MOST_RANKS}")
        given = checks.items("distribution, ranks", self.ranks, "whole numbers", DistributionError)
        ranks = tuple(_whole("ranks", rank, 0) for rank in given) or tuple(range(size))
        if len(set(ranks)) != len(ranks):
            _refuse(f"ranks: rank {next(rank for rank in ranks if ranks.count(rank) > 1)} stands twice")
        if len(ranks) != size:
            _refuse(f"ranks: {len(ranks)} ranks for a grid of {_grid_text(over)} = {size}; expected {size}")
        object.__setattr__(self, "over", Numbers(over))
        object.__setattr__(self, "block", Numbers({dim: block[dim] for dim in over if dim in block}))
        object.__setattr__(self, "ranks", ranks)

    @property
    def size(self) -> int:
        """The number of ranks of the grid."""
        return len(self.ranks)

    @cached_property
    def _number_of(self) -> dict[int, int]:
        return {rank: number for number, rank in enumerate(self.ranks)}

    def coordinates(self, rank: int) -> dict[str, int] | None:
        """The place of a rank in the grid: for each dimension that is spread, the number of its part. None outside the grid."""
        number = self._number_of.get(checks.count("distribution", "rank", rank, error=DistributionError))
        if number is None:
            return None
        found: dict[str, int] = {}
        for dim, parts in self.over.items():
            number, found[dim] = divmod(number, parts)
        return found

    def rank_at(self, coordinates: Mapping[str, int]) -> int:
        """The rank at a place in the grid, given by the number of the part in each dimension that is spread.

        Raises:
            DistributionError: a dimension is missing or unknown, or there is no such part.
        """
        expect("distribution, place", coordinates, Mapping, "the part in each dimension, such as {'x': 1}")
        if set(coordinates) != set(self.over):
            _refuse(f"place ({', '.join(map(str, coordinates))}): expected a part for each of ({', '.join(self.over)})")
        number, below = 0, 1
        for dim, parts in self.over.items():
            number += checks.count("distribution, place", dim, coordinates[dim], high=parts - 1, error=DistributionError) * below
            below *= parts
        return self.ranks[number]

    def axes(self, space: IndexSpace) -> dict[str, Axis]:
        """The distribution of each dimension of an index space, in the order of the space.

        Raises:
            DistributionError: a dimension that is spread is not in the space.
        """
        expect("distribution", space, IndexSpace, "an index space")
        for dim in self.over:
            if dim not in space:
                _refuse(f"over: dimension {dim!r} is not in the index space ({space})")
        found: dict[str, Axis] = {}
        for dim, size in space.as_dict().items():
            parts = self.over.get(dim, 1)
            found[dim] = Axis(size, parts, self.block.get(dim, -(-size // parts)))
        return found

    def to_json(self) -> dict[str, Any]:
        """A JSON object with the members `over`, `block` and `ranks`."""
        return {"over": dict(self.over), "block": dict(self.block), "ranks": list(self.ranks)}

    def __str__(self) -> str:
        if not self.over:
            return f"all on rank {self.ranks[0]}"
        spread = " and ".join(f"{dim} {self._manner(dim)}" for dim in self.over)
        grid = f", a grid of {_grid_text(self.over)}" if len(self.over) > 1 else ""
        return f"{spread} over {_ranks_text(self.ranks)}{grid}"

    def _manner(self, dim: str) -> str:
        block = self.block.get(dim)
        return "in blocks" if block is None else "cyclic" if block == 1 else f"in blocks of {block}, cyclic,"


class Numbers(Mapping[str, int]):
    """A frozen mapping of numbers by dimension; its order counts."""

    __slots__ = ("_numbers",)

    def __init__(self, numbers: Mapping[str, int]) -> None:
        self._numbers = dict(numbers)

    def __getitem__(self, dim: str) -> int:
        return self._numbers[dim]

    def __iter__(self) -> Iterator[str]:
        return iter(self._numbers)

    def __len__(self) -> int:
        return len(self._numbers)

    def __hash__(self) -> int:
        return hash(tuple(self._numbers.items()))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Mapping) and list(self.items()) == list(other.items())

    def __reduce__(self) -> tuple[type[Numbers], tuple[dict[str, int]]]:
        return type(self), (dict(self._numbers),)

    def __repr__(self) -> str:
        return repr(self._numbers)


def _refuse(problem: str) -> NoReturn:
    raise DistributionError(f"distribution, {problem}")


def _whole_numbers(name: str, given: object) -> dict[str, int]:
    if not isinstance(given, Mapping):
        _refuse(f"{name}: expected numbers by dimension, such as {{'y': 4}}, got {show(given)}")
    return {check_dimension(dim): _whole(f"{name}[{dim!r}]", value, 1) for dim, value in given.items()}


def _whole(name: str, value: object, low: int) -> int:
    return checks.count("distribution", name, value, low=low, error=DistributionError)


def _grid_text(over: Mapping[str, int]) -> str:
    return " × ".join(f"{dim}={parts}" for dim, parts in over.items()) or "one rank"


def _ranks_text(ranks: tuple[int, ...]) -> str:
    if len(ranks) == 1:
        return f"rank {ranks[0]}"
    if ranks == tuple(range(ranks[0], ranks[0] + len(ranks))):
        return f"ranks {ranks[0]}…{ranks[-1]}"
    shown = [str(rank) for rank in ranks[:12]]
    return f"ranks {', '.join(shown)}{', …' if len(ranks) > 12 else ''}"
