"""Array dtypes as field spaces, and field spaces as the dtypes of `.npy` files.

- Nested structs are flattened, and the fields are named by their paths (`pos.x`).
- A sub-array field (`(3,)f4`) is one field of 12 bytes, whose elements stay together.
- Gaps (aligned structs) become separate fields, which exist in the file and are not moved.
- Byte order is part of the dtype and is kept.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from isoviz.errors import FileError, SpaceError
from isoviz.layouts import FieldsComponent, FieldSpace
from isoviz.layouts.dtypes import opaque, stored_fields
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
        try:
            stored, formats = stored_fields(dtype)
        except SpaceError as error:
            raise FileError(f"{where}: {error}") from None
        element = dtype if len(stored) == len(formats) else _packed(dtype)
        if list(stored_fields(element)[0]) != list(formats):  # nested structs that lie in the gaps of each other
            element = np.dtype({"names": list(formats), "formats": list(formats.values())})
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


def _packed(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """A struct without its gaps. Its fields keep their order in memory, whatever the order of their names."""
    if dtype.names is None or dtype.fields is None:
        return dtype
    found = sorted(((name, *dtype.fields[name][:2]) for name in dtype.names), key=lambda field: field[2])
    return np.dtype({"names": [name for name, *_ in found], "formats": [_packed(each) for _, each, _ in found]})


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
