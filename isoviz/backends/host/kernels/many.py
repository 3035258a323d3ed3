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

from isoviz.backends.host.kernels.recipe import LINE, Integers, integers

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
"""Rows that are read in turn: with more, tiles are faster. Only runs of less than half a line may be in larger blocks."""
_LEAST_PLANE = 8
"""Rows and columns from which on vectors turn over elements of 1 to 8 bytes."""
_MOST_INNER = 256
"""Turns of an innermost loop of which the lines stay in a first-level cache until the next turn of the loop around it."""


class Many(NamedTuple):
    """The arguments of `isoviz.backends.host.kernels.compiled.elements.copy_many`, and from where to where the copies reach at
    both ends."""

    rows: Integers
    loops: Integers
    source: tuple[int, int]
    destination: tuple[int, int]


class _Inside(NamedTuple):
    """The loops of a copy in order, the innermost last; how often all of them turn (0: not in this way), how far the last run
    lies behind the first one in the source and in the destination, and the bytes that a turn has of the lines it touches, at the
    end where these are more."""

    loops: tuple[Loop, ...]
    turns: int
    here: int
    there: int
    apart: int


def many_of(copies: Sequence[StridedCopy], *, large: bool = False) -> tuple[Many | None, list[StridedCopy]]:
    """The recipe for the small ones of several copies, and the others. `large`: they are parts of large ones, which are in no
    cache. None where less than two are small."""
    insides = [_inside(copy.run, copy.loops) for copy in copies]
    in_cache = not large and len(copies) <= FEW and _are_in_cache(copies, insides)
    most, widest = (IN_CACHE + 1, IN_CACHE) if in_cache else (SMALL, 4 * SMALL)
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


def _are_in_cache(copies: Sequence[StridedCopy], insides: Sequence[_Inside]) -> bool:
    """Whether a few copies read and write so little, with the rest of the lines they touch, that it stays in a cache."""
    if sum([inside.turns * inside.apart for inside in insides]) <= IN_CACHE:
        return True
    if sum([copy.run * inside.turns for copy, inside in zip(copies, insides, strict=True)]) > IN_CACHE:
        return False
    # Fields of structs share their lines: no more of these are touched than there are from the first one to the last.
    here = [(copy[0], copy[0] + copy.run + inside.here) for copy, inside in zip(copies, insides, strict=True)]
    there = [(copy[1], copy[1] + copy.run + inside.there) for copy, inside in zip(copies, insides, strict=True)]
    return max(max(end for _, end in places) - min(begin for begin, _ in places) for places in (here, there)) <= IN_CACHE


@lru_cache(maxsize=256)
def runs_of(run: int, loops: tuple[Loop, ...]) -> tuple[Integers, Integers] | None:
    """The recipe, wherever it begins, for one copy, of any size, of runs in small blocks that are transposed: the lines of one
    lie in a cache until they are used up, in whichever order. None where there are no such blocks."""
    along = next((loop for loop in loops if loop[1] == run), None)
    across = next((loop for loop in loops if loop[2] == run), None)
    if run < LEAST_RUN or along is None or across is None or len(loops) > MOST_LOOPS or any(min(loop) <= 0 for loop in loops):
        return None
    if math.prod(loop[0] for loop in loops if loop[2] < along[2]) > ROWS:  # so many lines are read in turn
        return None
    if along[0] * across[0] * run > BLOCK and (run >= LINE // 2 or run == 16):
        return None
    ordered = sorted(loops, key=lambda loop: -loop[2])
    following = [loop for loop in ordered if loop[2] > along[2]][-1:]
    if following and following[0][1] > 2 * along[0] * across[0] * run:  # blocks share lines with others, which come much later
        return None
    return np.array([[0, 0, run, 0, len(ordered)]], np.int64), integers(ordered)


@lru_cache(maxsize=4096)
def _inside(run: int, loops: tuple[Loop, ...]) -> _Inside:
    """Loops as the destination counts, unless the innermost one turns a few times only."""
    along, across = (next((loop[0] for loop in loops if loop[end] == run), 0) for end in (1, 2))
    is_plane = run in (1, 2, 4, 8) and min(along, across) >= _LEAST_PLANE  # vectors turn these over
    if is_plane or len(loops) > MOST_LOOPS or any(min(loop) <= 0 for loop in loops):
        return _Inside(loops, 0, 0, 0, 0)
    ordered = sorted(loops, key=lambda loop: -loop[2]) or [(1, 0, 0)]
    if ordered[-1][0] < _LEAST_INNER:
        longest = max(range(len(ordered)), key=lambda place: ordered[place][0])
        if ordered[longest][0] <= _MOST_INNER or min(ordered[-1][1:]) >= LINE:  # else lines are gone before their next element
            ordered.append(ordered.pop(longest))
    here, there = (sum((loop[0] - 1) * loop[end] for loop in loops) for end in (1, 2))
    apart = max(run, *(min(LINE, *(loop[end] for loop in loops)) for end in (1, 2))) if loops else run
    return _Inside(tuple(ordered), math.prod(loop[0] for loop in loops), here, there, apart)
