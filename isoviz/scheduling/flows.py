"""Requests at work on shared resources: how many bytes are left of each, and how fast it is at present."""

from __future__ import annotations

import math
from collections import deque
from typing import TYPE_CHECKING

from isoviz.scheduling.fair_sharing import ROUNDING, Uses, fair_rates, those_sharing

if TYPE_CHECKING:
    from collections.abc import Callable

    from isoviz.scheduling.work import Issue


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
