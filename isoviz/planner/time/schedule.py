"""The time of hops that share channels or resources: the scheduler's own order of requests, followed in virtual time.

Where every hop has its channel and its resources for itself, the time of a pipeline has a closed form
(`isoviz.planner.time.makespan`). A channel may also carry several hops: of one path that passes it twice, or of several paths.
Such hops take turns, request by request. Which one is next follows from the rules of the scheduler
(`isoviz.scheduling.scheduler`) and of the simulator, for one transfer on an idle machine:

- A hop issues its chunks in order, each in requests. A chunk may begin when the hop before has written it and the ring buffer
  behind has a free slot.
- A channel takes a number of requests at a time and carries them out one after the other. It takes the next request from the
  first hop that can continue: of the first path first, and on a path of the first hop first.
- Requests in flight share resources fairly (`isoviz.scheduling.fair_sharing`).

The arithmetic is that of the simulator, so that events at the same time have the same order. The work does not depend on the
number of chunks: what repeats itself is skipped.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from heapq import heapify, heappop, heappush
from itertools import pairwise
from typing import NamedTuple

from isoviz.scheduling.fair_sharing import ROUNDING, Uses, fair_rates

SAME = 1e-9
"""Two states are equal if their times differ by less than this share of the time that a chunk takes: it covers rounding."""
MOST_REQUESTS = 64
"""A chunk counts as at most this number of requests: then a request is so short that its end hardly matters."""
LEAST_FOLLOWED, LEAST_CHUNKS = 1 << 12, 128
"""Where hops share a channel, at least this number of requests, and of chunks of every path, is followed before any is skipped.
If two hops could be next at almost the same time, rounding decides, and after a skip it may decide otherwise."""
MOST_FOLLOWED, MOST_CHUNKS = 1 << 14, 256
"""Hops that have not repeated themselves after this number of requests, and of chunks of every path, are extrapolated from the
second half of them. The error is then below one in half of these chunks."""


class HopWork(NamedTuple):
    """One hop as a channel sees it.

    `in_flight` is the number of requests that the channel takes at a time, `requests` that of a chunk. `seconds` and `nbytes` are
    those of a request of a full chunk and of a request of the last chunk. `uses` are the seconds of each shared resource that a
    byte costs. `shares` says whether the channel names resources, also those that no other channel of the paths uses.
    """

    channel: str
    in_flight: int
    requests: int
    seconds: tuple[float, float]
    nbytes: tuple[float, float]
    uses: Uses = ()
    shares: bool = False


class PathShape(NamedTuple):
    """One path: its hops, the number of chunks, and the number of slots of each buffer.

    Without `overlap` a chunk passes all hops before the next chunk begins.
    """

    stages: tuple[HopWork, ...]
    chunks: int
    slots: int
    overlap: bool


def scheduled_end(lines: Sequence[PathShape], start: float = 0.0) -> float:
    """The time in seconds at which the last of several paths ends, if all begin at the time `start`."""
    return max(scheduled_ends(lines, start).seconds)


class ScheduledEnds(NamedTuple):
    """The times in seconds at which each of several paths ends, and the requests that were followed to know them."""

    seconds: list[float]
    followed: int


def scheduled_ends(lines: Sequence[PathShape], start: float = 0.0) -> ScheduledEnds:
    """The times at which several paths end, if all begin at the time `start`."""
    schedule = _Schedule(lines, start)
    schedule.run()
    return ScheduledEnds(schedule.path_ends, schedule.followed)


def _with_shared_uses(lines: Sequence[PathShape]) -> list[PathShape]:
    """The paths with the resources that several channels use. What one channel uses bounds its own requests."""
    users: dict[str, set[str]] = {}
    for line in lines:
        for stage in line.stages:
            for name, _ in stage.uses:
                users.setdefault(name, set()).add(stage.channel)
    found = []
    for line in lines:
        stages = []
        for stage in line.stages:
            own = max([cost for name, cost in stage.uses if len(users[name]) == 1], default=0.0)
            seconds = max(stage.seconds[0], own * stage.nbytes[0]), max(stage.seconds[1], own * stage.nbytes[1])
            shared = tuple([use for use in stage.uses if len(users[use[0]]) > 1])
            stages.append(stage._replace(seconds=seconds, uses=shared, shares=bool(stage.uses)))
        found.append(line._replace(stages=tuple(stages)))
    return found


class _Hop:
    """The progress of a hop. The names are those of `isoviz.scheduling.pool.XD`."""

    __slots__ = (
        "arrived",
        "begun",
        "channel",
        "chunk",
        "chunks",
        "credit",
        "feeds",
        "finished",
        "is_last",
        "lead",
        "moved",
        "number",
        "path",
        "queued",
        "releases",
        "request",
        "slots",
        "stage",
    )

    def __init__(self, number: int, path: int, line: PathShape, at: int, channel: _Channel) -> None:
        self.number, self.path, self.stage, self.channel = number, path, line.stages[at], channel
        self.is_last = at == len(line.stages) - 1
        self.chunks = self.arrived = self.credit = line.chunks
        self.chunk = self.request = self.moved = 0
        self.begun = self.finished = 0
        """The number of requests that its channel has begun, and of finished requests of the chunk after `moved`."""
        self.queued = False
        self.feeds: _Hop | None = None
        self.releases: _Hop | None = None
        self.lead = self.slots = 0

    @property
    def ready(self) -> bool:
        return self.chunk < self.arrived and self.chunk < self.credit

    def shift(self, chunks: int) -> None:
        """Count some more chunks as done."""
        self.chunk, self.moved = self.chunk + chunks, self.moved + chunks
        self.begun += chunks * self.stage.requests
        self.arrived, self.credit = min(self.arrived + chunks, self.chunks), min(self.credit + chunks, self.chunks)


class _Channel:
    """A channel with its hops, in order, and its requests in flight."""

    __slots__ = ("current", "ends", "hops", "in_flight", "left", "most", "queue", "rate", "since", "uses", "version")

    def __init__(self) -> None:
        self.hops: list[_Hop] = []
        self.in_flight = self.version = 0
        self.queue: deque[_Hop] = deque()
        self.current: _Hop | None = None
        self.ends = math.inf
        # Of a request that shares resources:
        self.left = self.most = self.rate = self.since = 0.0
        self.uses: Uses = ()


State = tuple[float, tuple[int, ...], tuple[float, ...]]
"""A time, the number of chunks that every path has moved by then, and the seconds that the requests in flight still take."""


class _Schedule:
    """Hops in virtual time, from event to event."""

    def __init__(self, lines: Sequence[PathShape], start: float) -> None:
        self.now = start
        lines = _with_shared_uses(lines)
        self.channels: dict[str, _Channel] = {}
        self.paths: list[list[_Hop]] = []
        count = 0
        for path, line in enumerate(lines):
            hops = []
            for at, stage in enumerate(line.stages):
                channel = self.channels.setdefault(stage.channel, _Channel())
                hops.append(_Hop(count, path, line, at, channel))
                channel.hops.append(hops[-1])
                count += 1
            self._join(hops, line)
            self.paths.append(hops)
        self.hops = [hop for hops in self.paths for hop in hops]
        self.unfinished = count
        self.path_ends = [start] * len(lines)
        """By path: when its last chunk has arrived."""
        self.followed = 0
        """The requests that were followed."""
        self.capacity = {name: 1.0 for hop in self.hops for name, _ in hop.stage.uses}
        self.flows: dict[_Channel, int] = {}
        """The channels with a request that shares resources, each with a number for the request's kind."""
        self.ended: tuple[_Channel, Uses, float, float] | None = None
        self.begun: list[_Channel] = []
        """What has changed in the present event: the request that has ended, with its uses, bound and rate, and those that
        have begun. Resources are divided anew at the end of the event."""
        self.known_rates: dict[tuple[int, ...], list[float]] = {}
        self.events: list[tuple[float, int, _Channel, int]] = []
        self.pushed = 0
        requests = sum(hop.stage.requests for hop in self.hops)
        take_turns = len(self.channels) < count
        self.least_followed = max(LEAST_FOLLOWED, LEAST_CHUNKS * requests) if take_turns else 0
        self.most_followed = max(MOST_FOLLOWED, MOST_CHUNKS * requests)

    @staticmethod
    def _join(hops: list[_Hop], line: PathShape) -> None:
        """Let every hop wait for its neighbours."""
        for before, hop in pairwise(hops):
            before.feeds, before.lead, hop.arrived = hop, 0, 0
            if line.overlap:
                hop.releases, hop.slots, before.credit = before, line.slots, line.slots
        if not line.overlap and len(hops) > 1:
            hops[-1].feeds, hops[-1].lead, hops[0].arrived = hops[0], 1, 1

    # ---- following

    def run(self) -> None:
        issued: list[_Hop] = []
        for hop in self.hops:
            hop.queued = hop.ready
        for channel in dict.fromkeys(hop.channel for hop in self.hops if hop.queued):
            self._fill(channel, issued)
        self._carry_out(issued)
        seen: dict[tuple[int, ...], State] = {}
        middle: State | None = None
        watched = self._longest()
        begun = 0
        while self.unfinished:
            self.now, _, channel, version = heappop(self.events)
            if channel.version != version:
                continue
            self.followed = followed = self.followed + 1
            hop = self._completed(channel)
            before, unfinished = hop.moved, self.unfinished
            self._done(hop)
            if self.unfinished < unfinished and hop.is_last:  # with one path less the others go on in another way
                self.path_ends[hop.path] = self.now
                watched, seen, middle, begun = self._longest(), {}, None, followed
                continue
            if hop is not watched or hop.moved == before or followed < self.least_followed:
                continue
            key, state = self._state(hop)
            known = seen.get(key)
            if known is not None and not self._is_same(known, state):
                known = None
            if known is None and followed - begun > self.most_followed:
                known = middle
            if known is not None and self._skip(known, state):
                seen, middle, begun = {}, None, followed
                continue
            seen[key] = state
            if middle is None and 2 * (followed - begun) > self.most_followed:
                middle = state

    def _longest(self) -> _Hop:
        """The last hop of the path with the most chunks left: the states at the ends of its chunks are compared."""
        return max((hops[-1] for hops in self.paths), key=lambda hop: hop.chunks - hop.moved)

    def _completed(self, channel: _Channel) -> _Hop:
        """End the request of a channel, and begin the next one that waits there."""
        hop = channel.current
        assert hop is not None
        channel.current, channel.ends = None, math.inf
        if hop.stage.shares:
            del self.flows[channel]
            self.ended = channel, channel.uses, channel.most, channel.rate
        if channel.queue:
            self._begin(channel, channel.queue.popleft())
        return hop

    def _done(self, hop: _Hop) -> None:
        """Count a finished request, and issue the requests that follow from it."""
        issued: list[_Hop] = []
        hop.channel.in_flight -= 1
        hop.finished += 1
        if hop.finished == hop.stage.requests:
            hop.finished = 0
            hop.moved += 1
            fed, freed = hop.feeds, hop.releases
            if fed is not None:
                fed.arrived = hop.moved + hop.lead
            if freed is not None:
                freed.credit = hop.moved + hop.slots
            going = [each for each in (fed, freed) if each is not None and not each.queued and each.ready]
            for each in going:
                each.queued = True
            if hop.moved == hop.chunks:
                hop.queued = False
                self.unfinished -= 1
            for each in going:
                self._fill(each.channel, issued)
        self._fill(hop.channel, issued)
        self._carry_out(issued)

    @staticmethod
    def _fill(channel: _Channel, issued: list[_Hop]) -> None:
        """Issue requests until the channel has as many as it takes, or none of its hops can continue."""
        limit = channel.hops[0].stage.in_flight
        while channel.in_flight < limit:
            for hop in channel.hops:
                if hop.queued:
                    if hop.ready:
                        break
                    hop.queued = False
            else:
                return
            issued.append(hop)
            channel.in_flight += 1
            hop.request += 1
            if hop.request == hop.stage.requests:
                hop.request = 0
                hop.chunk += 1

    def _carry_out(self, issued: list[_Hop]) -> None:
        for hop in issued:
            if hop.channel.current is None:
                self._begin(hop.channel, hop)
            else:
                hop.channel.queue.append(hop)
        if self.ended is not None or self.begun:
            self._share_anew()

    def _begin(self, channel: _Channel, hop: _Hop) -> None:
        stage = hop.stage
        last = hop.begun >= (hop.chunks - 1) * stage.requests
        hop.begun += 1
        channel.current = hop
        seconds = stage.seconds[last]
        if not stage.shares:
            self._push(channel, self.now + seconds)
            return
        channel.left = stage.nbytes[last]
        channel.most = channel.left / seconds if seconds > 0 else math.inf
        channel.rate, channel.since, channel.uses = 0.0, self.now, stage.uses
        self.flows[channel] = 2 * hop.number + last
        self.begun.append(channel)

    def _push(self, channel: _Channel, ends: float) -> None:
        channel.version += 1
        channel.ends = ends
        self.pushed += 1
        heappush(self.events, (ends, self.pushed, channel, channel.version))

    def _share_anew(self) -> None:
        """Divide the resources anew among the requests in flight. One that takes the place of its like changes no rate."""
        ended, begun = self.ended, self.begun
        self.ended, self.begun = None, []
        if ended is not None and len(begun) == 1:
            channel, uses, most, rate = ended
            if begun[0] is channel and channel.uses == uses and math.isclose(channel.most, most, rel_tol=ROUNDING):
                self._set_rate(channel, rate)
                return
        key = tuple(self.flows.values())
        rates = self.known_rates.get(key)
        if rates is None:
            rates = fair_rates([each.most for each in self.flows], [each.uses for each in self.flows], self.capacity)
            self.known_rates[key] = rates
        for each, rate in zip(self.flows, rates, strict=True):
            if rate != each.rate:
                self._set_rate(each, rate)

    def _set_rate(self, channel: _Channel, rate: float) -> None:
        channel.left = max(0.0, channel.left - channel.rate * (self.now - channel.since))
        channel.rate, channel.since = rate, self.now
        self._push(channel, self.now + channel.left / rate if rate > 0 else math.inf)

    # ---- skipping

    def _state(self, done: _Hop) -> tuple[tuple[int, ...], State]:
        """The present state without its times, relative to the chunks that every path has moved; and its times."""
        moved = tuple([hops[-1].moved for hops in self.paths])
        key = [done.number]
        for hop in self.hops:
            base = moved[hop.path]
            key += (hop.chunk - base, hop.moved - base, hop.request, hop.finished, hop.queued)
        left = []
        for channel in self.channels.values():
            if channel.current is not None:
                key += (channel.current.number, *[hop.number for hop in channel.queue])
                left.append(channel.ends - self.now)
            key.append(-1)
        return tuple(key), (self.now, moved, tuple(left))

    def _is_same(self, one: State, other: State) -> bool:
        """Whether two states with the same numbers also have the same times."""
        near = SAME * (other[0] - one[0])
        return all(abs(a - b) <= near for a, b in zip(one[2], other[2], strict=True))

    def _skip(self, known: State, state: State) -> bool:
        """Skip as many periods, from a known state to the present one, as pass before a path begins its last chunk."""
        steps = [after - before for before, after in zip(known[1], state[1], strict=True)]
        times = min((hops[0].chunks - 1 - hops[0].chunk) // step for hops, step in zip(self.paths, steps, strict=True) if step)
        if times < 1:
            return False
        later = times * (state[0] - known[0])
        self.now += later
        for hop in self.hops:
            hop.shift(times * steps[hop.path])
        for channel in self.channels.values():
            channel.since += later
            channel.ends += later
        self.events = [(when + later, order, channel, version) for when, order, channel, version in self.events]
        heapify(self.events)
        return True
