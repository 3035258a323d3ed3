"""What a put takes, and what a get fills: what the elements can hold as it is. Everything else is refused."""

from __future__ import annotations

from decimal import Decimal
from functools import partial
from typing import Any

import numpy as np
import pytest

from isoviz.backends.host.atomics import atomics
from isoviz.errors import InputError
from isoviz.rma.places import Ended, Place, Word, elements_of, room_for, source_of

STRUCT = np.dtype([("a", "i4"), ("b", "f8")])
RIGHT: list[tuple[Any, str, Any]] = [
    (1, "f8", 1.0),
    (1, "i1", 1),
    (1.5, "c16", 1.5),
    (True, "?", True),
    ([1, 2, 3], "u8", [1, 2, 3]),
    ([True, False], "?", [True, False]),
    ([[1], [2]], "i2", [[1], [2]]),
    ([2**64 - 1], "u8", [2**64 - 1]),
    ([1, 2.5], "f4", [1, 2.5]),
    ([], "i4", []),
    (np.float64(2.5), "f4", 2.5),
    (np.array([1, 2], "i4"), ">i8", [1, 2]),
    (np.array([1, 2], ">f8"), "f8", [1, 2]),
    ("ab", "U3", "ab"),
    (b"abc", "S3", b"abc"),
    (np.datetime64("2020-01-01"), "M8[s]", np.datetime64("2020-01-01")),
    (range(3), "i4", [0, 1, 2]),
]
WRONG: list[tuple[Any, str]] = [
    (1.5, "i4"),
    (1j, "f8"),
    (True, "i4"),
    (300, "u1"),
    (-1, "u8"),
    (10**400, "f8"),
    (1, "?"),
    ([300], "u1"),
    ([0, -1], "u4"),
    ([2**63], "i8"),
    ([2**64], "u8"),
    ([1.5], "i4"),
    (np.array([1.5]), "i4"),
    (np.array([1j]), "f8"),
    (np.array([-1]), "u8"),
    (np.ma.masked, "f8"),
    (np.ma.array([1.0, 2.0], mask=[0, 1]), "f8"),
    (None, "f8"),
    (object(), "f8"),
    ("1", "f8"),
    ([[1], [1, 2]], "f8"),
    (Decimal(1), "f8"),
    ({"a": 1}, "f8"),
    ((each for each in [1.0]), "f8"),
    ("abcd", "U3"),
    (np.array([b"abcd"]), "S3"),
    ("é", "S3"),
    (np.array(1, "m8[s]"), "f8"),
]


@pytest.mark.parametrize(("value", "kind", "expected"), RIGHT, ids=str)
def test_what_elements_hold_is_taken(value: Any, kind: str, expected: Any) -> None:
    found = elements_of(value, np.dtype(kind), "put").astype(kind)
    assert (found == np.array(expected, kind)).all() and found.shape == np.shape(expected)


@pytest.mark.parametrize(("value", "kind"), WRONG, ids=str)
def test_what_they_do_not_hold_is_refused(value: Any, kind: str) -> None:
    with pytest.raises(InputError, match=r"^put: expected "):
        elements_of(value, np.dtype(kind), "put")
    if not isinstance(value, list | dict | np.ndarray):
        room = np.full(1, 1, kind)
        word = word_of(room)
        before = room.tobytes()
        with pytest.raises(InputError):
            word.put(value)
        assert room.tobytes() == before


def test_structs_take_structs() -> None:
    given = np.array([(1, 2.5)], STRUCT)
    assert elements_of(given, STRUCT, "put") is given and elements_of(given[0], STRUCT, "put") == given[0]
    for wrong in ((1, 2.5), 1.0, np.zeros(2, [("a", "i4")]), [1.0, 2.0], "ab", b"abcdabcdabcd"):
        with pytest.raises(InputError, match=r"^put: expected elements of"):
            elements_of(wrong, STRUCT, "put")


@pytest.mark.parametrize("shape", [(3,), (2, 4), (1, 1, 3), (4, 3), (2, 3, 1)])
def test_only_shapes_that_can_be_repeated_are_taken(shape: tuple[int, ...]) -> None:
    view = np.zeros((2, 3))
    with pytest.raises(InputError, match=r"expected an array of the shape \(2, 3\), got") if shape != (3,) else no_error():
        source_of(np.zeros(shape), view, "put")


class no_error:  # noqa: N801  # stands beside pytest.raises
    def __enter__(self) -> None: ...

    def __exit__(self, *_: object) -> None: ...


@pytest.mark.parametrize(
    "into",
    [np.zeros(4), np.zeros((3, 1)), np.zeros(3, "f4"), np.zeros(3, ">f8"), [0.0, 0.0, 0.0], np.ma.zeros(3), 1.0, "abc"],
    ids=repr,
)
def test_a_get_fills_only_an_array_that_suits(into: Any) -> None:
    with pytest.raises(InputError, match=r"^get: into: expected an array to write to, of the shape \(3,\) and of float64, got"):
        room_for(into, np.zeros(3), "get")


def test_a_get_fills_no_array_that_is_read_only() -> None:
    into = np.zeros(3)
    into.flags.writeable = False
    with pytest.raises(InputError, match="expected an array to write to"):
        room_for(into, np.zeros(3), "get")
    place = Place(np.ones(3), 0)
    with pytest.raises(InputError, match="expected an array to write to"):
        place.get(into)


def word_of(room: np.ndarray[Any, Any]) -> Word:
    def change(name: str) -> Any:
        return partial(atomics().operation(name, room.itemsize), room.__array_interface__["data"][0])

    return Word(room[0, ...], 0, change)


@pytest.mark.parametrize("columns", [slice(None), slice(None, None, 2)])
@pytest.mark.parametrize("rows", [1, 300])
def test_a_place_repeats_puts_and_gets_of_an_array_until_it_is_another(rows: int, columns: slice) -> None:
    room, rng = np.zeros((rows, 64)), np.random.default_rng(1)
    place = Place(room[:, columns], 0)
    given, into = np.zeros(place.shape), np.zeros(place.shape)
    for _ in range(3):
        given[...] = rng.random(place.shape)
        place.put(given)
        assert place.get(into) is into
        assert np.array_equal(into, given) and np.array_equal(room[:, columns], given)
    assert not room[:, 1::2].any() or columns == slice(None)
    given.dtype = np.dtype("i8")
    given[...] = rng.integers(0, 100, place.shape)
    place.put(given)
    assert np.array_equal(room[:, columns], given), "numbers of another type are converted"
    given.dtype, given.shape = np.dtype("f8"), (given.size, 1)
    with pytest.raises(InputError, match="of the shape"):
        place.put(given)
    with pytest.raises(InputError, match="into"):
        place.get(given)


@pytest.mark.parametrize("kind", ["i4", "u4", "i8", "u8"])
def test_words_wrap_around_at_their_limits(kind: str) -> None:
    room = np.zeros(1, kind)
    word, limits = word_of(room), np.iinfo(kind)
    least, most = int(limits.min), int(limits.max)
    assert word.swap(most) == 0
    assert word.fetch_and_add(1) == most and word.get() == least
    assert word.fetch_and_add(-1) == least and word.get() == most
    assert word.fetch_and_add(most) == most
    assert word.compare_and_swap(5, 6) == int(np.array(2 * most).astype(kind)) if kind.startswith("i") else True
    word.put(7)
    assert word.compare_and_swap(7, least) == 7 and word.compare_and_swap(7, 1) == least and room[0] == least


@pytest.mark.parametrize("kind", ["i4", "u8"])
def test_words_take_numbers_of_numpy_as_well(kind: str) -> None:
    room = np.zeros(1, kind)
    word = word_of(room)
    for number in (np.int64(3), np.uint8(3), np.int32(3)):
        before = int(room[0])
        assert word.fetch_and_add(number) == before and room[0] == before + 3
        assert word.swap(number) == before + 3 and word.compare_and_swap(number, np.int16(before + 3)) == 3
    for number in (1.0, np.float64(1), "1", None, [1], np.zeros(2, int)):
        for call in (
            word.fetch_and_add,
            word.swap,
            partial(word.compare_and_swap, 1),
            lambda each: word.compare_and_swap(each, 1),
        ):
            with pytest.raises(InputError, match="expected whole numbers from"):
                call(number)  # type: ignore[arg-type]
    assert room[0] == 9


@pytest.mark.parametrize("kind", ["i4", "u4", "i8", "u8"])
def test_words_refuse_what_they_cannot_hold(kind: str) -> None:
    room = np.full(1, 5, kind)
    word, limits = word_of(room), np.iinfo(kind)
    for number in (int(limits.min) - 1, int(limits.max) + 1, 10**100, -(10**100)):
        with pytest.raises(InputError, match="expected whole numbers from"):
            word.swap(number)
        with pytest.raises(InputError, match="expected whole numbers from"):
            word.compare_and_swap(5, number)
        with pytest.raises(InputError, match="expected whole numbers from"):
            word.compare_and_swap(number, 5)
    with pytest.raises(InputError, match="expected whole numbers from"):
        word.fetch_and_add(10**100)
    assert room[0] == 5


@pytest.mark.parametrize("kind", ["i2", "u1", "f8", "f4", ">i8", ">u4", "?", "S4", "c8", "i4,i4", "m8[s]"])
def test_other_elements_are_no_words(kind: str) -> None:
    word = word_of(np.zeros(1, kind))
    for call in (word.fetch_and_add, word.swap, partial(word.compare_and_swap, 0)):
        with pytest.raises(InputError, match=r"expected words of whole numbers of 4 or 8 bytes \(i4, u4, i8, u8\), got"):
            call(1)


def test_an_error_that_is_raised_again_keeps_nothing_of_its_callers() -> None:
    """A program that tries again and again after a loss would keep the variables of each call."""
    ended = Ended(InputError("this heap was freed"))

    def call() -> InputError:
        try:
            ended[0]
        except InputError as error:
            return error
        raise AssertionError

    first, second = call(), call()
    assert first is not second and str(first) == str(second) == "this heap was freed"
    depth, trace = 0, second.__traceback__
    while trace is not None:
        depth, trace = depth + 1, trace.tb_next
    assert depth == 2
