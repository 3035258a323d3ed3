"""Transfers that begin together over a network: groups, I/O nodes, dead parts, and calls that make no sense."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from isoviz import FieldSpace, IndexSpace, plan, preset, simulate
from isoviz.errors import InputError, MachineError, NoPathError, SpaceError, TransferError
from isoviz.machines import Machine
from isoviz.machines.presets.blue_gene import bridge_nodes, io_node
from isoviz.planner import (
    Plan,
    Transfer,
    explain,
    explanation_text,
    explanation_to_json,
    plan_from_json,
    plan_to_json,
    plan_together,
)

NODES = 128


@pytest.fixture(scope="module")
def machine() -> Machine:
    return preset("bgq", nodes=NODES)


def moved(nbytes: int, source: int, destination: int) -> Transfer:
    ends = f"node{source}.sys", "<F, x>", f"node{destination}.sys", "<F, x>"
    return Transfer.whole(IndexSpace(x=nbytes), FieldSpace(v="u1"), *ends)


def direct_end(transfers: Sequence[Transfer], machine: Machine) -> float:
    return simulate([plan(each, machine, "direct") for each in transfers], machine).end


def with_dead(machine: Machine, **dead: tuple[str, ...]) -> Machine:
    torus, *others = machine.networks
    return replace(machine, networks=(replace(torus, **dead), *others))  # type: ignore[arg-type]


def proxies(plans: Sequence[Plan]) -> set[str]:
    return {name for each in plans for path in each.paths for name in path.memories[1:-1]}


def test_a_block_to_its_counterpart(machine: Machine) -> None:
    transfers = [moved(1 << 20, k, 64 + k) for k in range(16)]
    plans = plan_together(transfers, machine)
    assert [each.transfer for each in plans] == transfers
    assert min(len(each.paths) for each in plans) >= 2, "paths are given in turn"
    assert simulate(plans, machine).end < 0.6 * direct_end(transfers, machine)
    assert all(len(each.paths) == 1 for each in plan_together([moved(512, k, 64 + k) for k in range(16)], machine))


def test_io_nodes_share_what_few_nodes_send(machine: Machine) -> None:
    """Four nodes of one half write. By default all of it goes to one of the two I/O nodes, and the other one is idle."""
    inputs = [moved(4 << 20, k, io_node(NODES, k)) for k in (1, 9, 17, 33)]
    ends = [f"node{NODES + k}.sys" for k in range(len(bridge_nodes(NODES)))]
    plans = plan_together(inputs, machine, destinations=ends)
    assert {each.transfer.destination.memory for each in plans} == set(ends)
    assert sum(each.bytes for each in plans) == 4 * (4 << 20)
    assert simulate(plans, machine).end < 0.6 * direct_end(inputs, machine)
    assert simulate(plan_together(inputs, machine), machine).end > 0.9 * direct_end(inputs, machine), "one I/O node is full"


def test_one_node_to_many(machine: Machine) -> None:
    """Scattered: the links out of the one node are busy all the time."""
    transfers = [moved(2 << 20, 0, k) for k in (5, 40, 77, 100)]
    plans = plan_together(transfers, machine)
    assert simulate(plans, machine).end < 0.75 * direct_end(transfers, machine)


def test_groups_may_overlap(machine: Machine) -> None:
    """A node sends twice, receives twice, and sends what it gets; a transfer within a memory is none of the network's."""
    transfers = [moved(1 << 20, *ends) for ends in ((0, 5), (0, 9), (3, 5), (5, 9), (7, 7))]
    plans = plan_together(transfers, machine)
    assert [each.transfer for each in plans] == transfers
    assert plans[-1].notes[-1] == "one path: source and destination are one memory"
    assert simulate(plans, machine).end <= 1.001 * direct_end(transfers[:-1], machine)


def test_dead_parts_are_planned_around(machine: Machine) -> None:
    transfers = [moved(1 << 20, 0, 100), moved(1 << 20, 3, 70)]
    users = sorted(proxies(plan_together(transfers, machine)))
    assert users
    router = machine.networks[0].port(users[0]).router
    route = machine.networks[0].route("node0.sys", "node100.sys")
    assert route
    broken = with_dead(machine, dead_routers=(router,), dead_links=(route[0].name,))
    plans = plan_together(transfers, broken)
    assert users[0] not in proxies(plans)
    assert all(len(each.paths) > 1 for each in plans)
    network = broken.networks[0]
    for each in plans:
        for path in each.paths:
            assert all(network.route(hop.source, hop.destination) for hop in path.hops), "no leg meets a dead part"
    with pytest.raises(NoPathError):
        plan_together([moved(8, 0, 100)], with_dead(machine, dead_routers=(network.port("node100.sys").router,)))


def test_calls_that_make_no_sense(machine: Machine) -> None:
    with pytest.raises(MachineError, match="no partition of 100 nodes; there are 32, 64"):
        plan_together([moved(8, 0, 1)], preset("bgq", nodes=100))
    with pytest.raises(InputError, match="expected at least one transfer"):
        plan_together([], machine)
    with pytest.raises(InputError, match="transfer 1"):
        plan_together([moved(8, 0, 1), "node0.sys"], machine)  # type: ignore[list-item]
    with pytest.raises(InputError, match="destinations"):
        plan_together([moved(8, 0, 1)], machine, destinations="node128.sys")
    with pytest.raises(MachineError, match="node999"):
        plan_together([moved(8, 0, 1)], machine, destinations=["node999.sys"])
    with pytest.raises(TransferError, match="the destination needs"):
        plan_together([moved(1 << 35, 128, 0)], machine)
    with pytest.raises(SpaceError, match="not at least 1"):
        moved(0, 0, 1)


def test_plans_of_a_group_are_explained_and_kept(machine: Machine) -> None:
    plans = plan_together([moved(1 << 20, k, 64 + k) for k in range(4)], machine)
    explained = explain(plans[0], machine)
    assert explained.several is not None and len(explained.several.plan.paths) == len(plans[0].paths)
    assert explained.several.links and "Why these paths" in explanation_text(explained)
    assert plan_from_json(plan_to_json(plans[0])) == plans[0]


def test_a_small_message_says_why_it_takes_one_path(machine: Machine) -> None:
    explained = explain(moved(1024, 0, 100), machine, "multipath")
    text = explanation_text(explained)
    assert "Why one path" in text and "two paths are faster from about" in " ".join(text.split())
    several = explanation_to_json(explained)["several_paths"]
    assert several["considered"] > 1 and several["by_paths"][1] >= several["by_paths"][0]


def test_auto_takes_several_paths_over_a_network(machine: Machine) -> None:
    assert len(plan(moved(64 << 20, 0, 100), machine).paths) > 4
    assert len(plan(moved(4096, 0, 100), machine).paths) == 1
