"""What a scheduler keeps of transfers and channels: XDs, the pool of each channel, and the policies by which it chooses."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from typing import TYPE_CHECKING

from isoviz.runtime.scheduling.work import SendArrived

if TYPE_CHECKING:
    from isoviz.runtime.scheduling.work import Instruction, PathWork, Work

WAITS, RUNS, STOPS, SETTLED, ENDED = "waits", "runs", "stops", "settled", "ended"
"""States of a transfer. It has settled where nothing of it is under way on this rank, but perhaps on others."""


class XD:
    """A transfer descriptor: one hop of one transfer (Isometry, section 3.4), at position `at` of its path. `order` says who came
    first.

    What it depends on is two counters of its own: `arrived`, how many chunks of its input are there, and `credit`, how many
    chunks its output has had slots for. The hops beside it advance them, those of other ranks by messages.
    """

    __slots__ = (
        "arrived",
        "channel",
        "chunk",
        "chunks",
        "credit",
        "feeds",
        "hop",
        "lead",
        "moved",
        "order",
        "partly",
        "queued",
        "releases",
        "request",
        "requests",
        "slots",
        "tells",
        "transfer",
        "whole",
    )

    def __init__(self, transfer: TransferState, path: PathWork, at: int, hop: int, channel: ChannelState, order: int) -> None:
        self.transfer, self.hop, self.channel, self.order = transfer, hop, channel, order
        self.chunks = self.arrived = self.credit = path.chunks
        self.requests = path.requests[at] if path.requests else 1
        self.chunk = self.request = 0
        """What it hands over next."""
        self.moved = 0
        """Chunks that are completely moved, without a gap from the first one on."""
        self.partly: dict[int, int] = {}
        """How many requests are done of chunks that are not completely moved."""
        self.queued = False
        self.feeds: XD | None = None
        """Whose `arrived` it advances, to `moved` + `lead`; where `whole`, once it has moved everything."""
        self.lead = 0
        self.whole = not path.pipelined
        self.releases: XD | None = None
        """Whose `credit` it advances, to `moved` + `slots`."""
        self.slots = 0
        self.tells: tuple[Tells, ...] = ()
        """Which hops of other ranks it tells how far it is."""

    def waits_for(self, moving: XD, reason: str, lead: int) -> None:
        """Let another XD of this scheduler advance a counter of this one, as `PathWork.dependencies` says."""
        if reason == "slot":
            moving.releases, moving.slots, self.credit = self, lead, lead
        else:
            moving.feeds, moving.lead, self.arrived = self, lead, lead

    @property
    def ready(self) -> bool:
        """Whether its next request may go: its input is there and its output has a free slot."""
        chunk = self.chunk
        return chunk < self.arrived and chunk < self.credit


class Tells:
    """A hop of another rank that a hop here has to tell how many chunks it has moved: the count is `moved` + `lead`."""

    __slots__ = ("hop", "lead", "rank", "send", "sent")

    def __init__(self, send: Callable[[int, int, int, int], Instruction], rank: int, hop: int, lead: int) -> None:
        self.send, self.rank, self.hop, self.lead = send, rank, hop, lead
        self.sent = 0

    def tell(self, xd: XD, out: list[Instruction]) -> None:
        """Send what is new, but never more than all chunks."""
        count = min(xd.moved + self.lead, xd.chunks)
        if count > self.sent and not (xd.whole and self.send is SendArrived and xd.moved < xd.chunks):
            self.sent = count
            out.append(self.send(self.rank, xd.transfer.number, self.hop, count))


class TransferState:
    """A transfer under way. `priority` is what it has, its own or lent; `xds` are its hops by number."""

    __slots__ = (
        "early",
        "holds",
        "in_flight",
        "nbytes",
        "number",
        "outcome",
        "priority",
        "reason",
        "state",
        "unfinished",
        "work",
        "xds",
    )

    def __init__(self, number: int, work: Work) -> None:
        self.number, self.work = number, work
        self.priority = work.priority
        self.state = WAITS
        self.outcome, self.reason = "done", ""
        self.in_flight = 0
        self.xds: dict[int, XD] = {}
        self.unfinished = 0
        """How many XDs have chunks to move."""
        self.nbytes = 0
        """Bytes of its buffers."""
        self.holds = False
        """Whether it holds them."""
        self.early: dict[tuple[str, int], int] = {}
        """Counts in messages that came before it held its buffers, by counter and hop."""


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
