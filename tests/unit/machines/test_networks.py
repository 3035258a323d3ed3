"""Networks: routes against a walk written otherwise and against networkx, files, dead parts, openness, bad input."""

from __future__ import annotations

import gc
import itertools
import json
import pickle
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from math import prod
from typing import Any, ClassVar

import networkx
import numpy as np
import pytest

from isoviz import FieldSpace, IndexSpace, plan
from isoviz.errors import MachineError
from isoviz.machines import (
    Channel,
    ChannelKind,
    Constant,
    DimensionOrder,
    FatTree,
    LatencyBandwidth,
    Link,
    ListedLinks,
    Machine,
    Memory,
    MemoryKind,
    Mesh,
    Neighbours,
    Network,
    Port,
    Routing,
    Shortest,
    Switch,
    Topology,
    Torus,
    Transport,
    UpAndDown,
    draw,
    machine_from_json,
    machine_to_json,
    preset,
    register_routing,
    register_topology,
)
from isoviz.machines.edits.memory_edits import (
    changed_memory,
    changed_network,
    with_dead_parts,
    with_network,
    without_memories,
    without_network,
)
from isoviz.machines.networks import routings, topologies
from isoviz.planner import Transfer

SHAPES = ((4, 4, 4, 4, 2), (3, 5), (7,), (2, 2, 4), (16, 3, 2))
SEND = Transport(ChannelKind.REMOTE_MEMCPY, Constant(1e9))
LETTERS = "ABCDE"


def machine_on(topology: Topology, hosts: int | None = None, routing: Any = None, **fields: Any) -> Machine:
    """A machine with a memory `node<k>.sys` on the k-th router."""
    count = topology.router_count if hosts is None else hosts
    memories = tuple(Memory(f"node{k}.sys", MemoryKind.SYS, k) for k in range(count))
    ports = tuple(Port(memory.name, topology.router_name(k)) for k, memory in enumerate(memories))
    given = {"link_rate": 2e9, "overhead": 1.25, **fields}
    return Machine("m", memories, networks=(Network("net", topology, ports, (SEND,), routing=routing, **given),))


# ---- an independent router: it knows coordinates only, and reads nothing of a route but the names of its links


def place(number: int, sizes: tuple[int, ...]) -> list[int]:
    """Coordinates of the k-th router, the last dimension fastest."""
    found: list[int] = []
    for size in reversed(sizes):
        found.insert(0, number % size)
        number //= size
    return found


def walk(names: list[str], start: int, sizes: tuple[int, ...], wrapping: bool) -> tuple[list[int], list[str]]:
    """Follow link names from a router, step by step; returns the coordinates of the end and the dimension of every step."""
    at = place(start, sizes)
    steps = []
    for name in names:
        stem, sign, letter = name[:-2], name[-2], name[-1]
        assert [int(part) for part in stem.split(".")] == at, f"{name} does not leave {at}"
        dimension = LETTERS.index(letter)
        at[dimension] += 1 if sign == "+" else -1
        if wrapping:
            at[dimension] %= sizes[dimension]
        assert 0 <= at[dimension] < sizes[dimension], f"{name} leaves the mesh"
        steps.append(letter)
    return at, steps


def away(here: int, there: int, size: int, wrapping: bool) -> int:
    """The fewest steps from one coordinate to another, by trying every number of steps."""
    return min(
        count
        for count in range(size)
        for way in (1, -1)
        if (here + way * count) % size == there and (wrapping or 0 <= here + way * count < size)
    )


def orders_in_zone(zone: int, used: list[str], sizes: tuple[int, ...]) -> bool:
    """Whether the dimensions used, in order, are as the zone asks."""
    lengths = [sizes[LETTERS.index(letter)] for letter in used]
    if zone == 1:
        return True
    if lengths != sorted(lengths, reverse=True):
        return False
    both = list(zip(used, lengths, strict=True))
    ties = [(a, b) for (a, size), (b, other) in itertools.pairwise(both) if size == other]
    return zone == 0 or all(a < b if zone == 2 else a > b for a, b in ties)


@pytest.mark.parametrize("kind", [Torus, Mesh])
@pytest.mark.parametrize("sizes", SHAPES, ids=str)
@pytest.mark.parametrize("zone", range(4))
def test_routes_are_those_of_a_walk_on_coordinates(kind: type[Torus | Mesh], sizes: tuple[int, ...], zone: int) -> None:
    wrapping = kind is Torus
    network = machine_on(kind(sizes), routing=DimensionOrder(zone)).networks[0]
    again = machine_on(kind(sizes), routing=DimensionOrder(zone)).networks[0]
    draws = random.Random(f"{sizes} {zone}")
    for _ in range(60):
        a, b = draws.randrange(prod(sizes)), draws.randrange(prod(sizes))
        ends = f"node{a}.sys", f"node{b}.sys"
        route = network.route(*ends)
        assert route is not None and route == again.route(*ends)
        names = [link.name for link in route]
        at, steps = walk(names, a, sizes, wrapping)
        assert at == place(b, sizes)
        assert [link.source for link in route][:1] == ([a] if route else [])
        fewest = [away(x, y, size, wrapping) for x, y, size in zip(place(a, sizes), place(b, sizes), sizes, strict=True)]
        assert Counter(steps) == {LETTERS[k]: count for k, count in enumerate(fewest) if count}
        used = list(dict.fromkeys(steps))
        assert steps == [letter for letter in used for _ in range(fewest[LETTERS.index(letter)])], "one dimension after another"
        assert orders_in_zone(zone, used, sizes)
        assert [letter for letter in network.dimension_order(*ends) if letter in used] == used


def test_random_zones_use_every_order_and_fixed_ones_a_single_one() -> None:
    torus = Torus((4, 4, 4, 4, 2))
    draws = random.Random(44)
    pairs = [(draws.randrange(512), draws.randrange(512)) for _ in range(1500)]
    orders = [{DimensionOrder(zone).order(torus, *pair) for pair in pairs} for zone in range(4)]
    assert list(map(len, orders)) == [24, 120, 1, 1], "4! orders of the equal dimensions, 5! of all"
    assert DimensionOrder(0, seed=1).order(torus, 0, 5) in orders[0]
    assert any(DimensionOrder(0, seed=1).order(torus, *pair) != DimensionOrder(0).order(torus, *pair) for pair in pairs)


def test_the_zone_is_chosen_by_flexibility_and_size() -> None:
    torus, chosen = Torus((4, 4, 4, 4, 2)), DimensionOrder(None)
    near, far = torus.router("0.0.0.1.0"), torus.router("2.2.2.2.1")
    assert (
        chosen.flexibility(torus, 0, far) == 5
        and chosen.flexibility(torus, 0, near) == 0.5
        and chosen.flexibility(torus, 7, 7) == 0
    )
    assert (chosen.zone_of(torus, 0, near), chosen.zone_of(torus, 0, far)) == (0, 1)
    assert chosen.zone_of(torus, 0, far, message_bytes=512) == 2
    assert DimensionOrder(3).zone_of(torus, 0, far, message_bytes=512) == 3, "set, as by PAMI_ROUTING"


@pytest.mark.parametrize(
    "topology", [Mesh((5, 3, 2)), Torus((4, 3, 2)), Torus((5, 4), open="B"), FatTree((4, 2, 3), (1, 2, 2))], ids=str
)
def test_routes_are_as_short_as_those_of_networkx(topology: Topology) -> None:
    hosts = topology.host_count if isinstance(topology, FatTree) else topology.router_count
    machine = machine_on(topology, hosts)
    graph = machine.graph()
    network = machine.networks[0]
    lengths = dict(networkx.all_pairs_shortest_path_length(graph))
    for a in range(hosts):
        for b in range(hosts):
            route = network.route(f"node{a}.sys", f"node{b}.sys")
            assert route is not None
            at = a
            for link in route:
                assert link.source == at
                assert graph.has_edge(*(f"net:{topology.router_name(end)}" for end in link[1:3]), key=f"net:{link.name}")
                at = link.destination
            assert at == b
            assert len(route) + 2 == lengths[f"node{a}.sys"][f"node{b}.sys"] if a != b else not route


def test_a_fat_tree_spreads_destinations_over_its_links_up() -> None:
    tree = FatTree((4, 4), (1, 4))
    network = machine_on(tree, tree.host_count).networks[0]
    used = Counter(network.route(f"node{a}.sys", f"node{b}.sys")[1].name for a in range(4) for b in range(4, 16))  # type: ignore[index]
    assert set(used.values()) == {12} and len(used) == 4, "4 hosts send to 12 over 4 links up from their switch"


@pytest.mark.parametrize(
    "topology", [Torus((3, 2, 4)), Mesh((3, 4)), FatTree((2, 3), (2, 2)), ListedLinks((("a", "b-1", 2), ("b-1", "c>d")))], ids=str
)
def test_names_of_routers_and_links_lead_back_to_them(topology: Topology) -> None:
    links = list(topology.links())
    assert len({link.name for link in links}) == len(links)
    assert all(topology.link(link.name) == link for link in links)
    assert [topology.router(topology.router_name(k)) for k in range(topology.router_count)] == list(range(topology.router_count))
    assert Counter(link.source for link in links) == Counter(link.destination for link in links)


# ---- channels


def test_a_channel_is_made_with_the_links_of_its_route_as_resources() -> None:
    machine = machine_on(Torus((4, 4)))
    (channel,) = machine.between("node0.sys", "node9.sys")
    assert channel == machine.channel("node0.sys->node9.sys net") and channel.kind is ChannelKind.REMOTE_MEMCPY
    assert channel.resources == (("net:0.0+A", 1.25), ("net:1.0+A", 1.25), ("net:2.0+B", 1.25))
    assert machine.resource("net:1.0+A").capacity == 2e9
    assert machine.channels == () and machine.resources == (), "it costs nothing in the machine"
    assert machine.between("node0.sys", "node0.sys") == ()
    wrong: Any
    for wrong in ("node0.sys->node9.sys", "node0.sys->node0.sys net", "node0.sys->node99.sys net", "net:1.0+A", "", None, []):
        with pytest.raises(MachineError, match="no channel"):
            machine.channel(wrong)
    for wrong in ("net:9.0+A", "net:1.0+C", "net:", "other:1.0+A", "net:node0.sys>", None):
        with pytest.raises(MachineError):
            machine.resource(wrong)


def test_own_links_of_ports_and_lanes_have_their_rates() -> None:
    memories = [Memory(f"node{k}.sys", MemoryKind.SYS, k) for k in range(3)]
    ports = tuple(Port(memory.name, "switch", inject=1e9 * (k + 1), receive=5e8) for k, memory in enumerate(memories))
    machine = Machine("m", tuple(memories), networks=(Network("ib", Switch(), ports, (SEND,), 4e9),))
    (channel,) = machine.between("node2.sys", "node0.sys")
    assert [(name, machine.resource(name).capacity) for name, _ in channel.resources] == [
        ("ib:node2.sys>", 3e9),
        ("ib:>node0.sys", 5e8),
    ]
    gpus = tuple(Memory(f"node0.fbm{k}", MemoryKind.FBM) for k in range(3))
    lanes = ListedLinks((("0", "1", 2), ("1", "2")))
    copy = Transport(ChannelKind.GPU_COPY, Constant(4e10))
    ports = tuple(Port(gpu.name, gpu.name[-1]) for gpu in gpus)
    nvlink = Network("nvlink", lanes, ports, (copy,), 25e9, routing=Neighbours())
    machine = Machine("m", gpus, networks=(nvlink,))
    assert machine.resource("nvlink:0>1").capacity == 50e9 and machine.resource("nvlink:2>1").capacity == 25e9
    assert machine.between("node0.fbm0", "node0.fbm1") and not machine.between("node0.fbm0", "node0.fbm2"), "GPUs do not forward"
    assert len(changed_network(machine, "nvlink", routing=Shortest()).between("node0.fbm0", "node0.fbm2")[0].resources) == 2


def test_nothing_is_kept_per_pair() -> None:
    machine = preset("bgq", nodes=512)
    machine.between("node0.sys", "node1.sys")  # what is cached once is cached now
    gc.collect()
    before = len(gc.get_objects())
    draws = random.Random(4)
    for _ in range(300):
        a, b = draws.sample(range(512), 2)
        assert len(machine.between(f"node{a}.sys", f"node{b}.sys")) == 2
    gc.collect()
    assert len(gc.get_objects()) - before < 1500, "a pair leaves behind at most what its source has in the machine"


def test_the_view_of_a_large_machine_grows_with_its_links() -> None:
    machine = preset("bgq", nodes=8192)
    assert sum(1 for _ in machine.networks[0].live_links()) == 81920
    graph = preset("bgq", nodes=512).graph()
    between = sum("link" in data for _, _, data in graph.edges(data=True))
    ports = 2 * (520 + 9)
    assert between == 5120 and graph.number_of_edges() == between + ports + 512 + 2


# ---- dead parts


def test_dead_links_and_routers_carry_nothing() -> None:
    machine = machine_on(Torus((4, 4)))
    dead = with_dead_parts(machine, "net", links=["0.0+A"])
    assert dead.between("node0.sys", "node4.sys") == () and len(dead.between("node4.sys", "node0.sys")) == 1
    with pytest.raises(MachineError, match="no channel"):
        dead.channel("node0.sys->node4.sys net")
    dead = with_dead_parts(machine, "net", routers=["1.0"])
    assert not dead.between("node0.sys", "node4.sys") and not dead.between("node4.sys", "node0.sys")
    assert not dead.between("node3.sys", "node4.sys") and dead.between("node0.sys", "node12.sys")
    assert dead.digest != machine.digest and "dead: 1.0" in draw(dead)
    tree = FatTree((4, 4), (1, 4))
    whole = machine_on(tree, 16)
    usual = whole.networks[0].route("node0.sys", "node5.sys")
    assert usual is not None
    other = with_dead_parts(whole, "net", links=[usual[1].name]).networks[0].route("node0.sys", "node5.sys")
    assert other is not None and len(other) == len(usual) and usual[1] not in other, "a fat tree is routed anew"
    assert with_dead_parts(whole, "net", routers=["1.1"]).networks[0].route("node0.sys", "node5.sys") is None


# ---- values


EVERY = (
    machine_on(Torus((4, 3, 2), open="B"), routing=DimensionOrder(0, seed=7)),
    machine_on(Mesh((3, 2)), routing=DimensionOrder(None, message_bytes=64), dead_links=["0.0+A"], dead_routers=("2.1",)),
    machine_on(FatTree((2, 3), (1, 2)), 6),
    machine_on(Switch()),
    machine_on(ListedLinks((("a", "b", 2), ("b", "c")), one_way=True), routing=Neighbours(), overhead=1.0),
)


@pytest.mark.parametrize("machine", EVERY, ids=lambda machine: machine.networks[0].topology.kind)
def test_files_values_and_pictures(machine: Machine) -> None:
    from isoviz.figures import html

    assert machine_from_json(json.loads(json.dumps(machine_to_json(machine)))) == machine
    for copied in (pickle.loads(pickle.dumps(machine)), replace(machine)):  # made here
        assert copied == machine and hash(copied) == hash(machine) and copied.digest == machine.digest
    slower = changed_network(machine, "net", link_rate=1e9)
    assert slower != machine and slower.digest != machine.digest
    text = draw(machine)
    assert f"network net: {machine.networks[0].topology}" in text and max(map(len, text.splitlines())) <= 120
    assert "1 network" in str(machine) and "Channels of network net" in html(machine)


def test_a_machine_without_networks_is_as_before() -> None:
    machine = preset("two-node")
    assert "networks" not in machine_to_json(machine) and machine.around("node0.sys", "node1.sys") is machine


def test_edits_carry_ports_along() -> None:
    machine = machine_on(Torus((2, 2)))
    renamed, name = changed_memory(machine, "node1.sys", name="other")
    assert name == "other" and renamed.networks[0].router_of("other") == 1 and renamed.between("other", "node0.sys")
    assert not without_memories(machine, ["node1.sys"]).networks[0].has_port("node1.sys")
    network = machine.networks[0]
    bare = without_network(machine, "net")
    assert bare.networks == () and with_network(bare, network) == machine
    with pytest.raises(MachineError, match="no network 'x'; it has net"):
        without_network(machine, "x")
    with pytest.raises(MachineError, match="already"):
        with_network(machine, network)


# ---- kinds of other packages


@register_topology
@dataclass(frozen=True)
class Star(Topology):
    """A hub and its leaves."""

    kind: ClassVar[str] = "test star"
    default_routing: ClassVar[str] = "test by the hub"
    leaves: int

    @property
    def router_count(self) -> int:
        return self.leaves + 1

    def router_name(self, router: int) -> str:
        return f"r{router}"

    def router(self, name: str) -> int:
        if name not in {f"r{k}" for k in range(self.router_count)}:
            raise MachineError(f"no router {name}")
        return int(name[1:])

    def links_from(self, router: int) -> tuple[Link, ...]:
        others = range(1, self.router_count) if router == 0 else (0,)
        return tuple(Link(f"r{router}>r{other}", router, other) for other in others)


@register_routing
@dataclass(frozen=True)
class ByTheHub(Routing):
    """Over the hub."""

    kind: ClassVar[str] = "test by the hub"

    def route(self, topology: Topology, source: int, destination: int, works: Any = None) -> tuple[Link, ...] | None:
        ends = [end for end in (source, destination) if end]
        return tuple(topology.link(f"r{a}>r{b}") for a, b in ((ends[0], 0), (0, ends[-1])))


def test_other_packages_add_topologies_and_rules() -> None:
    machine = machine_on(Star(5))
    assert [name for name, _ in machine.between("node1.sys", "node4.sys")[0].resources] == ["net:r1>r0", "net:r0>r4"]
    assert machine_from_json(machine_to_json(machine)) == machine
    assert "test star" in topologies() and "test by the hub" in routings()
    with pytest.raises(MachineError, match="registered already"):
        register_topology(type("Again", (Star,), {}))
    with pytest.raises(MachineError, match="expected a subclass of Routing"):
        register_routing(int)  # type: ignore[arg-type]


# ---- bad input


def _network(**changes: Any) -> Network:
    fields: dict[str, Any] = {
        "name": "net",
        "topology": Torus((4, 4)),
        "ports": (Port("node0.sys", "0.0"),),
        "transports": (SEND,),
        "link_rate": 1e9,
    }
    return Network(**{**fields, **changes})


def two_links_of_one_name() -> Network:
    """The link of router a towards router b>, and that of memory a>b towards its router."""
    return Network("net", ListedLinks((("a", "b>"),)), (Port("a>b", "a", inject=1e9),), (SEND,), 1e9)


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda: Torus(()), "expected 1 to 26 sizes"),
        (lambda: Torus("44"), "expected whole numbers"),  # type: ignore[arg-type]
        (lambda: Torus((4, 0)), r"sizes\[1\]: expected a whole number from 1"),
        (lambda: Torus((4096, 4096)), "at most 1,048,576 routers"),
        (lambda: Torus((4, 4), open="C"), "expected some of AB"),
        (lambda: FatTree((4, 4), (1,)), "expected 2 numbers"),
        (lambda: FatTree((2,) * 9, (1,) * 9), "expected 1 to 8"),
        (lambda: ListedLinks(()), "expected pairs of routers"),
        (lambda: ListedLinks(np.zeros((2, 3), "f4")), "expected \\(router, router\\)"),
        (lambda: ListedLinks((("a", "a"),)), "joins 'a' to itself"),
        (lambda: ListedLinks((("a", "b"), ("b", "a"))), "stands twice"),
        (
            lambda: ListedLinks((("a>b", "c"), ("a", "b>c"))),
            r"pairs\[1\]: the link a>b>c would have the name of the link of \('a>b', 'c'\)",
        ),
        (lambda: ListedLinks((("a", "b>c"), ("a>b", "c")), one_way=True), "the link a>b>c would have the name"),
        (lambda: two_links_of_one_name(), r"ports\[0\].memory: its own link would have the name of the link 'a>b>'"),
        (lambda: ListedLinks((("a", "b", -1),)), r"pairs\[0\]: expected a finite number"),
        (lambda: DimensionOrder(4), "expected a whole number from 0 to 3"),
        (lambda: Torus((4, 4)).router("4.0"), "expected coordinates from '0.0' to '3.3'"),
        (lambda: Torus((4, 4)).link("0.0+C"), "links are named like '0.0\\+A'"),
        (lambda: FatTree((4,), (1,)).router("1.1"), "hosts are '0' to '3'"),
        (lambda: Switch().router("0"), "its only router is 'switch'"),
        (lambda: _network(name="a:b"), "without ':' and '/'"),
        (lambda: _network(name="a b"), "one printable word"),
        (lambda: _network(topology="torus"), "expected a topology"),
        (lambda: _network(routing="shortest"), "expected a routing rule"),
        (lambda: _network(routing=UpAndDown()), "expected a fat tree, got a torus"),
        (lambda: _network(topology=Switch(), ports=(), routing=DimensionOrder()), "expected a torus or a mesh"),
        (lambda: _network(ports=(Port("a", "9.9"),)), r"ports\[0\].router: torus: no router '9.9'"),
        (lambda: _network(ports=(Port("a", "0.0"), Port("a", "0.1"))), "'a' has a port already"),
        (lambda: _network(ports=("a",)), r"ports\[0\]: expected a Port"),
        (lambda: _network(transports=()), "at least one transport"),
        (lambda: _network(transports=(SEND, SEND)), "already that of another transport"),
        (lambda: _network(link_rate=0), "link_rate: expected a finite number > 0"),
        (lambda: _network(overhead=0.5), "overhead: expected a finite number ≥ 1"),
        (lambda: _network(dead_links=["0.0+Z"]), r"dead_links\[0\]: torus: no link '0.0\+Z'"),
        (lambda: _network(dead_routers="0.0"), "dead_routers: expected names"),
        (lambda: Port("a", "r", inject=0), "inject: expected a finite number > 0"),
        (lambda: Transport("None", Constant(1.0)), "expected one of"),  # type: ignore[arg-type]
        (
            lambda: Machine("m", (Memory("b", MemoryKind.SYS),), networks=(_network(),)),
            "no memory 'node0.sys'; the machine has b",
        ),
        (lambda: _network().route("node0.sys", "node9.sys"), "'node9.sys' has no port"),
        (lambda: _network(topology=Switch(), ports=(Port("a", "switch"),)).dimension_order("a", "a"), "not by dimension order"),
    ],
)
def test_bad_input_is_told_in_words(make: Callable[[], object], problem: str) -> None:
    with pytest.raises(MachineError, match=problem):
        make()


def test_a_channel_may_not_take_the_name_of_one_of_a_network() -> None:
    machine = machine_on(Torus((2, 2)))
    channel = Channel("node0.sys->node1.sys net", ChannelKind.REMOTE_MEMCPY, "node0.sys", "node1.sys", Constant(1e9))
    with pytest.raises(MachineError, match="is that of a part of the network 'net'"):
        replace(machine, channels=(channel,))


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda net: net["topology"].update(kind="ring"), r"networks\[0\].topology.kind: 'ring' is not known"),
        (lambda net: net["topology"].pop("kind"), r"networks\[0\].topology: the key 'kind' is missing"),
        (lambda net: net["topology"].update(sizes=[2, -1, 2]), r"networks\[0\].topology.sizes\[1\]: expected a whole number"),
        (lambda net: net["routing"].update(zone=9), r"networks\[0\].routing.zone: expected a whole number from 0 to 3"),
        (lambda net: net["ports"][1].update(router="x"), r"networks\[0\].ports\[1\].router: torus: no router 'x'"),
        (lambda net: net["transports"][0].update(throughput={"type": "x"}), r"networks\[0\].transports\[0\].throughput"),
        (lambda net: net.update(links=1), r"networks\[0\]: unknown key 'links'"),
    ],
)
def test_errors_of_files_name_the_place(change: Callable[[Any], object], problem: str) -> None:
    data = machine_to_json(EVERY[0])
    change(data["networks"][0])
    with pytest.raises(MachineError, match=problem):
        machine_from_json(data)


def test_a_transport_says_what_kernels_reach_over_it() -> None:
    """A hop that changes the layout has the rate of kernels; files keep it, and machines without it have another digest."""
    memories = tuple(Memory(f"node{k}.sys", MemoryKind.SYS, k) for k in range(2))
    ports = tuple(Port(memory.name, "switch", inject=50e9, receive=50e9) for memory in memories)
    slow = LatencyBandwidth(1e-9, 1e9)
    send = Transport(
        ChannelKind.REMOTE_MEMCPY, LatencyBandwidth(1e-6, 20e9), layout_throughput=slow, conversion_setup=2e-5, descriptors=16
    )
    machine = Machine("m", memories, networks=(Network("ib", Switch(), ports, (send,), 50e9),))
    (channel,) = machine.between("node0.sys", "node1.sys")
    assert (channel.layout_throughput, channel.conversion_setup, channel.descriptors) == (slow, 2e-5, 16)
    space, field = IndexSpace(x=1024, y=1024), FieldSpace(v="f4")
    plain, changed = (
        plan(Transfer.whole(space, field, "node0.sys", "<F, x, y>", "node1.sys", layout), machine, "direct").seconds
        for layout in ("<F, x, y>", "<F, y, x>")
    )
    assert changed > (4 << 20) / 1e9 > plain
    assert machine_from_json(machine_to_json(machine)) == machine
    without = replace(machine, networks=(replace(machine.networks[0], transports=(replace(send, layout_throughput=None),)),))
    assert machine_from_json(machine_to_json(without)) == without and without.digest != machine.digest
    with pytest.raises(MachineError, match="layout_throughput"):
        Transport(ChannelKind.REMOTE_MEMCPY, slow, layout_throughput=1e9)  # type: ignore[arg-type]
