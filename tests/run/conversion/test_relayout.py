"""`relayout`: arrays in memory, right or refused."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from run_cases import elements, random_bytes, random_layout, random_spaces

import isoviz
from isoviz.backends.formats.records import Record, array_of
from isoviz.errors import LayoutError, NotationError, TransferError

PAIR = np.dtype([("re", "f4"), ("im", "f4")])


def filled(shape: tuple[int, ...], dtype: Any) -> np.ndarray[Any, Any]:
    array = np.zeros(shape, dtype)
    array.reshape(-1).view("u1")[:] = random_bytes(random.Random(0), array.nbytes)
    return array


def same(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> bool:
    """Bytes and shape; NaNs and all."""
    return a.shape == b.shape and a.dtype == b.dtype and a.tobytes() == b.tobytes()


class Lent:
    """An array of another library: NumPy sees it through DLPack alone."""

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        self._array = array

    def __dlpack__(self, **options: Any) -> Any:
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self._array.__dlpack_device__()


class OnGpu:
    """An array on a GPU, as far as a host can see it."""

    def __init__(self, shape: tuple[int, ...], strides: tuple[int, ...] | None = None, **more: Any) -> None:
        self.shape = shape
        self.__cuda_array_interface__ = {"shape": shape, "typestr": "<f8", "strides": strides, "data": (0, True)} | more

    def __dlpack__(self, **options: Any) -> Any:
        raise BufferError("no kDLCUDA here")

    def __dlpack_device__(self) -> tuple[int, int]:
        return (2, 0)


def test_a_transposition() -> None:
    array = filled((30, 50), "f8")
    assert same(isoviz.relayout(array, "<F, x, y>", "<F, y, x>"), array.T.copy())
    assert same(isoviz.relayout(array, None, "<F, y, x>"), array.T.copy())
    assert same(isoviz.relayout(array.T, "<F, x, y>", "<F, y, x>"), array.T.copy()), "a Fortran-order array is read as it lies"
    assert same(isoviz.relayout(Lent(array), "<F, x, y>", "<F, y, x>"), array.T.copy())
    assert same(isoviz.relayout(array, "<F, x, y>", "<F, x, y>"), array)


def test_structs_to_arrays_and_back() -> None:
    array = filled((1000,), PAIR)
    arrays = isoviz.relayout(array, "<F, x>", "<x, F>")
    assert same(arrays, np.stack([array["re"], array["im"]]))
    assert same(isoviz.relayout(arrays, "<x, F>", "<F, x>", fields={"re": "f4", "im": "f4"}), array)
    aligned = filled((100,), np.dtype([("a", "u1"), ("b", "f8")], align=True))
    both = isoviz.relayout(aligned, "<F, x>", "<x, F>")
    assert same(both["b"][()], np.ascontiguousarray(aligned["b"])), "gaps of an aligned struct are left out"


@pytest.mark.full
def test_images_of_several_megabytes_are_copied_in_parts() -> None:
    array = filled((8, 224, 224, 64), "f4")
    assert same(isoviz.relayout(array, "<F, c, w, h, n>", "<F, w, h, c, n>"), np.ascontiguousarray(array.transpose(0, 3, 1, 2)))


def test_padding_is_zero_and_stays_in_an_array_of_the_caller() -> None:
    array = filled((10,), "u1") | 1
    blocks = isoviz.relayout(array, "<F, x>", "<F, x_in=4, x_out>")
    assert blocks.shape == (3, 4)
    assert blocks.reshape(-1).tolist() == [*array.tolist(), 0, 0]
    out = np.full((3, 4), 7, "u1")
    assert isoviz.relayout(array, "<F, x>", "<F, x_in=4, x_out>", out=out) is out
    assert out.reshape(-1).tolist() == [*array.tolist(), 7, 7]
    assert isoviz.relayout(blocks, "<F, x_in=4, x_out>", "<F, x>", space={"x": 10}).tolist() == array.tolist()


def test_arrays_without_elements_or_axes() -> None:
    assert isoviz.relayout(np.zeros((0, 5)), "<F, x, y>", "<F, y, x>").shape == (5, 0)
    assert isoviz.relayout(np.array(3.5), "<F>", "<F>").shape == ()


def test_random_layouts(full: bool) -> None:
    rng = random.Random(11)
    for case in range(2000 if full else 80):
        space, fields = random_spaces(rng)
        here, there = random_layout(rng, space), random_layout(rng, space)
        a, b = here.on(space, fields), there.on(space, fields)
        dtype, shape = array_of(a.parts, Record.of_fields(fields))
        data = random_bytes(rng, a.nbytes)
        array = data.view(dtype).reshape(shape)
        named = fields if len(fields) > 1 else None
        found = isoviz.relayout(array, here, there, space=space, fields=named)
        assert elements(b, found.reshape(-1).view("u1")) == elements(a, data), case
        inside = np.zeros(b.nbytes, bool)
        for index in np.ndindex(*space.sizes):
            for name, size in zip(fields.names, fields.sizes, strict=True):
                inside[b.offset(index, name) :][:size] = True
        assert not found.reshape(-1).view("u1")[~inside].any(), case


@pytest.mark.parametrize(
    ("array", "here", "there", "error", "words"),
    [
        (
            np.zeros((2, 3, 4)),
            "<F, x>",
            "<F, x>",
            LayoutError,
            "array: shape (2, 3, 4) of float64 has 3 axes, layout <F, x> needs 1",
        ),
        (np.zeros((3, 4)), "<F, x, y", "<F, x, y>", NotationError, "character 9"),
        (np.zeros((3, 4)), "<F, x, y>", "<F, x, z>", LayoutError, "z"),
        (np.zeros((3, 4)), 7, "<F, x, y>", LayoutError, "layout 7"),
        (
            np.zeros((3, 4))[:, ::2],
            "<F, x, y>",
            "<F, y, x>",
            TransferError,
            "is not dense (shape (3, 2)): axis 1 has a stride of 16 bytes",
        ),
        (
            [[1, 2]],
            "<F, x, y>",
            "<F, y, x>",
            TransferError,
            "expected a NumPy array, one that DLPack hands over, or a buffer, got a list",
        ),
        (OnGpu((3, 4)), "<F, x, y>", "<F, y, x>", TransferError, "an OnGpu is not in host memory"),
        (np.zeros(3, object), "<F, x>", "<F, x>", TransferError, "holds Python objects"),
    ],
)
def test_bad_input(array: Any, here: Any, there: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error) as caught:
        isoviz.relayout(array, here, there)
    assert words in str(caught.value)


def test_a_wrong_array_for_the_result_is_not_touched() -> None:
    array = np.ones((3, 4))
    locked = np.zeros((4, 3))
    locked.flags.writeable = False
    for out in (np.zeros((4, 4)), np.zeros((4, 6))[:, ::2], locked, [0]):
        with pytest.raises(isoviz.errors.InputError, match="relayout, out: "):
            isoviz.relayout(array, "<F, x, y>", "<F, y, x>", out=out)  # type: ignore[arg-type]
        assert not np.any(out)
    with pytest.raises(TransferError, match="overlaps"):
        isoviz.relayout(array, "<F, x, y>", "<F, y, x>", out=array.reshape(4, 3))


def test_layouts_of_arrays_that_numpy_does_not_hold() -> None:
    assert str(isoviz.Layout.of(Lent(np.zeros((3, 4))))) == "<F, x, y>"
    assert str(isoviz.Layout.of(OnGpu((3, 4)))) == "<F, x, y>"
    assert str(isoviz.Layout.of(OnGpu((3, 4), (8, 24)))) == "<F, y, x>"
    pair = OnGpu((3, 4), typestr="|V8", descr=[("re", "<f4"), ("im", "<f4")])
    assert str(isoviz.Layout.of(pair, ("row", "column"))) == "<F, column, row>"
    with pytest.raises(LayoutError, match="gaps"):
        isoviz.Layout.of(OnGpu((3, 4), (64, 8)))
    with pytest.raises(LayoutError, match="expected a NumPy array, one that DLPack hands over, or a buffer, got 'text'"):
        isoviz.Layout.of("text")
