"""What all transfers of a plan have in common on an engine: found out at the first transfer, and kept as long as the plan.

A host runtime submits the same plan again and again. Without this, most of the time of a small transfer would be spent on facts
that do not change: devices, work, hops, and the copies of the first chunk.
"""

from __future__ import annotations

import weakref
from collections import OrderedDict
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from isoviz import checks
from isoviz.layouts.copies import without_lists
from isoviz.runtime.device_bases import BaseMemory
from isoviz.runtime.engine.program import may_have_program, program_of
from isoviz.runtime.pipeline import work_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from isoviz.layouts import StridedCopy
    from isoviz.planner import Instance, PathPlan, Plan
    from isoviz.runtime.engine.open_devices import OpenedDevices
    from isoviz.runtime.engine.program import Program
    from isoviz.runtime.protocols import Endpoint, PartLoop, RealChannel, RealMemory
    from isoviz.scheduling.pool import ChannelState
    from isoviz.scheduling.work import Work


class HopOfPath(NamedTuple):
    """A hop among the hops of all paths.

    - `number`: the number of its path.
    - `path`: its path.
    - `hop`: its position on the path.
    - `ring`: the number of the ring buffer behind it. The ring buffer before it has the number `ring` − 1.
    - `is_last`: whether it writes the destination.
    - `first`: the number of the path's first chunk in the plan's sequence of chunks.
    """

    number: int
    path: PathPlan
    hop: int
    ring: int
    is_last: bool
    first: int


def hops_of(plan: Plan) -> list[HopOfPath]:
    """The hops of all paths, path after path. A path has one ring buffer fewer than hops."""
    found: list[HopOfPath] = []
    for number, path in enumerate(plan.paths):
        ring, last, first = len(found) - number, len(path.hops) - 1, path.numbers.start
        found += [HopOfPath(number, path, hop, ring + hop, hop == last, first) for hop in range(last + 1)]
    return found


SMALL_REQUEST = 1 << 14
"""Bytes. A request up to this size, on an `at_once` channel within a process, costs less than handing it to another thread."""
IN_TURN = 256 << 10
"""Bytes. A transfer up to this size, with one chunk and one request per hop, runs in the thread of its first request. In
a lane, the limit is for the bytes of all hops together."""
MINE = 16 << 20
"""Bytes. The caller's thread carries out a request up to this size: a signal waits for it some milliseconds at most."""
MOST_PLANS = 4096
"""The number of plans that an engine keeps prepared; of more, the first one is dropped."""
MOST_WORKS = 16
"""The number of priorities for which the work of a plan is kept."""
FEW_COPIES = 256
"""The copies of a first chunk are kept if there are at most this many of them."""

Copies = tuple["list[StridedCopy]", int]
"""The copies of a chunk on a hop, and the payload of the chunk in bytes."""


class Handling(NamedTuple):
    """Which threads carry out the requests of a transfer.

    - `is_mine`: the thread that submits it, because it is one request that needs no device. Then nothing else is true of it.
    - `is_small`: for every hop, whether its requests cost less than handing them to another thread.
    """

    is_mine: bool
    is_small: tuple[bool, ...]


class KeptEnds(Protocol):
    """The open ends of a small plan (`isoviz.runtime.engine.prepared_transfer.OpenEnds`). `plan` is the plan for them."""

    plan: Plan
    source: Endpoint
    destination: Endpoint

    def carry_out(self, prepared: PreparedPlan) -> int: ...


class Inlined(Protocol):
    """What carries out a small plan in the caller's thread (`isoviz.runtime.engine.inline`)."""

    state: ChannelState
    may_submit: bool

    def move(self, plan: Plan, source: Any, destination: Any) -> Callable[[], BaseException | None]: ...

    def kept_ends(self, plan: Plan, source: Any, destination: Any) -> KeptEnds | None: ...


class PreparedPlan:
    """A plan on the channels of an engine. Any thread may use it.

    - `hops`: the hops of all paths.
    - `channels`: their channels. `memories`: the memories of each path.
    - `receivers`: for each end, what its memory makes of an object in the caller's thread; None if nothing.
    - `is_asynchronous`: for every hop, whether its channel is asynchronous.
    - `cleared`: for every ring buffer, whether the hop behind it moves more padding than the hop before it.
    - `first`: the copies of the first chunk of a path, by hop, if there are few.
    - `inline`: what carries out a small plan in the caller's thread; None for other plans.

    It does not refer to the plan, so that it ends with the plan.
    """

    def __init__(self, plan: Plan, memories: Sequence[Sequence[RealMemory]], channels: Sequence[RealChannel]) -> None:
        self.hops = hops_of(plan)
        self.memories, self.channels = memories, channels
        self.receivers = tuple([_receiver(memory) for memory in (memories[0][0], memories[0][-1])])
        self.is_asynchronous = [channel.is_asynchronous for channel in channels]
        self.cleared = [
            any(later > here for here, later in zip(*pair, strict=True)) for path in plan.paths for pair in pairwise(path.padding)
        ]
        self.first: dict[int, Copies] = {}
        self.inline: Inlined | None = None
        self._at_once = [channel.at_once and not channel.is_asynchronous for channel in channels]
        self._bytes = plan.bytes
        self._works: dict[tuple[int | None, bool], Work] = {}
        self._lying: dict[tuple[Instance | None, Instance | None], LyingPlan] = {}
        self._handling: dict[tuple[bool, bool, tuple[int, ...], int], Handling] = {}
        self._programs: dict[PartLoop, Program | None] = {}

    def work(self, plan: Plan, priority: int | None, *, pipelined: bool, request_bytes: int) -> Work:
        """The work of the plan (`isoviz.runtime.pipeline`), for requests of always the same `request_bytes`.

        Raises:
            InputError: the priority is not a whole number.
        """
        if priority is not None and type(priority) is not int:
            priority = checks.priority(priority)
        key = priority, pipelined
        found = self._works.get(key)
        if found is None:
            found = work_of(plan, priority, pipelined=pipelined, request_bytes=request_bytes, channels=self.channels)
            if len(self._works) >= MOST_WORKS:
                self._works.clear()
            self._works[key] = found
        return found

    def loop_of(self, work: Work) -> PartLoop | None:
        """The loop that can carry out the plan part by part without the scheduler; None if there is none now."""
        loop = self.channels[0].part_loop
        if loop is None or any(self.cleared) or not may_have_program(self.hops[0].path, work):
            return None
        return loop if all(channel.part_loop is loop for channel in self.channels) else None

    def program(self, plan: Plan, loop: PartLoop) -> Program | None:
        """The program of the plan for a loop, made at the first call; None if it has none."""
        if loop not in self._programs:
            self._programs[loop] = program_of(plan, loop)
        return self._programs[loop]

    def handling(self, work: Work, waits: bool, small: int = SMALL_REQUEST) -> Handling:
        """Which threads carry out the requests of a transfer. `waits` says whether its submitter waits for it.

        A request of up to `small` bytes on an `at_once` channel costs less than handing it to another thread.
        """
        key = waits, work.chunks == 1, work.requests, small
        found = self._handling.get(key)
        if found is None:
            found = self._handling[key] = self._handled(*key)
        return found

    def _handled(self, waits: bool, is_one_chunk: bool, requests: tuple[int, ...], small_bytes: int) -> Handling:
        if is_one_chunk and requests == (1,) and self._at_once[0] and self._bytes <= (MINE if waits else small_bytes):
            return Handling(True, (True,))
        in_turn = is_one_chunk and self._bytes <= IN_TURN and max(requests) == 1
        small = [
            not self.is_asynchronous[hop]
            and ((in_turn and at.hop > 0) or (self._at_once[hop] and at.path.chunk_payload <= small_bytes * count))
            for hop, (at, count) in enumerate(zip(self.hops, requests, strict=True))
        ]
        return Handling(False, tuple(small))

    def taken(self, hop: int, copies: list[StridedCopy], payload: int) -> Copies:
        """The copies of a chunk as the channel of a hop takes them."""
        return copies if self.channels[hop].takes_lists else without_lists(copies), payload

    def lying(self, plan: Plan, source: Instance | None, destination: Instance | None) -> LyingPlan:
        """The plan for ends whose fields lie otherwise (`Plan.lying`), prepared as this one.

        Raises:
            TransferError: an end lacks a field that moves.
        """
        ends = source, destination
        found = self._lying.get(ends)
        if found is None:
            if len(self._lying) >= MOST_WORKS:
                self._lying.clear()
            lying = plan.lying(*ends)
            found = self._lying[ends] = LyingPlan(lying, PreparedPlan(lying, self.memories, self.channels))
        return found

    def keep(self, hop: int, copies: list[StridedCopy], payload: int) -> None:
        """Keep the copies of the first chunk of a path on a hop, if there are few."""
        if len(copies) <= FEW_COPIES:
            self.first[hop] = copies, payload


class LyingPlan(NamedTuple):
    """A plan for ends whose fields lie otherwise, and what it has in common with all its transfers."""

    plan: Plan
    prepared: PreparedPlan


def _receiver(memory: RealMemory) -> Callable[[Any], Any] | None:
    """The method of a memory for objects of a caller; None if it returns them as they are."""
    return None if type(memory).received is BaseMemory.received else memory.received


class PreparedPlans:
    """The plans that an engine has prepared. Any thread may use it. `inline` makes what carries out small plans."""

    def __init__(self, real: OpenedDevices, inline: Callable[[Plan, PreparedPlan], Inlined | None]) -> None:
        self._real, self._inline, self.machine = real, inline, real.machine
        self._known: OrderedDict[int, tuple[weakref.ref[Plan], PreparedPlan]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._known)

    def of(self, plan: Plan) -> PreparedPlan:
        """A plan, prepared at the first call.

        Raises:
            TransferError: as `OpenedDevices.memories` and `OpenedDevices.channel` do.
        """
        number = id(plan)
        known = self._known.get(number)
        if known is not None and known[0]() is plan:
            return known[1]
        memories = self._real.memories(plan)
        found = PreparedPlan(plan, memories, [self._real.channel(hop.channel) for hop in plan.every_hop])
        found.inline = self._inline(plan, found)
        mine = weakref.ref(self)

        def ended(reference: weakref.ref[Plan]) -> None:
            if (plans := mine()) is not None:
                plans.drop(number, reference)

        self._known[number] = weakref.ref(plan, ended), found
        if len(self._known) > MOST_PLANS:
            self._known.popitem(last=False)
        return found

    def drop(self, number: int, reference: weakref.ref[Plan]) -> None:
        """Forget a plan that has ended. A later plan may have got its number (`id`) already."""
        known = self._known.get(number)
        if known is not None and known[0] is reference:
            del self._known[number]

    def clear(self) -> None:
        """Forget all of them, and with them the memories."""
        self._known.clear()
