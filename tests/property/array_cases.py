"""Random arrays as other people have them, and what NumPy's indexing says of them.

A case has an array of some form, the layout that a caller names for it, and the elements that this layout gives to every index.
What is expected comes from NumPy alone: from axes that are sorted by stride, reshaped and transposed.
"""

from __future__ import annotations

import array as arrays
import ctypes
import itertools
import mmap
import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

PLAIN = (
    *("?", "i1", "u1", "<i2", ">i2", "<u2", "<i4", ">i4", "<u4", "<i8", ">i8", "<u8", "<f2", "<f4", ">f4", "<f8", ">f8"),
    *("<c8", ">c8", "<c16", "S3", "<U2", ">U2", "V5", "<M8[s]", "<m8[ms]", ">M8[D]", "<f2", np.dtype("longdouble").str),
)
PACKED = np.dtype([("a", "<u2"), ("b", ">f4"), ("c", "i1")])
ALIGNED = np.dtype({"names": ["a", "b", "c"], "formats": ["<u2", ">f4", "i1"], "offsets": [0, 4, 8], "itemsize": 12})
MIXED_UP = np.dtype({"names": ["c", "a", "b"], "formats": ["i1", "<u2", ">f4"], "offsets": [7, 1, 3], "itemsize": 9})
LARGER = np.dtype([("z", "u1"), ("a", "<u2"), ("y", "<f8"), ("b", ">f4"), ("c", "i1"), ("x", "S2")])
PAIR = np.dtype([("a", "<f4"), ("b", "<f4")])
DIMS = ("x", "y", "z", "w")


@dataclass
class Case:
    """An array as one end of a copy.

    `given` is the array, `sizes` those of the dimensions. `digits` are those of the layout, slowest first: a dimension, or the
    number of a digit of it, with its extent; `F` where fields of one type form an axis. `fields` are the names and dtypes.
    `values` has an axis for each dimension in the order of `sizes`: the elements, as packed structs where there are several
    fields. None if every call has to refuse the array. `form` says in a word how it was made.
    """

    form: str
    given: Any
    sizes: dict[str, int]
    digits: list[tuple[str, int | None, int]]
    fields: dict[str, np.dtype[Any]]
    values: np.ndarray | None

    @property
    def layout(self) -> str:
        """The layout as text."""
        inner = {dim: extent for dim, number, extent in self.digits if number == 0}
        parts = []
        for dim, number, _ in self.digits[::-1]:
            parts.append(dim if number is None else f"{dim}_in={inner[dim]}" if number == 0 else f"{dim}_out")
        return f"<{', '.join(parts if 'F' in parts else ['F', *parts])}>"

    @property
    def is_axis(self) -> bool:
        """Whether its fields form an axis."""
        return self.digits_of("F") != []

    def digits_of(self, dim: str) -> list[int]:
        """The places of the digits of a dimension among the digits, slowest first."""
        found = [(number or 0, place) for place, (name, number, _) in enumerate(self.digits) if name == dim]
        return [place for _, place in sorted(found, reverse=True)]

    def by_index(self, found: np.ndarray) -> np.ndarray:
        """Elements with an axis for each digit as elements with an axis for each dimension, and the fields side by side."""
        order = [place for dim in self.sizes for place in self.digits_of(dim)] + self.digits_of("F")
        turned = found.transpose(order)
        shape = tuple(self.sizes.values())
        if not self.is_axis:
            return _packed(turned.reshape(shape), self.fields)
        return _joined(turned.reshape((*shape, len(self.fields))), self.fields)

    def elements(self) -> np.ndarray:
        """What lies in the array now, as `values`. The array is one that calls take."""
        held = self.given.held if isinstance(self.given, Lent) else self.given
        extents = [extent for *_, extent in self.digits]
        dtypes = list(self.fields.items())
        dtype = dtypes[0][1] if len(dtypes) == 1 or self.is_axis else np.dtype(dtypes)
        if not isinstance(held, np.ndarray | memoryview):
            return self.by_index(np.frombuffer(held, dtype).reshape(extents))
        held = np.asarray(held)
        if held.dtype == np.uint8 and dtype != np.uint8:
            return self.by_index(np.frombuffer(held.tobytes(), dtype).reshape(extents))
        if held.ndim > 1:
            order = sorted(range(held.ndim), key=lambda axis: -held.strides[axis] if held.shape[axis] > 1 else 0)
            held = held.transpose(order)
        return self.by_index(held.reshape(extents))


class Lent:
    """An array that only DLPack hands over."""

    def __init__(self, held: np.ndarray) -> None:
        self.held = held

    def __dlpack__(self, **options: Any) -> Any:
        return self.held.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.held.__dlpack_device__()


def random_elements(rng: random.Random, dtype: np.dtype[Any], shape: tuple[int, ...]) -> np.ndarray:
    """A C-order array with random elements. No element is a NaN or an impossible bool or letter."""
    count = int(np.prod(shape, dtype=int))
    found = np.zeros(count, dtype)
    for name in dtype.names or (None,):
        column = found if name is None else found[name]
        numbers = np.array([rng.randrange(1, 100) for _ in range(count)])
        if column.dtype.kind in "SU":
            column[...] = numbers.astype("S3")
        elif column.dtype.kind == "V":
            column[...] = (
                np.array([bytes(rng.randrange(256) for _ in range(column.dtype.itemsize)) for _ in range(count)]).astype(
                    column.dtype
                )
                if count
                else column
            )
        elif column.dtype.kind in "mM":
            column[...] = numbers.astype("i8").astype(column.dtype)
        else:
            column[...] = numbers % 2 if column.dtype.kind == "b" else numbers
    return found.reshape(shape)


def _dtype(rng: random.Random) -> np.dtype[Any]:
    return np.dtype(rng.choice(PLAIN)) if rng.random() < 0.65 else rng.choice((PACKED, PAIR, ALIGNED, MIXED_UP))


def _packed(found: np.ndarray, fields: dict[str, np.dtype[Any]]) -> np.ndarray:
    """The elements of the named fields side by side, in C order."""
    if found.dtype.names is None:
        return np.ascontiguousarray(found).reshape(found.shape)
    packed = np.zeros(found.shape, list(fields.items()))
    for name in fields:
        packed[name] = found[name]
    return packed


def _joined(found: np.ndarray, fields: dict[str, np.dtype[Any]]) -> np.ndarray:
    """Fields that are the last axis, side by side."""
    packed = np.zeros(found.shape[:-1], list(fields.items()))
    for number, name in enumerate(fields):
        packed[name] = found[..., number]
    return packed


def random_case(rng: random.Random, folder: Path, *, of: Case | None = None) -> Case:
    """An array of a random form. With `of`, one to be filled, for the same dimensions and fields."""
    if of is None:
        sizes = dict(zip(DIMS, rng.sample(range(1, 8), rng.choice((0, 1, 2, 2, 2, 3, 3, 4))), strict=False))
        dtype = _dtype(rng)
        named = {name: dtype.fields[name][0] for name in dtype.names} if dtype.names and dtype.fields else {"v": dtype}
        fields = {name: named[name] for name in sorted(named)}
    else:
        sizes, fields = of.sizes, of.fields
        dtype = rng.choice((PACKED, ALIGNED, MIXED_UP)) if len(fields) == 3 else next(iter(fields.values()))
    digits: list[tuple[str, int | None, int]] = []
    for dim, size in sizes.items():
        inner = next((each for each in (2, 3) if size % each == 0 and size > each), None)
        if inner is not None and rng.random() < 0.3:
            digits += [(dim, 0, inner), (dim, 1, size // inner)]
        else:
            digits.append((dim, None, size))
    rng.shuffle(digits)
    if len(fields) == 2:
        if rng.random() < 0.7:
            dtype = fields["a"]
            digits.insert(rng.randint(0, len(digits)), ("F", None, 2))
        else:
            dtype = PAIR
    elif len(fields) == 1 and dtype.names is not None:
        dtype = fields["v"]
    base = random_elements(rng, dtype, tuple(extent for *_, extent in digits))
    if of is not None:
        base[...] = np.zeros(1, dtype)[0]
    case = Case("", base, sizes, digits, fields, None)
    is_good = rng.random() < 0.8
    case.form = form = rng.choice(
        [each for each, suits in FORMS.items() if suits(case) and (each not in WRONG) == is_good] or ["c"]
    )
    case.given = _MAKERS[form](rng, base, case, folder)
    if of is not None and isinstance(case.given, np.ndarray):
        fill_gaps(case.given)
    if form not in WRONG and (of is None or form not in UNWRITABLE):
        case.values = case.by_index(base)
    return case


def memory_of(given: Any) -> bytes:
    """All bytes of an array or a buffer as they lie, those of gaps among them."""
    held = given.held if isinstance(given, Lent) else given
    if isinstance(held, np.ndarray):
        low, high = np.lib.array_utils.byte_bounds(np.asarray(held))
        return ctypes.string_at(low, high - low)
    return repr(held).encode() if isinstance(held, list) else bytes(held)


def without_fields(memory: bytes, given: Any) -> bytes:
    """The memory of a dense array with zeros in the place of all fields: what is left is in gaps."""
    dtype = given.dtype if isinstance(given, np.ndarray) else np.dtype("u1")
    if dtype.names is None:
        return b""
    found = np.frombuffer(bytearray(memory), dtype)
    for name in dtype.names:
        found[name] = np.zeros((), found[name].dtype)
    return memory_of(found)


def fill_gaps(given: np.ndarray) -> None:
    """Let the gaps of a struct hold something. The fields become zeros."""
    low, high = np.lib.array_utils.byte_bounds(np.asarray(given))
    if given.dtype.names is not None and given.flags.writeable and not given.dtype.hasobject and 0 not in given.strides:
        ctypes.memset(low, 0xA5, high - low)
        for name in given.dtype.names:
            given[name] = np.zeros((), given.dtype[name])


Maker = Callable[[random.Random, np.ndarray, Case, Path], Any]


def _permuted(rng: random.Random, base: np.ndarray, case: Case, folder: Path) -> np.ndarray:
    return base.transpose(rng.sample(range(base.ndim), base.ndim))


def _with_ones(rng: random.Random, base: np.ndarray, case: Case, folder: Path) -> np.ndarray:
    shape = list(base.shape)
    for _ in range(rng.randint(1, 2)):
        shape.insert(rng.randint(0, len(shape)), 1)
    return base.reshape(shape)


def _mapped(rng: random.Random, base: np.ndarray, case: Case, folder: Path) -> np.ndarray:
    path = folder / f"mapped{next(_numbers)}"
    found = np.memmap(path, base.dtype, "w+", shape=base.shape)
    found[...] = base
    return found


_numbers = itertools.count()


def _map_of_bytes(rng: random.Random, base: np.ndarray, case: Case, folder: Path) -> Any:
    content = _bytes(base, case).tobytes()
    found = mmap.mmap(-1, len(content))
    found[:] = content
    return found


def _sliced(rng: random.Random, base: np.ndarray, case: Case, folder: Path) -> np.ndarray:
    """The elements with gaps between them: every other one along an axis, or rows with a pitch."""
    axis = _long_axis(rng, base)
    faster = list(range(axis + 1, base.ndim))
    if faster and rng.random() < 0.5:  # a pitch: the axis before it is longer in memory than in the array
        axis, step = rng.choice(faster), slice(0, base.shape[axis])
        step = slice(0, -1)
        shape = [extent + (number == axis) for number, extent in enumerate(base.shape)]
    else:
        step = slice(None, None, 2)
        shape = [extent * (1 + (number == axis)) for number, extent in enumerate(base.shape)]
    found = np.zeros(shape, base.dtype)[tuple(step if number == axis else slice(None) for number in range(base.ndim))]
    found[...] = base
    return found


def _long_axis(rng: random.Random, base: np.ndarray) -> int:
    return rng.choice([number for number, extent in enumerate(base.shape) if extent > 1])


def _reversed(rng: random.Random, base: np.ndarray, case: Case, folder: Path) -> np.ndarray:
    axis = _long_axis(rng, base)
    return np.flip(base, axis)


def _repeated(rng: random.Random, base: np.ndarray, case: Case, folder: Path) -> np.ndarray:
    axis = _long_axis(rng, base)
    first = base[tuple(slice(0, 1) if number == axis else slice(None) for number in range(base.ndim))]
    return np.broadcast_to(first, base.shape)


def _other_order(rng: random.Random, base: np.ndarray, case: Case, folder: Path) -> np.ndarray:
    """The same elements at the same indices, in another order in memory than the layout says."""
    while True:
        order = rng.sample(range(base.ndim), base.ndim)
        moved = np.ascontiguousarray(base.transpose(order))
        if [extent for extent in moved.shape if extent > 1] != [extent for extent in base.shape if extent > 1]:
            return moved.transpose(np.argsort(order))


def _other_type(rng: random.Random, base: np.ndarray, case: Case, folder: Path) -> np.ndarray:
    if base.dtype.names:
        return np.zeros(base.shape, [(name, "<i2") for name in case.fields])
    if base.dtype.newbyteorder() != base.dtype and rng.random() < 0.5:
        return base.view(base.dtype.newbyteorder())
    other = {1: ("i1", "S1"), 2: ("<i2", "<f2"), 4: ("<i4", "<f4"), 8: ("<i8", "<f8"), 16: ("<c16", "S16")}
    size = base.dtype.itemsize
    found = [np.dtype(each) for each in other.get(size, (f"S{size}", f"V{size}")) if np.dtype(each) != base.dtype]
    return base.view(rng.choice(found))


def _too_long(rng: random.Random, base: np.ndarray, case: Case, folder: Path) -> np.ndarray:
    flat = base.reshape(-1)
    return np.concatenate([flat, flat[:1]]) if rng.random() < 0.5 else flat[:-1]


def _matrix(rng: random.Random, base: np.ndarray, case: Case, folder: Path) -> np.ndarray:
    return base.view(np.matrix) if base.ndim == 2 else base.view(np.recarray)


def _read_only(rng: random.Random, base: np.ndarray, case: Case, folder: Path) -> np.ndarray:
    found = base.copy()
    found.flags.writeable = False
    return found


def _subset(rng: random.Random, base: np.ndarray, case: Case, folder: Path) -> np.ndarray:
    """The fields of a larger struct, chosen by name."""
    found = np.zeros(base.shape, LARGER)
    for name in case.fields:
        found[name] = base[name]
    return found[list(rng.sample(sorted(case.fields), len(case.fields)))]


def _bytes(base: np.ndarray, case: Case) -> np.ndarray:
    """The bytes of the array, of a struct without its gaps."""
    return np.frombuffer(bytearray(_packed(base, case.fields).tobytes()), np.uint8)


_MAKERS: dict[str, Maker] = {
    "c": lambda rng, base, case, folder: base,
    "permuted": _permuted,
    "ones": _with_ones,
    "flat": lambda rng, base, case, folder: base.reshape(-1),
    "u1": lambda rng, base, case, folder: _bytes(base, case),
    "bytes": lambda rng, base, case, folder: _bytes(base, case).tobytes(),
    "bytearray": lambda rng, base, case, folder: bytearray(_bytes(base, case).tobytes()),
    "memoryview of bytes": lambda rng, base, case, folder: memoryview(bytearray(_bytes(base, case).tobytes())),
    "memoryview": lambda rng, base, case, folder: memoryview(_permuted(rng, base, case, folder)),
    "array.array": lambda rng, base, case, folder: arrays.array("B", _bytes(base, case).tobytes()),
    "mmap": _map_of_bytes,
    "memmap": _mapped,
    "dlpack": lambda rng, base, case, folder: Lent(_permuted(rng, base, case, folder)),
    "subclass": _matrix,
    "read-only": _read_only,
    "fields of a larger struct": _subset,
    "sliced": _sliced,
    "reversed": _reversed,
    "repeated": _repeated,
    "sliced, by DLPack": lambda rng, base, case, folder: Lent(_sliced(rng, base, case, folder)),
    "another order": _other_order,
    "another type": _other_type,
    "too long or short": _too_long,
    "bytes, too few": lambda rng, base, case, folder: _bytes(base, case)[:-1].copy(),
    "masked": lambda rng, base, case, folder: np.ma.array(base, mask=rng.random() < 0.5),
    "objects": lambda rng, base, case, folder: np.zeros(base.shape, object),
    "no bytes": lambda rng, base, case, folder: np.zeros(base.shape, "V0"),
    "empty": lambda rng, base, case, folder: np.zeros((*base.shape[:-1], 0), base.dtype),
    "list": lambda rng, base, case, folder: base.tolist(),
}
WRONG = {
    *("sliced", "reversed", "repeated", "sliced, by DLPack", "another order", "another type", "too long or short"),
    *("bytes, too few", "masked", "objects", "no bytes", "empty", "list"),
}
UNWRITABLE = {"bytes", "read-only"}


def _is_long(case: Case) -> bool:
    return any(extent > 1 for extent in case.given.shape)


def _is_plain(case: Case) -> bool:
    return case.given.dtype.names is None


def _hands_over(case: Case) -> bool:
    dtype = case.given.dtype
    return bool(dtype.kind in "biufc" and dtype.isnative and dtype.itemsize <= 16 and dtype != np.dtype("longdouble"))


def _always(case: Case) -> bool:
    return True


FORMS: dict[str, Callable[[Case], bool]] = {
    **dict.fromkeys(_MAKERS, _always),
    "ones": lambda case: case.given.ndim < 6,
    "memoryview": lambda case: (
        _hands_over(case) and case.given.dtype.kind in "iuf" and case.given.ndim > 1 and case.given.dtype.itemsize > 1
    ),
    "dlpack": _hands_over,
    "memmap": lambda case: case.given.ndim > 0,
    "fields of a larger struct": lambda case: len(case.fields) == 3,
    "sliced": _is_long,
    "reversed": _is_long,
    "repeated": _is_long,
    "sliced, by DLPack": lambda case: _is_long(case) and _hands_over(case),
    "another order": lambda case: len({extent for extent in case.given.shape if extent > 1}) > 1,
    "too long or short": lambda case: case.given.size > 1,
    "empty": lambda case: case.given.ndim > 0,
    "flat": lambda case: case.given.ndim != 1,
    "list": lambda case: case.given.ndim > 0,
}

FLAT = {"flat", "u1", "bytes", "bytearray", "memoryview of bytes", "array.array", "mmap"}
"""The forms that do not say the sizes of the dimensions."""
PERMUTED = {"permuted", "memoryview", "dlpack"}
"""The forms whose axes have any order."""
