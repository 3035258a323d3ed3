"""The notation of layouts: what is accepted, and errors that point at the offending character."""

from __future__ import annotations

import numpy as np
import pytest

from isoviz.errors import InputError, LayoutError, NotationError, SpaceError
from isoviz.layouts import FIELDS, Component, FieldSpace, IndexSpace, Layout


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("<F, x>", "<F, x>"),
        ("F,x", "<F, x>"),
        ("⟨x_in = 4,F , x_out⟩", "<x_in=4, F, x_out>"),
        ("  < x_0=4, x_1=512, x_2, F >  ", "<x_0=4, x_1=512, x_2, F>"),
        ("<F>", "<F>"),
        ("<x_0, F>", "<x_0, F>"),
        ("<größe, F>", "<größe, F>"),
    ],
)
def test_accepted(text: str, written: str) -> None:
    assert str(Layout(text)) == written
    assert Layout(text).pretty == f"⟨{written[1:-1]}⟩"


@pytest.mark.parametrize(
    ("text", "position", "expected"),
    [
        ("", 0, "a component"),
        ("<>", 1, "a component"),
        ("<F x>", 3, "',' or '>'"),
        ("<F, x", 5, "',' or '>'"),
        ("<F, x⟩", 5, "',' or '>'"),
        ("F, x>", 4, "the end of the layout"),
        ("<F, x> y", 7, "the end of the layout"),
        ("<F,, x>", 3, "a component"),
        ("<F, 3x>", 4, "a component"),
        ("<F, x, F>", 7, "F exactly once"),
        ("<x, y>", 5, "F exactly once"),
        ("<F=2, x>", 1, "F alone"),
        ("<F, x=4>", 4, "'x_in=4' and 'x_out'"),
        ("<F, x, x>", 7, "every component once"),
        ("<F, x_in=4>", 4, "'x_out' as well"),
        ("<F, x_out>", 4, "'x_in=…' as well"),
        ("<F, x, x_in=4, x_out>", 15, "either 'x' or its digits"),
        ("<F, x_in, x_out>", 8, "a size, such as 'x_in=4'"),
        ("<F, x_in=, x_out>", 9, "a block size"),
        ("<F, x_in=0, x_out>", 9, "a block size of at least 1"),
        ("<F, x_in=-4, x_out>", 9, "a block size"),
        ("<F, x_in=99999999999999999999, x_out>", 9, "below 2^63"),
        ("<F, x_in=4, x_out=2>", 12, "'x_out' alone"),
        ("<F, x_0=4, x_2>", 11, "'x_0' to 'x_1'"),
        ("<F, x_0=4, x_1=2>", 11, "'x_1' without an extent"),
        ("<F, x_0, x_1>", 4, "an extent"),
        ("<F, x_in=2, x_1>", 12, "'x_in', 'x_out' or"),
        ("<F, x_00=2, x_1>", 4, "'x_0'"),
        ("<F, x_" + "1" * 5000 + ">", 4, "'x_0'"),
        ("<F, x_٠=2, x_1>", 4, "'x_0'"),
        ("<F, x_in=٤, x_out>", 9, "a block size"),
        ("<F, x_in=４, x_out>", 9, "a block size"),
        ("<F, x_in=4٤, x_out>", 10, "',' or '>'"),
        ("<F, x_in=4_0, x_out>", 10, "',' or '>'"),
        ("<F, x_in=4__, x_out>", 10, "',' or '>'"),
        ("<F, x_in=_4, x_out>", 9, "a block size"),
    ],
)
def test_errors_point(text: str, position: int, expected: str) -> None:
    with pytest.raises(NotationError) as caught:
        Layout(text)
    error = caught.value
    assert error.position == position
    assert expected in error.expected
    assert "\n" not in str(error)
    line, caret = error.pointer.split("\n")
    if len(text) < 100:
        assert (line, caret) == (text, " " * position + "^")
    else:
        assert len(line) < 110 and line[: len(caret)] == text[: len(caret)]
    assert isinstance(error, InputError)


def test_components_are_checked_too() -> None:
    with pytest.raises(LayoutError, match="F is missing; expected F exactly once, also where there is one field"):
        Layout([Component("x")])
    with pytest.raises(LayoutError, match="appears twice"):
        Layout([FIELDS, Component("x"), Component("x")])
    with pytest.raises(LayoutError, match="at least 1"):
        Layout([FIELDS, Component("x", "in", 0, 0), Component("x", "out", 1)])
    with pytest.raises(LayoutError, match="expected FIELDS or a Component"):
        Layout(["x"])  # type: ignore[list-item]
    with pytest.raises(LayoutError, match="missing"):
        Layout([])
    with pytest.raises(LayoutError, match="expected text such as"):
        Layout(5)  # type: ignore[arg-type]
    with pytest.raises(LayoutError, match="'x_in' has no extent"):
        Layout([FIELDS, Component("x", "in", 0), Component("x", "out", 1)])
    for extent in ("4", 2.5, True, 2**63):
        with pytest.raises(LayoutError, match="expected a block size"):
            Layout([FIELDS, Component("x", "in", 0, extent), Component("x", "out", 1)])  # type: ignore[arg-type]
    for dim in ("F", "a b", "x_in"):
        with pytest.raises(LayoutError, match="dimension"):
            Layout([FIELDS, Component(dim)])
    with pytest.raises(LayoutError, match="as digit 1"):
        Layout([FIELDS, Component("x", "", 1)])


def test_block_sizes_out_of_numpy() -> None:
    layout = Layout.blocked({"x": np.int64(4)}, "x")  # type: ignore[dict-item]
    assert layout == Layout("<F, x_in=4, x_out>")
    assert type(layout.digits["x"][0].extent) is int
    with pytest.raises(LayoutError, match="whole number"):
        Layout.blocked({"x": 2.5})  # type: ignore[dict-item]


def test_long_and_deep_text_is_refused_quickly() -> None:
    with pytest.raises(NotationError):
        Layout("<" * 100_000)
    assert len(Layout(f"<F, {', '.join(f'd{i}' for i in range(2000))}>").dims) == 2000


@pytest.mark.parametrize("name", ["F", "x_in", "x_out", "x_0", "x_12", "", "3d", "a b", "a-b"])
def test_names_of_dimensions_that_would_be_misread(name: str) -> None:
    with pytest.raises(SpaceError, match="dimension"):
        IndexSpace.of({name: 4})


@pytest.mark.parametrize(
    ("size", "problem"),
    [
        (0, "at least 1"),
        (-3, "at least 1"),
        (2.0, "whole"),
        (True, "whole"),
        (2**63, "2\\^63"),
        pytest.param(10**5000, "2\\^63", id="huge"),
        pytest.param(-(10**5000), "at least 1", id="huge negative"),
    ],
)
def test_sizes_that_cannot_be(size: object, problem: str) -> None:
    with pytest.raises(SpaceError, match=problem):
        IndexSpace(x=size)  # type: ignore[arg-type]


def test_products_that_overflow_are_refused() -> None:
    with pytest.raises(SpaceError, match="2\\^63"):
        IndexSpace(x=2**32, y=2**31)
    with pytest.raises(LayoutError, match="2\\^63"):
        Layout("<F, x>").on(IndexSpace(x=2**61), FieldSpace(a="f8"))


@pytest.mark.parametrize(
    ("dtype", "problem"),
    [
        ("O", "objects"),
        ("V0", "no bytes"),
        ("nonsense", "not a NumPy dtype"),
        (None, "None"),
        ({"b": ("f4", 10**30)}, "NumPy dtype"),
    ],
)
def test_fields_that_cannot_be(dtype: object, problem: str) -> None:
    with pytest.raises(SpaceError, match=problem):
        FieldSpace(a=dtype)


def test_layouts_that_do_not_fit_their_space() -> None:
    fields = FieldSpace(a="f4")
    with pytest.raises(LayoutError, match="dimension 'y' is not in the index space"):
        Layout("<F, x, y>").on(IndexSpace(x=4), fields)
    with pytest.raises(LayoutError, match="dimension 'y' of the index space"):
        Layout("<F, x>").on(IndexSpace(x=4, y=2), fields)
    with pytest.raises(LayoutError, match="larger than dimension 'x' of size 4; expected at most 4"):
        Layout("<x_in=5, F, x_out>").on(IndexSpace(x=4), fields)
    with pytest.raises(LayoutError, match="with the digits below it, 6"):
        Layout("<F, x_0=2, x_1=3, x_2>").on(IndexSpace(x=4), fields)


def test_indices_and_offsets_out_of_range() -> None:
    lin = Layout("<F, x, y>").on(IndexSpace(x=4, y=3), FieldSpace(a="f4"))
    for index in ((4, 0), (0, -1), (0,), {"x": 1}, {"x": 1, "z": 2}):
        with pytest.raises(LayoutError):
            lin.offset(index, "a")
    with pytest.raises(SpaceError, match="not one of a"):
        lin.offset((0, 0), "b")
    assert lin.locate(np.int64(5)) == lin.locate(5)
    for offset in (-1, 48, 1.5, True, "5", None):
        with pytest.raises(LayoutError, match="expected a whole number from 0 to 47"):
            lin.locate(offset)
    with pytest.raises(LayoutError, match="out of range"):
        lin.offsets(([0, 4], [0, 0]), "a")
