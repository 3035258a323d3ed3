"""What `at` names in an array, checked: NumPy's indices, without those that would be cut off or that overlap.

For the array of another rank that is not mapped, copies say where that lies.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from isoviz.errors import InputError, show
from isoviz.layouts import StridedCopy
from isoviz.layouts.copies import listed
from isoviz.layouts.given_arrays import Array
from isoviz.rma import moves
from isoviz.rma.places import source_of


class Region:
    """What an index names in the array of another rank, worked out on the array of this one, which lies alike."""

    def __init__(self, local: Array, index: tuple[Any, ...], has_lists: bool) -> None:
        self.like: Array = local[index]
        """Elements of this rank, for their shape and type."""
        self.flips: tuple[Any, ...] = (...,)
        """What makes strides that go backwards go forwards."""
        self._places = _places(local, index) if has_lists else None
        if not has_lists:
            self.flips = (*(slice(None, None, -1 if stride < 0 else 1) for stride in self.like.strides), ...)
            self._view = self.like[self.flips]
            self._at = moves.first_byte(self._view) - moves.first_byte(local)

    def copy_of(self, value: Any) -> tuple[StridedCopy, Array]:
        """The copy of a value to this place, and the bytes that it takes.

        Raises:
            InputError: the value does not fit.
        """
        found = source_of(value, self.like, "put")
        if found.dtype != self.like.dtype or found.shape != self.like.shape or self._places is not None:
            found = np.asarray(np.broadcast_to(found, self.like.shape), self.like.dtype, order="C")
        found = found[self.flips]
        copy: StridedCopy
        if self._places is not None:
            copy = listed((0, 0), np.arange(found.size) * found.itemsize, self._places, found.itemsize, ())
        else:
            strided = moves.strided(found, self._view)
            if strided is None:
                found = np.array(found, order="C")
                strided = moves.strided(found, self._view)
            assert strided is not None
            copy = strided._replace(destination_offset=self._at)
        return copy, moves.bytes_of(found, copy.spans()[0][1])

    def copy_to(self, landing: Array) -> StridedCopy:
        """The copy from this place to a contiguous array, without `flips`."""
        if self._places is not None:
            return listed((0, 0), self._places, np.arange(landing.size) * landing.itemsize, landing.itemsize, ())
        strided = moves.strided(self._view, landing)
        assert strided is not None
        return strided._replace(source_offset=self._at)


def checked(shape: tuple[int, ...], at: Any, call: str, *, writes: bool) -> tuple[tuple[Any, ...], bool]:
    """An index of an array of some shape, as a tuple, and whether it has lists. NumPy takes it as it is.

    Raises:
        InputError: it names something outside of the array, is not an index, or with `writes` names an element twice.
    """
    if (plain := _plain(shape, at)) is not None:
        return plain, False
    items = [_listed(item, call) if isinstance(item, list | np.ndarray | range) else item for item in _items(at)]
    axes = [_axes(item) for item in items]
    room = len(shape) - sum(axes)
    if room < 0:
        raise InputError(f"{call}: at: it names {sum(axes)} axes; the array has {len(shape)}")
    dots = [number for number, item in enumerate(items) if item is Ellipsis]
    if len(dots) > 1:
        raise InputError(f"{call}: at: expected one ... at most")
    axis, lists = 0, []
    for number, item in enumerate(items):
        if item is Ellipsis:
            axis += room
        elif isinstance(item, slice):
            _check_slice(item, shape[axis], axis, call)
            axis += 1
        elif isinstance(item, np.ndarray):
            items[number] = found = _list(item, shape, axis, call)
            lists.append((axis, found))
            axis += axes[number]
        else:
            items[number] = _check_number(item, shape[axis], axis, call)
            axis += 1
    if lists:
        _check_lists(shape, lists, call, writes=writes)
    if not lists and not dots:
        items.append(...)  # an element then is a view of it, too
    return tuple(items), bool(lists)


def _plain(shape: tuple[int, ...], at: Any) -> tuple[Any, ...] | None:
    """An index of numbers and slices that is right, in a fifth of the time of all other checks; None for any other one."""
    items = at if at.__class__ is tuple else (at,)
    if len(items) > len(shape):
        return None
    for item, extent in zip(items, shape, strict=False):
        if item.__class__ is int:
            if not -extent <= item < extent:
                return None
        elif item.__class__ is slice:
            for end in (item.start, item.stop):
                if end is not None and (end.__class__ is not int or not -extent <= end <= extent):
                    return None
            if item.step is not None and (
                item.step.__class__ is not int or not item.step or (item.step < 0 and item.start == extent)
            ):
                return None
        else:
            return None
    return (*items, ...)


def _items(at: Any) -> tuple[Any, ...]:
    return at if isinstance(at, tuple) else (at,)


def _axes(item: Any) -> int:
    """The number of axes that an item of an index names."""
    if item is Ellipsis:
        return 0
    is_mask = isinstance(item, np.ndarray) and item.dtype == bool
    return item.ndim if is_mask else 1


def _check_slice(item: slice, extent: int, axis: int, call: str) -> None:
    step = 1 if item.step is None else item.step
    ends = [end for end in (item.start, item.stop) if end is not None]
    try:
        step, ends = operator.index(step), [operator.index(end) for end in ends]
    except TypeError:
        raise InputError(f"{call}: at: axis {axis}: expected whole numbers in a slice, got {_words(item)}") from None
    if step == 0:
        raise InputError(f"{call}: at: axis {axis}: {_words(item)} has a step of 0")
    if any(not -extent <= end <= extent for end in ends) or (step < 0 and item.start is not None and ends[0] == extent):
        raise InputError(f"{call}: at: axis {axis}: {_words(item)} reaches beyond its {extent} elements")


def _words(item: slice) -> str:
    ends = ["" if end is None else show(end) for end in (item.start, item.stop)]
    return ":".join(ends if item.step is None else [*ends, show(item.step)])


def _check_number(item: Any, extent: int, axis: int, call: str) -> int:
    try:
        place = operator.index(item)
    except TypeError:
        expected = "a whole number, a slice, a list of indices or ..."
        raise InputError(f"{call}: at: axis {axis}: expected {expected}, got {show(item)}") from None
    if isinstance(item, bool | np.bool_) or not -extent <= place < extent:
        raise InputError(f"{call}: at: axis {axis}: there is no element {show(item)}; expected 0 to {extent - 1}")
    return place


def _listed(item: Any, call: str) -> Array:
    """A list of indices or a mask as an array of its own: nobody changes it while a kept place has it."""
    try:
        found = np.array(item)
    except ValueError:
        raise InputError(f"{call}: at: expected lists of indices of one length") from None
    return found.astype(np.intp) if found.size == 0 and found.dtype != bool else found


def _list(found: Array, shape: tuple[int, ...], axis: int, call: str) -> Array:
    if found.dtype == bool and found.ndim:
        if found.shape != shape[axis : axis + found.ndim]:
            raise InputError(
                f"{call}: at: axis {axis}: a mask of shape {found.shape} for axes of {shape[axis : axis + found.ndim]}"
            )
    elif found.dtype.kind not in "iu":
        raise InputError(f"{call}: at: axis {axis}: expected whole numbers in a list of indices, got {found.dtype}")
    elif found.size and not -shape[axis] <= found.min() <= found.max() < shape[axis]:
        wrong = int(found.min() if found.min() < -shape[axis] else found.max())
        raise InputError(f"{call}: at: axis {axis}: there is no element {wrong}; expected 0 to {shape[axis] - 1}")
    return found if found.dtype == bool else found.astype(np.intp)


def _check_lists(shape: tuple[int, ...], lists: list[tuple[int, Array]], call: str, *, writes: bool) -> None:
    """Refuse lists that do not fit each other. Refuse lists of a write that name an element twice: NumPy does not say which of
    the two values would stay there."""
    if len(lists) == 1 and (lists[0][1].dtype == bool or not writes):
        return
    parts: list[tuple[int, Array]] = []
    for axis, found in lists:
        parts += [(axis + k, part) for k, part in enumerate(found.nonzero())] if found.dtype == bool else [(axis, found)]
    try:
        together = np.broadcast_arrays(*(found for _, found in parts))
    except ValueError:
        raise InputError(f"{call}: at: the lists of indices have lengths that do not fit each other") from None
    if writes and together[0].size:
        extents = [shape[axis] for axis, _ in parts]
        places = np.ravel_multi_index([each.ravel() % extent for each, extent in zip(together, extents, strict=True)], extents)
        if len(np.unique(places)) < len(places):
            raise InputError(f"{call}: at: the lists name an element twice; a put writes each element once")


def _places(local: Array, index: tuple[Any, ...]) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Where the elements lie that an index with lists names, in bytes."""
    found = np.zeros(1, np.int64)
    for axis, (extent, stride) in enumerate(zip(local.shape, local.strides, strict=True)):
        along = np.arange(extent, dtype=np.int64).reshape(-1, *[1] * (local.ndim - 1 - axis)) * stride
        found = found + np.broadcast_to(along, local.shape)[index].reshape(-1)
    return found
