"""Small pictures of layouts: the close look at a block changes where the order turns, and nowhere else."""

from __future__ import annotations

from itertools import pairwise

from isoviz.figures.layouts.small_picture import close_look, turned_dims
from isoviz.figures.machines.path_picture import path_svg
from isoviz.layouts import FieldSpace, IndexSpace, Layout, OrderChange
from isoviz.machines import preset
from isoviz.planner import Plan, Transfer, plan

MACHINE = preset("two-node")


def turned_on_the_way() -> Plan:
    """Isometry, section 4.3."""
    space, fields = IndexSpace(x=8192, y=8192), FieldSpace(value="complex128")
    return plan(Transfer.whole(space, fields, "node0.fbm0", "<F, x, y>", "node1.fbm0", "<F, y, x>"), MACHINE, "full")


def test_the_close_look_changes_at_the_hop_that_converts() -> None:
    path = turned_on_the_way().only
    dims = turned_dims(path.orders[0], path.orders[-1])
    assert dims == ("x", "y")
    assert path.block == {"x": 16, "y": 2048}
    looks = [close_look(order, dims, path.block) for order in path.orders]
    turns = [before != after for before, after in pairwise(looks)]
    assert turns == [change is OrderChange.CONVERTS for change in path.order_changes]
    assert turns == [False, False, True, False, False]
    assert looks[0].order[:3] == ((0, 0), (1, 0), (2, 0))
    assert looks[-1].order[:3] == ((0, 0), (0, 1), (0, 2))


def test_the_picture_of_a_path_has_the_layouts_of_both_ends_of_each_hop() -> None:
    found = turned_on_the_way()
    svg = path_svg(MACHINE, found, theme="light")
    assert svg.count('r="2.4"') == 2 * len(found.hops), "the begin of each close look"
    for change in found.only.order_changes:
        assert change in svg
    assert len(svg) < 200_000


def test_fields_stand_beside_each_other() -> None:
    space, fields = IndexSpace(x=8, y=8), FieldSpace(re="float32", im="float32")
    structs = close_look(Layout("<F, x, y>").on(space, fields), ("x", "y"), {})
    arrays = close_look(Layout("<x, y, F>").on(space, fields), ("x", "y"), {})
    assert (structs.columns, structs.each) == (4, 2)
    assert [column for column, _ in structs.order[:4]] == [0, 2, 1, 3]
    assert [column for column, _ in arrays.order[:4]] == [0, 1, 0, 1]


def test_one_dimension_has_its_fields_below_each_other() -> None:
    look = close_look(Layout("<F, x>").on(IndexSpace(x=3), FieldSpace(a="int8", b="int8")), ("x",), {})
    assert (look.columns, look.rows) == (3, 2)
    assert look.order == ((0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (2, 1))
