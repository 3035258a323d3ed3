"""Devices that carry out only some hops of a plan, to measure these hops alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from isoviz.backends.devices import ThisComputer
from isoviz.runtime.device_bases import BaseChannel, BaseEndpoint, BaseMemory

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoviz.layouts import StridedCopy
    from isoviz.machines import Channel, Machine, Memory
    from isoviz.planner import Instance, Plan
    from isoviz.runtime.protocols import Bound, Check, RealChannel, RealMemory, Store


class IdleDevices(ThisComputer):
    """This computer, with only the channels of some hops at work. All other hops complete at once."""

    def __init__(self, machine: Machine, plan: Plan, hops: Sequence[int]) -> None:
        super().__init__()
        self._working = {plan.hops[hop].channel for hop in hops}
        self._touched = {memory for hop in hops for memory in (plan.hops[hop].source, plan.hops[hop].destination)}
        self._alignment = max(machine.channel(hop.channel).alignment for hop in plan.hops)

    def memory(self, memory: Memory) -> RealMemory | None:
        return super().memory(memory) if memory.name in self._touched else _Memory(memory.name, self._alignment)

    def channel(self, channel: Channel, source: Bound, destination: Bound) -> RealChannel | None:
        return super().channel(channel, source, destination) if channel.name in self._working else _Channel()


class _Store(BaseEndpoint):
    """Bytes that are neither read nor written: an end, or a slot."""

    def __init__(self, nbytes: int, alignment: int) -> None:
        self.nbytes, self.alignment = nbytes, alignment

    def read(self, offset: int, nbytes: int) -> bytes:  # noqa: ARG002  # required by the protocol
        return bytes(nbytes)

    def place(self, shift: int) -> None:
        """Do nothing: there is no data to shift."""

    def clear(self) -> None:
        """Do nothing: there is no data."""


class _Memory(BaseMemory):
    """A memory that no copy accesses."""

    def __init__(self, name: str, alignment: int) -> None:
        super().__init__(name)
        self._alignment = alignment

    def slot(self, nbytes: int) -> _Store:
        return _Store(nbytes, 1)

    def source(self, instance: Instance, given: Any | None) -> _Store:  # noqa: ARG002  # protocol
        return _Store(instance.linearization.nbytes, self._alignment)

    def destination(self, instance: Instance, given: Any | None, partial: bool) -> _Store:  # noqa: ARG002  # protocol
        return _Store(instance.linearization.nbytes, self._alignment)


class _Channel(BaseChannel):
    """A channel that moves nothing and completes at once."""

    at_once = True

    def move(self, copies: Sequence[StridedCopy], source: Store, destination: Store, check: Check) -> int:  # noqa: ARG002
        return len(copies)
