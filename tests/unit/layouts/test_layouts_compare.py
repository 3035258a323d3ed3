"""PREFIX, SUFFIX, run and shuffle size on the cases that papers and people ask about."""

from __future__ import annotations

import itertools

import pytest

from isoviz.errors import LayoutError
from isoviz.layouts import Comparison, FieldSpace, IndexSpace, Layout, compare

ENTRY = FieldSpace(value="V16")
PAIR = FieldSpace(re="f4", im="f4")


def between(a: str, b: str, fields: FieldSpace, **sizes: int) -> Comparison:
    space = IndexSpace(**sizes)
    return compare(Layout(a).on(space, fields), Layout(b).on(space, fields))


def test_table_3_of_isometry() -> None:
    """Isometry, table 3: FBM → ZCM → REG → REG* → FBM* with blocks of 2K × 1K entries of 16 bytes."""
    path = [
        "<F, x, y>",
        "<F, x_in=2048, y_in=1024, x_out, y_out>",
        "<F, y_in=1024, x_in=2048, x_out, y_out>",
        "<F, y_in=1024, x_in=2048, x_out, y_out>",
        "<F, y, x>",
    ]
    found = [between(a, b, ENTRY, x=8192, y=8192) for a, b in itertools.pairwise(path)]
    assert [hop.run_bytes for hop in found] == [16 * 2048, 16, 16 * 8192 * 8192, 16 * 1024]
    assert found[0].suffix_text == "y_out=8"
    assert found[1].shuffle_bytes == 16 * 2048 * 1024 == 32 << 20
    assert found[3].suffix_count == 1


def test_aos_to_soa_shares_nothing() -> None:
    found = between("<F, x>", "<x, F>", PAIR, x=100)
    assert (found.run_bytes, found.shuffle_bytes) == (4, 800)
    assert (found.prefix_text, found.suffix_text) == ("1", "1")


def test_hybrid_keeps_its_block() -> None:
    assert between("<F, x>", "<x_in=4, F, x_out>", PAIR, x=100).shuffle_bytes == 32
    assert between("<x, F>", "<x_in=4, F, x_out>", PAIR, x=100).run_bytes == 16


def test_blocks_that_do_not_nest() -> None:
    found = between("<F, x_in=4, y, x_out>", "<F, x_in=6, y, x_out>", ENTRY, x=24, y=5)
    assert found.run_bytes == 16 * 2
    assert found.suffix_count == 2
    assert found.shuffle_bytes == 16 * 12 * 5


def test_blocks_that_are_padding_on_both_sides_count() -> None:
    found = between("<y_0=2, F, y_1=2, y_2>", "<F, y_in=4, y_out>", PAIR, y=5)
    assert found.suffix_count == 4, "both allocate 8, in blocks of 2"
    assert between("<y_in=2, F, y_out>", "<F, y>", PAIR, y=5).suffix_count == 3, "one side does not pad"


def test_a_run_ends_where_one_side_pads() -> None:
    found = between("<F, x_in=4, x_out, y>", "<F, x, y>", ENTRY, x=10, y=3)
    assert found.run_bytes == 16 * 10
    same = between("<F, x_in=4, x_out, y>", "<F, x_in=6, x_out, y>", ENTRY, x=10, y=3)
    assert same.run_bytes == 16 * 12 * 3, "both allocate 12: the rows follow each other on both sides"


def test_a_whole_dimension_is_split_where_the_other_side_is() -> None:
    found = between("<F, x, y>", "<F, x_in=4, y, x_out>", ENTRY, x=10, y=3)
    assert found.run_bytes == 16 * 4
    assert between("<F, y, x>", "<F, x_in=4, y, x_out>", ENTRY, x=10, y=3).suffix_text == "x_out=3"


def test_fields_of_different_sizes_count_as_their_mean_and_their_largest() -> None:
    fields = FieldSpace(a="u1", b="f8")
    found = between("<x, F, y>", "<x, y, F>", fields, x=10, y=4)
    assert found.run_bytes == 10 * 4.5
    assert found.shuffle_bytes == 10 * 4 * 9
    assert between("<x, y, F>", "<y, x, F>", fields, x=10, y=4).shuffle_bytes == 10 * 4 * 8


def test_only_one_instance_can_be_compared() -> None:
    a = Layout("<F, x>").on(IndexSpace(x=4), PAIR)
    with pytest.raises(LayoutError, match="differ"):
        compare(a, Layout("<F, x>").on(IndexSpace(x=5), PAIR))
    with pytest.raises(LayoutError, match="differ"):
        compare(a, Layout("<F, x>").on(IndexSpace(x=4), ENTRY))


def test_equal_padding_belongs_to_the_run() -> None:
    """Both pad x to 4; what comes after it follows in both."""
    found = between("<F, x_in=2, x_out, y_in=3, y_out>", "<F, x_in=2, x_out, y>", FieldSpace(value="u1"), x=3, y=4)
    assert found.run_bytes == 16
