"""Data Vortex and InfiniBand side by side: what the evaluation is about, its assumptions, and the machines under them."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import lru_cache

from isoviz.machines import Machine
from isoviz.machines.networks.vortex_shares import input_angles, measured_share
from isoviz.machines.presets.vortex import CYCLE, VortexFigures, data_vortex, vortex_infiniband
from isoviz.reproduce import Evaluation, assumed
from isoviz.reproduce.assumption import of_preset
from isoviz.units import format_bytes, format_rate, format_seconds
from isoviz.vortex import Costs, MessageSystem, Switch, System, messages, simulated
from isoviz.vortex.workloads.breadth_first import SCAN, VISIT
from isoviz.vortex.workloads.distributed_transform import FLOPS
from isoviz.vortex.workloads.heat_equation import POINT
from isoviz.vortex.workloads.random_updates import UPDATE
from isoviz.vortex.workloads.transport_sweep import CELL

WORD = 8
NODES = (2, 4, 8, 16, 32)
PORTS = 32
"""One for each node of the paper's cluster."""
PAPER_SWITCH, OTHER_SWITCH = (32, 4, 1), (8, 4, 4)
"""Heights, angles, and angles with ports, of two switches with 32 ports."""
VICS, MPI = "Data Vortex", "MPI over InfiniBand"
COLOURS = {VICS: "measured", MPI: "predicted"}
"""The networks, and their colours in the plots."""


def _switch(sizes: tuple[int, int, int]) -> str:
    return f"H = {sizes[0]}, A = {sizes[1]}, ports at {sizes[2]} of the angles"


@dataclass(frozen=True)
class VortexAssumptions:
    """Values that the paper does not give: those of both presets (`VortexFigures`), and those of programs on VICs (`Costs`)."""

    switch: tuple[int, int, int] = assumed(
        PAPER_SWITCH, "the switch", "assumed: of 32 ports", _switch, (OTHER_SWITCH, f"{_switch(OTHER_SWITCH)}, as much in all")
    )
    cycle: float = assumed(CYCLE, "a cycle of the switch", "assumed: 32 ports then have 4.4 GB/s each", format_seconds)
    latency: float = assumed(Costs.latency, "one way over PCI Express", "assumed", format_seconds)
    start: float = assumed(Costs.start, "a DMA transaction is started", "assumed", format_seconds)
    turn: float = assumed(Costs.turn, "until a VIC sends what another one asked for", "assumed", format_seconds)
    cached: float = assumed(
        Costs.cached, "direct writes whose headers are cached", 'assumed: the paper says "a little higher"', format_rate
    )
    write: float = of_preset(VortexFigures, "write", "direct writes begin", format_seconds)
    read: float = of_preset(VortexFigures, "read", "direct reads begin", format_seconds)
    dma: float = of_preset(VortexFigures, "dma", "DMA in, and DMA out, begin", format_seconds)
    mpi_latency: float = assumed(VortexFigures.latency, "MPI: the latency of a message", "assumed", format_seconds)
    message: float = of_preset(VortexFigures, "message", "MPI: between the starts of two messages", format_seconds)
    rendezvous: float = of_preset(VortexFigures, "rendezvous", "MPI: to ask before a longer message", format_seconds)
    angles: int = assumed(50, "SNAP: directions in an octant", "assumed: the least of its usual problems")
    side: int = assumed(4096, "Vorticity: points of a side, in the model", "assumed: a row fits in a VIC")
    processes: int = assumed(8, "MPI: processes of a node in Heat", "assumed: one for each core")
    eager: int = of_preset(VortexFigures, "eager", "MPI: messages up to so long are sent without asking", format_bytes)


_COMPUTED = (
    f"{UPDATE * 1e9:g} ns for a random update, {SCAN * 1e9:g} ns for an edge and {VISIT * 1e9:g} ns for a visit of a search,"
    f" {FLOPS / 1e9:g} Gflop/s in transforms, {POINT * 1e9:g} ns for a point of the heat equation, {CELL * 1e9:g} ns for a"
    " direction in a cell"
)
EVALUATION = Evaluation(
    title="A Data Vortex again, in simulation",
    part="Data Vortex beside MPI over InfiniBand, sections II and V to VII",
    citation="Gioiosa et al., Exploring DataVortex Systems for Irregular Applications.",
    given=VortexAssumptions(),
    quick=VortexAssumptions(),
    remark="All figures are simulated; no Data Vortex was measured. The paper's text has no values of figures 4 to 8, and no"
    " size of its switch. Peak rates were put in, and what a host and MPI cost is assumed: ratios are worth their direction, and"
    " the last table says how far each moves.",
    models=f"""
Switch: every packet, cycle by cycle (isoviz.vortex.Switch). Its 32 ports hold 4.4 GB/s each, which fixes the cycle.

Messages of figure 3: the presets data-vortex and vortex-infiniband. The first word takes as long as its plan, and each further
one follows at the rate of the slowest part, since words pass PCI Express, switch and memory one behind the other.

Programs: the workloads of isoviz.vortex.workloads, which are verified, on simulated VICs, whose packets pass the switch one by
one, and on modelled MPI over InfiniBand with a crossbar. What hosts compute is assumed, and the same on both: {_COMPUTED}.

Sizes of the paper that cannot be computed here, 2³³ points and graphs that fill the memory of all nodes, are modelled by formulas
of the same costs, and so is a flow of 4,096² points. The sizes of the paper's graph and of its applications are not in its text.
""",
)


def figures_of(given: VortexAssumptions) -> VortexFigures:
    """The figures of both presets."""
    known = {each.name for each in fields(VortexFigures)} - {"latency"}
    costs = {name: value for name, value in vars(given).items() if name in known}
    return VortexFigures(latency=given.mpi_latency, **costs)


def cycle_of(given: VortexAssumptions) -> float:
    """Seconds of a cycle. That of another switch is such that all its ports hold the same."""
    shares = [measured_share("reproduce", *sizes) for sizes in (given.switch, PAPER_SWITCH)]
    return given.cycle * shares[0] / shares[1]


@lru_cache(maxsize=64)
def machines(given: VortexAssumptions, nodes: int = 2) -> tuple[Machine, Machine]:
    """Both presets."""
    heights, angles, inputs = given.switch
    figures = figures_of(given)
    return data_vortex(nodes, angles, heights, inputs, cycle_of(given), figures), vortex_infiniband(nodes, figures)


def switch_of(given: VortexAssumptions, ports: int = PORTS) -> Switch:
    """The switch, to simulate, or one with as many angles and other heights."""
    _, angles, inputs = given.switch
    return Switch(ports // inputs, angles, input_angles(angles, inputs))


def messages_of(given: VortexAssumptions, nodes: int) -> MessageSystem:
    """The same nodes with modelled MPI."""
    return messages(nodes, 1, figures=figures_of(given))


def costs_of(given: VortexAssumptions) -> Costs:
    """What a VIC costs."""
    return Costs(cached=given.cached, start=given.start, latency=given.latency, turn=given.turn, cycle=cycle_of(given))


def vics(given: VortexAssumptions, nodes: int) -> System:
    """Nodes with VICs on the switch."""
    return simulated(nodes, 1, switch=switch_of(given), costs=costs_of(given))
