"""What a hop does to the order, on layouts that everybody knows."""

from __future__ import annotations

import pytest

from isoviz.errors import InputError
from isoviz.layouts import FieldSpace, IndexSpace, Layout, OrderChange, order_change
from isoviz.layouts.compare import block_of

SPACE = IndexSpace(x=12, y=8, one=1)


@pytest.mark.parametrize(
    ("here", "there", "fields", "change"),
    [
        ("<F, x, y, one>", "<one, x, F, y>", 1, OrderChange.KEEPS),
        ("<F, x, y, one>", "<F, y, x, one>", 1, OrderChange.CONVERTS),
        ("<F, x, y, one>", "<x, y, F, one>", 2, OrderChange.CONVERTS),
        ("<F, x, y, one>", "<x_in=4, F, x_out, y, one>", 2, OrderChange.CONVERTS),
        ("<x, F, y, one>", "<x_in=4, F, x_out, y, one>", 2, OrderChange.FORMS),
        ("<x_in=4, F, x_out, y, one>", "<x, F, y, one>", 2, OrderChange.DISSOLVES),
        ("<F, x, y, one>", "<F, x_in=4, y_in=4, x_out, y_out, one>", 1, OrderChange.FORMS),
        ("<F, x_in=4, y, x_out, one>", "<F, x_in=6, y, x_out, one>", 1, OrderChange.REORDERS),
        ("<F, x_in=4, y_in=2, x_out, y_out, one>", "<F, y_in=2, x_in=4, x_out, y_out, one>", 1, OrderChange.CONVERTS),
    ],
)
def test_the_change_between_two_layouts(here: str, there: str, fields: int, change: OrderChange) -> None:
    names = FieldSpace.of({f"f{number}": "float32" for number in range(fields)})
    ends = Layout(here).on(SPACE, names), Layout(there).on(SPACE, names)
    assert order_change(*ends) is change


def test_rows_that_change_places_convert_if_they_are_in_one_block() -> None:
    space, one = IndexSpace(x=4, y=3, z=5), FieldSpace(v="int8")
    here, there = Layout("<F, x, y, z>").on(space, one), Layout("<F, x, z, y>").on(space, one)
    assert order_change(here, there) is OrderChange.CONVERTS
    assert order_change(here, there, block={"x": 4, "y": 1, "z": 5}) is OrderChange.REORDERS
    with pytest.raises(InputError, match="'z' is missing"):
        order_change(here, there, block={"x": 4, "y": 1})


def test_a_block_is_large_enough_to_show_what_turns() -> None:
    fields = FieldSpace(a="int8", b="int8")
    orders = [Layout(text).on(IndexSpace(x=4), fields) for text in ("<F, x_out, x_in=2>", "<x_out, F, x_in=2>")]
    assert block_of(orders[:1]) == {"x": 2}
    assert block_of(orders) == {"x": 4}
    assert order_change(*orders) is OrderChange.CONVERTS
