"""`relayout` gives an array in memory another layout."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from isoviz.backends.formats.npy import NpyHeader
from isoviz.backends.formats.records import array_of
from isoviz.backends.formats.stored import empty_array, stored_array
from isoviz.backends.host import kernels
from isoviz.backends.host.copying import copy_all
from isoviz.backends.host.host_memory import WORTH_KERNELS
from isoviz.backends.pages import page_aligned
from isoviz.checks import expect
from isoviz.errors import FileError, LayoutError, TransferError, show
from isoviz.layouts import Box, FieldSpace, IndexSpace, Layout, View, strided_copies

if TYPE_CHECKING:
    from isoviz.layouts import StridedCopy

Array = np.ndarray[Any, Any]

_THREADS = min(4, os.cpu_count() or 1)
"""Threads that copy parts of a large array."""


def relayout(
    array: Any,
    from_layout: Layout | str | None,
    to_layout: Layout | str,
    *,
    space: IndexSpace | Mapping[str, int] | None = None,
    fields: FieldSpace | Mapping[str, Any] | None = None,
    out: Array | None = None,
) -> Array:
    """The elements of an array in another layout, as a new NumPy array (Isometry, section 2).

        >>> rows = numpy.arange(6).reshape(2, 3)
        >>> isoviz.relayout(rows, "<F, x, y>", "<F, y, x>").shape
        (3, 2)

    `array` is a contiguous NumPy array, or any array in host memory that DLPack hands over. `from_layout` names its dimensions,
    fastest first: `<F, x, y>` is a C-order array of shape (y, x). None takes the array's own order, its last axis as x. `space`
    is needed only if the last block of a dimension is short, `fields` only if the fields are an axis of the array and are to have
    names of their own.

    The result is in C order. Its axes are the digits of `to_layout`, slowest first. Fields of one type that are not the fastest
    form an axis, fields of several types a struct of arrays (`isoviz.backends.formats.records.array_of`). The padding of short
    blocks is zero. With `out` the elements go to that contiguous array of as many bytes, which is returned; its padding stays.

    Raises:
        LayoutError: the layouts do not fit the array. NotationError: a text is not a layout. SpaceError: an impossible space.
        TransferError: the array is not contiguous or not in host memory, or `out` has another size, is read-only or overlaps it.
    """
    given = _in_host_memory(array)
    try:
        result = _prepared(
            given.dtype,
            given.shape,
            not given.flags.c_contiguous,
            None if from_layout is None else Layout(from_layout),
            Layout(to_layout),
            space if space is None or isinstance(space, IndexSpace) else IndexSpace.of(space),
            fields if fields is None or isinstance(fields, FieldSpace) else FieldSpace.of(fields),
        )
    except FileError as error:  # the same rules hold for arrays in files
        raise LayoutError(str(error)) from None
    source, large = _bytes_of(given), result.nbytes >= WORTH_KERNELS
    if out is not None:
        room = _room(out, source, result)
    else:
        room = page_aligned(result.nbytes) if large else np.zeros(result.nbytes, np.uint8)
    if large:
        kernels.prepare()
    copy_all(result.copies, source, room, lambda: None, _THREADS, large=large)
    return room.view(result.dtype).reshape(result.shape) if out is None else out


class _Prepared(NamedTuple):
    """Dtype, shape and bytes of a result, and the copies that fill it."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    nbytes: int
    copies: tuple[StridedCopy, ...]


@lru_cache(maxsize=256)
def _prepared(
    dtype: np.dtype[Any],
    shape: tuple[int, ...],
    is_fortran: bool,
    source: Layout | None,
    target: Layout,
    space: IndexSpace | None,
    fields: FieldSpace | None,
) -> _Prepared:
    header = NpyHeader(dtype, shape, is_fortran, 0)
    if 0 in shape:
        ones = replace(header, shape=tuple(max(length, 1) for length in shape))
        return _Prepared(*empty_array(header, stored_array("array", source, space, fields, ones), target), 0, ())
    stored = stored_array("array", source, space, fields, header)
    record = replace(stored.record, stored=stored.record.fields)  # without the gaps of an aligned struct
    order = target.on(stored.space, record.stored)
    copies = strided_copies(View(stored.linearization), View(order), Box.whole(stored.space), record.names)
    return _Prepared(*array_of(order.parts, record, "array"), order.nbytes, tuple(copies))


def _in_host_memory(array: Any) -> Array:
    """The array as a contiguous NumPy array, not copied."""
    if not isinstance(array, np.ndarray):
        if not hasattr(array, "__dlpack__"):
            raise TransferError(f"relayout: expected a NumPy array or one that DLPack hands over, got {show(array)}")
        try:
            array = np.from_dlpack(array)
        except (BufferError, RuntimeError, TypeError, ValueError) as error:
            raise TransferError(
                f"relayout: {show(array)} is not in host memory ({error}); Engine.copy converts where the array lies"
            ) from error
    given: Array = np.asarray(array)
    if given.dtype.hasobject:
        raise TransferError(f"relayout: {given.dtype} holds Python objects, which have no bytes to move")
    if not given.flags.forc:
        raise TransferError("relayout: the array is not contiguous; pass numpy.ascontiguousarray(...) of it")
    return given


def _bytes_of(array: Array) -> Array:
    return (
        array.reshape(-1, order="C" if array.flags.c_contiguous else "F").view(np.uint8) if array.size else np.empty(0, np.uint8)
    )


def _room(out: Array, source: Array, result: _Prepared) -> Array:
    """The bytes of `out`."""
    expect("relayout, out", out, np.ndarray, "a NumPy array")
    if not out.flags.forc or not out.flags.writeable or out.nbytes != result.nbytes or out.dtype.hasobject:
        raise TransferError(
            f"relayout, out: expected a writable, contiguous array of {result.nbytes} bytes, such as {result.dtype} of shape"
            f" {result.shape}, got {out.nbytes} bytes of {out.dtype} of shape {out.shape}"
        )
    if np.may_share_memory(out, source):
        raise TransferError("relayout, out: overlaps the array that is read; expected another one")
    return _bytes_of(out)
