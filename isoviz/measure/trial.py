"""Trials: what the hops of a plan take at this moment, found out on a few MiB of its own.

What a conversion takes depends on more than the run that throughput functions are about: how many fields, which strides; and
disks and memories are slower at one moment than at another, by a third for seconds or minutes. One chunk of some MiB says so in
milliseconds, hop after hop, and some that follow each other say what hops take from one another; the time model goes on with the
rates that were found. Where other devices are on the path, or the chunk's runs are scattered over a new file, it is the copies
within memory that are tried, while all other hops stand still. A rehearsal (`isoviz.measure.rehearsal`) moves so much that the
time model has no part in it.
"""

from __future__ import annotations

import math
import os
import statistics
import time
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from isoviz.backends.devices import ThisComputer
from isoviz.backends.disk.disk_memory import DiskMemory, FileStore, Scratch
from isoviz.backends.disk.file_access import NewFile
from isoviz.backends.generate import fill, fill_file
from isoviz.backends.host import kernels
from isoviz.backends.host.host_memory import HUGE, PAGE, page_aligned, touch
from isoviz.errors import Cancelled, InputError, RunError, TransferError
from isoviz.machines import ChannelKind, MemoryKind
from isoviz.measure.idle_devices import Standing
from isoviz.measure.rehearsal import FLUSHES
from isoviz.planner.explanation.chunk_curve import rechunked
from isoviz.planner.time.path_time import Clock
from isoviz.planner.time.spread import Prediction, seconds_at, spread_at
from isoviz.runtime import Engine
from isoviz.runtime.ledger.calibration import held_by

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from isoviz.layouts import StridedCopy
    from isoviz.machines import Channel, Machine, Memory
    from isoviz.planner import Instance, Plan
    from isoviz.runtime.protocols import CancelToken, Devices, RealMemory

ENOUGH = 32 << 20
"""Bytes of copies that are tried, in chunks that are no longer where blocks are not: more do not stay in caches either."""
CHUNK = 16 << 20
"""Bytes of the chunk that goes over disks as well, ..."""
QUICK, SLOW = 0.1, 0.3
"""... and the predicted seconds that it is to take, and takes at most."""
TOGETHER = 3
"""Chunks that follow each other: hops that are at work at the same time take from one another, above all those of one disk."""
LONG = 1 << 20
"""Bytes from which on longer runs are hardly faster."""
SCATTERED = 16 << 10
"""Bytes of runs that are tried where they are scattered over a new file, at least, and only if some chunks follow each other: the
first takes longer than those that fill the gaps, and shorter runs lie in the page cache until the end."""
FILLED = 1.05
"""What a chunk is written to has no gaps worth mentioning where it is no longer than so many times the chunk."""
MOST_ROOM, MOST_FILE = 256 << 20, 1 << 30
"""Bytes of arrays that are got for it, and of the file that is written, at most."""
MOST_MADE = 96 << 20
"""Bytes that are made up for a source on a disk, at most: of short runs far apart whole pages would be."""
LONGEST = 3.0
"""Seconds after which it is given up."""
LONG_ENOUGH, SHARE = 0.06, 0.2
"""Seconds after which a median is one; of long transfers it is this share of the predicted seconds."""
LEAST_REPEATS, MOST_REPEATS = 5, 100
FEW = 3
"""Repeats that are enough where every one of them has some chunks follow each other, too."""
TOO_LONG, PATIENCE = 0.2, 5
"""Seconds after which nothing is repeated; so many times more where that was not to be expected: a disk that stops for a moment
says nothing of the next."""
MOST_PARTS = 1 << 14
"""Parts of an array that are told apart; what has more is taken as a whole."""
PULL, ALIKE = 0.2, 1.5
"""A trial is one moment of many, and the machine as it was measured is another: a fifth of what they differ by is taken back, but
no more than if the one were half as much again as the other, for then the machine knows nothing of this conversion."""
MARGIN = 0.05
"""The share by which an interval is wider than what repeats differed."""


@dataclass(frozen=True)
class Trial:
    """What came of it: `tried` is the `plan` with about the rates that its hops had, or its copies: a little nearer to what the
    machine says. `ranges` are those that nine of ten of them had, by hop, as shares of the median, `spent` the seconds that it
    took. `tried` is there for its times: simulations and explanations go by the machine."""

    plan: Plan
    tried: Plan
    ranges: Mapping[int, tuple[float, float]]
    spent: float
    machine: Machine

    @property
    def prediction(self) -> Prediction:
        """The predicted seconds of the plan; the interval is what the repeats differed in, and channels that
        stood still while they were measured."""
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


def try_out(
    plan: Plan,
    machine: Machine,
    source: Any | None = None,
    *,
    room: Any | None = None,
    devices: ThisComputer | None = None,
    cancel: CancelToken | None = None,
) -> Trial | None:
    """Try what the hops of a plan take on this computer: `try_out(plan, machine).prediction`.

    `source` is as in `Engine.run`; `room` is an array that may be written to, as large as the destination (None: memory that is
    got for it), or the path that it will have: beside it a nameless file is written and given up. So is one to be read, where
    nobody names a source on a disk. `cancel` is asked between requests. None where there is nothing to try: no copy within
    memory, and no file of the name that is given; where what is copied lies so far apart that trying it needs more than 256 MiB;
    where the plan has several paths;
    and where it is cancelled, or takes more than some seconds.

    Raises:
        TransferError: the plan is for another machine. RunError: a hop failed.
    """
    if plan.machine_digest != machine.digest:
        raise TransferError(f"plan: made for a machine {plan.machine_name!r} that is not {machine.name!r} as it is; plan again")
    if len(plan.paths) > 1:  # one path after the other says little of all of them at once
        return None
    began = time.perf_counter()
    if any(_is_copy(machine.channel(hop.channel), machine) for hop in plan.hops):
        kernels.prepare()  # loading them takes a second, or some where nothing of them is in the page cache
    token = _Deadline(cancel)
    found = _of_all_hops(plan, machine, source, room, devices or ThisComputer(), token)
    if found is None:
        found = _of_copies(plan, machine, source, None if isinstance(room, str | Path) else room, token)
    if found is None or not found.between:
        return None
    medians = {hop: statistics.median(rates) for hop, rates in found.rates.items()}
    ranges = {hop: held_by([rate / medians[hop] for rate in rates]) for hop, rates in found.rates.items()}
    rates = {hop: _between(rate, _said(plan, machine, hop)) / found.crowding for hop, rate in medians.items()}
    tried = _with_rates(plan, machine, rates, statistics.median(found.between))
    return Trial(plan, tried, ranges, time.perf_counter() - began, machine)


def _of_all_hops(
    plan: Plan, machine: Machine, source: Any, room: Any, devices: ThisComputer, cancel: CancelToken
) -> _Found | None:
    """Some chunks go all the way, one hop after the other and all at the same time; None where they cannot, would take long, or
    say little of the others, as the first of those whose runs are scattered over a new file."""
    if not _can_be_run(plan, machine, source):
        return None
    short = _in_pieces(plan, machine, min(CHUNK, int(plan.bytes * QUICK / max(plan.seconds, 1e-9))))
    if short.seconds / short.chunk_count > SLOW:
        return None
    last, size = len(plan.hops) - 1, 0
    several = min(TOGETHER, short.chunk_count) if last else 1
    if several * short.chunk_bytes > MOST_ROOM or several * short.seconds > SLOW * short.chunk_count:
        several = 1
    if plan.hops[last].kind == ChannelKind.DISK_WRITE:
        parts = _first_parts(short, several, 1)
        size = parts[-1][1]
        gaps = size - parts[0][0] > FILLED * _payload(short, several)
        least = SCATTERED if several > 1 else LONG
        if size > MOST_FILE or (gaps and plan.hops[last].request_bytes < min(least, short.chunk_payload)):
            return None
    path = room if isinstance(room, str | Path) else plan.transfer.destination.path
    trying = _Trying(devices, short, size, None if path is None else Path(path).absolute().parent)
    with ExitStack() as stack:
        if plan.hops[0].kind == ChannelKind.DISK_READ and source is None and plan.transfer.source.path is None:
            folder = devices.folder(machine.memory(plan.transfer.source.memory))
            source = _generated(short, several, folder, stack)
            if source is None:
                return None
        ends = _ends(short, machine, several, source, None if isinstance(room, str | Path) else room)
        return None if ends is None else _tried(short, machine, trying, range(len(plan.hops)), ends, 1, cancel, several)


def _generated(plan: Plan, count: int, folder: str | Path | None, stack: ExitStack) -> Scratch | None:
    """A nameless file with generated data where the first chunks read; None where that is too much, or too far on in it."""
    parts = _union([(start // PAGE * PAGE, -(-stop // PAGE) * PAGE) for start, stop in _first_parts(plan, count, 0)])
    if parts[-1][1] > MOST_FILE or sum(stop - start for start, stop in parts) > MOST_MADE:
        return None
    file = NewFile(None, parts[-1][1], DiskMemory(plan.transfer.source.memory, folder).directory)
    stack.callback(file.close)
    for start, stop in parts:
        fill_file(file, start, stop - start)
    file.flush()
    return Scratch(file)


def _of_copies(plan: Plan, machine: Machine, source: Any, room: Any, cancel: CancelToken) -> _Found | None:
    """The first chunks are copied where they are copied within memory; None where they are not."""
    copies = [hop.index for hop in plan.hops if _is_copy(machine.channel(hop.channel), machine)]
    if not copies:
        return None
    short = _in_pieces(plan, machine, ENOUGH)
    count = min(short.chunk_count, max(1, ENOUGH // max(1, short.chunk_bytes)))
    if short.buffer_bytes > MOST_ROOM:
        short = short.changed(slots=1)
    ends = _ends(short, machine, count, source, room)
    return None if ends is None else _tried(short, machine, Standing(machine, short, copies), copies, ends, count, cancel)


class _Found(NamedTuple):
    """Of every repeat: bytes per second that hops had, of copies with what they take to set up, of disks without; and seconds in
    which none was at work, less what disks were said to take to set up and did not. `crowding` says how many times as long a
    pipeline of chunks took as these and shared resources would have it."""

    rates: dict[int, list[float]]
    between: list[float]
    crowding: float = 1.0


def _tried(
    short: Plan,
    machine: Machine,
    devices: Devices,
    hops: Sequence[int],
    ends: tuple[Any, Any],
    count: int,
    cancel: CancelToken,
    several: int = 1,
) -> _Found:
    """What some hops take for the first chunks, and more of these one after the other; less of it where it is cancelled."""
    moved = _payload(short, count)
    channels = {hop: machine.channel(short.hops[hop].channel) for hop in hops}
    found, together, spent = _Found({hop: [] for hop in hops}, []), list[float](), 0.0
    enough = min(max(LONG_ENOUGH, SHARE * short.seconds), TOO_LONG)
    most = TOO_LONG if short.seconds * moved / max(1, short.bytes) > TOO_LONG / PATIENCE else TOO_LONG * PATIENCE
    other = page_aligned(ENOUGH if type(devices) is Standing and _would_stay(short, machine, count) else 0)
    touch(other)
    alone = len(short.hops) == 1  # what lies between its requests is a part of it
    least = FEW if several > count else LEAST_REPEATS
    with suppress(Cancelled), Engine(machine, devices) as engine:
        once = engine.run(short, *ends, verify=False, chunks=count, cancel=cancel)  # what is done only once, such as page faults
        while len(found.between) < least or (len(found.between) < MOST_REPEATS and spent < enough):
            other.view(np.uint64).max(initial=0)  # beside disks nothing stays in a cache, nor does it after this
            is_long = not found.between and once.seconds > most
            report = once if is_long else engine.run(short, *ends, verify=False, chunks=count, cancel=cancel)
            busy = [report.seconds] if alone else [report.hops[hop].seconds for hop in hops]
            spent += math.fsum(busy)
            between = report.seconds - math.fsum(busy) if len(hops) == len(short.hops) else 0.0
            for (hop, channel), each in zip(channels.items(), busy, strict=True):
                seconds = each
                if not channel.is_self_loop:
                    # Waiting until a disk has everything takes long once, or where it is most of the work for every byte.
                    is_last = hop == len(short.hops) - 1 and report.flush_seconds <= FLUSHES * report.seconds
                    fixed = max(channel.setup, report.flush_seconds if is_last else 0.0)
                    seconds = max(each - fixed, each / 4)
                    between += each - seconds - channel.setup  # less than nothing where it takes less than it is said to set up
                found.rates[hop].append(moved * short.moved[hop] / max(seconds, 1e-9))
            found.between.append(between)
            if several > count and not is_long:
                together.append(engine.run(short, *ends, verify=False, chunks=several, cancel=cancel).seconds)
                spent += together[-1]
            if spent > most:
                break
    return found._replace(crowding=_crowding(short, machine, found, together, several)) if together else found


def _crowding(short: Plan, machine: Machine, found: _Found, together: Sequence[float], count: int) -> float:
    """How many times as long so many chunks took as hops that take nothing from one another but shared resources."""
    rates = {hop: statistics.median(each) for hop, each in found.rates.items()}
    apart = _with_rates(short, machine, rates, statistics.median(found.between))
    longer = _payload(short, count) / min(count * short.chunk_payload, short.bytes)  # than chunks are in the mean
    ratio = (statistics.median(together) - apart.setup) / (longer * (apart.seconds_of(count) - apart.setup))
    return min(max(ratio, 1 / ALIKE), ALIKE)


def _payload(plan: Plan, count: int) -> int:
    """Bytes of entries in the first so many chunks."""
    return sum(plan.chunks[number].payload_bytes for number in range(count))


class _Deadline:
    """A token that is set once the trial has taken too long, or another one is."""

    def __init__(self, other: CancelToken | None) -> None:
        self._other, self._end = other, time.perf_counter() + LONGEST

    def is_set(self) -> bool:
        return time.perf_counter() > self._end or (self._other is not None and self._other.is_set())


class _Trying(ThisComputer):
    """This computer, with a nameless file of `size` bytes in a folder (None: where files without a name go) for what is written
    to the disk: as long as the chunk needs, not as the destination will be."""

    def __init__(self, devices: ThisComputer, plan: Plan, size: int, folder: Path | None) -> None:
        super().__init__(devices.directory)
        self._name, self._size, self._folder = plan.transfer.destination.memory, size, folder

    def memory(self, memory: Memory) -> RealMemory | None:
        if self._size and memory.name == self._name:
            return _TrialDisk(memory.name, self._folder or self.folder(memory), self._size)
        return super().memory(memory)


class _TrialDisk(DiskMemory):
    """A disk on which files are written that nobody keeps."""

    def __init__(self, name: str, directory: str | Path | None, size: int) -> None:
        super().__init__(name, directory)
        self._size = size

    def destination(self, instance: Instance, given: Any | None, partial: bool) -> FileStore:  # noqa: ARG002  # the protocol's
        return FileStore(NewFile(None, self._size, self.directory), 0, instance.linearization.nbytes)


def _can_be_run(plan: Plan, machine: Machine, source: Any) -> bool:
    """Whether there is a disk on the path, nothing but disks and copies of this computer, and a file that is named is there."""
    kinds = [hop.kind for hop in plan.hops if not _is_copy(machine.channel(hop.channel), machine)]
    if not kinds or plan.transfer.is_partial or not set(kinds) <= {ChannelKind.DISK_READ, ChannelKind.DISK_WRITE}:
        return False
    if any(machine.memory(name).node or machine.memory(name).emulated for name in plan.memories):
        return False
    if kinds[0] != ChannelKind.DISK_READ:
        return True
    path = plan.transfer.source.path if source is None else source
    return path is None or (isinstance(path, str | Path) and os.path.exists(path))  # noqa: PTH110  # never raises


def _would_stay(plan: Plan, machine: Machine, count: int) -> bool:
    """Whether what so many chunks copy would be in a cache when they are tried again, but is not where the disks of the path are
    at work: what they read and write passes through the caches of the host."""
    ends = [machine.memory(end.memory).kind for end in plan.transfer.ends]
    return MemoryKind.DSK in ends and count * plan.chunk_bytes < ENOUGH


def _is_copy(channel: Channel, machine: Machine) -> bool:
    """Whether a channel is a copy within the memory of this process."""
    memory = machine.memory(channel.source)
    return channel.kind is ChannelKind.MEMCPY and channel.is_self_loop and memory.kind is MemoryKind.SYS and memory.node == 0


def _in_pieces(plan: Plan, machine: Machine, piece: int) -> Plan:
    """The plan with chunks that are no longer than a piece, if its blocks are not, and if a disk's runs do not become shorter."""
    if plan.chunk_bytes > piece and plan.per_chunk > 1:
        with suppress(InputError):
            short = rechunked(plan, max(1, int(plan.per_chunk * piece / plan.chunk_bytes)), machine)
            if all(now.request_bytes >= min(was.request_bytes, LONG) for now, was in zip(short.hops, plan.hops, strict=True)):
                return short
    return plan


def _ends(plan: Plan, machine: Machine, count: int, source: Any, room: Any) -> tuple[Any, Any] | None:
    """Arrays for both ends that are in memory, of which only those parts have pages that the first chunks read and write; None
    where these are too large."""
    found, held = [source, room], 0
    for place, end in enumerate((plan.transfer.source, plan.transfer.destination)):
        if found[place] is not None or machine.memory(end.memory).kind is not MemoryKind.SYS:
            continue
        nbytes = end.linearization.nbytes
        page = HUGE if nbytes >= HUGE // 2 else PAGE  # what is touched is there with all of its page
        parts = _first_parts(plan, count, place)
        parts = _union([(start // page * page, min(nbytes, -(-stop // page) * page)) for start, stop in parts])
        held += sum(stop - start for start, stop in parts)
        if held > MOST_ROOM:
            return None
        try:
            found[place] = array = page_aligned(nbytes)
        except RunError:  # not even addresses for all of it
            return None
        for start, stop in parts:
            if place == 0:
                fill(array[start:stop], start)  # not zeros: there are disks that take these faster
            else:
                touch(array[start:stop])
    return found[0], found[1]


def _first_parts(plan: Plan, count: int, end: int) -> list[tuple[int, int]]:
    """From where to where the first so many chunks are read (`end` 0) or written (1), less the gaps of more than a page."""
    hop = (0, len(plan.hops) - 1)[end]
    return _union([part for chunk in range(count) for copy in plan.copies(hop, chunk) for part in _parts(copy, end)])


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


def _said(plan: Plan, machine: Machine, index: int) -> float:
    """The rate of a hop as the machine has it; of a copy with what it takes to set up, as it is tried."""
    hop, nbytes = plan.hops[index], plan.bytes * plan.moved[index]
    channel = machine.channel(hop.channel)
    setup = channel.setup + (channel.conversion_setup if index in plan.converting else 0.0) if channel.is_self_loop else 0.0
    return nbytes / (nbytes / hop.throughput + setup) if hop.throughput else 0.0


def _between(tried: float, said: float) -> float:
    """What to go by: `PULL` of the way from what was tried to what is said, unless these have nothing to do with each other."""
    if not said:
        return tried
    return tried * math.exp(PULL * max(-math.log(ALIKE), min(math.log(ALIKE), math.log(said / tried))))


def _with_rates(plan: Plan, machine: Machine, rates: Mapping[int, float], between: float) -> Plan:
    """The plan with other rates of some hops, in which the set-up of copies is contained, and so many seconds in which none of
    them is at work."""
    channels = [machine.channel(hop.channel) for hop in plan.hops]
    hops = tuple(hop._replace(throughput=rates.get(hop.index, hop.throughput)) for hop in plan.hops)
    every = [hop.throughput for hop in hops]
    clock = Clock(machine, channels, plan.bytes, plan.slots, converting=plan.converting)
    contained = math.fsum(
        channels[hop].setup + (channels[hop].conversion_setup if hop in plan.converting else 0.0)
        for hop in rates
        if channels[hop].is_self_loop
    )
    return plan.changed(
        hops=hops,
        objective=clock.timing(plan.chunk_payload, (), every).seconds - contained + between,
        throughput=clock.throughput(plan.chunk_payload, every),
        setup=max(0.0, plan.setup - contained + between),
        shares=clock.shares(every),
    )
