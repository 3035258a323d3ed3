"""What a scheduler keeps of transfers and channels: XDs, the pool of each channel, and the policies by which it chooses."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from isoviz.runtime.scheduling.work import Work

WAITS, RUNS, STOPS, ENDED = "waits", "runs", "stops", "ended"


class XD:
    """A transfer descriptor: one hop of one transfer (Isometry, section 3.4). `order` says who came first."""

    __slots__ = (
        "ahead",
        "behind",
        "channel",
        "chunk",
        "chunks",
        "frees",
        "hop",
        "moved",
        "order",
        "partly",
        "queued",
        "request",
        "requests",
        "room",
        "slots",
        "transfer",
        "whole",
    )

    def __init__(self, transfer: TransferState, hop: int, channel: ChannelState, order: int) -> None:
        work = transfer.work
        self.transfer, self.hop, self.channel, self.order = transfer, hop, channel, order
        self.chunks = work.chunks
        self.requests = work.requests[hop] if work.requests else 1
        self.whole = not work.pipelined
        self.chunk = self.request = 0
        """What it hands over next."""
        self.moved = 0
        """Chunks that are completely moved, without a gap from the first one on."""
        self.partly: dict[int, int] = {}
        """Of chunks that are not: how many requests are done."""
        self.queued = False
        self.behind: XD | None = None
        """Where its input comes from."""
        self.ahead: XD | None = None
        """Whose input it writes."""
        self.room: XD | None = None
        """Who has to be done with a chunk before that `slots` later may begin: mostly the one ahead."""
        self.slots = 0
        self.frees: XD | None = None
        """Whose room it makes."""

    @property
    def ready(self) -> bool:
        """Whether its next request may go: its input is there and its output has room."""
        chunk, behind, room = self.chunk, self.behind, self.room
        if chunk >= self.chunks:
            return False
        if behind is not None and (chunk >= behind.moved or (self.whole and behind.moved < self.chunks)):
            return False
        return room is None or chunk < room.moved + self.slots


class TransferState:
    """A transfer under way. `priority` is what it has, its own or lent."""

    __slots__ = ("in_flight", "number", "outcome", "priority", "reason", "state", "work", "xds")

    def __init__(self, number: int, work: Work) -> None:
        self.number, self.work = number, work
        self.priority = work.priority
        self.state = WAITS
        self.outcome, self.reason = "done", ""
        self.in_flight = 0
        self.xds: tuple[XD, ...] = ()


class Level:
    """The unfinished XDs of one priority on a channel: how many, and those that can go on, first come first."""

    __slots__ = ("ready", "unfinished")

    def __init__(self) -> None:
        self.unfinished: set[XD] = set()
        self.ready: list[tuple[int, XD]] = []


class ChannelState:
    """The pool of a channel's XDs by priority, and how many of its requests are under way."""

    __slots__ = ("in_flight", "levels", "limit", "name", "policy", "top")

    def __init__(self, name: str, limit: int, policy: Policy) -> None:
        self.name, self.limit, self.policy = name, limit, policy
        self.in_flight = 0
        self.levels: dict[int, Level] = {}
        self.top: int | None = None
        """The highest priority with an unfinished XD."""

    def join(self, xd: XD) -> None:
        """An XD comes onto the channel, or changes its priority."""
        priority = xd.transfer.priority
        level = self.levels.get(priority)
        if level is None:
            level = self.levels[priority] = Level()
        level.unfinished.add(xd)
        if self.top is None or priority > self.top:
            self.top = priority

    def leave(self, xd: XD) -> None:
        """An XD has handed over everything and all of it was moved, or stops."""
        priority = xd.transfer.priority
        level = self.levels[priority]
        level.unfinished.discard(xd)
        if not level.unfinished:
            del self.levels[priority]
            self.top = max(self.levels) if self.levels else None
        xd.queued = False

    def wake(self, xd: XD) -> None:
        """An XD can go on."""
        if not xd.queued:
            xd.queued = True
            heappush(self.levels[xd.transfer.priority].ready, (xd.order, xd))


Policy = Callable[[ChannelState], "XD | None"]
"""Which XD of a channel hands over its next request; None: none may."""


def highest_priority_first(channel: ChannelState) -> XD | None:
    """The first come that can go on among the highest priority that is on the channel; lower ones wait even while it is idle."""
    if channel.top is None:
        return None
    return _first_ready(channel.levels[channel.top])


def first_come_first_served(channel: ChannelState) -> XD | None:
    """The first come that can go on, whatever its priority: what a queue without priorities does."""
    found = [xd for level in channel.levels.values() if (xd := _first_ready(level)) is not None]
    return min(found, key=lambda xd: xd.order, default=None)


def _first_ready(level: Level) -> XD | None:
    ready = level.ready
    while ready:
        xd = ready[0][1]
        if xd.queued and xd in level.unfinished:
            if xd.ready:
                return xd
            xd.queued = False
        heappop(ready)
    return None
