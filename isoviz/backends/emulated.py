"""A machine emulated on this computer: real bytes move in host memory, at the rates of the machine description.

It serves experiments that must not depend on the computer, and lectures. The gain of a scheduler can be measured with real
threads and real copies, even for a machine that is not available.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from isoviz.backends.host.host_memory import HostMemory, HostStore, Memcpy
from isoviz.backends.verify import BaseDevices
from isoviz.machines import MemoryKind
from isoviz.runtime.device_bases import BaseChannel

if TYPE_CHECKING:
    from isoviz.layouts import StridedCopy
    from isoviz.machines import Channel, Memory
    from isoviz.runtime.protocols import Bound, Check, RealChannel, RealMemory, Store

_TICK = 0.05
"""Seconds between two checks for cancellation."""


class RateLimited(BaseChannel):
    """A channel that moves real bytes in the time that its description predicts.

    A request of n bytes in runs of r bytes takes n / tp(r) seconds, and the channel's time per request; where it has several
    runs, the channel's rate for layout changes holds. Requests submitted while another is under way follow it
    without a gap, as in a device with a queue (`max_in_flight` above 1). The rate cannot exceed that of this computer's memory.
    """

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._copy = Memcpy()
        self._free_at = 0.0
        self._lock = threading.Lock()

    def move(self, copies: Sequence[StridedCopy], source: Store, destination: Store, check: Check) -> int:
        assert isinstance(source, HostStore) and isinstance(destination, HostStore)
        seconds = self._channel.request_seconds + sum(self._seconds(copy) for copy in copies)
        now = time.perf_counter()
        with self._lock:
            end = self._free_at = max(now, self._free_at) + seconds
        count = self._copy.move(copies, source, destination, check)
        while (left := end - time.perf_counter()) > 0:
            check()
            time.sleep(min(left, _TICK))  # Oversleeping delays nothing: the next request already counts from `end`.
        return count

    def _seconds(self, copy: StridedCopy) -> float:
        plain, layouts, run = self._channel.throughput, self._channel.layout_throughput, max(copy.run, 1)
        if layouts is None or run >= copy.nbytes:
            return copy.nbytes / plain(run)
        return copy.nbytes / min(plain(copy.nbytes), layouts(run))


class EmulatedMachine(BaseDevices):
    """Devices that hold every memory of a machine in host memory and give every channel its described rate."""

    def memory(self, memory: Memory) -> RealMemory:
        return HostMemory(memory.name, stands_in=memory.kind is not MemoryKind.SYS or memory.node != 0)

    def channel(self, channel: Channel, source: Bound, destination: Bound) -> RealChannel:  # noqa: ARG002  # required by the protocol
        return RateLimited(channel)
