"""The presets of two clusters of GPUs with InfiniBand, MRI and ThetaGPU, on which scattered data go from GPU to GPU.

The paper is Suresh et al., *Network Assisted Non-Contiguous Transfers for GPU-Aware MPI Libraries*. Its schemes are paths here:

- pack-gdr (section II-D): kernels pack and unpack within the GPUs, whose memory the network cards read and write;
- pack-stage: the same, through registered host memory;
- pack-host: kernels pack straight into pinned host memory, and unpack out of it;
- UMR: the network cards gather and scatter themselves;
- a copy for every block (Open MPI with UCX): channels whose every run is a `cudaMemcpy`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, partial
from itertools import permutations
from typing import Any, NamedTuple

from isoviz import checks
from isoviz.machines.channel import Channel, Resource
from isoviz.machines.costs import OneTimeCost
from isoviz.machines.kinds import ChannelKind, MemoryKind
from isoviz.machines.machine import Machine
from isoviz.machines.memory import Memory
from isoviz.machines.presets.numbers import GIB, figure_from, origin_of
from isoviz.machines.presets.registry import PresetInfo, PresetOption, register_preset
from isoviz.machines.throughput import LatencyBandwidth

GB, US = 1e9, 1e-6
FITTED = "fitted: with the others so marked it gives figures 8 and 10; of such sets, one that does not contradict other figures"
ASSUMED = "assumed"


@dataclass(frozen=True)
class Costs:
    """What transfers between GPUs cost: seconds, bytes per second, and one number of runs. `origin` says where each is from.

    The paper has ratios of times and hardly any times. So most of them are fitted to two of its figures.
    """

    launch: float = figure_from(5.95 * US, f"{FITTED}: a kernel that packs or unpacks")
    pack: float = figure_from(369 * GB, f"{FITTED}: such a kernel reads and writes")
    handshake: float = figure_from(10.4 * US, f"{FITTED}: RTS, CTS and FIN of a message")
    wire: float = figure_from(9.78 * GB, f"{FITTED}: a network card reads or writes memory of a GPU")
    copy: float = figure_from(7.55 * US, f"{FITTED}: a copy between GPU and host")
    pcie: float = figure_from(21.5 * GB, f"{FITTED}: between GPU and host")
    post: float = figure_from(0.972 * US, f"{FITTED}: a write is handed to the network card")
    gather: float = figure_from(21.9e-9, f"{FITTED}: a run that the network cards gather and scatter")
    runs_of_key: int = figure_from(22, f"{FITTED}: the most runs that a key stands for")
    map_key: float = figure_from(4.98 * US, f"{FITTED}: a key is mapped, at one end")
    map_run: float = figure_from(62.2e-9, f"{FITTED}: a run is parsed and mapped, at one end")
    exchange: float = figure_from(13.1e-9, f"{FITTED}: a key is sent to the other end")
    block: float = figure_from(6.67 * US, "assumed: a cudaMemcpy of one block that is waited for")
    row: float = figure_from(0.1 * US, "assumed: a row of a copy with rows (cudaMemcpy2D)")
    sector: float = figure_from(32.0, "assumed: bytes of the memory of a GPU that a run costs besides its own")
    host_pack: float = figure_from(10 * GB, "assumed: a kernel that writes or reads pinned host memory")
    network: float = figure_from(23 * GB, "assumed: the share of 200 Gb/s that data have between host memories")
    message: float = figure_from(0.5 * US, "assumed: a further run of a message between host memories")
    host_copy: float = figure_from(10 * GB, "assumed: a processor copies")


origin = cache(partial(origin_of, Costs))
"""Where a figure of `Costs` is from."""


KEY_SECONDS = 200 * US
"""Seconds until a new key is made (from the paper, section III-B). Keys come from a pool that is filled beforehand."""
NIC = 25 * GB
"""Bytes per second of a network card in each direction: HDR, 200 Gb/s (from the paper, table II)."""
GPU_MEMORY = 40 * GIB
"""From the paper (table II)."""


class Cluster(NamedTuple):
    """A cluster: nodes, GPUs of a node, bytes of host memory (from the paper, table II and section V-A), what joins the GPUs of a
    node in bytes per second, and whether each GPU has a network card of its own."""

    nodes: int
    gpus: int
    dram: int
    peer: float
    rails: bool


CLUSTERS = {
    "mri": Cluster(8, 4, 256 * GIB, 21.5 * GB, False),  # PCIe; its rate as between GPU and host
    "theta-gpu": Cluster(24, 8, 1024 * GIB, 270 * GB, True),  # NVLink 3: 300 GB/s in each direction published, 90 % assumed
}


def gpu_cluster(name: str, nodes: int = 2, gpus: int = 1, costs: Costs | None = None) -> Machine:
    """A cluster of `CLUSTERS`, with costs of its transfers.

    Node k has pageable memory `node<k>.sys`, registered memory `.reg`, pinned memory `.zcm`, which is registered as well, and
    the GPUs `.fbm0` and so on. Between nodes, GPUs of one number are joined. Registration of buffers costs nothing here: the
    libraries of the paper register them once.

    Raises:
        MachineError: a number is out of range.
    """
    cluster, owner = CLUSTERS[name], f"preset {name!r}"
    nodes = checks.whole(owner, "nodes", nodes, low=1, high=cluster.nodes)
    gpus = checks.whole(owner, "gpus", gpus, low=1, high=cluster.gpus)
    made = _Parts(cluster, costs or Costs(), gpus)
    return Machine(
        name,
        tuple(memory for node in range(nodes) for memory in made.memories(node)),
        (
            *[channel for node in range(nodes) for channel in made.within(node)],
            *[channel for here, there in permutations(range(nodes), 2) for channel in made.between(here, there)],
        ),
        tuple(resource for node in range(nodes) for resource in made.cards(node)),
        provenance="Suresh et al., Network Assisted Non-Contiguous Transfers: hardware from the paper, costs fitted or assumed",
    )


class _Parts:
    """The parts of a cluster."""

    def __init__(self, cluster: Cluster, costs: Costs, gpus: int) -> None:
        self.cluster, self.costs, self.gpus = cluster, costs, gpus

    def memories(self, node: int) -> Iterator[Memory]:
        for suffix, kind in (("sys", MemoryKind.SYS), ("reg", MemoryKind.REG), ("zcm", MemoryKind.ZCM)):
            size = self.cluster.dram if kind is MemoryKind.SYS else 4 * GIB
            yield Memory(f"node{node}.{suffix}", kind, node, size, within=("DRAM",))
        for gpu in range(self.gpus):
            yield Memory(f"node{node}.fbm{gpu}", MemoryKind.FBM, node, GPU_MEMORY, within=self._box("GPU", gpu))

    def cards(self, node: int) -> Iterator[Resource]:
        for card in range(self.gpus if self.cluster.rails else 1):
            for way in ("out", "in"):
                said, within = "from the paper (table II): HDR, 200 Gb/s", self._box("NIC", card)
                yield Resource(f"node{node}.nic{card}.{way}", NIC, said, node=node, within=within)

    def _box(self, part: str, number: int) -> tuple[str, ...]:
        """The boxes of a GPU or of a network card."""
        return (*([f"PCIe switch {number}"] if self.cluster.rails else []), f"{part} {number}")

    def within(self, node: int) -> Iterator[Channel]:
        costs, made = self.costs, self._channel
        pageable, registered, pinned = (f"node{node}.{suffix}" for suffix in ("sys", "reg", "zcm"))
        copied = LatencyBandwidth(1e-9, costs.host_copy)
        copies = (pageable, pageable), (pageable, registered), (registered, pageable), (pageable, pinned), (pinned, pageable)
        for ends in copies:
            yield made(ChannelKind.MEMCPY, *ends, copied, uses="host_copy")
        packed = LatencyBandwidth(costs.sector / costs.pack, costs.pack)
        engine, blocks = LatencyBandwidth(costs.row, costs.pcie), LatencyBandwidth(costs.block, costs.pcie)
        to_host = LatencyBandwidth(costs.sector / costs.host_pack, costs.host_pack)
        gpus = [f"node{node}.fbm{gpu}" for gpu in range(self.gpus)]
        for gpu in gpus:
            yield made(ChannelKind.GPU_COPY, gpu, gpu, packed, request=costs.launch, uses="launch pack sector")
            for kind, ends in ((ChannelKind.GPU_READ, (gpu, registered)), (ChannelKind.GPU_WRITE, (registered, gpu))):
                yield made(kind, *ends, engine, request=costs.copy, uses="copy pcie row")
                name, begun = f"{ends[0]}->{ends[1]} a copy for every block", max(0.0, costs.copy - costs.block)
                yield made(kind, *ends, blocks, name=name, request=begun, uses="copy pcie block")
            for kind, ends in ((ChannelKind.ZERO_COPY_READ, (gpu, pinned)), (ChannelKind.ZERO_COPY_WRITE, (pinned, gpu))):
                yield made(kind, *ends, to_host, request=costs.launch, uses="launch host_pack sector")
        for here, there in permutations(gpus, 2):
            peer = LatencyBandwidth(costs.row, self.cluster.peer)
            yield made(ChannelKind.GPU_COPY, here, there, peer, request=costs.copy, uses="copy row")

    def between(self, here: int, there: int) -> Iterator[Channel]:
        costs = self.costs
        host = LatencyBandwidth(costs.message, costs.network)
        for suffix in ("reg", "zcm"):
            ends = f"node{here}.{suffix}", f"node{there}.{suffix}"
            more: dict[str, Any] = {"uses": "handshake network message post", "card": (here, there, 0)}
            yield self._channel(ChannelKind.REMOTE_MEMCPY, *ends, host, costs.handshake, request=costs.post, **more)
        for gpu in range(self.gpus):
            ends, card = (f"node{here}.fbm{gpu}", f"node{there}.fbm{gpu}"), (here, there, gpu if self.cluster.rails else 0)
            direct = LatencyBandwidth(costs.post, costs.wire)
            yield self._channel(ChannelKind.DIRECT_REMOTE, *ends, direct, costs.handshake, uses="handshake wire post", card=card)
            yield self._channel(
                ChannelKind.UMR,
                *ends,
                LatencyBandwidth(costs.gather, costs.wire),
                costs.handshake,
                f"{ends[0]}->{ends[1]} UMR",
                uses="handshake wire gather post runs_of_key map_key map_run exchange",
                card=card,
                descriptors=costs.runs_of_key,
                request=costs.post,
                costs=(
                    OneTimeCost("keys", 2 * costs.map_key + costs.exchange, per="request"),
                    OneTimeCost("layouts", costs.map_run, per="run"),
                ),
            )

    @staticmethod
    def _channel(
        kind: ChannelKind,
        source: str,
        destination: str,
        rate: LatencyBandwidth,
        setup: float = 0.0,
        name: str = "",
        *,
        uses: str,
        request: float = 0.0,
        card: tuple[int, int, int] | None = None,
        **more: Any,
    ) -> Channel:
        """A channel; `uses` are the names of its costs, `card` its two nodes and the number of the network card."""
        more["request_seconds"] = request
        said = "; ".join(_said(uses.split()))
        loads: tuple[tuple[str, float], ...] = ()
        if card is not None:
            here, there, number = card
            loads = (f"node{here}.nic{number}.out", 1.0), (f"node{there}.nic{number}.in", 1.0)
        return Channel(name, kind, source, destination, rate, setup, resources=loads, provenance=said, **more)


def _said(costs: list[str]) -> Iterator[str]:
    """Where some costs are from, in few words."""
    for words, start in (("fitted to figures 8 and 10", FITTED), (ASSUMED, ASSUMED)):
        names = [name.replace("_", " ") for name in costs if origin(name).startswith(start)]
        if names:
            yield f"{words}: {', '.join(names)}"


for _name, _words in (
    ("mri", "nodes of A100 GPUs behind one HDR network card, whose keys gather and scatter (UMR)"),
    ("theta-gpu", "nodes of DGX A100: a network card for each GPU, whose keys gather and scatter (UMR)"),
):
    register_preset(
        PresetInfo(
            _name,
            _words,
            {
                "nodes": PresetOption(2, "how many nodes"),
                "gpus": PresetOption(1, "how many GPUs of a node; the paper uses one"),
            },
            partial(gpu_cluster, _name),
        )
    )
