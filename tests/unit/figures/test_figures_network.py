"""The static figure of a network: routers where the topology puts them, the links of each path of a plan, proxies as rings."""

from __future__ import annotations

import re
from collections import Counter
from xml.etree import ElementTree

import pytest
from html_cases import SVG, svg_root

from isoviz import FieldSpace, IndexSpace, plan
from isoviz.figures import html, network_svg
from isoviz.figures.document_html import told_html
from isoviz.figures.machines.network_picture import TRACKS, Placing
from isoviz.machines import ChannelKind, LatencyBandwidth, Machine, Memory, MemoryKind, preset
from isoviz.machines.networks import FatTree, ListedLinks, Mesh, Network, Port, Topology, Torus, Transport
from isoviz.planner import Transfer


def machine_on(topology: Topology) -> Machine:
    names = [topology.router_name(router) for router in range(topology.router_count)]
    memories = tuple(Memory(f"node{node}.sys", MemoryKind.SYS, node) for node in range(len(names)))
    ports = tuple(Port(memory.name, name) for memory, name in zip(memories, names, strict=True))
    way = Transport(ChannelKind.REMOTE_MEMCPY, LatencyBandwidth(1e-6, 1e9))
    return Machine("m", memories, (), networks=(Network("net", topology, ports, (way,), 2e9),))


def picture(topology: Topology) -> ElementTree.Element:
    return svg_root(network_svg(machine_on(topology)))


def squares(root: ElementTree.Element) -> list[tuple[float, float]]:
    """The middles of the routers, from the upper left one."""
    found = []
    for panel in root.iter(f"{SVG}g"):
        moves = re.findall(r"translate\((\S+) (\S+)\)", panel.get("transform", ""))
        dx, dy = (sum(float(move[axis]) for move in moves) for axis in (0, 1))
        for path in panel.findall(f"{SVG}path"):
            for x, y, size in re.findall(r"M(\S+) ([^h]+)h([^v]+)v", path.get("d", "")):
                found.append((dx + float(x) + float(size) / 2, dy + float(y) + float(size) / 2))
    left, top = min(x for x, _ in found), min(y for _, y in found)
    return [(x - left, y - top) for x, y in found]


@pytest.mark.parametrize(
    "topology",
    [
        Torus((4, 4, 4, 4, 2)),
        Mesh((4, 8)),
        FatTree((4, 4), (1, 4)),
        FatTree((16, 8, 4), (1, 8, 8)),
        ListedLinks((("a", "b"), ("b", "c"), ("c", "d"))),
    ],
    ids=str,
)
def test_every_router_lies_where_its_topology_puts_it(topology: Topology) -> None:
    found, places = squares(picture(topology)), topology.places()
    wanted = [places.at(router) for router in range(topology.router_count)]
    left, top = min(x for x, _ in wanted), min(y for _, y in wanted)
    scale = max(x for x, _ in found) / (max(x for x, _ in wanted) - left)
    assert 0.05 < scale < 1.001
    assert found == [pytest.approx(((x - left) * scale, (y - top) * scale), abs=0.2) for x, y in wanted]


def test_links_go_around_the_edge_of_a_slice_where_the_torus_does() -> None:
    grid = Torus((4, 4))
    placing = Placing(grid)
    for link in grid.links():
        here, there = grid.coordinates(link.source), grid.coordinates(link.destination)
        around = any(abs(a - b) == 3 for a, b in zip(here, there, strict=True))
        assert placing.line(link).count("M") == (2 if around else 1), link


def test_a_fat_tree_shows_its_links_and_the_way_up_and_down() -> None:
    tree = FatTree((4, 4), (1, 4))
    lines = next(each.get("d", "") for each in picture(tree).iter(f"{SVG}path") if "h" not in each.get("d", ""))
    assert lines.count("L") == 16 + 16, "once for both directions"
    machine = machine_on(tree)
    transfer = Transfer.whole(IndexSpace(x=1024), FieldSpace(v="f8"), "node0.sys", "<F, x>", "node15.sys", "<F, x>")
    root = svg_root(network_svg(machine, plan(transfer, machine)))
    (track,) = [each.get("d", "") for each in root.iter(f"{SVG}path") if each.get("stroke-width") == "2.2"]
    turns = [float(y) for _, y in re.findall(r"[ML](\S+) ([^ML]+)", track)]
    assert len(turns) == 2 * 4 and turns[0] == turns[-1] == max(turns) and min(turns) == turns[3], "up to a spine, and down"
    assert "Network net" in html(machine)


def test_a_plan_shows_its_links_and_proxies() -> None:
    machine = preset("bgq", nodes=32)
    transfer = Transfer.whole(IndexSpace(x=1 << 19), FieldSpace(v="f8"), "node0.sys", "<F, x>", "node31.sys", "<F, x>")
    made = plan(transfer, machine, "multipath")
    assert len(made.paths) > 1
    root = svg_root(network_svg(machine, made))
    torus = machine.networks[0]
    lines = [each for each in root.iter(f"{SVG}path") if each.get("stroke-width") == "2.2"]
    links = [len(torus.route(hop.source, hop.destination) or ()) for hop in made.every_hop]
    assert [len(re.findall("[LQ]", each.get("d", ""))) for each in lines] == links, "nothing wraps around in this partition"
    rings = [each for each in root.iter(f"{SVG}circle") if each.get("r") == "4.5"]
    assert len(rings) == sum(len(path.memories) - 2 for path in made.paths)
    assert len(Counter(each.get("class") for each in rings)) <= len(TRACKS)
    assert "source node0.sys" in network_svg(machine, made) and "destination node31.sys" in network_svg(machine, made)
    assert "Network torus" in told_html(made, machine) and "Network torus" in html(machine)


def test_one_router_is_no_picture_and_many_are_frames() -> None:
    assert network_svg(preset("two-node")) == network_svg(preset("two-nics")) == ""
    assert network_svg(preset("v100-mesh")).count(">gpu") == 8
    assert len(network_svg(preset("bgq", nodes=8192))) < 60_000, "of many routers only the slices are drawn"
