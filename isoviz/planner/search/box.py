"""Boxes: subsets of all possible decisions, small enough that one bound says much about each of them.

A box fixes which hop converts (`ConvertingHop`). It leaves a range for three numbers: the chunk in bytes, the run of the first
hop in bytes where a hop between two buffers converts, and the seconds that the slowest hop takes in the steady state.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING

from isoviz.planner.intermediate.layout_families import F
from isoviz.planner.search.tuning import EDGE

if TYPE_CHECKING:
    from isoviz.planner.problem import Problem


class ConvertingHop(Enum):
    """The place of the hop that converts."""

    NONE = "none"
    FIRST = "first"
    LAST = "last"
    MIDDLE = "middle"


@dataclass(frozen=True, slots=True)
class Box:
    """Ranges of the decisions.

    `chunk_low` ≤ chunk ≤ `chunk_high`, in bytes. `run_low` ≤ run of the first hop ≤ `run_high`, in bytes; it counts only where a
    hop between two buffers converts. `slowest_low` ≤ seconds of all bytes in the slowest hop ≤ `slowest_high`.

    Its paths do not pass the memories `not_before` before they convert, nor `not_after` afterwards. With `converting_loop` they
    convert by a self-loop of that memory. `bound` is a lower bound on T of everything in the box.
    """

    kind: ConvertingHop
    chunk_low: float
    chunk_high: float
    run_low: float = 0.0
    run_high: float = math.inf
    slowest_low: float = 0.0
    slowest_high: float = math.inf
    not_before: frozenset[int] = frozenset()
    not_after: frozenset[int] = frozenset()
    converting_loop: int | None = None
    bound: float = 0.0

    def split_by_chunk(self) -> tuple[Box, Box]:
        """The halves with smaller and with larger chunks."""
        at = math.sqrt(self.chunk_low * self.chunk_high)
        return replace(self, chunk_high=at), replace(self, chunk_low=at)

    def split_by_run(self, at: float) -> tuple[Box, Box]:
        """The parts with a shorter and with a longer run of the first hop."""
        return replace(self, run_high=at), replace(self, run_low=at)

    def split_by_slowest(self, faster: float, slower: float) -> tuple[Box, Box]:
        """The parts whose slowest hop takes at most `faster`, and at least `slower` seconds."""
        return replace(self, slowest_high=faster), replace(self, slowest_low=slower)

    def split_at_memory(self, memory: int) -> tuple[Box, ...]:
        """The parts whose paths pass a memory only before they convert, only afterwards, or convert by its self-loop."""
        before, after = replace(self, not_after=self.not_after | {memory}), replace(self, not_before=self.not_before | {memory})
        return (before, after) if self.converting_loop is not None else (before, after, replace(self, converting_loop=memory))


class Reach:
    """The longest runs at both ends whose blocks fit a chunk, by the families of layouts (`intermediate.intermediate_layouts`).

    A longer run at one end needs larger blocks, which leaves less for the other end. Blocks are whole numbers of entries, and a
    chunk is a whole number of blocks.
    """

    def __init__(self, problem: Problem) -> None:
        self._ends, self._nbytes = problem.ends, problem.nbytes
        families = problem.ends.families if problem.ends.regular else ()
        self._shapes = [(each, each.entries * (problem.entry if F in each.complete else problem.mean)) for each in families]
        self.shortest = min([min(each.first, each.longest_first_run) for each in families], default=1.0)
        """The shortest run of a first hop in any family."""
        self._known: dict[tuple[float, float, float, float], tuple[float, float] | None] = {}

    def runs(self, box: Box) -> tuple[float, float] | None:
        """The longest runs of the first and the last hop for the blocks in a box, in bytes; None where no block is in it."""
        key = box.chunk_low, box.chunk_high, box.run_low, box.run_high
        if key not in self._known:
            self._known[key] = self._runs(
                box.chunk_low * (1 - EDGE), box.chunk_high * (1 + EDGE), box.run_low * (1 - EDGE), box.run_high
            )
        return self._known[key]

    def _runs(self, low: float, high: float, least: float, most: float) -> tuple[float, float] | None:
        if not self._shapes:
            return most, math.inf
        first = last = 0.0
        for family, block in self._shapes:
            if block > high or min(family.first, family.longest_first_run) > most or family.longest_first_run < least:
                continue
            smallest = largest = 1
            if family.cut_a is not None:
                smallest = self._size(family.cut_a, least / family.first, up=True)
                free = high / block if family.longest_first_run <= most else min(high / block, most / family.first)
                largest = self._size(family.cut_a, free, up=False)
            elif family.first < least:
                continue
            if smallest > largest or (smallest == largest and not self._holds(block * smallest, low, high)):
                continue
            first = max(first, min(family.first * largest, family.longest_first_run, most))
            other = largest if family.cut_a == family.cut_b else 1
            if family.cut_b is not None and family.cut_a != family.cut_b:
                other = self._size(family.cut_b, high / (block * smallest), up=False)
            last = max(last, min(family.last * other, family.longest_last_run))
        return (first, last) if last > 0 else None

    def _size(self, digit: int, bound: float, *, up: bool) -> int:
        """The size of a cut next to a bound: the first size of at least `bound` (`up`), or the last size of at most `bound`."""
        sizes = self._ends.sizes(digit)
        if up:
            at = bisect_left(sizes, bound * (1 - EDGE))
            return sizes[at] if at < len(sizes) else sizes[-1] + 1
        return sizes[max(0, bisect_right(sizes, bound * (1 + EDGE)) - 1)]

    def _holds(self, block: float, low: float, high: float) -> bool:
        """Whether some number of blocks makes a chunk of `low` to `high` bytes."""
        return high >= self._nbytes or math.floor(high / block) * block >= low
