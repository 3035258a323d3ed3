"""The steps of a probe of ranks: requests in flight, throughput functions, set-up, what ranks share, a check of predictions.

Rank 0 takes these steps. Pairs of ranks at the same distance are alike, so that one pair is measured for all of them.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from statistics import median
from typing import get_args

from isoviz.layouts import FieldSpace, IndexSpace
from isoviz.machines import Channel, ChannelKind, Machine, Sampled
from isoviz.machines.measurement import Check, Pair
from isoviz.measure import sampling as adaptive
from isoviz.measure import tuning
from isoviz.measure.channel_steps import Effort, fewest_that_pay
from isoviz.measure.channel_timer import Job
from isoviz.measure.ranks import rank_jobs as jobs
from isoviz.measure.ranks.assumed_rates import KindFigures
from isoviz.measure.ranks.rank_hosts import KINDS_BY_DISTANCE, Distance, RankHosts
from isoviz.measure.ranks.rank_jobs import RankJobTimer
from isoviz.measure.ranks.rank_sharing import Sharing
from isoviz.measure.ranks.ranks_machine import RankFigures, ranks_machine
from isoviz.measure.sampling import Sample
from isoviz.planner import Plan, Transfer
from isoviz.planner import plan as make_plan
from isoviz.planner.time.spread import slowest_channel
from isoviz.runtime.ranks.eager import RIDES
from isoviz.units import format_bytes

FIRST_RUNS = (8, 64, 1024, 16 * tuning.KIB, tuning.MIB // 4, 4 * tuning.MIB)
"""The runs at which every channel is measured; more where its function bends."""
SMALL = (8, 4 * tuning.KIB, 64 * tuning.KIB)
"""Bytes of the transfers within a rank whose time is mostly set-up."""
SMALL_BETWEEN = (2 * RIDES, 8 * RIDES, 32 * RIDES)
"""Bytes of those between ranks. Smaller ones ride with a message, on no channel."""
SETUP_REPEATS = 3
"""How much more often small transfers are repeated: they are short, and their times spread."""
IN_FLIGHT_WAYS = (("stream", tuning.MIB), ("gather", 4 * tuning.KIB))
"""The shapes and runs of the jobs that tell how many requests in flight pay."""
LEAST_JOB, GROWTH = tuning.MIB // 16, 64
"""Bytes of the first job that is tried, and how much larger the next one may be."""
CONVERTS = (ChannelKind.MEMCPY, ChannelKind.WINDOW, ChannelKind.PACKED, ChannelKind.DERIVED)
"""The kinds whose conversions have a set-up of their own: the kernel, or the datatype."""


@dataclass
class Tried:
    """A channel that is measured for all that are alike: `what` says which, in words; `distance` is None within a rank."""

    distance: Distance | None
    channel: Channel
    what: str
    in_flight: int = 1
    setup: float = 0.0
    conversion: float = 0.0
    samples: tuple[Sample, ...] = ()


class RankSteps:
    """A probe of ranks on `hosts`. `machine` is the one of the trials (`trial_machine`), `local` one rank alone.

    A job moves at most `room` bytes. `tell` is called with (steps done, all steps, text about the current measurement), and may
    raise to stop. `host` names this computer in provenances.
    """

    def __init__(
        self,
        timer: RankJobTimer,
        hosts: RankHosts,
        local: Machine,
        machine: Machine,
        room: int,
        effort: Effort,
        date: str,
        host: str,
        tell: Callable[[int, int, str], None],
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self.timer, self.hosts, self.local, self.machine = timer, hosts, local, machine
        self.room, self.effort, self.date = room, effort, date
        self.origin = f"measured {date} on {host}"
        self._tell, self._clock = tell, clock
        self._done = 0
        self._end = clock() + effort.limit
        self.tried = self._chosen()
        self._jobs: dict[tuple[str, int], list[Plan]] = {}
        self.pairs: list[Pair] = []
        self.checks: list[Check] = []

    def measure(self) -> Machine:
        """The machine of ranks, without the record of its measurement."""
        self._steps = len(self.tried) * (self.effort.samples + 3 + self._later) + Sharing.STEPS + len(self._transfers())
        for tried in self.tried:
            tried.in_flight = self._in_flight(tried)
        for tried in self.tried:
            self._step(f"{tried.what}: the smallest transfer")
            least = _small(tried)[0]
            tried.setup = median(self._times(self._plan(tried, "stream", least, least), SETUP_REPEATS))
            tried.samples = self._function(tried)
        for _ in range(self._later):
            if self._clock() > self._end:
                break
            for tried in self.tried:
                self._step(f"{tried.what}: once more")
                self._once_more(tried)
        functions = {id(tried): adaptive.sampled(tried.samples, self.date) for tried in self.tried}
        for tried in self.tried:
            self._step(f"{tried.what}: small transfers")
            tried.setup, tried.conversion = self._left(tried, functions[id(tried)])
        machine = self._machine(functions)
        for what, transfer in self._transfers():
            self._step(f"check: {what}")
            self._check(machine, what, transfer)
        return machine

    # ---- what is measured

    def _chosen(self) -> list[Tried]:
        """A copy within rank 0, and for each distance one channel of each kind between the first two ranks at this distance."""
        (copy,) = self.machine.between("node0.sys", "node0.sys")
        found = [Tried(None, copy, "Memcpy within a rank", copy.max_in_flight)]
        for distance in get_args(Distance):
            pairs = self.hosts.pairs(distance)
            for kind in KINDS_BY_DISTANCE[distance] if pairs else ():
                channel = self.machine.channel(jobs.channel_name(kind, *pairs[0]))
                found.append(
                    Tried(distance, channel, f"{kind} to a rank on {'the same' if distance == 'same host' else 'another'} host")
                )
        return found

    def _step(self, what: str, steps: int = 1) -> None:
        self._tell(min(self._done, self._steps), self._steps, what)
        self._done += steps

    def _plan(self, tried: Tried, shape: str, run: int, nbytes: int, in_flight: int | None = None) -> Plan:
        name = tried.channel.name
        if jobs.is_tried_in_flight(tried.channel.kind):
            name = jobs.variant(name, in_flight or tried.in_flight)
        return jobs.job_plan(self.machine, Job(name, shape, run, nbytes))

    def _times(self, plan: Plan, more: int = 1) -> list[float]:
        """The seconds of repeats of a plan. The first run is left out: it maps memory and makes kernels ready."""
        return self.timer.seconds([plan] * (self.effort.repeats * more + 1))[1:]

    # ---- one channel

    def _in_flight(self, tried: Tried) -> int:
        self._step(f"{tried.what}: requests in flight")
        if not jobs.is_tried_in_flight(tried.channel.kind):
            return tried.channel.max_in_flight
        ways = [(plan.bytes, shape, run) for shape, run in IN_FLIGHT_WAYS for plan in (self._sized(tried, shape, run, 1),)]
        plans = [self._plan(tried, shape, run, nbytes, count) for count in jobs.IN_FLIGHT for nbytes, shape, run in ways]
        rounds = [self.timer.seconds(plans) for _ in range(self.effort.repeats)]
        times = [median(found) for found in zip(*rounds, strict=True)]
        each = {
            count: -math.fsum(math.log(seconds) for seconds in times[k * len(ways) : (k + 1) * len(ways)]) / len(ways)
            for k, count in enumerate(jobs.IN_FLIGHT)
        }
        return fewest_that_pay(each, tuning.REQUESTS_PAY)

    def _function(self, tried: Tried) -> tuple[Sample, ...]:
        before, most = self._done, self.effort.samples

        def measure(run: int) -> Sample:
            self._step(f"{tried.what}: runs of {format_bytes(run)}", 1 if self._done < before + most else 0)
            plans = [self._sized(tried, shape, run) for shape in jobs.shapes(tried.channel, run)]
            self._jobs[tried.channel.name, run] = plans
            rounds = [self._rates(tried, plans) for _ in range(self.effort.repeats - self._later)]
            return Sample(run, tuple(reduce(add, rates) for rates in zip(*rounds, strict=True)))

        found = adaptive.sample_adaptively(measure, FIRST_RUNS, most, adaptive.halfway, enough=lambda: self._clock() > self._end)
        self._done = before + most
        return found

    @property
    def _later(self) -> int:
        """The number of later rounds over all samples: more than half of all repeats."""
        return self.effort.repeats * 3 // 5

    def _once_more(self, tried: Tried) -> None:
        tried.samples = tuple(
            Sample(old.run, tuple(map(add, old.shapes, self._rates(tried, self._jobs[tried.channel.name, old.run]))))
            for old in tried.samples
        )

    def _rates(self, tried: Tried, plans: Sequence[Plan]) -> list[tuple[float]]:
        """Bytes per second of every plan, without the set-up of the channel."""
        return [
            (plan.bytes / max(seconds - tried.setup, seconds / 2),)
            for plan, seconds in zip(plans, self.timer.seconds(plans), strict=True)
        ]

    def _sized(self, tried: Tried, shape: str, run: int, in_flight: int | None = None) -> Plan:
        """A job of about the wanted duration. It begins small, since some channels are a thousand times as slow as others."""
        most, unit = self.room // 4, run if shape == "stream" else 4 * run
        nbytes = max(unit, min(LEAST_JOB, most) // unit * unit)
        while True:
            plan = self._plan(tried, shape, run, nbytes, in_flight)
            seconds = min(self.timer.seconds([plan, plan]))
            moved = max(seconds - tried.setup, seconds / 2, tuning.CLOCK_TICK)
            wanted = round(plan.bytes * min(self.effort.seconds / moved, GROWTH))
            if wanted <= 1.5 * plan.bytes or nbytes >= most // unit * unit:
                return plan
            nbytes = max(unit, min(wanted, most) // unit * unit)

    def _left(self, tried: Tried, function: Sampled) -> tuple[float, float]:
        """The set-up with which predictions of small transfers hold, and the additional set-up of a conversion."""

        def beyond(shape: str, run: int, nbytes: int) -> float:
            plan = self._plan(tried, shape, run, nbytes)
            return median(self._times(plan, SETUP_REPEATS)) - plan.bytes / function(run)

        setup = max(0.0, median(beyond("stream", nbytes, nbytes) for nbytes in _small(tried)))
        if tried.channel.kind not in CONVERTS:
            return _rounded(setup), 0.0
        ways = (("transpose", 8), ("split", 16))
        converted = median(beyond(*way, nbytes) for nbytes in tuning.SMALL_TRANSFERS[:2] for way in ways)
        return _rounded(setup), _rounded(max(0.0, converted - setup))

    # ---- the machine

    def _machine(self, functions: dict[int, Sampled]) -> Machine:
        copy, *between = self.tried
        local = self._local(copy, functions[id(copy)])
        sharing = Sharing(self.hosts, self._together, self._step, self.origin)
        sharing.measure(functions[id(copy)].peak, [tried.channel.kind for tried in between if tried.distance == "same host"])
        figures: dict[Distance, dict[ChannelKind, KindFigures]] = {distance: {} for distance in get_args(Distance)}
        for tried in between:
            assert tried.distance is not None
            function = functions[id(tried)]
            use = sharing.use(tried.channel.kind, function.peak) if tried.distance == "same host" else None
            figures[tried.distance][tried.channel.kind] = KindFigures(
                function, tried.setup, tried.in_flight, self.origin, tried.conversion, use
            )
        self.pairs = sharing.pairs
        return ranks_machine(
            self.hosts, RankFigures(local, figures, sharing.memory, sharing.processors, sharing.link), provenance=self.origin
        )

    def _local(self, copy: Tried, function: Sampled) -> Machine:
        """One rank alone, with the copies that were measured in a rank."""
        channels = [
            replace(
                channel,
                throughput=function,
                setup=copy.setup,
                conversion_setup=copy.conversion,
                max_in_flight=copy.in_flight,
                provenance=self.origin,
            )
            if channel.kind is ChannelKind.MEMCPY
            else channel
            for channel in self.local.channels
        ]
        return replace(self.local, channels=tuple(channels))

    def _together(self, channels: Sequence[str], shape: str, run: int) -> list[float]:
        """Bytes per second of each channel while all of them work, the median over the repeats."""
        nbytes = self._together_bytes(channels[0], shape, run)
        plans = [jobs.job_plan(self.machine, Job(name, shape, run, nbytes)) for name in channels]
        rounds = [self.timer.together(plans) for _ in range(self.effort.repeats + 1)][1:]
        return [plan.bytes / median(times) for plan, times in zip(plans, zip(*rounds, strict=True), strict=True)]

    def _together_bytes(self, channel: str, shape: str, run: int) -> int:
        """The bytes that each of several channels moves: enough for all of them to work at once."""
        kind = self.machine.channel(channel).kind
        tried = next(each for each in self.tried if each.channel.kind is kind)
        return self._sized(tried, shape, LEAST_JOB if shape == "stream" else run).bytes

    # ---- whether predictions hold

    def _transfers(self) -> list[tuple[str, Transfer]]:
        points, pixels = FieldSpace(re="float32", im="float32"), FieldSpace(value="float64")
        side = 1 << (self.room // 64).bit_length() // 2
        turned, line = IndexSpace(x=side, y=side), IndexSpace(x=self.room // 64)
        found = []
        for distance in get_args(Distance):
            pairs = self.hosts.pairs(distance)
            if not pairs:
                continue
            (a, b), where = pairs[0], f"rank {pairs[0][0]} to rank {pairs[0][1]}"
            for what, space, fields, memory, layouts in (
                ("as it is", turned, pixels, "sys", ("<F, x, y>", "<F, x, y>")),
                ("a matrix transposed", turned, pixels, "reg", ("<F, x, y>", "<F, y, x>")),
                ("structs to arrays", line, points, "sys", ("<F, x>", "<x, F>")),
            ):
                ends = f"node{a}.{memory}", layouts[0], f"node{b}.{memory}", layouts[1]
                found.append((f"{where}, {what}", Transfer.whole(space, fields, *ends)))
        return found

    def _check(self, machine: Machine, what: str, transfer: Transfer) -> None:
        plan = make_plan(transfer, machine)
        tried = {(each.distance, each.channel.kind): each.in_flight for each in self.tried}

        def as_tried(name: str) -> str:
            channel = machine.channel(name)
            if not jobs.is_tried_in_flight(channel.kind):
                return name
            nodes = machine.memory(channel.source).node, machine.memory(channel.destination).node
            return jobs.variant(name, tried[self.hosts.distance(*nodes), channel.kind])

        hops = tuple(hop._replace(channel=as_tried(hop.channel)) for hop in plan.hops)
        # The engine takes plans of its own machine. It has the same channels under other names.
        here = replace(plan.changed(hops=hops), machine_name=self.machine.name, machine_digest=self.machine.digest)
        measured = median(self._times(here))
        self.checks.append(Check(what, float(f"{plan.seconds:.4g}"), float(f"{measured:.4g}"), slowest_channel(plan)))


def _small(tried: Tried) -> tuple[int, ...]:
    """Bytes of the transfers whose time is mostly set-up."""
    return SMALL if tried.distance is None else SMALL_BETWEEN


def _rounded(seconds: float) -> float:
    return float(f"{seconds:.3g}")
