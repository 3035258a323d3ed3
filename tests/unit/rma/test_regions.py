"""What `at` may name: what NumPy names with it, unless it reaches beyond the end or names an element twice."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isoviz.errors import InputError
from isoviz.rma.regions import checked

WRONG = {
    "a number beyond the end": ((4,), 4),
    "a number before the first": ((4,), -5),
    "a slice beyond the end": ((4,), np.s_[2:5]),
    "a slice that NumPy cuts off at the first element": ((4,), np.s_[-5:]),
    "a slice backwards from beyond the end": ((4,), np.s_[4::-1]),
    "the same, not of Python's numbers": ((4,), slice(np.int64(4), None, np.int64(-1))),
    "a step of 0": ((4,), slice(None, None, 0)),
    "a list beyond the end": ((4,), [0, 4]),
    "a list before the first": ((4,), [0, -5]),
    "a list of a hundred digits": ((4,), [10**100]),
    "a list of fractions": ((4,), [0.0, 1.0]),
    "a list of text": ((4,), ["a"]),
    "a list of nothing": ((4,), [None]),
    "a list of lists of several lengths": ((4,), [[0], [1, 2]]),
    "a mask of another shape": ((4,), np.ones(3, bool)),
    "a mask of more axes": ((4,), np.ones((4, 1), bool)),
    "a mask of no axis": ((4,), np.array(True)),
    "too many axes": ((4,), (0, 0)),
    "axes of an element": ((), (0,)),
    "two dots": ((4, 4), (..., 0, ...)),
    "a bool": ((4,), True),
    "a bool beside a number": ((4, 4), (True, 5)),
    "a new axis": ((4,), None),
    "a fraction": ((4,), 1.0),
    "text": ((4,), "1"),
    "a fraction in a slice": ((4,), np.s_[0.5:]),
    "text in a slice": ((4,), np.s_["a":]),  # type: ignore[misc]
    "a tuple in a tuple": ((4, 4), ((0, 1), 0)),
    "a dictionary": ((4,), {0: 1}),
    "a number of an empty axis": ((0,), 0),
    "lists of lengths that do not fit": ((4, 4), ([0, 1], [0, 1, 2])),
    "masks that name different numbers": ((4, 4), (np.arange(4) < 2, np.arange(4) < 3)),
}
TWICE = {
    "twice": ((4,), [1, 1]),
    "once from the end": ((4,), [1, -3]),
    "pairs": ((4, 4), ([0, 1, 0], [2, 2, 2])),
    "lists of two axes": ((4,), [[0, 1], [1, 2]]),
    "unsigned": ((4,), np.array([3, 3], np.uint64)),
    "a number beside a list": ((4, 4), (0, [1, 1])),
    "lists apart": ((4, 2, 4), ([0, 0], slice(None), [1, 1])),
}


@pytest.mark.parametrize("what", WRONG)
@pytest.mark.parametrize("writes", [False, True])
def test_what_is_wrong_is_refused(what: str, writes: bool) -> None:
    shape, at = WRONG[what]
    with pytest.raises(InputError, match=r"^put: at: "):
        checked(shape, at, "put", writes=writes)


@pytest.mark.parametrize("what", TWICE)
def test_a_put_names_each_element_once(what: str) -> None:
    shape, at = TWICE[what]
    with pytest.raises(InputError, match="name an element twice"):
        checked(shape, at, "put", writes=True)
    index, has_lists = checked(shape, at, "get", writes=False)
    array = np.arange(np.prod(shape)).reshape(shape)
    assert has_lists and (array[index] == array[at]).all()


def test_a_list_of_bools_is_a_mask() -> None:
    """Also one of several axes: what follows it belongs to the axis after them."""
    array = np.arange(20).reshape(2, 2, 5)
    at = [[True, False], [False, True]], slice(1, 5)
    index, has_lists = checked(array.shape, at, "put", writes=True)
    assert has_lists and (array[index] == array[np.array(at[0]), 1:5]).all()
    with pytest.raises(InputError, match="axis 2: 1:6 reaches beyond its 5 elements"):
        checked(array.shape, (at[0], slice(1, 6)), "put", writes=True)


def test_lists_are_kept_as_they_were() -> None:
    """A kept place is not changed by changing the list that it was made of."""
    given_list, mask = np.array([0, 1]), np.array([True, False, True])
    index, _ = checked((3, 3), (mask, given_list), "put", writes=True)
    given_list[:], mask[:] = 100, False
    assert [list(each) for each in index] == [[True, False, True], [0, 1]]


@st.composite
def indices(draw: st.DrawFn) -> tuple[tuple[int, ...], Any]:
    """Shapes, and what may be right or wrong as an index: numbers, slices, dots, lists and masks."""
    shape = tuple(draw(st.lists(st.integers(0, 5), max_size=4)))
    items: list[Any] = []
    for extent in shape:
        kind = draw(st.sampled_from(["number", "slice", "list", "mask", "dots", "end"]))
        near = st.integers(-extent, extent)
        if kind == "number":
            items.append(draw(near | st.integers(-7, 7) | near.map(np.int32)))
        elif kind == "slice":
            ends = st.none() | near | st.integers(-7, 7)
            items.append(slice(draw(ends), draw(ends), draw(st.none() | st.integers(-3, 3))))
        elif kind == "list":
            found = draw(st.lists(near, max_size=3))
            items.append(found if draw(st.booleans()) else np.array(found, np.intp))
        elif kind == "mask":
            items.append(np.array(draw(st.lists(st.booleans(), min_size=extent, max_size=extent)), bool))
        elif kind == "dots":
            items.append(...)
        else:
            break
    return shape, items[0] if len(items) == 1 and draw(st.booleans()) else tuple(items)


@given(indices())
def test_it_names_what_numpy_names(case: tuple[tuple[int, ...], Any]) -> None:
    """Whatever is not refused gives NumPy's elements. Without lists it is a view, also of one element."""
    shape, at = case
    array = np.arange(int(np.prod(shape))).reshape(shape)
    for writes in (False, True):
        try:
            index, has_lists = checked(shape, at, "put", writes=writes)
        except InputError:
            continue
        found, expected = array[index], array[at]
        assert np.shape(found) == np.shape(expected) and (found == expected).all()
        if not has_lists:
            assert isinstance(found, np.ndarray) and (found.base is array or found.base is array.base or not found.size)
        if writes:
            assert np.unique(found).size == np.size(found)


@given(st.integers(0, 6), st.integers(-8, 8), st.none() | st.integers(-8, 8), st.none() | st.integers(-8, 8))
def test_a_slice_is_refused_only_if_it_reaches_beyond(extent: int, step: int, start: int | None, stop: int | None) -> None:
    inside = all(end is None or -extent <= end <= extent for end in (start, stop))
    right = inside and step != 0 and not (step < 0 and start == extent)
    for kind in (int, np.int64):  # the quick way, and the other one
        at = slice(*(None if each is None else kind(each) for each in (start, stop, step)))
        try:
            checked((extent,), at, "put", writes=True)
        except InputError:
            assert not right
        else:
            assert right
