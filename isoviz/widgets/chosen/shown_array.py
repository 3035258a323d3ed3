"""An array of the user in the explorer: its spaces, its layout, what lies in its entries, and why there may be no plan for it."""

from __future__ import annotations

import base64
import math
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypedDict

import numpy as np

from isoviz.backends.formats.known_files import holds_npy
from isoviz.backends.formats.npy import read_header
from isoviz.errors import ArrayError, EmptyArrayError, FileError, InternalError
from isoviz.layouts import FIELDS, Component, FieldSpace, IndexSpace, Layout, Linearization
from isoviz.layouts.dtypes import is_gap
from isoviz.layouts.given_arrays import (
    Array,
    ArrayForm,
    by_stride,
    cuda_interface,
    default_dims,
    dense_order,
    form_of,
    host_array,
    is_host_array,
    no_elements,
    require_bytes,
)
from isoviz.widgets.chosen.photo import COLOURS, is_photo_name, photo

MOST_VALUES = 4096
"""Values that are sent to the browser as text at most. An array of more has none in its cells: they would not fit."""
MOST_LEVELS = 3 << 18
"""Entries of all fields whose levels are sent to the browser for pictures at most: 1 MiB of text."""
_LARGE_FILE, _LEVELS_OF_FILE = 256 << 20, 4096
"""The bytes of a file whose entries are looked at less often: each of them may lie on a page of its own, which has to be read."""
NO_LEVEL = 255
"""Stands for an entry that has no value: a gap, or no number."""


class ArrayLevels(TypedDict):
    """What lies in the entries of an array, for pictures: for each field a byte per sample, as text in base 64.

    Along a dimension of size n with m of the `sizes`, sample j stands for the indices from ⌈j n / m⌉ on. Level 0 is the value
    `low` of its field, 254 is `high`; `NO_LEVEL` is none. None stands for a field without numbers. `colours` names what the
    fields are, or the indices of the dimension `along` where that is not empty; without names, a scale of colours is meant.
    """

    sizes: list[int]
    columns: list[str | None]
    low: list[float]
    high: list[float]
    colours: list[str]
    along: str


class ArrayValues(TypedDict):
    """Values of an array: for each field those of all indices, in C order of the dimensions `dims` with the sizes `sizes`.

    `texts` has them as text; it is empty where they are too many. `levels` has them for pictures.
    """

    dims: list[str]
    sizes: list[int]
    fields: list[str]
    texts: list[list[str]]
    levels: ArrayLevels


@dataclass(frozen=True)
class ShownArray:
    """The order in which an array is stored, and its values; None where they lie on a GPU.

    `part` has the indices that are the array's, by dimension, as (first, extent), where its rows have gaps. `unplanned` says why
    no transfer of the array can be planned, "" where one can. `is_file` tells an array whose bytes lie in a file. `is_photo`
    tells a photo.
    """

    linear: Linearization
    values: ArrayValues | None
    part: dict[str, tuple[int, int]] = field(default_factory=dict)
    unplanned: str = ""
    is_file: bool = False
    is_photo: bool = False


def is_array(given: object) -> bool:
    """Whether a value is an array, or the path of one: a `pathlib.Path`, or text that ends as a NumPy file or a photo does."""
    if isinstance(given, str):
        return given.endswith(".npy") or is_photo_name(given)
    exported = ("__cuda_array_interface__", "__dlpack__")
    return isinstance(given, os.PathLike) or is_host_array(given) or any(hasattr(type(given), name) for name in exported)


def shown_array(given: Any) -> ShownArray:
    """What is shown of a NumPy array, an array on a GPU or with DLPack, a NumPy file, or a photo.

    Its last axis is x, the axis before it y, and so on. An array with gaps, or one that counts backwards or repeats its elements,
    is shown as its bytes lie.

    Raises:
        ArrayError: it is not an array, has no elements, or has a mask. FileError: the file cannot be read, or is neither a NumPy
            file nor a photo. MissingPartError: it is a photo, and Pillow is not installed.
    """
    pixels = photo(given) if isinstance(given, str | os.PathLike) else None
    is_file = pixels is None and isinstance(given, str | os.PathLike)
    array = pixels if pixels is not None else _mapped(given) if is_file else given
    form = form_of(array, "array")
    require_bytes(form.dtype, "array")
    if 0 in form.shape:
        raise EmptyArrayError(no_elements("array", form.shape))
    on_gpu = cuda_interface(array) is not None
    held = None if on_gpu else host_array(array, "array")
    try:
        lying = _dense(array, held)
    except ArrayError:
        lying = _lying(form, held)
    values = None if lying.entries is None else _values(lying, is_photo=pixels is not None, most=_most_levels(array))
    return ShownArray(lying.linear, values, lying.part, lying.unplanned, is_file=is_file, is_photo=pixels is not None)


# ---- how it lies


class _Lying(NamedTuple):
    """An array as its bytes lie. `entries` are in C order of `dims`; entry j of a dimension has index j × `every`. The indices
    between and behind them are gaps."""

    linear: Linearization
    dims: tuple[str, ...]
    entries: Array | None
    every: tuple[int, ...]
    part: dict[str, tuple[int, int]]
    unplanned: str


def _dense(array: Any, held: Array | None) -> _Lying:
    order = dense_order(array)
    dims = default_dims(len(order.dims))
    return _Lying(_linear(order.dims, order.sizes, dims, order.fields), dims, held, (1,) * len(dims), {}, "")


def _linear(fastest_first: tuple[str, ...], sizes: dict[str, int], dims: tuple[str, ...], fields: FieldSpace) -> Linearization:
    layout = Layout((FIELDS, *map(Component, fastest_first)))
    return layout.on(IndexSpace.of({dim: sizes[dim] for dim in reversed(dims)}), fields)


def _lying(form: ArrayForm, held: Array | None) -> _Lying:
    """An array that is not dense, on the smallest grid of bytes that has all its entries."""
    dims = default_dims(len(form.shape))
    backwards = tuple(axis for axis, stride in enumerate(form.strides) if stride < 0 and form.shape[axis] > 1)
    repeated = tuple(axis for axis, stride in enumerate(form.strides) if stride == 0 and form.shape[axis] > 1)
    shape = tuple(1 if axis in repeated else length for axis, length in enumerate(form.shape))
    strides = tuple(map(abs, form.strides))
    entries = None
    if held is not None:
        entries = held[
            tuple(
                slice(None, None, -1) if axis in backwards else slice(0, 1) if axis in repeated else slice(None)
                for axis in range(held.ndim)
            )
        ]
    order = by_stride(ArrayForm(form.dtype, shape, strides))
    long = [axis for axis in order if shape[axis] > 1]
    grids = [math.gcd(*(strides[axis] for axis in long[place:])) for place in range(len(long))]
    unit = grids[0] if grids else form.dtype.itemsize
    every, sizes = [1] * len(dims), [1] * len(dims)
    for place, axis in enumerate(long):
        every[axis] = strides[axis] // grids[place]
        reach = (shape[axis] - 1) * every[axis] + 1
        sizes[axis] = grids[place + 1] // grids[place] if place + 1 < len(long) else reach
        if sizes[axis] < reach or unit < form.dtype.itemsize:
            return _overlapping(form, entries, shape, strides)
    part = {dims[axis]: (0, shape[axis]) for axis in long if sizes[axis] > shape[axis]}
    linear = _linear(
        tuple(dims[axis] for axis in order), dict(zip(dims, sizes, strict=True)), dims, FieldSpace.of(_padded(form.dtype, unit))
    )
    unplanned = _why_unplanned(dims, backwards, repeated, every)
    return _Lying(linear, dims, entries, tuple(every), {} if unplanned else part, unplanned)


_RIGHT = "numpy.ascontiguousarray(array) is a copy that has one"


def _why_unplanned(dims: tuple[str, ...], backwards: tuple[int, ...], repeated: tuple[int, ...], every: list[int]) -> str:
    """Why the entries of an array are not those of an instance; "" where they are, or are a part of them."""
    if repeated:
        axis, why = repeated[0], "repeats the same bytes, and no layout does: they are shown once"
    elif backwards:
        axis, why = backwards[0], "counts backwards, and no layout does: it is shown as it lies, its last entry first"
    elif apart := [axis for axis, step in enumerate(every) if step > 1]:
        axis, why = apart[0], f"has gaps that no layout has: its entries lie {every[apart[0]]} places apart"
    else:
        return ""
    return f"Axis {axis} ({dims[axis]}) {why}; {_RIGHT}"


def _padded(dtype: np.dtype[Any], nbytes: int) -> np.dtype[Any]:
    """A dtype with a gap behind it. A plain one is the field `value`, as that of an array without gaps."""
    if dtype.itemsize == nbytes and dtype.names is not None:
        return dtype
    names = dtype.names or ("value",)
    found = [(dtype, 0)] if dtype.fields is None else [dtype.fields[name][:2] for name in names]
    described = {
        "names": list(names),
        "formats": [each for each, _ in found],
        "offsets": [offset for _, offset in found],
        "itemsize": nbytes,
    }
    made: np.dtype[Any] = np.dtype(described)  # type: ignore[call-overload]
    return made


def _overlapping(form: ArrayForm, entries: Array | None, shape: tuple[int, ...], strides: tuple[int, ...]) -> _Lying:
    """The bytes from the first to the last of an array whose entries share bytes."""
    span = form.dtype.itemsize + sum((length - 1) * stride for length, stride in zip(shape, strides, strict=True))
    unit = 1 if any(stride % form.dtype.itemsize for stride in strides) else form.dtype.itemsize
    dtype = form.dtype if unit == form.dtype.itemsize else np.dtype(np.uint8)
    held = None
    if entries is not None:  # which count upwards along each axis, so the lowest comes first
        as_strided = np.lib.stride_tricks.as_strided
        first = as_strided(entries, (1,), (form.dtype.itemsize,)).view(np.uint8)
        held = as_strided(first, (span,), (1,)).view(dtype)
    linear = _linear(("x",), {"x": span // unit}, ("x",), FieldSpace.of(_padded(dtype, unit)))
    return _Lying(linear, ("x",), held, (1,), {}, f"Its entries share bytes, and those of a layout do not; {_RIGHT}")


# ---- its values


def _most_levels(array: Any) -> int:
    return _LEVELS_OF_FILE if isinstance(array, np.memmap) and array.nbytes > _LARGE_FILE else MOST_LEVELS


def _values(lying: _Lying, *, is_photo: bool, most: int) -> ArrayValues:
    assert lying.entries is not None
    sizes, names = [lying.linear.space[dim] for dim in lying.dims], list(lying.linear.fields.names)
    texts: list[list[str]] = []
    if lying.linear.space.volume * len(names) <= MOST_VALUES:
        there, is_entry = _at(lying, [np.arange(size) for size in sizes])
        texts = [
            [_text(value) if is_there else "" for value, is_there in zip(_column(there, name), is_entry, strict=True)]
            for name in names
        ]
    samples = _samples(sizes, max(1, most // len(names)))
    levels = _levels(lying, sizes, samples, is_photo=is_photo)
    return {"dims": list(lying.dims), "sizes": sizes, "fields": names, "texts": texts, "levels": levels}


def _levels(lying: _Lying, sizes: list[int], samples: list[int], *, is_photo: bool) -> ArrayLevels:
    names = list(lying.linear.fields.names)
    there, is_entry = _at(lying, [_middles(size, count) for size, count in zip(sizes, samples, strict=True)])
    colours, along = _colours(lying, names, is_photo=is_photo)
    levels: ArrayLevels = {"sizes": samples, "columns": [], "low": [], "high": [], "colours": colours, "along": along}
    for name, dtype in zip(names, lying.linear.fields.dtypes, strict=True):
        numbers = None if is_gap(name) else _numbers(_column(there, name))
        found: tuple[str | None, float, float] = (None, 0.0, 0.0)
        if numbers is not None:
            numbers[~is_entry] = np.nan
            is_byte = bool(colours) and dtype == np.dtype("u1")
            found = _scaled(numbers, (0.0, 255.0) if is_byte else None)
        levels["columns"].append(found[0])
        levels["low"].append(found[1])
        levels["high"].append(found[2])
    return levels


def _samples(sizes: list[int], most: int) -> list[int]:
    """The samples along each dimension: all of a short one, and as many as fit of the longer ones."""
    low, high = 1, max(sizes, default=1)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if math.prod(min(size, middle) for size in sizes) <= most else (low, middle - 1)
    return [min(size, low) for size in sizes]


def _middles(size: int, count: int) -> Array:
    """The index in the middle of what each sample stands for."""
    return (2 * np.arange(count) + 1) * size // (2 * count)


def _at(lying: _Lying, indices: list[Array]) -> tuple[Array, Array]:
    """The entries at these indices of the dimensions in one row, in C order, and whether there are such entries."""
    assert lying.entries is not None
    places, there = [], np.ones((), bool)
    for axis, (index, step) in enumerate(zip(indices, lying.every, strict=True)):
        place = index // step
        is_entry = (index % step == 0) & (place < lying.entries.shape[axis])
        there = there[..., np.newaxis] & is_entry
        places.append(np.where(is_entry, place, 0))
    found = lying.entries[np.ix_(*places)] if places else lying.entries
    return found.reshape(-1), there.reshape(-1)


def _numbers(column: Any) -> np.ndarray[Any, np.dtype[np.float64]] | None:
    """A column as numbers, one for each entry; None where it has none. What is not a finite number is NaN."""
    plain = np.asarray(column)
    plain = plain.reshape(len(plain), -1)[:, 0] if plain.ndim > 1 else plain
    if plain.dtype.kind in "OSUV" and plain.dtype.isbuiltin != 2:
        return None
    missing = np.isnat(plain) if plain.dtype.kind in "mM" else None
    try:
        with np.errstate(all="ignore"):
            made = np.abs(plain) if plain.dtype.kind == "c" else plain
            numbers = np.array(made.astype("i8") if missing is not None else made, np.float64)
    except (TypeError, ValueError):
        return None
    numbers[~np.isfinite(numbers) if missing is None else missing] = np.nan
    return numbers


def _scaled(numbers: np.ndarray[Any, np.dtype[np.float64]], ends: tuple[float, float] | None) -> tuple[str | None, float, float]:
    """The levels of numbers between the ends of their range, as text, and that range. It is that of the numbers unless given."""
    known = ~np.isnan(numbers)
    if not known.any():
        return None, 0.0, 0.0
    low, high = ends or (float(np.nanmin(numbers)), float(np.nanmax(numbers)))
    # Halves do not overflow where the range of the numbers is larger than any number.
    spread = high / 2 - low / 2
    share = (numbers / 2 - low / 2) / spread if spread else np.where(known, 0.5, np.nan)
    levels = np.where(known, np.rint(np.nan_to_num(share) * (NO_LEVEL - 1)), NO_LEVEL).astype(np.uint8)
    return base64.b64encode(levels.tobytes()).decode("ascii"), low, high


def _colours(lying: _Lying, names: list[str], *, is_photo: bool) -> tuple[list[str], str]:
    """What the fields are where they are colours, or the indices of the last axis, which is then named.

    Bytes whose last axis has three or four entries are a photo, as most packages hand it over.
    """
    if is_photo or (len(names) in (3, 4) and all(name in COLOURS for name in names)):
        return names, ""
    last = lying.linear.space[lying.dims[-1]] if lying.dims else 0
    is_bytes = names == ["value"] and lying.linear.fields.dtypes[0] == np.dtype("u1")
    if is_bytes and len(lying.dims) == 3 and last in (3, 4) and min(lying.linear.space[dim] for dim in lying.dims[:2]) > 4:
        return list(COLOURS[:last]), lying.dims[-1]
    return [], ""


def _column(array: Array, name: str) -> Any:
    """The values of a field of a row of entries. A gap has none."""
    if array.dtype.names is None:
        return [""] * array.size if is_gap(name) else array.reshape(-1)
    if is_gap(name):
        return [""] * array.size
    for own in array.dtype.names:
        if name == own:
            return array[own].reshape(array.size, -1) if array.dtype[own].subdtype else array[own].reshape(-1)
        if name.startswith(f"{own}.") and array.dtype[own].names is not None:
            return _column(array[own], name.removeprefix(f"{own}."))
    raise InternalError(f"array of {array.dtype}: no field {name!r}")


def _mapped(path: str | os.PathLike[str]) -> Array:
    """The array of a NumPy file. Its values are read when they are used."""
    if not holds_npy(path if isinstance(path, str) else Path(path)):
        raise FileError(f"{path}: is neither a photo nor a .npy file")
    header = read_header(path if isinstance(path, str) else Path(path))
    if not math.prod(header.shape):
        return np.empty(header.shape, header.dtype)
    order: Literal["F", "C"] = "F" if header.fortran_order else "C"
    return np.memmap(path, header.dtype, mode="r", offset=header.data_offset, shape=header.shape, order=order)


def _text(value: Any) -> str:
    """A value for a cell: four significant digits of a number that is not whole."""
    plain = value.item() if isinstance(value, np.generic) else value
    if isinstance(plain, float | complex):
        return f"{plain:.4g}"
    if isinstance(plain, bytes):
        return plain.decode("utf-8", "replace")
    return str(plain)
