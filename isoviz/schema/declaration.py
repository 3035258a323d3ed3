"""Declarations: frozen dataclasses and typed dictionaries, and how their members stand in documents.

A dataclass stands in JSON as an object with its fields in order, `slot_limit` as `slotLimit`. Documents of different forms may
differ: the browser gets the key of a row, a session file does not.

    @dataclass(frozen=True)
    class Row:
        key: int = member(file=left_out(0))
        name: str

A typed dictionary stands in JSON as it is, in every form.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import MISSING, dataclass
from functools import lru_cache
from typing import Any, NamedTuple, get_type_hints, is_typeddict


def _same(value: Any) -> Any:
    return value


@dataclass(frozen=True)
class As:
    """How a member stands in documents of one form, where it is not by its own name and type.

    `key` is its name there ("": its own), `kind` its type there (None: its own). `write` makes the value of the document,
    `read` the value of the member; it may raise an InputError. A member that is not `present` is not in the document; its value
    is `absent` when the document is read.
    """

    key: str = ""
    kind: Any = None
    write: Callable[[Any], Any] = _same
    read: Callable[[Any], Any] = _same
    present: bool = True
    absent: Any = None


def left_out(value: Any) -> As:
    """The member is not in documents of the form; where one is read, it is `value`."""
    return As(present=False, absent=value)


def member(default: Any = MISSING, *, optional: bool = False, about: Any = None, **forms: As) -> Any:
    """A field of a declared dataclass.

    `forms` say where it stands in another way than by its own name and type, by the names of the forms. An `optional` member may
    be missing in a document, which then means its default. `about` is for the user of the declaration (`Member.about`).
    """
    return dataclasses.field(default=default, metadata={"forms": forms, "optional": optional, "about": about})


class Member(NamedTuple):
    """A member of an object in documents of one form: the attribute, the key, its type there, and how it is read and written."""

    name: str
    key: str
    kind: Any
    form: As
    optional: bool = False
    about: Any = None


def json_name(name: str) -> str:
    """A name of Python as JSON has it: `slot_limit` is `slotLimit`."""
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)


def is_declared(kind: Any) -> bool:
    """Whether a type stands in JSON as an object with members of its own."""
    return is_typeddict(kind) or (isinstance(kind, type) and dataclasses.is_dataclass(kind))


@lru_cache(maxsize=512)
def members_of(kind: Any, form: str = "") -> tuple[Member, ...]:
    """The members of a declared type, those that a form leaves out included (`form.present`)."""
    hints = get_type_hints(kind)
    if is_typeddict(kind):
        return tuple(Member(name, name, inner, As()) for name, inner in hints.items())
    found = []
    for field in dataclasses.fields(kind):
        how = field.metadata.get("forms", {}).get(form, As())
        key = how.key or json_name(field.name)
        optional, about = field.metadata.get("optional", False), field.metadata.get("about")
        found.append(Member(field.name, key, how.kind or hints[field.name], how, optional, about))
    return tuple(found)
