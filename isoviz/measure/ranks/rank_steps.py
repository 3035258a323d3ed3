"""The steps of a probe of ranks, which rank 0 takes. Pairs of ranks at the same distance are alike: one is measured for all.

What the ranks of a host share is measured with all of them at work.

**Processors.** n ranks that convert at once, in short runs, do the work of g ≤ n ranks alone: g is the number of processors that
they have, in effect. Every copy holds one while it works, so the processors are a held resource with capacity g.

A channel that works with several threads, or on both ranks, holds more of them than a copy within a rank. A conversion within a
rank runs beside a channel of the same rank, as in a plan that converts and then sends. If the channel keeps a smaller share y of
its rate than the memory bus explains, and the conversion keeps x, both at once use all processors: x + w y = g gives the weight
w of the channel.

**The memory bus.** n ranks that copy long runs at once move g′ times as much as one alone. Each byte is read and written, so the
capacity is 2 g′ times the rate of one copy. If n channels between ranks move T bytes per second together, each costs C / T bytes
of the capacity C per payload byte, if they slow each other down.

**The start** of a transfer is what it takes from its submission until both ranks know of its end, besides what its report says.
Predictions are those of reports. A prepared transfer on the same host has a start of its own.

**The hand-over** is what a transfer of one chunk takes longer than its hops, if one hop follows another one: the next rank or
thread has to wake up.

**The link of a host** carries what all ranks of the host send together to another host.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from statistics import median
from typing import Protocol, get_args

from isoviz.layouts import FieldSpace, IndexSpace
from isoviz.machines import Channel, ChannelKind, Machine, MemoryKind, Resource
from isoviz.machines.cards import Distance, Way
from isoviz.machines.measurement import Pair
from isoviz.measure import tuning
from isoviz.measure.jobs import Job, job_plan
from isoviz.measure.ranks.ranks_machine import (
    PREPARED,
    KindFigures,
    RankFigures,
    RankHosts,
    assumed_between_ranks,
    kinds_between,
    ranks_machine,
)
from isoviz.measure.steps import Steps, Tell, Timer
from isoviz.measure.ways import Effort, ways_of
from isoviz.planner import Transfer

FREE = 0.93
"""The share of their own rate from which channels at work together slow each other down by no more than noise."""
LEAST_USE, MOST_USE = 2.0, 16.0
"""The least and the largest weight in the memory: every byte is read and written, and a channel that is slow for other reasons
than memory is not taken for one that floods it."""
LONG, SHORT = ("stream", 4 * tuning.MIB), ("transpose", 8)
"""The shape and run of copies that load the memory, and of conversions that load the processors."""
HELD_UP = 0.85
"""The share of what the memory leaves a channel beside a conversion, below which it waits for processors."""
EQUAL_FIELDS = ("gather", "scatter")
"""Shapes of structs with fields of one size, which kernels move faster than others. Most structs have such fields."""
STARTED = tuning.MIB // 16
"""Bytes of the transfers that show how they begin and end: too many to be sent inside a message."""
FEW = 4096
"""Bytes of prepared transfers whose time is that of their begin and end."""
LEAST_HAND_OVER = 0.1
"""The share of the predicted time of a transfer from which on a hand-over is told from noise."""


def channel_name(kind: ChannelKind, here: int, there: int) -> str:
    """The channel of a kind between two ranks that is measured: between pageable memories where the kind takes them."""
    source, destination = ("sys" if MemoryKind.SYS in each else "reg" for each in (kind.sources, kind.destinations))
    return f"node{here}.{source}->node{there}.{destination} {kind}"


class RanksTimer(Timer, Protocol):
    """A timer of jobs on ranks."""

    def submitted_seconds(self, machine: Machine, job: Job) -> float:
        """The seconds of a job from its submission until all ranks know of its end."""

    def prepared_seconds(self, machine: Machine, job: Job) -> float:
        """The seconds of a job that is prepared once, among others that follow each other."""


class RankSteps(Steps):
    """A probe of ranks on `hosts`, with channels of these `kinds` between them (None: the usual ones).

    `local` is the machine of one rank alone, and `host` names this computer in provenances.
    """

    timer: RanksTimer

    def __init__(
        self,
        timer: RanksTimer,
        hosts: RankHosts,
        local: Machine,
        room: int,
        effort: Effort,
        date: str,
        host: str,
        tell: Tell,
        clock: Callable[[], float] = time.perf_counter,
        kinds: Mapping[Distance, Collection[ChannelKind]] | None = None,
    ) -> None:
        super().__init__(timer, room, effort, date, tell, clock)
        self.hosts, self.local = hosts, local
        self.starts: list[tuple[str, float]] = []
        self.origin = f"measured {date} on {host}"
        kinds = kinds_between() if kinds is None else kinds
        self.machine = ranks_machine(hosts, assumed_between_ranks(local, kinds))
        self._pairs = {distance: pairs for distance in get_args(Distance) if (pairs := hosts.pairs(distance))}
        self._between = {
            (distance, kind): channel_name(kind, *pairs[0]) for distance, pairs in self._pairs.items() for kind in kinds[distance]
        }
        self._mixed = [kind for distance, kind in self._between if distance == "same host"]
        self._where = {name: distance for (distance, _), name in self._between.items()}
        self.steps = (2 + len(self._between)) * self.steps_of_channel + 6 + len(self._mixed) + len(self._transfers())

    def measure(self) -> Machine:
        """The machine of ranks, without the record of its measurement."""
        (copy,) = self.machine.between("node0.sys", "node0.sys")
        (registered,) = self.machine.between("node0.reg", "node0.reg")
        between = map(self.machine.channel, self._between.values())
        self.machine = self._measured(self.machine, [copy, registered, *between])
        found = self._with_shared(self.machine.channel(copy.name), self.machine.channel(registered.name))
        self._step("how transfers begin and end")
        self.starts = [(distance, self._start(distance)) for distance in self._pairs]
        if "same host" in self._pairs:
            self.starts.append((PREPARED, self._prepared_start()))
        self._check(found, self._transfers())
        return found

    def _words(self, channel: Channel) -> str:
        if channel.name not in self._where:
            return f"Memcpy within {'a rank' if channel.source.endswith('.sys') else 'registered memory'}"
        return f"{channel.kind} to a rank on {'the same' if self._where[channel.name] == 'same host' else 'another'} host"

    def _candidates(self, channel: Channel) -> Sequence[int]:
        return super()._candidates(channel) if channel.kind.crosses_nodes else ()

    def _jobs_of(self, machine: Machine, channel: Channel, run: int) -> list[Job]:
        jobs = super()._jobs_of(machine, channel, run)
        if ways_of(channel, self.effort).converting and jobs[0].shape == "split":
            jobs += [self._job(machine, channel, shape, run) for shape in EQUAL_FIELDS]
        return jobs

    # ---- what ranks share

    def _with_shared(self, copy: Channel, registered: Channel) -> Machine:
        """The machine of ranks with what was measured, and with what the ranks of a host share."""
        hosts = self.hosts
        crowded = max(range(len(hosts.names)), key=lambda host: hosts.shared_by[host])
        ranks = [rank for rank in range(hosts.ranks) if hosts.of[rank] == crowded]
        copies = [f"node{rank}.sys->node{rank}.sys" for rank in ranks]
        self._step("all ranks of a host copy at once")
        capacity = max(2 * copy.peak * self._gain(copies, LONG), 2 * registered.peak)
        memory = Resource("node0.memory", _rounded(capacity), self.origin)
        self._step("all ranks of a host send at once")
        kinds = [kind for distance, kind in self._between if distance == "same host" and len(ranks) > 1]
        uses = {kind: self._memory_use(kind, ranks, memory) for kind in kinds}
        self._step("all ranks of a host convert at once")
        processors = None
        held = dict.fromkeys(kinds, 1.0)
        if len(ranks) > 1:
            self.pairs.append(self._two_copies(copies))
            converted = self._gain(copies, SHORT)
            for kind in self._mixed:
                self._step(f"{kind} beside a conversion")
                held[kind] = self._processor_use(kind, uses[kind], memory, converted)
            if converted < FREE * len(ranks) or max(held.values()) > 1:
                processors = Resource("node0.processors", _rounded(converted), self.origin, held=True)
        self._step("all ranks of a host send to another host")
        link = self._link(ranks) if len(hosts.names) > 1 else None
        figures: dict[Distance, dict[ChannelKind, KindFigures]] = {distance: {} for distance in get_args(Distance)}
        for (distance, kind), name in self._between.items():
            channel = self.machine.channel(name)
            figures[distance][kind] = KindFigures(
                channel.throughput,
                channel.setup,
                channel.max_in_flight,
                self.origin,
                channel.conversion_setup,
                uses.get(kind) if distance == "same host" else None,
                channel.layout_throughput,
                channel.request_seconds,
                held.get(kind, 1.0) if distance == "same host" else 1.0,
            )
        registered = replace(registered, provenance=self.origin)
        found = RankFigures(self._alone(copy), figures, memory, processors, link, registered)
        machine = ranks_machine(hosts, found, provenance=self.origin)
        self._step("chunks that wait for another rank or thread")
        return ranks_machine(hosts, replace(found, hand_over=self._hand_over(machine)), provenance=self.origin)

    def _alone(self, copy: Channel) -> Machine:
        """One rank alone, with the copies that were measured in a rank."""

        def measured(channel: Channel) -> Channel:
            if channel.kind is not ChannelKind.MEMCPY:
                return channel
            return replace(
                copy,
                name=channel.name,
                source=channel.source,
                destination=channel.destination,
                resources=channel.resources,
                provenance=self.origin,
            )

        return replace(self.local, channels=tuple(map(measured, self.local.channels)))

    def _processor_use(self, kind: ChannelKind, memory_use: float, memory: Resource, processors: float) -> float:
        """The weight of a kind in the `processors` that a host has in effect; 1 if they are enough.

        `memory_use` is its weight in the memory of a host.
        """
        channel = self.machine.channel(self._between["same host", kind])
        sender = self._pairs["same host"][0][0]
        pair = self._beside(self.machine, self.machine.channel(f"node{sender}.sys->node{sender}.sys"), channel, SHORT)
        self.pairs.append(pair)
        left = (memory.capacity - LEAST_USE * pair.together[0]) / memory_use
        if pair.together[1] >= HELD_UP * min(pair.alone[1], left):
            return 1.0
        converted, sent = pair.shares
        return _rounded(min(max(1.0, (processors - converted) / sent), processors))

    def _rates_of(self, channels: Sequence[str], way: Way, alone: int = 1) -> tuple[list[float], list[float]]:
        """Bytes per second of the first `alone` channels on their own, and of all of them at once."""
        shape, run = way
        first = self.machine.channel(channels[0])
        nbytes = self._job(self.machine, first, shape, tuning.MIB // 16 if shape == "stream" else run).nbytes
        jobs = {name: [Job(name, shape, min(run, nbytes), nbytes)] for name in channels}
        return self._at_once(self.machine, jobs, channels[:alone], self.effort.repeats)

    def _gain(self, channels: Sequence[str], way: Way) -> float:
        """How much more the channels do together than one of them alone, between 1 and their number."""
        (alone,), together = self._rates_of(channels, way)
        return min(max(1.0, sum(together) / alone), float(len(channels)))

    def _two_copies(self, copies: Sequence[str]) -> Pair:
        (a, b), (c, d) = self._rates_of(copies[:2], LONG, alone=2)
        return Pair(copies[0], copies[1], (_rounded(a), _rounded(b)), (_rounded(c), _rounded(d)))

    def _memory_use(self, kind: ChannelKind, ranks: Sequence[int], memory: Resource) -> float:
        """The weight of a kind in the memory of a host, from all its ranks in a ring."""
        ring = [channel_name(kind, rank, ranks[(k + 1) % len(ranks)]) for k, rank in enumerate(ranks)]
        (alone,), together = self._rates_of(ring, LONG)
        if sum(together) >= FREE * alone * len(ranks):
            return LEAST_USE
        # A channel alone must not be bounded by what all together reach: its own peak stays possible.
        peak = self.machine.channel(self._between["same host", kind]).peak
        return _rounded(min(MOST_USE, max(LEAST_USE, memory.capacity / max(sum(together), peak))))

    def _link(self, ranks: Sequence[int]) -> tuple[float, str] | None:
        """The link of a host, from all its ranks that send to other hosts; None if it bounds nothing."""
        hosts = self.hosts
        others = [rank for rank in range(hosts.ranks) if hosts.of[rank] != hosts.of[ranks[0]]]
        channels = [channel_name(ChannelKind.TWO_SIDED, rank, others[k % len(others)]) for k, rank in enumerate(ranks)]
        (alone,), together = self._rates_of(channels, LONG)
        if sum(together) < FREE * alone * len(channels) or len(channels) == 1:
            return _rounded(max(sum(together), alone)), self.origin
        return None

    def _start(self, distance: Distance) -> float:
        """The seconds of a transfer from its submission to its end, besides those of its report."""
        found = []
        for name in [self._between[key] for key in self._between if key[0] == distance]:
            job = Job(name, "stream", STARTED, STARTED)
            for _ in range(self._more_repeats):
                moving = self.timer.seconds(self.machine, job)
                found.append(self.timer.submitted_seconds(self.machine, job) - moving)
        return _rounded(max(0.0, median(found)))

    def _prepared_start(self) -> float:
        """The seconds of a prepared transfer of few bytes, which count instead of the set-up and the request of its channel."""
        jobs = [Job(self._between["same host", kind], "stream", FEW, FEW) for kind in self._mixed if kind.prepares]
        return _rounded(median(self.timer.prepared_seconds(self.machine, job) for _ in range(self._more_repeats) for job in jobs))

    def _hand_over(self, machine: Machine) -> float:
        """The seconds that a transfer of one chunk takes longer than predicted where a second hop follows; 0 for noise."""
        more, predicted = [], []
        for name in self._between.values():
            job = Job(name, "relayed", STARTED, STARTED)
            predicted.append(job_plan(machine, job).seconds)
            more += [self.timer.seconds(machine, job) - predicted[-1] for _ in range(self._more_repeats)]
        seconds = median(more) if more else 0.0
        return _rounded(seconds) if seconds > 0 and seconds > LEAST_HAND_OVER * median(predicted) else 0.0

    # ---- whether predictions hold

    def _transfers(self) -> list[tuple[str, Transfer]]:
        points, pixels = FieldSpace(re="float32", im="float32"), FieldSpace(value="float64")
        side = 1 << (self.room // 64).bit_length() // 2
        turned, line = IndexSpace(x=side, y=side), IndexSpace(x=self.room // 64)
        found = []
        for (a, b), *_ in self._pairs.values():
            where = f"rank {a} to rank {b}"
            for what, space, fields, memory, layouts in (
                ("as it is", turned, pixels, "sys", ("<F, x, y>", "<F, x, y>")),
                ("a matrix transposed", turned, pixels, "reg", ("<F, x, y>", "<F, y, x>")),
                ("structs to arrays", line, points, "sys", ("<F, x>", "<x, F>")),
            ):
                ends = f"node{a}.{memory}", layouts[0], f"node{b}.{memory}", layouts[1]
                found.append((f"{where}, {what}", Transfer.whole(space, fields, *ends)))
        return found


def _rounded(value: float) -> float:
    return float(f"{value:.4g}")
