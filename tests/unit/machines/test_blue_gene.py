"""The preset of Blue Gene/Q: its shapes, nine neighbours, I/O nodes, figures and their origin."""

from __future__ import annotations

from math import prod
from typing import Any

import networkx
import pytest

from isoviz.errors import MachineError
from isoviz.machines import draw, preset
from isoviz.machines.presets import blue_gene


@pytest.mark.parametrize("nodes", [32, 64, 128, 256, 512, 1024])
def test_partitions_have_their_nodes_links_and_io(nodes: int) -> None:
    machine = preset("bgq", nodes=nodes)
    torus, switch = machine.networks
    assert prod(blue_gene.SHAPES[nodes]) == nodes and torus.topology.router_count == nodes
    leaving = [torus.topology.links_from(router) for router in range(nodes)]
    neighbours = {len({link.destination for link in links}) for links in leaving}
    twice = {len(links) - len({link.destination for link in links}) for links in leaving}
    assert twice == {1}, "the two links in E lead to one node"
    if nodes >= 512:
        assert {len(links) for links in leaving} == {10} and neighbours == {9}, "ten links, nine neighbours"
    bridges = blue_gene.bridge_nodes(nodes)
    assert len(bridges) == max(1, 2 * nodes // 128), "two in 128"
    served = [blue_gene.io_node(nodes, node) for node in range(nodes)]
    assert set(served) == set(range(nodes, nodes + len(bridges))) and served == sorted(served)
    for number, bridge in enumerate(bridges, nodes):
        assert torus.router_of(f"node{number}.sys") == bridge == torus.router_of(f"node{bridge}.sys")
        (channel, _) = machine.between(f"node{bridge}.sys", f"node{number}.sys")
        assert [machine.resource(name).capacity for name, _ in channel.resources] == [2e9], "the 11th link alone"
    assert all(switch.has_port(f"node{node}.sys") for node in blue_gene.file_servers(nodes))


def test_nine_paths_leave_a_node_of_512() -> None:
    network = preset("bgq", nodes=512).networks[0]
    flow: networkx.DiGraph[int] = networkx.DiGraph()
    for link in network.live_links():
        flow.add_edge(link.source, link.destination, capacity=1)  # the two links in E count once
    assert networkx.maximum_flow_value(flow, 0, 311) == 9


def test_figures_say_where_they_are_from() -> None:
    figures = [value for value in vars(blue_gene).values() if isinstance(value, blue_gene.Figure)]
    assert len(figures) > 10 and all(
        each.origin.startswith(("from the paper (", "derived from the paper (", "assumed")) for each in figures
    )
    machine = preset("bgq")
    network = machine.networks[0]
    link = next(network.live_links())
    assert machine.resource(network.resource_name(link)).capacity == 2e9 and network.capacity(link) == pytest.approx(1.8e9)
    mpi, pami = (each.throughput for each in network.transports)
    assert mpi.peak == pami.peak == 1.7e9
    size = 2 * 2**20
    windows = {window: (size / window + 1) * window / pami(window) for window in (2**k for k in range(9, 22))}
    assert min(windows, key=windows.__getitem__) == 128 * 1024, "figure 8: windows of 128 KB are best for 2 MB"
    told = draw(machine)
    assert "from the paper" in told and "assumed" in told


@pytest.mark.parametrize("nodes", [0, 100, 16384, 32.5, "512", True, None, [512]])
def test_partitions_that_do_not_exist_are_refused(nodes: Any) -> None:
    with pytest.raises(MachineError, match=r"no partition of .* nodes; there are 32, 64, 128, 256, 512, .* 8192, 49152"):
        preset("bgq", nodes=nodes)


def test_the_zone_is_set_or_chosen() -> None:
    rules = [preset("bgq", zone=zone).networks[0].routing for zone in ("auto", "0", 1, 2, "3")]
    assert [rule.zone for rule in rules] == [None, 0, 1, 2, 3]  # type: ignore[attr-defined]
    with pytest.raises(MachineError, match="zone: expected one of auto, 0, 1, 2, 3, got 4"):
        preset("bgq", zone=4)
