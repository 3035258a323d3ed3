"""GPUs for the preset `ranks`: pinned memory and GPU memory of every rank, with their channels."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from isoviz import checks
from isoviz.machines.channel import Channel
from isoviz.machines.kinds import ChannelKind, MemoryKind
from isoviz.machines.machine import Machine
from isoviz.machines.memory import Memory
from isoviz.machines.presets import numbers
from isoviz.machines.presets.clusters import MOST_GPUS, throughput
from isoviz.machines.presets.today import Uses
from isoviz.machines.throughput import ThroughputFunction

REAL, CUDA_AWARE, EMULATED = "real", "cuda-aware", "emulated"
GPU_MEMORY = (REAL, CUDA_AWARE, EMULATED)
"""What GPU memory of ranks is: that of real GPUs; the same, and MPI takes it for messages; or emulated in host memory."""
_OWNER = "preset 'ranks'"


@dataclass(frozen=True)
class _Figures:
    """The figures of channels of one kind."""

    function: ThroughputFunction
    setup: float
    in_flight: int
    provenance: str


def with_gpus(ranks: Machine, gpus: object, gpu_memory: object, computer: Machine | None) -> Machine:
    """The machine of ranks with `gpus` GPUs for each rank: `node<r>.zcm` (if there are any), `node<r>.fbm0`, `node<r>.fbm1`, ….

    `gpu_memory` is one of `GPU_MEMORY`. GPUs read and write REG as fast as ZCM: ranks lock it in place for them. With
    "cuda-aware", GPUs of two ranks are joined by channels of the kind TwoSided. Rates are those of the first GPU of `computer`, a
    measured machine of one node, or assumed if it is None or has no GPU. In the model, the GPUs of different ranks share nothing.

    Raises:
        MachineError: `gpus` is not a whole number from 0 to 16, or `gpu_memory` is something else.
    """
    count = checks.whole(_OWNER, "gpus", gpus, low=0, high=MOST_GPUS)
    if not isinstance(gpu_memory, str) or gpu_memory not in GPU_MEMORY:
        raise checks.FieldError(_OWNER, "gpu_memory", f"expected one of {', '.join(GPU_MEMORY)}, got {checks.show(gpu_memory)}")
    if not count:
        return ranks
    has_gpu = computer is not None and any(memory.name == "node0.fbm0" for memory in computer.memories)
    made = _Made(ranks, count, gpu_memory, computer if has_gpu else None)
    memories = [memory for rank in ranks.nodes for memory in made.memories(rank)]
    channels = [channel for rank in ranks.nodes for channel in made.channels(rank)]
    if gpu_memory == CUDA_AWARE:
        channels += made.messages()
    return replace(ranks, memories=tuple(memories), channels=(*ranks.channels, *channels))


class _Made:
    def __init__(self, ranks: Machine, count: int, gpu_memory: str, computer: Machine | None) -> None:
        self._ranks, self._gpu_memory, self._computer = ranks, gpu_memory, computer
        self._names = [f"fbm{k}" for k in range(count)]

    def memories(self, rank: int) -> Iterator[Memory]:
        """All memories of a rank."""
        node, emulated = f"node{rank}", self._gpu_memory == EMULATED
        like = self._ranks.memory(f"{node}.reg")
        capacity = None if self._computer is None else self._computer.memory("node0.fbm0").capacity
        for memory in self._ranks.memories:
            if memory.node != rank:
                continue
            yield memory
            if memory.kind is MemoryKind.REG:
                yield replace(like, name=f"{node}.zcm", kind=MemoryKind.ZCM, emulated=emulated)
                for name in self._names:
                    yield Memory(f"{node}.{name}", MemoryKind.FBM, rank, capacity, label=like.label, emulated=emulated)

    def channels(self, rank: int) -> Iterator[Channel]:
        """The channels of a rank's pinned memory and GPUs."""
        node = f"node{rank}"
        pinned, registered = f"{node}.zcm", f"{node}.reg"
        for channel in self._ranks.channels:  # Pinned memory is host memory as registered memory is.
            ends = channel.source, channel.destination
            if registered in ends and not channel.kind.crosses_nodes:
                renamed = [pinned if end == registered else end for end in ends]
                yield replace(channel, name="", source=renamed[0], destination=renamed[1])
                if ends == (registered, registered):
                    yield replace(channel, name="", source=pinned)
                    yield replace(channel, name="", destination=pinned)
        memory = self._memory_uses(rank)
        for name in self._names:
            gpu = f"{node}.{name}"
            for host in ("sys", "reg", "zcm"):
                yield self._channel(ChannelKind.GPU_READ, gpu, f"{node}.{host}", memory)
                yield self._channel(ChannelKind.GPU_WRITE, f"{node}.{host}", gpu, memory)
            for other in self._names:
                yield self._channel(ChannelKind.GPU_COPY, gpu, f"{node}.{other}", ())

    def messages(self) -> Iterator[Channel]:
        """Messages from every GPU to those of other ranks, as fast as those between registered memories of the ranks."""
        for channel in self._ranks.channels:
            ends = [self._ranks.memory(end) for end in (channel.source, channel.destination)]
            if channel.kind is ChannelKind.TWO_SIDED and all(end.kind is MemoryKind.REG for end in ends):
                for here in self._names:
                    for there in self._names:
                        source, destination = f"node{ends[0].node}.{here}", f"node{ends[1].node}.{there}"
                        name = f"{source}->{destination} {channel.kind}"
                        yield replace(
                            channel,
                            name=name,
                            source=source,
                            destination=destination,
                            provenance="assumed: as fast as between registered memories",
                        )

    def _memory_uses(self, rank: int) -> Uses:
        """What a GPU channel needs of the memory of the host: half of what a copy needs, which reads and writes."""
        (copy,) = self._ranks.between(f"node{rank}.sys", f"node{rank}.sys")
        held = {resource.name for resource in self._ranks.resources if resource.held}
        return tuple((name, weight / 2) for name, weight in copy.resources if name.endswith(".memory") and name not in held)

    def _channel(self, kind: ChannelKind, source: str, destination: str, uses: Uses) -> Channel:
        pageable = source.endswith(".sys") or destination.endswith(".sys")
        found = self._measured(kind, pageable, source == destination) or _assumed(kind, pageable, source == destination)
        return Channel(
            "",
            kind,
            source,
            destination,
            found.function,
            setup=found.setup,
            resources=uses,
            max_in_flight=found.in_flight,
            provenance=found.provenance,
        )

    def _measured(self, kind: ChannelKind, pageable: bool, within: bool) -> _Figures | None:
        """The figures of the first GPU of the measured computer; None where it has no such channel."""
        computer = self._computer
        if computer is None:
            return None
        host, gpu = "node0.sys" if pageable else "node0.zcm", "node0.fbm0"
        ends = {
            ChannelKind.GPU_READ: (gpu, host),
            ChannelKind.GPU_WRITE: (host, gpu),
            ChannelKind.GPU_COPY: (gpu, gpu if within else "node0.fbm1"),
        }[kind]
        if any(end not in {memory.name for memory in computer.memories} for end in ends):
            return None
        like = [channel for channel in computer.between(*ends) if channel.kind is kind]
        return _Figures(like[0].throughput, like[0].setup, like[0].max_in_flight, like[0].provenance) if like else None


def _assumed(kind: ChannelKind, pageable: bool, within: bool) -> _Figures:
    rates = numbers.GPU_OF_A_RANK
    if kind is ChannelKind.GPU_COPY:
        bandwidth = rates.copy if within else rates.peer
    else:
        bandwidth = rates.pageable if pageable else rates.pinned
    behaviour = numbers.GPU_OF_A_RANK_BEHAVIOUR[kind]
    return _Figures(throughput(bandwidth, behaviour), behaviour.setup, behaviour.in_flight, "assumed")
