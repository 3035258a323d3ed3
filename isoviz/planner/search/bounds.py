"""Lower bounds of many boxes at once: shortest walks from every memory to the destination.

T is set-up + Σ t + (N − 1) × max t. In a box every hop has a least time for a chunk and a least time per byte in the steady
state; hops that take longer than the box allows are left out. What remains of T is a sum over hops, so the least of it over all
walks comes from shortest walks (Bellman and Ford's rounds, on all boxes side by side). A walk may pass a memory twice, a path may
not: the bound only becomes lower.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from isoviz.planner.search.box import Box, ConvertingHop, Reach
from isoviz.planner.search.links import links_of
from isoviz.planner.search.tuning import ROUND_DOWN

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from isoviz.planner.problem import Problem
    from isoviz.planner.search.links import Floats, Numbers


class SearchSpace:
    """A problem as the search asks it: its channels as arrays, and what bounds chunks and runs.

    `exact` says that bounds are those of the optimality promise: of ends whose blocks nest and divide their dimensions. Of other
    ends they are estimates.
    """

    def __init__(self, problem: Problem, nodes: frozenset[int] | None) -> None:
        self.problem = problem
        self.links = links = links_of(problem.machine, nodes)
        self.source = links.number[problem.transfer.source.memory]
        self.destination = links.number[problem.transfer.destination.memory]
        self.overlap = problem.machine.limits.overlap
        self.paired = self.overlap and problem.slots == 1
        self.alone = self.overlap and not self.paired and not problem.machine.resources
        """Whether one hop alone is the slowest: nothing joins them."""
        self.exact = problem.ends.regular
        self.reach = Reach(problem)
        held_factor = [problem.machine.memory(name).holds_buffers for name in links.memories]
        self.slots_of = [problem.limit((name,)) if held else 0 for name, held in zip(links.memories, held_factor, strict=True)]
        """Bytes that a slot may have in every memory; 0 where there is none."""
        self.most = float(min(max(self.slots_of), problem.nbytes))
        """The largest chunk."""
        self.least = problem.mean

    @cached_property
    def home(self) -> bool:
        """Whether both ends are in one memory."""
        return self.source == self.destination

    @cached_property
    def kinds(self) -> tuple[ConvertingHop, ...]:
        """Which hops may convert."""
        return (
            (ConvertingHop.FIRST, ConvertingHop.LAST, ConvertingHop.MIDDLE)
            if self.problem.ends.converts
            else (ConvertingHop.NONE,)
        )

    def end_runs(self, box: Box) -> tuple[float, float] | None:
        """The longest runs of the first and of the last hop of a path in a box; None where no path is in it."""
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
        """How many hops a path may have whose buffers hold chunks of so many bytes."""
        limit = self.problem.memory_limit
        return math.inf if limit is None else 1 + limit // (self.problem.slots * low)


class Costs(NamedTuple):
    """What hops cost in one role, in seconds. Rows are channels, columns boxes.

    `total` is for one chunk, with what is paid once; `slowest` what all bytes take at least; `rest` what comes on top of the sum
    over hops where the hop is the slowest one.
    """

    total: Floats
    slowest: Floats
    rest: Floats


class Bounds:
    """The bounds of some boxes, all of them with a hop between two buffers that converts, or none; see the module.

    `lower[k]` is the bound of box k. `after[k]` and `before[k]` are, by memory, the least that the rest of a path costs from
    there: once it has converted (or where it converts in the first hop, the last one, or not at all), and before.
    """

    def __init__(self, space: SearchSpace, boxes: Sequence[Box], runs: Sequence[tuple[float, float]]) -> None:
        self.space, self.boxes = space, boxes
        links, problem = space.links, space.problem
        self.low = np.array([box.chunk_low for box in boxes])
        self.high = np.array([box.chunk_high for box in boxes])
        self.middle = boxes[0].kind is ConvertingHop.MIDDLE
        first = np.array([run[0] for run in runs])
        last = np.array([run[1] for run in runs])
        self._most = np.array([box.slowest_high for box in boxes])
        self._longest = np.zeros(len(boxes))
        """The longest that a hop that may be the slowest one takes for the smallest chunk."""
        self.leaving: range = links.leaving[space.source]
        self.entering: Numbers = np.flatnonzero(links.there == space.destination)
        kinds = [box.kind for box in boxes]
        self.first = self._ends(self._costs(first), [kind is ConvertingHop.FIRST for kind in kinds])
        self.last = self._ends(self._costs(last), [kind is ConvertingHop.LAST for kind in kinds])
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

    def _costs(self, bound: Floats | float) -> Costs:
        space, links = self.space, self.space.links
        nbytes = space.problem.nbytes
        each = space.problem.machine.limits.chunk_seconds * np.maximum(1.0, nbytes / self.high)
        pace = links.seconds_per_byte(np.minimum(self.high, bound))
        if not space.overlap:  # hops follow each other: all of them count for every chunk
            return Costs((links.setup[:, None] + nbytes * pace + each) * ROUND_DOWN, np.zeros_like(pace), np.zeros_like(pace))
        chunk = links.chunk_seconds(self.low, self.high, bound)
        total = (links.setup[:, None] + chunk + each) * ROUND_DOWN
        if space.paired:  # neighbours take turns, and every hop has one
            both = (pace + self._neighbour) * ROUND_DOWN
            left = nbytes - np.minimum(self.high, nbytes * ROUND_DOWN)
            return Costs(total, nbytes * both, np.where(self.high < nbytes, both * left, 0.0))
        # The slowest hop moves all bytes at its pace; in the sum it counts for one chunk.
        np.maximum(self._longest, np.where(nbytes * pace <= self._most, chunk, 0.0).max(axis=0, initial=0.0), out=self._longest)
        return Costs(total, nbytes * pace * ROUND_DOWN, np.maximum(0.0, nbytes * pace - chunk) * ROUND_DOWN)

    def _floor(self) -> Floats:
        """What the slowest hop adds to the sum over hops at least, where it takes as long as the boxes say."""
        nbytes = self.space.problem.nbytes
        least = np.array([box.slowest_low for box in self.boxes])
        found: Floats = least * np.maximum(0.0, 1 - self.high / nbytes)
        if self.space.alone:
            found = np.maximum(found, least - self._longest)
        return found * ROUND_DOWN

    @cached_property
    def _neighbour(self) -> Floats:
        """The least pace of a neighbour of each channel."""
        links = self.space.links
        pace = links.seconds_per_byte(self.high)
        out = np.full((len(links.memories), pace.shape[1]), np.inf)
        into = out.copy()
        np.minimum.at(out, links.here, pace)
        np.minimum.at(into, links.there, pace)
        found: Floats = np.minimum(into[links.here], out[links.there])
        return found

    def _ends(self, costs: Costs, converts: Sequence[bool]) -> Costs:
        """Costs of hops at an end, with what those take to set up that convert, without those that the boxes leave out."""
        total = costs.total + self.space.links.conversion_setup[:, None] * np.array(converts)
        total[costs.slowest > self._most] = np.inf
        return costs._replace(total=total)

    def _inner(self, costs: Costs, *, loops: bool) -> Costs:
        """Costs of hops between two buffers, without those that no path has there."""
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
        after = self._rounds(after, shut, rounds)
        start = after
        if self.converting is not None:
            before = np.full_like(after, np.inf)
            ways = self.converting.total + after[links.there]
            if len(links.firsts):
                before[links.starting] = np.minimum.reduceat(ways, links.firsts)
            before[shut_before] = np.inf
            start = self._rounds(before, shut_before, rounds)
        ends = links.there[self.leaving.start : self.leaving.stop]
        found = self.first.total[self.leaving.start : self.leaving.stop] + start[ends]
        self.lower: list[float] = (found.min(axis=0, initial=np.inf) + self.floor).tolist()
        self.after, self.before = after.T, start.T

    def _without(self, shut: NDArray[np.bool_], which: str) -> NDArray[np.bool_]:
        """What is shut, and the memories that boxes leave out."""
        named = [(memory, column) for column, box in enumerate(self.boxes) for memory in getattr(box, which)]
        if named:
            shut = shut.copy()
            shut[tuple(zip(*named, strict=True))] = True
        return shut

    def _rounds(self, found: Floats, shut: NDArray[np.bool_], rounds: Floats) -> Floats:
        """The least over walks that go on through hops between two buffers."""
        links = self.space.links
        if not len(links.firsts):
            return found
        for number in range(1, len(links.memories) + 1):
            ways = np.minimum.reduceat(self.inner.total + found[links.there], links.firsts)
            ways[:, rounds < number] = np.inf
            ways[shut[links.starting]] = np.inf
            better = ways < found[links.starting]
            if not better.any():
                break
            found[links.starting] = np.minimum(found[links.starting], ways)
        return found
