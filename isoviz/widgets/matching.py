"""Whether a value is of a type of the contract, looked at while the program runs."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import lru_cache
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints, is_typeddict

from isoviz.errors import show


@lru_cache(maxsize=256)
def keys_of(kind: Any) -> dict[str, Any]:
    """The keys of a typed dictionary with the types of their values."""
    return get_type_hints(kind)


def members_of(kind: Any) -> tuple[Any, ...]:
    """The alternatives of a union; of any other type, the type alone."""
    return get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)


def mismatch(value: object, kind: Any, place: str = "") -> str | None:
    """What keeps a value from being of a type, in one line that names the place; None where it is of that type.

    Types are those of the contract: str, int, float, bool, None, object, `Literal`, unions, `list[…]`, `dict[str, …]` and typed
    dictionaries, whose keys must all be there, and no others.
    """
    origin = get_origin(kind)
    if origin in (Union, UnionType):
        found = [mismatch(value, member, place) for member in get_args(kind)]
        if None in found:
            return None
        # Of several typed dictionaries, the one is meant whose literals fit.
        meant = [problem for member, problem in zip(get_args(kind), found, strict=True) if _is_meant(value, member)]
        return meant[0] if len(meant) == 1 else _said(place, f"expected {words(kind)}, got {show(value)}")
    if is_typeddict(kind):
        return _of_keys(value, kind, place)
    if origin is list and isinstance(value, list):
        inner = get_args(kind)[0]
        return _first(mismatch(each, inner, f"{place}[{index}]") for index, each in enumerate(value))
    if origin is dict and isinstance(value, dict):
        inner = get_args(kind)[1]
        for key in value:
            if not isinstance(key, str):
                return _said(place, f"expected texts as keys, got {show(key)}")
        return _first(mismatch(each, inner, _child(place, key)) for key, each in value.items())
    return None if _is_plain(value, kind, origin) else _said(place, f"expected {words(kind)}, got {show(value)}")


def _is_meant(value: object, kind: Any) -> bool:
    """Whether a value is an object with the literals of a typed dictionary, even where more is wrong with it."""
    if not is_typeddict(kind) or not isinstance(value, Mapping):
        return False
    literals = {key: inner for key, inner in keys_of(kind).items() if get_origin(inner) is Literal and len(get_args(inner)) == 1}
    return bool(literals) and all(value.get(key) in get_args(inner) for key, inner in literals.items())


def words(kind: Any) -> str:
    """A type in words, for errors."""
    origin = get_origin(kind)
    if origin in (Union, UnionType):
        return " or ".join(dict.fromkeys(words(member) for member in get_args(kind)))
    if origin is Literal:
        return " or ".join(repr(each) for each in get_args(kind))
    if origin is list:
        return "a list"
    if origin is dict or is_typeddict(kind):
        return "an object"
    return {str: "a text", int: "a whole number", float: "a number", bool: "true or false", NoneType: "null"}.get(kind, "a value")


def _of_keys(value: object, kind: Any, place: str) -> str | None:
    if not isinstance(value, Mapping):
        return _said(place, f"expected an object, got {show(value)}")
    keys = keys_of(kind)
    for key, inner in keys.items():
        if key not in value:
            return _said(place, f"the key {key!r} is missing; expected {words(inner)}")
    for key in value:
        if key not in keys:
            return _said(place, f"unknown key {show(key)}; known are {', '.join(keys)}")
    return _first(mismatch(value[key], inner, _child(place, key)) for key, inner in keys.items())


def _is_plain(value: object, kind: Any, origin: Any) -> bool:
    if origin is Literal:
        return any(type(value) is type(each) and value == each for each in get_args(kind))
    if kind is float:
        # A whole number beyond all floats is no number that anything here computes with, nor are infinity and NaN.
        return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) <= sys.float_info.max
    if kind is int:
        return isinstance(value, int) and not isinstance(value, bool)
    return origin is None and isinstance(value, kind)


def _first(found: Any) -> str | None:
    return next((problem for problem in found if problem is not None), None)


def _child(place: str, key: str) -> str:
    return f"{place}.{key}" if place else key


def _said(place: str, problem: str) -> str:
    return f"{place}: {problem}" if place else problem
