"""The state of a scheduler: transfers, XDs, the pool of XDs of each channel, and the policies that choose among them."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any

from isoviz.errors import PolicyError, show
from isoviz.scheduling.work import SendArrived

if TYPE_CHECKING:
    from isoviz.scheduling.work import Instruction, PathWork, Work

WAITS, RUNS, STOPS, SETTLED, ENDED = "waits", "runs", "stops", "settled", "ended"
"""States of a transfer. In `SETTLED` this rank has no request of it in flight, but other ranks may have."""


class XD:
    """A transfer descriptor (XD): one hop of one transfer (Isometry, section 3.4), at position `at` of its path.

    A scheduling policy reads `number` and `priority` of its transfer, `requests_left`, and `order`, its place in the order of
    arrival: a smaller one came earlier. It changes nothing.

    The rest is the scheduler's. Two counters limit its progress: `arrived`, the number of chunks of its input that have been
    written, and `credit`, the number of chunks that its output has provided slots for. The neighbouring hops advance the
    counters, those on other ranks by messages.
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
        """The chunk and the request that it issues next."""
        self.moved = 0
        """The number of chunks that are completely moved, without a gap from the first one on."""
        self.partly: dict[int, int] = {}
        """The number of finished requests of each chunk that `moved` does not count yet."""
        self.queued = False
        self.feeds: XD | None = None
        """The XD whose `arrived` it advances to `moved` + `lead`; if `whole`, only once all chunks are moved."""
        self.lead = 0
        self.whole = not path.pipelined
        self.releases: XD | None = None
        """The XD whose `credit` it advances to `moved` + `slots`."""
        self.slots = 0
        self.tells: tuple[Tells, ...] = ()
        """The hops on other ranks that it informs of its progress."""

    def waits_for(self, moving: XD, reason: str, lead: int) -> None:
        """Let another XD of this scheduler advance a counter of this XD, as `PathWork.dependencies` says."""
        if reason == "slot":
            moving.releases, moving.slots, self.credit = self, lead, lead
        else:
            moving.feeds, moving.lead, self.arrived = self, lead, lead

    @property
    def number(self) -> int:
        """The number of its transfer, as `submit` returned it."""
        return self.transfer.number

    @property
    def priority(self) -> int:
        """The present priority of its transfer, its own or a lent one: larger is more urgent."""
        return self.transfer.priority

    @property
    def requests_left(self) -> int:
        """How many requests it has still to issue on its channel; at least 1 while it waits."""
        return (self.chunks - self.chunk) * self.requests - self.request

    @property
    def ready(self) -> bool:
        """Whether its next request may be issued: its input has arrived and its output has a free slot."""
        chunk = self.chunk
        return chunk < self.arrived and chunk < self.credit

    def is_under_way(self, chunk: int) -> bool:
        """Whether a request of a chunk is issued and has not ended."""
        issued = self.requests if chunk < self.chunk else self.request if chunk == self.chunk else 0
        return self.moved <= chunk and self.partly.get(chunk, 0) < issued

    @property
    def story(self) -> str:
        """How far it has come, for errors."""
        partly = ", ".join(f"{count} of chunk {chunk}" for chunk, count in sorted(self.partly.items())) or "none"
        return (
            f"{self.moved} of {self.chunks} chunks are moved, ended requests after them: {partly}; next comes request"
            f" {self.request} of {self.requests} of chunk {self.chunk}"
        )

    def complete(self, chunk: int) -> bool:
        """Count a finished request of a chunk. Returns whether the count of chunks moved without a gap has grown."""
        if self.requests > 1:
            count = self.partly.get(chunk, 0) + 1
            if count < self.requests:
                self.partly[chunk] = count
                return False
        if chunk != self.moved:  # an earlier chunk is not complete
            self.partly[chunk] = self.requests
            return False
        self.partly.pop(chunk, None)
        self.moved += 1
        while self.partly.get(self.moved) == self.requests:
            del self.partly[self.moved]
            self.moved += 1
        return True

    def advanced(self) -> tuple[XD | None, XD | None]:
        """Advance the counters of the neighbouring hops after it has moved chunks. Returns the XDs that can continue now."""
        moved = self.moved
        fed, freed = self.feeds, self.releases
        if fed is not None and (not self.whole or moved == self.chunks):
            fed.arrived = moved + self.lead
            if fed.queued or not (fed.chunk < fed.arrived and fed.chunk < fed.credit):
                fed = None
            else:
                fed.channel.wake(fed)
        else:
            fed = None
        if freed is not None:
            freed.credit = moved + self.slots
            if freed.queued or not (freed.chunk < freed.arrived and freed.chunk < freed.credit):
                freed = None
            else:
                freed.channel.wake(freed)
        return fed, freed


class Tells:
    """A hop on another rank that is informed of the progress of a hop here. The count it gets is `moved` + `lead`."""

    __slots__ = ("hop", "lead", "rank", "send", "sent")

    def __init__(self, send: Callable[[int, int, int, int], Instruction], rank: int, hop: int, lead: int) -> None:
        self.send, self.rank, self.hop, self.lead = send, rank, hop, lead
        self.sent = 0

    def tell(self, xd: XD, out: list[Instruction]) -> None:
        """Send the count if it has grown. It never exceeds the number of chunks."""
        count = min(xd.moved + self.lead, xd.chunks)
        if count > self.sent and not (xd.whole and self.send is SendArrived and xd.moved < xd.chunks):
            self.sent = count
            out.append(self.send(self.rank, xd.transfer.number, self.hop, count))


class TransferState:
    """A running transfer. `priority` is its current priority, its own or a lent one. `xds` are its hops by number."""

    __slots__ = (
        "early",
        "holds",
        "in_flight",
        "leased",
        "may_lease",
        "nbytes",
        "number",
        "outcome",
        "priority",
        "reason",
        "recalled",
        "state",
        "unfinished",
        "waits_for_lease",
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
        """The number of XDs that still have chunks to move."""
        self.nbytes = 0
        """Bytes of its buffers."""
        self.holds = False
        """Whether it holds its buffers."""
        self.may_lease = self.recalled = self.waits_for_lease = False
        """Whether it may have the channels for itself; whether it has to give them back; whether it issues nothing until it has
        them."""
        self.leased: tuple[ChannelState, ...] = ()
        """The channels that it has for itself. They count as one request in flight."""
        self.early: dict[tuple[str, int], int] = {}
        """Counts from messages that came before it held its buffers, by counter and hop."""


class Level:
    """The unfinished XDs of one priority on a channel, and those of them that can continue, first come first."""

    __slots__ = ("ready", "unfinished")

    def __init__(self) -> None:
        self.unfinished: set[XD] = set()
        self.ready: list[tuple[int, XD]] = []

    def able(self) -> list[tuple[int, XD]]:
        """The queue, without those that cannot continue any more: they are queued again once they can."""
        kept: dict[XD, int] = {}
        for order, xd in self.ready:
            if xd.queued and xd in self.unfinished:
                if xd.ready:
                    kept[xd] = order
                else:
                    xd.queued = False
        self.ready = sorted((order, xd) for xd, order in kept.items())
        return self.ready


class ChannelState:
    """A channel with the hops that it has to serve: what a scheduling policy is asked about.

    A policy is a function of it. It reads `waiting()`, the hops whose next request may be issued now, and answers with one of
    them, or with None to leave the channel idle until another request ends. `name` is the name of the channel, `in_flight` the
    number of its requests under way, of at most `limit`. Each hop (`XD`) tells the `number` and the `priority` of its transfer,
    `requests_left`, and its `order` of arrival.

    The shortest first, where nobody is passed over more than eight times in a row:

    >>> class ShortestFirst:
    ...     def __init__(self, patience=8):
    ...         self.patience, self.passed = patience, {}
    ...
    ...     def __call__(self, channel):
    ...         waiting = channel.waiting()
    ...         tired = [hop for hop in waiting if self.passed.get(hop, 0) >= self.patience]
    ...         chosen = min(tired or waiting, key=lambda hop: hop.requests_left, default=None)
    ...         for hop in waiting:
    ...             self.passed[hop] = 0 if hop is chosen else self.passed.get(hop, 0) + 1
    ...         return chosen
    >>> import isoviz
    >>> from isoviz.runtime import first_come_first_served
    >>> def columns(count):
    ...     space, fields = isoviz.IndexSpace(x=4096, y=count), isoviz.FieldSpace(value="f8")
    ...     source, destination = ("node0.dsk", "<F, x, y>"), ("node1.sys", "<F, x, y>")
    ...     return isoviz.Transfer.whole(space, fields, source=source, destination=destination)
    >>> plans = [isoviz.plan(columns(count), "two-node") for count in (2048, 64)]
    >>> for policy in (first_come_first_served, ShortestFirst()):
    ...     trace = isoviz.simulate(plans, policy=policy)
    ...     print([f"{1000 * each.ended:.0f} ms" for each in trace.transfers])
    ['242 ms', '249 ms']
    ['250 ms', '12 ms']
    """

    __slots__ = ("borrower", "choose", "in_flight", "levels", "limit", "name", "policy", "top")

    def __init__(self, name: str, limit: int, policy: Policy) -> None:
        self.name, self.limit, self.policy = name, limit, policy
        self.choose: Policy = policy if policy in (highest_priority_first, first_come_first_served) else checked(policy)
        """The policy; one that isoviz does not know is checked."""
        self.in_flight = 0
        self.borrower: object | None = None
        """The transfer that has it for itself. Or who moves bytes on it without a transfer of the scheduler (`Scheduler.resume`),
        which counts as one request."""
        self.levels: dict[int, Level] = {}
        self.top: int | None = None
        """The highest priority with an unfinished XD."""

    def join(self, xd: XD) -> None:
        """Add an XD to the channel, at its current priority."""
        priority = xd.transfer.priority
        level = self.levels.get(priority)
        if level is None:
            level = self.levels[priority] = Level()
        level.unfinished.add(xd)
        if self.top is None or priority > self.top:
            self.top = priority

    def leave(self, xd: XD) -> None:
        """Remove an XD from the channel: it is finished, stopped, or about to change its priority."""
        priority = xd.transfer.priority
        level = self.levels[priority]
        level.unfinished.discard(xd)
        if not level.unfinished:
            del self.levels[priority]
            self.top = max(self.levels) if self.levels else None
        xd.queued = False

    @property
    def is_idle(self) -> bool:
        """Whether it has no unfinished XD and no request in flight."""
        return self.top is None and not self.in_flight and self.borrower is None

    @property
    def may_be_leased(self) -> bool:
        """Whether nobody has it, and no policy of the caller wants to be asked."""
        return self.borrower is None and self.choose is self.policy

    def serves_only(self, transfer: TransferState) -> bool:
        """Whether all unfinished XDs that it may choose from belong to one transfer."""
        by_priority = self.policy is highest_priority_first and self.top is not None  # then lower priorities wait
        levels = (self.levels[self.top],) if by_priority else self.levels.values()  # type: ignore[index]  # it is not None
        return all(xd.transfer is transfer for level in levels for xd in level.unfinished)

    def waiting(self) -> tuple[XD, ...]:
        """The hops whose next request may be issued now, first come first: their input is there, and room for their output."""
        return tuple(xd for _, xd in sorted(each for level in self.levels.values() for each in level.able()))

    def transfers(self) -> list[TransferState]:
        """The transfers that have an unfinished XD here, in the order of their numbers."""
        found = {xd.transfer for level in self.levels.values() for xd in level.unfinished}
        return sorted(found, key=lambda transfer: transfer.number)

    def wake(self, xd: XD) -> None:
        """Queue an XD that can continue."""
        if not xd.queued:
            xd.queued = True
            heappush(self.levels[xd.transfer.priority].ready, (xd.order, xd))


Policy = Callable[[ChannelState], "XD | None"]
"""Chooses the XD of a channel that issues its next request, one of `ChannelState.waiting()`; None if no XD may.

It is asked again after each request that ends. An engine fails the transfers of a channel whose policy chooses none of them while
no request is in flight, because nothing would ask it again. The engine is locked meanwhile, so a policy asks the engine nothing.
"""


def checked(policy: Policy) -> Policy:
    """A policy that raises PolicyError where `policy` raises an error, or answers with what the channel cannot issue."""

    def choose(channel: ChannelState) -> XD | None:
        try:
            xd: Any = policy(channel)
        except Exception as error:  # a policy of somebody else may raise anything
            raise PolicyError(policy_name(policy), channel.name, f"raised {type(error).__name__}: {error}") from error
        problem = ""
        if xd is None:
            return None
        if not isinstance(xd, XD):
            problem = f"answered with {show(xd)}, not with a hop of the channel or None"
        elif xd.channel is not channel:
            problem = f"answered with a hop of the channel {xd.channel.name}"
        elif not xd.ready or xd.transfer.state is not RUNS:
            problem = "answered with a hop that cannot continue now"
        if problem:
            raise PolicyError(policy_name(policy), channel.name, problem)
        return xd  # type: ignore[no-any-return]

    return choose


def policy_name(policy: Policy) -> str:
    """What a policy is called in messages and recordings."""
    return getattr(policy, "__qualname__", None) or type(policy).__qualname__


def highest_priority_first(channel: ChannelState) -> XD | None:
    """The first come XD that can continue, of the highest priority on the channel.

    Lower priorities wait, even if the channel is idle.
    """
    if channel.top is None:
        return None
    return _first_ready(channel.levels[channel.top])


def first_come_first_served(channel: ChannelState) -> XD | None:
    """The first come XD that can continue, of all priorities: a queue without priorities."""
    found = [xd for level in channel.levels.values() if (xd := _first_ready(level)) is not None]
    return min(found, key=lambda xd: xd.order, default=None)


def _first_ready(level: Level) -> XD | None:
    ready, unfinished = level.ready, level.unfinished
    while ready:
        xd = ready[0][1]
        if xd.queued and xd in unfinished:
            if xd.chunk < xd.arrived and xd.chunk < xd.credit:  # `ready`, without a call: it is asked for every request
                return xd
            xd.queued = False
        heappop(ready)
    return None
