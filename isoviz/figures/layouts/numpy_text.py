"""The NumPy array that a linearization equals, as an expression people can paste."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from isoviz.layouts.dtypes import described, dtype_text, is_added
from isoviz.layouts.layout import Linearization
from isoviz.layouts.modes import FIELDS, Mode


@dataclass(frozen=True)
class NumpyEquivalent:
    """`array` creates the array in C order; `element` reads one element of that array `a` by coordinates and field `f`."""

    array: str
    element: str
    counts_fields: bool = False
    """Whether `f` in `element` is the number of a field, not its name."""


def numpy_equivalent(linearization: Linearization, max_fields: int | None = None) -> NumpyEquivalent:
    """The C-order array whose bytes lie as in `linearization`; every layout has exactly one such form.

    Digits slower than `F` are axes of the array, digits faster than `F` axes of its fields (or, where all fields have one type,
    of the array, with the fields as an axis of their own). Beyond `max_fields` fields an ellipsis stands for the rest: to read,
    not to paste.
    """
    parts = linearization.parts
    place = parts.index(FIELDS)
    inner = [part for part in parts[:place][::-1] if isinstance(part, Mode)]
    outer = [part for part in parts[place + 1 :][::-1] if isinstance(part, Mode)]
    fields = linearization.fields
    if len(fields) == 1:
        return _plain([*outer, *inner], _source(fields.dtypes[0]))
    if inner and len(set(fields.dtypes)) == 1:
        shape = [*(mode.extent for mode in outer), len(fields), *(mode.extent for mode in inner)]
        axes = [*map(_digit, outer), "f", *map(_digit, inner)]
        return NumpyEquivalent(
            f"np.empty({_tuple(shape)}, {_source(fields.dtypes[0])})", f"a[{', '.join(axes)}]", counts_fields=True
        )
    within = f", {_tuple([mode.extent for mode in inner])}" if inner else ""
    listed = [f"({name!r}, {_source(dtype)}{within})" for name, dtype in zip(fields.names, fields.dtypes, strict=True)]
    if max_fields is not None and len(listed) > max_fields:
        listed = [*listed[: max_fields - 1], "…", listed[-1]]
    array = f"np.empty({_tuple([mode.extent for mode in outer])}, [{', '.join(listed)}])"
    element = f"a{_index(outer)}[f]{_index(inner)}"
    return NumpyEquivalent(array, element)


def _source(dtype: np.dtype[Any]) -> str:
    """A dtype as an expression. NumPy itself knows no text of a struct, and that of an added type only after its import."""
    if dtype.subdtype is not None:
        base, shape = dtype.subdtype
        return f"({_source(base)}, {shape})"
    if dtype.names is not None:
        return repr(described(dtype, lambda found: _Code(_source(found))))
    if not is_added(dtype):
        return repr(dtype_text(dtype))
    code = f"ml_dtypes.{dtype.name}"
    return code if dtype.isnative else f"np.dtype({code}).newbyteorder()"


class _Code(str):
    """An expression, whose representation is the expression itself."""

    __slots__ = ()
    __repr__ = str.__str__


def _plain(axes: list[Mode], dtype: str) -> NumpyEquivalent:
    return NumpyEquivalent(f"np.empty({_tuple([mode.extent for mode in axes])}, {dtype})", f"a{_index(axes) or '[()]'}")


def _index(axes: list[Mode]) -> str:
    return f"[{', '.join(map(_digit, axes))}]" if axes else ""


def _digit(mode: Mode) -> str:
    text = mode.dim if mode.step == 1 else f"{mode.dim} // {mode.step}"
    return text if mode.top else f"{text} % {mode.extent}"


def _tuple(values: list[int]) -> str:
    return f"({', '.join(map(str, values))}{',' if len(values) == 1 else ''})"
