"""Reading untrusted JSON and TOML: every mistake becomes one line that names the place."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any

from isoviz.errors import TransferError, show


def table(data: Any, where: str, known: Iterable[str] | None = None) -> Mapping[str, Any]:
    """`data` as a table with only known keys.

    Raises:
        TransferError: it is none, or has another key (with the nearest known one).
    """
    if not isinstance(data, Mapping) or not all(isinstance(key, str) for key in data):
        raise TransferError(f"{where}: expected a table, got {show(data)}")
    if known is not None:
        names = list(known)
        for key in data:
            if key not in names:
                close = get_close_matches(key[:80], names, n=1)
                hint = f"did you mean {close[0]!r}?" if close else f"expected {', '.join(names)}"
                raise TransferError(f"{where}: unknown key {show(key)}; {hint}")
    return data


def needed(data: Mapping[str, Any], key: str, where: str) -> Any:
    """A key that has to be there.

    Raises:
        TransferError: it is missing.
    """
    if key not in data:
        raise TransferError(f"{where}: {key!r} is missing")
    return data[key]


def text(data: Mapping[str, Any], key: str, where: str) -> str:
    """A key that has to be there and be text.

    Raises:
        TransferError: missing or something else.
    """
    value = needed(data, key, where)
    if not isinstance(value, str):
        raise TransferError(f"{where}.{key}: expected text, got {show(value)}")
    return value


def whole(data: Mapping[str, Any], key: str, where: str, default: int | None = None) -> int:
    """A whole number.

    Raises:
        TransferError: missing without a default, or something else.
    """
    value = data.get(key, default) if default is not None else needed(data, key, where)
    if isinstance(value, bool) or not isinstance(value, int):
        raise TransferError(f"{where}.{key}: expected a whole number, got {show(value)}")
    return value


def number(data: Mapping[str, Any], key: str, where: str) -> float:
    """A finite number of at least 0.

    Raises:
        TransferError: missing or something else.
    """
    value = needed(data, key, where)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= sys.float_info.max:
        raise TransferError(f"{where}.{key}: expected a number of at least 0, got {show(value)}")
    return float(value)
