"""A machine emulated on this computer: real bytes in host memory, moved at the speed that its channels are described with.

For experiments that must not depend on the computer they run on, and for lectures: what a scheduler gains can be measured with
real threads and real copies, on a machine nobody has.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from isoviz.backends.base_devices import BaseDevices
from isoviz.backends.host.host_memory import HostMemory, HostStore, Memcpy
from isoviz.machines import MemoryKind
from isoviz.runtime.device_bases import BaseChannel

if TYPE_CHECKING:
    from isoviz.layouts import StridedCopy
    from isoviz.machines import Channel, Memory
    from isoviz.runtime.protocols import Bound, Check, RealChannel, RealMemory, Store

_TICK = 0.05
"""Seconds between two looks whether the transfer is still wanted."""


class RateLimited(BaseChannel):
    """A channel that moves bytes for real and takes as long as its description says: a request of n bytes in runs of r takes
    n / tp(r) seconds. Requests that are handed over while one is under way follow it without a gap, as they do in a device with
    a queue (`max_in_flight` of the channel above 1). Faster than this computer's memory it cannot be.
    """

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


class EmulatedMachine(BaseDevices):
    """Every memory of a machine in host memory, every channel as fast as it is described."""

    def memory(self, memory: Memory) -> RealMemory:
        return HostMemory(memory.name, stands_in=memory.kind is not MemoryKind.SYS or memory.node != 0)

    def channel(self, channel: Channel, source: Bound, destination: Bound) -> RealChannel:  # noqa: ARG002  # the protocol's
        return RateLimited(channel)
