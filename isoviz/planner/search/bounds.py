"""Lower bounds of many boxes at once, from shortest walks from every memory to the destination.

1. T is set-up + Σ t + (N − 1) × max t.
2. In a box every hop has a least time per chunk, and a least time per byte in the steady state. Hops that take longer than the
   box allows are excluded.
3. The rest of T is a sum over hops. So its minimum over all walks is a shortest walk: rounds of Bellman and Ford, on all boxes
   side by side.
4. A walk may pass a memory twice, a path may not. So the minimum over walks is a lower bound for paths.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from isoviz.planner.intermediate.layout_families import F
from isoviz.planner.search.links import links_of
from isoviz.planner.search.tuning import EDGE, ROUND_DOWN

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from isoviz.planner.problem import Problem
    from isoviz.planner.search.links import Numbers
    from isoviz.planner.time.path_time import Floats


# Boxes: subsets of all possible decisions, small enough that one bound says much about each of them.
#
# A box fixes which hop converts (`ConvertingHop`). It leaves a range for three numbers: the chunk in bytes, the run of
# the first hop in bytes where a hop between two buffers converts, and the seconds that the slowest hop takes in the
# steady state.


class ConvertingHop(Enum):
    """The place of the hop that converts."""

    NONE = "none"
    FIRST = "first"
    LAST = "last"
    MIDDLE = "middle"


@dataclass(frozen=True, slots=True)
class SearchBox:
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

    def split_by_chunk(self) -> tuple[SearchBox, SearchBox]:
        """The halves with smaller and with larger chunks."""
        at = math.sqrt(self.chunk_low * self.chunk_high)
        return replace(self, chunk_high=at), replace(self, chunk_low=at)

    def split_by_run(self, at: float) -> tuple[SearchBox, SearchBox]:
        """The parts with a shorter and with a longer run of the first hop."""
        return replace(self, run_high=at), replace(self, run_low=at)

    def split_by_slowest(self, faster: float, slower: float) -> tuple[SearchBox, SearchBox]:
        """The parts whose slowest hop takes at most `faster`, and at least `slower` seconds."""
        return replace(self, slowest_high=faster), replace(self, slowest_low=slower)

    def split_at_memory(self, memory: int) -> tuple[SearchBox, ...]:
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

    def runs(self, box: SearchBox) -> tuple[float, float] | None:
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


class SearchSpace:
    """A problem in the form of the search: the channels as arrays, and the bounds of chunks and runs.

    `exact` says that the bounds hold strictly, because the blocks of the ends nest and divide their dimensions. For other ends
    the bounds are estimates.
    """

    def __init__(self, problem: Problem, nodes: frozenset[int] | None) -> None:
        self.problem = problem
        self.links = links = links_of(problem.part, nodes)
        self.source = links.number[problem.transfer.source.memory]
        self.destination = links.number[problem.transfer.destination.memory]
        self.overlap = problem.machine.limits.overlap
        self.paired = self.overlap and problem.slots == 1
        self.alone = self.overlap and not self.paired and not problem.part.resources
        """Whether the slowest hop alone determines the period: no one-slot buffer and no shared resource joins hops."""
        self.exact = problem.ends.regular
        self.reach = Reach(problem)
        holds_buffers = [problem.machine.memory(name).holds_buffers for name in links.memories]
        self.slots_of = [problem.limit((name,)) if held else 0 for name, held in zip(links.memories, holds_buffers, strict=True)]
        """The bytes of the largest slot in every memory; 0 where a memory holds no buffers."""
        self.most = float(min(max(self.slots_of), problem.nbytes))
        """The largest chunk in bytes."""
        self.least = problem.mean
        self.hop_limit = math.inf
        """The most hops of the paths that are looked for; one-hop paths are not looked for here."""

    @cached_property
    def home(self) -> bool:
        """Whether both ends are in one memory."""
        return self.source == self.destination

    @cached_property
    def kinds(self) -> tuple[ConvertingHop, ...]:
        """The hops that may convert."""
        return (
            (ConvertingHop.FIRST, ConvertingHop.LAST, ConvertingHop.MIDDLE)
            if self.problem.ends.converts
            else (ConvertingHop.NONE,)
        )

    def end_runs(self, box: SearchBox) -> tuple[float, float] | None:
        """The longest runs of the first and the last hop of the paths in a box; None where the box contains no path."""
        run, (first, last) = self.problem.ends.run, self.problem.end_runs
        if box.kind is ConvertingHop.FIRST:
            return min(run, first), last
        if box.kind is ConvertingHop.LAST:
            return first, min(run, last)
        if box.kind is ConvertingHop.NONE:
            return first, last
        runs = self.reach.runs(box)
        return None if runs is None else (min(runs[0], first), min(runs[1], last))

    def most_hops(self, low: float) -> float:
        """The number of hops that a path may have if its buffers hold chunks of `low` bytes."""
        limit = self.problem.memory_limit
        return self.hop_limit if limit is None else min(self.hop_limit, 1 + limit // (self.problem.slots * low))


class Costs(NamedTuple):
    """The costs of hops in one role, in seconds. Rows are channels, columns are boxes.

    `total` is the cost of one chunk, with one-time costs. `slowest` is the least time for all bytes. `rest` is what a hop adds to
    the sum over hops if it is the slowest one.
    """

    total: Floats
    slowest: Floats
    rest: Floats


class Bounds:
    """The lower bounds of some boxes; the module has the argument. In all of the boxes a hop between two buffers converts, or in
    none.

    `lower[k]` is the bound of box k. `after[k]` and `before[k]` hold, for every memory, the least cost of the rest of a path from
    there. `after` counts from a memory after the conversion, or anywhere on a path that converts in an end hop or not at all;
    `before` counts from a memory before the conversion.
    """

    def __init__(self, space: SearchSpace, boxes: Sequence[SearchBox], runs: Sequence[tuple[float, float]]) -> None:
        self.space, self.boxes = space, boxes
        links, problem = space.links, space.problem
        self.low = np.array([box.chunk_low for box in boxes])
        self.high = np.array([box.chunk_high for box in boxes])
        self.middle = boxes[0].kind is ConvertingHop.MIDDLE
        first = np.array([run[0] for run in runs])
        last = np.array([run[1] for run in runs])
        self._most = np.array([box.slowest_high for box in boxes])
        self._longest = np.zeros(len(boxes))
        """For each box, the longest time that a hop which may be the slowest takes for the smallest chunk."""
        self.leaving: range = links.leaving[space.source]
        self.entering: Numbers = np.flatnonzero(links.there == space.destination)
        kinds = [box.kind for box in boxes]
        gaps = [min(gap, problem.nbytes) for gap in problem.end_runs]
        self.first = self._ends(self._costs(first, gaps[0]), [kind is ConvertingHop.FIRST for kind in kinds])
        self.last = self._ends(self._costs(last, gaps[1]), [kind is ConvertingHop.LAST for kind in kinds])
        self.inner = self._inner(self._costs(np.inf), loops=space.paired)
        self.converting = None
        if self.middle:
            found = self._costs(problem.ends.run)
            more = links.conversion_setup[:, None]
            self.converting = self._inner(found._replace(total=found.total + more), loops=True)
            loops_only = [(column, box.converting_loop) for column, box in enumerate(boxes) if box.converting_loop is not None]
            for column, memory in loops_only:  # only its self-loops convert
                self.converting.total[~(links.loops & (links.here == memory)), column] = np.inf
        self.floor = self._floor()
        self._walk()

    # ---- what hops cost

    def _costs(self, bound: Floats | float, gap: float = math.inf) -> Costs:
        """The costs of hops with runs of at most `bound` bytes, where gaps of a part bound them by `gap`."""
        space, links = self.space, self.space.links
        nbytes = space.problem.nbytes
        each = space.problem.machine.limits.chunk_seconds * np.maximum(1.0, nbytes / self.high)
        pace = links.pace(self.high, bound, gap)
        if not space.overlap:  # hops follow each other, so each of them counts for every chunk
            return Costs((links.setup[:, None] + nbytes * pace + each) * ROUND_DOWN, np.zeros_like(pace), np.zeros_like(pace))
        chunk = links.chunk_seconds(self.low, self.high, bound, gap)
        total = (links.setup[:, None] + chunk + each) * ROUND_DOWN
        if space.paired:  # neighbouring hops take turns, and every hop has a neighbour
            both = (pace + self._neighbour) * ROUND_DOWN
            left = nbytes - np.minimum(self.high, nbytes * ROUND_DOWN)
            return Costs(total, nbytes * both, np.where(self.high < nbytes, both * left, 0.0))
        # The slowest hop takes its seconds per byte for all bytes; the sum over hops contains one of its chunks.
        np.maximum(self._longest, np.where(nbytes * pace <= self._most, chunk, 0.0).max(axis=0, initial=0.0), out=self._longest)
        return Costs(total, nbytes * pace * ROUND_DOWN, np.maximum(0.0, nbytes * pace - chunk) * ROUND_DOWN)

    def _floor(self) -> Floats:
        """The least that the slowest hop adds to the sum over hops, if it takes as long as the box says."""
        nbytes = self.space.problem.nbytes
        least = np.array([box.slowest_low for box in self.boxes])
        found: Floats = least * np.maximum(0.0, 1 - self.high / nbytes)
        if self.space.alone:
            found = np.maximum(found, least - self._longest)
        return found * ROUND_DOWN

    @cached_property
    def _neighbour(self) -> Floats:
        """For each channel, the least seconds per byte of a neighbouring hop."""
        links = self.space.links
        pace = links.pace(self.high)
        out = np.full((len(links.memories), pace.shape[1]), np.inf)
        into = out.copy()
        np.minimum.at(out, links.here, pace)
        np.minimum.at(into, links.there, pace)
        found: Floats = np.minimum(into[links.here], out[links.there])
        return found

    def _ends(self, costs: Costs, converts: Sequence[bool]) -> Costs:
        """The costs of end hops, with the set-up of those that convert; hops that a box excludes are infinite."""
        total = costs.total + self.space.links.conversion_setup[:, None] * np.array(converts)
        total[costs.slowest > self._most] = np.inf
        return costs._replace(total=total)

    def _inner(self, costs: Costs, *, loops: bool) -> Costs:
        """The costs of hops between two buffers; hops that a box excludes, or that no path has there, are infinite."""
        space, links = self.space, self.space.links
        total = costs.total.copy()
        total[costs.slowest > self._most] = np.inf
        if not loops:
            total[links.loops] = np.inf
        if not space.home:
            total[links.here == space.destination] = np.inf
        return costs._replace(total=total)

    # ---- shortest walks

    def _walk(self) -> None:
        space, links = self.space, self.space.links
        after = np.full((len(links.memories), len(self.boxes)), np.inf)
        np.minimum.at(after, links.here[self.entering], self.last.total[self.entering])
        too_large = self.low * ROUND_DOWN > np.array([space.slots_of]).T  # no slot there holds such a chunk
        shut_before, shut = self._without(too_large, "not_before"), self._without(too_large, "not_after")
        after[shut] = np.inf
        rounds = np.array([space.most_hops(box.chunk_low) for box in self.boxes]) - 2
        self.tables: list[tuple[Floats, Floats]] = []
        if math.isfinite(space.hop_limit):
            self._tabulate(after, shut, shut_before, rounds)
            return
        after = self._rounds(after, shut, rounds)
        start = after
        if self.converting is not None:
            before = np.full_like(after, np.inf)
            onward = self.converting.total + after[links.there]
            if len(links.firsts):
                before[links.starting] = np.minimum.reduceat(onward, links.firsts)
            before[shut_before] = np.inf
            start = self._rounds(before, shut_before, rounds)
        self._begin(after, start)

    def _begin(self, after: Floats, start: Floats) -> None:
        ends = self.space.links.there[self.leaving.start : self.leaving.stop]
        found = self.first.total[self.leaving.start : self.leaving.stop] + start[ends]
        self.lower: list[float] = (found.min(axis=0, initial=np.inf) + self.floor).tolist()
        self.after, self.before = after.T, start.T

    def _tabulate(self, after: Floats, shut: NDArray[np.bool_], shut_before: NDArray[np.bool_], rounds: Floats) -> None:
        """The least costs by the number of hops between two buffers, for paths of few hops.

        `tables[k]` holds `after` and `before` for at most k of them.
        """
        links = self.space.links
        before = np.full_like(after, np.inf) if self.middle else after
        self.tables.append((after, before))
        for number in range(1, int(self.space.hop_limit) - 1 if len(links.firsts) else 1):
            onwards = [self.inner.total + after[links.there]]
            if self.converting is not None:
                stay = self.inner.total + before[links.there]
                onwards.append(np.minimum(stay, self.converting.total + after[links.there]))
            found = []
            for onward, known, closed in zip(onwards, (after, before), (shut, shut_before), strict=False):
                least = np.minimum.reduceat(onward, links.firsts)
                least[:, rounds < number] = np.inf
                least[closed[links.starting]] = np.inf
                better = known.copy()
                better[links.starting] = np.minimum(known[links.starting], least)
                found.append(better)
            after, before = found[0], found[-1]
            self.tables.append((after, before))
        self._begin(after, before)

    def onward(self, column: int, left: int) -> tuple[Floats, Floats]:
        """`after` and `before` of a box, where a path has at most `left` more hops between two buffers."""
        if not self.tables:
            return self.after[column], self.before[column]
        if left < 0:
            return (np.full(len(self.space.links.memories), np.inf),) * 2
        after, before = self.tables[min(left, len(self.tables) - 1)]
        return after[:, column], before[:, column]

    def _without(self, shut: NDArray[np.bool_], which: str) -> NDArray[np.bool_]:
        """The memories closed by `shut`, and those that a box excludes."""
        named = [(memory, column) for column, box in enumerate(self.boxes) for memory in getattr(box, which)]
        if named:
            shut = shut.copy()
            shut[tuple(zip(*named, strict=True))] = True
        return shut

    def _rounds(self, found: Floats, shut: NDArray[np.bool_], rounds: Floats) -> Floats:
        """The least cost over walks that continue through hops between two buffers."""
        links = self.space.links
        if not len(links.firsts):
            return found
        for number in range(1, len(links.memories) + 1):
            onward = np.minimum.reduceat(self.inner.total + found[links.there], links.firsts)
            onward[:, rounds < number] = np.inf
            onward[shut[links.starting]] = np.inf
            better = onward < found[links.starting]
            if not better.any():
                break
            found[links.starting] = np.minimum(found[links.starting], onward)
        return found
