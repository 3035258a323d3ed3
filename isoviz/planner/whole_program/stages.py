"""The network through which the program sends one unit: the channels of a machine by the roles that they may have on a path.

A path is a sequence of hops. The layouts bound three of them: the first, the last, and the one that converts. So every channel
becomes several arcs between *states*. The states are the start, each memory before the conversion (`before`), each memory after
it (`after`), and the goal. An arc from `before` to `after` converts between two buffers. Where there is something to convert,
each path from start to goal passes exactly one arc that converts.

A memory may be passed twice, before and after its self-loop. A self-loop is an arc out of the start, into the goal, or from
`before` to `after`. Between two buffers of one memory with the same layout it would only be a detour; without such arcs there are
fewer rows and fewer buffers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from isoviz.planner.paths.routes import routes_of

if TYPE_CHECKING:
    from isoviz.machines import Channel, Machine

LayeredNode = tuple[str, str]
"""A memory and a side: "before" or "after" the conversion, "start" or "goal"."""


class Role(StrEnum):
    """The role of a channel on a path."""

    ONLY = "only"
    FIRST = "first"
    MIDDLE = "middle"
    BETWEEN = "between"
    LAST = "last"


@dataclass(frozen=True)
class Arc:
    """A channel in a role, from one state to another; `converts` says whether this hop converts the layout."""

    number: int
    channel: Channel
    role: Role
    converts: bool
    source: LayeredNode
    destination: LayeredNode

    @property
    def name(self) -> str:
        """Its name in the program: unique, and without characters that LP files do not allow."""
        suffix = "_converts" if self.converts else ""
        return f"use_{self.number}_{self.role}{suffix}"

    @property
    def fills(self) -> str | None:
        """The memory in which it fills a buffer; None where it leads to the goal."""
        return None if self.destination[1] == "goal" else self.destination[0]


@dataclass(frozen=True)
class Stages:
    """The arcs of one transfer that lie on a way from the start to the goal."""

    arcs: tuple[Arc, ...]
    start: LayeredNode
    goal: LayeredNode

    @property
    def states(self) -> tuple[LayeredNode, ...]:
        """All states, in order of first mention."""
        return tuple(dict.fromkeys(state for arc in self.arcs for state in (arc.source, arc.destination)))


def stages_of(machine: Machine, here: str, there: str, converts: bool) -> Stages:
    """The arcs of a transfer between two memories; none where no channels lead to the destination."""
    start, goal = (here, "start"), (there, "goal")
    nodes = routes_of(machine).nodes(here, there)
    arcs: list[Arc] = []
    for channel in machine.channels:
        ends = {channel.source, channel.destination} - {here, there}
        if nodes is None or all(machine.memory(name).node in nodes for name in ends):
            for role, converts_here, source, destination in _uses(channel, start, goal, converts):
                if destination == goal or machine.memory(destination[0]).holds_buffers:
                    arcs.append(Arc(len(arcs), channel, role, converts_here, source, destination))
    ahead = _reached(start, [(arc.source, arc.destination) for arc in arcs])
    behind = _reached(goal, [(arc.destination, arc.source) for arc in arcs])
    kept = [arc for arc in arcs if arc.source in ahead and arc.destination in behind]
    return Stages(tuple(kept), start, goal)


def _uses(
    channel: Channel, start: LayeredNode, goal: LayeredNode, converts: bool
) -> Iterator[tuple[Role, bool, LayeredNode, LayeredNode]]:
    """The roles that a channel may have, each with the information whether it converts, and the states that it joins."""
    a, b, here, there = channel.source, channel.destination, start[0], goal[0]
    if (a, b) == (here, there):
        yield Role.ONLY, converts, start, goal
    if b == here != there and not channel.is_self_loop:
        return  # a path never returns to its source
    before, after = ("before" if converts else "after"), "after"
    for converts_here in (False, True) if converts else (False,):
        if a == here:
            yield Role.FIRST, converts_here, start, (b, after if converts_here else before)
        if b == there:
            yield Role.LAST, converts_here, (a, before if converts_here else after), goal
    if not channel.is_self_loop:
        for side in dict.fromkeys((before, after)):
            yield Role.MIDDLE, False, (a, side), (b, side)
    if converts:
        yield Role.BETWEEN, True, (a, before), (b, after)


def route_of(stages: Stages, used: Sequence[Arc]) -> tuple[Arc, ...]:
    """The arcs of a solution in their order from the start to the goal."""
    following = {arc.source: arc for arc in used}
    found: list[Arc] = []
    at = stages.start
    while at != stages.goal and len(found) < len(used):
        found.append(following[at])
        at = found[-1].destination
    return tuple(found)


def _reached(start: LayeredNode, steps: Sequence[tuple[LayeredNode, LayeredNode]]) -> set[LayeredNode]:
    following: dict[LayeredNode, list[LayeredNode]] = {}
    for a, b in steps:
        following.setdefault(a, []).append(b)
    found, news = {start}, [start]
    while news:
        fresh = [b for b in following.get(news.pop(), ()) if b not in found]
        found.update(fresh)
        news += fresh
    return found
