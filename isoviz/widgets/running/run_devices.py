"""The devices of this computer for runs of the explorer: they report the progress of a verification, and take open ends."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from isoviz.backends.devices import ThisComputer
from isoviz.backends.verify import verify
from isoviz.runtime.protocols import Bound

if TYPE_CHECKING:
    from isoviz.layouts import Layout
    from isoviz.machines import Channel, Memory
    from isoviz.planner import Instance, Plan
    from isoviz.planner.bundled.bundle import BundleEnd
    from isoviz.runtime.protocols import Check, Endpoint, Holds, RealChannel, RealMemory, Slot


class RunDevices(ThisComputer):
    """This computer. `on_verified(plan, nbytes)` is called during a verification, with the bytes that have been equal so far.

    `before_verifying(plan, check)` is called first; it may wait.
    """

    def __init__(
        self, on_verified: Callable[[Plan, int], None], before_verifying: Callable[[Plan, Check], None] = lambda *_: None
    ) -> None:
        super().__init__()
        self._on_verified = on_verified
        self._before_verifying = before_verifying

    def memory(self, memory: Memory) -> RealMemory | None:
        real = super().memory(memory)
        return None if real is None else MemoryWithOpenedEnds(real)

    def channel(self, channel: Channel, source: Bound, destination: Bound) -> RealChannel | None:
        return super().channel(channel, _bare(source), _bare(destination))

    def verify(self, plan: Plan, source: Endpoint, destination: Endpoint, check: Check) -> None:
        self._before_verifying(plan, check)
        verify(plan.transfer, source, destination, self.verify_budget, check, lambda nbytes: self._on_verified(plan, nbytes))


def _bare(end: Bound) -> Bound:
    return Bound(end.memory, end.real.inner) if isinstance(end.real, MemoryWithOpenedEnds) else end


class OpenedEnd:
    """An end of a transfer that is open before the transfer is submitted."""

    def __init__(self, end: Endpoint) -> None:
        self.end = end


class MemoryWithOpenedEnds:
    """A memory (`isoviz.runtime.protocols.RealMemory`) that also takes an `OpenedEnd`."""

    def __init__(self, inner: RealMemory) -> None:
        self.inner = inner

    @property
    def name(self) -> str:
        return self.inner.name

    @property
    def notes(self) -> tuple[str, ...]:
        return self.inner.notes

    @property
    def takes(self) -> str:
        return self.inner.takes

    def slot(self, nbytes: int) -> Slot:
        return self.inner.slot(nbytes)

    def source(self, instance: Instance, given: Any | None) -> Endpoint:
        return given.end if isinstance(given, OpenedEnd) else self.inner.source(instance, given)

    def destination(self, instance: Instance, given: Any | None, partial: bool) -> Endpoint:
        return given.end if isinstance(given, OpenedEnd) else self.inner.destination(instance, given, partial)

    def together(self, stores: Sequence[Endpoint], end: BundleEnd) -> Endpoint:
        return self.inner.together(stores, end)

    def received(self, given: Any) -> Any:
        return given if isinstance(given, OpenedEnd) else self.inner.received(given)

    def holds(self, given: Any) -> Holds:
        return self.inner.holds(given)

    def describe(self, given: Any, layout: Layout | str, like: Instance | None) -> Instance:
        return self.inner.describe(given, layout, like)
