"""A box of points cut into blocks, one for each node."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from isoviz.errors import InputError

Slices = tuple[slice, ...]


def grid(nodes: int, dimensions: int) -> tuple[int, ...]:
    """So many nodes as a grid whose sides are as equal as their number allows, the longest first."""
    sides = [1] * dimensions
    factor, rest, factors = 2, nodes, list[int]()
    while rest > 1:
        if rest % factor:
            factor += 1
        else:
            factors.append(factor)
            rest //= factor
    for factor in reversed(factors):
        sides[sides.index(min(sides))] *= factor
    return tuple(sorted(sides, reverse=True))


@dataclass(frozen=True)
class Block:
    """The block of a node: its points in the whole (`box`), and its neighbours `below` and `above` it along each axis."""

    box: Slices
    below: tuple[int | None, ...]
    above: tuple[int | None, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """How many points it has along each axis."""
        return tuple(each.stop - each.start for each in self.box)


def block(call: str, points: tuple[int, ...], sides: tuple[int, ...], rank: int) -> Block:
    """The block of a node in a grid of nodes. Blocks of a row differ by a point at most.

    Raises:
        InputError: a side has more nodes than points.
    """
    if any(size < side for size, side in zip(points, sides, strict=True)):
        raise InputError(f"{call}: {_by(sides)} nodes for {_by(points)} points; expected a point for each node along every axis")
    place = [int(each) for each in np.unravel_index(rank, sides)]

    def beside(axis: int, step: int) -> int | None:
        there = [*place]
        there[axis] += step
        return int(np.ravel_multi_index(there, sides)) if 0 <= there[axis] < sides[axis] else None

    axes = range(len(sides))
    return Block(
        tuple(slice(at * size // side, (at + 1) * size // side) for at, size, side in zip(place, points, sides, strict=True)),
        tuple(beside(axis, -1) for axis in axes),
        tuple(beside(axis, 1) for axis in axes),
    )


def _by(numbers: tuple[int, ...]) -> str:
    return " × ".join(map(str, numbers))
