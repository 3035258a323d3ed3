"""The steps of a probe: requests in flight, set-up, throughput function, shared resources, and a check of predictions."""

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
from isoviz.measure import tuning
from isoviz.measure.channel_timer import Job, shapes
from isoviz.measure.local_machine import BLOCK, disk_space, host_memory
from isoviz.measure.sampling import Sample
from isoviz.planner import Transfer
from isoviz.planner import plan as make_plan
from isoviz.units import format_bytes

if TYPE_CHECKING:
    from pathlib import Path

    from isoviz.this_computer import ComputerFacts

SYS = "node0.sys"
TWIN = "beside it"
"""The name of a second copy that runs beside the first, to measure what two copies share."""


@dataclass(frozen=True)
class Effort:
    """The amount of measuring: `repeats` of everything, up to `samples` per function, about `seconds` each.

    After `limit` seconds no function is refined and no round begins. Some repeats of a sample follow each other, to find where a
    function bends. The others, more than half, are taken in rounds over all samples of all channels. The speed of a computer
    changes within seconds, so the median of one moment may be off by half.
    """

    repeats: int
    samples: int
    seconds: float
    limit: float


class JobTimer(Protocol):
    """Times jobs: in real time (`isoviz.measure.channel_timer.ChannelTimer`), or in virtual time in tests."""

    def seconds(self, machine: Machine, job: Job) -> float:
        """The seconds of a job alone."""

    def transfer_seconds(self, machine: Machine, transfer: Transfer) -> float:
        """The seconds of a transfer with its plan on a machine."""

    def together(self, machine: Machine, jobs: Sequence[Job]) -> dict[str, float]:
        """Bytes per second of every channel while all of them work on these jobs."""


class Steps:
    """A probe of host memory and of the disks in `directories`. `buffered` disks need no alignment.

    A job moves at most `room` bytes. `tell` is called with (steps done, all steps, text about the current measurement).
    """

    def __init__(
        self,
        timer: JobTimer,
        facts: ComputerFacts,
        directories: Mapping[str, Path],
        buffered: Sequence[str],
        room: int,
        effort: Effort,
        date: str,
        tell: Callable[[int, int, str], None],
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self.timer, self.facts, self.directories, self.buffered = timer, facts, directories, buffered
        self.room, self.effort, self.date = room, effort, date
        self._tell, self._clock = tell, clock
        self._done = 0
        self._end = clock() + effort.limit
        self.pairs: list[Pair] = []
        self.checks: list[Check] = []
        self.samples: dict[str, tuple[Sample, ...]] = {}
        self._jobs: dict[tuple[str, int], list[Job]] = {}
        """The jobs of each sample, by channel and run."""

    def measure(self) -> Machine:
        """The machine, without the record of its measurement (`isoviz.measure.probe` adds it)."""
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
        guess = LatencyBandwidth(1e-5, 1e9)  # A placeholder until the measurement; it only orders the channels.
        channels = [Channel("", ChannelKind.MEMCPY, SYS, SYS, LatencyBandwidth(1e-9, 1e10), provenance=origin)]
        for name, place in self.directories.items():
            memories.append(Memory(name, MemoryKind.DSK, capacity=disk_space(place), device=str(place)))
            note = ", buffered: this file system takes no unbuffered access" if name in self.buffered else ""
            for kind, ends in ((ChannelKind.DISK_READ, (name, SYS)), (ChannelKind.DISK_WRITE, (SYS, name))):
                alignment = 1 if note else BLOCK
                channels.append(Channel("", kind, *ends, guess, alignment=alignment, provenance=origin + note))
        return Machine(
            "local", tuple(memories), tuple(channels), limits=Limits(chunk_seconds=tuning.ENGINE_CHUNK_SECONDS), provenance=origin
        )

    def _with(self, machine: Machine, channel: Channel) -> Machine:
        return replace(machine, channels=tuple(channel if each.name == channel.name else each for each in machine.channels))

    def _step(self, what: str, steps: int = 1) -> None:
        self._tell(min(self._done, self._steps), self._steps, what)
        self._done += steps

    # ---- one channel

    def _in_flight(self, machine: Machine, channel: Channel) -> int:
        """The number of requests in flight that pays: the smallest number that is nearly as fast as the best."""
        self._step(f"{channel.kind} {channel.name}: requests in flight")
        if channel.is_self_loop:
            candidates = [k for k in (1, 2, 4) if k <= self.facts.cpus]
            jobs = [
                self._job(machine, channel, shape, run)
                for shape, run in (("gather", 4), ("transpose", 4), ("stream", 4 * tuning.MIB))
            ]
        else:
            candidates = [1, 2, 4, 8]
            short = "sparse" if channel.kind is ChannelKind.DISK_READ else "gather"
            ways = (
                ("piped", tuning.MIB),
                ("piped", 4 * tuning.MIB),
                ("stream", 16 * tuning.MIB),
                *((short, run) for run in tuning.SHORT_DISK_RUNS),
            )
            jobs = [self._job(machine, channel, *each) for each in ways]
            jobs.append(jobs[0]._replace(shape="copied"))
        if len(candidates) == 1:
            return 1
        tried = {k: self._with(machine, replace(channel, max_in_flight=k)) for k in candidates}
        times: dict[int, list[list[float]]] = {k: [[] for _ in jobs] for k in candidates}
        for _ in range(self.effort.repeats):
            for k in candidates:  # The numbers alternate, so that slow moments affect all of them.
                for found, job in zip(times[k], jobs, strict=True):
                    found.append(self.timer.seconds(tried[k], job))
        speed = {k: -math.fsum(math.log(median(each)) for each in times[k]) / len(jobs) for k in candidates}
        return fewest_that_pay(speed, tuning.COPIES_PAY if channel.is_self_loop else tuning.REQUESTS_PAY)

    def _setup(self, machine: Machine, channel: Channel) -> float:
        """The seconds of a transfer of zero bytes, extrapolated from the times of two sizes."""
        self._step(f"{channel.kind} {channel.name}: set-up")
        shape, run = ("split", 16) if channel.is_self_loop else ("piped", tuning.MIB)
        sizes = tuning.MIB, min(32 * tuning.MIB, self.room // 4)
        small, large = (
            median(self.timer.seconds(machine, Job(channel.name, shape, run, nbytes)) for _ in range(self.effort.repeats + 2))
            for nbytes in sizes
        )
        per_byte = (large - small) / (sizes[1] - sizes[0])
        return float(f"{max(0.0, small - sizes[0] * per_byte):.3g}")

    def _left(self, machine: Machine, channel: Channel, function: Sampled) -> tuple[float, float]:
        """The set-up with which predictions of small transfers hold, and the additional set-up of a conversion within memory.

        Both are seconds beyond the throughput function. `_setup`, which the function excludes, is less accurate: it is a
        difference of large times.
        """
        self._step(f"{channel.kind} {channel.name}: small transfers")
        whole = [
            self._longer(machine, Job(channel.name, "stream", nbytes, nbytes), function) for nbytes in tuning.SMALL_TRANSFERS
        ]
        setup = max(0.0, median(whole))
        ways = (("transpose", 4), ("split", 16)) if channel.is_self_loop else ()
        converted = [
            self._longer(machine, Job(channel.name, shape, run, nbytes), function)
            for nbytes in tuning.SMALL_TRANSFERS
            for shape, run in ways
        ]
        more = max(0.0, median(converted) - setup) if converted else 0.0
        return float(f"{setup:.3g}"), float(f"{more:.3g}")

    def _longer(self, machine: Machine, job: Job, function: Sampled) -> float:
        """The seconds of a job beyond those of the throughput function."""
        times = [self.timer.seconds(machine, job) for _ in range(self.effort.repeats + 2)]
        return median(times) - job.nbytes / function(job.run)

    def _function(self, machine: Machine, channel: Channel) -> Sampled:
        before = self._done
        first = (
            (1, 16, 256, 4096, tuning.MIB // 16, tuning.MIB, 16 * tuning.MIB)
            if channel.is_self_loop
            else (64, 4096, tuning.MIB // 16, tuning.MIB, 8 * tuning.MIB)
        )

        def measure(run: int) -> Sample:
            self._step(f"{channel.kind} {channel.name}: runs of {format_bytes(run)}", 1 if self._done < before + most else 0)
            return self._sample(machine, channel, run)

        most = self.effort.samples
        found = adaptive.sample_adaptively(measure, first, most, adaptive.halfway, enough=lambda: self._clock() > self._end)
        self.samples[channel.name] = found
        self._done = before + most
        return adaptive.sampled(found, self.date)

    @property
    def _later(self) -> int:
        """The number of later rounds over all samples: more than half of all repeats."""
        return self.effort.repeats * 3 // 5

    def _once_more(self, machine: Machine) -> Machine:
        """The machine after another round over all samples."""
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
        """Bytes per second of every job, measured once, without the set-up of the channel."""
        found: list[tuple[float]] = []
        for job in jobs:
            seconds = self.timer.seconds(machine, job)
            found.append((job.nbytes / max(seconds - channel.setup, seconds / 2),))
        return found

    def _copy_holds_up(self, machine: Machine, job: Job) -> bool:
        """Whether a disk is so fast that a pipeline with a copy measures the copy."""
        (copy,) = machine.between(SYS, SYS)
        return job.nbytes / self.timer.seconds(machine, job) > tuning.LIKE_COPIES * copy.rate(4096)

    def _job(self, machine: Machine, channel: Channel, shape: str, run: int) -> Job:
        """A job of about the wanted duration, sized by a small job."""
        whole = shape in ("stream", "piped")
        most = self.room // (4 if channel.is_self_loop or not whole else 2)
        least = min(max(tuning.FEWEST_CHUNKS * run, tuning.MIB // 4), most) if whole else max(16 * run, tuning.MIB // 16)
        seconds = self.timer.seconds(machine, Job(channel.name, shape, run, least))
        wanted = min(max(least, round(least / max(seconds, tuning.CLOCK_TICK) * self.effort.seconds)), max(most, least))
        unit = run if whole else 4 * run
        if shape == "sparse":
            wanted = min(wanted, self.room // (run + tuning.APART) * run)
        nbytes = max(1, wanted // unit) * unit
        if shape == "transpose":  # The shape that `job_plan` gives the matrix.
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
                conversions.append(self._beside(machine, copy, channel, tuning.CONVERSION_BESIDE))
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

    def _beside(self, machine: Machine, copy: Channel, other: Channel | None, way: tuple[str, int] = tuning.COPY_BESIDE) -> Pair:
        """A copy within memory and another channel (None: a second copy), each alone and both at once.

        `way` is the shape and run of the copy, which may be a conversion.
        """
        second = replace(copy, name=TWIN) if other is None else other
        both = replace(machine, channels=(*machine.channels, second)) if other is None else machine
        piece, (shape, run) = self.room // 4, way
        count = max(4, math.ceil(2 * copy.rate(run) / second.peak))
        jobs = {copy.name: [Job(copy.name, shape, run, piece)] * count}
        jobs[second.name] = [Job(second.name, *tuning.COPY_BESIDE, piece)] * (2 if second is other else count)
        alone: dict[str, list[float]] = {name: [] for name in jobs}
        at_once: dict[str, list[float]] = {name: [] for name in jobs}
        for _ in range(self.effort.repeats if way == tuning.COPY_BESIDE else min(self.effort.repeats, tuning.CONVERSION_PAIRS)):
            for name, own in jobs.items():
                alone[name].append(self.timer.together(both, own[:4])[name])
            for name, rate in self.timer.together(both, [job for own in jobs.values() for job in own]).items():
                at_once[name].append(rate)
        names = copy.name, second.name
        a, b = (median(alone[name]) for name in names)
        c, d = (median(at_once[name]) for name in names)
        return Pair(copy.name, copy.name if other is None else second.name, (a, b), (c, d))

    def _reading_and_writing(self, machine: Machine, read: Channel, write: Channel) -> Pair:
        """A disk that is read and written at the same rate, as on a path from it to itself."""
        gains = []
        for run in (tuning.MIB, 4 * tuning.MIB):
            nbytes = min(16 * run, self.room // 4)
            apart = 1 / read.rate(run) + 1 / write.rate(run)
            job = Job(read.name, "copied", run, nbytes)
            taken = median(self.timer.seconds(machine, job) for _ in range(self.effort.repeats))
            seconds = max(taken - read.setup - write.setup, taken / 2, tuning.CLOCK_TICK)
            # The first chunk is read while nothing is written, and the last one written while nothing is read.
            chunks = nbytes / run
            gains.append(apart * run * (chunks - 1) / max(seconds - run * apart, seconds / 4))
        gain = math.sqrt(math.prod(gains))
        alone = read.rate(tuning.MIB), write.rate(tuning.MIB)
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
            measured = median(self.timer.transfer_seconds(machine, transfer) for _ in range(self.effort.repeats))
            self.checks.append(Check(what, float(f"{predicted:.4g}"), float(f"{measured:.4g}")))


def fewest_that_pay(speed: Mapping[int, float], pays: float = tuning.COPIES_PAY) -> int:
    """The smallest number of requests in flight that is nearly as fast as the best. `speed` has logarithms, by number.

    More than one request must be faster by the factor `pays`, because it slows other channels down.
    """
    best = max(speed.values())
    alone = min(speed)
    if best - speed[alone] < math.log(pays):
        return alone
    return min(k for k, each in speed.items() if best - each < math.log(pays) / 2)
