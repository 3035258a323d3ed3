"""The best path of a machine on which not all paths can be listed: boxes, best bound first.

Everything that can be decided is one box per hop that may convert. A box whose bound lies above the best choice known is done
with. So is one whose paths can be listed: each of them is worked out exactly. All others are cut in two where that raises the
bound of their best walk most, and that walk is worked out exactly as well, so a good choice is known early. The work is
polynomial in the size of the machine for any given gap, and can be stopped at any time: the least bound of the boxes that are
left says how far from the optimum the best choice can be at most.
"""

from __future__ import annotations

import heapq
import itertools
import math
import time
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from isoviz.planner.one_path.chunk_size import compared
from isoviz.planner.one_path.optimum import best_choice, clock_of
from isoviz.planner.paths.routes import Route
from isoviz.planner.search.bounds import Bounds, Question
from isoviz.planner.search.box import Box, Kind
from isoviz.planner.search.walks import best_walk, paths_in

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from isoviz.planner.one_path.choice import Choice
    from isoviz.planner.problem import Problem
    from isoviz.planner.search.walks import Walk

TIE = 1e-12
"""Relative difference of T below which two plans are equally fast."""
BATCH = 24
"""Boxes whose bounds are worked out together."""
BEGINNINGS, MORE_BEGINNINGS = 100, 4
"""Beginnings of paths up to which a box is listed, and more of them for every memory."""
MORE = 1.5
"""The factor by which the slack at which boxes are listed grows and shrinks: with the last one that could be, or could not."""
AGAIN = 1.02
"""The factor by which that slack grows with every box that is not listed."""
PATIENCE, NEAR = 400, 1e-4
"""After this many boxes a best choice is good enough that is proved to be within this share of the optimum."""
RIVALS, NEARBY, ENOUGH = (1.01, 1.05, 1.2, 1.5, 2.0, 4.0), 1.05, 40
"""Rivals are looked for that take at most so many times as long, in chunks at most so many times as large or small, until that
many routes are known."""
FAR = 0.2
"""Share of T by which a box leaves the slowest hop free, above which that range is halved; below it, it is cut at the best
walk's."""
COARSE = 4.0
"""The ratio of the largest to the smallest chunk of a box to begin with."""


Tried = tuple[Route, "Choice | None"]
"""A route that was worked out, and its best choice."""


class Outcome(NamedTuple):
    """The best choice found, a bound in seconds below which no choice lies, and every route that was worked out.
    `stopped` tells whether time was up first."""

    best: Choice | None
    lower: float
    tried: tuple[Tried, ...]
    stopped: bool


class BestFirst:
    """One search; `run` carries it out.

    `nodes` are those that a path may pass through (None: all). `seeds` are routes to begin with.
    """

    def __init__(self, problem: Problem, nodes: frozenset[int] | None, seeds: Iterable[Route]) -> None:
        self.problem = problem
        self.question = Question(problem, nodes)
        self.links = self.question.links
        self.best: Choice | None = None
        self.tried: dict[tuple[tuple[str, ...], int | None], Tried] = {}
        self._number = itertools.count()
        self._most = BEGINNINGS + MORE_BEGINNINGS * len(self.links.memories)
        self._listed = math.inf
        """Boxes with a bound that is closer to the goal than this are listed."""
        self._until = math.inf
        self._floor = self._least()
        for route in seeds:
            self.work_out(route)

    def _least(self) -> float:
        """Seconds that everything takes at least: some channel leads out of the source, and some into the destination."""
        paces = self.links.paces(np.array([math.inf]))[:, 0]
        leaving = self.links.leaving[self.question.source]
        out = paces[leaving.start : leaving.stop].min(initial=math.inf)
        into = paces[self.links.there == self.question.destination].min(initial=math.inf)
        return self.problem.nbytes * float(max(out, into))

    # ---- exact choices

    @property
    def goal(self) -> float:
        """The seconds that a choice has to stay within to be as good as the best one."""
        return math.inf if self.best is None else self.problem.with_cost(self.best) * (1 + TIE)

    def work_out(self, route: Route) -> None:
        """The best choice of a route, exactly."""
        key = route.names, route.converting
        if key in self.tried:
            return
        clock = clock_of(self.problem, route)
        choice = best_choice(self.problem, route, clock)
        if choice is not None:
            choice = compared(self.problem, choice, clock)
            if self.best is None or self.problem.key(choice) < self.problem.key(self.best):
                self.best = choice
        self.tried[key] = route, choice

    def _work_out(self, walk: Walk) -> None:
        channels = tuple([self.links.channels[link] for link in walk.links])
        last = len(channels) - 1
        ends = (0, last) if self.problem.spread and walk.converting in (0, last) else (walk.converting,)
        for converting in ends:
            self.work_out(Route(channels, converting))

    # ---- boxes

    def run(self, until: float) -> Outcome:
        """Search until nothing is left, or until a moment (`time.perf_counter`)."""
        self._until = until
        self._direct()
        queue: list[tuple[float, int, Box]] = []
        for box in self._all():
            heapq.heappush(queue, (box.bound, next(self._number), box))
        lower, done, stopped = math.inf, 0, False
        while queue:
            if queue[0][0] > self.goal:
                break
            if done > PATIENCE and queue[0][0] >= self.goal * (1 - NEAR):
                lower = queue[0][0]
                break
            if self._late():
                lower, stopped = max(queue[0][0], self._floor), True
                break
            batch = [heapq.heappop(queue)[2] for _ in range(min(BATCH, len(queue)))]
            done += len(batch)
            for box in self._halved(box for box in batch if box.bound <= self.goal):
                heapq.heappush(queue, (box.bound, next(self._number), box))
        best = math.inf if self.best is None else self.problem.with_cost(self.best)
        return Outcome(self.best, min(lower, best), tuple(self.tried.values()), stopped)

    def rivals(self) -> tuple[Tried, ...]:
        """All routes that were worked out, and more that are good in about the chunk of the best one."""
        assert self.best is not None
        near = self.best.chunk
        for factor in RIVALS:
            goal, found = self.goal * factor, 0
            for kind in self.question.kinds:
                box = Box(kind, max(near / NEARBY, self.question.least), min(near * NEARBY, self.question.most))
                runs = self.question.end_runs(box)
                if box.low > box.high or runs is None:
                    continue
                bounds = Bounds(self.question, [box], [runs])
                for path in paths_in(bounds, 0, goal, self._most) or ():
                    self._work_out(path.walk)
                    found += 1
            if not found or len(self.tried) >= ENOUGH:
                break
        return tuple(self.tried.values())

    def _late(self) -> bool:
        """Whether it is time to stop."""
        return time.perf_counter() >= self._until

    def _direct(self) -> None:
        """Paths of one hop: nothing is held there, so chunks may be larger than any slot."""
        converting = 0 if self.problem.ends.converts else None
        for link in self.links.leaving[self.question.source]:
            if self.links.there[link] == self.question.destination:
                self.work_out(Route((self.links.channels[link],), converting))

    def _all(self) -> Iterable[Box]:
        """Boxes that hold everything."""
        low, most = self.question.least, self.question.most
        if max(self.question.slots_of) < self.problem.largest:  # no slot holds an element
            return
        count = max(1, math.ceil(math.log(most / low) / math.log(COARSE))) if most > low else 1
        cuts = [low * (most / low) ** (k / count) for k in range(count)] + [most]
        for kind in self.question.kinds:
            for least, largest in itertools.pairwise(cuts):
                yield Box(kind, least, largest)

    def _halved(self, boxes: Iterable[Box]) -> Iterable[Box]:
        """What is left of some boxes."""
        groups: dict[bool, list[tuple[Box, tuple[float, float]]]] = {}
        for box in boxes:
            runs = self.question.end_runs(box)
            if runs is not None:
                groups.setdefault(box.kind is Kind.MIDDLE, []).append((box, runs))
        for group in groups.values():
            bounds = Bounds(self.question, [box for box, _ in group], [runs for _, runs in group])
            for column in sorted(range(len(group)), key=lambda column: bounds.lower[column]):
                yield from self._rest(bounds, column)

    def _rest(self, bounds: Bounds, column: int) -> Sequence[Box]:
        """What is left of one box: nothing, or two halves."""
        box = bounds.boxes[column]
        lower = max(box.bound, bounds.lower[column])
        if lower > self.goal or math.isinf(lower):
            return ()
        walk, slowest = best_walk(bounds, column)
        twice = self._twice(walk)
        if twice is None:
            self._work_out(walk)
            if lower > self.goal:
                return ()
        slack = self.goal - lower
        if slack <= self._listed:
            paths = paths_in(bounds, column, self.goal, self._most)
            if paths is not None:
                self._listed = max(self._listed, slack * MORE)
                for path in paths:
                    if path.bound > self.goal:
                        break
                    if self._late():
                        return (box,)
                    self._work_out(path.walk)
                return ()
            self._listed = slack / MORE
        else:
            self._listed *= AGAIN
        left = 1 - box.high / self.problem.nbytes
        most = box.most
        if left > 0:  # a slower hop would take it beyond the goal
            most = min(most, (self.goal - bounds.lower[column] + float(bounds.floor[column])) / left * (1 + TIE))
        box = replace(box, bound=lower, most=most)
        if twice is not None and self._parted(walk, twice):
            parts = box.apart(twice)
            return parts[:1] if twice == self.question.source else parts  # all pass that before, and none turns there
        return self._cut(box, walk, slowest)

    def _parted(self, walk: Walk, memory: int) -> bool:
        """Whether a walk passes a memory once before it converts and once afterwards."""
        if walk.converting in (None, 0, len(walk.links) - 1):
            return False
        stops = [self.question.source, *self.links.there[list(walk.links)].tolist()]
        return memory in stops[: walk.converting + 1] and memory in stops[walk.converting + 1 :]

    def _twice(self, walk: Walk) -> int | None:
        """A memory that a walk passes twice, by more than a self-loop; None where it is a path."""
        links = self.links
        seen = set() if self.question.home else {self.question.source}
        for link in walk.links:
            there = int(links.there[link])
            if there in seen and not links.loops[link]:
                return there
            seen.add(there)
        loops = [int(links.there[link]) for link in walk.links if links.loops[link]]
        return next((memory for memory in loops if loops.count(memory) > 1), None)

    # ---- where to cut

    def _cut(self, box: Box, walk: Walk, slowest: float) -> tuple[Box, Box]:
        """The two halves of a box, cut where the bound of its walk, whose slowest hop takes so long, rises most."""
        here = self._at(box, walk)
        ways: list[tuple[float, tuple[Box, Box]]] = []
        if box.high > box.low * (1 + 1e-9):
            ways.append(self._gain(box.by_chunk(), walk, here))
        if box.kind is Kind.MIDDLE and self.question.exact:
            low, high = max(box.least_run, self.question.reach.shortest), min(box.most_run, box.high)
            if high > low * (1 + 1e-9):
                ways.append(self._gain(box.by_run(math.sqrt(low * high)), walk, here))
        if slowest > box.least:  # one half leaves this walk out, in the other one it costs more
            gain = slowest - box.least
            if gain > FAR * self.goal:
                ways.append((gain / 2, box.by_slowest(box.least + gain / 2, box.least + gain / 2)))
            else:
                ways.append((gain, box.by_slowest(math.nextafter(slowest, 0.0), slowest)))
        return max(ways, key=lambda way: way[0], default=(0.0, box.by_chunk()))[1]

    def _gain(self, halves: tuple[Box, Box], walk: Walk, here: float) -> tuple[float, tuple[Box, Box]]:
        return min(self._at(half, walk) for half in halves) - here, halves

    def _at(self, box: Box, walk: Walk) -> float:
        """The bound of a walk in a box; infinite where it is not in it."""
        runs = self.question.end_runs(box)
        if runs is None:
            return math.inf
        problem, links = self.problem, self.links
        bounds = [math.inf] * len(walk.links)
        bounds[0], bounds[-1] = min(bounds[0], runs[0]), min(bounds[-1], runs[1])
        if walk.converting is not None:
            bounds[walk.converting] = min(bounds[walk.converting], problem.ends.run)
        total = longest = 0.0
        for link, bound in zip(walk.links, bounds, strict=True):
            chunk = box.low * links.pace(link, min(box.low, bound))
            total, longest = total + links.channels[link].least_setup + chunk, max(longest, chunk)
            if problem.nbytes * links.pace(link, min(box.high, bound)) > box.most * (1 + TIE):
                return math.inf
        floor = box.least * max(0.0, 1 - box.high / problem.nbytes)
        return total + (max(floor, box.least - longest) if self.question.alone else floor)
