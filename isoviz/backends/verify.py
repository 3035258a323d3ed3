"""Verification of a transfer: both ends are compared, by other means than the copy that moved the data.

Every store is read by `Store.read`. A store that reads in place becomes the NumPy array of its layout: the bytes are reshaped to
the digits of the layout and transposed to the dimensions. Any other store is read in runs, whose offsets follow from the strides
of the layout. Neither method uses the copy geometry. Bytes are compared as integers, so NaNs and negative zeros must match
exactly. The comparison goes tile by tile within a memory budget.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from isoviz.backends.pages import Bytes
from isoviz.errors import RunError, VerificationError
from isoviz.layouts import Linearization
from isoviz.layouts.modes import Mode

if TYPE_CHECKING:
    from isoviz.planner import Transfer
    from isoviz.runtime.protocols import Store

Array = np.ndarray[Any, Any]
IntArray = np.ndarray[Any, np.dtype[np.int64]]
Ranges = dict[str, tuple[int, int]]

BUDGET = 64 << 20
_GAP = 4096  # bytes between two runs that take less time to read than to skip
_PIECE = 1 << 20  # bytes per read: they are copied while they are still in a cache
_INTEGERS: dict[int, np.dtype[Any]] = {8: np.dtype("u8"), 4: np.dtype("u4"), 2: np.dtype("u2"), 1: np.dtype("u1")}


class Reader(Protocol):
    """Reads boxes of an instance that a store holds."""

    def read(self, ranges: Ranges, field: str) -> Array:
        """The elements of a box as integers.

        There is one axis per dimension in the transfer's order, and a last axis for the words of an element.
        """


def verify(
    transfer: Transfer,
    source: Store,
    destination: Store,
    budget: int = BUDGET,
    check: Callable[[], None] | None = None,
    told: Callable[[int], None] | None = None,
) -> None:
    """Compare the data of a transfer bit for bit. `budget` limits the memory used, in bytes; `check` is called for
    every field of a tile and every MiB that is read, and may raise to stop. `told` takes the bytes of the transfer that were
    found equal so far.

    Raises:
        VerificationError: names the first index and field that differ.
        RunError: a store cannot be read.
    """
    ends, equal = [], 0
    for store, instance, origin in (
        (source, transfer.source, transfer.source_origin),
        (destination, transfer.destination, transfer.destination_origin),
    ):
        start = dict(zip(instance.space.dims, origin, strict=True))
        ends.append((reader_of(store, instance.linearization, transfer.space.dims, check), start, instance.linearization))
    for tile in _tiles(transfer, [lin for _, _, lin in ends], budget):
        for field in transfer.field_names:
            if check is not None:
                check()
            a, b = (reader.read(_moved(tile, at), field) for reader, at, _ in ends)
            if not np.array_equal(a, b):
                raise _difference(transfer, tile, field, a, b)
            equal += a.nbytes
            if told is not None:
                told(equal)
        for reader, _, _ in ends:
            if isinstance(reader, RunReader):
                reader.forget()


def _moved(tile: Ranges, by: dict[str, int]) -> Ranges:
    return {dim: (lo + by[dim], hi + by[dim]) for dim, (lo, hi) in tile.items()}


def _difference(transfer: Transfer, tile: Ranges, field: str, a: Array, b: Array) -> VerificationError:
    wrong = np.argwhere((a != b).any(axis=-1))
    index = {dim: int(i) + tile[dim][0] for dim, i in zip(transfer.space.dims, wrong[0], strict=True)}
    at = tuple(int(i) for i in wrong[0])
    return VerificationError(
        f"verification failed: field {field!r} at {', '.join(f'{dim}={i}' for dim, i in index.items()) or 'its only index'}"
        f" is {b[at].tobytes().hex()}, the source has {a[at].tobytes().hex()} (bytes in hexadecimal)"
    )


def reader_of(store: Store, linearization: Linearization, dims: Sequence[str], check: Callable[[], None] | None) -> Reader:
    """A reader of a store that holds an instance. Its arrays have an axis for each of `dims`, in this order."""
    if store.reads_in_place:
        return ArrayReader(_read(store, 0, linearization.nbytes), linearization, dims)
    return RunReader(store, linearization, dims, check)


def _read(store: Store, offset: int, nbytes: int) -> Bytes:
    found = store.read(offset, nbytes)
    array = found if isinstance(found, np.ndarray) else np.frombuffer(found, np.uint8)
    if array.dtype != np.uint8 or array.shape != (nbytes,):
        raise RunError(
            f"verification: {type(store).__name__}.read({offset}, {nbytes}) gave {array.dtype} of shape {array.shape};"
            f" expected {nbytes} bytes"
        )
    return array


def _tiles(transfer: Transfer, orders: Sequence[Linearization], budget: int) -> Iterator[Ranges]:
    """Tiles that fit the budget and are long in both storage orders, one after the other."""
    sizes = transfer.space.as_dict()
    # Two copies of the data and their comparison. In the worst case every element also needs a few positions of eight bytes.
    each = 6 * max(lin.fields.nbytes for lin in orders) + 48 * len(transfer.fields)
    entries = max(1, budget // each)
    tile = dict.fromkeys(sizes, 1)
    turns = itertools.cycle(orders)
    idle = 0
    while idle < len(orders):
        idle += 1
        for part in next(turns).parts:
            if not isinstance(part, Mode) or tile[part.dim] >= min(part.step * part.extent, sizes[part.dim]):
                continue
            wanted = min(2 * tile[part.dim], part.step * part.extent, sizes[part.dim])
            if math.prod(tile.values()) // tile[part.dim] * wanted <= entries:
                tile[part.dim] = wanted
                idle = 0
            break
    starts = [range(0, size, tile[dim]) for dim, size in sizes.items()]
    for corner in itertools.product(*starts):
        yield {dim: (at, min(at + tile[dim], sizes[dim])) for dim, at in zip(sizes, corner, strict=True)}


def word_of(size: int) -> np.dtype[Any]:
    """The largest unsigned integer type of which an element of `size` bytes is a whole number."""
    return next(dtype for width, dtype in _INTEGERS.items() if size % width == 0)


class ArrayReader:
    """A store read in place, as the array of its layout."""

    def __init__(self, array: Bytes, linearization: Linearization, dims: Sequence[str]) -> None:
        self.lin = linearization
        self.dims = tuple(dims)
        self.digits = [part for part in linearization.parts[::-1] if isinstance(part, Mode)]  # slowest first
        self.array = array

    def read(self, ranges: Ranges, field: str) -> Array:
        words, place = self._found(ranges, field)
        return words[place]

    def write(self, ranges: Ranges, field: str, values: Array) -> None:
        """Write the elements of a box, given as `read` gives them."""
        words, place = self._found(ranges, field)
        words[place] = values

    def _found(self, ranges: Ranges, field: str) -> tuple[Array, tuple[slice | IntArray, ...]]:
        """The words of a field, with an axis for every digit, and the index of a box in them."""
        f = self.lin.fields.index(field)
        size, start = self.lin.fields.sizes[f], self.lin.fields.starts[f]
        inner = self.lin.inner_count
        blocks = self.array.reshape(-1, inner * self.lin.fields.nbytes)
        elements = blocks[:, inner * start : inner * (start + size)].reshape(*(digit.extent for digit in self.digits), size)
        words = elements.view(word_of(size))
        places = [(self.dims.index(digit.dim), -digit.step) for digit in self.digits]
        order = sorted(range(len(places)), key=places.__getitem__)
        words = words.transpose(*order, len(self.digits))
        axes = [self.digits[axis] for axis in order]
        if len(axes) == len(self.dims):
            return words, tuple(slice(*ranges[digit.dim]) for digit in axes)
        return words, self._coordinates(axes, ranges)

    def _coordinates(self, axes: Sequence[Mode], ranges: Ranges) -> tuple[IntArray, ...]:
        """The digits of all coordinates of a box, as an open mesh over the dimensions."""
        found = []
        for digit in axes:
            coordinates = np.arange(*ranges[digit.dim], dtype=np.int64) // digit.step % digit.extent
            shape = [1] * len(self.dims)
            shape[self.dims.index(digit.dim)] = -1
            found.append(coordinates.reshape(shape))
        return tuple(found)


class RunReader:
    """A store read in contiguous runs. The last tile is kept for its other fields."""

    def __init__(self, store: Store, linearization: Linearization, dims: Sequence[str], check: Callable[[], None] | None) -> None:
        self.store = store
        self.check = check
        self.lin = linearization
        self.dims = tuple(dims)
        self._held: tuple[Ranges, dict[str, Array]] | None = None

    def forget(self) -> None:
        """Free the memory of the last tile."""
        self._held = None

    def read(self, ranges: Ranges, field: str) -> Array:
        if self._held is None or self._held[0] != ranges:
            self._held = None
            self._held = ranges, self._tile(ranges)
        return self._held[1][field]

    def _tile(self, ranges: Ranges) -> dict[str, Array]:
        fields = self.lin.fields
        if self.lin.inner_count == 1:  # The fields of an entry lie together: read whole entries.
            records = self._elements([(0, fields.nbytes, fields.names[0])], ranges)[0]
            found = {}
            for name, start, size in zip(fields.names, fields.starts, fields.sizes, strict=True):
                found[name] = records[..., start : start + size].view(word_of(size))
            return found
        units = [(self.lin.field_base(name), size, name) for name, size in zip(fields.names, fields.sizes, strict=True)]
        elements = self._elements(units, ranges)
        return {name: array.view(word_of(size)) for (_, size, name), array in zip(units, elements, strict=True)}

    def _elements(self, units: Sequence[tuple[int, int, str]], ranges: Ranges) -> list[Array]:
        """The bytes of the elements of every unit (base, size, field), each of shape (box..., size)."""
        runs = [_Runs(self.lin, self.dims, ranges, *unit) for unit in units]
        positions, buffer = self._fetch(runs)
        return [run.gathered(buffer, at) for run, at in zip(runs, positions, strict=True)]

    def _fetch(self, runs: Sequence[_Runs]) -> tuple[list[IntArray], Bytes]:
        """Read all runs in storage order, neighbouring runs together.

        Returns the positions of the runs in the buffer, and the buffer.
        """
        starts = np.concatenate([run.starts.ravel() for run in runs])
        ends = starts + np.concatenate([np.broadcast_to(run.lengths, run.starts.shape).ravel() for run in runs])
        order = np.argsort(starts, kind="stable")
        starts, ends = starts[order], ends[order]
        gap = min(_GAP, int((ends - starts).max()))
        first = np.concatenate([[True], starts[1:] > ends[:-1] + gap])
        lo = starts[first]
        hi = ends[np.concatenate([first[1:], [True]])]
        place = np.concatenate([[0], np.cumsum(hi - lo)])
        buffer = np.empty(int(place[-1]), np.uint8)
        for at, begin, end in zip(lo.tolist(), place[:-1].tolist(), place[1:].tolist(), strict=True):
            for to in range(begin, end, _PIECE):
                if self.check is not None:
                    self.check()
                into = buffer[to : min(to + _PIECE, end)]
                into[:] = _read(self.store, at + to - begin, len(into))
        moved = starts - (lo - place[:-1])[np.cumsum(first) - 1]
        positions = np.empty_like(moved)
        positions[order] = moved
        cuts = np.cumsum([run.starts.size for run in runs])[:-1]
        return [part.reshape(run.starts.shape) for part, run in zip(np.split(positions, cuts), runs, strict=True)], buffer


class _Runs:
    """The contiguous runs of one unit in a box: `starts` of shape (other dimensions, segments), `lengths` in bytes."""

    def __init__(self, lin: Linearization, dims: Sequence[str], ranges: Ranges, base: int, size: int, field: str) -> None:
        self.size = size
        digits = {dim: [(digit, stride) for digit, stride in lin.strides(field) if digit.dim == dim] for dim in dims}
        self.shape = tuple(hi - lo for lo, hi in (ranges[dim] for dim in dims))
        # The dimension along which elements are contiguous; an arbitrary one where there is none.
        touching = [self.shape[d] * any(stride == size for _, stride in digits[dim]) for d, dim in enumerate(dims)]
        self.fast = max(range(len(dims)), key=touching.__getitem__) if dims else -1
        first = np.zeros(1, np.int64)
        self.counts: IntArray = np.ones(1, np.int64)  # elements in each segment
        others = np.array(base, np.int64)
        for d, dim in enumerate(dims):
            if d != self.fast:
                others = others[..., None] + _along(digits[dim], *ranges[dim])
            elif [stride for _, stride in digits[dim]] == [size]:  # one segment
                first = first + ranges[dim][0] * size
                self.counts = self.counts * self.shape[d]
            else:
                offsets = _along(digits[dim], *ranges[dim])
                starts = np.concatenate([[True], np.diff(offsets) != size])
                first = offsets[starts]
                self.counts = np.diff(np.append(np.flatnonzero(starts), len(offsets)))
        self.lengths: IntArray = self.counts * size
        self.starts: IntArray = others.reshape(-1, 1) + first

    def gathered(self, buffer: Bytes, positions: IntArray) -> Array:
        """Gather the elements from a buffer, given the position of every run. Returns uint8 of shape (box..., size)."""
        if (self.counts == self.counts[0]).all():
            width = int(self.lengths[0])
        else:  # Segments of different lengths: gather single elements.
            within = np.arange(int(self.counts.sum()), dtype=np.int64)
            within -= np.repeat(np.cumsum(self.counts) - self.counts, self.counts)
            positions = np.repeat(positions, self.counts, axis=1) + within * self.size
            width = self.size
        if positions.size == 1:  # A single run needs no gathering.
            elements = buffer[int(positions.flat[0]) :][:width]
            return self._shaped(elements)
        windows: Array = np.ndarray((len(buffer) - width + 1,), f"V{width}", buffer.data, 0, (1,))
        return self._shaped(windows[positions].view(np.uint8))

    def _shaped(self, elements: Bytes) -> Array:
        others = tuple(extent for d, extent in enumerate(self.shape) if d != self.fast)
        if not self.shape:
            return elements.reshape(self.size)
        return np.moveaxis(elements.reshape(*others, self.shape[self.fast], self.size), -2, self.fast)


def _along(digits: Sequence[tuple[Mode, int]], lo: int, hi: int) -> IntArray:
    """The contribution of one dimension's coordinates to the offset."""
    coordinates = np.arange(lo, hi, dtype=np.int64)
    if len(digits) == 1:
        return coordinates * digits[0][1]
    total = np.zeros_like(coordinates)
    for digit, stride in digits:
        total += coordinates // digit.step % digit.extent * stride
    return total
