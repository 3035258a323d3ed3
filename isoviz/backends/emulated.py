"""A machine emulated on this computer: real bytes in host memory, moved at the speed that its channels are described with.

For experiments that must not depend on the computer they run on, and for lectures: what a scheduler gains can be measured with
real threads and real copies, on a machine nobody has.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from isoviz.backends.formats.describing import describe
from isoviz.backends.host.host_memory import HostMemory, HostStore, Memcpy
from isoviz.backends.verify import BUDGET, verify
from isoviz.errors import RunError

if TYPE_CHECKING:
    from isoviz.layouts import Layout, StridedCopy
    from isoviz.machines import Channel, Machine, Memory
    from isoviz.planner import Instance, Plan
    from isoviz.runtime.protocols import Check, Endpoint, RealChannel, RealMemory, Store

_TICK = 0.05
"""Seconds between two looks whether the transfer is still wanted."""


class RateLimited:
    """A channel that moves bytes for real and takes as long as its description says: a request of n bytes in runs of r takes
    n / tp(r) seconds. Requests that are handed over while one is under way follow it without a gap, as they do in a device with
    a queue (`max_in_flight` of the channel above 1). Faster than this computer's memory it cannot be.
    """

    at_once = False

    def __init__(self, channel: Channel) -> None:
        self._throughput = channel.throughput
        self._copy = Memcpy()
        self._free_at = 0.0
        self._lock = threading.Lock()

    def move(self, copies: Sequence[StridedCopy], source: Store, destination: Store, check: Check) -> int:
        assert isinstance(source, HostStore) and isinstance(destination, HostStore)
        seconds = sum(copy.nbytes / self._throughput(max(copy.run, 1)) for copy in copies)
        now = time.perf_counter()
        with self._lock:
            end = self._free_at = max(now, self._free_at) + seconds
        count = self._copy.move(copies, source, destination, check)
        while (left := end - time.perf_counter()) > 0:
            check()
            time.sleep(min(left, _TICK))  # sleeping too long delays nothing: the next request has begun on time
        return count


class EmulatedMachine:
    """Every memory of a machine in host memory, every channel as fast as it is described. Meets
    `isoviz.runtime.protocols.Devices`."""

    def __init__(self, verify_budget: int = BUDGET) -> None:
        self.verify_budget = verify_budget

    def memory(self, memory: Memory) -> RealMemory:
        return HostMemory(memory.name)

    def channel(self, channel: Channel) -> RealChannel:
        return RateLimited(channel)

    def describe(self, machine: Machine, given: Any, layout: Layout | str, like: Instance | None) -> Instance:
        return describe(machine, given, layout, like)

    def verify(self, plan: Plan, source: Endpoint, destination: Endpoint, check: Check) -> None:
        if not isinstance(source, HostStore) or not isinstance(destination, HostStore):
            raise RunError("verification: not memories of this emulation")
        verify(plan.transfer, source, destination, self.verify_budget, check)
