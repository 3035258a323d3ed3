"""The conversion of a path at a chosen hop."""

from __future__ import annotations

import random

import pytest
from hypothesis import settings

from isoviz.errors import NoPathError
from isoviz.layouts import FieldSpace, IndexSpace, Layout, OrderChange, order_change
from isoviz.machines import preset
from isoviz.planner import Options, Plan, Transfer, cost, plan
from isoviz.planner.explanation.converting_at import layouts_converting_at

MACHINE = preset("two-node")
ENDS = (("node0.dsk", "node0.sys"), ("node0.fbm0", "node1.fbm0"), ("node0.dsk", "node1.fbm0"))


def converted(made: Plan, hop: int) -> Plan:
    """The plan by hand of the path of a plan, with its conversion at a hop."""
    path = [each.channel for each in made.hops]
    return cost(made.transfer, MACHINE, path, layouts_converting_at(made.transfer, MACHINE, path, hop, Options()))


def turning(made: Plan) -> list[int]:
    (path,) = made.paths
    return [hop for hop, change in enumerate(path.order_changes) if change is OrderChange.CONVERTS]


@pytest.mark.parametrize("source", ["<x, F, y>", "<F, x, y>"])
def test_a_transfer_of_the_tour(source: str) -> None:
    space, fields = IndexSpace(x=64, y=48), FieldSpace(re="f4", im="f4", weight="f8")
    transfer = Transfer.whole(space, fields, "node0.dsk", source, "node0.sys", "<x, y, F>")
    made = plan(transfer, MACHINE, "full")
    assert turning(made) == [1]
    moved = converted(made, 0)
    assert turning(moved) == [0] and moved.paths[0].order_changes[1] in (OrderChange.KEEPS, OrderChange.DISSOLVES)
    assert turning(converted(moved, 1)) == [1], "and back"
    assert converted(moved, 1).seconds <= made.seconds * 1.001


def test_any_hop_of_any_path_can_convert() -> None:
    draw, tried, count = random.Random(55), 0, min(150, settings().max_examples // 2)
    for _ in range(count):
        dims = ["x", "y", "z"][: draw.choice([2, 2, 3])]
        space = IndexSpace.of({dim: draw.choice([7, 16, 48, 64, 100, 1000]) for dim in dims})
        fields = FieldSpace.of({name: draw.choice(["f4", "f8", "i2"]) for name in "abc"[: draw.choice([1, 1, 2, 3])]})
        here, there = (Layout("<" + ", ".join(draw.sample([*dims, "F"], len(dims) + 1)) + ">") for _ in range(2))
        source, destination = draw.choice(ENDS)
        made = plan(Transfer.whole(space, fields, source, here, destination, there), MACHINE, "full")
        ends = made.paths[0].orders[0], made.paths[0].orders[-1]
        if len(made.paths) > 1 or order_change(*ends) is not OrderChange.CONVERTS:
            continue
        for hop in range(len(made.hops)):
            assert turning(converted(made, hop)) == [hop], (space, fields, here, there, hop)
            tried += 1
    assert tried > count


def test_where_no_block_has_two_orders_it_says_so() -> None:
    same = Transfer.whole(IndexSpace(x=64), FieldSpace(v="f4"), "node0.dsk", "<F, x>", "node0.sys", "<F, x>")
    with pytest.raises(NoPathError, match="hop 0 cannot convert"):
        layouts_converting_at(same, MACHINE, [each.channel for each in plan(same, MACHINE).hops], 0, Options())
