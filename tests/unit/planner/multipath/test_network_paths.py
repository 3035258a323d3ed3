"""Several paths over a network: nine between two nodes of Blue Gene/Q, three for each node of two blocks."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import pytest

from isoviz import FieldSpace, IndexSpace, plan, preset, simulate
from isoviz.machines import Machine
from isoviz.planner import Transfer
from isoviz.planner.multipath.machine_links import Demand
from isoviz.planner.multipath.network_paths import proxy_paths
from isoviz.planner.multipath.tuning import MOST_PROXIES

Ends = tuple[str, str]


def found_paths(machine: Machine, ends: Sequence[Ends]) -> list[list[tuple[str, ...]]]:
    network = machine.networks[0]
    proxies = {router: names[0] for router, names in network.memories_at.items()}
    return proxy_paths(network, [Demand(here, (there,)) for here, there in ends], proxies)


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
