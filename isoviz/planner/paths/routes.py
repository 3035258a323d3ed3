"""The paths through a machine that can win: every simple path of channels, less those that another one beats whatever moves.

A path is a sequence of channels with the number of the hop that converts (None: nothing to convert). Its cost depends on no
more than this (DESIGN, section 2): the channel of the first hop, of the converting hop and of the last hop, whose runs the
layouts bound; the channels of the other hops, in any order, whose runs are whole chunks; and the bounds on a slot that its
memories set. So path P beats path Q for every transfer, if the hops of P can be paired with hops of Q of the same role such
that each is at least as fast for every run, costs no more to set up and uses no more of any shared resource, and the
intermediate memories of P are among those of Q. `routes` keeps what no other path beats. The argument holds for beginnings of
paths too, as long as the memories that P has visited are among those that Q has: whatever completes Q completes P. With one
slot between two hops neighbours take turns, so there hops are paired in their order, and only paths of one length.

Nodes that can be exchanged without changing the machine (the nodes of a uniform cluster) are one class: besides the nodes of
the two ends, two of each class stand for all. That makes the search independent of the size of a cluster.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from isoviz.machines import ChannelKind
from isoviz.planner.paths.dominance import CostClasses
from isoviz.planner.paths.node_classes import node_classes
from isoviz.planner.paths.route_search import RouteQuery, RouteSearch
from isoviz.planner.paths.tuning import MOST_MACHINES, RELAYS_PER_CLASS
from isoviz.planner.time.path_time import Pace

if TYPE_CHECKING:
    from isoviz.machines import Channel, Machine


@dataclass(frozen=True)
class Route:
    """Channels from a source to a destination, and the hop that converts (None: none does)."""

    channels: tuple[Channel, ...]
    converting: int | None

    @cached_property
    def names(self) -> tuple[str, ...]:
        """What decides between routes that are equally fast: the names of its channels."""
        return tuple(channel.name for channel in self.channels)

    @cached_property
    def pace(self) -> Pace:
        """What its channels have of their own."""
        return Pace(self.channels)

    def slowest(self, chunk: float) -> float:
        """Seconds that a whole chunk takes in the slowest hop, the one that converts left out; 0 where there is no other."""
        known = self.__dict__.get("_slowest")
        if known is None or known[0] != chunk:  # transfers of many sizes have chunks of one: what a slot holds
            hops = [chunk / function(chunk) for i, function in enumerate(self.pace.functions) if i != self.converting]
            known = self.__dict__["_slowest"] = chunk, max(hops, default=0.0)
        seconds: float = known[1]
        return seconds

    @cached_property
    def has_memcpy(self) -> bool:
        """Whether one of its channels is a Memcpy."""
        return any(channel.kind is ChannelKind.MEMCPY for channel in self.channels)

    @cached_property
    def steps(self) -> tuple[tuple[int, str, str, str, str], ...]:
        """What a plan's hops say of its channels: number, name, kind, and both memories."""
        return tuple((i, each.name, str(each.kind), each.source, each.destination) for i, each in enumerate(self.channels))

    @cached_property
    def inside(self) -> tuple[str, ...]:
        """The memories of its intermediate buffers, in order."""
        return tuple(channel.destination for channel in self.channels[:-1])


class Routes:
    """The routes of one machine, found once for every pair of memories."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.cost_classes = CostClasses(machine)
        self._found: dict[RouteQuery, tuple[tuple[Route, ...] | None, int]] = {}

    def between(self, query: RouteQuery) -> tuple[Route, ...] | None:
        """The routes that can win, fewest hops first, then by names; empty where there is no path, None where they are too many
        to list."""
        return self._listed(query)[0]

    def left_out(self, query: RouteQuery) -> int:
        """How many paths and beginnings of paths were left out because others beat them."""
        return self._listed(query)[1]

    def _listed(self, query: RouteQuery) -> tuple[tuple[Route, ...] | None, int]:
        if query not in self._found:
            search = RouteSearch(self.machine, self.cost_classes, self.nodes(query.source, query.destination), query)
            labels = search.found()
            found = None if labels is None else tuple(Route(label.channels, label.converting) for label in labels)
            self._found[query] = found, search.dominated
        return self._found[query]

    def nodes(self, source: str, destination: str) -> frozenset[int] | None:
        """The nodes worth visiting; None: all."""
        ends = {self.machine.memory(name).node for name in (source, destination)}
        if len(self._classes) == len(self.machine.nodes):
            return None
        relays = [[node for node in alike if node not in ends][:RELAYS_PER_CLASS] for alike in self._classes]
        return frozenset(ends.union(*relays))

    @cached_property
    def _classes(self) -> tuple[tuple[int, ...], ...]:
        return node_classes(self.machine, self.cost_classes)


_ROUTES: OrderedDict[str, Routes] = OrderedDict()


def routes_of(machine: Machine) -> Routes:
    """The routes of a machine, kept for machines that were used last."""
    found = _ROUTES.get(machine.digest)
    if found is None:
        found = _ROUTES[machine.digest] = Routes(machine)
        while len(_ROUTES) > MOST_MACHINES:
            _ROUTES.popitem(last=False)
    return found


def forget_routes() -> None:
    """Forget the routes of all machines; they are found again when they are needed."""
    _ROUTES.clear()
