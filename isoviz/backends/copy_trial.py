"""Trying the copies of a plan: what its hops within host memory take, found out on a few MiB of its own.

What a conversion takes depends on more than the run that throughput functions are about: how many fields, which strides, and how
busy the computer is at this moment. A few chunks say so in milliseconds: an engine carries them out while all other hops stand
still, and the time model goes on with the rates that were found. A rehearsal (`isoviz.runtime.rehearsal`) knows the rest as well,
but it reads and writes the disks and moves much of what there is; here nothing leaves the host's memory, and of a large transfer
only so much is copied.
"""

from __future__ import annotations

import math
import statistics
import time
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from isoviz.backends.devices import ThisComputer
from isoviz.backends.host import PAGE, page_aligned, touch
from isoviz.errors import InputError, RunError, TransferError
from isoviz.machines import ChannelKind, MemoryKind
from isoviz.planner.chunk_curve import rechunked
from isoviz.planner.prediction import Prediction, seconds_at, spread_at
from isoviz.planner.timing import Clock
from isoviz.runtime import Engine

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from isoviz.layouts import StridedCopy
    from isoviz.machines import Channel, Machine, Memory
    from isoviz.planner import Instance, Plan
    from isoviz.runtime.protocols import Check, Endpoint, RealChannel, RealMemory, Slot, Store

ENOUGH = 32 << 20
"""Bytes that are tried, and of buffers between which they are: more do not stay in caches either."""
PIECE = 8 << 20
"""Bytes of a chunk that is tried, where its blocks are no longer."""
MOST_ROOM = 256 << 20
"""Bytes of arrays that are got for it, at most."""
LONG_ENOUGH = 0.03
"""Seconds of copying after which a median is one."""
LEAST_REPEATS, MOST_REPEATS = 3, 25
TOO_LONG = 0.2
"""Seconds of copying after which nothing is repeated."""
MOST_PARTS = 1 << 14
"""Parts of an array that are told apart; what has more is taken as a whole."""
MARGIN = 0.05
"""The share by which an interval is wider than what repeats differed."""


@dataclass(frozen=True)
class CopyTrial:
    """What came of it: `tried` is the `plan` with the rates that its copies within memory had, `ranges` the lowest and the
    highest of them by hop, as shares of the median, `spent` the seconds that it took. `tried` is there for its times: simulations
    and explanations go by the machine."""

    plan: Plan
    tried: Plan
    ranges: Mapping[int, tuple[float, float]]
    spent: float
    machine: Machine

    @property
    def prediction(self) -> Prediction:
        """The predicted seconds of the plan; the interval is what the repeats differed in, and the other channels while they were
        measured."""
        slow, fast = [], []
        for hop in self.plan.hops:
            low, high = self.ranges.get(hop.index, (0.0, 0.0))
            if not high:
                half = (spread_at(self.machine.channel(hop.channel).throughput, hop.request_bytes) or 0.0) / 2
                low, high = 1 / (1 + half), 1 + half
            slow.append(low / (1 + MARGIN))
            fast.append(high * (1 + MARGIN))
        return Prediction(
            self.tried.seconds,
            seconds_at(self.tried, self.machine, fast),
            seconds_at(self.tried, self.machine, slow),
            "trial",
            tried=True,
        )


def try_copies(plan: Plan, machine: Machine, source: Any | None = None, *, room: Any | None = None) -> CopyTrial | None:
    """Try what the copies of a plan within host memory take on this computer: `try_copies(plan, machine).prediction`.

    `source` and `room` are arrays, where its ends are in memory: one to read, and one that may be written to, as large as the
    destination (None: memory that is got for it). None where nothing is copied within memory, or what its first chunks read and
    write lies so far apart that trying it needs more than 256 MiB.

    Raises:
        TransferError: the plan is for another machine. RunError: a copy failed.
    """
    if plan.machine_digest != machine.digest:
        raise TransferError(f"plan: made for a machine {plan.machine_name!r} that is not {machine.name!r} as it is; plan again")
    hops = [hop.index for hop in plan.hops if _is_copy(machine.channel(hop.channel), machine)]
    if not hops:
        return None
    began = time.perf_counter()
    short = _in_pieces(plan, machine)
    count = min(short.chunk_count, max(1, ENOUGH // max(1, short.chunk_bytes)))
    ends = _ends(short, machine, count, source, room)
    if ends is None:
        return None
    moved = sum(short.chunks[number].payload_bytes for number in range(count))
    rates: dict[int, list[float]] = {hop: [] for hop in hops}
    repeats, spent = 0, 0.0
    with Engine(machine, _Standing(machine, short, hops)) as engine:
        engine.run(short, *ends, verify=False, chunks=count)  # what is done only once, such as page faults
        other = _read_from_a_disk(short, machine, count)
        while repeats < LEAST_REPEATS or (repeats < MOST_REPEATS and spent < LONG_ENOUGH):
            other.max(initial=0)  # what is read from a disk is in no cache, nor is it after this
            report = engine.run(short, *ends, verify=False, chunks=count)
            for hop in hops:
                # Alone, what lies between the requests counts as well; in a pipeline other hops are at work meanwhile.
                seconds = max(report.seconds if len(plan.hops) == 1 else report.hops[hop].seconds, 1e-9)
                rates[hop].append(moved * plan.moved[hop] / seconds)
                spent += seconds
            repeats += 1
            if spent > TOO_LONG:
                break
    medians = {hop: statistics.median(found) for hop, found in rates.items()}
    ranges = {hop: (min(found) / medians[hop], max(found) / medians[hop]) for hop, found in rates.items()}
    return CopyTrial(plan, _with_rates(plan, machine, medians), ranges, time.perf_counter() - began, machine)


def _read_from_a_disk(plan: Plan, machine: Machine, count: int) -> Any:
    """An array to walk through before so many chunks are tried again; an empty one where these do not come from a disk, or are
    so many that the first are in no cache any more when the last are done."""
    needed = machine.memory(plan.transfer.source.memory).kind is MemoryKind.DSK and count * plan.chunk_bytes < ENOUGH
    found = page_aligned(ENOUGH if needed else 0)
    touch(found)
    return found.view(np.uint64)


def _is_copy(channel: Channel, machine: Machine) -> bool:
    """Whether a channel is a copy within the memory of this process."""
    memory = machine.memory(channel.source)
    return channel.kind is ChannelKind.MEMCPY and channel.is_self_loop and memory.kind is MemoryKind.SYS and memory.node == 0


def _in_pieces(plan: Plan, machine: Machine) -> Plan:
    """The plan with chunks that are no longer than a piece, if its blocks are not, and as many bytes of buffers as before: what
    lies in them leaves the caches as late, or as soon."""
    if plan.chunk_bytes > PIECE and plan.per_chunk > 1:
        with suppress(InputError):
            short = rechunked(plan, max(1, int(plan.per_chunk * PIECE / plan.chunk_bytes)), machine)
            held = min(plan.slots * plan.chunk_bytes, ENOUGH)
            return replace(short, slots=max(plan.slots, held // max(1, short.chunk_bytes)))
    return plan


def _ends(plan: Plan, machine: Machine, count: int, source: Any, room: Any) -> tuple[Any, Any] | None:
    """Arrays for both ends that are in memory, of which only those parts have pages that the first chunks read and write; None
    where these are too large."""
    found, held = [source, room], 0
    for place, (end, hop) in enumerate(((plan.transfer.source, 0), (plan.transfer.destination, len(plan.hops) - 1))):
        if found[place] is not None or machine.memory(end.memory).kind is not MemoryKind.SYS:
            continue
        nbytes = end.linearization.nbytes
        parts = _union([part for chunk in range(count) for copy in plan.copies(hop, chunk) for part in _parts(copy, place)])
        held += sum(stop - start for start, stop in parts)
        if held > MOST_ROOM:
            return None
        try:
            found[place] = array = page_aligned(nbytes)
        except RunError:  # not even addresses for all of it
            return None
        for start, stop in parts:
            touch(array[start:stop])
    return found[0], found[1]


def _parts(copy: StridedCopy, end: int) -> list[tuple[int, int]]:
    """From where to where a copy reads (`end` 0) or writes (1), less the gaps of more than a page."""
    first = (copy.source_offset, copy.destination_offset)[end]
    length, begins = copy.run, [first]
    for loop in sorted(copy.loops, key=lambda loop: loop[1 + end]):
        times, stride = loop[0], loop[1 + end]
        if stride <= length + PAGE or len(begins) * times > MOST_PARTS:
            length += (times - 1) * stride
        else:
            begins = [begin + k * stride for begin in begins for k in range(times)]
    return [(begin, begin + length) for begin in begins]


def _union(parts: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The same bytes, every one once."""
    found: list[tuple[int, int]] = []
    for start, stop in sorted(parts):
        if found and start <= found[-1][1]:
            found[-1] = found[-1][0], max(found[-1][1], stop)
        else:
            found.append((start, stop))
    return found


def _with_rates(plan: Plan, machine: Machine, rates: Mapping[int, float]) -> Plan:
    """The plan with other rates of some hops, in which their set-up is contained."""
    channels = [machine.channel(hop.channel) for hop in plan.hops]
    hops = tuple(hop._replace(throughput=rates.get(hop.index, hop.throughput)) for hop in plan.hops)
    every = [hop.throughput for hop in hops]
    clock = Clock(machine, channels, plan.bytes, plan.slots, converting=plan.converting)
    contained = math.fsum(
        channels[hop].setup + (channels[hop].conversion_setup if hop == plan.converting else 0.0) for hop in rates
    )
    return replace(
        plan,
        hops=hops,
        objective=clock.timing(plan.chunk_payload, (), every).seconds - contained,
        throughput=clock.throughput(plan.chunk_payload, every),
        setup=max(0.0, plan.setup - contained),
        shares=clock.shares(every),
    )


# ---- devices that stand still


class _Standing(ThisComputer):
    """This computer, of which nothing is at work but some hops of a plan."""

    def __init__(self, machine: Machine, plan: Plan, hops: Sequence[int]) -> None:
        super().__init__()
        self._working = {plan.hops[hop].channel for hop in hops}
        self._touched = {memory for hop in hops for memory in (plan.hops[hop].source, plan.hops[hop].destination)}
        self._alignment = max(machine.channel(hop.channel).alignment for hop in plan.hops)

    def memory(self, memory: Memory) -> RealMemory | None:
        return super().memory(memory) if memory.name in self._touched else _StandingMemory(self._alignment)

    def channel(self, channel: Channel) -> RealChannel | None:
        return super().channel(channel) if channel.name in self._working else _StandingChannel()


class _StandingStore:
    """Bytes that nobody reads or writes."""

    durable = False
    notes = ()
    base = 0

    def __init__(self, nbytes: int, alignment: int) -> None:
        self.nbytes, self.alignment = nbytes, alignment
        self.identity = object()

    def place(self, shift: int) -> None:
        """There is nothing to shift."""

    def clear(self) -> None: ...

    def flush(self) -> None: ...

    def publish(self) -> None: ...

    def close(self) -> None: ...


class _StandingMemory:
    """A memory that no copy touches."""

    def __init__(self, alignment: int) -> None:
        self._alignment = alignment

    def slot(self, nbytes: int) -> Slot:
        return _StandingStore(nbytes, 1)

    def source(self, instance: Instance, given: Any | None) -> Endpoint:  # noqa: ARG002  # the protocol's
        return _StandingStore(instance.linearization.nbytes, self._alignment)

    def destination(self, instance: Instance, given: Any | None, partial: bool) -> Endpoint:  # noqa: ARG002  # the protocol's
        return _StandingStore(instance.linearization.nbytes, self._alignment)


class _StandingChannel:
    """A channel that is done before it begins."""

    at_once = True

    def move(self, copies: Sequence[StridedCopy], source: Store, destination: Store, check: Check) -> int:  # noqa: ARG002
        return len(copies)
