"""A scheduler in virtual time: servers carry out the requests that it issues, and flows share resources.

A channel is a server: it carries out its requests one after the other. Requests of channels that use a shared resource get fair
shares of it (`isoviz.scheduling.fair_sharing`). The simulator is virtual time with a trace.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from heapq import heappop, heappush
from typing import TYPE_CHECKING

from isoviz.scheduling.flows import Flows, Load, Server
from isoviz.scheduling.work import Failed, Issue

if TYPE_CHECKING:
    from collections import deque
    from collections.abc import Iterable, Sequence

    from isoviz.scheduling.scheduler import Scheduler
    from isoviz.scheduling.work import Cancel, Instruction, Submit, Work

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
