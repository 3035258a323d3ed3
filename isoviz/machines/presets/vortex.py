"""The presets of a cluster with two networks: a Data Vortex, and InfiniBand FDR with MPI. The nodes are the same.

The paper is Gioiosa et al., *Exploring DataVortex Systems for Irregular Applications*. It says what two nodes reach with messages
of 1 to 256 k words (figure 3), and neither the size of its switch nor the time of a cycle: these are assumed.

A main memory `node<k>.sys` is in huge pages, as DMA needs it (section III), and MPI has registered it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

from isoviz import checks
from isoviz.machines.channel import Channel
from isoviz.machines.channel_kinds.vortex import WORD
from isoviz.machines.kinds import ChannelKind, MemoryKind
from isoviz.machines.machine import Machine
from isoviz.machines.memory import Memory
from isoviz.machines.networks import DataVortex, Network, Port, Switch, Transport
from isoviz.machines.presets.numbers import figure_from, origin_of, origins_text
from isoviz.machines.presets.registry import PresetInfo, PresetOption, register_preset
from isoviz.machines.throughput import LatencyBandwidth, Sampled

US, GB = 1e-6, 1e9
NODES = 32
"""From the paper (section IV)."""
MOST_NODES = 1024
CYCLE = 1.07e-9
"""Assumed: 32 ports with A = 4, H = 32 and one angle then have 4.4 GB/s each. With A = 4, H = 8 and all angles it is 0.40 ns."""


@dataclass(frozen=True)
class VortexFigures:
    """What the nodes and both networks cost, in seconds, bytes and bytes per second. `origin` says where each figure is from."""

    vic_memory: int = figure_from(32 << 20, "from the paper, section II: 32 MB on the card")
    peak: float = figure_from(4.4 * GB, "from the paper, section V: the nominal peak of data, which DMA reaches")
    direct_write: float = figure_from(0.5 * GB, "from the paper, section V: one lane of PCI Express; headers are cached")
    direct_read: float = figure_from(0.55 * GB, "from the paper, section III: DMA out is up to 8 times as fast")
    dma: float = figure_from(1.25 * US, "fitted: 99.4 % of the peak at 256 k words leaves 2.9 µs for DMA in, packets, DMA out")
    card: float = figure_from(0.09 * US, "fitted: the rest of these 2.9 µs, in two cards")
    transaction: float = figure_from(0.1 * US, "assumed: a DMA transaction is started")
    entry: float = figure_from(0.05 * US, "assumed: an entry of the DMA table, one of 8,192, for each run")
    write: float = figure_from(0.45 * US, "assumed: direct writes begin; 1 µs for a word from memory to memory")
    read: float = figure_from(0.45 * US, "assumed: direct reads begin; the same 1 µs")
    word: float = figure_from(1e-9, "assumed: a run that the processor writes or reads directly")
    copy: float = figure_from(8 * GB, "assumed: a processor copies")
    copied_run: float = figure_from(2e-9, "assumed: a run that a processor copies")
    link: float = figure_from(6.8 * GB, "from the paper, section V: FDR InfiniBand")
    mpi_rate: float = figure_from(0.725 * 6.8 * GB, "fitted: 72 % of it at 256 k words")
    message: float = figure_from(0.3 * US, "assumed: between the starts of two messages, 3.3 million a second")
    latency: float = figure_from(1 * US, "assumed: the rest of 1.3 µs for a word")
    rendezvous: float = figure_from(1.75 * US, "assumed: 1.7 to 1.8 µs put the Data Vortex ahead from 256 to 512 words")
    eager: int = figure_from(1 << 10, "assumed: up to these bytes MPI sends without asking; InfiniBand is ahead up to 128 words")
    barrier: float = figure_from(1 * US, "assumed: of a Data Vortex, for any number of nodes, as figure 4 is flat")
    barrier_step: float = figure_from(1.3 * US, "assumed: of MPI, each of log₂ n steps takes a short message")


origin = cache(partial(origin_of, VortexFigures))
"""Where a figure of `VortexFigures` is from."""


def data_vortex(
    nodes: int = NODES,
    angles: int = 4,
    heights: int = 32,
    inputs: int = 1,
    cycle: float = CYCLE,
    figures: VortexFigures | None = None,
) -> Machine:
    """Nodes with main memory `node<k>.sys` and the memory of a card `node<k>.dv`, whose switch moves words.

    - `angles`, `heights`, `inputs`: those of the switch (`DataVortex`). The paper does not have them.
    - `cycle`: seconds in which a packet goes one angle further.

    Rates are of data: a header travels beside each word. Two cards never move more than 4.4 GB/s, nor more than a word in a
    cycle, and all together no more than the switch holds of uniform traffic.

    Raises:
        MachineError: an argument is out of range, there are more nodes than ports, or no such switch was measured.
    """
    owner, given = "preset 'data-vortex'", figures or VortexFigures()
    nodes = checks.whole(owner, "nodes", nodes, low=1, high=MOST_NODES)
    cycle = checks.number(owner, "cycle", cycle, open_low=True, high=1e-3)
    switch = _switch(owner, heights, angles, inputs)
    if nodes > switch.ports:
        at = f"{heights:,} heights at {inputs} angle{'' if inputs == 1 else 's'}"
        raise checks.FieldError(
            owner, "nodes", f"expected at most {switch.ports:,}, the ports of a switch with {at}; got {nodes}"
        )
    word = WORD / cycle
    rate = min(given.peak, word)
    packets = Transport(
        ChannelKind.PACKETS,
        Sampled(((float(WORD), rate),)),
        setup=given.card + switch.cycles * cycle,
        provenance=f"from the paper: peak; fitted: card; assumed: {switch.cycles:g} cycles of {cycle:.3g} s",
    )
    network = Network(
        "vortex",
        switch,
        tuple([Port(f"node{node}.dv", "switch", inject=rate, receive=rate) for node in range(nodes)]),
        (packets,),
        link_rate=word,
        provenance=f"assumed: A = {angles}, H = {heights}, ports at {inputs} of the angles, a cycle of {cycle:.3g} s; simulated:"
        f" {switch.share:g} words per port and cycle of uniform traffic",
    )
    parts = _Nodes(given, nodes)
    return Machine(
        "data-vortex",
        (*parts.memories(), *[Memory(f"node{k}.dv", MemoryKind.DV, k, given.vic_memory, within=("VIC",)) for k in range(nodes)]),
        (*parts.copies(), *parts.cards()),
        provenance="Gioiosa et al., Exploring DataVortex Systems: figures from the paper, fitted, assumed; the switch simulated",
        networks=(network,),
    )


def _switch(owner: str, heights: int, angles: int, inputs: int) -> DataVortex:
    """The switch of a preset, whose options are what its errors name."""
    try:
        return DataVortex(heights, angles, inputs)
    except checks.FieldError as error:
        raise checks.FieldError(owner, error.field, error.problem) from None


def vortex_infiniband(nodes: int = NODES, figures: VortexFigures | None = None) -> Machine:
    """The same nodes with `node<k>.sys` alone, between which MPI sends over FDR InfiniBand.

    A message of up to 1 KiB goes at once; a longer one is asked for first, which makes it slower than several short ones up to
    some 7 KiB. `Sampled.measured` has what one message reaches, and the rates of the channel are those of the better way.

    Raises:
        MachineError: `nodes` is out of range.
    """
    given = figures or VortexFigures()
    nodes = checks.whole("preset 'vortex-infiniband'", "nodes", nodes, low=1, high=MOST_NODES)
    messages = Transport(
        ChannelKind.REMOTE_MEMCPY,
        message_curve(given),
        setup=given.latency,
        provenance=origins_text(VortexFigures, ["mpi_rate", "message", "latency", "rendezvous", "eager"]),
    )
    network = Network(
        "fdr",
        Switch(),
        tuple([Port(f"node{node}.sys", "switch", inject=given.link, receive=given.link) for node in range(nodes)]),
        (messages,),
        link_rate=given.link,
        provenance=origin("link"),
    )
    parts = _Nodes(given, nodes)
    return Machine(
        "vortex-infiniband",
        tuple(parts.memories()),
        tuple(parts.copies()),
        provenance="Gioiosa et al., Exploring DataVortex Systems: figures from the paper, fitted or assumed",
        networks=(network,),
    )


def message_curve(figures: VortexFigures) -> Sampled:
    """What messages of MPI reach by their size, without `latency`: one that is too long to go at once is asked for first."""
    sizes = sorted({*(2**k for k in range(27)), figures.eager, figures.eager + 1})
    seconds = [
        figures.message + size / figures.mpi_rate + (figures.rendezvous if size > figures.eager else 0.0) for size in sizes
    ]
    return Sampled.from_measurement([(size, size / each) for size, each in zip(sizes, seconds, strict=True)])


class _Nodes:
    """What the nodes of both clusters have."""

    def __init__(self, figures: VortexFigures, nodes: int) -> None:
        self.figures, self.names = figures, [f"node{node}" for node in range(nodes)]

    def memories(self) -> Iterable[Memory]:
        return [Memory(f"{name}.sys", MemoryKind.SYS, node, within=("DRAM",)) for node, name in enumerate(self.names)]

    def copies(self) -> Iterator[Channel]:
        rate = LatencyBandwidth(self.figures.copied_run, self.figures.copy)
        for name in self.names:
            yield self._channel(ChannelKind.MEMCPY, name, "sys", "sys", rate, "copy copied_run")

    def cards(self) -> Iterator[Channel]:
        """Between main memory and the card: direct writes and reads, and DMA."""
        given = self.figures
        dma = LatencyBandwidth(given.entry, given.peak)
        written, read = LatencyBandwidth(given.word, given.direct_write), LatencyBandwidth(given.word, given.direct_read)
        engine: dict[str, Any] = {"setup": given.dma, "request_seconds": given.transaction}
        for name in self.names:
            yield self._channel(ChannelKind.DMA_IN, name, "sys", "dv", dma, "peak dma transaction entry", " DMA", **engine)
            yield self._channel(ChannelKind.DMA_OUT, name, "dv", "sys", dma, "peak dma transaction entry", " DMA", **engine)
            yield self._channel(ChannelKind.VIC_WRITE, name, "sys", "dv", written, "direct_write write word", setup=given.write)
            yield self._channel(ChannelKind.VIC_READ, name, "dv", "sys", read, "direct_read read word", setup=given.read)

    @staticmethod
    def _channel(
        kind: ChannelKind, node: str, here: str, there: str, rate: LatencyBandwidth, uses: str, after: str = "", **more: Any
    ) -> Channel:
        ends = f"{node}.{here}", f"{node}.{there}"
        return Channel(
            f"{ends[0]}->{ends[1]}{after}", kind, *ends, rate, provenance=origins_text(VortexFigures, uses.split()), **more
        )


register_preset(
    PresetInfo(
        "data-vortex",
        "nodes on a Data Vortex (Gioiosa et al.): cards with memory of their own, a switch that moves words; its size is assumed",
        {
            "nodes": PresetOption(NODES, "how many nodes, at most one for each port"),
            "angles": PresetOption(4, "the angles of the switch"),
            "heights": PresetOption(32, "its heights, a power of two"),
            "inputs": PresetOption(1, "how many angles have ports"),
            "cycle": PresetOption(CYCLE, "seconds of a cycle"),
        },
        data_vortex,
    )
)
register_preset(
    PresetInfo(
        "vortex-infiniband",
        "the same nodes with FDR InfiniBand and MPI: short messages go at once, longer ones are asked for first",
        {"nodes": PresetOption(NODES, "how many nodes")},
        vortex_infiniband,
    )
)
