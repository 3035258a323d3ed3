"""The steps of a probe: the same algorithm for this computer, its GPUs and ranks, over a timer of jobs.

Of every channel, the requests in flight and the throughput function are measured first. Rounds over all samples follow, and then
each of the `MEASUREMENTS`. `isoviz.measure.ways` says which jobs measure the channels of a kind.
"""

from __future__ import annotations

import math
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from operator import add
from statistics import median
from typing import Any, NamedTuple, Protocol

from isoviz.machines import Channel, Machine, Sampled
from isoviz.machines.cards import COPIES_PAY, SMALL_TRANSFERS, Way, Ways
from isoviz.machines.measurement import Check, Pair
from isoviz.measure import sampling, tuning
from isoviz.measure.jobs import Job
from isoviz.measure.sampling import Sample
from isoviz.measure.ways import Effort, shapes, ways_of
from isoviz.planner import Transfer
from isoviz.planner import plan as make_plan
from isoviz.planner.time.spread import slowest_channel
from isoviz.units import format_bytes

TWIN = "beside it"
"""The name of a second copy that runs beside the first, to measure what two copies share."""

Tell = Callable[[int, int, str], None]
"""Called with (steps done, all steps, text about the current measurement). It may raise to stop."""


class Timer(Protocol):
    """Times jobs: on this computer (`isoviz.measure.channel_timer`), on ranks (`isoviz.measure.ranks.rank_probe`), or in virtual
    time in tests."""

    def seconds(self, machine: Machine, job: Job) -> float:
        """The seconds of a job alone, as in a report."""

    def transfer_seconds(self, machine: Machine, transfer: Transfer) -> float:
        """The seconds of a transfer with its plan on a machine."""

    def together(self, machine: Machine, jobs: Sequence[Job]) -> dict[str, float]:
        """Bytes per second of every channel while all of them work on these jobs."""


class Steps:
    """Steps of a probe. A job moves at most `room` bytes."""

    def __init__(
        self,
        timer: Timer,
        room: int,
        effort: Effort,
        date: str,
        tell: Tell,
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
        """The largest number of steps that measure one channel alone."""
        return self.effort.samples + 2 + self._later + len(MEASUREMENTS)

    @property
    def is_over(self) -> bool:
        """Whether the time is over: what is not needed is left out."""
        return self._clock() > self._end

    @property
    def _repeats(self) -> int:
        """The repeats of a measurement. A brief probe that lasts too long, on a busy computer say, does without."""
        return 1 if self.effort.is_brief and self.is_over else self.effort.repeats

    @property
    def _more_repeats(self) -> int:
        """The repeats of short jobs whose time is the difference of two times."""
        return self.effort.repeats + (0 if self.effort.is_brief else 2)

    @property
    def _later(self) -> int:
        """The number of later rounds over all samples: more than half of all repeats."""
        return self.effort.repeats * 3 // 5

    def _room_of(self, channel: Channel) -> int:  # noqa: ARG002  # that of some channels is another one
        """Bytes of the arrays that jobs of a channel move."""
        return self.room

    def _way_beside(self, channel: Channel) -> Way:  # noqa: ARG002  # that of some channels is another one
        """The way of the copies of a channel that are measured beside others."""
        return tuning.COPY_BESIDE

    def _piece(self, channel: Channel) -> int:
        """Bytes of the jobs that show a channel at work for a while."""
        return self._room_of(channel) // (12 if self.effort.is_brief else 4)

    def _with(self, machine: Machine, channel: Channel) -> Machine:
        return replace(machine, channels=tuple(channel if each.name == channel.name else each for each in machine.channels))

    def _step(self, what: str, steps: int = 1) -> None:
        self._tell(min(self._done, self.steps), self.steps, what)
        self._done += steps

    def _words(self, channel: Channel) -> str:
        """A channel as progress names it."""
        return f"{channel.kind} {channel.name}"

    # ---- the order of the steps

    def _measured(self, machine: Machine, channels: Iterable[Channel]) -> Machine:
        """The machine after these channels were measured."""
        names = [channel.name for channel in channels]
        for name in names:
            machine = self._first(machine, machine.channel(name))
        return self._then(self._rounds(machine, names), names)

    def _first(self, machine: Machine, channel: Channel) -> Machine:
        """The machine after the requests in flight of a channel and its throughput function were measured."""
        channel = replace(channel, max_in_flight=self._in_flight(machine, channel))
        machine = self._with(machine, channel)
        channel = replace(channel, setup=self._setup(machine, channel))
        return self._with(machine, replace(channel, throughput=self._function(machine, channel)))

    def _rounds(self, machine: Machine, names: Sequence[str]) -> Machine:
        """The machine after more rounds over all samples of these channels."""
        for _ in range(self._later):
            if self.is_over:
                break
            for name in names:
                channel = machine.channel(name)
                self._step(f"{self._words(channel)}: once more")
                more = [
                    Sample(old.run, tuple(map(add, old.shapes, self._rates(machine, channel, self._jobs[name, old.run]))))
                    for old in self.samples[name]
                ]
                self.samples[name] = tuple(more)
                machine = self._with(machine, replace(channel, throughput=self._sampled(more)))
        return machine

    def _then(self, machine: Machine, names: Sequence[str]) -> Machine:
        """The machine after all other `MEASUREMENTS` of these channels."""
        for name in names:
            channel = machine.channel(name)
            for measurement in MEASUREMENTS:
                if measurement.applies(ways_of(channel, self.effort), self.effort):
                    self._step(f"{self._words(channel)}: {measurement.words}")
                    channel = measurement.measure(self, machine, channel)
            machine = self._with(machine, channel)
        return machine

    # ---- requests in flight

    def _candidates(self, channel: Channel) -> Sequence[int]:
        """The numbers of requests in flight that are tried."""
        return ways_of(channel, self.effort).in_flight

    def _in_flight(self, machine: Machine, channel: Channel) -> int:
        """The number of requests in flight that pays: the smallest candidate that is nearly as fast as the best."""
        self._step(f"{self._words(channel)}: requests in flight")
        candidates, ways = self._candidates(channel), ways_of(channel, self.effort)
        if len(candidates) < 2:
            return candidates[0] if candidates else channel.max_in_flight
        jobs = [self._job(machine, channel, *way) for way in ways.tried_with]
        tried = {k: self._with(machine, replace(channel, max_in_flight=k)) for k in candidates}
        times: dict[int, list[list[float]]] = {k: [[] for _ in jobs] for k in candidates}
        for _ in range(self._repeats):
            for k in candidates:  # The numbers alternate, so that slow moments affect all of them.
                for found, job in zip(times[k], jobs, strict=True):
                    found.append(self.timer.seconds(tried[k], job))
        speed = {k: -math.fsum(math.log(median(each)) for each in times[k]) / len(jobs) for k in candidates}
        return fewest_that_pay(speed, ways.pays)

    # ---- the throughput function

    def _setup(self, machine: Machine, channel: Channel) -> float:
        """The seconds of a transfer of zero bytes for a start, from the times of two sizes or of the smallest transfer."""
        ways = ways_of(channel, self.effort)
        repeats = self._more_repeats * ways.repeated
        if ways.setup is None:
            self._step(f"{self._words(channel)}: the smallest transfer")
            least = ways.small[0]
            return self._median(machine, Job(channel.name, "stream", least, least), repeats)
        self._step(f"{self._words(channel)}: set-up")
        sizes = tuning.MIB, min(32 * tuning.MIB, self._piece(channel))
        small, large = (self._median(machine, Job(channel.name, *ways.setup, nbytes), repeats) for nbytes in sizes)
        per_byte = (large - small) / (sizes[1] - sizes[0])
        return _three_digits(max(0.0, small - sizes[0] * per_byte))

    def _median(self, machine: Machine, job: Job, repeats: int) -> float:
        return median(self.timer.seconds(machine, job) for _ in range(repeats))

    def _function(self, machine: Machine, channel: Channel) -> Sampled:
        """The throughput function: samples at the first runs of the kind, and more where it bends."""
        ways, before = ways_of(channel, self.effort), self._done

        def measure(run: int) -> Sample:
            self._step(f"{self._words(channel)}: runs of {format_bytes(run)}", 1 if self._done < before + most else 0)
            return self._sample(machine, channel, run)

        most = self.effort.samples if ways.bends else len(ways.first)
        found = sampling.sample_adaptively(measure, ways.first, most, sampling.halfway, enough=lambda: self.is_over)
        self.samples[channel.name] = found
        self._done = before + most
        return self._sampled(found)

    def _sample(self, machine: Machine, channel: Channel, run: int) -> Sample:
        jobs = self._jobs[channel.name, run] = self._jobs_of(machine, channel, run)
        at_once = [self._rates(machine, channel, jobs) for _ in range(max(1, self._repeats - self._later))]
        return Sample(run, tuple(reduce(add, rates) for rates in zip(*at_once, strict=True)))

    def _sampled(self, samples: Sequence[Sample]) -> Sampled:
        """The function through samples. Those of a brief probe have few moments each: a decrease says more about these."""
        return sampling.sampled(samples, self.date, math.inf if self.effort.is_brief else tuning.EVENED_OUT)

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
        """A job of about the wanted duration, sized by small ones: some channels are a thousand times as fast as others."""
        whole = shape in ("stream", "piped", "copied")
        room = self._room_of(channel)
        most = room // (4 if channel.is_self_loop or not whole else 2)
        least = min(max(tuning.FEWEST_CHUNKS * run, tuning.MIB // 4), most) if whole else max(16 * run, tuning.MIB // 16)
        if shape == "sparse":
            most = min(most, room // (run + tuning.APART) * run)
        nbytes = least
        while True:
            seconds = self.timer.seconds(machine, Job(channel.name, shape, run, nbytes))
            times = self.effort.seconds / max(seconds, tuning.CLOCK_TICK)
            if times <= tuning.GROWTH or nbytes * tuning.GROWTH >= most:
                break
            nbytes *= tuning.GROWTH
        wanted, unit = min(max(least, round(nbytes * times)), max(most, least)), min(run, most) if whole else 4 * run
        nbytes = max(1, wanted // unit) * unit
        if shape == "transpose":  # The shape that `job_plan` gives the matrix.
            rows = max(2, math.isqrt(nbytes // run))
            nbytes = max(1, nbytes // run // rows) * rows * run
        elif shape in ("piped", "copied"):
            nbytes = max(1, nbytes // (4 * 4096)) * 4 * 4096
        return Job(channel.name, shape, run, nbytes)

    # ---- what else is measured of a channel

    def layout_changes(self, machine: Machine, channel: Channel) -> Channel:
        """The channel with its rates for layout changes apart from those of plain copies, if they differ."""
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

    def requests(self, machine: Machine, channel: Channel) -> Channel:
        """The channel with the seconds of a request besides its bytes: what more chunks of the same size take longer."""
        found = []
        for run in tuning.REQUESTED_RUNS:
            more, bytes_alone = self._beyond_bytes(machine, channel, "stream", run), run / channel.rate(run)
            found.append(more if more > tuning.LEAST_REQUEST * bytes_alone else 0.0)
        seconds = _three_digits(min(found))
        if not seconds:
            return channel
        most = max(sample.middle for sample in self.samples[channel.name])
        self.samples[channel.name] = tuple(
            sample.without(seconds, [job.run if job.shape == "stream" else job.nbytes for job in jobs], most)
            for sample, jobs in ((each, self._jobs[channel.name, each.run]) for each in self.samples[channel.name])
        )
        self.plain[channel.name] = [(each.without(seconds, [job.nbytes], most), job) for each, job in self.plain[channel.name]]
        return replace(channel, request_seconds=seconds, **self._functions(channel))

    def _beyond_bytes(self, machine: Machine, channel: Channel, shape: str, run: int) -> float:
        """The seconds that a further chunk of `run` bytes takes beyond those of its bytes on the channel."""
        few, many = tuning.REQUESTED_CHUNKS
        times: dict[int, list[float]] = {few: [], many: []}
        for _ in range(self._more_repeats):
            for count, own in times.items():  # They alternate: slow moments affect both.
                own.append(self.timer.seconds(machine, Job(channel.name, shape, run, count * run)))
        return (median(times[many]) - median(times[few])) / (many - few) - run / channel.rate(run)

    def hand_overs(self, machine: Machine, channel: Channel) -> Channel:
        """The channel with the seconds that a chunk costs besides its bytes where another node takes it further on.

        Each node waits for what the other one tells it of a chunk, and its thread has to wake up. A throughput function holds for
        chunks that follow each other on one channel. The chunks of two sizes tell this time from that of a slower copy behind
        the channel. A transfer of one chunk pays no more than the smallest one takes.
        """
        short, long = tuning.REQUESTED_RUNS
        growth = long / short
        less, more = (self._beyond_bytes(machine, channel, "relayed", run) for run in (short, long))
        seconds = min((growth * less - more) / (growth - 1), channel.setup)
        if seconds <= max(channel.request_seconds, tuning.LEAST_REQUEST * short / channel.rate(short)):
            return channel
        return replace(channel, request_seconds=_three_digits(seconds))

    def small_transfers(self, machine: Machine, channel: Channel) -> Channel:
        """The channel with the set-up with which predictions of small transfers hold, and the additional one of a conversion.

        Both are seconds beyond the throughput functions. `_setup`, which the functions exclude, is less accurate: it is a
        difference of large times.
        """
        ways = ways_of(channel, self.effort)
        small, larger = (sizes[1:2] if self.effort.is_brief else sizes for sizes in (ways.small, SMALL_TRANSFERS))
        whole = [Job(channel.name, "stream", nbytes, nbytes) for nbytes in small]
        converted = [Job(channel.name, *way, nbytes) for nbytes in larger for way in ways.converting]
        setup = max(0.0, median(self._longer(machine, channel, job) for job in whole))
        more = [self._longer(machine, channel, job) for job in converted]
        conversion = max(0.0, median(more) - setup) if more else 0.0
        return replace(channel, setup=_three_digits(setup), conversion_setup=_three_digits(conversion))

    def _longer(self, machine: Machine, channel: Channel, job: Job) -> float:
        """The seconds of a job of one request beyond those of the throughput functions."""
        seconds = self._median(machine, job, self._more_repeats * ways_of(channel, self.effort).repeated)
        function = channel.throughput if job.shape == "stream" else channel.layout_rates
        return seconds - job.nbytes / function(job.run) - channel.request_seconds

    # ---- several channels

    def _at_once(
        self, machine: Machine, jobs: Mapping[str, Sequence[Job]], alone: Iterable[str], repeats: int
    ) -> tuple[list[float], list[float]]:
        """Bytes per second of the channels in `alone` on their own, and of all channels at once. `jobs` are by channel."""
        apart: dict[str, list[float]] = {name: [] for name in alone}
        together: dict[str, list[float]] = {name: [] for name in jobs}
        for _ in range(repeats):
            for name, rates in apart.items():
                rates.append(self.timer.together(machine, jobs[name][:4])[name])
            for name, rate in self.timer.together(machine, [job for own in jobs.values() for job in own]).items():
                together[name].append(rate)
        return [median(rates) for rates in apart.values()], [median(rates) for rates in together.values()]

    def _beside(
        self, machine: Machine, first: Channel, other: Channel | None, way: Way | None = None, *, second_jobs: int = 2
    ) -> Pair:
        """Two channels (None: a second one like the first), each alone and both at once.

        `way` is that of the jobs of the first one, if they are conversions. `second_jobs` is the number of jobs of the second
        one.
        """
        second = replace(first, name=TWIN) if other is None else other
        both = replace(machine, channels=(*machine.channels, second)) if other is None else machine
        shape, run = way or self._way_beside(first)
        mine, theirs = self._piece(first), self._piece(second)
        count = max(4, math.ceil(2 * first.rate(run) / second.peak * theirs / mine))
        jobs = {first.name: [Job(first.name, shape, run, mine)] * count}
        beside = Job(second.name, *self._way_beside(second), theirs)
        jobs[second.name] = [beside] * (second_jobs if second is other else count)
        repeats = self._repeats if way is None else min(self._repeats, tuning.CONVERSION_PAIRS)
        (a, b), (c, d) = self._at_once(both, jobs, jobs, repeats)
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


class Measurement(NamedTuple):
    """Something that is measured of a channel after its throughput function.

    `words` name it in the progress. `applies` says for which kinds and efforts it is measured. `measure` returns the channel with
    what was measured.
    """

    words: str
    applies: Callable[[Ways, Effort], bool]
    measure: Callable[[Steps, Machine, Channel], Channel]


MEASUREMENTS = (
    Measurement("runs as they are", lambda ways, effort: ways.in_parts and not effort.is_brief, Steps.layout_changes),
    Measurement("requests", lambda ways, _: ways.in_parts, Steps.requests),
    Measurement("chunks that go on elsewhere", lambda ways, _: ways.relayed, Steps.hand_overs),
    Measurement("small transfers", lambda *_: True, Steps.small_transfers),
)
"""What is measured of every channel after its throughput function, in this order: on this computer, on GPUs and between ranks."""


def fewest_that_pay(speed: Mapping[int, float], pays: float = COPIES_PAY) -> int:
    """The smallest number of requests in flight that is nearly as fast as the best. `speed` has logarithms, by number.

    More than one request must be faster by the factor `pays`, because it slows other channels down.
    """
    best = max(speed.values())
    alone = min(speed)
    if best - speed[alone] < math.log(pays):
        return alone
    return min(k for k, each in speed.items() if best - each < math.log(pays) / 2)


def _is_whole(channel: Channel, run: int) -> bool:
    """Whether runs of `run` bytes are measured as whole chunks."""
    return "stream" in shapes(channel, run)


def _three_digits(seconds: float) -> float:
    return float(f"{seconds:.3g}")
