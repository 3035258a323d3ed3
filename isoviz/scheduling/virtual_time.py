"""A scheduler in virtual time: servers carry out the requests that it issues, and flows share resources.

A channel is a server: it carries out its requests one after the other. Requests of channels that use a shared resource get fair
shares of it (`isoviz.scheduling.fair_sharing`). The simulator is virtual time with a trace.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import deque
from heapq import heappop, heappush
from typing import TYPE_CHECKING

from isoviz.scheduling.fair_sharing import ROUNDING, Uses, fair_rates, those_sharing
from isoviz.scheduling.work import Failed, Issue

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from isoviz.scheduling.scheduler import Scheduler
    from isoviz.scheduling.work import Cancel, Instruction, Submit, Work


# Requests at work on shared resources: how many bytes are left of each, and how fast it is at present.


class Load:
    """What a request asks of its channel: `seconds` where nothing else is at work, for `nbytes` bytes.

    `uses` are the shared resources that a byte of it uses.
    """

    __slots__ = ("most", "nbytes", "seconds", "uses")

    def __init__(self, seconds: float, nbytes: float, uses: Uses = ()) -> None:
        self.seconds, self.nbytes, self.uses = seconds, nbytes, uses
        self.most = nbytes / seconds if seconds > 0 else math.inf
        """The bytes per second that it never exceeds."""

    def follows(self, other: Load) -> bool:
        """Whether its request may take the place of another one without a change of rates: it uses as much, and is as fast."""
        return self is other or (self.uses == other.uses and math.isclose(self.most, other.most, rel_tol=ROUNDING))


class Server:
    """A channel that carries out its requests one after the other.

    `current` has begun at the time `begun`. `version` counts the ends that were scheduled for it: an event with an older one is
    void. A request that shares resources is a flow. `left` bytes were left of it at the time `since`, and its rate is `rate`.
    `number` counts flows in the order of their beginnings.
    """

    __slots__ = ("begun", "current", "left", "load", "number", "queue", "rate", "since", "uses", "version")

    def __init__(self) -> None:
        self.queue: deque[Issue] = deque()
        self.current: Issue | None = None
        self.version = self.number = 0
        self.begun = self.left = self.rate = self.since = 0.0
        self.load: Load
        self.uses: Uses = ()


class Flows:
    """The flows at work. `push` schedules the end of a server's request at a time in seconds.

    `capacity` has the capacities of the resources that are in use. What ends and begins in one event is noted, and the resources
    are divided anew once, at its end (`share_anew`).
    """

    def __init__(self, push: Callable[[Server, float], None]) -> None:
        self._push = push
        self.capacity: dict[str, float] = {}
        self.has_changed = False
        """Whether a flow has ended or begun since the resources were divided."""
        self._users: dict[str, dict[Server, None]] = {}
        """The servers whose flows use each resource."""
        self._count = 0
        self._ended: tuple[Server, Load, float] | None = None
        self._begun: list[Server] = []

    def begin(self, server: Server, now: float) -> None:
        """Note that a request of a server begins."""
        server.left, server.rate, server.since, server.number = server.load.nbytes, 0.0, now, self._count
        self._count += 1
        self._begun.append(server)
        self.has_changed = True

    def end(self, server: Server) -> None:
        """Note that the request of a server has ended."""
        self._ended = server, server.load, server.rate
        self.has_changed = True

    def share_anew(self, now: float) -> None:
        """Divide the resources of the flows that have ended or begun in this event, and schedule the ends of all flows concerned.

        A flow that follows its like on a server has its rate, and no other rate changes.
        """
        ended, begun = self._ended, self._begun
        self._ended, self._begun, self.has_changed = None, [], False
        names: dict[str, None] = {}
        if ended is not None:
            server, load, rate = ended
            if len(begun) == 1 and begun[0] is server and server.load.follows(load):
                self._set_rate(server, rate, now)
                return
            for name, _ in load.uses:
                del self._users[name][server]
                names[name] = None
        for each in begun:
            each.uses = each.load.uses
            for name, _ in each.uses:
                self._users.setdefault(name, {})[each] = None
                names[name] = None
        flows = sorted(those_sharing(names, self._users), key=lambda flow: flow.number)
        rates = fair_rates([flow.load.most for flow in flows], [flow.uses for flow in flows], self.capacity)
        for flow, rate in zip(flows, rates, strict=True):
            if rate != flow.rate:
                self._set_rate(flow, rate, now)

    def _set_rate(self, server: Server, rate: float, now: float) -> None:
        server.left = max(0.0, server.left - server.rate * (now - server.since))
        server.rate, server.since = rate, now
        self._push(server, now + server.left / rate if rate > 0 else math.inf)


Place = tuple[Server, Load, Load, int]
"""A hop of a transfer: its server, what a request of a full chunk asks and one of the last chunk, and the latter's number."""


class VirtualTime(ABC):
    """A scheduler in virtual time, which begins at 0 seconds. Who extends it submits transfers, and notes what happens."""

    def __init__(self, scheduler: Scheduler) -> None:
        self.scheduler, self.now = scheduler, 0.0
        self._servers: dict[str, Server] = {}
        self._flows = Flows(self._push)
        self._places: dict[int, list[Place]] = {}
        """The hops of each transfer."""
        self._events: list[tuple[float, int, Server | Submit | Cancel, int]] = []
        self._sequence = 0
        self._answer: Sequence[Instruction] = ()
        """What the scheduler answered to the latest event."""

    def _add(self, number: int, work: Work, loads: Iterable[tuple[Load, Load]]) -> None:
        """Note a transfer, with what a request of a full chunk and one of the last chunk asks on each hop."""
        places = self._places[number] = []
        for name, chunks, (full, last) in zip(work.channels, work.hop_chunks, loads, strict=True):
            server = self._servers.get(name)
            if server is None:
                server = self._servers[name] = Server()
            places.append((server, full, last, chunks - 1))

    # ---- events

    def _push(self, server: Server, when: float) -> None:
        """The request that a server works on ends at a time, unless its rate changes."""
        server.version = version = server.version + 1
        self._sequence += 1
        heappush(self._events, (when, self._sequence, server, version))

    def _push_stimulus(self, when: float, stimulus: Submit | Cancel) -> None:
        self._sequence += 1
        heappush(self._events, (when, self._sequence, stimulus, 0))

    def _process(self) -> Issue | Failed | Submit | Cancel | None:
        """Process the next event. Returns the request that has ended, or another stimulus; None if nothing has happened."""
        when, _, event, version = heappop(self._events)
        if type(event) is not Server:
            return self._told(when, event)  # type: ignore[arg-type]
        if event.version != version:  # its rate has changed since
            return None
        self.now = when
        issue = event.current
        assert issue is not None
        if event.load.uses:
            self._flows.end(event)
        reason = self._ended(issue, event.begun)
        if queue := event.queue:
            self._begin(event, queue.popleft() if len(queue) == 1 else self._next(queue))
        else:
            event.current = None
        if reason is None:
            self._carry_out(self.scheduler.done(*issue))
            return issue
        self._carry_out(self.scheduler.failed(*issue, reason))
        return Failed(*issue, reason)

    @abstractmethod
    def _ended(self, issue: Issue, begun: float) -> str | None:
        """A request that began at a time has ended. Returns the reason if it has failed."""

    def _told(self, when: float, stimulus: Submit | Cancel) -> Submit | Cancel | None:
        """Pass a stimulus to the scheduler. None if nothing happens."""
        self.now = when
        self._carry_out(self.scheduler.handle(stimulus))
        return stimulus

    def _next(self, queue: deque[Issue]) -> Issue:
        """The request that a server works on next: those that a transfer has queued ahead do not delay a more urgent one."""
        if queue[0].transfer == queue[-1].transfer:
            return queue.popleft()
        priority = self.scheduler.priority
        at = max(range(len(queue)), key=lambda k: (priority(queue[k].transfer), -k))
        request = queue[at]
        del queue[at]
        return request

    def _carry_out(self, instructions: Sequence[Instruction]) -> None:
        self._answer, places = instructions, self._places
        for instruction in instructions:
            if type(instruction) is Issue:
                server = places[instruction.transfer][instruction.hop][0]
                if server.current is None:
                    self._begin(server, instruction)
                else:
                    server.queue.append(instruction)
            else:
                self._note(instruction)
        if self._flows.has_changed:
            self._flows.share_anew(self.now)

    @abstractmethod
    def _note(self, instruction: Instruction) -> None:
        """An instruction that issues no request. It takes no time."""

    def _begin(self, server: Server, issue: Issue) -> None:
        _, full, last, last_chunk = self._places[issue.transfer][issue.hop]
        load = server.load = full if issue.chunk < last_chunk else last
        server.current, server.begun = issue, self.now
        if load.uses:
            self._flows.begin(server, self.now)
        else:
            server.version = version = server.version + 1
            self._sequence += 1
            heappush(self._events, (self.now + load.seconds, self._sequence, server, version))
