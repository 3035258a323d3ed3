"""`relayout` gives an array in memory another layout."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from isoviz.backends.formats.arrays import Axes, empty_array, lying, lying_empty
from isoviz.backends.formats.records import array_of
from isoviz.backends.host import kernels
from isoviz.backends.host.copying import copy_all
from isoviz.backends.host.host_memory import WORTH_KERNELS
from isoviz.backends.pages import page_aligned
from isoviz.errors import ArrayError, FileError, LayoutError
from isoviz.layouts import Box, FieldSpace, IndexSpace, Layout, View, strided_copies
from isoviz.layouts.given_arrays import Array, ArrayForm, bytes_in_order, host_array

if TYPE_CHECKING:
    from isoviz.layouts import StridedCopy

_Form = tuple[np.dtype[Any], tuple[int, ...], tuple[int, ...]]
"""An `ArrayForm` as a plain tuple, which is made quicker."""

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

    `array` is a dense NumPy array with its axes in any order, such an array in host memory that supports DLPack, or a buffer.
    `from_layout` names its dimensions, fastest first in memory: `<F, x, y>` is a C-order array of shape (y, x). None takes the
    array's own order, its last axis as x. `space` is needed if the array is flat, or if the last block of a dimension is short.
    `fields` is needed if the array is plain bytes, and to name fields that are an axis of the array.

    The result is in C order. Its axes are the digits of `to_layout`, slowest first. Fields of one type that are not the fastest
    form an axis, fields of several types a struct of arrays (`isoviz.backends.formats.records.array_of`). The padding of short
    blocks is zero. With `out` the elements go to that array, which lies as `to_layout` says and is returned. Its padding stays,
    and so do the gaps of a struct.

    Raises:
        ArrayError: the array, or `out`, does not lie as its layout says, is not dense, has a mask, or is not in host memory; or
            `out` is read-only or overlaps the array.
        LayoutError: the layouts do not fit. NotationError: a text is not a layout. SpaceError: `space` or `fields` is invalid.
    """
    given = host_array(array, "relayout, array")
    room = None if out is None else host_array(out, "relayout, out")
    result = _recipe(
        (given.dtype, given.shape, given.strides),
        None if from_layout is None else Layout(from_layout),
        Layout(to_layout),
        space if space is None or isinstance(space, IndexSpace) else IndexSpace.of(space),
        fields if fields is None or isinstance(fields, FieldSpace) else FieldSpace.of(fields),
        None if room is None else (room.dtype, room.shape, room.strides),
    )
    source, large = bytes_in_order(given, result.source_order), result.nbytes >= WORTH_KERNELS
    if room is not None:
        if not room.flags.writeable:
            raise ArrayError("relayout, out: is read-only")
        if np.may_share_memory(room, given):
            raise ArrayError("relayout, out: overlaps the array that is read; expected another one")
        there = bytes_in_order(room, result.out_order)
    else:
        there = page_aligned(result.nbytes) if large else np.zeros(result.nbytes, np.uint8)
    if large:
        kernels.prepare()
    copy_all(result.copies, source, there, lambda: None, _THREADS, large=large)
    return there.view(result.dtype).reshape(result.shape) if out is None else out


class _Recipe(NamedTuple):
    """Dtype, shape and bytes of a result, the copies that fill it, and the memory orders of both arrays."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    nbytes: int
    copies: tuple[StridedCopy, ...]
    source_order: tuple[int, ...] | None
    out_order: tuple[int, ...] | None


@lru_cache(maxsize=256)
def _recipe(
    given: _Form,
    source: Layout | None,
    target: Layout,
    space: IndexSpace | None,
    fields: FieldSpace | None,
    out: _Form | None,
) -> _Recipe:
    axes = Axes.of(ArrayForm(*given), "relayout, array")
    room = None if out is None else Axes.of(ArrayForm(*out), "relayout, out")
    orders = axes.order_unless_c, None if room is None else room.order_unless_c
    try:
        if axes.is_empty:
            found = lying_empty(axes, source, space, fields)
            dtype, shape = empty_array(axes, found, target)
            if room is not None and (room.dtype, room.extents) != (dtype, shape[::-1]):
                raise ArrayError(f"relayout, out: expected {dtype} of shape {shape}, got {room.dtype} of shape {room.shape}")
            return _Recipe(dtype, shape, 0, (), *orders)
        found = lying(axes, source, space, fields)
        record = replace(found.record, stored=found.record.fields)  # without the gaps of an aligned struct
        order = target.on(found.space, record.stored)
        dtype, shape = array_of(order.parts, record, "relayout")
    except FileError as error:  # the same rules hold for arrays in files
        raise LayoutError(str(error)) from None
    names = record.names
    if room is not None:
        there = lying(room, target, found.space, record.stored)
        names, order = there.record.names, there.layout.on(there.space, there.record.stored)
    here = found.layout.on(found.space, found.record.stored)
    copies = strided_copies(View(here), View(order), Box.whole(found.space), names)
    return _Recipe(dtype, shape, order.nbytes, tuple(copies), *orders)
