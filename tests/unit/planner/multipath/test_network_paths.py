"""Several paths over a network: nine between two nodes of Blue Gene/Q, three for each node of two blocks."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import pytest

from isoviz import FieldSpace, IndexSpace, plan, preset, simulate
from isoviz.machines import ChannelKind, Constant, LatencyBandwidth, Machine, Memory, MemoryKind, Network, Port, Torus, Transport
from isoviz.planner import Options, Plan, Transfer, plan_together
from isoviz.planner.multipath.machine_links import Demand
from isoviz.planner.multipath.several_paths import proxy_paths
from isoviz.planner.multipath.tuning import MOST_PROXIES
from isoviz.units import format_seconds

Ends = tuple[str, str]


def found_paths(machine: Machine, ends: Sequence[Ends]) -> list[list[tuple[str, ...]]]:
    network = machine.networks[0]
    found = proxy_paths(network, [Demand(here, (there,)) for here, there in ends])
    memories = network.memories_at
    return [
        [(stops.source, *(memories[router][0] for router in stops.routers), stops.destination) for stops in paths]
        for paths in found
    ]


def check(machine: Machine, ends: Sequence[Ends], paths: list[list[tuple[str, ...]]]) -> None:
    """The legs go as the hardware routes them, so their links are asked for; no link is on two paths."""
    network, users = machine.networks[0], Counter[str]()
    for (here, there), each in zip(ends, paths, strict=True):
        for stops in each:
            assert len(stops) - 2 <= MOST_PROXIES and (stops[0], stops[-1]) == (here, there)
            for leg in itertools.pairwise(stops):
                route = network.route(*leg)
                assert route
                users.update(link.name for link in route)
    assert max(users.values()) == 1


@pytest.mark.parametrize(("here", "there"), [(0, 1), (0, 511), (17, 300), (5, 490)])
def test_nine_paths_between_two_nodes(here: int, there: int) -> None:
    machine = preset("bgq", nodes=512)
    ends = [(f"node{here}.sys", f"node{there}.sys")]
    paths = found_paths(machine, ends)
    check(machine, ends, paths)
    assert len(paths[0]) == 9


def test_three_paths_for_each_node_of_two_blocks() -> None:
    """From 64 nodes to 64 others, each to its counterpart."""
    machine = preset("bgq", nodes=512)
    ends = [(f"node{k}.sys", f"node{k + 256}.sys") for k in range(64)]
    paths = found_paths(machine, ends)
    check(machine, ends, paths)
    assert sum(map(len, paths)) >= 180 and max(map(len, paths)) >= 3


def test_dead_links_are_avoided() -> None:
    machine = preset("bgq", nodes=512)
    network = machine.networks[0]
    ends = [("node0.sys", "node511.sys")]
    first = network.route("node0.sys", found_paths(machine, ends)[0][0][1])
    assert first
    broken = replace(machine, networks=(replace(network, dead_links=(first[0].name,)), *machine.networks[1:]))
    paths = found_paths(broken, ends)
    check(broken, ends, paths)
    assert len(paths[0]) == 8


def test_a_large_message_takes_many_paths_and_a_small_one_takes_one() -> None:
    machine = preset("bgq", nodes=512)

    def moved(nbytes: int) -> Transfer:
        return Transfer.whole(IndexSpace(x=nbytes), FieldSpace(v="u1"), "node0.sys", "<F, x>", "node511.sys", "<F, x>")

    made, one = plan(moved(128 << 20), machine, "multipath"), plan(moved(128 << 20), machine, "full")
    assert 7 <= len(made.paths) <= 9
    assert one.seconds / made.seconds > 6
    assert simulate(made, machine).end == pytest.approx(made.seconds, rel=1e-6)
    assert len(plan(moved(1024), machine, "multipath").paths) == 1


def moved(nbytes: int, here: str, there: str) -> Transfer:
    return Transfer.whole(IndexSpace(x=nbytes), FieldSpace(v="u1"), here, "<F, x>", there, "<F, x>")


def ring(ports: dict[str, str], memories: Sequence[Memory], *networks: Network) -> Machine:
    """A ring of four routers with some memories on it, by router."""
    joined = Network(
        "ring",
        Torus((4,)),
        tuple(Port(name, router) for name, router in ports.items()),
        (Transport(ChannelKind.REMOTE_MEMCPY, LatencyBandwidth(1e-6, 1e9)),),
        link_rate=1e9,
    )
    return Machine("ring", tuple(memories), networks=(joined, *networks))


def check_moves_all(plans: Sequence[Plan], nbytes: int) -> None:
    assert sum(each.bytes for each in plans) == nbytes
    assert all(each.seconds > 0 for each in plans)


@pytest.mark.parametrize("kind", [MemoryKind.REG, MemoryKind.FBM])
def test_a_leg_that_no_transport_joins_is_on_no_path(kind: MemoryKind) -> None:
    """Two ports of one node, or a memory of a kind that the transport does not reach."""
    node = 1 if kind is MemoryKind.REG else 2
    memories = [Memory(f"node{k}.sys", MemoryKind.SYS, k) for k in (0, 1, 3)] + [Memory("other", kind, node)]
    machine = ring({"node0.sys": "0", "node1.sys": "1", "other": "2", "node3.sys": "3"}, memories)
    question = moved(1 << 28, "node1.sys", "node3.sys")
    least = plan(question, machine, "full").seconds
    for planner in ("multipath", "auto"):
        made = plan(question, machine, planner)
        assert made.seconds <= least * (1 + 1e-9)
        assert all(path.memories in (("node1.sys", "node3.sys"), ("node1.sys", "node0.sys", "node3.sys")) for path in made.paths)
    check_moves_all(plan_together([question], machine), question.nbytes)


def test_a_path_takes_the_memory_of_a_router_that_its_transport_reaches() -> None:
    """Router 3 has a GPU and a host memory; messages join host memories only."""
    memories = [Memory(f"node{k}.sys", MemoryKind.SYS, k) for k in range(4)] + [Memory("node3.fbm0", MemoryKind.FBM, 3)]
    ports = {"node0.sys": "0", "node1.sys": "1", "node2.sys": "2", "node3.fbm0": "3", "node3.sys": "3"}
    made = plan(moved(1 << 28, "node0.sys", "node1.sys"), ring(ports, memories), "multipath")
    assert {path.memories for path in made.paths} == {("node0.sys", "node1.sys"), ("node0.sys", "node3.sys", "node1.sys")}


def test_destinations_that_cannot_be_reached_get_nothing() -> None:
    """One on the node of the source is reached over another node; one that no channel leads to is not; the source is none."""
    memories = [Memory(f"node{k}.sys", MemoryKind.SYS, k) for k in range(4)] + [
        Memory("node0.reg", MemoryKind.REG, 0),
        Memory("far.sys", MemoryKind.SYS, 9),
    ]
    machine = ring({f"node{k}.sys": str(k) for k in range(4)} | {"node0.reg": "2"}, memories)
    question = moved(1 << 24, "node0.sys", "node1.sys")
    for others in (["node0.reg"], ["far.sys"], ["node0.reg", "node3.sys", "far.sys"], ["node0.sys"]):
        plans = plan_together([question], machine, destinations=others)
        check_moves_all(plans, question.nbytes)
        ends = {each.transfer.destination.memory for each in plans}
        assert ends <= {"node1.sys", "node3.sys", "node0.reg"}, "the last one over another node"


def test_ends_on_two_networks() -> None:
    memories = [Memory(f"node{k}.sys", MemoryKind.SYS, k) for k in range(8)]
    ports = tuple(Port(f"node{k}.sys", str(k - 3)) for k in range(3, 7))
    second = Network("second", Torus((4,)), ports, (Transport(ChannelKind.REMOTE_MEMCPY, Constant(2e9)),), link_rate=1e9)
    machine = ring({f"node{k}.sys": str(k) for k in range(4)}, memories, second)
    question = moved(1 << 24, "node1.sys", "node5.sys")
    least = plan(question, machine, "full").seconds
    assert plan(question, machine, "multipath").seconds <= least * (1 + 1e-9)
    assert plan_together([question], machine)[0].seconds <= least * (1 + 1e-9)


def test_the_note_says_the_time_of_the_plan_and_what_is_full() -> None:
    """Paths to one node share its reception: many bytes fill it, and no channel. Fewer paths are not faster."""
    machine = preset("bgq", nodes=512)
    for mib, said in ((2, "; busiest: "), (16, "; full: torus:>node511.sys (13.3 GB/s)")):
        question = moved(mib << 20, "node0.sys", "node511.sys")
        made = plan(question, machine, "multipath")
        assert f"{len(made.paths)} paths in {format_seconds(made.seconds)}, " in made.notes[-1]
        assert said in made.notes[-1]
        assert simulate(made, machine).end == pytest.approx(made.seconds, rel=1e-9)
        if mib == 2:
            assert plan(question, machine, "multipath", Options(paths=8)).seconds >= made.seconds * 0.995
