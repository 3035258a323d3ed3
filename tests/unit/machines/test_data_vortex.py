"""The Data Vortex as a network: its share and resource, both presets, plans beside each other, runs, files, bad input."""

from __future__ import annotations

import inspect
import json
import math
import re
from collections.abc import Callable
from dataclasses import fields
from typing import Any

import numpy as np
import pytest

from isoviz import Engine, FieldSpace, IndexSpace, Plan, Simulator, Transfer, cost, explain, plan, preset, simulate
from isoviz.backends.emulated import EmulatedMachine
from isoviz.errors import InputError, MachineError
from isoviz.figures import network_svg
from isoviz.figures.document_html import told_html
from isoviz.layouts import OrderChange
from isoviz.machines import Channel, DataVortex, Machine, machine_from_json, machine_to_json
from isoviz.machines.edits.memory_edits import emulating, with_dead_parts
from isoviz.machines.networks import ThroughTheSwitch, Torus
from isoviz.machines.networks.vortex_shares import MEASURED, input_angles
from isoviz.machines.presets.vortex import VortexFigures, data_vortex, origin
from isoviz.vortex import transposed

US, GB = 1e-6, 1e9
WORDS = FieldSpace(v="f8")
DMA = ["node0.sys->node0.dv DMA", "node0.dv->node1.dv vortex", "node1.dv->node1.sys DMA"]
SEEDS = (1, 2)


def words(count: int, here: int = 0, there: int = 1) -> Transfer:
    return Transfer.whole(IndexSpace(x=count), WORDS, f"node{here}.sys", "<F, x>", f"node{there}.sys", "<F, x>")


def turned(size: int) -> Transfer:
    """A matrix of words that is wanted the other way round on another node."""
    return Transfer.whole(IndexSpace(x=size, y=size), WORDS, "node0.sys", "<F, x, y>", "node1.sys", "<F, y, x>")


def kinds(found: Plan, change: OrderChange) -> list[str]:
    return [str(hop.kind) for hop, each in zip(found.hops, found.only.order_changes, strict=True) if each is change]


def switch_of(machine: Machine) -> DataVortex:
    found = machine.networks[0].topology
    assert isinstance(found, DataVortex)
    return found


# ---- the switch


def test_shares_are_those_of_the_simulated_switch() -> None:
    """Two simulations written apart: the figures of the other one, of saturated switches."""
    one_angle = {8: 0.653, 16: 0.610, 32: 0.586, 64: 0.561, 128: 0.543}
    all_angles = {1: 0.243, 2: 0.223, 3: 0.199, 4: 0.175}
    flat = {8: 0.366, 16: 0.306, 32: 0.267, 64: 0.243, 128: 0.222}
    for heights, share in one_angle.items():
        assert DataVortex(heights, 4, 1).share == pytest.approx(share, abs=0.004)
    for angles, share in all_angles.items():
        assert DataVortex(64, angles, angles).share == pytest.approx(share, abs=0.004)
    for heights, share in flat.items():
        assert DataVortex(heights, 1, 1).share == pytest.approx(share, abs=0.004)
    assert all(0.57 < DataVortex(32, angles, 1).share < 0.64 for angles in range(4, 9))


@pytest.mark.parametrize(
    ("heights", "angles", "inputs"),
    [(8, 4, 4), (32, 4, 1), *[pytest.param(h, a, n, marks=pytest.mark.full)
      for h, a, n in ((2, 1, 1), (2, 8, 3), (4, 3, 2), (16, 8, 5), (32, 6, 3), (64, 1, 1), (64, 8, 8), (128, 5, 2))]],
)  # fmt: skip
def test_the_table_is_what_the_switch_measures(heights: int, angles: int, inputs: int) -> None:
    """The table was made by another program than `isoviz.vortex`."""
    pytest.importorskip("numba")
    from isoviz.vortex import Switch

    run = Switch(heights, angles, input_angles(angles, inputs)).saturate(max(4000, 400_000 // heights), seed=3, warm=600)
    assert DataVortex(heights, angles, inputs).share == pytest.approx(run.throughput, abs=0.004)


def test_the_table_is_whole() -> None:
    assert list(MEASURED) == [2**k for k in range(1, len(MEASURED) + 1)]
    for heights in MEASURED:
        for angles in range(1, 9):
            shares = [DataVortex(heights, angles, inputs).share for inputs in range(1, angles + 1)]
            assert shares == sorted(shares, reverse=True), "fewer angles with ports, more for each port"
            assert all(0.05 < share < 0.8 for share in shares)


def test_angles_with_ports_lie_evenly_around() -> None:
    assert [input_angles(4, n) for n in (1, 2, 4)] == [(0,), (0, 2), (0, 1, 2, 3)]
    assert input_angles(7, 3) == (0, 2, 4)


@pytest.mark.parametrize("given", [(2, 1, 1), (32, 4, 1), (8, 4, 4), (64, 3, 2)])
def test_the_switch_is_one_resource(given: tuple[int, int, int]) -> None:
    heights, _, inputs = given
    switch = DataVortex(*given)
    assert (switch.router_count, switch.router_name(0), switch.router("switch")) == (1, "switch", 0)
    assert switch.ports == heights * inputs
    assert switch.cylinders == math.log2(heights) + 1
    (link,) = switch.links()
    assert (link.source, link.destination, link.width) == (0, 0, pytest.approx(switch.ports * switch.share))
    assert ThroughTheSwitch().route(switch, 0, 0) == (link,) == (switch.link(link.name),)
    assert ThroughTheSwitch().route(switch, 0, 0, lambda _: False) is None
    assert switch.places().sizes == (switch.cylinders, *given)


def test_whatever_moves_shares_what_the_switch_holds() -> None:
    """With a cycle of twice the length, 32 nodes that all send get half of what one gets alone."""
    for factor, share in ((1.0, 1.0), (2.0, 0.5), (4.0, 0.25)):
        machine = data_vortex(nodes=32, cycle=factor * 1.07e-9)
        assert machine.networks[0].topology.link("switch>switch").width == pytest.approx(32 * 0.585, rel=0.01)
        alone = _seconds(machine, 1)
        everybody = _seconds(machine, 32)
        held = 32 * 0.585 * 8 / (factor * 1.07e-9)
        moved = 32 * (1 << 20)
        assert everybody >= moved / held * 0.999
        assert everybody == pytest.approx(moved / held, rel=0.15)
        assert alone <= everybody * 1.01
        assert 8 / (factor * 1.07e-9) * 0.585 == pytest.approx(4.4 * GB * share, rel=0.01)


def _seconds(machine: Machine, pairs: int) -> float:
    simulator = Simulator(machine)
    for node in range(pairs):
        simulator.submit(plan(words(1 << 17, node, (node + 1) % 32), machine, "full"))
    return simulator.run().seconds


# ---- the presets


def test_every_figure_is_from_the_paper_fitted_or_assumed() -> None:
    sources = ("from the paper, section", "fitted: ", "assumed: ")
    assert all(origin(each.name).startswith(sources) for each in fields(VortexFigures))
    for machine in (preset("data-vortex"), preset("vortex-infiniband")):
        parts: list[Any] = [*machine.channels, *machine.networks, *machine.networks[0].transports]
        assert all(each.provenance.startswith(("from the paper", "fitted", "assumed")) for each in parts)
    said = preset("data-vortex").networks[0].provenance
    assert all(each in said for each in ("assumed: A = 4, H = 32", "1 of the angles", "1.07e-09 s", "simulated: 0.58"))


def test_the_nodes_are_the_same() -> None:
    both = preset("data-vortex"), preset("vortex-infiniband")
    assert [m for m in both[0].memories if m.kind == "SYS"] == list(both[1].memories)
    copies: list[list[Channel]] = [[c for c in machine.channels if c.kind == "Memcpy"] for machine in both]
    assert copies[0] == copies[1] == list(both[1].channels)


def test_ports_have_the_peak_of_the_paper_in_both_switches_of_the_assumption() -> None:
    for options, cycle in (({}, 1.07e-9), ({"heights": 8, "inputs": 4}, 0.40e-9)):
        machine = preset("data-vortex", cycle=cycle, **options)
        switch = switch_of(machine)
        assert switch.ports == 32
        assert switch.share * 8 / cycle == pytest.approx(4.4 * GB, rel=0.015)
        port = machine.networks[0].port("node0.dv")
        assert port.inject == port.receive == 4.4 * GB


def test_messages_beside_figure_3() -> None:
    """From the paper: 99.4 % of 4.4 GB/s at 256 k words leaves 2.9 µs; MPI gets 72 % of 6.8 GB/s. The rest is assumed."""
    vortex, infiniband = preset("data-vortex", nodes=2), preset("vortex-infiniband", nodes=2)
    whole = 8 << 18
    for count in (1, 128, 1024):
        whole_chunk = cost(words(count), vortex, DMA, chunk=8 * count)
        assert whole_chunk.seconds == pytest.approx(2.9 * US + 3 * 8 * count / (4.4 * GB), rel=0.01)
        if count <= 128:
            sent = plan(words(count), infiniband, "full")
            assert sent.seconds == pytest.approx(1.3 * US + 8 * count / (4.93 * GB), rel=0.01)
    fastest = plan(words(1 << 18), infiniband, "full").seconds
    assert whole / fastest == pytest.approx(0.72 * 6.8 * GB, rel=0.002)
    assert whole / plan(words(1 << 18), vortex, "full").seconds > 0.93 * 4.4 * GB
    direct = plan(words(1), vortex, "full")
    assert [str(hop.kind) for hop in direct.hops] == ["VICWrite", "VortexPackets", "VICRead"]
    assert direct.seconds == pytest.approx(1.03 * US, rel=0.02)


def test_mpi_asks_first_from_its_limit_on() -> None:
    curve = preset("vortex-infiniband").networks[0].transports[0].throughput
    measured = dict(curve.measured)
    assert 1025 / measured[1025.0] - 1024 / measured[1024.0] == pytest.approx(1.75 * US, rel=0.01)
    assert curve(2048) == curve(1024), "several short messages are faster than one that is asked for"
    assert curve(8) == pytest.approx(8 / (0.3 * US), rel=0.01)


def test_words_travel_on_their_own() -> None:
    rate = preset("data-vortex").networks[0].transports[0].throughput
    assert [rate(run) / GB for run in (8, 9, 64, 1 << 20)] == [pytest.approx(4.4)] * 4
    assert rate(4) == pytest.approx(2.2 * GB), "half a word takes a packet"
    slow = data_vortex(cycle=4e-9).networks[0].transports[0].throughput
    assert slow(8) == pytest.approx(2 * GB), "a port has a word in a cycle"


# ---- plans


@pytest.mark.parametrize("size", [64, 256, 1024])
def test_the_network_turns_the_matrix_here_and_memory_there(size: int) -> None:
    there = plan(turned(size), preset("vortex-infiniband", nodes=2), "full")
    assert kinds(there, OrderChange.CONVERTS) == ["Memcpy"]
    assert [str(hop.kind) for hop in there.hops] == ["Memcpy", "RemoteMemcpy"]
    machine = preset("data-vortex", nodes=2)
    here = plan(turned(size), machine, "full")
    assert kinds(here, OrderChange.CONVERTS) == ["VortexPackets"]
    (turning,) = [hop for hop in here.hops if hop.kind == "VortexPackets"]
    assert turning.request_bytes == 8
    channel = machine.channel(turning.channel)
    assert channel.rate(turning.request_bytes) == channel.peak, "it costs nothing"
    assert here.seconds < there.seconds
    for found in (here, there):
        assert simulate(found, machine if found is here else preset("vortex-infiniband", nodes=2)).seconds == pytest.approx(
            found.seconds
        )


def test_the_order_turns_at_64() -> None:
    """InfiniBand is ahead with 8², 16² and 32² words, the Data Vortex before and after. Both simulated."""
    machines = preset("data-vortex", nodes=2), preset("vortex-infiniband", nodes=2)
    ahead = {}
    for size in (1, 8, 16, 32, 64, 256):
        vortex, infiniband = (simulate(plan(turned(size), each, "full"), each).seconds for each in machines)
        ahead[size] = vortex < infiniband
    assert ahead == {1: True, 8: False, 16: False, 32: False, 64: True, 256: True}


def test_the_plan_says_why_a_copy_remains() -> None:
    machine = preset("data-vortex", nodes=2)
    explained = explain(turned(256), machine, "full")
    found = explained.plan
    assert kinds(found, OrderChange.DISSOLVES) == ["Memcpy"]
    (block,) = {hop.request_bytes for hop in found.hops if hop.kind == "Memcpy"}
    text = " ".join(str(explained).split())
    assert "Hop 1 changes the order at no cost: the network moves runs of 8 B as fast as any." in text
    assert f"Hop 3 still copies in memory and dissolves blocks: all moves in {found.chunk_count} chunks" in text
    assert f"only {block:.0f} B at a time are contiguous in node1.sys" in text
    without = [each.least for each in explained.candidates if each.kinds == ("DMAIn", "VortexPackets", "DMAOut")]
    assert f"Without this copy the path takes {min(without) / US:.0f} µs." in text
    assert min(without) > found.seconds
    other = str(explain(turned(256), preset("vortex-infiniband", nodes=2), "full"))
    assert "at no cost" not in other and "still copies" not in other


def test_the_plan_of_the_default_planner_says_that_the_network_would_do_it() -> None:
    """It always has memory change the order. On InfiniBand that is right."""
    explained = explain(turned(256), preset("data-vortex", nodes=2))
    assert kinds(explained.plan, OrderChange.CONVERTS) == ["Memcpy"]
    text = " ".join(str(explained).split())
    assert "Hop 2 would change the order at no cost: the network moves runs of 8 B as fast as any." in text
    assert "The simple planner has memory change it, by a copy in node0.sys." in text
    best = min(each.least for each in explained.candidates)
    assert f"A path on which the network does takes {best / US:.0f} µs." in text and best < explained.plan.seconds
    assert "at no cost" not in str(explain(turned(256), preset("vortex-infiniband", nodes=2)))


@pytest.mark.parametrize("planner", [None, "full"])
def test_the_plan_names_the_order_that_the_switch_likes(planner: str | None) -> None:
    """The first one of the helper that transposes between nodes."""
    text = " ".join(str(explain(turned(256), preset("data-vortex", nodes=2), planner)).split())
    order = inspect.signature(transposed).parameters["order"].default
    assert f"the network carries most {order}, a word to each node in turn." in text
    assert "carries most" not in str(explain(words(100), preset("data-vortex", nodes=2), planner)), "nothing is turned"


def test_chunks_and_slots_live_in_the_memory_of_the_card() -> None:
    for nbytes in (32 << 20, 1 << 20, 1 << 14):
        machine = data_vortex(nodes=2, figures=VortexFigures(vic_memory=nbytes))
        found = plan(turned(2048), machine, "full")
        assert machine.memory("node0.dv").capacity == nbytes
        for end in ("node0.dv", "node1.dv"):
            assert 0 < sum(each.total_bytes for each in found.buffers if each.memory == end) <= nbytes
    filled = Transfer.whole(IndexSpace(x=(4 << 20) + 1), WORDS, "node0.dv", "<F, x>", "node1.dv", "<F, x>")
    with pytest.raises(InputError, match=r"node0\.dv"):
        plan(filled, preset("data-vortex", nodes=2), "full")


# ---- runs


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("stands_in", [False, True], ids=["at the rates", "main memory stands in"])
def test_it_runs_in_host_memory(seed: int, stands_in: bool) -> None:
    machine, transfer = preset("data-vortex", nodes=2), turned(96)
    if stands_in:  # what *Run* of the explorer does
        machine = emulating(machine, [memory.name for memory in machine.memories if memory.name != "node0.sys"])
    found = plan(transfer, machine, "full")
    assert "VortexPackets" in [str(hop.kind) for hop in found.hops]
    matrix = np.random.default_rng(seed).integers(0, 2**62, (96, 96))
    room = np.zeros(transfer.nbytes, np.uint8)
    with Engine(machine, None if stands_in else EmulatedMachine()) as engine:
        assert engine.run(found, matrix.reshape(-1).view("f8"), room).verified
    assert np.array_equal(room.view(np.int64).reshape(96, 96), matrix.T)


# ---- the picture


@pytest.mark.parametrize(("nodes", "given"), [(2, (2, 1, 1)), (12, (8, 4, 4)), (32, (32, 4, 1)), (40, (32, 5, 2))])
def test_the_static_picture_has_every_ring_port_and_node(nodes: int, given: tuple[int, int, int]) -> None:
    heights, angles, inputs = given
    machine = preset("data-vortex", nodes=nodes, heights=heights, angles=angles, inputs=inputs)
    switch = switch_of(machine)
    bare = network_svg(machine, theme="light")
    radii = [float(radius) for radius in re.findall(r'<circle [^>]*r="([0-9.]+)"', bare)]
    assert len({radius for radius in radii if radius > 20}) == switch.cylinders + 1, "the cylinders, and the ports around them"
    assert radii.count(10.5) == nodes
    assert radii.count(6.0) == inputs, "where packets leave"
    lines = [data for data in re.findall(r' d="([^"]*)"', bare) if data.count("M") == data.count("L") == switch.ports]
    assert len(lines) == 1 + (nodes == switch.ports), "a tick for every port, a line for every node"
    dots = next(data for data in re.findall(r' d="([^"]*)"', bare) if "h5" in data)
    assert dots.count("M") == switch.cylinders * angles
    assert "source" not in bare
    found = plan(turned(64), machine, "full")
    drawn = network_svg(machine, found, theme="light")
    assert "source node0.sys" in drawn and "destination node1.sys" in drawn
    assert drawn.count("marker-end") == bare.count("marker-end") + 1
    assert "words per port and cycle" in drawn
    assert f"Network vortex: {switch}" in told_html(found, machine, theme="light")


# ---- files and bad input


def test_saved_and_read() -> None:
    for machine in (preset("data-vortex", nodes=5, angles=3, heights=16, inputs=2, cycle=2e-9), preset("vortex-infiniband")):
        text = json.dumps(machine_to_json(machine))
        assert machine_from_json(json.loads(text)) == machine
        found = plan(turned(64), machine, "full")
        assert Plan.from_json(found.to_json()) == found
    data = machine_to_json(preset("data-vortex"))["networks"][0]["topology"]
    assert data == {"kind": "data vortex", "heights": 32, "angles": 4, "inputs": 1, "share": DataVortex(32, 4, 1).share}


def test_a_dead_switch_joins_nothing() -> None:
    machine = with_dead_parts(preset("data-vortex", nodes=2), "vortex", links=("switch>switch",))
    assert machine.between("node0.dv", "node1.dv") == ()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: DataVortex(24, 4, 1), "heights: expected a power of two, got 24"),
        (lambda: DataVortex(1, 4, 1), "heights: expected a whole number from 2 to 65536, got 1"),
        (lambda: DataVortex(32, 0, 1), "angles: expected a whole number from 1 to 256, got 0"),
        (lambda: DataVortex(32, 4, 0), "inputs: expected a whole number from 1 to 4, got 0"),
        (lambda: DataVortex(32, 4, 5), "inputs: expected a whole number from 1 to 4, got 5"),
        (lambda: DataVortex(32, 9, 1), "share: expected the packets per port and cycle of such a switch"),
        (lambda: DataVortex(65536, 1, 1), "measured are 2 to "),
        (lambda: DataVortex(32, 4, 1, 1.5), "share: expected a finite number"),
        (lambda: DataVortex(32, 4, 1).router("hub"), "its only router is 'switch'"),
        (lambda: ThroughTheSwitch().check(Torus((2, 2))), "expected a data vortex, got a torus"),
        (lambda: preset("data-vortex", nodes=33), "preset 'data-vortex', nodes: expected at most 32, the ports of a switch"),
        (lambda: preset("data-vortex", nodes=17, heights=8, inputs=2), "with 8 heights at 2 angles; got 17"),
        (lambda: preset("data-vortex", heights=31), "preset 'data-vortex', heights: expected a power of two"),
        (lambda: preset("data-vortex", angles=0), "preset 'data-vortex', angles: expected a whole number from 1"),
        (lambda: preset("data-vortex", inputs=0), "preset 'data-vortex', inputs: expected a whole number from 1 to 4"),
        (lambda: preset("data-vortex", cycle=0), "preset 'data-vortex', cycle: expected a finite number > 0"),
        (lambda: preset("vortex-infiniband", nodes=0), "preset 'vortex-infiniband', nodes: expected a whole number from 1"),
    ],
)
def test_bad_input(make: Callable[[], object], message: str) -> None:
    with pytest.raises(MachineError) as caught:
        make()
    assert message in str(caught.value)


def test_as_many_nodes_as_a_preset_takes_have_a_measured_switch() -> None:
    assert switch_of(preset("data-vortex", nodes=1024, heights=1024)).share == pytest.approx(0.503, abs=0.004)
    assert [DataVortex(heights, 1, 1).share for heights in (1024, 4096)] == pytest.approx([0.187, 0.174], abs=0.004)


def test_larger_switches_have_a_share_of_their_own() -> None:
    switch = DataVortex(65536, 16, 2, share=0.25)
    assert next(switch.links()).width == 2 * 65536 * 0.25
