"""Small copies: planned once, and carried out by the caller's thread if their channel is idle."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from isoviz.errors import RunError, TransferError
from isoviz.planner import Transfer
from isoviz.planner import plan as make_plan
from isoviz.runtime.engine.event import Event

if TYPE_CHECKING:
    from isoviz.layouts import StridedCopy
    from isoviz.planner import Instance, Options, Plan
    from isoviz.runtime.engine.open_devices import OpenedDevices
    from isoviz.runtime.protocols import Endpoint, RealChannel, RealMemory

MOST_PREPARED = 4096
"""The number of copies whose plans an engine keeps."""
AT_ONCE = 64 << 10
"""Bytes. A copy up to this size is small: handing it to another thread would take longer than moving it."""


class Prepared(NamedTuple):
    """A copy with its plan.

    - `here`, `there`: its ends. They are kept because their `id` identifies the copy.
    - `copies`: what a small copy moves; None for other copies.
    - `memories`: the memories of its path.
    """

    here: Instance
    there: Instance
    plan: Plan
    copies: tuple[StridedCopy, ...] | None
    memories: list[RealMemory]

    def ends(self, source: Any, destination: Any) -> tuple[Endpoint, Endpoint]:
        """The stores of a copy between two objects of the caller.

        Raises:
            TransferError: source and destination are the same, or one is not what the plan expects.
            FileError: a file is not what the plan expects.
        """
        transfer = self.plan.transfer
        here = self.memories[0].source(transfer.source, source)
        there = self.memories[-1].destination(transfer.destination, destination, transfer.is_partial)
        if here.identity == there.identity:
            raise TransferError(f"transfer: source and destination are the same ({transfer.source}); nothing was changed")
        return here, there

    def move(self, channel: RealChannel, here: Endpoint, there: Endpoint) -> RunError | None:
        """Carry out the copy in this thread. Returns the error if it fails."""
        assert self.copies is not None
        try:
            channel.move(self.copies, here, there, _go_on)
        except RunError as error:
            return type(error)(str(error), hop=0, channel=self.plan.hops[0].channel, chunk=0)
        return None


class PreparedCopies:
    """The copies whose plans an engine keeps. Any thread may use it."""

    def __init__(self, real: OpenedDevices) -> None:
        self._real = real
        self._known: dict[tuple[int, int, int], Prepared] = {}

    def __len__(self) -> int:
        return len(self._known)

    def of(self, here: Instance, there: Instance, priority: int, options: Options) -> Prepared:
        """The copy between two instances. It is planned if it is not known yet.

        Raises:
            InputError: there is no plan for it, or this computer lacks one of its memories.
        """
        found = self._known.get((id(here), id(there), priority))
        if found is not None:
            return found
        plan = make_plan(Transfer(here, there, priority=priority), self._real.machine, None, options)
        found = _prepared(here, there, plan, self._real.memories(plan)[0], self._real.channel(plan.hops[0].channel))
        if here.path is None and there.path is None:  # a file gets a new instance for every copy
            if len(self._known) >= MOST_PREPARED:
                self._known.clear()
            self._known[id(here), id(there), priority] = found
        return found

    def clear(self) -> None:
        """Forget all of them."""
        self._known.clear()


def _prepared(here: Instance, there: Instance, plan: Plan, memories: list[RealMemory], channel: RealChannel) -> Prepared:
    """The copy of a plan. `channel` is the channel of its first hop."""
    copies = None
    if len(plan.hops) == 1 and plan.bytes <= AT_ONCE and channel.at_once:
        copies = tuple([copy for chunk in range(plan.chunk_count) for copy in plan.copies(0, chunk)])
    return Prepared(here, there, plan, copies, memories)


def ended(plan: Plan, error: RunError | None) -> Event:
    """The event of a copy that has already ended."""
    event = Event(plan)
    event.end(error)
    return event


def _go_on() -> None:
    """Never stop: a small copy takes microseconds."""
