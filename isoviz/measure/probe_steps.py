"""The steps of a probe, on any bench: how many requests a channel is given at a time, what it takes to set up, its throughput
function, what channels share, and whether predictions hold."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from statistics import median
from typing import TYPE_CHECKING, Protocol

from isoviz.layouts import FieldSpace, IndexSpace
from isoviz.machines import Channel, ChannelKind, LatencyBandwidth, Limits, Machine, Memory, MemoryKind, Sampled
from isoviz.machines.measurement import Check, Pair
from isoviz.measure import sampling as adaptive
from isoviz.measure import shared_resources as shared
from isoviz.measure.channel_timer import APART, MIB, Job
from isoviz.measure.local_machine import BLOCK, CHUNK_SECONDS, disk_space, host_memory
from isoviz.measure.sampling import Sample
from isoviz.planner import Transfer
from isoviz.planner import plan as make_plan
from isoviz.units import format_bytes

if TYPE_CHECKING:
    from pathlib import Path

    from isoviz.this_computer import ComputerFacts

SYS = "node0.sys"
TWIN = "beside it"
"""The second copy that runs beside the first, to see what two share."""
PAYS = 1.15
"""More copies at a time have to be so much faster, or they only stand in the way of others."""
DISK_PAYS = 1.05
"""The same for requests of a disk: while one is answered nobody is in the way."""
SMALL = (70_000, 140_000, 280_000)
"""Bytes of transfers that are mostly set-up."""
_LEAST_CHUNKS = 4
_QUICKEST = 1e-7
"""Seconds that anything takes, whatever a coarse clock says."""
_LIKE_COPIES = 0.6
_FEW = 3
"""How often two channels are measured at once where it is only to be told which of two cases it is."""
_COPIED, _SLOW = ("stream", 8 * MIB), ("transpose", 1)
"""Shape and run of copies that are measured beside other channels, and of conversions, which are much slower."""
_LONG_FIELDS = 4096
_LONG_DISK, _LONG_COPY = 128 << 10, 4 << 20
"""From which runs on a disk is reached, and a copy moves, in whole chunks only."""
_SHORT_DISK = 8 << 10, 32 << 10, 128 << 10
"""Runs of which a disk brings more the more are in flight."""


@dataclass(frozen=True)
class Effort:
    """How much is measured: `repeats` of everything, up to `samples` of each function, about `seconds` each, and no refinement
    nor rounds once `limit` seconds are over.

    Some of the repeats of a sample follow each other, and say where a function bends; the others, more than half, are taken in
    rounds over all samples of all channels. What else a computer does comes and goes within seconds: the median of a moment may
    be that of one in which everything took half as long again.
    """

    repeats: int
    samples: int
    seconds: float
    limit: float


class Workbench(Protocol):
    """What the steps ask for; `isoviz.measure.channel_timer.Bench` does it for real, tests in virtual time."""

    def seconds(self, machine: Machine, job: Job) -> float:
        """How long a job takes by itself."""

    def transfer_seconds(self, machine: Machine, transfer: Transfer) -> float:
        """How long a transfer takes as the machine has it planned."""

    def together(self, machine: Machine, jobs: Sequence[Job]) -> dict[str, float]:
        """Bytes per second of every channel while all of them are at work on these jobs."""


class Steps:
    """A probe of host memory and of the disks in `directories`; those that are `buffered` have no blocks to align to.

    `room` is how many bytes a job may have, `tell` is called with (steps done, steps, what is being measured).
    """

    def __init__(
        self,
        bench: Workbench,
        facts: ComputerFacts,
        directories: Mapping[str, Path],
        buffered: Sequence[str],
        room: int,
        effort: Effort,
        date: str,
        tell: Callable[[int, int, str], None],
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self.bench, self.facts, self.directories, self.buffered = bench, facts, directories, buffered
        self.room, self.effort, self.date = room, effort, date
        self._tell, self._clock = tell, clock
        self._done = 0
        self._end = clock() + effort.limit
        self.pairs: list[Pair] = []
        self.checks: list[Check] = []
        self.samples: dict[str, tuple[Sample, ...]] = {}
        self._jobs: dict[tuple[str, int], list[Job]] = {}
        """What was measured for the sample of a channel at a run."""

    def measure(self) -> Machine:
        """The machine, without its measurement (`isoviz.measure.probe` adds it)."""
        machine = self._skeleton()
        per_channel = self.effort.samples + 3 + self._later
        self._steps = len(machine.channels) * per_channel + 1 + 3 * len(self.directories) + len(self._transfers())
        for channel in machine.channels:
            machine = self._with(machine, replace(channel, max_in_flight=self._in_flight(machine, channel)))
        for channel in machine.channels:
            channel = replace(channel, setup=self._setup(machine, channel))
            machine = self._with(machine, replace(channel, throughput=self._function(machine, channel)))
        for _ in range(self._later):
            if self._clock() > self._end:
                break
            machine = self._once_more(machine)
        for channel in machine.channels:
            assert isinstance(channel.throughput, Sampled)
            setup, more = self._left(machine, channel, channel.throughput)
            machine = self._with(machine, replace(channel, setup=setup, conversion_setup=more))
        found = self._shared(machine)
        channels = shared.with_resources(machine.channels, found)
        machine = replace(machine, channels=channels, resources=tuple(resource for resource, _ in found))
        self._check(machine)
        return machine

    # ---- the machine before it is measured

    def _skeleton(self) -> Machine:
        origin = f"measured {self.date} on {self.facts.host}"
        nodes, caches = len(self.facts.nodes), self.facts.caches
        said = [f"{nodes} NUMA nodes"] if nodes > 1 else []
        said += [f"caches {', '.join(format_bytes(cache.size) for cache in caches)}"] if caches else []
        memories = [Memory(SYS, MemoryKind.SYS, capacity=host_memory(), label="; ".join(said))]
        guess = LatencyBandwidth(1e-5, 1e9)  # until it is measured; decides nothing but which channel comes first
        channels = [Channel("", ChannelKind.MEMCPY, SYS, SYS, LatencyBandwidth(1e-9, 1e10), provenance=origin)]
        for name, place in self.directories.items():
            memories.append(Memory(name, MemoryKind.DSK, capacity=disk_space(place), device=str(place)))
            note = ", buffered: this file system takes no unbuffered access" if name in self.buffered else ""
            for kind, ends in ((ChannelKind.DISK_READ, (name, SYS)), (ChannelKind.DISK_WRITE, (SYS, name))):
                alignment = 1 if note else BLOCK
                channels.append(Channel("", kind, *ends, guess, alignment=alignment, provenance=origin + note))
        return Machine("local", tuple(memories), tuple(channels), limits=Limits(chunk_seconds=CHUNK_SECONDS), provenance=origin)

    def _with(self, machine: Machine, channel: Channel) -> Machine:
        return replace(machine, channels=tuple(channel if each.name == channel.name else each for each in machine.channels))

    def _step(self, what: str, steps: int = 1) -> None:
        self._tell(min(self._done, self._steps), self._steps, what)
        self._done += steps

    # ---- one channel

    def _in_flight(self, machine: Machine, channel: Channel) -> int:
        """How many requests at a time pay: the fewest that are nearly as fast as the best number of them."""
        self._step(f"{channel.kind} {channel.name}: requests in flight")
        if channel.is_self_loop:
            candidates = [k for k in (1, 2, 4) if k <= self.facts.cpus]
            jobs = [
                self._job(machine, channel, shape, run) for shape, run in (("gather", 4), ("transpose", 4), ("stream", 4 * MIB))
            ]
        else:
            candidates = [1, 2, 4, 8]
            short = "sparse" if channel.kind is ChannelKind.DISK_READ else "gather"
            ways = ("piped", MIB), ("piped", 4 * MIB), ("stream", 16 * MIB), *((short, run) for run in _SHORT_DISK)
            jobs = [self._job(machine, channel, *each) for each in ways]
            jobs.append(jobs[0]._replace(shape="copied"))
        if len(candidates) == 1:
            return 1
        tried = {k: self._with(machine, replace(channel, max_in_flight=k)) for k in candidates}
        times: dict[int, list[list[float]]] = {k: [[] for _ in jobs] for k in candidates}
        for _ in range(self.effort.repeats):
            for k in candidates:  # in turns, so that what else happens here meets all of them
                for found, job in zip(times[k], jobs, strict=True):
                    found.append(self.bench.seconds(tried[k], job))
        speed = {k: -math.fsum(math.log(median(each)) for each in times[k]) / len(jobs) for k in candidates}
        return fewest_that_pay(speed, PAYS if channel.is_self_loop else DISK_PAYS)

    def _setup(self, machine: Machine, channel: Channel) -> float:
        """Seconds that a transfer takes besides its bytes: what is left of two sizes when their difference is taken away."""
        self._step(f"{channel.kind} {channel.name}: set-up")
        shape, run = ("split", 16) if channel.is_self_loop else ("piped", MIB)
        sizes = MIB, min(32 * MIB, self.room // 4)
        small, large = (
            median(self.bench.seconds(machine, Job(channel.name, shape, run, nbytes)) for _ in range(self.effort.repeats + 2))
            for nbytes in sizes
        )
        per_byte = (large - small) / (sizes[1] - sizes[0])
        return float(f"{max(0.0, small - sizes[0] * per_byte):.3g}")

    def _left(self, machine: Machine, channel: Channel, function: Sampled) -> tuple[float, float]:
        """Seconds that small transfers take longer than the throughput function says: the set-up that makes predictions of small
        ones hold, and how much more that is where copies within memory convert. `_setup` is what larger ones were freed of
        before; being a difference of large times it is less certain."""
        self._step(f"{channel.kind} {channel.name}: small transfers")
        whole = [self._longer(machine, Job(channel.name, "stream", nbytes, nbytes), function) for nbytes in SMALL]
        setup = max(0.0, median(whole))
        ways = (("transpose", 4), ("split", 16)) if channel.is_self_loop else ()
        converted = [
            self._longer(machine, Job(channel.name, shape, run, nbytes), function) for nbytes in SMALL for shape, run in ways
        ]
        more = max(0.0, median(converted) - setup) if converted else 0.0
        return float(f"{setup:.3g}"), float(f"{more:.3g}")

    def _longer(self, machine: Machine, job: Job, function: Sampled) -> float:
        """Seconds by which a job takes longer than the throughput function says."""
        times = [self.bench.seconds(machine, job) for _ in range(self.effort.repeats + 2)]
        return median(times) - job.nbytes / function(job.run)

    def _function(self, machine: Machine, channel: Channel) -> Sampled:
        before = self._done
        first = (1, 16, 256, 4096, MIB // 16, MIB, 16 * MIB) if channel.is_self_loop else (64, 4096, MIB // 16, MIB, 8 * MIB)

        def measure(run: int) -> Sample:
            self._step(f"{channel.kind} {channel.name}: runs of {format_bytes(run)}", 1 if self._done < before + most else 0)
            return self._sample(machine, channel, run)

        most = self.effort.samples
        found = adaptive.sample_adaptively(measure, first, most, halfway, enough=lambda: self._clock() > self._end)
        self.samples[channel.name] = found
        self._done = before + most
        return adaptive.sampled(found, self.date)

    @property
    def _later(self) -> int:
        """The rounds in which samples are taken again: more than half of all repeats."""
        return self.effort.repeats * 3 // 5

    def _once_more(self, machine: Machine) -> Machine:
        """The machine with what another round over all samples adds."""
        for channel in machine.channels:
            self._step(f"{channel.kind} {channel.name}: once more")
            more = [
                Sample(old.run, tuple(map(add, old.shapes, self._rates(machine, channel, self._jobs[channel.name, old.run]))))
                for old in self.samples[channel.name]
            ]
            self.samples[channel.name] = tuple(more)
            machine = self._with(machine, replace(channel, throughput=adaptive.sampled(more, self.date)))
        return machine

    def _sample(self, machine: Machine, channel: Channel, run: int) -> Sample:
        jobs = [self._job(machine, channel, shape, run) for shape in shapes(channel, run)]
        for k, job in enumerate(jobs):
            if job.shape == "piped" and self._copy_holds_up(machine, job):
                jobs[k] = self._job(machine, channel, "stream", run)
        self._jobs[channel.name, run] = jobs
        at_once = [self._rates(machine, channel, jobs) for _ in range(self.effort.repeats - self._later)]
        return Sample(run, tuple(reduce(add, rates) for rates in zip(*at_once, strict=True)))

    def _rates(self, machine: Machine, channel: Channel, jobs: Sequence[Job]) -> list[tuple[float]]:
        """Bytes per second of every job, once, without what the channel takes to set up."""
        found: list[tuple[float]] = []
        for job in jobs:
            seconds = self.bench.seconds(machine, job)
            found.append((job.nbytes / max(seconds - channel.setup, seconds / 2),))
        return found

    def _copy_holds_up(self, machine: Machine, job: Job) -> bool:
        """Whether a disk is so fast that in a pipeline with a copy it is the copy that is measured."""
        (copy,) = machine.between(SYS, SYS)
        return job.nbytes / self.bench.seconds(machine, job) > _LIKE_COPIES * copy.rate(4096)

    def _job(self, machine: Machine, channel: Channel, shape: str, run: int) -> Job:
        """A job of about the seconds that one is to take, found out by a small one."""
        whole = shape in ("stream", "piped")
        most = self.room // (4 if channel.is_self_loop or not whole else 2)
        least = min(max(_LEAST_CHUNKS * run, MIB // 4), most) if whole else max(16 * run, MIB // 16)
        seconds = self.bench.seconds(machine, Job(channel.name, shape, run, least))
        wanted = min(max(least, round(least / max(seconds, _QUICKEST) * self.effort.seconds)), max(most, least))
        unit = run if whole else 4 * run
        if shape == "sparse":
            wanted = min(wanted, self.room // (run + APART) * run)
        nbytes = max(1, wanted // unit) * unit
        if shape == "transpose":  # a matrix as square as its plan has it
            rows = max(2, math.isqrt(nbytes // run))
            nbytes = max(1, nbytes // run // rows) * rows * run
        elif shape == "piped":
            nbytes = max(1, nbytes // (4 * 4096)) * 4 * 4096
        return Job(channel.name, shape, run, nbytes)

    # ---- channels together

    def _shared(self, machine: Machine) -> list[shared.Found]:
        copy, *others = machine.channels
        peaks = {channel.name: channel.peak for channel in machine.channels}
        self._step("two copies at once")
        copies = self._beside(machine, copy, None)
        beside, conversions = [], []
        for channel in others:
            self._step(f"{channel.kind} {channel.name} beside a copy")
            beside.append(self._beside(machine, copy, channel))
            if self._clock() <= self._end:
                conversions.append(self._beside(machine, copy, channel, _SLOW))
        found = [shared.memory_resource("node0.memory", copies, beside, peaks, copy.provenance, conversions)]
        self.pairs += [copies, *beside]
        slowest = {pair.second: pair for pair in (*beside, *conversions)}
        for channel in others:
            disk, way = (channel.source, "reading") if channel.destination == SYS else (channel.destination, "writing")
            found.append(shared.beside_copies(f"{disk}.{way}", slowest[channel.name], copy.provenance))
        for disk in self.directories:
            self._step(f"{disk}: reading while writing")
            pair = self._reading_and_writing(
                machine, *(channel for channel in others if disk in (channel.source, channel.destination))
            )
            self.pairs.append(pair)
            found.append(shared.device_resource(f"{disk}.device", pair, copy.provenance))
        return [each for each in found if each is not None]

    def _beside(self, machine: Machine, copy: Channel, other: Channel | None, way: tuple[str, int] = _COPIED) -> Pair:
        """A copy within memory, or a conversion (`way`: shape and run), and another channel (None: such a copy again), each alone
        and both at once."""
        second = replace(copy, name=TWIN) if other is None else other
        both = replace(machine, channels=(*machine.channels, second)) if other is None else machine
        piece, (shape, run) = self.room // 4, way
        count = max(4, math.ceil(2 * copy.rate(run) / second.peak))
        jobs = {copy.name: [Job(copy.name, shape, run, piece)] * count}
        jobs[second.name] = [Job(second.name, *_COPIED, piece)] * (2 if second is other else count)
        alone: dict[str, list[float]] = {name: [] for name in jobs}
        at_once: dict[str, list[float]] = {name: [] for name in jobs}
        for _ in range(self.effort.repeats if way == _COPIED else min(self.effort.repeats, _FEW)):
            for name, own in jobs.items():
                alone[name].append(self.bench.together(both, own[:4])[name])
            for name, rate in self.bench.together(both, [job for own in jobs.values() for job in own]).items():
                at_once[name].append(rate)
        names = copy.name, second.name
        a, b = (median(alone[name]) for name in names)
        c, d = (median(at_once[name]) for name in names)
        return Pair(copy.name, copy.name if other is None else second.name, (a, b), (c, d))

    def _reading_and_writing(self, machine: Machine, read: Channel, write: Channel) -> Pair:
        """A disk that is read and written at the same rate, as a path from it to itself does."""
        gains = []
        for run in (MIB, 4 * MIB):
            nbytes = min(16 * run, self.room // 4)
            apart = 1 / read.rate(run) + 1 / write.rate(run)
            job = Job(read.name, "copied", run, nbytes)
            taken = median(self.bench.seconds(machine, job) for _ in range(self.effort.repeats))
            seconds = max(taken - read.setup - write.setup, taken / 2, _QUICKEST)
            # The first chunk is only read while nothing is written, and the last one only written.
            chunks = nbytes / run
            gains.append(apart * run * (chunks - 1) / max(seconds - run * apart, seconds / 4))
        gain = math.sqrt(math.prod(gains))
        alone = read.rate(MIB), write.rate(MIB)
        together = gain / (1 / alone[0] + 1 / alone[1])
        return Pair(read.name, write.name, alone, (min(together, alone[0]), min(together, alone[1])))

    # ---- whether predictions hold

    def _transfers(self) -> list[tuple[str, Transfer]]:
        pixels, points = FieldSpace(value="float32"), FieldSpace(re="float32", im="float32")
        side = 1 << (self.room // 16).bit_length() // 2
        turned, line = IndexSpace(x=side, y=side), IndexSpace(x=self.room // 32)
        found = [("a matrix transposed in memory", Transfer.whole(turned, pixels, SYS, "<F, x, y>", SYS, "<F, y, x>"))]
        for disk in self.directories:
            found += [
                (f"{disk} to memory, structs to arrays", Transfer.whole(line, points, disk, "<F, x>", SYS, "<x, F>")),
                (f"memory to {disk}, arrays to structs", Transfer.whole(line, points, SYS, "<x, F>", disk, "<F, x>")),
                (f"{disk} to itself, structs to arrays", Transfer.whole(line, points, disk, "<F, x>", disk, "<x, F>")),
            ]
        return found

    def _check(self, machine: Machine) -> None:
        for what, transfer in self._transfers():
            self._step(f"check: {what}")
            predicted = make_plan(transfer, machine).seconds
            measured = median(self.bench.transfer_seconds(machine, transfer) for _ in range(self.effort.repeats))
            self.checks.append(Check(what, float(f"{predicted:.4g}"), float(f"{measured:.4g}")))


def shapes(channel: Channel, run: int) -> tuple[str, ...]:
    """The ways in which a channel is measured with runs of a length: those in which plans move such runs.

    Short ones are parts of a chunk that is converted; in a file that is read they lie apart. Longer ones are whole chunks, those
    of a disk in a pipeline and without one.
    """
    if channel.is_self_loop:
        if run >= _LONG_COPY:
            return ("stream",)
        return ("split", "join", "transpose") if 4 <= run <= _LONG_FIELDS else ("gather", "scatter", "transpose")
    if channel.kind is ChannelKind.DISK_READ:
        if run < _LONG_DISK:
            return ("sparse",) if run < MIB // 16 else ("sparse", "piped")
    elif run < _LONG_DISK:
        return ("gather", "transpose") if run < MIB // 16 else ("gather", "piped")
    return "piped", "stream"


def fewest_that_pay(speed: Mapping[int, float], pays: float = PAYS) -> int:
    """The fewest requests in flight that are nearly as fast as the best number; `speed` is in logarithms, by number.

    More than one have to be faster by a factor of `pays`: what they do not gain they take from the channels beside.
    """
    best = max(speed.values())
    alone = min(speed)
    if best - speed[alone] < math.log(pays):
        return alone
    return min(k for k, each in speed.items() if best - each < math.log(pays) / 2)


def halfway(a: int, b: int) -> int | None:
    """The power of two half-way between two runs; None where they are neighbours."""
    middle = 1 << round(math.log2(a * b) / 2)
    return middle if a < middle < b else None
