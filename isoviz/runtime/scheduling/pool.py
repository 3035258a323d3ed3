"""What a scheduler keeps of transfers and channels: XDs, the pool of each channel, and the policies by which it chooses."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from isoviz.runtime.scheduling.work import PathWork, Work

WAITS, RUNS, STOPS, ENDED = "waits", "runs", "stops", "ended"


class Counter:
    """How many chunks are completely moved, without a gap from the first one on: of a hop of this scheduler, or as a hop of
    another rank says. `dependents` are the XDs that may go on when it advances."""

    __slots__ = ("count", "dependents")

    def __init__(self, count: int = 0) -> None:
        self.count = count
        self.dependents: list[XD] = []


class XD:
    """A transfer descriptor: one hop of one transfer (Isometry, section 3.4). `order` says who came first.

    It refers to no other XD: what it waits for is counters. `start` is the number of the first hop of its path.
    """

    __slots__ = (
        "channel",
        "chunk",
        "chunks",
        "hop",
        "lead",
        "moved",
        "order",
        "partly",
        "queued",
        "request",
        "requests",
        "slots",
        "transfer",
        "upstream",
        "waits_for",
        "whole",
    )

    def __init__(self, transfer: TransferState, path: PathWork, start: int, hop: int, channel: ChannelState, order: int) -> None:
        self.transfer, self.hop, self.channel, self.order = transfer, hop, channel, order
        self.chunks = path.chunks
        self.requests = path.requests[hop - start] if path.requests else 1
        self.whole = not path.pipelined
        self.chunk = self.request = 0
        """What it hands over next."""
        self.moved = Counter()
        self.partly: dict[int, int] = {}
        """How many requests are done of chunks that are not completely moved."""
        self.queued = False
        self.upstream: Counter | None = None
        """The counter of the hop that writes its input; None: its input is there."""
        self.lead = 0
        """How many chunks it may be ahead of `upstream`."""
        self.waits_for: Counter | None = None
        """The counter of the hop that frees its output slots; None: there always is a free one."""
        self.slots = 0

    @property
    def ready(self) -> bool:
        """Whether its next request may go: its input is there and its output has a free slot."""
        chunk, upstream, waits_for = self.chunk, self.upstream, self.waits_for
        if chunk >= self.chunks:
            return False
        if upstream is not None and (chunk >= upstream.count + self.lead or (self.whole and upstream.count < self.chunks)):
            return False
        return waits_for is None or chunk < waits_for.count + self.slots


class TransferState:
    """A transfer under way. `priority` is what it has, its own or lent; `xds` are its hops by number."""

    __slots__ = ("held", "in_flight", "number", "outcome", "priority", "reason", "state", "unfinished", "work", "xds")

    def __init__(self, number: int, work: Work) -> None:
        self.number, self.work = number, work
        self.priority = work.priority
        self.state = WAITS
        self.outcome, self.reason = "done", ""
        self.in_flight = 0
        self.xds: dict[int, XD] = {}
        self.unfinished = 0
        """How many XDs have chunks to move."""
        self.held: int | None = None
        """Bytes of its buffers while it holds them."""


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
