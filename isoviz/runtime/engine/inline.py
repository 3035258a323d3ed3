"""Small transfers, carried out by the thread that submits them if their channel is idle."""

from __future__ import annotations

from collections import OrderedDict
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from isoviz import checks
from isoviz.planner import Transfer
from isoviz.planner import plan as make_plan
from isoviz.runtime.bundle_ends import destination_of, source_of
from isoviz.runtime.engine.device_errors import of_opening, of_request, of_step, require_apart, tidied
from isoviz.runtime.engine.prepared_transfer import go_on, opened
from isoviz.runtime.grips import array_at, form_of_bytes, is_plain
from isoviz.scheduling.pool import first_come_first_served, highest_priority_first

if TYPE_CHECKING:
    from collections.abc import Callable

    from isoviz.errors import RunError
    from isoviz.machines import Machine
    from isoviz.planner import Instance, Options, Plan
    from isoviz.runtime.engine.prepared_plans import Inlined, PreparedPlan, PreparedPlans
    from isoviz.runtime.engine.prepared_transfer import OpenEnds
    from isoviz.runtime.grips import Form
    from isoviz.runtime.protocols import Endpoint
    from isoviz.scheduling.pool import ChannelState

MOST_COPIES = 4096
"""The number of copies whose plans an engine keeps."""
AT_ONCE = 64 << 10
"""Bytes. A transfer up to this size is small: handing it to another thread would take longer than moving it."""
_PREPARES, _OPENS, _MOVES, _PUBLISHES = range(4)
"""The steps of a small transfer."""


class Inline:
    """A small plan: a single request between objects of this process, on a channel that waits for no device.

    `state` is what the scheduler knows of its channel. `may_submit`: whether an engine whose requests have `request_bytes` makes
    one request of it, and no policy of the caller wants to be asked. It does not refer to the plan, so it ends with the plan.
    """

    def __init__(self, plan: Plan, prepared: PreparedPlan, state: ChannelState, request_bytes: int) -> None:
        self.state, self._prepared, self._transfer = state, prepared, plan.transfer
        work = prepared.work(plan, None, pipelined=True, request_bytes=request_bytes)
        self.may_submit = work.requests == (1,) and state.policy in (highest_priority_first, first_come_first_served)
        self._channel, self._nbytes = prepared.channels[0], plan.bytes
        self._copies = prepared.taken(0, [*plan.copies(0, 0)], plan.bytes)[0]
        self._may_keep = _are_of_one_class(self._channel, "move", "prepared_move") and all(
            getattr(memory, "lends_views", False) and _are_of_one_class(memory, "source", "destination", "lends_views")
            for memory in (prepared.memories[0][0], prepared.memories[0][-1])
        )
        self._known: tuple[tuple[Form, Form], OpenEnds | None] | None = None
        """Where the arrays lay that came last, and their open ends, if they came before."""

    def move(self, plan: Plan, source: Any, destination: Any) -> Callable[[], BaseException | None]:
        """What carries out the transfer between two objects of the caller. It returns its error, that of a larger transfer."""
        ends = self.kept_ends(plan, source, destination)
        return partial(self._opened_and_moved, plan, source, destination) if ends is None else ends.move

    def kept_ends(self, plan: Plan, source: Any, destination: Any) -> OpenEnds | None:
        """The open ends of two objects of the caller; None if they are other ones than those before, or must be opened again.

        Arrays that come again are not opened again. Their ends are used only while the caller has these arrays.
        """
        if not is_plain(source) or not is_plain(destination):
            return None
        forms, known = (form_of_bytes(source), form_of_bytes(destination)), self._known
        if known is None or known[0] != forms:
            self._known = forms, None
            return None
        ends = known[1]
        if ends is None:
            ends = self._bound(plan, forms)
            self._known = forms, ends
        return ends

    def _bound(self, plan: Plan, forms: tuple[Form, Form]) -> OpenEnds | None:
        """The open ends of two arrays; None if a device of the caller wants to see every transfer."""
        if self._prepared.receivers != (None, None) or not self._may_keep:
            return None
        try:
            return opened(plan, self._prepared, (array_at(forms[0]), array_at(forms[1])))
        except Exception:  # noqa: BLE001  # the transfer says what is wrong
            return None

    def _opened_and_moved(self, plan: Plan, source: Any, destination: Any) -> BaseException | None:
        transfer, memories, error = self._transfer, self._prepared.memories[0], None
        here: Endpoint | None = None
        there: Endpoint | None = None
        step = _PREPARES
        try:
            self._channel.prepare(self._nbytes)
            step = _OPENS
            here = source_of(memories[0], transfer, source)
            there = destination_of(memories[-1], transfer, destination)
            copies = self._copies
            if here.lies is not None or there.lies is not None:
                lying, prepared = self._prepared.lying(plan, here.lies, there.lies)
                transfer, copies = lying.transfer, prepared.taken(0, [*lying.copies(0, 0)], lying.bytes)[0]
            require_apart(transfer, here, there)
            step = _MOVES
            self._channel.move(copies, here, there, go_on)
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
            return kind(message, hop=0, channel=self.state.name, chunk=chunk)

        return of_step(error, located) if chunk is None else of_request(error, located)


class KnownCopy(NamedTuple):
    """A copy with its plan; `inline` if it is small. Its ends are kept because their `id` identifies the copy."""

    here: Instance
    there: Instance
    plan: Plan
    inline: Inlined | None


class KnownCopies:
    """The copies whose plans an engine keeps. Any thread may use it."""

    def __init__(self, plans: PreparedPlans) -> None:
        self._plans = plans
        self._known: OrderedDict[tuple[int, int, int], KnownCopy] = OrderedDict()

    def __len__(self) -> int:
        return len(self._known)

    def of(self, here: Instance, there: Instance, priority: int, options: Options) -> KnownCopy:
        """The copy between two instances. It is planned if it is not known yet.

        Raises:
            InputError: there is no plan for it, or this computer lacks one of its memories.
        """
        if type(priority) is not int:  # True would find the copy of priority 1
            priority = checks.priority(priority)
        found = self._known.get((id(here), id(there), priority))
        if found is not None:
            return found
        plan = make_plan(Transfer(here, there, priority=priority), self._plans.machine, None, options)
        found = KnownCopy(here, there, plan, self._plans.of(plan).inline)
        if here.path is None and there.path is None:  # a file gets a new instance for every copy
            self._known[id(here), id(there), priority] = found
            if len(self._known) > MOST_COPIES:
                self._known.popitem(last=False)
        return found

    def clear(self) -> None:
        """Forget all of them."""
        self._known.clear()


def inline_of(
    machine: Machine, state: Callable[[str], ChannelState], request_bytes: int, plan: Plan, prepared: PreparedPlan
) -> Inline | None:
    """What carries out a small plan in the caller's thread; None for other plans. `state` is that of a channel."""
    channel, hops = prepared.channels[0], plan.every_hop
    if not channel.at_once or channel.is_asynchronous or len(hops) > 1 or plan.chunk_count > 1 or plan.bytes > AT_ONCE:
        return None
    if any(machine.memory(name).kind.is_file_system for name in plan.every_memory):
        return None
    return Inline(plan, prepared, state(hops[0].channel), request_bytes)


def _are_of_one_class(device: object, *names: str) -> bool:
    """Whether the same class defines all of these: a class derived from it may have changed what one of them does."""
    return len({next((kind for kind in type(device).__mro__ if name in vars(kind)), None) for name in names}) == 1
