"""The search for the undominated routes from one memory to another (`routes` has the argument)."""

from __future__ import annotations

import heapq
import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from isoviz.machines.throughput import Constant, LatencyBandwidth, Sampled

if TYPE_CHECKING:
    from isoviz.machines import Channel, Machine, OneTimeCost
    from isoviz.machines.throughput import ThroughputFunction


# The cost of a channel, and dominance between channels: one costs at most as much as another, for every transfer.


def at_least_as_fast(f: ThroughputFunction, g: ThroughputFunction) -> bool:
    """Whether f(r) ≥ g(r) is known to hold for every run r of a byte or more."""
    if f is g or f == g:
        return True
    if isinstance(f, Constant | LatencyBandwidth) and isinstance(g, Constant | LatencyBandwidth):
        return f.bandwidth >= g.bandwidth and getattr(f, "latency", 0.0) <= getattr(g, "latency", 0.0)
    if isinstance(f, Sampled | Constant) and isinstance(g, Sampled | Constant):
        # Both are linear in log-log between their samples, have slope 1 before them and are flat after them.
        return all(f(run) >= g(run) for run in {run for h in (f, g) for run, _ in h.samples})
    return False


Further = tuple[tuple["OneTimeCost", ...], int | None, float, bool]
"""A channel's one-time costs besides set-up, its descriptors per request, the seconds of each request, and whether its requests
are windows."""


class ChannelCost(NamedTuple):
    """The cost of a channel; channels of equal cost are interchangeable."""

    throughput: ThroughputFunction
    layout_rates: ThroughputFunction
    setup: float
    conversion_setup: float
    further: Further
    resources: tuple[tuple[str, float], ...]

    def dominates(self, other: ChannelCost) -> bool:
        """Whether it is at least as fast for every run, costs no more to set up and per request, and uses no more of any shared
        resource."""
        if self._costs_more(other) or not _no_further(self.further, other.further):
            return False
        if self.resources:
            theirs = dict(other.resources)
            if any(weight > theirs.get(name, 0.0) for name, weight in self.resources):
                return False
        if not at_least_as_fast(self.throughput, other.throughput):
            return False
        plain = self.layout_rates is self.throughput and other.layout_rates is other.throughput
        return plain or at_least_as_fast(self.layout_rates, other.layout_rates)

    def _costs_more(self, other: ChannelCost) -> bool:
        """Whether its set-up may take longer."""
        return self.setup > other.setup or self.setup + self.conversion_setup > other.setup + other.conversion_setup


def _no_further(here: Further, there: Further) -> bool:
    """Whether a channel pays no further costs that the other one does not pay as well."""
    if here == there:
        return True
    costs, descriptors, seconds, has_windows = here
    if (costs and costs != there[0]) or seconds > there[2]:
        return False
    if descriptors is None or not (seconds or any(cost.per == "request" for cost in costs)):
        return True
    if has_windows or there[3]:
        return False  # what a window holds depends on the runs of both ends
    return there[1] is not None and descriptors >= there[1]


class CostClasses:
    """The channels of a machine grouped by cost; every class has a number."""

    def __init__(self, machine: Machine) -> None:
        numbers: dict[ChannelCost, int] = {}
        self._of: dict[str, int] = {}
        by_parts: dict[tuple[object, ...], int] = {}
        for channel in machine.channels:
            setups = channel.setup, channel.conversion_setup
            further = channel.costs, channel.descriptors, channel.request_seconds, channel.has_windows
            functions = channel.throughput, channel.layout_rates
            parts = (id(functions[0]), id(functions[1]), setups, further, channel.resources)  # most channels share theirs
            number = by_parts.get(parts)
            if number is None:
                used = tuple(sorted(use for use in channel.resources if use[1] > 0))
                number = numbers.setdefault(ChannelCost(*functions, *setups, further, used), len(numbers))
                by_parts[parts] = number
            self._of[channel.name] = number
        self._costs = tuple(numbers)

    def __len__(self) -> int:
        return len(self._costs)

    @cached_property
    def dominates(self) -> list[list[bool]]:
        """`dominates[i][j]`: whether class i costs at most as much as class j in every respect."""
        return [[here.dominates(there) for there in self._costs] for here in self._costs]

    def of(self, channel: Channel) -> int:
        """The cost class of a channel."""
        return self._of[channel.name]


# The numbers that decide which machines get a list of their undominated routes, and how many lists are cached.

MOST_LABELS = 1000
"""Beginnings of routes that a list may need. More take longer than many transfers: the machine is searched instead."""
MOST_COST_CLASSES = 24
"""Channels of different cost that a machine with a list may have: with more of them few routes dominate others."""
RELAYS_PER_CLASS = 2
"""Interchangeable nodes, besides those of the ends, that a path may pass through: two relays of one class are the most that a
path with one conversion can use, one before it and one after it."""
MOST_MACHINES = 8
"""The routes of this many machines are cached, those used last."""


class RouteQuery(NamedTuple):
    """The ends of a route, and the properties of a transfer that affect dominance.

    `converts`: the two ends have different orders. `uniform_slots`: every memory bounds a slot alike, so a path may dominate
    another one through other memories. `whole`: only the conversion bounds the runs of an end hop, because everything moves, in
    elements of one size. `paired`: neighbouring hops take turns, with one slot between them; then the order of hops matters, and
    a further copy between two hops can pay.
    """

    source: str
    destination: str
    converts: bool
    uniform_slots: bool
    whole: bool
    paired: bool


class Label(NamedTuple):
    """The beginning of a route, or a complete route, with its costs as cost classes.

    `others` holds the classes of all hops but the first and the converting one, in ascending order. `loops` holds the memories
    whose self-loop the route has taken.
    """

    channels: tuple[Channel, ...]
    converting: int | None
    visited: frozenset[str]
    cost_classes: tuple[int, ...]
    others: tuple[int, ...]
    loops: frozenset[str]

    @property
    def key(self) -> tuple[int, tuple[str, ...]]:
        """Fewer hops first, then names in order."""
        return len(self.channels), tuple(channel.name for channel in self.channels)


class RouteSearch:
    """One search; `found()` returns the channels and the converting hop of every undominated route."""

    def __init__(self, machine: Machine, cost_classes: CostClasses, nodes: frozenset[int] | None, query: RouteQuery) -> None:
        self.machine = machine
        self.cost_classes = cost_classes
        self.nodes = nodes
        self.query = query
        self.dominated = 0
        """The number of routes and beginnings that were dominated."""
        self._steps_from: dict[str, tuple[Channel, ...]] = {}

    def found(self) -> list[Label] | None:
        """All undominated routes; None where they are too many to list."""
        if len(self.cost_classes) > MOST_COST_CLASSES:
            return None
        query = self.query
        complete: list[Label] = []
        known: dict[tuple[str, bool, bool], list[Label]] = {}
        number = itertools.count()
        start = Label((), None, frozenset((query.source,)), (), (), frozenset())
        queue = [(start.key, next(number), start)]
        labels = 0
        while queue:
            _, _, label = heapq.heappop(queue)
            at = label.channels[-1].destination if label.channels else query.source
            if label.channels:
                same = known.setdefault((at, label.converting is not None, label.converting == 0), [])
                if any(self._prefix_dominates(other, label) for other in same) or self._is_hopeless(label, complete):
                    self.dominated += 1
                    continue
                same.append(label)
                labels += 1
                if labels > MOST_LABELS:
                    return None
            for channel in self._steps(at):
                for extended in self._extended(label, channel):
                    if channel.destination == query.destination and (extended.converting is not None) == query.converts:
                        complete.append(extended)
                    if self.machine.memory(channel.destination).holds_buffers:
                        heapq.heappush(queue, (extended.key, next(number), extended))
        kept = self._undominated(sorted(complete, key=lambda label: label.key))
        self.dominated += len(complete) - len(kept)
        return sorted(kept, key=lambda label: label.key)

    def _steps(self, at: str) -> tuple[Channel, ...]:
        """The channels out of a memory, without those that a parallel channel dominates. Of equal ones the first name stays."""
        found = self._steps_from.get(at)
        if found is None:
            parallel: dict[str, list[Channel]] = {}
            for channel in self.machine.outgoing(at):
                there = channel.destination
                if self.nodes is None or there == self.query.destination or self.machine.memory(there).node in self.nodes:
                    parallel.setdefault(there, []).append(channel)
            found = self._steps_from[at] = tuple(channel for each in parallel.values() for channel in self._fastest(each))
        return found

    def _fastest(self, parallel: list[Channel]) -> list[Channel]:
        if len(parallel) == 1:
            return parallel
        kept: list[tuple[int, Channel]] = []
        dominates = self.cost_classes.dominates
        for channel in sorted(parallel, key=lambda channel: channel.name):
            here = self.cost_classes.of(channel)
            if not any(dominates[other][here] for other, _ in kept):
                kept = [(other, each) for other, each in kept if not dominates[here][other]]
                kept.append((here, channel))
        return [channel for _, channel in kept]

    def _extended(self, label: Label, channel: Channel) -> Iterator[Label]:
        """The label with one more hop: one that converts, and one that does not."""
        query, here, there = self.query, channel.source, channel.destination
        if channel.is_self_loop:
            if here in label.loops:
                return
        elif there in label.visited and not (there == query.destination == query.source != here):
            return
        elif here == query.source == query.destination and label.visited - {here}:
            return  # the route has returned to its source: only a self-loop may follow
        hop, cost_class = len(label.channels), self.cost_classes.of(channel)
        visited, channels = label.visited | {there}, (*label.channels, channel)
        cost_classes = (*label.cost_classes, cost_class)
        loops = label.loops | {here} if channel.is_self_loop else label.loops
        if query.converts and label.converting is None:
            yield Label(channels, hop, visited, cost_classes, label.others, loops)
        if channel.is_self_loop and there != query.destination and hop > 0 and not query.paired:
            return  # between two buffers, a self-loop that does not convert is only a detour
        others = tuple(sorted((*label.others, cost_class))) if hop > 0 else ()
        yield Label(channels, label.converting, visited, cost_classes, others, loops)

    # ---- dominance

    def _prefix_dominates(self, a: Label, b: Label) -> bool:
        """Whether every completion of b also completes a, at no more cost.

        A completion of b may pass a memory that a has passed. Then a with this completion has a cycle, and leaving the cycle out
        only saves. There are three exceptions: the cycle would contain the conversion, memories bound slots differently, or the
        order of hops matters.
        """
        free = (
            self.query.uniform_slots and a.converting is not None and not self.query.paired and self._cycle_cannot_convert(a, b)
        )
        if not free and (not a.visited <= b.visited or a.loops - b.loops):
            return False
        if self.query.paired:
            return a.converting == b.converting and self._each(a.cost_classes, b.cost_classes)
        dominates = self.cost_classes.dominates
        if not dominates[a.cost_classes[0]][b.cost_classes[0]]:
            return False
        if a.converting and b.converting and not dominates[a.cost_classes[a.converting]][b.cost_classes[b.converting]]:
            return False
        return self._covers(a.others, b.others)

    def _is_hopeless(self, label: Label, complete: list[Label]) -> bool:
        """Whether a complete route dominates every completion of a label that converts in its first hop.

        Then only that hop is bounded by its runs, and what completes the label adds further hops. So it is enough that the
        complete route needs no more than the label already has.
        """
        query = self.query
        if label.converting != 0 or query.paired or not query.whole:
            return False
        at, others = label.cost_classes[0], tuple(sorted(label.cost_classes[1:]))
        inside = Counter(channel.destination for channel in label.channels)
        dominates = self.cost_classes.dominates
        return any(
            other.converting == 0
            and len(other.channels) > 1
            and dominates[other.cost_classes[0]][at]
            and (query.uniform_slots or not Counter(channel.destination for channel in other.channels[:-1]) - inside)
            and self._covers(tuple(sorted(other.cost_classes[1:])), others)
            for other in complete
        )

    def _cycle_cannot_convert(self, a: Label, b: Label) -> bool:
        """Whether no cycle of a with a completion of b can contain the conversion.

        That holds if a completion of b leads to no memory that a passed before it converted, and takes no self-loop at the end of
        a that a has taken.
        """
        before = {self.query.source, *(channel.destination for channel in a.channels[: a.converting])}
        return before <= b.visited and a.channels[-1].destination not in a.loops - b.loops

    def _undominated(self, complete: list[Label]) -> list[Label]:
        """The complete routes that no other one dominates; here the last hop has a role of its own. Of equal routes the first
        stays."""
        kept: list[Label] = []
        roles = {id(label): _roles(label, self.query.whole) for label in complete}
        inside = {id(label): Counter(channel.destination for channel in label.channels[:-1]) for label in complete}

        def dominates(a: Label, b: Label) -> bool:
            if not self.query.uniform_slots and inside[id(a)] - inside[id(b)]:
                return False
            if self.query.paired:
                return a.converting == b.converting and self._each(a.cost_classes, b.cost_classes)
            ours, theirs = roles[id(a)], roles[id(b)]
            return (
                ours.shape == theirs.shape and self._each(ours.named, theirs.named) and self._covers(ours.others, theirs.others)
            )

        for label in complete:
            if not any(dominates(other, label) for other in kept):
                kept = [other for other in kept if not dominates(label, other)]
                kept.append(label)
        return kept

    def _each(self, ours: Sequence[int], theirs: Sequence[int]) -> bool:
        dominates = self.cost_classes.dominates
        return len(ours) == len(theirs) and all(dominates[x][y] for x, y in zip(ours, theirs, strict=True))

    def _covers(self, ours: Sequence[int], theirs: Sequence[int]) -> bool:
        """Whether each of our hops can be paired with a different one of theirs that it dominates."""
        if len(ours) > len(theirs):
            return False
        if not ours:
            return True
        first, rest = ours[0], ours[1:]
        tried = set()
        for i, cost_class in enumerate(theirs):
            if cost_class not in tried and self.cost_classes.dominates[first][cost_class]:
                tried.add(cost_class)
                if self._covers(rest, (*theirs[:i], *theirs[i + 1 :])):
                    return True
        return False


class _Roles(NamedTuple):
    """The cost classes of a complete route by role; `shape` says which roles exist."""

    shape: str
    named: tuple[int, ...]
    others: tuple[int, ...]


def _roles(label: Label, whole: bool) -> _Roles:
    cost_classes, at = label.cost_classes, label.converting
    last = len(cost_classes) - 1
    if last == 0:
        return _Roles("one", cost_classes, ())
    shape = "none" if at is None else "first" if at == 0 else "last" if at == last else "middle"
    if shape == "middle" or not whole:
        named: tuple[int, ...] = (0, last) if at in (None, 0, last) else (0, at, last)
    else:  # only the converting hop has bounded runs, all others move whole chunks
        named = () if at is None else (at,)
    others = [cost_class for i, cost_class in enumerate(cost_classes) if i not in named]
    return _Roles(shape, tuple(cost_classes[i] for i in named), tuple(sorted(others)))
