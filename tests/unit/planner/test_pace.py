"""What sets the pace of a path: one hop, hops of one channel or of one resource, or the link that several paths use most."""

from __future__ import annotations

from dataclasses import replace

import pytest

import isoviz
from isoviz.layouts import FieldSpace, IndexSpace
from isoviz.machines import Channel, ChannelKind, Constant, Machine, Memory, MemoryKind, Resource, preset
from isoviz.planner import Plan, Transfer
from isoviz.planner.explanation.explain_plan import explain
from isoviz.planner.time.makespan import PaceSetters, paces

GB = 1e9


def two_hops(
    first: float, second: float, *weights: float, capacity: float = 1.0, held: bool = True, name: str = "disk.reading"
) -> Plan:
    """A transfer through one buffer, by hops of these rates that use a resource with these weights."""
    memories = (Memory("a", MemoryKind.SYS), Memory("b", MemoryKind.ZCM), Memory("c", MemoryKind.REG))
    uses = [((name, weight),) if weight else () for weight in weights]
    channels = (
        Channel("one", ChannelKind.MEMCPY, "a", "b", Constant(first), resources=uses[0]),
        Channel("two", ChannelKind.MEMCPY, "b", "c", Constant(second), resources=uses[1]),
    )
    machine = Machine("two", memories, channels, (Resource(name, capacity, held=held),))
    transfer = Transfer.whole(IndexSpace(x=1 << 26), FieldSpace(v="u1"), "a", "<F, x>", "c", "<F, x>")
    return isoviz.plan(transfer, machine, planner="full")


def words(plan: Plan) -> list[str]:
    return [pace.words() for pace in plan.only.paces]


def test_the_hop_that_limits_is_the_slowest() -> None:
    plan = two_hops(3 * GB, 2 * GB, 0, 0)
    assert plan.slowest == (frozenset({1}),) and words(plan) == [""]


def test_hops_that_hold_a_resource_take_turns() -> None:
    plan = two_hops(3 * GB, 2 * GB, 1, 1)
    assert plan.throughput == pytest.approx(1.2 * GB)
    assert plan.slowest == (frozenset({0, 1}),), "a faster one of them makes it faster"
    assert words(plan) == ["Hop 0 and hop 1 take turns (one reader of disk): together 1.2 GB/s"]


def test_hops_that_share_a_part_of_it_slow_each_other_down() -> None:
    plan = two_hops(2 * GB, 2 * GB, 1, 0.5)
    assert plan.throughput == pytest.approx(GB * 4 / 3)
    assert plan.slowest == (frozenset({0, 1}),)
    assert words(plan) == ["Hop 0 and hop 1 slow each other down (they share the reader of disk): together 1.33 GB/s"]


def test_a_resource_with_room_for_both_is_not_named() -> None:
    plan = two_hops(2 * GB, 1 * GB, 1, 1, capacity=4 * GB, held=False, name="bus")
    assert plan.slowest == (frozenset({1}),) and words(plan) == [""]


def test_a_hop_that_uses_up_a_resource_alone_names_it() -> None:
    plan = two_hops(3 * GB, 2 * GB, 1, 0, capacity=1 * GB, held=False, name="bus")
    assert plan.slowest == (frozenset({0}),) and words(plan) == ["It is as fast as bus allows"]


def test_a_faster_hop_among_those_that_set_the_pace_makes_the_transfer_faster() -> None:
    """What is called the slowest is: for random rates and weights, twice the rate of another hop gains nothing."""
    cases = [(3, 2, 1, 1), (2, 2, 1, 0.5), (3, 2, 0, 0), (1, 5, 1, 0.2), (5, 1, 0.2, 1), (2.3, 2.26, 1, 0.4476)]
    for first, second, *weights in cases:
        plan = two_hops(first * GB, second * GB, *weights)
        for hop in (0, 1):
            rates = [first * GB, second * GB]
            rates[hop] *= 1.02
            faster = two_hops(rates[0], rates[1], *weights)
            assert (faster.throughput > plan.throughput * (1 + 1e-6)) is (hop in plan.slowest[0]), (first, second, weights, hop)


def test_ties_are_all_named_unless_a_link_of_several_paths_tells() -> None:
    assert paces(["a", "b"], [2.0, 2.0]) == (PaceSetters((0,), 0.5), PaceSetters((1,), 0.5))
    assert paces(["a", "a", "b"], [2.0, 2.0, 3.0]) == (PaceSetters((0, 1), 1.0),)
    assert paces([], []) == ()
    machine = preset("bgq", nodes=512)
    transfer = Transfer.whole(IndexSpace(x=1 << 20), FieldSpace(v="f8"), "node0.sys", "<F, x>", "node511.sys", "<F, x>")
    plan = isoviz.plan(transfer, machine, planner="multipath")
    assert len(plan.paths) > 4
    for path, slowest in zip(plan.paths, plan.slowest, strict=True):
        if len(path.hops) > 1:
            assert path.slowest == {0, 1} and slowest == {1}, "all paths end on the link into the last node"


def test_an_explanation_says_what_hops_share() -> None:
    plan = two_hops(3 * GB, 2 * GB, 1, 1)
    machine = Machine(
        "two",
        (Memory("a", MemoryKind.SYS), Memory("b", MemoryKind.ZCM), Memory("c", MemoryKind.REG)),
        (
            Channel("one", ChannelKind.MEMCPY, "a", "b", Constant(3 * GB), resources=(("disk.reading", 1),)),
            Channel("two", ChannelKind.MEMCPY, "b", "c", Constant(2 * GB), resources=(("disk.reading", 1),)),
        ),
        (Resource("disk.reading", 1, held=True),),
    )
    found = explain(plan.transfer, machine)
    assert found.candidates[0].limit == "Hop 0 and hop 1 take turns (one reader of disk): together 1.2 GB/s"
    alone = replace(plan, paths=(replace(plan.only, overlap=False),))
    assert alone.slowest == (frozenset({1}),), "where hops do not overlap, the longer one"
