"""The paths in a box: the walk that gives the bound of the box, and all paths that may be better than the best one known."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from isoviz.planner.search.bounds import ConvertingHop
from isoviz.planner.search.tuning import EDGE, LABEL_STEPS, LISTED_LINK_STEPS, MOST_PATHS

if TYPE_CHECKING:
    from collections.abc import Hashable

    from isoviz.planner.planning_work import Work
    from isoviz.planner.search.bounds import Bounds
    from isoviz.planner.time.path_time import Floats


class Walk(NamedTuple):
    """Numbers of channels, and the position of the one that converts (None: none does)."""

    links: tuple[int, ...]
    converting: int | None


def best_walk(bounds: Bounds, column: int) -> tuple[Walk, float]:
    """The walk that gives the bound of a box, and the seconds that its slowest hop takes."""
    space, links = bounds.space, bounds.space.links
    left = len(bounds.tables) - 1
    """Where there are tables, the hops between two buffers that may follow."""
    after, before = bounds.onward(column, left)
    leaving = bounds.leaving
    start = bounds.first.total[leaving.start : leaving.stop, column] + before[links.there[leaving.start : leaving.stop]]
    found = [leaving.start + int(np.argmin(start))]
    slowest = float(bounds.first.slowest[found[0], column])
    converted = None if bounds.middle else _end(bounds.boxes[column].kind)
    done = not bounds.middle
    for _ in range(2 * len(links.memories) + 2):
        left -= 1
        after, before = bounds.onward(column, left)
        at = links.leaving[int(links.there[found[-1]])]
        next_memories = links.there[at.start : at.stop]
        inner = bounds.inner.total[at.start : at.stop, column]
        if not done and bounds.converting is not None:
            stay = inner + before[next_memories]
            convert = bounds.converting.total[at.start : at.stop, column] + after[next_memories]
            best, other = int(np.argmin(stay)), int(np.argmin(convert))
            if convert[other] <= stay[best]:
                best, done, converted = other, True, len(found)
            found.append(at.start + best)
            costs = bounds.converting if converted == len(found) - 1 else bounds.inner
            slowest = max(slowest, float(costs.slowest[found[-1], column]))
            continue
        stay = inner + after[next_memories]
        last = np.where(next_memories == space.destination, bounds.last.total[at.start : at.stop, column], np.inf)
        best, other = int(np.argmin(stay)), int(np.argmin(last))
        if last[other] <= stay[best]:
            found.append(at.start + other)
            slowest = max(slowest, float(bounds.last.slowest[found[-1], column]))
            break
        found.append(at.start + best)
        slowest = max(slowest, float(bounds.inner.slowest[found[-1], column]))
    return Walk(tuple(found), len(found) - 1 if converted == -1 else converted), slowest


def _end(kind: ConvertingHop) -> int | None:
    """The hop that converts, where it is an end hop; −1 is the last hop."""
    return {ConvertingHop.FIRST: 0, ConvertingHop.LAST: -1}.get(kind)


class BoundedWalk(NamedTuple):
    """A path with its lower bound in a box."""

    bound: float
    walk: Walk


class _Label(NamedTuple):
    """The beginning of a path.

    `total` is its cost so far, `slowest` what its slowest hop adds, both in seconds. `visited` and `loops` are the memories and
    self-loops that it has used.
    """

    links: tuple[int, ...]
    at: int
    converting: int | None
    total: float
    slowest: float
    visited: frozenset[int]
    loops: frozenset[int]


def paths_in(bounds: Bounds, column: int, goal: float, most: int, work: Work) -> list[BoundedWalk] | None:
    """All paths of a box that may take at most `goal` seconds, best first; None where more than `most` beginnings are needed.

    Of paths whose hops cost the same in every role one stands for all: the one with the fewest hops, then the first names in
    order. Its steps are added to `work`.
    """
    listing = _PathListing(bounds, column, goal, most)
    found = listing.run()
    work.add(LISTED_LINK_STEPS * len(bounds.space.links.channels) + LABEL_STEPS * listing.tried)
    return found


class _PathListing:
    """One listing of the paths in a box, label by label."""

    def __init__(self, bounds: Bounds, column: int, goal: float, most: int) -> None:
        self.bounds, self.column, self.goal, self.most = bounds, column, goal, most
        self.space, self.links = bounds.space, bounds.space.links
        self.box = bounds.boxes[column]
        self.cost_class = self.links.cost_class
        self.here, self.there = self.links.here.tolist(), self.links.there.tolist()
        self.floor = float(bounds.floor[column])
        self.inner = self._column(bounds.inner.total), self._column(bounds.inner.rest)
        self.last = self._column(bounds.last.total), self._column(bounds.last.rest)
        self.convert = self.inner
        self.least_convert = 0.0
        if bounds.converting is not None:
            self.convert = self._column(bounds.converting.total), self._column(bounds.converting.rest)
            self.least_convert = min(self.convert[0])
        self.after, self.before = bounds.after[column].tolist(), bounds.before[column].tolist()
        self.leaving = self._useful_channels()
        self.bounded = not self.space.problem.uniform_slots or self.space.problem.memory_limit is not None
        self.complete: dict[Hashable, list[tuple[frozenset[int], BoundedWalk]]] = {}
        self.count = 0
        self.tried = 0
        """The beginnings of paths so far."""
        self.seen: dict[Hashable, list[_Label]] = {}

    def _useful_channels(self) -> list[list[int]]:
        """For every memory, the channels that lead from it to a path within the goal."""
        bounds, column, links = self.bounds, self.column, self.links
        after, before = bounds.after[column][links.there], bounds.before[column][links.there]
        totals = bounds.inner.total[:, column] + np.minimum(after, before)
        if bounds.converting is not None:
            totals = np.minimum(totals, bounds.converting.total[:, column] + after)
        totals[bounds.entering] = np.minimum(totals[bounds.entering], bounds.last.total[bounds.entering, column])
        leaving = bounds.first.total[bounds.leaving.start : bounds.leaving.stop, column]
        useful = np.flatnonzero(totals + leaving.min() + self.floor <= self.goal)
        found: list[list[int]] = [[] for _ in links.memories]
        for link, here in zip(useful.tolist(), links.here[useful].tolist(), strict=True):
            found[here].append(link)
        return found

    def _column(self, values: Floats) -> list[float]:
        found: list[float] = values[:, self.column].tolist()
        return found

    def run(self) -> list[BoundedWalk] | None:
        source = self.space.source
        total, rest = self._column(self.bounds.first.total), self._column(self.bounds.first.rest)
        converting = 0 if self.box.kind is ConvertingHop.FIRST else None
        start = frozenset((source,))
        labels: list[_Label] = []
        for link in self.bounds.leaving:
            at = self.there[link]
            if total[link] + self.before[at] + max(rest[link], self.floor) <= self.goal:
                loops = start if at == source else frozenset()
                label = _Label((link,), at, converting, total[link], rest[link], start | {at}, loops)
                labels += self._unless_dominated(label)
        self.tried = len(labels)
        while labels:
            onwards: list[_Label] = []
            for label in labels:
                onwards += self._extended(label)
                if self.tried + len(onwards) > self.most or self.count > MOST_PATHS:
                    self.tried += len(onwards)
                    return None
            self.tried += len(onwards)
            labels = onwards
        found = [each for several in self.complete.values() for _, each in several]
        return sorted(found, key=lambda each: (each.bound, len(each.walk.links)))

    def _extended(self, label: _Label) -> list[_Label]:
        """The label extended by one hop between two buffers, in every way; complete paths are recorded."""
        space, box = self.space, self.box
        here, source, destination = label.at, space.source, space.destination
        ready = box.kind is not ConvertingHop.MIDDLE or label.converting is not None
        rest = self.after if ready else self.before
        limit = self.goal
        found: list[_Label] = []
        for link in self.leaving[here]:
            there = self.there[link]
            if there == here:
                if here in label.loops:
                    continue
            elif there in label.visited and not (there == destination == source):
                continue
            elif here == source == destination and len(label.visited) > 1:
                continue  # the path has returned to its source: only a self-loop may follow
            if there == destination and ready:
                total = label.total + self.last[0][link]
                slowest = max(label.slowest, self.last[1][link])
                if total + max(slowest, self.floor) <= limit:
                    self._complete(label, link, total + max(slowest, self.floor))
            if there != here or space.paired:
                total, slowest = label.total + self.inner[0][link], max(label.slowest, self.inner[1][link])
                if total + rest[there] + max(slowest, self.floor) <= limit:
                    found += self._unless_dominated(self._one_more_hop(label, link, total, slowest, label.converting))
            if not ready:
                total, slowest = label.total + self.convert[0][link], max(label.slowest, self.convert[1][link])
                if total + self.after[there] + max(slowest, self.floor) <= limit:
                    found += self._unless_dominated(self._one_more_hop(label, link, total, slowest, len(label.links)))
        return found

    def _one_more_hop(self, label: _Label, link: int, total: float, slowest: float, converting: int | None) -> _Label:
        there = self.there[link]
        loops = label.loops | {there} if there == label.at else label.loops
        return _Label((*label.links, link), there, converting, total, slowest, label.visited | {there}, loops)

    def _inside(self, links: tuple[int, ...]) -> list[str]:
        return [self.links.memories[self.there[link]] for link in links]

    def _unless_dominated(self, label: _Label) -> list[_Label]:
        """The label as a list; empty where its buffers do not fit the limits, or where another label dominates it."""
        space = self.space
        if len(label.links) >= space.hop_limit:  # its last hop is to come
            return []
        if self.bounded and space.problem.limit(self._inside(label.links)) < self.box.chunk_low * (1 - EDGE):
            return []
        middle = self.box.kind is ConvertingHop.MIDDLE
        key = label.at, label.converting is not None, self._signature(label.links, label.converting)
        alike = self.seen.setdefault(key, [])
        free = space.problem.uniform_slots and not space.paired
        for other in alike:
            if free and not middle:
                return []
            if other.visited <= label.visited and other.loops <= label.loops:
                return []
            # A completion of the label completes the other one too, except in one case: after converting it returns to a memory
            # that the other one passed before. The cycle would then contain the conversion, so it cannot be left out.
            converted = label.converting is not None
            been = self._before(other) if converted else other.visited
            convert = 0.0 if converted else self.least_convert
            again = label.at in other.loops and label.at not in label.loops
            if (
                free
                and not again
                and all(label.total + convert + self.after[memory] + self.floor > self.goal for memory in been - label.visited)
            ):
                return []
        alike.append(label)
        return [label]

    def _before(self, label: _Label) -> frozenset[int]:
        """The memories that a beginning passes until it converts."""
        return frozenset((self.space.source, *(self.there[link] for link in label.links[: label.converting])))

    def _signature(self, links: tuple[int, ...], converting: int | None, *, whole: bool = False) -> Hashable:
        """The key that determines the cost of a path or of a beginning: the cost classes of its hops by role."""
        cost_classes = [self.cost_class[link] for link in links]
        if self.space.paired:
            return tuple(cost_classes), converting
        named = sorted({0, converting or 0, len(cost_classes) - 1 if whole else 0})
        roles = tuple([cost_classes[hop] for hop in named])
        others = tuple(sorted([cost_class for hop, cost_class in enumerate(cost_classes) if hop not in named]))
        return roles, others, converting == 0, converting == len(cost_classes) - 1

    def _complete(self, label: _Label, link: int, bound: float) -> None:
        links = (*label.links, link)
        converting = len(links) - 1 if self.box.kind is ConvertingHop.LAST else label.converting
        same = self.complete.setdefault(self._signature(links, converting, whole=True), [])
        inside = frozenset(self.there[each] for each in links[:-1])
        if any(self.space.problem.uniform_slots or other <= inside for other, _ in same):
            return
        same.append((inside, BoundedWalk(bound, Walk(links, converting))))
        self.count += 1
