"""Array dtypes as field spaces, and layouts as arrays."""

from __future__ import annotations

import numpy as np
import pytest

from isoviz import FieldSpace, IndexSpace, Layout
from isoviz.backends.formats.records import Record, array_of
from isoviz.errors import FileError


def test_plain_arrays_have_one_field() -> None:
    record = Record.of(np.dtype(">f8"))
    assert (record.names, record.element, record.fields.dtypes) == (("value",), None, (np.dtype(">f8"),))


def test_nested_structs_are_flattened_and_gaps_become_fields_that_do_not_move() -> None:
    dtype = np.dtype([("a", "u1"), ("p", [("x", ">f8"), ("y", "S3")]), ("v", "f4", (3,))], align=True)
    record = Record.of(dtype)
    assert record.names == ("a", "p.x", "p.y", "v")
    assert record.has_gaps
    assert record.stored.nbytes == dtype.itemsize
    for name, offset in (("a", 0), ("p.x", dtype.fields["p"][1]), ("v", dtype.fields["v"][1])):
        assert record.stored.starts[record.stored.index(name)] == offset
    assert record.fields.sizes == (1, 8, 3, 12)
    assert record.element == np.dtype([("a", "u1"), ("p", [("x", ">f8"), ("y", "S3")]), ("v", "f4", (3,))])


@pytest.mark.parametrize(
    "dtype",
    [
        np.dtype([("a", "f4"), ("o", "O")]),
        np.dtype([("a", "f4"), ("b", "S0")]),
        np.dtype({"names": ["a", "b"], "formats": ["f4", "f4"], "offsets": [0, 2]}),
        np.dtype([("p", [("x", "f4")]), ("p.x", "f4")]),
        np.dtype([]),
        np.dtype([("a", "u1"), ("(gap at 1)", "i4")], align=True),
        np.dtype([("(gap at 1)", "u1"), ("b", "i4")], align=True),
    ],
    ids=["objects", "no bytes", "overlap", "name twice", "no fields", "named as the gap before", "named as the gap behind"],
)
def test_records_that_cannot_be_moved(dtype: np.dtype) -> None:
    with pytest.raises(FileError):
        Record.of(dtype)


UNIFORM = FieldSpace(re="f4", im="f4")
MIXED = FieldSpace(a="u1", b="f8")
PAIR = np.dtype([("re", "f4"), ("im", "f4")])


@pytest.mark.parametrize(
    ("fields", "layout", "dtype", "shape"),
    [
        (UNIFORM, "<F, x, y>", PAIR, (3, 10)),
        (UNIFORM, "<x, y, F>", "f4", (2, 3, 10)),
        (UNIFORM, "<x, F, y>", "f4", (3, 2, 10)),
        (UNIFORM, "<x_in=5, F, x_out, y>", "f4", (3, 2, 2, 5)),
        (UNIFORM, "<F, x_in=5, y, x_out>", PAIR, (2, 3, 5)),
        (UNIFORM, "<x_in=4, F, x_out, y>", "f4", (3, 3, 2, 4)),
        (MIXED, "<F, y, x>", [("a", "u1"), ("b", "f8")], (10, 3)),
        (MIXED, "<x, y, F>", [("a", "u1", (3, 10)), ("b", "f8", (3, 10))], ()),
        (MIXED, "<x, F, y>", [("a", "u1", (10,)), ("b", "f8", (10,))], (3,)),
        (FieldSpace(v="f8"), "<x, F, y>", "f8", (3, 10)),
    ],
)
def test_a_layout_as_an_array(fields: FieldSpace, layout: str, dtype: object, shape: tuple[int, ...]) -> None:
    lin = Layout(layout).on(IndexSpace(x=10, y=3), fields)
    found, extents = array_of(lin.parts, Record.of_fields(fields))
    assert found == np.dtype(dtype)  # type: ignore[call-overload]
    assert extents == shape
    assert found.itemsize * int(np.prod(extents)) == lin.nbytes


def test_the_array_holds_every_element_where_the_layout_says() -> None:
    space = IndexSpace(x=6, y=4)
    for text in ("<x, y, F>", "<x, F, y>", "<F, y, x>", "<x_in=3, F, y, x_out>"):
        lin = Layout(text).on(space, MIXED)
        dtype, shape = array_of(lin.parts, Record.of_fields(MIXED))
        raw = np.arange(lin.nbytes, dtype="u1")
        array = raw.view(dtype).reshape(shape)
        part = array["b"]
        for x, y in np.ndindex(6, 4):
            at = {"<x, y, F>": (y, x), "<x, F, y>": (y, x), "<F, y, x>": (x, y), "<x_in=3, F, y, x_out>": (x // 3, y, x % 3)}[
                text
            ]
            offset = lin.offset((x, y), "b")
            assert part[at].tobytes() == raw[offset : offset + 8].tobytes()


def test_sub_array_fields_keep_their_shape() -> None:
    record = Record.of(np.dtype([("v", "f4", (3,)), ("w", "f4", (3,))]))
    parts = Layout("<x, F>").on(IndexSpace(x=5), record.fields).parts
    assert array_of(parts, record) == (np.dtype("f4"), (2, 5, 3))
    mixed = Record.of(np.dtype([("v", "f4", (3,)), ("w", "u1")]))
    parts = Layout("<x, F>").on(IndexSpace(x=5), mixed.fields).parts
    assert array_of(parts, mixed) == (np.dtype([("v", "f4", (5, 3)), ("w", "u1", (5,))]), ())


def test_a_struct_of_arrays_too_large_for_a_dtype_is_refused_with_ways_out() -> None:
    parts = Layout("<x, F>").on(IndexSpace(x=2**28), MIXED).parts
    with pytest.raises(FileError, match="raw file"):
        array_of(parts, Record.of_fields(MIXED))
    parts = Layout("<x_in=1024, F, x_out>").on(IndexSpace(x=2**28), MIXED).parts
    assert array_of(parts, Record.of_fields(MIXED))[1] == (2**18,)
