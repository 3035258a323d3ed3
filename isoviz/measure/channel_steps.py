"""What all steps of a probe do with one channel, and with two at once."""

from __future__ import annotations

import math
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from statistics import median
from typing import Any, Protocol

from isoviz.machines import Channel, Machine, Sampled
from isoviz.machines.measurement import Check, Pair
from isoviz.measure import sampling as adaptive
from isoviz.measure import tuning
from isoviz.measure.channel_timer import Job, shapes
from isoviz.measure.sampling import Sample
from isoviz.planner import Transfer
from isoviz.planner import plan as make_plan
from isoviz.planner.time.spread import slowest_channel
from isoviz.units import format_bytes

TWIN = "beside it"
"""The name of a second copy that runs beside the first, to measure what two copies share."""


@dataclass(frozen=True)
class Effort:
    """The amount of measuring: `repeats` of everything, up to `samples` per function, about `seconds` each.

    After `limit` seconds no function is refined and no round begins. Some repeats of a sample follow each other, to find where a
    function bends. The others, more than half, are taken in rounds over all samples of all channels. The speed of a computer
    changes within seconds, so the median of one moment may be off by half.

    A probe that `is_brief` leaves out what changes predictions least: the shortest runs of disks, samples where their functions
    bend, most jobs that compare numbers of requests in flight, and conversions beside other channels.
    """

    repeats: int
    samples: int
    seconds: float
    limit: float
    is_brief: bool = False


class JobTimer(Protocol):
    """Times jobs: in real time (`isoviz.measure.channel_timer.ChannelTimer`), or in virtual time in tests."""

    def seconds(self, machine: Machine, job: Job) -> float:
        """The seconds of a job alone."""

    def transfer_seconds(self, machine: Machine, transfer: Transfer) -> float:
        """The seconds of a transfer with its plan on a machine."""

    def together(self, machine: Machine, jobs: Sequence[Job]) -> dict[str, float]:
        """Bytes per second of every channel while all of them work on these jobs."""


class ChannelSteps:
    """Steps of a probe. A job moves at most `room` bytes.

    `tell` is called with (steps done, all steps, text about the current measurement).
    """

    def __init__(
        self,
        timer: JobTimer,
        room: int,
        effort: Effort,
        date: str,
        tell: Callable[[int, int, str], None],
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self.timer, self.room, self.effort, self.date = timer, room, effort, date
        self._tell, self._clock = tell, clock
        self._done = 0
        self._end = clock() + effort.limit
        self.steps = 1
        """The number of steps; a subclass sets it."""
        self.pairs: list[Pair] = []
        self.checks: list[Check] = []
        self.samples: dict[str, tuple[Sample, ...]] = {}
        self.plain: defaultdict[str, list[tuple[Sample, Job]]] = defaultdict(list)
        """The samples of plain copies with their jobs, by channel, where these differ from layout changes."""
        self._jobs: dict[tuple[str, int], list[Job]] = {}
        """The jobs of each sample, by channel and run."""

    @property
    def steps_of_channel(self) -> int:
        """The number of steps that measure one channel alone."""
        return self.effort.samples + 5 + self._later

    @property
    def _more_repeats(self) -> int:
        """The repeats of short jobs whose time is the difference of two times."""
        return self.effort.repeats + (0 if self.effort.is_brief else 2)

    @property
    def _repeats(self) -> int:
        """The repeats of a measurement. A brief probe that lasts too long, on a busy computer say, does without."""
        return 1 if self.effort.is_brief and self._clock() > self._end else self.effort.repeats

    @property
    def _piece(self) -> int:
        """Bytes of the jobs that show a channel at work for a while."""
        return self.room // (12 if self.effort.is_brief else 4)

    def _with(self, machine: Machine, channel: Channel) -> Machine:
        return replace(machine, channels=tuple(channel if each.name == channel.name else each for each in machine.channels))

    def _step(self, what: str, steps: int = 1) -> None:
        self._tell(min(self._done, self.steps), self.steps, what)
        self._done += steps

    # ---- one channel

    def _pays(self, machine: Machine, channel: Channel, candidates: Sequence[int], jobs: Sequence[Job], pays: float) -> int:
        """The number of requests in flight that pays: the smallest candidate that is nearly as fast as the best."""
        if len(candidates) == 1:
            return candidates[0]
        tried = {k: self._with(machine, replace(channel, max_in_flight=k)) for k in candidates}
        times: dict[int, list[list[float]]] = {k: [[] for _ in jobs] for k in candidates}
        for _ in range(self._repeats):
            for k in candidates:  # The numbers alternate, so that slow moments affect all of them.
                for found, job in zip(times[k], jobs, strict=True):
                    found.append(self.timer.seconds(tried[k], job))
        speed = {k: -math.fsum(math.log(median(each)) for each in times[k]) / len(jobs) for k in candidates}
        return fewest_that_pay(speed, pays)

    def _setup(self, machine: Machine, channel: Channel, shape: str, run: int) -> float:
        """The seconds of a transfer of zero bytes, extrapolated from the times of two sizes."""
        self._step(f"{channel.kind} {channel.name}: set-up")
        sizes = tuning.MIB, min(32 * tuning.MIB, self._piece)
        small, large = (
            median(self.timer.seconds(machine, Job(channel.name, shape, run, nbytes)) for _ in range(self._more_repeats))
            for nbytes in sizes
        )
        per_byte = (large - small) / (sizes[1] - sizes[0])
        return float(f"{max(0.0, small - sizes[0] * per_byte):.3g}")

    def _in_parts(self, machine: Machine, channel: Channel, *, plain: bool = True) -> Channel:
        """The channel with its costs apart, after its throughput function was measured as a whole.

        These are with `plain` the rates of plain copies and those of layout changes where the two differ, then the seconds of a
        request, and the set-ups of transfers.
        """
        if plain:
            channel = self._apart(machine, channel)
        requests = self._request(machine, channel)
        if requests:
            self.samples[channel.name] = tuple(
                sample.without(requests, [job.run if job.shape == "stream" else job.nbytes for job in jobs])
                for sample, jobs in ((each, self._jobs[channel.name, each.run]) for each in self.samples[channel.name])
            )
            self.plain[channel.name] = [(each.without(requests, [job.nbytes]), job) for each, job in self.plain[channel.name]]
            channel = replace(channel, request_seconds=requests, **self._functions(channel))
        return channel

    def _apart(self, machine: Machine, channel: Channel) -> Channel:
        """The channel with its rates for layout changes apart from those of plain copies, if they differ."""
        self._step(f"{channel.kind} {channel.name}: runs as they are")
        found: list[tuple[Sample, Job]] = []
        for run in tuning.PLAIN_RUNS:
            if not _is_whole(channel, run):
                job = self._job(machine, channel, "parts", run)
                rates = [self._rates(machine, channel, [job])[0] for _ in range(self._repeats)]
                found.append((Sample(run, (reduce(add, rates),)), job))
        ratios = [math.log(sample.middle / channel.throughput(sample.run)) for sample, _ in found]
        if max(map(abs, ratios)) <= math.log(tuning.PLAIN_DIFFERS):
            return channel
        self.plain[channel.name] = found
        return replace(channel, **self._functions(channel))

    def _functions(self, channel: Channel) -> dict[str, Any]:
        """The throughput functions of a channel by the fields that have them."""
        samples = self.samples[channel.name]
        together = self._sampled(samples)
        plain = [sample for sample, _ in self.plain[channel.name]]
        if not plain:
            return {"throughput": together}
        whole = [sample for sample in samples if _is_whole(channel, sample.run)]
        return {"throughput": self._sampled([*plain, *whole]), "layout_throughput": together}

    def _request(self, machine: Machine, channel: Channel) -> float:
        """The seconds of a request besides its bytes: what more chunks of the same size take longer."""
        self._step(f"{channel.kind} {channel.name}: requests")
        found = []
        for run in tuning.REQUESTED_RUNS:
            few, many = tuning.REQUESTED_CHUNKS
            times: dict[int, list[float]] = {few: [], many: []}
            for _ in range(self._more_repeats):
                for count, own in times.items():  # They alternate: slow moments affect both.
                    own.append(self.timer.seconds(machine, Job(channel.name, "stream", run, count * run)))
            each = (median(times[many]) - median(times[few])) / (many - few)
            bytes_alone = run / channel.rate(run)
            found.append(each - bytes_alone if each - bytes_alone > tuning.LEAST_REQUEST * bytes_alone else 0.0)
        return float(f"{min(found):.3g}")

    def _left(self, machine: Machine, channel: Channel, ways: Sequence[tuple[str, int]]) -> Channel:
        """The channel with the set-up with which predictions of small transfers hold, and the additional one of a conversion.

        Both are seconds beyond the throughput functions. `_setup`, which the functions exclude, is less accurate: it is a
        difference of large times. `ways` are shapes and runs of conversions.
        """
        self._step(f"{channel.kind} {channel.name}: small transfers")
        sizes = tuning.SMALL_TRANSFERS[1:2] if self.effort.is_brief else tuning.SMALL_TRANSFERS
        whole = [self._longer(machine, channel, Job(channel.name, "stream", nbytes, nbytes)) for nbytes in sizes]
        setup = max(0.0, median(whole))
        converted = [
            self._longer(machine, channel, Job(channel.name, shape, run, nbytes)) for nbytes in sizes for shape, run in ways
        ]
        more = max(0.0, median(converted) - setup) if converted else 0.0
        return replace(channel, setup=float(f"{setup:.3g}"), conversion_setup=float(f"{more:.3g}"))

    def _longer(self, machine: Machine, channel: Channel, job: Job) -> float:
        """The seconds of a job of one request beyond those of the throughput functions."""
        times = [self.timer.seconds(machine, job) for _ in range(self._more_repeats)]
        function = channel.throughput if job.shape == "stream" else channel.layout_rates
        return median(times) - job.nbytes / function(job.run) - channel.request_seconds

    def _function(self, machine: Machine, channel: Channel, first: Sequence[int]) -> Sampled:
        """The throughput function: samples at the runs of `first`, and more where it bends."""
        before = self._done

        def measure(run: int) -> Sample:
            self._step(f"{channel.kind} {channel.name}: runs of {format_bytes(run)}", 1 if self._done < before + most else 0)
            return self._sample(machine, channel, run)

        most = self.effort.samples if channel.is_self_loop or not self.effort.is_brief else len(first)
        found = adaptive.sample_adaptively(measure, first, most, adaptive.halfway, enough=lambda: self._clock() > self._end)
        self.samples[channel.name] = found
        self._done = before + most
        return self._sampled(found)

    def _sampled(self, samples: Sequence[Sample]) -> Sampled:
        """The function through samples. Those of a brief probe have few moments each: a decrease says more about these."""
        return adaptive.sampled(samples, self.date, math.inf if self.effort.is_brief else tuning.EVENED_OUT)

    @property
    def _later(self) -> int:
        """The number of later rounds over all samples: more than half of all repeats."""
        return self.effort.repeats * 3 // 5

    def _once_more(self, machine: Machine, channels: Sequence[Channel]) -> Machine:
        """The machine after another round over all samples of some channels."""
        for channel in channels:
            self._step(f"{channel.kind} {channel.name}: once more")
            more = [
                Sample(old.run, tuple(map(add, old.shapes, self._rates(machine, channel, self._jobs[channel.name, old.run]))))
                for old in self.samples[channel.name]
            ]
            self.samples[channel.name] = tuple(more)
            machine = self._with(machine, replace(channel, throughput=self._sampled(more)))
        return machine

    def _sample(self, machine: Machine, channel: Channel, run: int) -> Sample:
        jobs = self._jobs[channel.name, run] = self._jobs_of(machine, channel, run)
        at_once = [self._rates(machine, channel, jobs) for _ in range(max(1, self._repeats - self._later))]
        return Sample(run, tuple(reduce(add, rates) for rates in zip(*at_once, strict=True)))

    def _jobs_of(self, machine: Machine, channel: Channel, run: int) -> list[Job]:
        """The jobs that measure a channel with runs of `run` bytes."""
        return [self._job(machine, channel, shape, run) for shape in shapes(channel, run)]

    def _rates(self, machine: Machine, channel: Channel, jobs: Sequence[Job]) -> list[tuple[float]]:
        """Bytes per second of every job, measured once, without the set-up of the channel."""
        found: list[tuple[float]] = []
        for job in jobs:
            seconds = self.timer.seconds(machine, job)
            found.append((job.nbytes / max(seconds - channel.setup, seconds / 2),))
        return found

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

    # ---- two channels

    def _beside(
        self,
        machine: Machine,
        first: Channel,
        other: Channel | None,
        way: tuple[str, int] = tuning.COPY_BESIDE,
        *,
        second_jobs: int = 2,
    ) -> Pair:
        """Two channels (None: a second one like the first), each alone and both at once.

        `way` is the shape and run of the jobs of the first one, which may be conversions. `second_jobs` is the number of jobs
        of the second one.
        """
        second = replace(first, name=TWIN) if other is None else other
        both = replace(machine, channels=(*machine.channels, second)) if other is None else machine
        piece, (shape, run) = self._piece, way
        count = max(4, math.ceil(2 * first.rate(run) / second.peak))
        jobs = {first.name: [Job(first.name, shape, run, piece)] * count}
        jobs[second.name] = [Job(second.name, *tuning.COPY_BESIDE, piece)] * (second_jobs if second is other else count)
        alone: dict[str, list[float]] = {name: [] for name in jobs}
        at_once: dict[str, list[float]] = {name: [] for name in jobs}
        for _ in range(self._repeats if way == tuning.COPY_BESIDE else min(self._repeats, tuning.CONVERSION_PAIRS)):
            for name, own in jobs.items():
                alone[name].append(self.timer.together(both, own[:4])[name])
            for name, rate in self.timer.together(both, [job for own in jobs.values() for job in own]).items():
                at_once[name].append(rate)
        names = first.name, second.name
        a, b = (median(alone[name]) for name in names)
        c, d = (median(at_once[name]) for name in names)
        return Pair(first.name, first.name if other is None else second.name, (a, b), (c, d))

    # ---- whether predictions hold

    def _check(self, machine: Machine, transfers: Sequence[tuple[str, Transfer]]) -> None:
        """Run transfers in turn, so that the repeats of one are some time apart, as its later runs will be."""
        times: list[list[float]] = [[] for _ in transfers]
        for k in range(self._repeats):
            for (what, transfer), found in zip(transfers, times, strict=True):
                self._step(f"check: {what}", 0 if k else 1)
                found.append(self.timer.transfer_seconds(machine, transfer))
        for (what, transfer), found in zip(transfers, times, strict=True):
            plan = make_plan(transfer, machine)
            measured = f"{median(found):.4g}"
            self.checks.append(Check(what, float(f"{plan.seconds:.4g}"), float(measured), slowest_channel(plan)))


def _is_whole(channel: Channel, run: int) -> bool:
    """Whether runs of `run` bytes are measured as whole chunks."""
    return "stream" in shapes(channel, run)


def fewest_that_pay(speed: Mapping[int, float], pays: float = tuning.COPIES_PAY) -> int:
    """The smallest number of requests in flight that is nearly as fast as the best. `speed` has logarithms, by number.

    More than one request must be faster by the factor `pays`, because it slows other channels down.
    """
    best = max(speed.values())
    alone = min(speed)
    if best - speed[alone] < math.log(pays):
        return alone
    return min(k for k, each in speed.items() if best - each < math.log(pays) / 2)
