"""Routes on which a hop between two buffers converts, block by block: the search for the sizes of the blocks.

For a steady state of at least TP bytes per second, the smallest blocks whose runs sustain TP are best, because hop times never
fall when blocks grow: all other hops then fill the pipeline soonest. That leaves one unknown, TP, and the search for it is the
paper's bisection with another aim (Isometry, 4.2): r' is the smallest run with tp(r') ≥ TP.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from functools import cached_property
from typing import TYPE_CHECKING

from isoviz.planner.choice import MOST_BOXES, Choice
from isoviz.planner.sizes import FEW_PAIRS, SMALL, at_least, best_of, choices, round_numbers

if TYPE_CHECKING:
    from isoviz.planner.problem import Problem
    from isoviz.planner.routes import Route
    from isoviz.planner.shapes import Shape
    from isoviz.planner.timing import Clock


def blocked(problem: Problem, route: Route, clock: Clock) -> Choice | None:
    """The best choice for a route on which a hop between two buffers converts; None where no block fits."""
    limit = problem.limit(route.inside)
    searches = [Blocked(problem, route, clock, shape, limit) for shape in problem.ends.shapes]
    searches = [search for search in searches if search.fitting]
    if len(searches) < 2:
        return searches[0].best() if searches else None
    found: list[tuple[int, Choice]] = []
    least = math.inf
    for number, search in sorted(enumerate(searches), key=lambda each: each[1].bound):
        if search.bound <= least * (1 + 1e-9) and (choice := search.best()) is not None:
            found.append((number, choice))
            least = min(least, choice.seconds)
    return min(found, key=lambda each: (each[1].key, each[0]), default=(0, None))[1]


class Blocked:
    """The search among the cuts of one shape on one route."""

    def __init__(self, problem: Problem, route: Route, clock: Clock, shape: Shape, limit: int | None = None) -> None:
        self.problem, self.route, self.clock, self.shape = problem, route, clock, shape
        self.limit = problem.limit(route.inside) if limit is None else limit
        self.unit = float(problem.entry) if shape.has_fields else problem.mean
        self.room = problem.entry if shape.has_fields else problem.largest
        self.one = shape.cut_a == shape.cut_b
        self.entries = shape.entries
        """Entries of a block per value of each cut."""
        self.scattered = shape.scattered
        self.every = max(clock.every, SMALL if shape.scattered else 0)
        self.a: tuple[int, ...] = (1,)
        self.b: tuple[int, ...] = (1,)
        self.fitting = self.fits(1, 1)
        """Whether the smallest block fits a slot; without, there is nothing to search."""
        if self.fitting:
            self.a = self._choices(shape.cut_a)
            self.b = self.b if self.one else self._choices(shape.cut_b)
            self.runs = problem.runs(len(route.channels), route.converting)
            self.reach = min(shape.most_first, self.runs[0]), min(shape.most_last, self.runs[-1])

    def _choices(self, digit: int | None) -> tuple[int, ...]:
        ends = self.problem.ends
        return (1,) if digit is None else choices(ends.sizes(digit), ends.digits[digit].top)

    @cached_property
    def peak(self) -> float:
        """The most bytes per second that any blocks sustain: all runs as long as they ever are."""
        longest = min(self.limit, self.problem.nbytes)
        largest = self.limit // (self.entries * self.room)
        runs = self._runs(largest, largest)
        functions = self.clock.functions
        return min([function(run if run < longest else longest) for function, run in zip(functions, runs, strict=True)])

    @property
    def bound(self) -> float:
        """Less than this no blocks take: the peak, and nothing to fill the pipeline with."""
        return self.clock.setup + self.problem.nbytes / self.peak

    def best(self) -> Choice | None:
        """The best choice, of blocks of which the smallest fits."""
        if len(self.a) == 1 or len(self.b) == 1:
            return self._single()
        pairs = len(self.a) * len(self.b)
        if pairs <= max(FEW_PAIRS, self.every):
            return self._all_pairs()
        return self._pairs()

    # ---- evaluation

    def _block(self, a: int, b: int) -> tuple[int, int]:
        """Entries of a block (of one field, where it has not all), and bytes of a slot that holds one."""
        entries = self.entries * a if self.one else self.entries * a * b
        return entries, entries * self.room

    def fits(self, a: int, b: int) -> bool:
        """Whether a slot holds a block."""
        return self._block(a, b)[1] <= self.limit

    def at(self, a: int, b: int, per_chunk: int = 1) -> Choice | None:
        """The choice of these cuts, with so many blocks in a chunk; None where it breaks a limit."""
        if self.one:
            b = a
        block, slot = self._block(a, b)
        slot *= per_chunk
        if slot > self.limit or (self.scattered and per_chunk * self._boxes(a, b) > MOST_BOXES):
            return None
        runs, chunk = self._runs(a, b), per_chunk * block * self.unit
        seconds = self.clock.seconds(chunk, runs)
        chunk = min(chunk, self.problem.nbytes)
        return Choice(seconds, self.route, self.shape, a, b, per_chunk, chunk, slot, tuple(runs), self.problem.slots)

    def _runs(self, a: float, b: float) -> list[float]:
        runs = list(self.runs)
        first, last = self.shape.first * a, self.shape.last * b
        runs[0] = first if first <= self.reach[0] else self.reach[0]
        runs[-1] = last if last <= self.reach[1] else self.reach[1]
        return runs

    def _boxes(self, a: int, b: int) -> int:
        taken = self.problem.ends.taken(self.shape, a, b)
        return math.prod(taken[digit] for digit in self.scattered)

    def _chunked(self, a: int, b: int) -> Choice | None:
        """The best number of blocks in a chunk."""
        block, slot = self._block(a, b)
        most = min(self.limit // slot, math.ceil(self.problem.nbytes / (block * self.unit)))
        if most <= 1:
            return self.at(a, b) if most == 1 else None
        cache: dict[int, Choice | None] = {}

        def seconds(n: int) -> float:
            choice = cache[n] = self.at(a, b, n)
            return choice.seconds if choice is not None else math.inf

        _, count = best_of(seconds, round_numbers(most), self.every)
        return cache[count]

    # ---- one variable, or none

    def _single(self) -> Choice | None:
        only_b = len(self.a) == 1
        sizes = self.b if only_b else self.a

        def cuts(size: int) -> tuple[int, int]:
            return (1, size) if only_b else (size, 1)

        if self.entries:
            fits = bisect_right(sizes, self.limit // (self.entries * self.room))
        else:
            fits = bisect_left(range(len(sizes)), True, key=lambda i: not self.fits(*cuts(sizes[i])))
        if fits <= SMALL:
            found = [self._chunked(*cuts(size)) for size in sizes[:fits]]
            return min((choice for choice in found if choice is not None), key=lambda choice: choice.key, default=None)
        largest = sizes[fits - 1]
        if not self.clock.overlap:  # rates only grow with blocks
            return self.at(*cuts(largest))
        if fits < len(sizes):  # the largest that fits is no round one
            largest = self.limit // (self._block(*cuts(largest))[1] // largest)
        sizes = (*sizes[: fits - 1], largest)
        start = None
        if not self.every and self.clock.separable:
            start = at_least(sizes, self._sustaining(self.peak, only_b))
        seconds, size = best_of(lambda size: self._seconds(*cuts(size)), sizes, self.every, start)
        best = self.at(*cuts(size))
        if 2 * self._block(*cuts(largest))[1] > self.limit and self._seconds(*cuts(largest)) > seconds:
            return best  # of the largest blocks no chunk holds more than one
        found = [best, self._chunked(*cuts(largest))]
        return min((choice for choice in found if choice is not None), key=lambda choice: choice.key, default=None)

    def _sustaining(self, throughput: float, only_b: bool) -> float:
        """The least cut whose runs sustain a throughput, as far as runs are in proportion to it."""
        functions, shape = self.clock.functions, self.shape
        need = 0.0 if only_b else functions[0].inverse(throughput) / shape.first
        if only_b or self.one:
            need = max(need, functions[-1].inverse(throughput) / shape.last)
        for i, function in enumerate(functions[1:-1], 1):
            if i != self.route.converting:
                need = max(need, function.inverse(throughput) / (shape.entries * self.unit))
        return need

    def _seconds(self, a: int, b: int) -> float:
        if self.one:
            b = a
        block, slot = self._block(a, b)
        if slot > self.limit or (self.scattered and self._boxes(a, b) > MOST_BOXES):
            return math.inf
        return self.clock.seconds(block * self.unit, self._runs(a, b))

    # ---- two variables

    def _all_pairs(self) -> Choice | None:
        best: Choice | None = None
        for a in self.a:
            for b in self.b:
                if not self.fits(a, b):
                    break
                choice = self._chunked(a, b)
                if choice is not None and (best is None or choice.key < best.key):
                    best = choice
        return best

    def _pairs(self) -> Choice | None:
        """By throughput where hops bound it one by one; else a search over a for each of which b is searched."""
        start = self._by_throughput() if self.clock.separable else self._nested()
        return self._polished(start) if start is not None else None

    def _by_throughput(self) -> tuple[int, int] | None:
        """The smallest cuts that sustain the best throughput."""
        functions, at = self.clock.functions, self.route.converting
        shape, problem = self.shape, self.problem
        whole = min(self.limit, problem.nbytes)
        reach: list[float] = [float(whole)] * len(functions)
        reach[0], reach[-1] = min(whole, shape.most_first), min(whole, shape.most_last)
        peak = min(
            function(min(run, bound))
            for function, run, bound in zip(functions, problem.runs(len(functions), at), reach, strict=True)
        )
        peak = min(peak, self.clock.resource_bound)
        if not peak > 0:
            return None
        if self._sized(peak) is not None and self._at(peak) <= self._at(peak * 0.97):
            return self._sized(peak)
        # T is convex in log TP, and infinite where no blocks that fit sustain it.
        low, high = math.log(peak) - 8.0, math.log(peak)
        inner = 0.381966
        x, y = low + inner * (high - low), high - inner * (high - low)
        fx, fy = self._at(math.exp(x)), self._at(math.exp(y))
        while high - low > 0.01:
            if (fx <= fy and not math.isinf(fx)) or math.isinf(fy):
                high, y, fy = y, x, fx
                x = low + inner * (high - low)
                fx = self._at(math.exp(x))
            else:
                low, x, fx = x, y, fy
                y = high - inner * (high - low)
                fy = self._at(math.exp(y))
        return self._sized(math.exp(x if fx <= fy else y)) or self._sized(math.exp(low)) or (self.a[0], self.b[0])

    def _sized(self, throughput: float) -> tuple[int, int] | None:
        """The smallest cuts whose runs sustain a throughput; None where they do not fit a slot."""
        functions, shape = self.clock.functions, self.shape
        a = at_least(self.a, functions[0].inverse(throughput) / shape.first)
        b = at_least(self.b, functions[-1].inverse(throughput) / shape.last)
        block, slot = self._block(a, b)
        if slot > self.limit:
            return None
        rest = [function for i, function in enumerate(functions[1:-1], 1) if i != self.route.converting]
        need = max((function.inverse(throughput) for function in rest), default=0.0)
        need = min(need, self.limit) / self.unit
        if block < need:  # a chunk that the other hops need anyway: share it among both runs
            factor = math.sqrt(need / block)
            a = min(at_least(self.a, a * factor), self.a[-1])
            b = min(at_least(self.b, b * need / self._block(a, b)[0]), self.b[-1])
            if not self.fits(a, b):
                return None
        return a, b

    def _at(self, throughput: float) -> float:
        sized = self._sized(throughput)
        return self._seconds(*sized) if sized is not None else math.inf

    def _nested(self) -> tuple[int, int]:
        def best_b(a: int) -> tuple[float, int]:
            fitting = [b for b in self.b if self.fits(a, b)] or [self.b[0]]
            if not self.clock.overlap:
                return self._seconds(a, fitting[-1]), fitting[-1]
            return best_of(lambda b: self._seconds(a, b), fitting, self.every)

        sizes = [a for a in self.a if self.fits(a, self.b[0])]
        _, a = best_of(lambda a: best_b(a)[0], sizes, self.every)
        return a, best_b(a)[1]

    def _polished(self, start: tuple[int, int]) -> Choice | None:
        """Downhill among neighbouring sizes, until none is better."""
        i, j = bisect_left(self.a, start[0]), bisect_left(self.b, start[1])
        seen: dict[tuple[int, int], float] = {}

        def at(i: int, j: int) -> float:
            if not (0 <= i < len(self.a) and 0 <= j < len(self.b)):
                return math.inf
            if (i, j) not in seen:
                seen[i, j] = self._seconds(self.a[i], self.b[j])
            return seen[i, j]

        here = at(i, j)
        while True:
            moves = [(1, -1), (-1, 1), (-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (1, 1)]
            value, i2, j2 = min((at(i + di, j + dj), i + di, j + dj) for di, dj in moves)
            if not value < here:
                break
            here, i, j = value, i2, j2
        if math.isinf(here):
            return None
        choice = self.at(self.a[i], self.b[j])
        more = self._chunked(self.a[i], self.b[j]) if self.clock.overlap is False or len(seen) < 3 else None
        return min((c for c in (choice, more) if c is not None), key=lambda c: c.key, default=None)
