"""What a hop does to the order, on layouts that everybody knows."""

from __future__ import annotations

import pytest

from isoviz.layouts import FieldSpace, IndexSpace, Layout, OrderChange, order_change

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
    assert order_change(*ends, converts=change is not OrderChange.KEEPS) is change


def test_a_hop_with_longer_runs_than_the_conversion_does_not_convert() -> None:
    """Rows of three dimensions change places, but stay whole: the dimension that varies fastest is the same."""
    space, one = IndexSpace(x=4, y=3, z=5), FieldSpace(v="int8")
    here, there = Layout("<F, x, y, z>").on(space, one), Layout("<F, x, z, y>").on(space, one)
    assert order_change(here, there, converts=False) is OrderChange.REORDERS
