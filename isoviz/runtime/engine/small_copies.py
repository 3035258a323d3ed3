"""Small copies: planned once, and carried out by the caller's thread if their channel is idle."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Any, NamedTuple

from isoviz import checks
from isoviz.planner import Transfer
from isoviz.planner import plan as make_plan
from isoviz.runtime.engine.device_errors import of_opening, of_request, of_step, require_apart, tidied

if TYPE_CHECKING:
    from collections.abc import Callable

    from isoviz.errors import RunError
    from isoviz.layouts import StridedCopy
    from isoviz.planner import Instance, Options, Plan
    from isoviz.runtime.engine.open_devices import OpenedDevices
    from isoviz.runtime.protocols import Endpoint, RealChannel, RealMemory
    from isoviz.scheduling.pool import ChannelState

MOST_PREPARED = 4096
"""The number of copies whose plans an engine keeps."""
AT_ONCE = 64 << 10
"""Bytes. A copy up to this size is small: handing it to another thread would take longer than moving it."""
_PREPARES, _OPENS, _MOVES, _PUBLISHES = range(4)
"""The steps of a small copy."""


class Prepared(NamedTuple):
    """A copy with its plan.

    - `here`, `there`: its ends. They are kept because their `id` identifies the copy.
    - `copies`: what a small copy moves; empty for other copies.
    - `memories`: the memories of its path.
    - `channel`, `state`: the channel of its first hop, and what the scheduler knows of it.
    - `nbytes`, `is_partial`: of the plan and its transfer, where they are computed again for every use.
    """

    here: Instance
    there: Instance
    plan: Plan
    copies: tuple[StridedCopy, ...]
    memories: list[RealMemory]
    channel: RealChannel
    state: ChannelState
    nbytes: int
    is_partial: bool

    def carry_out(self, source: Any, destination: Any) -> BaseException | None:
        """Carry out the copy between two objects of the caller, in this thread. Returns its error, that of a larger copy.

        Raises:
            BaseException: a signal came, or a device raised what is no Exception.
        """
        transfer, memories, error = self.plan.transfer, self.memories, None
        here: Endpoint | None = None
        there: Endpoint | None = None
        step = _PREPARES
        try:
            self.channel.prepare(self.nbytes)
            step = _OPENS
            here = memories[0].source(transfer.source, source)
            there = memories[-1].destination(transfer.destination, destination, self.is_partial)
            require_apart(transfer, here, there)
            step = _MOVES
            self.channel.move(self.copies, here, there, _go_on)
            step = _PUBLISHES
            there.flush()
            there.publish()
        except Exception as raised:  # noqa: BLE001  # the event carries it
            error = self._typed(raised, step)
        finally:
            unclosed = None if there is None else tidied(there.close)
            if here is not None:
                unclosed = tidied(here.close) or unclosed
        return error or unclosed

    def _typed(self, error: Exception, step: int) -> BaseException:
        if step == _OPENS:
            return of_opening(error)
        chunk = 0 if step == _MOVES else None

        def located(kind: type[RunError], message: str) -> RunError:
            return kind(message, hop=0, channel=self.plan.hops[0].channel, chunk=chunk)

        return of_step(error, located) if chunk is None else of_request(error, located)


class PreparedCopies:
    """The copies whose plans an engine keeps. Any thread may use it. `state` is the state of a channel in the scheduler."""

    def __init__(self, real: OpenedDevices, state: Callable[[str], ChannelState]) -> None:
        self._real, self._state = real, state
        self._known: OrderedDict[tuple[int, int, int], Prepared] = OrderedDict()

    def __len__(self) -> int:
        return len(self._known)

    def of(self, here: Instance, there: Instance, priority: int, options: Options) -> Prepared:
        """The copy between two instances. It is planned if it is not known yet.

        Raises:
            InputError: there is no plan for it, or this computer lacks one of its memories.
        """
        if type(priority) is not int:  # True would find the copy of priority 1
            priority = checks.priority(priority)
        found = self._known.get((id(here), id(there), priority))
        if found is not None:
            return found
        plan = make_plan(Transfer(here, there, priority=priority), self._real.machine, None, options)
        memories, name = self._real.memories(plan)[0], plan.every_hop[0].channel
        channel, is_partial = self._real.channel(name), plan.transfer.is_partial
        copies = tuple(plan.copies(0, 0)) if is_small(plan, channel) else ()
        found = Prepared(here, there, plan, copies, memories, channel, self._state(name), plan.bytes, is_partial)
        if here.path is None and there.path is None:  # a file gets a new instance for every copy
            self._known[id(here), id(there), priority] = found
            if len(self._known) > MOST_PREPARED:
                self._known.popitem(last=False)
        return found

    def clear(self) -> None:
        """Forget all of them."""
        self._known.clear()


def is_small(plan: Plan, channel: RealChannel) -> bool:
    """Whether a transfer is small: a single chunk in one hop, over a channel that waits for no device."""
    return channel.at_once and plan.bytes <= AT_ONCE and plan.chunk_count == 1 and len(plan.every_hop) == 1


def _go_on() -> None:
    """Never stop: a small copy takes microseconds."""
