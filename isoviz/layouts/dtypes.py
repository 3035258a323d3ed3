"""NumPy dtypes as text, text as dtypes, and the fields of a dtype with the gaps between them.

There is one spelling for JSON, TOML, the shell, the explorer and what is printed:

- Numbers of this computer's byte order have their names: `float32`. Every other plain type is as NumPy writes it: `>i4`,
  `<M8[ns]`, `<U8`, `|V12`.
- Types that a package has added to NumPy have their names, such as `bfloat16`. NumPy itself writes `<V2`, two plain bytes.
- A struct is the list of its fields, `[('re', 'float32'), ('im', 'float32')]`, or a dictionary with their offsets where they have
  gaps or another order. A sub-array has its shape in front: `(3,)float32`.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from isoviz.errors import SpaceError
from isoviz.schema.literals import parse_literal

_LONGEST = 1 << 20
"""Characters of a dtype at most."""
_ADDED = re.compile(r"([<>=|]?)(bfloat16|b?complex32|float[468]_\w+|u?int[124])")
"""The types of the package ml_dtypes, which is imported only where one of them is named. JAX, TensorFlow and Zarr use them."""
_CODES = {"<f1": "<float8_e5m2", ">f1": ">float8_e5m2", "|f1": "float8_e5m2"}
"""Codes of these types that NumPy writes into files and does not read."""
_SUB_ARRAY = re.compile(r"(\([0-9, ]*\))\s*(?=\S)(.*)", re.DOTALL)


def dtype_text(dtype: np.dtype[Any]) -> str:
    """A dtype as text, of which `dtype_of` makes an equal one."""
    if dtype.subdtype is not None:
        base, shape = dtype.subdtype
        return f"{shape}".replace(" ", "") + dtype_text(base)
    if dtype.names is not None:
        return repr(described(dtype, dtype_text))
    if is_added(dtype):
        return dtype.name if dtype.isnative else f"{dtype.str[0]}{dtype.name}"
    return dtype.name if dtype.isnative and dtype.kind in "biufc" else dtype.str


def is_added(dtype: np.dtype[Any]) -> bool:
    """Whether a package has added the type to NumPy, as ml_dtypes adds bfloat16, float8 and int4."""
    return dtype.isbuiltin == 2


def described(dtype: np.dtype[Any], text: Callable[[np.dtype[Any]], str]) -> list[Any] | dict[str, Any]:
    """A struct as values that `described_dtype` understands. `text` writes the dtypes of its fields."""
    assert dtype.names is not None and dtype.fields is not None
    fields = [dtype.fields[name] for name in dtype.names]
    titles = [found[2] if len(found) > 2 else None for found in fields]
    formats, offsets = [text(found[0]) for found in fields], [int(found[1]) for found in fields]
    ends = [0, *(offset + found[0].itemsize for offset, found in zip(offsets, fields, strict=True))]
    if offsets == ends[:-1] and ends[-1] == dtype.itemsize:
        names = [name if title is None else (title, name) for name, title in zip(dtype.names, titles, strict=True)]
        return list(zip(names, formats, strict=True))
    found = {"names": list(dtype.names), "formats": formats, "offsets": offsets, "itemsize": dtype.itemsize}
    return {**found, "titles": titles} if any(title is not None for title in titles) else found


def dtype_of(given: Any) -> np.dtype[Any]:
    """The dtype of what a user gives: anything that `numpy.dtype` takes, or the text of `dtype_text`.

    Raises:
        ValueError: it is not a dtype, or one of a package that is not installed; the message says which.
    """
    try:
        return _dtype_of_text(given) if isinstance(given, str) else np.dtype(given)
    except (TypeError, ValueError, SyntaxError, OverflowError, RecursionError, KeyError) as error:
        raise ValueError(_first_line(error)) from None


def _dtype_of_text(text: str) -> np.dtype[Any]:
    if len(text) > _LONGEST:
        raise ValueError(f"a text of {len(text)} characters")
    if match := _ADDED.fullmatch(_CODES.get(text.strip(), text.strip())):
        return _added(match[2], match[1])
    if text.lstrip()[:1] in ("[", "{"):
        return described_dtype(parse_literal(text))
    if match := _SUB_ARRAY.fullmatch(text.strip()):
        shape = parse_literal(match[1])
        return np.dtype((_dtype_of_text(match[2]), shape if isinstance(shape, tuple) else (shape,)))
    if not text.isprintable():
        raise ValueError("a text that cannot be printed")  # NumPy reads "\0" as bool
    return np.dtype(text)


def _added(name: str, order: str) -> np.dtype[Any]:
    try:
        package = importlib.import_module("ml_dtypes")
    except ImportError:
        raise ValueError(f"{name} is a type of the package ml_dtypes: pip install ml_dtypes") from None
    found = getattr(package, name, None)
    if not isinstance(found, type):
        raise ValueError(f"ml_dtypes {package.__version__} has no type {name}")
    dtype: np.dtype[Any] = np.dtype(found)
    return dtype.newbyteorder("<" if order == "<" else ">") if order in ("<", ">") else dtype


def described_dtype(description: Any) -> np.dtype[Any]:
    """The dtype of a description as `.npy` headers have it: text, (description, shape), or a list with a tuple for each field.

    A field without a name and of plain bytes is a gap.

    Raises:
        ValueError, TypeError, KeyError: it describes no dtype.
    """
    if isinstance(description, str):
        return dtype_of(description)
    if isinstance(description, tuple):
        base, shape = description
        return np.dtype((described_dtype(base), shape))
    if isinstance(description, dict):
        formats = [described_dtype(found) for found in description["formats"]]
        return np.dtype({**description, "formats": formats})  # type: ignore[call-overload,no-any-return]
    if not isinstance(description, list):
        raise TypeError(f"expected a text, a tuple or a list, got {str(description)[:60]}")
    struct: dict[str, Any] = {"names": [], "titles": [], "formats": [], "offsets": []}
    at = 0
    for name, form, *shape in description:
        found = described_dtype((form, *shape) if shape else form)
        title, name = name if isinstance(name, tuple) else (None, name)
        if name != "" or found.type is not np.void or found.names is not None:
            for key, value in zip(struct, (name, title, found, at), strict=True):
                struct[key].append(value)
        at += found.itemsize
    return np.dtype({**struct, "itemsize": at})  # type: ignore[call-overload,no-any-return]


def _first_line(error: BaseException) -> str:
    return str(error).splitlines()[0][:200] if str(error) else type(error).__name__


# ---- fields

_GAP = "(gap at "


def gap_name(at: int) -> str:
    """The name of the field that stands for the gap at a byte of an entry."""
    return f"{_GAP}{at})"


def is_gap(name: str) -> bool:
    """Whether a field stands for a gap: padding, which is neither read nor written."""
    return name.startswith(_GAP)


def opaque(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype as one unit: a sub-array or a struct becomes plain bytes."""
    return np.dtype(f"V{dtype.itemsize}") if dtype.subdtype is not None or dtype.names is not None else dtype


def stored_fields(dtype: np.dtype[Any]) -> tuple[dict[str, np.dtype[Any]], dict[str, np.dtype[Any]]]:
    """All fields of a struct as they are stored, gaps among them, and the dtypes of the real ones.

    Fields of nested structs are named by their paths (`pos.x`). The stored dtype of a sub-array is plain bytes.

    Raises:
        SpaceError: there is no field, a field has no bytes, or fields overlap.
    """
    stored: dict[str, np.dtype[Any]] = {}
    real: dict[str, np.dtype[Any]] = {}
    at = 0
    for name, start, found in sorted(_leaves(dtype, "", 0), key=lambda leaf: leaf[1]):
        if found.itemsize < 1:
            raise SpaceError(f"field {name!r} ({found}) has no bytes")
        if name in real or not name:
            raise SpaceError(f"two fields have the same path {name!r}")
        if is_gap(name):
            raise SpaceError("a field has a name that is reserved for gaps, '(gap at …)'; rename it")
        if start < at:
            raise SpaceError(f"field {name!r} overlaps another field; expected fields without overlap")
        if start > at:
            stored[gap_name(at)] = np.dtype(f"V{start - at}")
        stored[name] = opaque(found)
        real[name] = found
        at = start + found.itemsize
    if not real:
        raise SpaceError(f"the dtype {dtype} has no fields")
    if at < dtype.itemsize:
        stored[gap_name(at)] = np.dtype(f"V{dtype.itemsize - at}")
    return stored, real


def _leaves(dtype: np.dtype[Any], prefix: str, base: int) -> Iterator[tuple[str, int, np.dtype[Any]]]:
    assert dtype.names is not None and dtype.fields is not None
    for name in dtype.names:
        found, start = dtype.fields[name][:2]
        if found.names is not None:
            yield from _leaves(found, f"{prefix}{name}.", base + start)
        else:
            yield prefix + name, base + start, found
