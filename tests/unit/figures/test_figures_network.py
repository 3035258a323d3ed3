"""The static figure of a torus: every router once, the links of every path of a plan, its proxies as rings."""

from __future__ import annotations

import re
from collections import Counter
from xml.etree import ElementTree

import pytest

from isoviz import FieldSpace, IndexSpace, plan
from isoviz.figures import html, network_svg
from isoviz.figures.machines.network_picture import TRACKS, Slices
from isoviz.figures.plans.plan_html import plan_html
from isoviz.machines import preset
from isoviz.machines.networks import Grid, Mesh, Torus
from isoviz.planner import Transfer

SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize(
    "grid",
    [Torus((4, 4, 4, 4, 2)), Torus((2, 2, 4, 2, 2), open="ABDE"), Mesh((4, 8)), Torus((7,)), Torus((8, 8, 8)), Mesh((1, 3))],
)
def test_every_router_has_a_place_of_its_own_in_its_slice(grid: Grid) -> None:
    slices = Slices(grid)
    places = {router: slices.at(router) for router in range(grid.router_count)}
    assert len(set(places.values())) == grid.router_count
    corners = dict(slices.titles())
    outer = sorted((*slices.across.outer, *slices.down.outer))
    for router, (x, y) in places.items():
        at = grid.coordinates(router)
        left, top = slices.corner(at)
        assert corners[left, top] == " ".join(f"{grid.dimensions[dim]}{at[dim]}" for dim in outer)
        assert 0 < x - left < slices.width and 0 < y - top < slices.height
    assert max(x for x, _ in places.values()) < slices.size[0] and max(y for _, y in places.values()) < slices.size[1]


def test_links_go_around_the_edge_of_a_slice_where_the_torus_does() -> None:
    grid = Torus((4, 4))
    slices = Slices(grid)
    for router in range(grid.router_count):
        for link in grid.links_from(router):
            here, there = grid.coordinates(link.source), grid.coordinates(link.destination)
            around = any(abs(a - b) == 3 for a, b in zip(here, there, strict=True))
            assert slices.line(link).count("M") == (2 if around else 1), link


def test_a_plan_shows_its_links_and_proxies() -> None:
    machine = preset("bgq", nodes=32)
    transfer = Transfer.whole(IndexSpace(x=1 << 19), FieldSpace(v="f8"), "node0.sys", "<F, x>", "node31.sys", "<F, x>")
    made = plan(transfer, machine, "multipath")
    assert len(made.paths) > 1
    root = ElementTree.fromstring(network_svg(machine, made))
    torus = machine.networks[0]
    lines = [each for each in root.iter(f"{SVG}path") if each.get("stroke-width") == "2.2"]
    links = [len(torus.route(hop.source, hop.destination) or ()) for hop in made.every_hop]
    assert [len(re.findall("[LQ]", each.get("d", ""))) for each in lines] == links, "nothing wraps around in this partition"
    rings = [each for each in root.iter(f"{SVG}circle") if each.get("r") == "4.5"]
    assert len(rings) == sum(len(path.memories) - 2 for path in made.paths)
    assert len(Counter(each.get("class") for each in rings)) <= len(TRACKS)
    assert "source node0.sys" in network_svg(machine, made) and "destination node31.sys" in network_svg(machine, made)
    assert "Network torus" in plan_html(made, machine) and "Network torus" in html(machine)


def test_machines_without_a_torus_have_no_such_figure() -> None:
    assert network_svg(preset("two-node")) == network_svg(preset("v100-mesh")) == ""
    assert len(network_svg(preset("bgq", nodes=8192))) < 60_000, "of many routers only the slices are drawn"
