"""Writing: a value of a declared type as plain JSON."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from isoviz.schema.declaration import members_of


def plain(value: Any, form: str = "") -> Any:
    """A value as plain JSON, in documents of a form. Values of other types than declared ones stay as they are."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {
            each.key: plain(each.form.write(getattr(value, each.name)), form)
            for each in members_of(type(value), form)
            if each.form.present
        }
    if isinstance(value, tuple | list):
        return [plain(each, form) for each in value]
    if isinstance(value, Mapping):
        return {key: plain(each, form) for key, each in value.items()}
    return value
