"""The networks as the canvas gets them: ports and links as the machine has them, and what large machines leave out."""

from __future__ import annotations

import json

import pytest

from isoviz import FieldSpace, IndexSpace, Layout, Transfer, plan
from isoviz.machines import Machine, Memory, MemoryKind, preset
from isoviz.machines.kinds import ChannelKind
from isoviz.machines.networks import (
    FatTree,
    Grid,
    ListedLinks,
    Mesh,
    Network,
    Panel,
    Places,
    Port,
    Switch,
    Topology,
    Torus,
    Transport,
)
from isoviz.machines.throughput import LatencyBandwidth
from isoviz.planner import Instance
from isoviz.widgets.panes.machine_pane import canvas_part
from isoviz.widgets.panes.network_pane import ShownPorts, legs_of, networks_of

WAY = Transport(ChannelKind.REMOTE_MEMCPY, LatencyBandwidth(1e-6, 1e9))


def machine_on(topology: object, routers: list[str]) -> Machine:
    memories = tuple(Memory(f"node{node}.sys", MemoryKind.SYS, node) for node in range(len(routers)))
    ports = tuple(Port(memory.name, router) for memory, router in zip(memories, routers, strict=True))
    return Machine("m", memories, (), networks=(Network("net", topology, ports, (WAY,), 2e9, overhead=2.0),))  # type: ignore[arg-type]


def expanded(runs: list[ShownPorts]) -> list[tuple[int, str]]:
    return [
        (run["router"] + each, f"{run['before']}{'' if run['number'] is None else run['number'] + each}{run['after']}")
        for run in runs
        for each in range(run["count"])
    ]


@pytest.mark.parametrize("nodes", [32, 128, 512])
def test_ports_are_runs_of_routers_and_memories(nodes: int) -> None:
    machine = preset("bgq", nodes=nodes)
    shown_networks, others = networks_of(machine)
    for network, shown in zip(machine.networks, shown_networks, strict=True):
        assert expanded(shown["ports"]) == [(network.router_of(port.memory), port.memory) for port in network.ports]
        assert len(shown["ports"]) <= 1 + nodes // 64 + 1, "in few numbers"
    assert others == [memory.name for memory in machine.memories if memory.name.endswith("dsk")]


def test_names_of_all_kinds_are_told() -> None:
    names = ["a", "b", "gpu07", "gpu08", "n9", "n10", "n11", "n1x2"]
    memories = tuple(Memory(name, MemoryKind.SYS, node) for node, name in enumerate(names))
    ports = tuple(Port(name, f"0.{place}") for place, name in enumerate(names))
    machine = Machine("m", memories, (), networks=(Network("net", Mesh((1, 8)), ports, (WAY,), 2e9),))
    ((shown,), _) = networks_of(machine)
    assert expanded(shown["ports"]) == list(enumerate(names))


def unrolled(runs: list[list[float]]) -> list[list[float]]:
    rows = []
    for count, *rest in runs:
        half = len(rest) // 2
        rows += [
            [first + each * step for first, step in zip(rest[:half], rest[half:], strict=True)] for each in range(int(count))
        ]
    return rows


TOPOLOGIES = (
    (Torus((4, 2, 3), open="B"), ["0.0.0", "3.1.2"]),
    (Mesh((4, 5)), ["0.0", "3.4"]),
    (Torus((4, 4, 4, 4, 2)), ["0.0.0.0.0"]),
    (FatTree((4, 4), (1, 2)), ["0", "15"]),
    (Switch(), ["switch", "switch"]),
    (ListedLinks((("a", "b", 2), ("b", "c"), ("a", "c"))), ["a", "c"]),
)


@pytest.mark.parametrize(("topology", "routers"), TOPOLOGIES, ids=str)
def test_a_network_is_told_as_its_topology_draws_it(topology: Topology, routers: list[str]) -> None:
    ((shown,), _) = networks_of(machine_on(topology, routers))
    places = topology.places()
    assert unrolled(shown["points"]) == [pytest.approx(point, abs=0.01) for point in places.points]
    assert [(panel["x"], panel["y"], panel["title"]) for panel in shown["panels"]] == [tuple(panel) for panel in places.panels]
    assert [tuple(axis.values()) for axis in shown["axes"]] == [tuple(axis) for axis in places.axes]
    assert (shown["shape"], shown["routers"]) == (places.shape, topology.router_count)
    told = 1 if places.alike else len(places.panels)
    within = {
        (min(link[1:3]), max(link[1:3]), link.width)
        for link in topology.links()
        if not places.is_across(link.source, link.destination) and link.source < told * len(places.points)
    }
    assert sorted(map(tuple, unrolled(shown["links"]))) == sorted(within)
    assert shown["rate"] == 1e9, "of data"
    names = shown["names"] or [topology.router_name(router) for router in range(topology.router_count)]
    assert (shown["names"] == []) == isinstance(topology, Grid), "those of a grid follow from its coordinates"
    assert [names[router] for router, _ in expanded(shown["ports"])] == routers


class Different(ListedLinks):
    """Four routers in two panels: a link in the first, none in the second."""

    def places(self) -> Places:
        return Places(((0.0, 0.0), (40.0, 0.0)), 40, (Panel(0, 0), Panel(0, 60)))


def test_panels_with_different_links_are_told_one_by_one() -> None:
    links = ListedLinks((("a", "b"), ("b", "c"), ("c", "d"))).pairs
    ((shown,), _) = networks_of(machine_on(Different(links), ["a", "d"]))
    assert unrolled(shown["links"]) == [[0, 1, 1], [2, 3, 1]]
    one_sided = Different((*links[:2], ("a", "d")))
    ((shown,), _) = networks_of(machine_on(one_sided, ["a", "d"]))
    assert unrolled(shown["links"]) == [[0, 1, 1]]


def test_a_large_grid_is_told_in_few_numbers() -> None:
    ((shown,), _) = networks_of(machine_on(Torus((64, 64)), ["0.0"]))
    assert len(unrolled(shown["points"])) == 4096 and len(unrolled(shown["links"])) == 2 * 4096
    assert len(json.dumps(shown)) < 6_000


def test_links_of_the_plan_are_those_that_the_hardware_takes() -> None:
    machine = preset("bgq", nodes=32)
    space, fields = IndexSpace(x=2**19), FieldSpace(v="float64")
    ends = [Instance(name, space, fields, Layout("<F, x>")) for name in ("node0.sys", "node31.sys")]
    made = plan(Transfer(*ends), machine, "multipath")
    assert len(made.paths) > 1
    legs = legs_of(made, machine)
    assert [leg["hop"] for leg in legs] == list(range(len(made.every_hop)))
    torus = machine.networks[0]
    for leg, hop in zip(legs, made.every_hop, strict=True):
        names = [link["name"] for link in leg["links"]]
        assert tuple(names) == torus.resources_between(hop.source, hop.destination)
        for link in leg["links"]:
            assert link["capacity"] == pytest.approx(machine.resource(link["name"]).capacity / torus.overhead)
        between = [link for link in leg["links"] if min(link["source"], link["destination"]) >= 0]
        ends_of = [torus.router_of(hop.source), *[link["destination"] for link in between]]
        assert [link["source"] for link in between] == ends_of[:-1]
        assert ends_of[-1] == torus.router_of(hop.destination)


def test_a_large_machine_is_drawn_by_its_networks_alone() -> None:
    assert canvas_part(preset("bgq", nodes=128))["whole"]
    large = canvas_part(preset("bgq", nodes=512))
    assert not large["whole"]
    assert large["memories"] == large["channels"] == []
