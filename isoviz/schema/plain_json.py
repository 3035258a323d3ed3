"""Writing: a value of a declared type as plain JSON."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from functools import lru_cache
from types import NoneType
from typing import Any

from isoviz.schema.declaration import Member, members_of, same

_SCALARS = {str, int, float, bool, NoneType}


def plain(value: Any, form: str = "") -> Any:
    """A value as plain JSON, in documents of a form. Values of other types than declared ones stay as they are."""
    if type(value) in _SCALARS:
        return value
    if isinstance(value, tuple | list):
        return [each if type(each) in _SCALARS else plain(each, form) for each in value]
    if isinstance(value, str):
        return str(value)  # a kind, for example
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        found = {}
        for each in _written(type(value), form):
            given = getattr(value, each.name)
            if given is each.unwritten or given == each.unwritten:
                continue
            if each.form.write is not same:
                given = each.form.write(given)
            found[each.key] = given if type(given) in _SCALARS else plain(given, form)
        return found
    if isinstance(value, Mapping):
        return {key: plain(each, form) for key, each in value.items()}
    return value


@lru_cache(maxsize=512)
def _written(kind: type, form: str) -> tuple[Member, ...]:
    return tuple([each for each in members_of(kind, form) if each.form.present])
