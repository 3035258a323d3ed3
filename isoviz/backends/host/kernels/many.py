"""Many small copies in one call: fields of small structs, blocks that do not nest.

A copy of a few KiB takes a microsecond, and its own call 5 to 200 µs: choosing the kernel, building its tables, calling it. Here
each copy is a row of one table, and a compiled loop goes through the rows. Small copies stay in a cache, where the order of the
moves makes no difference.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from isoviz.backends.host.kernels import choices as constants
from isoviz.backends.host.kernels.recipe import LINE, Integers, integers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoviz.layouts import StridedCopy
    from isoviz.layouts.copies import Loop

MOST_LOOPS = 16
"""Loops of a copy at most. This number is compiled in."""


class Many(NamedTuple):
    """The arguments of `isoviz.backends.host.kernels.compiled.elements.copy_many`, and the range of offsets at both ends."""

    rows: Integers
    loops: Integers
    source: tuple[int, int]
    destination: tuple[int, int]


class _Inside(NamedTuple):
    """The loops of a copy in order, innermost last, and its extent.

    `turns` is the number of runs (0: this way does not fit). `here` and `there` are the distances from the first run to the last
    in the source and in the destination. `apart` is the bytes of lines that one run touches, at the end where they are more.
    """

    loops: tuple[Loop, ...]
    turns: int
    here: int
    there: int
    apart: int


def many_of(copies: Sequence[StridedCopy], *, large: bool = False) -> tuple[Many | None, list[StridedCopy]]:
    """The recipe for the small ones among several copies, and the other copies.

    `large` says that the copies are parts of large ones, which no cache holds. The recipe is None where fewer than two are small.
    """
    insides = [_inside(copy.run, copy.loops) for copy in copies]
    in_cache = not large and len(copies) <= constants.FEW_COPIES and _are_in_cache(copies, insides)
    most, widest = (
        (constants.CACHED_COPIES + 1, constants.CACHED_COPIES) if in_cache else (constants.SMALL_COPY, 4 * constants.SMALL_COPY)
    )
    first: dict[int, int] = {}
    table: list[Loop] = []
    rows, others = [], []
    low = below = 1 << 62
    high = above = 0
    for copy, inside in zip(copies, insides, strict=True):
        at, to, run, _ = copy
        loops, turns, here, there, apart = inside
        if not turns or run * turns >= most or apart * turns > widest or run <= 0:
            others.append(copy)
            continue
        place = first.get(id(inside))
        if place is None:
            place = first[id(inside)] = len(table)
            table += loops
        rows.append((at, to, run, place, len(loops)))
        # This loop sees thousands of copies, and comparing is quicker than calling `min`.
        if at < low:
            low = at
        if at + run + here > high:
            high = at + run + here
        if to < below:
            below = to
        if to + run + there > above:
            above = to + run + there
    if len(rows) < 2:
        return None, list(copies)
    rows.sort()
    return Many(np.array(rows, np.int64), np.array(table, np.int64), (low, high), (below, above)), others


def _are_in_cache(copies: Sequence[StridedCopy], insides: Sequence[_Inside]) -> bool:
    """Whether all lines that a few copies touch stay in a cache."""
    if sum([inside.turns * inside.apart for inside in insides]) <= constants.CACHED_COPIES:
        return True
    if sum([copy.run * inside.turns for copy, inside in zip(copies, insides, strict=True)]) > constants.CACHED_COPIES:
        return False
    # Fields of structs share lines: the lines from the first field to the last bound the lines touched.
    here = [(copy[0], copy[0] + copy.run + inside.here) for copy, inside in zip(copies, insides, strict=True)]
    there = [(copy[1], copy[1] + copy.run + inside.there) for copy, inside in zip(copies, insides, strict=True)]
    return (
        max(max(end for _, end in places) - min(begin for begin, _ in places) for places in (here, there))
        <= constants.CACHED_COPIES
    )


def order_of(run: int, loops: tuple[Loop, ...]) -> tuple[Loop, ...] | None:
    """The loops of a copy that stays in a cache, innermost last; None if another kernel is faster."""
    inside = _inside(run, loops)
    return inside.loops if inside.turns and run > 0 else None


@lru_cache(maxsize=256)
def runs_of(run: int, loops: tuple[Loop, ...]) -> tuple[Integers, Integers] | None:
    """The recipe for a transpose of small blocks, at any offset and of any size; None where the copy is of another kind.

    The lines of a block stay in a cache until they are used, in any order.
    """
    along = next((loop for loop in loops if loop[1] == run), None)
    across = next((loop for loop in loops if loop[2] == run), None)
    if (
        run < constants.LEAST_BLOCK_RUN
        or along is None
        or across is None
        or len(loops) > MOST_LOOPS
        or any(min(loop) <= 0 for loop in loops)
    ):
        return None
    if math.prod(loop[0] for loop in loops if loop[2] < along[2]) > constants.ROWS_IN_TURN:
        return None
    if along[0] * across[0] * run > constants.SMALL_BLOCK and (run >= LINE // 2 or run == 16):
        return None
    ordered = sorted(loops, key=lambda loop: -loop[2])
    following = [loop for loop in ordered if loop[2] > along[2]][-1:]
    if following and following[0][1] > 2 * along[0] * across[0] * run:  # A block shares lines with blocks that come much later.
        return None
    return np.array([[0, 0, run, 0, len(ordered)]], np.int64), integers(ordered)


@lru_cache(maxsize=4096)
def _inside(run: int, loops: tuple[Loop, ...]) -> _Inside:
    """The loops in the order of the destination, unless its innermost loop turns only a few times."""
    along, across = (next((loop[0] for loop in loops if loop[end] == run), 0) for end in (1, 2))
    is_plane = run in (1, 2, 4, 8) and min(along, across) >= constants.LEAST_VECTOR_PLANE  # Vectors transpose these.
    if is_plane or len(loops) > MOST_LOOPS or any(min(loop) <= 0 for loop in loops):
        return _Inside(loops, 0, 0, 0, 0)
    ordered = sorted(loops, key=lambda loop: -loop[2]) or [(1, 0, 0)]
    if ordered[-1][0] < constants.LEAST_INNER:
        longest = max(range(len(ordered)), key=lambda place: ordered[place][0])
        if (
            ordered[longest][0] <= constants.MOST_INNER or min(ordered[-1][1:]) >= LINE
        ):  # Otherwise lines are evicted before their next element.
            ordered.append(ordered.pop(longest))
    here, there = (sum((loop[0] - 1) * loop[end] for loop in loops) for end in (1, 2))
    apart = max(run, *(min(LINE, *(loop[end] for loop in loops)) for end in (1, 2))) if loops else run
    return _Inside(tuple(ordered), math.prod(loop[0] for loop in loops), here, there, apart)
