"""Many small copies in one call: the fields of small structs, blocks that do not nest.

A copy of its own costs 5 to 200 µs of finding out which kernel suits it, of tables and of calls, for some KiB that take one. Here
a row of a table says what each of them is, and a compiled loop goes from row to row: what is small lies in a cache, and there it
makes no difference in which order it is moved.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from isoviz.backends.kernels.recipe import LINE, Integers, integers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoviz.layouts import StridedCopy
    from isoviz.layouts.geometry import Loop

SMALL = 64 << 10
"""Bytes of a copy below which it is done sooner in this way, if there are others."""
IN_CACHE = 2 << 20
"""Bytes of some copies together up to which all of them are: what they read and write lies in a cache."""
FEW = 64
"""Copies that are asked how many bytes they are together."""
MOST_LOOPS = 16
"""Loops of a copy at most."""
_LEAST_INNER = 8
"""Turns that an innermost loop has at least, if there is one that has them."""
LEAST_RUN = 9
"""Bytes of runs that vectors do not turn over, ..."""
BLOCK = 2 << 10
"""... and of blocks of such runs that are turned over as they lie."""
ROWS = 16
"""Rows that are read in turn for the sake of runs of less than half a line, in larger blocks: with more, tiles are faster."""


class Many(NamedTuple):
    """The arguments of `isoviz.backends.kernels.elements.copy_many`, and from where to where the copies reach at both ends."""

    rows: Integers
    loops: Integers
    source: tuple[int, int]
    destination: tuple[int, int]


class _Inside(NamedTuple):
    """The loops of a copy in order, the innermost last; how often all of them turn, and how far the last run lies behind the
    first one in the source and in the destination."""

    loops: tuple[Loop, ...]
    turns: int
    here: int
    there: int


def many_of(copies: Sequence[StridedCopy], *, large: bool = False) -> tuple[Many | None, list[StridedCopy]]:
    """The recipe for the small ones of several copies, and the others. `large`: they are parts of large ones, which are in no
    cache.

    None where less than two are small, or one of them has no turns, or too many loops.
    """
    few = not large and len(copies) <= FEW and sum([copy.run * _inside(copy.loops).turns for copy in copies]) <= IN_CACHE
    most = IN_CACHE + 1 if few else SMALL
    first: dict[tuple[Loop, ...], tuple[int, int, int, int, int]] = {}
    table: list[Loop] = []
    rows, others = [], []
    low = below = 1 << 62
    high = above = 0
    for copy in copies:
        at, to, run, loops = copy
        known = first.get(loops)
        if known is None:
            ordered, turns, here, there = _inside(loops)
            if not turns:
                return None, list(copies)
            known = first[loops] = len(table), len(ordered), turns, here, there
            table += ordered
        place, count, turns, here, there = known
        if run * turns >= most:
            others.append(copy)
            continue
        rows.append((at, to, run, place, count))
        # Thousands of copies are looked at one by one here: comparing is quicker than calling `min`.
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


def runs_of(run: int, loops: tuple[Loop, ...]) -> tuple[Integers, Integers] | None:
    """The recipe, wherever it begins, for one copy, of any size, of runs in small blocks that are transposed: the lines of one
    lie in a cache until they are used up, in whichever order. None where there are no such blocks."""
    along = next((loop[0] for loop in loops if loop[1] == run), 0)
    across = next((loop[0] for loop in loops if loop[2] == run), 0)
    if run < LEAST_RUN or not along * across or any(min(loop) <= 0 for loop in loops):
        return None
    if along * across * run > BLOCK and (run >= LINE // 2 or run == 16 or across > ROWS):
        return None
    ordered = sorted(loops, key=lambda loop: -loop[2])
    return np.array([[0, 0, run, 0, len(ordered)]], np.int64), integers(ordered)


@lru_cache(maxsize=4096)
def _inside(loops: tuple[Loop, ...]) -> _Inside:
    """Loops as the destination counts, unless the innermost one turns a few times only; without turns where they are none of a
    copy that this is for."""
    if len(loops) > MOST_LOOPS or any(min(loop) <= 0 for loop in loops):
        return _Inside(loops, 0, 0, 0)
    ordered = sorted(loops, key=lambda loop: -loop[2]) or [(1, 0, 0)]
    if ordered[-1][0] < _LEAST_INNER:
        ordered.append(ordered.pop(max(range(len(ordered)), key=lambda place: ordered[place][0])))
    here, there = (sum((loop[0] - 1) * loop[end] for loop in loops) for end in (1, 2))
    return _Inside(tuple(ordered), math.prod(loop[0] for loop in loops), here, there)
