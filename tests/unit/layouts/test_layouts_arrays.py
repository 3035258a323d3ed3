"""Every constructor is the NumPy array that its documentation names."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from isoviz.errors import ArrayError, LayoutError
from isoviz.layouts import (
    Box,
    FieldSpace,
    IndexSpace,
    Layout,
    Linearization,
    StridedCopy,
    View,
    apply,
    strided_copies,
    view_of_array,
)

SPACE = IndexSpace(x=6, y=4)
SPACE_OF_A_LINE = IndexSpace(x=24)
FIELDS = FieldSpace(a="<i2", b="<i2")
MIXED = FieldSpace(a="u1", b="<f8", c="S3")


def address(array: np.ndarray, index: tuple[int, ...]) -> int:
    """Byte offset of an element in a NumPy array."""
    return sum(i * stride for i, stride in zip(index, array.strides, strict=True))


@pytest.mark.parametrize("fields", [FIELDS, MIXED])
@pytest.mark.parametrize(
    ("layout", "order", "axes"),
    [
        (Layout.aos("x", "y"), "C", ("y", "x")),
        (Layout.row_major("y", "x"), "C", ("y", "x")),
        (Layout.column_major("y", "x"), "F", ("y", "x")),
    ],
)
def test_structured_arrays(layout: Layout, order: str, axes: tuple[str, str], fields: FieldSpace) -> None:
    array = np.zeros([SPACE[dim] for dim in axes], fields.dtype, order=order)  # type: ignore[call-overload]
    lin = layout.on(SPACE, fields)
    assert lin.nbytes == array.nbytes
    for index in np.ndindex(*array.shape):
        at = {dim: int(i) for dim, i in zip(axes, index, strict=True)}
        for field, start in zip(fields.names, fields.starts, strict=True):
            assert lin.offset(at, field) == address(array, index) + start
    assert Layout.of(array, axes).on(SPACE, fields).same_as(lin)


def test_struct_of_arrays() -> None:
    array = np.zeros((2, 4, 6), "<i2")
    lin = Layout.soa("x", "y").on(SPACE, FIELDS)
    for f, y, x in np.ndindex(*array.shape):
        assert lin.offset((x, y), FIELDS.names[f]) == address(array, (f, y, x))


@pytest.mark.parametrize(
    ("fields", "where", "shape", "axes"),
    [
        ("first", "<F, x_in=3, y_in=2, x_out, y_out>", (2, 2, 2, 3), "YXyx"),
        ("inside", "<x_in=3, y_in=2, F, x_out, y_out>", (2, 2, 2, 2, 3), "YXfyx"),
        ("last", "<x_in=3, y_in=2, x_out, y_out, F>", (2, 2, 2, 2, 3), "fYXyx"),
    ],
)
def test_blocks(fields: str, where: str, shape: tuple[int, ...], axes: str) -> None:
    layout = Layout.blocked({"x": 3, "y": 2}, fields=fields)
    assert str(layout) == where
    array = np.zeros(shape, FIELDS.dtype if fields == "first" else "<i2")
    lin = layout.on(SPACE, FIELDS)
    for x, y in np.ndindex(*SPACE.sizes):
        for f, name in enumerate(FIELDS.names):
            digit = {"x": x % 3, "X": x // 3, "y": y % 2, "Y": y // 2, "f": f}
            start = FIELDS.starts[f] if fields == "first" else 0
            assert lin.offset((x, y), name) == address(array, tuple(digit[axis] for axis in axes)) + start
    assert str(Layout.blocked({"y": 2}, "x", "y")) == "<F, y_in=2, x, y_out>"


def test_blocked_refuses_what_it_cannot_do() -> None:
    with pytest.raises(LayoutError, match="'z'"):
        Layout.blocked({"z": 2}, "x", "y")
    with pytest.raises(LayoutError, match="expected 'first', 'inside' or 'last'"):
        Layout.blocked({"x": 2}, fields="outside")


def test_arrays_that_have_no_layout() -> None:
    array = np.zeros((4, 6))
    for bad in (array[::-1], np.broadcast_to(array[0], (3, 6)), array[:, ::2], np.zeros((3, 0))):
        with pytest.raises(LayoutError):
            view_of_array(bad)
    with pytest.raises(LayoutError, match="3 names"):
        Layout.of(array, ("a", "b", "c"))
    with pytest.raises(LayoutError, match="gaps"):
        Layout.of(array[:, :4])
    assert view_of_array(array[:, :4]).linearization.space.as_dict() == {"x": 6, "y": 4}


class Lent:
    """An array that only DLPack hands over."""

    def __init__(self, held: np.ndarray) -> None:
        self.held = held

    def __dlpack__(self, **options: Any) -> Any:
        return self.held.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.held.__dlpack_device__()


@pytest.mark.parametrize(
    ("array", "words"),
    [
        (np.zeros(3, "V0"), "has no bytes"),
        (np.zeros(3, object), "Python objects"),
        (np.ma.zeros((3, 4)), "has a mask"),
        (np.zeros((4, 6))[::-1], "axis 0 is reversed"),
        (np.broadcast_to(np.zeros(6), (4, 6)), "axis 0 repeats its elements"),
        (Lent(np.zeros((4, 6))[:, :4]), "leaves gaps"),
        (Lent(np.zeros(3, ">f8")), "DLPack only supports native byte order"),
        ("text", "expected a NumPy array"),
        (np.float64(3), "expected a NumPy array"),
    ],
)
def test_arrays_without_a_layout_say_why(array: Any, words: str) -> None:
    for call in (Layout.of, view_of_array):
        if call is view_of_array and words == "leaves gaps":
            continue  # it takes rows with gaps
        with pytest.raises(ArrayError, match=None if call is view_of_array else words):
            call(array)


def test_structs_with_gaps() -> None:
    """Gaps are fields of their own, in the order of memory, and nested fields have paths."""
    aligned = np.dtype([("a", "u1"), ("p", [("x", "<f8"), ("y", "u1")])], align=True)
    array = np.zeros((2, 3), aligned)
    assert str(Layout.of(array)) == "<F, x, y>"
    fields = view_of_array(array).linearization.fields
    assert fields.names == ("a", "(gap at 1)", "p.x", "p.y", "(gap at 17)")
    assert fields.real_names == ("a", "p.x", "p.y")
    assert fields.nbytes == aligned.itemsize == 24
    assert FieldSpace.of(aligned) == fields
    mixed_up = np.dtype({"names": ["b", "a"], "formats": ["<u4", "<u2"], "offsets": [4, 0]})
    assert FieldSpace.of(mixed_up).names == ("a", "(gap at 2)", "b")


def test_permuted_axes_have_a_layout() -> None:
    array = np.zeros((2, 3, 4, 5)).transpose(0, 3, 1, 2)
    assert str(Layout.of(array, ("n", "c", "h", "w"))) == "<F, c, w, h, n>"
    assert str(Layout.of(memoryview(array), ("n", "c", "h", "w"))) == "<F, c, w, h, n>"
    assert str(Layout.of(bytearray(5))) == "<F, x>"


def test_default_names_count_from_the_last_axis() -> None:
    assert str(Layout.of(np.zeros((2, 3, 4)))) == "<F, x, y, z>"
    assert str(Layout.of(np.zeros((2, 3, 4), order="F"))) == "<F, z, y, x>"
    assert str(Layout.of(np.zeros(()))) == "<F>"
    assert Layout.of(np.zeros((2,) * 9)).dims[0] == "d0"


def test_fields_of_different_sizes_have_different_strides() -> None:
    lin = Layout("<x_in=4, F, x_out>").on(IndexSpace(x=8), MIXED)
    assert [lin.offset((5,), name) for name in MIXED] == [48 + 1, 48 + 4 + 8, 48 + 36 + 3]


def test_normal_forms() -> None:
    space, one, two = IndexSpace(x=12, y=1), FieldSpace(a="f4"), FieldSpace(a="f4", b="f4")

    def on(layout: str, fields: FieldSpace) -> Linearization:
        return Layout(layout).on(space, fields)

    assert on("<F, x, y>", one).same_as(on("<y, x, F>", one))
    assert not on("<F, x, y>", two).same_as(on("<y, x, F>", two))
    assert on("<x_in=4, x_out, F, y>", two).same_as(on("<x, y, F>", two))
    assert on("<x_0=2, x_1=3, x_2, F, y>", two).same_as(on("<x, y, F>", two))
    assert on("<x_in=12, F, x_out, y>", two).same_as(on("<x, F, y>", two))
    assert not on("<x_out, x_in=4, F, y>", two).same_as(on("<x, y, F>", two))
    assert not on("<x_in=5, x_out, F, y>", two).same_as(on("<x, y, F>", two)), "padding keeps layouts apart"


def test_runs_longer_than_any_numpy_element(monkeypatch: pytest.MonkeyPatch) -> None:
    """NumPy elements end at 2 GiB; a lower bound stands in for such runs."""
    monkeypatch.setattr("isoviz.layouts.numpy_copy._LONGEST_SCALAR", 8)
    source, destination = Layout("<x, F>").on(SPACE_OF_A_LINE, MIXED), Layout("<x_in=4, F, x_out>").on(SPACE_OF_A_LINE, MIXED)
    copies = strided_copies(View(source), View(destination), Box.whole(SPACE_OF_A_LINE))
    assert any(copy.loops and copy.run > 8 for copy in copies)
    given = np.random.default_rng(0).integers(0, 255, source.nbytes, dtype=np.uint8)
    found = np.zeros(destination.nbytes, np.uint8)
    apply(copies, given, found)
    for x in range(SPACE_OF_A_LINE["x"]):
        for field, size in zip(MIXED.names, MIXED.sizes, strict=True):
            here, there = source.offset((x,), field), destination.offset((x,), field)
            assert (found[there : there + size] == given[here : here + size]).all()


@pytest.mark.timeout(60)
def test_many_fields() -> None:
    """Work grows with the number of fields, not with its square."""
    fields = FieldSpace.of({f"f{i}": "<f4" for i in range(50_000)})
    assert "f49999" in fields
    assert "g" not in fields
    assert fields.subset(fields.names) == fields
    source, destination = (View(Layout(text).on(IndexSpace(x=4), fields)) for text in ("<F, x>", "<x, F>"))
    assert len(strided_copies(source, destination, Box.whole(IndexSpace(x=4)))) == 1


@pytest.mark.parametrize(
    ("copy", "words"),
    [
        (StridedCopy(0, 4, 8), "reaches outside"),
        (StridedCopy(0, 0, 2, ((5, 2, 2),)), "reaches outside"),
        (StridedCopy(0, 0, "2"), "expected whole numbers"),
    ],
)
def test_copies_that_cannot_be_done_say_why(copy: StridedCopy, words: str) -> None:
    with pytest.raises(LayoutError, match=words):
        apply([copy], np.zeros(8, "u1"), np.zeros(8, "u1"))
