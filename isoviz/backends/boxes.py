"""Boxes of an instance as NumPy arrays, for verification: independent of the copies that move data.

An instance is the C-order array of its layout: its axes are the digits, slowest first, with the fields as slices. So an element
lies at a sum of digits times strides, and a box is a strided view: of the stored bytes where a store is read in place, elsewhere
of what was read of them in contiguous runs. The digits of a dimension are joined by reshaping. Copy geometry is not used here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from isoviz.backends.pages import Bytes
from isoviz.errors import RunError
from isoviz.layouts import Linearization
from isoviz.layouts.given_arrays import Array
from isoviz.layouts.modes import Mode

if TYPE_CHECKING:
    from isoviz.runtime.protocols import Store

Ranges = dict[str, tuple[int, int]]

_GAP = 4096  # bytes between two runs that take less time to read than to skip
_PIECE = 1 << 20  # bytes that are read between two looks at a cancel
_BATCH = 1 << 14  # runs whose offsets are computed together
_COVER = 2  # times as many coordinates of a dimension as a box has, which are read at most: whole blocks are one run
_INTEGERS: dict[int, np.dtype[Any]] = {8: np.dtype("u8"), 4: np.dtype("u4"), 2: np.dtype("u2"), 1: np.dtype("u1")}


def word_of(size: int) -> np.dtype[Any]:
    """The largest unsigned integer type of which an element of `size` bytes is a whole number."""
    return next(dtype for width, dtype in _INTEGERS.items() if size % width == 0)


class _Axis(NamedTuple):
    """A digit as an axis. A box has `values` values of it from `first` on. `stride` is in bytes."""

    dim: str
    step: int
    extent: int
    stride: int
    first: int = 0
    values: int = 1


class Boxes:
    """Boxes of the instance in a store, or in the bytes of an array.

    They are arrays of integers with an axis for each of `dims`, in this order, and a last one for the words of an element.
    """

    def __init__(
        self, store: Store | Bytes, linearization: Linearization, dims: Sequence[str], check: Callable[[], None] | None = None
    ) -> None:
        self.lin, self.dims, self._check = linearization, tuple(dims), check
        self._digits = [part for part in linearization.parts if isinstance(part, Mode) and part.extent > 1]
        self._array: Bytes | None = store if isinstance(store, np.ndarray) else None
        self._store = None if isinstance(store, np.ndarray) else store
        if self._store is not None and self._store.reads_in_place:
            self._array = _bytes(self._store, 0, linearization.nbytes)
        self._box: Ranges = {}
        self._kept: dict[tuple[tuple[int, int], ...], tuple[Bytes, list[_Axis]]] = {}

    @property
    def in_place(self) -> bool:
        """Whether a box is a view of the stored bytes."""
        return self._array is not None

    def forget(self) -> None:
        """Free the memory of the last box, which was kept for its other fields."""
        self._kept.clear()

    def read(self, ranges: Ranges, field: str) -> Array:
        """The elements of a box; a view where the store is read in place."""
        if ranges != self._box:
            self.forget()
            self._box = ranges
        pieces = list(self._pieces(ranges, _COVER))
        if len(pieces) == 1:
            return self._piece(ranges, field)
        first = self._piece(pieces[0], field)
        found = np.empty((*(high - low for low, high in self._spans(ranges)), first.shape[-1]), first.dtype)
        found[self._within(pieces[0], ranges)] = first
        for piece in pieces[1:]:
            found[self._within(piece, ranges)] = self._piece(piece, field)
        return found

    def write(self, ranges: Ranges, field: str, values: Array) -> None:
        """Write the elements of a box, given as `read` gives them, into the array."""
        assert self._array is not None, "only an array is written to"
        for piece in self._pieces(ranges, 1):
            axes = self._axes(piece, field)
            words = self._words(self._array, self._base(field) + _start(axes), axes, field)
            words[...] = values[self._within(piece, ranges)].reshape(words.shape)

    def _spans(self, ranges: Ranges) -> list[tuple[int, int]]:
        return [ranges[dim] for dim in self.dims]

    def _within(self, piece: Ranges, ranges: Ranges) -> tuple[slice, ...]:
        """The place of a piece in the array of a box."""
        ends = zip(self._spans(piece), self._spans(ranges), strict=True)
        return tuple([slice(low - start, high - start) for (low, high), (start, _) in ends])

    # ---- digits

    def _axes(self, ranges: Ranges, field: str) -> list[_Axis]:
        """The digits that cover a box, fastest first."""
        fields, found = self.lin.fields, []
        stride = fields.sizes[fields.index(field)]
        for part in self.lin.parts:
            if not isinstance(part, Mode):
                stride = self._block
            elif part.extent > 1:
                found.append(_Axis(part.dim, part.step, part.extent, stride))
                stride *= part.extent
        covers = {dim: _cover([axis for axis in found if axis.dim == dim], *ranges[dim]) for dim in self.dims}
        return [axis._replace(first=first, values=values) for axis in found for first, values in (covers[axis.dim][axis.step],)]

    def _pieces(self, ranges: Ranges, most: int) -> Iterator[Ranges]:
        """Boxes that make up a box, and whose digits cover at most `most` times as many coordinates of a dimension."""
        for dim in self.dims:
            low, high = ranges[dim]
            cover = _cover([digit for digit in self._digits if digit.dim == dim], low, high)
            if math.prod([count for _, count in cover.values()]) <= most * (high - low):
                continue
            step = max(step for step, (_, count) in cover.items() if count > 1)
            cut = (low // step + 1) * step if low % step else high // step * step
            yield from self._pieces({**ranges, dim: (low, cut)}, most)
            yield from self._pieces({**ranges, dim: (cut, high)}, most)
            return
        yield ranges

    # ---- elements

    @property
    def _block(self) -> int:
        """Bytes of one block of all fields: the digits faster than `F`, for each of them."""
        return self.lin.inner_count * self.lin.fields.nbytes

    def _base(self, field: str) -> int:
        return self.lin.inner_count * self.lin.fields.starts[self.lin.fields.index(field)]

    def _piece(self, ranges: Ranges, field: str) -> Array:
        axes = self._axes(ranges, field)
        if self._array is not None:
            words = self._words(self._array, self._base(field) + _start(axes), axes, field)
        else:
            words = self._fetched(ranges, field, axes)
        counts, cuts = [], []
        for dim in self.dims:
            mine = [axis for axis in axes if axis.dim == dim]
            start = sum(axis.first * axis.step for axis in mine)
            counts.append(math.prod([axis.values for axis in mine]))
            cuts.append(slice(ranges[dim][0] - start, ranges[dim][1] - start))
        return words.reshape(*counts, words.shape[-1])[tuple(cuts)]

    def _words(self, array: Bytes, start: int, axes: Sequence[_Axis], field: str) -> Array:
        """A view of bytes as the words of a field: the digits of each dimension together, slowest first, and the words."""
        size = self.lin.fields.sizes[self.lin.fields.index(field)]
        word = word_of(size)
        ordered = sorted(axes, key=lambda axis: (self.dims.index(axis.dim), -axis.step))
        shape = (*(axis.values for axis in ordered), size // word.itemsize)
        return np.ndarray(shape, word, array.data, start, (*(axis.stride for axis in ordered), word.itemsize))

    # ---- stores that are not read in place

    def _fetched(self, ranges: Ranges, field: str, axes: list[_Axis]) -> Array:
        """The words of a box of the store. Blocks that are short or read whole are read once for all fields."""
        inner = [axis for axis in axes if axis.stride < self._block]
        outer = axes[len(inner) :]
        if self._block > _GAP and any(axis.values < axis.extent for axis in inner):
            buffer, moved = self._read(self._base(field), self.lin.fields.sizes[self.lin.fields.index(field)], axes)
            return self._words(buffer, 0, moved, field)
        key = tuple(self._spans(ranges))
        if key not in self._kept:
            self._kept[key] = self._read(0, self._block, outer)
        buffer, moved = self._kept[key]
        return self._words(buffer, self._base(field) + _start(inner), [*inner, *moved], field)

    def _read(self, base: int, unit: int, axes: Sequence[_Axis]) -> tuple[Bytes, list[_Axis]]:
        """Read the box of these axes with elements of `unit` bytes. Returns a buffer, and the axes with their strides in it.

        The axes that lie close together are read in one run, with the bytes between.
        """
        span = useful = unit
        near = 0
        for axis in axes:
            longer = (axis.values - 1) * axis.stride + span
            if axis.values > 1 and (axis.stride - span > min(_GAP, span) or longer > 2 * useful * axis.values):
                break
            span, useful, near = longer, useful * axis.values, near + 1
        far, stride, moved = axes[near:], span, list(axes[:near])
        for axis in far:
            moved.append(axis._replace(stride=stride))
            stride *= axis.values
        buffer = np.empty(stride, np.uint8)
        self._fill(buffer, span, base + _start(axes), far)
        return buffer, moved

    def _fill(self, buffer: Bytes, span: int, start: int, far: Sequence[_Axis]) -> None:
        """Fill the buffer with runs of `span` bytes, one for each index of the axes."""
        assert self._store is not None
        read_into = getattr(self._store, "read_into", None)
        count = len(buffer) // span
        since = 0
        for batch in range(0, count, _BATCH):
            numbers = np.arange(batch, min(batch + _BATCH, count), dtype=np.int64)
            offsets = np.full(len(numbers), start, np.int64)
            for axis in far:
                numbers, value = np.divmod(numbers, axis.values)
                offsets += value * axis.stride
            at = batch * span
            for offset in offsets.tolist():
                for piece in range(0, span, _PIECE):
                    into = buffer[at + piece : at + min(piece + _PIECE, span)]
                    if since >= _PIECE:
                        since = 0
                        if self._check is not None:
                            self._check()
                    since += len(into)
                    if read_into is not None:
                        read_into(offset + piece, into)
                    else:
                        into[:] = _bytes(self._store, offset + piece, len(into))
                at += span


def _start(axes: Sequence[_Axis]) -> int:
    return sum([axis.first * axis.stride for axis in axes])


def _cover(digits: Sequence[_Axis | Mode], low: int, high: int) -> dict[int, tuple[int, int]]:
    """For each digit of a dimension, by its step, the first value and the number of values that cover the coordinates of a range.

    Where a slower digit has several values, a faster one has all of its values.
    """
    last, found, several = high - 1, {}, False
    for digit in sorted(digits, key=lambda digit: -digit.step):
        if several:
            found[digit.step] = 0, digit.extent
            continue
        a, b = low // digit.step, last // digit.step
        found[digit.step] = a, b - a + 1
        low, last, several = low - a * digit.step, last - a * digit.step, b > a
    return found


def _bytes(store: Store, offset: int, nbytes: int) -> Bytes:
    found = store.read(offset, nbytes)
    array = found if isinstance(found, np.ndarray) else np.frombuffer(found, np.uint8)
    if array.dtype != np.uint8 or array.shape != (nbytes,):
        raise RunError(
            f"verification: {type(store).__name__}.read({offset}, {nbytes}) gave {array.dtype} of shape {array.shape};"
            f" expected {nbytes} bytes"
        )
    return array
