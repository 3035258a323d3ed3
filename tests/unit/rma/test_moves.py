"""Copies between arrays that lie in any way: what NumPy copies, by kernels where these are faster."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isoviz.rma import moves

KINDS = [np.dtype(each) for each in ("u1", "<i2", ">i4", "f4", "f8", "c16", "S3", "V5", "f4,u1")]
KINDS.append(np.dtype({"names": ["a", "b"], "formats": ["u1", "f8"], "offsets": [3, 8], "itemsize": 24}))


class Lying:
    """An array that lies in some order of its axes, with steps forwards or backwards, among other bytes of `room`."""

    def __init__(self, draw: st.DrawFn, shape: tuple[int, ...], kind: np.dtype[Any]) -> None:
        order = draw(st.permutations(range(len(shape))))
        steps = [draw(st.sampled_from([1, 1, 1, 2, 3, -1, -2])) for _ in shape]
        extents = [shape[axis] * abs(steps[axis]) + draw(st.integers(0, 2)) for axis in order]
        self.room = np.zeros(int(np.prod(extents)) * kind.itemsize, np.uint8)
        whole = self.room.view(kind).reshape(extents).transpose(np.argsort(order))
        steady = whole[(*(slice(None, None, step) for step in steps), ...)]
        self.array = steady[(*(slice(0, extent) for extent in shape), ...)]

    @property
    def places(self) -> np.ndarray[Any, Any]:
        """The places in `room` of the bytes of each element."""
        found = np.array(self.array.__array_interface__["data"][0] - self.room.__array_interface__["data"][0])
        for extent, stride in zip(self.array.shape, self.array.strides, strict=True):
            found = found[..., None] + np.arange(extent) * stride
        return np.asarray(found[..., None] + np.arange(self.array.itemsize))


def fill(array: np.ndarray[Any, Any], seed: int) -> None:
    data = np.random.default_rng(seed).integers(0, 128, array.size * array.itemsize, np.uint8)
    array[...] = data.view(array.dtype).reshape(array.shape)


@st.composite
def pairs(draw: st.DrawFn) -> tuple[Lying, Lying]:
    kind = draw(st.sampled_from(KINDS))
    shape = tuple(draw(st.lists(st.sampled_from([1, 2, 3, 5, 8, 17, 64, 200]), max_size=5)))
    while np.prod(shape) * kind.itemsize > 1 << 18:
        shape = shape[1:]
    return Lying(draw, shape, kind), Lying(draw, shape, kind)


@settings(max_examples=max(25, settings().max_examples // 8))
@given(pairs(), st.integers(0, 1 << 30), st.booleans())
def test_every_element_comes_to_its_place_and_nothing_else(pair: tuple[Lying, Lying], seed: int, as_kept: bool) -> None:
    source, destination = pair
    fill(source.array, seed)
    for turn in range(2 if as_kept else 1):
        destination.room[:] = 0xA5 + turn
        if not as_kept:
            moves.copy(source.array, destination.array)
        elif turn == 0:
            prepared = moves.kept(source.array, destination.array)
        for move in prepared if as_kept else ():
            move()
        places = destination.places
        assert (destination.array == source.array).all()
        if destination.array.dtype.names is None:  # padding of structs has no contents
            assert (destination.room[places] == source.room[source.places]).all()
        outside = np.ones(destination.room.size, bool)
        outside[places] = False
        assert (destination.room[outside] == 0xA5 + turn).all()


@pytest.mark.parametrize("nbytes", [1 << 10, 1 << 16, 8 << 20])
def test_sources_that_overlap_and_repeat(nbytes: int) -> None:
    """Windows that slide over an array, and rows that are one row."""
    count = nbytes // 64
    base = np.random.default_rng(1).integers(0, 255, count + 63, np.uint8)
    for source in (np.lib.stride_tricks.sliding_window_view(base, 64), np.broadcast_to(base[:64], (count, 64))):
        destination = np.zeros((count, 64), np.uint8)
        moves.copy(source, destination)
        assert (destination == source).all()
        assert (base == np.random.default_rng(1).integers(0, 255, count + 63, np.uint8)).all()


@pytest.mark.parametrize("nbytes", [1 << 10, 1 << 16, 8 << 20])
@pytest.mark.parametrize("shift", [-8, -1, 1, 8, 4096])
def test_a_source_that_overlaps_the_destination(nbytes: int, shift: int) -> None:
    """As of NumPy: as if all of it had been read before."""
    room = np.random.default_rng(2).integers(0, 255, nbytes + 2 * 4096, np.uint8)
    expected = room.copy()
    expected[4096 : 4096 + nbytes] = room[4096 + shift : 4096 + shift + nbytes]
    moves.copy(room[4096 + shift : 4096 + shift + nbytes], room[4096 : 4096 + nbytes])
    assert (room == expected).all()


def test_a_smaller_source_is_repeated_and_a_narrower_one_cast() -> None:
    destination = np.zeros((300, 100), "f8")
    moves.copy(np.arange(100, dtype="f4"), destination)
    assert (destination == np.arange(100)).all()
