"""Simulated requests that share resources: how many bytes are left of each, and how fast it is at present."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Generic, TypeVar

from isoviz.scheduling.fair_sharing import ROUNDING, Uses, fair_rates, those_sharing

if TYPE_CHECKING:
    from collections.abc import Callable

    from isoviz.machines import Machine

Server = TypeVar("Server")


class Flow(Generic[Server]):
    """A request of a channel that shares resources: the bytes left, and its rate in bytes per second, at most `most`.

    `version` counts the changes of its rate: the end that was computed with an older version is no longer true.
    """

    __slots__ = ("left", "most", "number", "rate", "server", "since", "uses", "version")

    def __init__(self, server: Server, left: float, most: float, now: float, uses: Uses, number: int) -> None:
        self.server, self.left, self.most, self.uses, self.number = server, left, most, uses, number
        self.rate, self.since, self.version = 0.0, now, 0

    def follows(self, other: Flow[Server]) -> bool:
        """Whether it takes the place of a flow that has ended: it uses as much, and may be as fast."""
        return self.server is other.server and self.uses == other.uses and math.isclose(self.most, other.most, rel_tol=ROUNDING)


class Flows(Generic[Server]):
    """The flows at work on a machine. `push` schedules the end of a flow at a time in seconds.

    What ends and begins in one event is noted, and the resources are divided anew once, at its end (`share_anew`).
    """

    def __init__(self, machine: Machine, push: Callable[[float, Flow[Server], int], None]) -> None:
        self._machine, self._push = machine, push
        self._capacity: dict[str, float] = {}
        """The capacities of the shared resources of the channels at work so far."""
        self._held: set[str] = set()
        self._users: dict[str, dict[Flow[Server], None]] = {}
        """The flows at work on every shared resource."""
        self._flows: dict[Server, Flow[Server]] = {}
        self._count = 0
        self._ended: Flow[Server] | None = None
        self._begun: list[Flow[Server]] = []

    def uses_of(self, name: str) -> Uses:
        """The shared resources of a channel."""
        channel = self._machine.find_channel(name)
        uses = () if channel is None else channel.resources
        for used, _ in uses:
            if used not in self._capacity:
                resource = self._machine.resource(used)
                self._capacity[used] = resource.capacity
                self._users[used] = {}
                if resource.held:
                    self._held.add(used)
        return uses

    def begin(self, server: Server, uses: Uses, nbytes: float, most: float, moved: float, now: float) -> None:
        """Note that a request of `nbytes` bytes begins. A byte of it moves `moved` bytes over the channel."""
        own = tuple((name, weight / most if name in self._held else weight * moved) for name, weight in uses)
        flow = self._flows[server] = Flow(server, nbytes, most, now, own, self._count)
        self._count += 1
        for name, _ in own:
            self._users[name][flow] = None
        self._begun.append(flow)

    def end(self, server: Server) -> None:
        """Note that the request of a channel has ended."""
        flow = self._ended = self._flows.pop(server)
        for name, _ in flow.uses:
            del self._users[name][flow]

    def share_anew(self, now: float) -> None:
        """Divide the resources of the flows that have ended or begun in this event, and schedule the ends of all flows concerned.

        A flow that follows another one of its channel with the same uses has its rate, and no other rate changes.
        """
        ended, begun = self._ended, self._begun
        if ended is None and not begun:
            return
        self._ended, self._begun = None, []
        if ended is not None and len(begun) == 1 and begun[0].follows(ended):
            self._set_rate(begun[0], ended.rate, now)
            return
        changed = begun if ended is None else [*begun, ended]
        names = dict.fromkeys(name for flow in changed for name, _ in flow.uses)
        flows = sorted(those_sharing(names, self._users), key=lambda flow: flow.number)
        rates = fair_rates([flow.most for flow in flows], [flow.uses for flow in flows], self._capacity)
        for flow, rate in zip(flows, rates, strict=True):
            if rate != flow.rate:
                self._set_rate(flow, rate, now)

    def _set_rate(self, flow: Flow[Server], rate: float, now: float) -> None:
        flow.left = max(0.0, flow.left - flow.rate * (now - flow.since))
        flow.rate, flow.since = rate, now
        flow.version += 1
        self._push(now + flow.left / rate if rate > 0 else math.inf, flow, flow.version)
