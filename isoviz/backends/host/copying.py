"""One strided copy between two host arrays: by compiled kernels where available, else by NumPy.

NumPy copies a transposition row by row. Every cache line is then fetched once for each of its elements, and strides of a power of
two map to a few cache sets. Staging through a small array, which is filled row by row, fetches each line once and keeps it until
it is used up. Measured against plain `copyto` on 2048², 2000² and 16384 × 192 elements of 4 bytes: 0.5 → 2.4 GB/s, 2.1 → 2.5 and
0.5 → 3.5.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from functools import cache, partial
from typing import TYPE_CHECKING

import numpy as np

from isoviz.backends.host import kernels
from isoviz.backends.host.kernels.many import many_of
from isoviz.backends.pages import Bytes
from isoviz.errors import LayoutError
from isoviz.forks import in_child
from isoviz.layouts import StridedCopy
from isoviz.layouts.copies import ListedCopy
from isoviz.layouts.given_arrays import Array
from isoviz.layouts.numpy_copy import apply_one, strided_view
from isoviz.layouts.recurring import neighbours, split_together

if TYPE_CHECKING:
    from isoviz.layouts import StridedCopy


_SCALARS = {1: "u1", 2: "u2", 4: "u4", 8: "u8", 16: "c16"}
_WORTH_STAGING = 1 << 14  # elements in the two loops of a transposition from which staging pays
_STAGED = 512 << 10  # bytes staged at a time: they stay in a second-level cache
_STRETCH = 512  # elements in a row of the staging array
_PART = 1 << 13  # elements of a long row that are moved before the next row
_SHORT = 16  # a shorter innermost loop costs more than the copy
LINE = 64  # bytes
WORTH_THREADS = 1 << 20  # bytes from which a second thread pays
MOST_FIELDS = 64  # most fields of a struct that are moved together
MOST_APART = 8  # most fields of one size that are split to be moved with others
_AT_A_TIME = 64  # small copies between two calls of `check`
_ALONE = 2048  # run length in bytes from which separate copies are as fast
_LONGEST = 1 << 20  # run length in bytes that NumPy moves as one element
_WIDEST = 64  # run length in bytes above which runs reach the rate of `memcpy`


def copy_strided(copy: StridedCopy, source: Bytes, destination: Bytes, *, large: bool = False) -> None:
    """Move the bytes of one strided copy between two one-dimensional contiguous arrays.

    `large` marks a part of a large copy, whose destination is not read again soon.

    Raises:
        LayoutError: the copy exceeds one of the arrays, or its destination may overlap its source.
    """
    _check(copy, source, destination)
    if isinstance(copy, ListedCopy):
        for move in _listed_moves(copy, source, destination):
            move()
        return
    if kernels.copy(copy, source, destination, large=large):
        return
    swap = _transposed(copy)
    if swap is None or copy.run > _WIDEST:
        apply_one(copy, source, destination)
        return
    dtype = np.dtype(_SCALARS.get(copy.run) or (np.void, copy.run))
    there = strided_view(destination, copy, dtype, end=2)
    here = strided_view(source, copy, dtype, end=1)
    # Axes: …, the fastest loop in the source, the fastest loop in the destination.
    order = [*(axis for axis in range(len(copy.loops)) if axis not in swap), *swap]
    here, there = here.transpose(order), there.transpose(order)
    way = _staged if min(here.shape[-2:]) >= _SHORT else _in_rows
    for outer in itertools.product(*(range(extent) for extent in here.shape[:-2])):
        way(there[outer], here[outer])


def copy_all(
    copies: Sequence[StridedCopy],
    source: Bytes,
    destination: Bytes,
    check: Callable[[], None],
    threads: int = 1,
    *,
    large: bool = False,
) -> None:
    """Move the bytes of several copies in any order. Fields of structs are moved together, even of different sizes.

    `check` is called between copies. With `threads` above 1, large copies are split among threads. `large` as in `copy_strided`.

    Raises:
        LayoutError: as in `copy_strided`. Errors of `check` pass through.
    """
    if threads > 1 and sum(copy.nbytes for copy in copies) >= WORTH_THREADS:
        parts = [part for part in split_together(copies, threads, LINE) if part]
        if len(parts) > 1:
            others = [_pool().submit(copy_all, part, source, destination, check, large=large) for part in parts[1:]]
            try:
                copy_all(parts[0], source, destination, check, large=large)
            finally:
                wait(others)
            for other in others:
                other.result()
            return
    if any(isinstance(copy, ListedCopy) for copy in copies):
        for copy in copies:
            check()
            copy_strided(copy, source, destination, large=large)
        return
    if len(copies) > 1 and kernels.is_ready():
        copies = _without_small(copies, source, destination, check, large=large)
    for group in _alike(copies) if len(copies) > 1 and kernels.is_ready() else (copies,):
        if 2 <= len(group) <= MOST_FIELDS and kernels.is_ready():
            check()
            for copy in group:
                _check(copy, source, destination)
            if kernels.copy_structs(group, source, destination, large=large):
                continue
        for copy in group:
            check()
            copy_strided(copy, source, destination, large=large)


def prepared_copies(
    copies: Sequence[StridedCopy], source: Bytes, destination: Bytes, *, large: bool = False
) -> tuple[Callable[[], object], ...]:
    """The moves of `copy_all` as functions that may be called again and again, in any order, while both arrays live.

    They stand for the kernels that are ready now.

    Raises:
        LayoutError: as in `copy_strided`.
    """
    for copy in copies:
        _check(copy, source, destination)
    lists = [copy for copy in copies if isinstance(copy, ListedCopy)]
    moves = [move for copy in lists for move in _listed_moves(copy, source, destination)]
    copies = [copy for copy in copies if not isinstance(copy, ListedCopy)]
    if len(copies) > 1 and kernels.is_ready():
        many, copies = many_of(copies, large=large)
        if many is not None:
            moves.append(kernels.prepared_many(many, source, destination, slice(None)))
    for copy in copies:
        here, there = copy.source_offset, copy.destination_offset
        if not copy.loops and not large:  # what moves again and again stays in caches
            moves.append(partial(np.copyto, destination[there : there + copy.run], source[here : here + copy.run]))
        elif compiled := kernels.prepared_copy(copy, source, destination, large=large, again=True):
            moves += compiled
        elif not copy.loops or _transposed(copy) is not None or copy.run > _LONGEST:
            moves.append(partial(copy_strided, copy, source, destination, large=large))
        else:
            dtype = np.dtype(_SCALARS.get(copy.run) or (np.void, copy.run))
            views = strided_view(destination, copy, dtype, end=2), strided_view(source, copy, dtype, end=1)
            moves.append(partial(np.copyto, *views))
    return tuple(moves)


def _listed_moves(copy: ListedCopy, source: Bytes, destination: Bytes) -> Sequence[Callable[[], object]]:
    return kernels.prepared_listed(copy, source, destination) or [partial(apply_one, copy, source, destination)]


def _without_small(
    copies: Sequence[StridedCopy], source: Bytes, destination: Bytes, check: Callable[[], None], *, large: bool
) -> Sequence[StridedCopy]:
    """Move the small copies, a batch at a time; returns the others."""
    many, others = many_of(copies, large=large)
    if many is None:
        return copies
    (here, end), (there, behind) = many.source, many.destination
    if min(here, there) < 0 or end > source.size or behind > destination.size or np.may_share_memory(source, destination):
        for copy in copies:  # This raises for the wrong copy, if there is one.
            _check(copy, source, destination)
    for first in range(0, len(many.rows), _AT_A_TIME):
        check()
        kernels.copy_many(many, source, destination, slice(first, first + _AT_A_TIME))
    return others


def _alike(copies: Sequence[StridedCopy]) -> list[list[StridedCopy]]:
    """Group the copies by the extents of their loops.

    Fields of one size that form a loop are split again where their copies then match others: the struct is moved as a whole. Long
    runs gain nothing from it.
    """
    groups: dict[tuple[int, ...], list[StridedCopy]] = {}
    alone = [[copy] for copy in copies if copy.run >= _ALONE or not copy.loops]
    for copy in copies if not alone else [copy for copy in copies if copy.run < _ALONE and copy.loops]:
        groups.setdefault(tuple([loop[0] for loop in copy.loops]), []).append(copy)
    for turns, found in [each for each in groups.items() if len(groups) > 1]:
        for k, count in enumerate(turns):
            fewer = turns[:k] + turns[k + 1 :]
            if count <= MOST_APART and fewer in groups:
                groups[fewer] += [part for copy in found for part in _apart(copy, k)]
                del groups[turns]
                break
    return [*(part for group in groups.values() for part in neighbours(group)), *alone]


def _apart(copy: StridedCopy, k: int) -> list[StridedCopy]:
    """The iterations of loop `k` as separate copies."""
    count, here, there = copy.loops[k]
    rest = (*copy.loops[:k], *copy.loops[k + 1 :])
    return [
        StridedCopy(copy.source_offset + turn * here, copy.destination_offset + turn * there, copy.run, rest)
        for turn in range(count)
    ]


@cache
def _pool() -> ThreadPoolExecutor:
    """The threads for parts of large copies."""
    return ThreadPoolExecutor(max(1, (os.cpu_count() or 1) - 1), "isoviz copies")


in_child(_pool.cache_clear)  # A child process would wait for threads that it did not inherit.


def _check(copy: StridedCopy, source: Bytes, destination: Bytes) -> None:
    (lo, hi), (low, high) = copy.spans()
    if lo < 0 or low < 0 or hi > source.size or high > destination.size:
        raise LayoutError(
            f"copy {copy}: reaches outside the source ({source.size} bytes) or the destination ({destination.size} bytes)"
        )
    if not np.may_share_memory(source, destination):
        return
    first = source.ctypes.data - destination.ctypes.data
    if first + lo < high and low < first + hi:
        raise LayoutError(f"copy {copy}: its destination overlaps its source")


def _transposed(copy: StridedCopy) -> tuple[int, int] | None:
    """The fastest loops in the source and in the destination, if they differ and are long enough together."""
    if len(copy.loops) < 2:
        return None
    fastest_here = min(range(len(copy.loops)), key=lambda i: (copy.loops[i][1], -i))
    fastest_there = min(range(len(copy.loops)), key=lambda i: (copy.loops[i][2], -i))
    if fastest_here == fastest_there:
        return None
    if copy.loops[fastest_here][0] * copy.loops[fastest_there][0] < _WORTH_STAGING:
        return None
    return fastest_here, fastest_there


def _in_rows(there: Array, here: Array) -> None:
    """Transpose few long rows or few long columns, one after the other, a part of all of them at a time."""
    rows, columns = there.shape  # rows: fastest in the source; columns: fastest in the destination
    if columns < _SHORT:
        for i in range(0, rows, _PART):
            for j in range(columns):
                there[i : i + _PART, j] = here[i : i + _PART, j]
        return
    for j in range(0, columns, _PART):
        for i in range(rows):
            there[i, j : j + _PART] = here[i, j : j + _PART]


def _staged(there: Array, here: Array) -> None:
    """Transpose through a small staging array. Its rows are filled from rows of the source, and all of it stays in the cache."""
    rows, columns = here.shape
    long = min(rows, _STRETCH)
    width = min(columns, max(_SHORT, _STAGED // here.itemsize // long))
    # Rows are padded by a cache line: rows a power of two apart would share few cache sets.
    room = np.empty((width, long + max(1, LINE // here.itemsize)), here.dtype)
    for j in range(0, columns, width):
        for i in range(0, rows, long):
            wanted = here[i : i + long, j : j + width]
            stage = room[: wanted.shape[1], : wanted.shape[0]]
            stage[...] = wanted.T
            there[i : i + long, j : j + width] = stage.T
