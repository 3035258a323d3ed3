"""The runs of a trial: a few chunks are moved repeatedly, and the rates of their hops are recorded."""

from __future__ import annotations

import math
import os
import statistics
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from isoviz.backends.devices import ThisComputer
from isoviz.backends.disk.disk_memory import DiskMemory, FileStore, Scratch
from isoviz.backends.disk.file_access import NewFile
from isoviz.backends.generate import fill, fill_file
from isoviz.backends.pages import HUGE, PAGE, page_aligned, touch
from isoviz.errors import Cancelled, InputError, RunError
from isoviz.machines import ChannelKind, MemoryKind
from isoviz.measure import tuning
from isoviz.planner.explanation.curves.chunk_curve import rechunked
from isoviz.planner.time.path_time import Clock
from isoviz.planner.time.spread import seconds_at, spread_at
from isoviz.runtime import BaseEngine
from isoviz.runtime.device_bases import BaseChannel, BaseEndpoint, BaseMemory
from isoviz.runtime.opening import opening

if TYPE_CHECKING:
    from isoviz.layouts import StridedCopy
    from isoviz.machines import Channel, Machine, Memory
    from isoviz.planner import Instance, Plan
    from isoviz.runtime.protocols import Bound, CancelToken, Check, Devices, RealChannel, RealMemory, Store


# Devices that carry out only some hops of a plan, to measure these hops alone.


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


def is_copy(channel: Channel, machine: Machine) -> bool:
    """Whether a channel copies within the memory of this process."""
    memory = machine.memory(channel.source)
    return channel.kind is ChannelKind.MEMCPY and channel.is_self_loop and memory.kind is MemoryKind.SYS and memory.node == 0


def model_rate(plan: Plan, machine: Machine, index: int) -> float:
    """The rate of a hop by the model. The rate of a copy includes its set-up, as in a trial."""
    hop, nbytes = plan.hops[index], plan.bytes * plan.moved[index]
    channel = machine.channel(hop.channel)
    setup = channel.setup + (channel.conversion_setup if index in plan.converting else 0.0) if channel.is_self_loop else 0.0
    return nbytes / (nbytes / hop.throughput + setup) if hop.throughput else 0.0


def between(tried: float, model: float) -> float:
    """A measured rate, moved a little towards that of the model (`tuning.PULL`)."""
    if not model:
        return tried
    most = math.log(tuning.MOST_PULL)
    return tried * math.exp(tuning.PULL * max(-most, min(most, math.log(model / tried))))


def with_rates(plan: Plan, machine: Machine, rates: Mapping[int, float], idle: float) -> Plan:
    """The plan with other rates of some hops. The rates of copies include their set-up. No hop works for `idle` seconds."""
    channels = [machine.channel(hop.channel) for hop in plan.hops]
    hops = tuple(hop._replace(throughput=rates.get(hop.index, hop.throughput)) for hop in plan.hops)
    every = [hop.throughput for hop in hops]
    clock = Clock(machine, channels, plan.bytes, plan.slots, converting=plan.converting)
    contained = math.fsum(
        channels[hop].setup + (channels[hop].conversion_setup if hop in plan.converting else 0.0)
        for hop in rates
        if channels[hop].is_self_loop
    )
    setup = max(0.0, plan.setup - contained + idle)
    saved = plan.setup - plan.only.mean_setup  # by later starts, in the mean of all
    return plan.changed(
        hops=hops,
        objective=clock.timing(plan.chunk_payload, (), every).seconds - contained + idle - saved,
        throughput=clock.throughput(plan.chunk_payload, every),
        setup=setup,
        kept=min(plan.only.kept, setup),
        shares=clock.shares(every),
    )


def scatter_of(tried: Plan, machine: Machine, ranges: Mapping[int, tuple[float, float]]) -> float:
    """The scatter of the repeats of a trial, as a time of the plan: half of log(slowest / fastest).

    `ranges` are those of the rates by hop, as multiples of their medians. A hop that was not tried has the spread of its channel.
    """
    slow, fast = [], []
    for hop in tried.hops:
        half = (spread_at(machine.channel(hop.channel).throughput, hop.request_bytes) or 0.0) / 2
        low, high = ranges.get(hop.index, (1 / (1 + half), 1 + half))
        slow.append(low)
        fast.append(high)
    return max(0.0, math.log(seconds_at(tried, machine, slow) / seconds_at(tried, machine, fast)) / 2)


def trial_ends(plan: Plan, machine: Machine, count: int, source: Any, room: Any) -> tuple[Any, Any] | None:
    """Arrays for the ends that are in memory and not given. Only the parts that the first `count` chunks touch have pages.

    None if these parts are too large.
    """
    found, held = [source, room], 0
    for place, end in enumerate((plan.transfer.source, plan.transfer.destination)):
        if found[place] is not None or machine.memory(end.memory).kind is not MemoryKind.SYS:
            continue
        nbytes = end.linearization.nbytes
        page = HUGE if nbytes >= HUGE // 2 else PAGE  # Touching a byte allocates its whole page.
        parts = first_parts(plan, count, place)
        parts = union([(start // page * page, min(nbytes, -(-stop // page) * page)) for start, stop in parts])
        held += sum(stop - start for start, stop in parts)
        if held > tuning.TRIAL_ROOM:
            return None
        try:
            found[place] = array = page_aligned(nbytes)
        except RunError:  # There is not even enough address space.
            return None
        for start, stop in parts:
            if place == 0:
                fill(array[start:stop], start)  # Not zeros: some disks are faster with zeros.
            else:
                touch(array[start:stop])
    return found[0], found[1]


def first_parts(plan: Plan, count: int, end: int) -> list[tuple[int, int]]:
    """The parts (start, stop) that the first `count` chunks read (`end` 0) or write (1). Gaps up to a page are included."""
    hop = (0, len(plan.hops) - 1)[end]
    return union([part for chunk in range(count) for copy in plan.copies(hop, chunk) for part in parts_of(copy, end)])


def parts_of(copy: StridedCopy, end: int) -> list[tuple[int, int]]:
    """The parts (start, stop) that a copy reads (`end` 0) or writes (1). Gaps up to a page are included."""
    first = (copy.source_offset, copy.destination_offset)[end]
    length, begins = copy.run, [first]
    for loop in sorted(copy.loops, key=lambda loop: loop[1 + end]):
        times, stride = loop[0], loop[1 + end]
        if stride <= length + PAGE or len(begins) * times > tuning.MOST_PARTS:
            length += (times - 1) * stride
        else:
            begins = [begin + k * stride for begin in begins for k in range(times)]
    return [(begin, begin + length) for begin in begins]


def union(parts: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The same bytes as disjoint parts in ascending order."""
    found: list[tuple[int, int]] = []
    for start, stop in sorted(parts):
        if found and start <= found[-1][1]:
            found[-1] = found[-1][0], max(found[-1][1], stop)
        else:
            found.append((start, stop))
    return found


class TriedRates(NamedTuple):
    """The results of all repeats.

    `rates` are bytes per second by hop. Those of copies include their set-up, those of disks do not. `idle` has the seconds in
    which no hop works, minus the set-up of disks that the machine states and the trial did not observe. `crowding` is the time of
    pipelined chunks, as a multiple of the time with these rates and the machine's shared resources.
    """

    rates: dict[int, list[float]]
    idle: list[float]
    crowding: float = 1.0


def measured_rates(
    plan: Plan, machine: Machine, source: Any, room: Any, devices: ThisComputer, cancel: CancelToken | None
) -> TriedRates | None:
    """The rates of the hops that can be tried; arguments and None as in `isoviz.trial`."""
    token, found = _Deadline(cancel), None
    with suppress(Cancelled), opening(token.check):
        found = _of_all_hops(plan, machine, source, room, devices, token)
        if found is None:
            found = _of_copies(plan, machine, source, None if isinstance(room, str | Path) else room, token)
    return found if found is not None and found.idle else None


def _of_all_hops(
    plan: Plan, machine: Machine, source: Any, room: Any, devices: ThisComputer, cancel: CancelToken
) -> TriedRates | None:
    """The rates of all hops: chunks pass all hops, first one hop after the other, then several chunks in a pipeline.

    None if the chunks cannot run or would take long. None also if they are not representative: a first chunk with runs scattered
    over a new file takes longer than the chunks that fill its gaps.
    """
    if not _can_be_run(plan, machine, source):
        return None
    short = _in_pieces(
        plan, machine, min(tuning.CHUNK_BYTES, int(plan.bytes * tuning.CHUNK_SECONDS_WANTED / max(plan.seconds, 1e-9)))
    )
    if short.seconds / short.chunk_count > tuning.CHUNK_SECONDS_MOST:
        return None
    last, size = len(plan.hops) - 1, 0
    several = min(tuning.TOGETHER, short.chunk_count) if last else 1
    if several * short.chunk_bytes > tuning.TRIAL_ROOM or several * short.seconds > tuning.CHUNK_SECONDS_MOST * short.chunk_count:
        several = 1
    if plan.hops[last].kind == ChannelKind.DISK_WRITE:
        parts = first_parts(short, several, 1)
        size = parts[-1][1]
        gaps = size - parts[0][0] > tuning.GAPLESS * _payload(short, several)
        least = tuning.SCATTERED_RUN if several > 1 else tuning.LONG_RUN
        if size > tuning.TRIAL_FILE or (gaps and plan.hops[last].request_bytes < min(least, short.chunk_payload)):
            return None
    path = room if isinstance(room, str | Path) else plan.transfer.destination.path
    trying = _Trying(devices, short, size, None if path is None else Path(path).absolute().parent)
    with ExitStack() as stack:
        if plan.hops[0].kind == ChannelKind.DISK_READ and source is None and plan.transfer.source.path is None:
            folder = devices.folder(machine.memory(plan.transfer.source.memory))
            source = _generated(short, several, folder, stack)
            if source is None:
                return None
        ends = trial_ends(short, machine, several, source, None if isinstance(room, str | Path) else room)
        return None if ends is None else _tried(short, machine, trying, range(len(plan.hops)), ends, 1, cancel, several)


def _generated(plan: Plan, count: int, folder: str | Path | None, stack: ExitStack) -> Scratch | None:
    """A nameless file with generated data where the first `count` chunks read; None if that is too much data."""
    parts = union([(start // PAGE * PAGE, -(-stop // PAGE) * PAGE) for start, stop in first_parts(plan, count, 0)])
    if parts[-1][1] > tuning.TRIAL_FILE or sum(stop - start for start, stop in parts) > tuning.GENERATED_BYTES:
        return None
    file = NewFile(None, parts[-1][1], DiskMemory(plan.transfer.source.memory, folder).directory)
    stack.callback(file.close)
    for start, stop in parts:
        fill_file(file, start, stop - start)
    file.flush()
    return Scratch(file)


def _of_copies(plan: Plan, machine: Machine, source: Any, room: Any, cancel: CancelToken) -> TriedRates | None:
    """The rates of the copies within memory, while all other hops are idle; None if there is no copy."""
    copies = [hop.index for hop in plan.hops if is_copy(machine.channel(hop.channel), machine)]
    if not copies:
        return None
    short = _in_pieces(plan, machine, tuning.COPIED_BYTES)
    count = min(short.chunk_count, max(1, tuning.COPIED_BYTES // max(1, short.chunk_bytes)))
    if short.buffer_bytes > tuning.TRIAL_ROOM:
        short = short.changed(slots=1)
    ends = trial_ends(short, machine, count, source, room)
    return None if ends is None else _tried(short, machine, IdleDevices(machine, short, copies), copies, ends, count, cancel)


def _tried(
    short: Plan,
    machine: Machine,
    devices: Devices,
    hops: Sequence[int],
    ends: tuple[Any, Any],
    count: int,
    cancel: CancelToken,
    several: int = 1,
) -> TriedRates:
    """Move the first `count` chunks over some hops repeatedly, alternating with the first `several` chunks as a pipeline.

    After a cancellation, the completed repeats count.
    """
    moved = _payload(short, count)
    channels = {hop: machine.channel(short.hops[hop].channel) for hop in hops}
    found, together, spent = TriedRates({hop: [] for hop in hops}, []), list[float](), 0.0
    enough = min(max(tuning.REPEATED_SECONDS, tuning.REPEATED_SHARE * short.seconds), tuning.LAST_REPEAT)
    most = (
        tuning.LAST_REPEAT
        if short.seconds * moved / max(1, short.bytes) > tuning.LAST_REPEAT / tuning.PATIENCE
        else tuning.LAST_REPEAT * tuning.PATIENCE
    )
    other = page_aligned(tuning.COPIED_BYTES if type(devices) is IdleDevices and _would_stay(short, machine, count) else 0)
    touch(other)
    alone = len(short.hops) == 1  # The time between its requests belongs to the hop.
    least = tuning.FEWEST_PAIRS if several > count else tuning.FEWEST_REPEATS
    with suppress(Cancelled), BaseEngine(machine, devices) as engine:
        once = engine.run(short, *ends, verify=False, chunks=count, cancel=cancel)  # This takes the page faults.
        while len(found.idle) < least or (len(found.idle) < tuning.MOST_REPEATS and spent < enough):
            other.view(np.uint64).max(initial=0)  # This empties the caches, as busy disks do.
            is_long = not found.idle and once.seconds > most
            report = once if is_long else engine.run(short, *ends, verify=False, chunks=count, cancel=cancel)
            busy = [report.seconds] if alone else [report.hops[hop].seconds for hop in hops]
            spent += math.fsum(busy)
            idle = report.seconds - math.fsum(busy) if len(hops) == len(short.hops) else 0.0
            for (hop, channel), each in zip(channels.items(), busy, strict=True):
                seconds = each
                if not channel.is_self_loop:
                    # Waiting for the disk is a fixed cost, unless it is most of the run: then it grows with the bytes.
                    is_last = hop == len(short.hops) - 1 and report.flush_seconds <= tuning.FLUSH_SHARE * report.seconds
                    fixed = max(channel.setup, report.flush_seconds if is_last else 0.0)
                    seconds = max(each - fixed, each / 4)
                    idle += each - seconds - channel.setup  # Negative if the set-up is shorter than stated.
                found.rates[hop].append(moved * short.moved[hop] / max(seconds, 1e-9))
            found.idle.append(idle)
            if several > count and not is_long:
                together.append(engine.run(short, *ends, verify=False, chunks=several, cancel=cancel).seconds)
                spent += together[-1]
            if spent > most:
                break
    return found._replace(crowding=_crowding(short, machine, found, together, several)) if together else found


def _crowding(short: Plan, machine: Machine, found: TriedRates, together: Sequence[float], count: int) -> float:
    """The time of a pipeline of `count` chunks, relative to the model, whose hops share only the machine's resources."""
    rates = {hop: statistics.median(each) for hop, each in found.rates.items()}
    apart = with_rates(short, machine, rates, statistics.median(found.idle))
    longer = _payload(short, count) / min(
        count * short.chunk_payload, short.bytes
    )  # the first chunks may be longer than the mean
    ratio = (statistics.median(together) - apart.setup) / (longer * (apart.seconds_of(count) - apart.setup))
    return min(max(ratio, 1 / tuning.CROWDING), tuning.CROWDING)


def _payload(plan: Plan, count: int) -> int:
    """The bytes of entries in the first `count` chunks."""
    return sum(plan.chunks[number].payload_bytes for number in range(count))


class _Deadline:
    """A cancel token that is set when the trial has taken too long, or when the caller's token is set."""

    def __init__(self, other: CancelToken | None) -> None:
        self._other, self._end = other, time.perf_counter() + tuning.TRIAL_SECONDS

    def is_set(self) -> bool:
        return time.perf_counter() > self._end or (self._other is not None and self._other.is_set())

    def check(self) -> None:
        """Raise Cancelled once it is set."""
        if self.is_set():
            raise Cancelled("the trial was cancelled or took too long")


class _Trying(ThisComputer):
    """This computer, except that the plan's writes to its disk go to a nameless file of `size` bytes.

    The file is in `folder` (None: the directory of nameless files) and only as long as the chunks need.
    """

    def __init__(self, devices: ThisComputer, plan: Plan, size: int, folder: Path | None) -> None:
        super().__init__(devices.directory)
        self._name, self._size, self._folder = plan.transfer.destination.memory, size, folder

    def memory(self, memory: Memory) -> RealMemory | None:
        if self._size and memory.name == self._name:
            return _TrialDisk(memory.name, self._folder or self.folder(memory), self._size)
        return super().memory(memory)


class _TrialDisk(DiskMemory):
    """A disk whose new files are discarded."""

    def __init__(self, name: str, directory: str | Path | None, size: int) -> None:
        super().__init__(name, directory)
        self._size = size

    def destination(self, instance: Instance, given: Any | None, partial: bool) -> FileStore:  # noqa: ARG002  # protocol
        return FileStore(NewFile(None, self._size, self.directory), 0, instance.linearization.nbytes)


def _can_be_run(plan: Plan, machine: Machine, source: Any) -> bool:
    """Whether the path has a disk, nothing but disks and copies of this computer, and an existing source file if one is named."""
    kinds = [hop.kind for hop in plan.hops if not is_copy(machine.channel(hop.channel), machine)]
    if not kinds or plan.transfer.is_partial or not set(kinds) <= {ChannelKind.DISK_READ, ChannelKind.DISK_WRITE}:
        return False
    if any(machine.memory(name).node or machine.memory(name).emulated for name in plan.memories):
        return False
    if kinds[0] != ChannelKind.DISK_READ:
        return True
    path = plan.transfer.source.path if source is None else source
    return path is None or (isinstance(path, str | Path) and os.path.exists(path))  # noqa: PTH110  # This never raises.


def _would_stay(plan: Plan, machine: Machine, count: int) -> bool:
    """Whether the data of `count` chunks would stay in the caches between repeats, but not in a run.

    The disks of a path read and write through the caches of the host, and so empty them.
    """
    ends = [machine.memory(end.memory).kind for end in plan.transfer.ends]
    return MemoryKind.DSK in ends and count * plan.chunk_bytes < tuning.COPIED_BYTES


def _in_pieces(plan: Plan, machine: Machine, piece: int) -> Plan:
    """The plan in chunks of at most `piece` bytes, as far as its blocks allow and no runs on a disk become shorter."""
    if plan.chunk_bytes > piece and plan.per_chunk > 1:
        with suppress(InputError):
            short = rechunked(plan, max(1, int(plan.per_chunk * piece / plan.chunk_bytes)), machine)
            if all(
                now.request_bytes >= min(was.request_bytes, tuning.LONG_RUN)
                for now, was in zip(short.hops, plan.hops, strict=True)
            ):
                return short
    return plan
