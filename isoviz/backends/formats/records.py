"""Array dtypes as field spaces, and field spaces as the dtypes of `.npy` files.

- Nested structs are flattened, and the fields are named by their paths (`pos.x`).
- A sub-array field (`(3,)f4`) is one field of 12 bytes, whose elements stay together.
- Gaps (aligned structs) become separate fields, which exist in the file and are not moved.
- Byte order is part of the dtype and is kept.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from isoviz.errors import FileError
from isoviz.layouts import FieldsComponent, FieldSpace
from isoviz.layouts.modes import NormalPart

SINGLE = "value"
"""The field name of an array without named fields."""

_C_INT = 2**31 - 1


@dataclass(frozen=True)
class Record:
    """The dtype of one entry of a stored array.

    `stored` has every byte of the entry, including gaps. `names` are the real fields in order, and `formats` their dtypes in the
    file (sub-arrays not opaque). `element` is the dtype of one packed entry; None where entries have no named fields.
    """

    stored: FieldSpace
    names: tuple[str, ...]
    formats: tuple[np.dtype[Any], ...]
    element: np.dtype[Any] | None

    @property
    def fields(self) -> FieldSpace:
        """The real fields without gaps."""
        return self.stored.subset(self.names)

    @property
    def has_gaps(self) -> bool:
        return len(self.names) < len(self.stored)

    @classmethod
    def of(cls, dtype: np.dtype[Any], where: str = "array") -> Record:
        """The record of a dtype.

        Raises:
            FileError: Python objects, fields without bytes, or overlapping fields.
        """
        if dtype.hasobject:
            raise FileError(f"{where}: {dtype} holds Python objects; only data with bytes of their own can be moved")
        if dtype.names is None:
            return cls(FieldSpace.of({SINGLE: dtype}), (SINGLE,), (dtype,), None)
        stored: dict[str, np.dtype[Any]] = {}
        formats: dict[str, np.dtype[Any]] = {}
        at = 0
        for name, start, found in sorted(_leaves(dtype, "", 0), key=lambda leaf: leaf[1]):
            if found.itemsize < 1:
                raise FileError(f"{where}: field {name!r} ({found}) has no bytes")
            if name in formats or not name:
                raise FileError(f"{where}: two fields have the same path {name!r}")
            if start < at:
                raise FileError(f"{where}: field {name!r} overlaps another field; expected fields without overlap")
            if start > at:
                stored[f"(gap at {at})"] = np.dtype(f"V{start - at}")
            stored[name] = opaque(found)
            formats[name] = found
            at = start + found.itemsize
        if not formats:
            raise FileError(f"{where}: its dtype has no fields")
        if at < dtype.itemsize:
            stored[f"(gap at {at})"] = np.dtype(f"V{dtype.itemsize - at}")
        if sum(found.itemsize for found in stored.values()) != dtype.itemsize:
            raise FileError(f"{where}: a field has a name that is reserved for gaps, '(gap at …)'; rename it")
        element = dtype
        if len(stored) > len(formats):
            from numpy.lib.recfunctions import repack_fields

            element = repack_fields(dtype, align=False, recurse=True)
        return cls(FieldSpace.of(stored), tuple(formats), tuple(formats.values()), element)

    @classmethod
    def of_formats(cls, formats: Mapping[str, np.dtype[Any]]) -> Record:
        """The record of packed fields. Each field is moved whole, even a struct or a sub-array."""
        stored = FieldSpace.of({name: opaque(found) for name, found in formats.items()})
        element = np.dtype({"names": list(formats), "formats": list(formats.values())})
        return cls(stored, tuple(formats), tuple(formats.values()), element)

    @classmethod
    def of_fields(cls, fields: FieldSpace) -> Record:
        """The record of a field space. It is structured if there are several fields."""
        element = fields.dtype if len(fields) > 1 else None
        return cls(fields, fields.names, fields.dtypes, element)


def opaque(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype as one unit: a sub-array or a struct becomes plain bytes."""
    return np.dtype(f"V{dtype.itemsize}") if dtype.subdtype is not None or dtype.names is not None else dtype


def _leaves(dtype: np.dtype[Any], prefix: str, base: int) -> Iterator[tuple[str, int, np.dtype[Any]]]:
    assert dtype.names is not None and dtype.fields is not None
    for name in dtype.names:
        found, start = dtype.fields[name][:2]
        if found.names is not None:
            yield from _leaves(found, f"{prefix}{name}.", base + start)
        else:
            yield prefix + name, base + start, found


def array_of(parts: Sequence[NormalPart], record: Record, where: str = "array") -> tuple[np.dtype[Any], tuple[int, ...]]:
    """Dtype and shape of the C-order array with the bytes of a linearization of `record.fields` that has these parts.

    The axes are the digits of the layout, slowest first. If `F` is fastest, the elements are packed structs. Otherwise fields of
    equal type form an axis. Fields of different types cannot: the components faster than `F` become sub-arrays of a struct. So
    `<x, F>` of mixed types is one struct of arrays, and `a["re"]` is the array of all `re`. A ragged last block is included,
    padded with zeros.

    Raises:
        FileError: a struct of arrays of 2 GiB or more, which no dtype can hold.
    """
    extents = [None if isinstance(part, FieldsComponent) else part.extent for part in parts]
    place = extents.index(None)
    fast = tuple(extent for extent in extents[:place][::-1] if extent is not None)
    slow = tuple(extent for extent in extents[place + 1 :][::-1] if extent is not None)
    if len(record.names) == 1 or not fast:
        return record.element if record.element is not None else record.formats[0], slow + fast
    first = record.formats[0]
    if all(found == first for found in record.formats):
        base, inner = first.subdtype if first.subdtype is not None else (first, ())
        return base, (*slow, len(record.names), *fast, *inner)
    if math.prod(fast) * record.fields.nbytes > _C_INT:
        raise FileError(
            f"{where}: this layout keeps fields of different types apart in pieces of 2 GiB or more, which no .npy"
            " can hold; give the output another name than .npy for a raw file, or block a dimension (<x_in=1024, F, x_out>)"
        )
    formats = [_sub_array(found, fast) for found in record.formats]
    return np.dtype({"names": list(record.names), "formats": formats}), slow


def _sub_array(dtype: np.dtype[Any], shape: tuple[int, ...]) -> np.dtype[Any]:
    base, inner = dtype.subdtype if dtype.subdtype is not None else (dtype, ())
    return np.dtype((base, (*shape, *inner)))
