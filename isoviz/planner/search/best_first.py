"""The best path of a machine that has too many paths to list: branch and bound over boxes, best bound first.

1. The root boxes, one per place of the conversion, together contain every possible decision.
2. A box is finished if its lower bound exceeds the time of the best choice known.
3. A box is also finished if its remaining paths can be listed: each of them is then worked out exactly.
4. Every other box is split in two, where that raises the bound of its best walk most. This walk is worked out exactly as well, so
   a good choice is known early.

The work is polynomial in the size of the machine for any given gap. The search stops when its work is done
(`planner.planning_work`): the least bound of the remaining boxes then says how far from the optimum the best choice can be at
most.
"""

from __future__ import annotations

import heapq
import itertools
import math
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from isoviz.planner.one_path.fewest_hops import FewestHops
from isoviz.planner.one_path.optimum import best_choice, clock_of, with_comparable_chunks
from isoviz.planner.paths.routes import Route
from isoviz.planner.search.bounds import Bounds, ConvertingHop, SearchBox, SearchSpace
from isoviz.planner.search.tuning import (
    ACCEPTED_GAP,
    BATCH_STEPS,
    BOX_STEPS,
    BOXES_PER_BATCH,
    EDGE,
    ENOUGH_ROUTES,
    FIRST_CHUNK_RATIO,
    HALVE_ABOVE,
    LABELS,
    LABELS_PER_MEMORY,
    LINK_STEPS,
    PATIENCE_BOXES,
    RIVAL_CHUNK_RATIO,
    RIVAL_FACTORS,
    SLACK_GROWTH,
    SLACK_STEP,
    TIE,
)
from isoviz.planner.search.walks import best_walk, paths_in

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from isoviz.planner.one_path.choice import Choice
    from isoviz.planner.planning_work import Work
    from isoviz.planner.problem import Problem
    from isoviz.planner.search.walks import Walk


TriedRoute = tuple[Route, "Choice | None"]
"""A route that was worked out, and its best choice."""


FEWEST_BUFFERED = 2
"""The hops of the shortest path with a buffer. Paths without one are all worked out."""


class Outcome(NamedTuple):
    """The result of a search.

    `best` is the choice that wins among those found (`FewestHops`). No choice that would win takes less than `lower` seconds.
    `tried` holds every route that was worked out. `stopped` says whether the work was done first.
    """

    best: Choice | None
    lower: float
    tried: tuple[TriedRoute, ...]
    stopped: bool


class BestFirst:
    """One search; `run` carries it out.

    `nodes` are those that a path may pass through (None: all). `seeds` are routes to begin with. `work` bounds the search and
    counts its steps.
    """

    def __init__(self, problem: Problem, nodes: frozenset[int] | None, seeds: Iterable[Route], work: Work) -> None:
        self.problem = problem
        self.work = problem.work = work
        self.space = SearchSpace(problem, nodes)
        self.links = self.space.links
        self.known = FewestHops(problem)
        self._cap = math.inf
        """The seconds within which a path with few hops would win."""
        self.tried: dict[tuple[tuple[str, ...], int | None], TriedRoute] = {}
        self._number = itertools.count()
        self._most_labels = LABELS + LABELS_PER_MEMORY * len(self.links.memories)
        self._listing_slack = math.inf
        """Boxes whose bound is closer to the goal than this, in seconds, are listed."""
        self._least_seconds = self._global_bound()
        for route in seeds:
            self.work_out(route)

    def _global_bound(self) -> float:
        """A lower bound for every path, in seconds: some channel leads out of the source, and some channel leads into the
        destination."""
        seconds_per_byte = self.links.pace(np.array([math.inf]))[:, 0]
        leaving = self.links.leaving[self.space.source]
        out = seconds_per_byte[leaving.start : leaving.stop].min(initial=math.inf)
        into = seconds_per_byte[self.links.there == self.space.destination].min(initial=math.inf)
        return self.problem.nbytes * float(max(out, into))

    # ---- exact choices

    @property
    def goal(self) -> float:
        """The seconds within which a choice is as good as the best one with as few hops as are looked for."""
        best = self.best
        return self._cap if best is None else min(self._cap, self.problem.with_cost(best) * (1 + TIE))

    @property
    def best(self) -> Choice | None:
        """The fastest choice known with as few hops as are looked for."""
        return self.known.fewest(self.space.hop_limit)

    def work_out(self, route: Route) -> None:
        """Find the best choice of a route, exactly."""
        key = route.names, route.converting
        if key in self.tried:
            return
        clock = clock_of(self.problem, route)
        choice = best_choice(self.problem, route, clock)
        if choice is not None:
            choice = with_comparable_chunks(self.problem, choice, clock)
            self.known.add(choice)
        self.tried[key] = route, choice

    def _work_out(self, walk: Walk) -> None:
        channels = tuple([self.links.channels[link] for link in walk.links])
        last = len(channels) - 1
        ends = (0, last) if self.problem.has_short_runs and walk.converting in (0, last) else (walk.converting,)
        for converting in ends:
            self.work_out(Route(channels, converting))

    # ---- boxes

    def run(self) -> Outcome:
        """Search until no box is left, or until the work is done.

        The first search finds the fastest path. Each further one finds the fastest path with fewer hops than the one before, as
        long as such a path may win.
        """
        self._work_out_direct()
        lower, stopped = self._searched()
        best = self.best
        if best is None:
            return Outcome(None, lower, tuple(self.tried.values()), stopped)
        proved = lower >= self.problem.with_cost(best)
        self._cap = self.known.goal(FEWEST_BUFFERED)
        done = stopped
        while not done and best is not None and len(best.route.channels) > FEWEST_BUFFERED:
            self.space.hop_limit = len(best.route.channels) - 1
            _, done = self._searched()
            best = self.best
            done = done or best is None or self.problem.with_cost(best) > self._cap
        self.space.hop_limit, self._cap = math.inf, math.inf
        winner = self.known.winner
        assert winner is not None
        return Outcome(winner, self.problem.with_cost(winner) if proved else lower, tuple(self.tried.values()), stopped)

    def _searched(self) -> tuple[float, bool]:
        """Search among the paths with as few hops as are looked for: a lower bound of their seconds, and whether the work was
        done first."""
        self._listing_slack = math.inf
        queue: list[tuple[float, int, SearchBox]] = []
        for box in self._root_boxes():
            heapq.heappush(queue, (box.bound, next(self._number), box))
        lower, done, stopped = math.inf, 0, False
        while queue:
            if queue[0][0] > self.goal:
                break
            if done > PATIENCE_BOXES and queue[0][0] >= self.goal * (1 - ACCEPTED_GAP):
                lower = queue[0][0]
                break
            if not self.work.may_continue(self.goal - max(queue[0][0], self._least_seconds), self.work.steps):
                lower, stopped = max(queue[0][0], self._least_seconds), True
                break
            batch = [heapq.heappop(queue)[2] for _ in range(min(BOXES_PER_BATCH, len(queue)))]
            done += len(batch)
            for box in self._expanded(box for box in batch if box.bound <= self.goal):
                heapq.heappush(queue, (box.bound, next(self._number), box))
        best = self.best
        return min(lower, math.inf if best is None else self.problem.with_cost(best)), stopped

    def rivals(self) -> tuple[TriedRoute, ...]:
        """All routes that were worked out, and further good routes in about the chunk of the best choice."""
        best = self.best
        assert best is not None
        near = best.chunk
        for factor in RIVAL_FACTORS:
            goal, found = self.goal * factor, 0
            for kind in self.space.kinds:
                box = SearchBox(
                    kind, max(near / RIVAL_CHUNK_RATIO, self.space.least), min(near * RIVAL_CHUNK_RATIO, self.space.most)
                )
                runs = self.space.end_runs(box)
                if box.chunk_low > box.chunk_high or runs is None:
                    continue
                bounds = Bounds(self.space, [box], [runs])
                for path in paths_in(bounds, 0, goal, self._most_labels, self.work) or ():
                    self._work_out(path.walk)
                    found += 1
            if not found or len(self.tried) >= ENOUGH_ROUTES:
                break
        return tuple(self.tried.values())

    def _work_out_direct(self) -> None:
        """Work out the paths of one hop. They have no buffer, so their chunks may exceed every slot, and no box contains them."""
        converting = 0 if self.problem.ends.converts else None
        for link in self.links.leaving[self.space.source]:
            if self.links.there[link] == self.space.destination:
                self.work_out(Route((self.links.channels[link],), converting))

    def _root_boxes(self) -> Iterable[SearchBox]:
        """Boxes that together contain every decision."""
        low, most = self.space.least, self.space.most
        if max(self.space.slots_of) < self.problem.largest:  # no slot can hold an element
            return
        count = max(1, math.ceil(math.log(most / low) / math.log(FIRST_CHUNK_RATIO))) if most > low else 1
        cuts = [low * (most / low) ** (k / count) for k in range(count)] + [most]
        for kind in self.space.kinds:
            for least, largest in itertools.pairwise(cuts):
                yield SearchBox(kind, least, largest)

    def _expanded(self, boxes: Iterable[SearchBox]) -> Iterable[SearchBox]:
        """The boxes that remain of some boxes."""
        groups: dict[bool, list[tuple[SearchBox, tuple[float, float]]]] = {}
        for box in boxes:
            runs = self.space.end_runs(box)
            if runs is not None:
                groups.setdefault(box.kind is ConvertingHop.MIDDLE, []).append((box, runs))
        for group in groups.values():
            self.work.add(BATCH_STEPS + len(group) * (BOX_STEPS + LINK_STEPS * len(self.links.channels)))
            bounds = Bounds(self.space, [box for box, _ in group], [runs for _, runs in group])
            for column in sorted(range(len(group)), key=lambda column: bounds.lower[column]):
                yield from self._children(bounds, column)

    def _children(self, bounds: Bounds, column: int) -> Sequence[SearchBox]:
        """The boxes that remain of one box: none, or two halves."""
        box = bounds.boxes[column]
        lower = max(box.bound, bounds.lower[column])
        if lower > self.goal or math.isinf(lower):
            return ()
        walk, slowest = best_walk(bounds, column)
        repeated = self._repeated_memory(walk)
        if repeated is None:
            self._work_out(walk)
            if lower > self.goal:
                return ()
        slack = self.goal - lower
        if slack <= self._listing_slack:
            paths = paths_in(bounds, column, self.goal, self._most_labels, self.work)
            if paths is not None:
                self._listing_slack = max(self._listing_slack, slack * SLACK_STEP)
                for path in paths:
                    if path.bound > self.goal:
                        break
                    if self.work.is_done:
                        return (box,)
                    self._work_out(path.walk)
                return ()
            self._listing_slack = slack / SLACK_STEP
        else:
            self._listing_slack *= SLACK_GROWTH
        left = 1 - box.chunk_high / self.problem.nbytes
        most = box.slowest_high
        if left > 0:  # with a slower hop T would exceed the goal
            most = min(most, (self.goal - bounds.lower[column] + float(bounds.floor[column])) / left * (1 + TIE))
        box = replace(box, bound=lower, slowest_high=most)
        if repeated is not None and self._on_both_sides(walk, repeated):
            parts = box.split_at_memory(repeated)
            return parts[:1] if repeated == self.space.source else parts  # every path begins at the source
        return self._split(box, walk, slowest)

    def _on_both_sides(self, walk: Walk, memory: int) -> bool:
        """Whether a walk passes a memory before it converts and again afterwards."""
        if walk.converting in (None, 0, len(walk.links) - 1):
            return False
        stops = [self.space.source, *self.links.there[list(walk.links)].tolist()]
        return memory in stops[: walk.converting + 1] and memory in stops[walk.converting + 1 :]

    def _repeated_memory(self, walk: Walk) -> int | None:
        """A memory that a walk passes twice other than by a self-loop; None where the walk is a path."""
        links = self.links
        seen = set() if self.space.home else {self.space.source}
        for link in walk.links:
            there = int(links.there[link])
            if there in seen and not links.loops[link]:
                return there
            seen.add(there)
        loops = [int(links.there[link]) for link in walk.links if links.loops[link]]
        return next((memory for memory in loops if loops.count(memory) > 1), None)

    # ---- where to cut

    def _split(self, box: SearchBox, walk: Walk, slowest: float) -> tuple[SearchBox, SearchBox]:
        """The two halves of a box, split where the bound of its best walk rises most; `slowest` is the time of the walk's slowest
        hop."""
        here = self._walk_bound(box, walk)
        splits: list[tuple[float, tuple[SearchBox, SearchBox]]] = []
        if box.chunk_high > box.chunk_low * (1 + EDGE):
            splits.append(self._gain(box.split_by_chunk(), walk, here))
        if box.kind is ConvertingHop.MIDDLE and self.space.exact:
            low, high = max(box.run_low, self.space.reach.shortest), min(box.run_high, box.chunk_high)
            if high > low * (1 + EDGE):
                splits.append(self._gain(box.split_by_run(math.sqrt(low * high)), walk, here))
        if slowest > box.slowest_low:  # one half excludes this walk, in the other half it costs more
            gain = slowest - box.slowest_low
            if gain > HALVE_ABOVE * self.goal:
                splits.append((gain / 2, box.split_by_slowest(box.slowest_low + gain / 2, box.slowest_low + gain / 2)))
            else:
                splits.append((gain, box.split_by_slowest(math.nextafter(slowest, 0.0), slowest)))
        return max(splits, key=lambda split: split[0], default=(0.0, box.split_by_chunk()))[1]

    def _gain(self, halves: tuple[SearchBox, SearchBox], walk: Walk, here: float) -> tuple[float, tuple[SearchBox, SearchBox]]:
        return min(self._walk_bound(half, walk) for half in halves) - here, halves

    def _walk_bound(self, box: SearchBox, walk: Walk) -> float:
        """The bound of a walk in a box; infinite where the walk is not in the box."""
        runs = self.space.end_runs(box)
        if runs is None:
            return math.inf
        problem, links = self.problem, self.links
        bounds, gaps = [math.inf] * len(walk.links), [float(problem.nbytes)] * len(walk.links)
        bounds[0], bounds[-1] = min(bounds[0], runs[0]), min(bounds[-1], runs[1])
        gaps[0], gaps[-1] = min(gaps[0], problem.end_runs[0]), min(gaps[-1], problem.end_runs[1])
        if walk.converting is not None:
            bounds[walk.converting] = min(bounds[walk.converting], problem.ends.run)
        total = longest = 0.0
        for link, bound, gap in zip(walk.links, bounds, gaps, strict=True):
            chunk = box.chunk_low * links.pace_of(link, box.chunk_low, bound, gap)
            total, longest = total + links.channels[link].least_setup + chunk, max(longest, chunk)
            if problem.nbytes * links.pace_of(link, box.chunk_high, bound, gap) > box.slowest_high * (1 + TIE):
                return math.inf
        floor = box.slowest_low * max(0.0, 1 - box.chunk_high / problem.nbytes)
        return total + (max(floor, box.slowest_low - longest) if self.space.alone else floor)
