"""The NumPy array that a linearization equals, as an expression people can paste."""

from __future__ import annotations

from dataclasses import dataclass

from isoviz.layouts.components import FIELDS
from isoviz.layouts.layout import Linearization
from isoviz.layouts.modes import Mode
from isoviz.layouts.spaces import dtype_text


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
        return _plain([*outer, *inner], repr(dtype_text(fields.dtypes[0])))
    if inner and len(set(fields.dtypes)) == 1:
        shape = [*(mode.extent for mode in outer), len(fields), *(mode.extent for mode in inner)]
        axes = [*map(_digit, outer), "f", *map(_digit, inner)]
        return NumpyEquivalent(
            f"np.empty({_tuple(shape)}, {dtype_text(fields.dtypes[0])!r})", f"a[{', '.join(axes)}]", counts_fields=True
        )
    within = f", {_tuple([mode.extent for mode in inner])}" if inner else ""
    listed = [f"({name!r}, {dtype_text(dtype)!r}{within})" for name, dtype in zip(fields.names, fields.dtypes, strict=True)]
    if max_fields is not None and len(listed) > max_fields:
        listed = [*listed[: max_fields - 1], "…", listed[-1]]
    array = f"np.empty({_tuple([mode.extent for mode in outer])}, [{', '.join(listed)}])"
    element = f"a{_index(outer)}[f]{_index(inner)}"
    return NumpyEquivalent(array, element)


def _plain(axes: list[Mode], dtype: str) -> NumpyEquivalent:
    return NumpyEquivalent(f"np.empty({_tuple([mode.extent for mode in axes])}, {dtype})", f"a{_index(axes) or '[()]'}")


def _index(axes: list[Mode]) -> str:
    return f"[{', '.join(map(_digit, axes))}]" if axes else ""


def _digit(mode: Mode) -> str:
    text = mode.dim if mode.step == 1 else f"{mode.dim} // {mode.step}"
    return text if mode.top else f"{text} % {mode.extent}"


def _tuple(values: list[int]) -> str:
    return f"({', '.join(map(str, values))}{',' if len(values) == 1 else ''})"
