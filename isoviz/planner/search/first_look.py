"""A first look at all paths of a transfer: a lower bound of T, and routes that may be close to it.

1. T is at least the set-up plus all bytes at the rate of the slowest hop. So T is at least the least set-up of any walk, plus all
   bytes over the walk whose slowest hop is the fastest.
2. Of the walks that are hardly slower than that one, the one with the least time for a chunk is a good route for many chunks. The
   walk with the least time for all bytes as one chunk is a good route for few.
3. Each is a shortest walk: rounds of Bellman and Ford over the channels as arrays, with the maximum or the sum of hops.
4. Some hop of every path has a run of at most PREFIX of both ends (`intermediate.intermediate_layouts`). A walk chooses this hop.
   For all other hops the bound takes the best rate that any layout can give them.

The look takes a fraction of a millisecond, the search (`best_first`) many times as long.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from isoviz.planner.paths.routes import Route, routes_of
from isoviz.planner.search.bounds import SearchSpace
from isoviz.planner.search.tuning import CHUNKS_OF_A_LOOK, ROUND_DOWN, SLOWER_THAN_WIDEST

if TYPE_CHECKING:
    from collections.abc import Callable

    from isoviz.planner.problem import Problem
    from isoviz.planner.time.path_time import Floats


class FirstLook(NamedTuple):
    """`lower` is a lower bound of T in seconds; `routes` are routes worth trying, the best first.

    Where the blocks of the ends do not nest or do not divide their dimension, `lower` is an estimate (`Problem.bounded`).
    """

    lower: float
    routes: tuple[Route, ...]


class _Costs(NamedTuple):
    """What every channel costs, as a plain and as a converting hop: the first one, one between buffers, the last one, and alone.

    Hops that no walk has there are infinite.
    """

    first: tuple[Floats, Floats]
    inner: tuple[Floats, Floats]
    last: tuple[Floats, Floats]
    alone: tuple[Floats, Floats]


HopBounds = tuple[float, float, float]
"""The chunk of a hop, and the bounds on its run by its layouts and by gaps of a part, all in bytes."""


def first_look(problem: Problem) -> FirstLook:
    """Look at the paths of a problem."""
    ends = problem.transfer.source.memory, problem.transfer.destination.memory
    return _Look(SearchSpace(problem, routes_of(problem.part).nodes(*ends))).found()


class _Look:
    def __init__(self, space: SearchSpace) -> None:
        self.space, self.links, self.problem = space, space.links, space.problem
        self.converts = self.problem.ends.converts
        links, leaving = self.links, space.links.leaving[space.source]
        self.leaving = slice(leaving.start, leaving.stop)
        self.entering = links.there == space.destination
        shut = np.array([slot < self.problem.largest for slot in space.slots_of])
        self.shut = np.where(shut[links.there], np.inf, 0.0)
        """Infinite for the channels into a memory that holds no buffer."""
        self.detour = np.where(links.loops, np.inf, self.shut)
        """Infinite for those, and for self-loops: between two buffers they only pay where they convert."""

    def found(self) -> FirstLook:
        space, links, nbytes = self.space, self.links, self.problem.nbytes
        few = max(space.most, 1.0)  # where limits leave buffers no room, all their memories are shut
        many = min(few, nbytes / CHUNKS_OF_A_LOOK)
        widest, one, several = self._hops(few, nbytes), self._hops(few, few), self._hops(many, many)
        hops = list(dict.fromkeys(hop for roles in (widest, one, several) for role in roles for hop in role))
        columns = dict(zip(hops, links.pace(*np.array(hops).T).T, strict=True))
        paces = self._costs(widest, lambda hop: columns[hop])
        pace = self._least(paces, np.maximum if space.overlap else np.add)
        each = links.setup + self.problem.machine.limits.chunk_seconds
        setup = self._least(self._costs(widest, lambda _: each, links.conversion_setup), np.add)
        limits = pace * SLOWER_THAN_WIDEST if space.overlap else math.inf, math.inf
        walks: list[Route | None] = []
        for roles, limit in zip((several, one), limits, strict=True):
            seconds = self._costs(roles, lambda hop: each + hop[0] * columns[hop], links.conversion_setup)
            walks.append(self._walk(self._within(seconds, paces, limit)))
        lower = (setup + nbytes * pace) * ROUND_DOWN
        return FirstLook(lower, tuple(dict.fromkeys(route for route in walks if route is not None)))

    # ---- costs

    def _hops(self, chunk: float, alone: float) -> tuple[tuple[HopBounds, HopBounds], ...]:
        """The plain and the converting hop in every role, with chunks of `chunk` bytes, or of `alone` bytes without buffers."""
        problem, run = self.problem, self.problem.ends.run
        first, last = problem.end_runs
        ends = (first, chunk), (math.inf, chunk), (last, chunk), (min(first, last), alone)
        return tuple(
            ((size, end, min(end, problem.nbytes)), (size, min(end, run), min(end, problem.nbytes))) for end, size in ends
        )

    def _costs(
        self, roles: tuple[tuple[HopBounds, HopBounds], ...], cost: Callable[[HopBounds], Floats], more: Floats | float = 0.0
    ) -> _Costs:
        """The costs of all hops; those that convert cost `more`."""
        first, inner, last, alone = [(cost(plain), cost(converting) + more) for plain, converting in roles]
        return _Costs((first[0] + self.shut, first[1] + self.shut), (inner[0] + self.detour, inner[1] + self.shut), last, alone)

    def _within(self, costs: _Costs, paces: _Costs, limit: float) -> _Costs:
        """The costs without the hops that take more than `limit` seconds for a byte."""
        if math.isinf(limit):
            return costs
        found = []
        for mine, its in zip(costs, paces, strict=True):
            plain, converting = (np.where(pace <= limit, cost, np.inf) for cost, pace in zip(mine, its, strict=True))
            found.append((plain, converting))
        return _Costs(*found)

    # ---- shortest walks

    def _least(self, costs: _Costs, combine: Callable[[Floats, Floats], Floats]) -> float:
        return self._tables(costs, combine)[0]

    def _tables(self, costs: _Costs, combine: Callable[[Floats, Floats], Floats]) -> tuple[float, Floats, Floats]:
        """The least cost of a walk; the least cost from a buffer in every memory to the destination, after the conversion and
        before it."""
        links, at = self.links, self.leaving
        after = self._rounds(self._ends(costs.last[0]), costs.inner[0], combine)
        before = after
        if self.converts:
            start = self._ends(costs.last[1])
            self._onwards(start, combine(costs.inner[1], after[links.there]))
            before = self._rounds(start, costs.inner[0], combine)
        there = links.there[at]
        ways = [combine(costs.first[0][at], before[there])]
        if self.converts:
            ways.append(combine(costs.first[1][at], after[there]))
        ways.append(np.where(self.entering[at], costs.alone[self.converts][at], np.inf))
        return float(min(way.min(initial=math.inf) for way in ways)), after, before

    def _ends(self, last: Floats) -> Floats:
        links = self.links
        found = np.full(len(links.memories), np.inf)
        np.minimum.at(found, links.here[self.entering], last[self.entering])
        return found

    def _onwards(self, found: Floats, onward: Floats) -> bool:
        links = self.links
        least = np.minimum.reduceat(onward, links.firsts)
        if not (least < found[links.starting]).any():
            return False
        found[links.starting] = np.minimum(found[links.starting], least)
        return True

    def _rounds(self, found: Floats, inner: Floats, combine: Callable[[Floats, Floats], Floats]) -> Floats:
        links = self.links
        for _ in links.memories:
            if not self._onwards(found, combine(inner, found[links.there])):
                break
        return found

    def _walk(self, costs: _Costs) -> Route | None:
        """The walk of the least sum, as a route; None where it passes a memory twice, or there is none.

        Hops whose costs are lost in the rounding of a sum may lead round in circles.
        """
        links, space = self.links, self.space
        least, after, before = self._tables(costs, np.add)
        if math.isinf(least):
            return None
        walk: list[int] = []
        converting: int | None = None
        at, ended = links.leaving[space.source], False
        while not ended:
            if len(walk) > len(links.memories):  # every memory once, and the conversion within one of them
                return None
            here = slice(at.start, at.stop)
            there, done = links.there[here], converting is not None or not self.converts
            middle, end = (costs.inner, costs.last) if walk else (costs.first, costs.alone)
            # The costs of the next hops, whether they convert, and whether they end the walk.
            ways: list[tuple[Floats, bool, bool]] = [
                (middle[0][here] + (after if done else before)[there], False, False),
                (np.where(self.entering[here], end[not done][here], np.inf), not done, True),
            ]
            if not done:
                ways.append((middle[1][here] + after[there], True, False))
            best, converts, ended = min(ways, key=lambda way: float(way[0].min(initial=math.inf)))
            converting = len(walk) if converts else converting
            walk.append(at.start + int(np.argmin(best)))
            at = links.leaving[int(links.there[walk[-1]])]
        return None if self._repeats(walk) else Route(tuple(links.channels[link] for link in walk), converting)

    def _repeats(self, walk: list[int]) -> bool:
        links = self.links
        stops = [int(links.there[link]) for link in walk if not links.loops[link]]
        if self.space.home and stops and stops[-1] == self.space.destination:
            stops.pop()
        return len({self.space.source, *stops}) != len(stops) + 1
