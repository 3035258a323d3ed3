"""Declarations: frozen dataclasses and typed dictionaries, and how their members stand in documents.

A dataclass stands in JSON as an object with its fields in order, `slot_limit` as `slotLimit`. Documents of different forms may
differ: the browser gets the key of a row, a session file does not.

    @dataclass(frozen=True)
    class Row:
        key: int = member(file=left_out(0))
        name: str

A typed dictionary stands in JSON as it is, in every form.

`BY_NAME` is the form of machine files, which people write as well. There, keys are the names of Python, and a member with a
default may be missing. A class with `__post_init__` or `build` checks plain members itself, so reading leaves them to it, and
gives its errors their place.

A dataclass with a method `build` stands for what that makes: a file may have other members than the value in it.

A function stands in JSON as an object with its parameters, by the name of the call (`call_type`):

    def rename(row: Row, /, name: str) -> Row: ...

    Rename = call_type(rename, "kind", ("rename-row",))

A document asks for it by `{"kind": "rename-row", "name": "x"}`. What is read calls the function: `call(row=row)`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass
from functools import lru_cache
from inspect import Parameter, getdoc, signature
from typing import Any, ClassVar, Literal, NamedTuple, TypeVar, get_args, get_origin, get_type_hints, is_typeddict

BY_NAME = "by_name"

Value = TypeVar("Value")
Named = list[tuple[str, Value]]
"""Values by names that users choose, in pairs of name and value. An object of a browser is no table for them: it has a
`constructor` and a `__proto__` before anybody names a dimension so.
"""


def named(values: Mapping[str, Value]) -> Named[Value]:
    """A table in pairs."""
    return list(values.items())


def same(value: Any) -> Any:
    """The value."""
    return value


@dataclass(frozen=True)
class As:
    """How a member is written in documents of one form, if not by its own name and type.

    `key` is its name there ("": its own), `kind` its type there (None: its own). `write` makes the value of the document,
    `read` the value of the member; it may raise an InputError. A member that is not `present` is not in the document; its value
    is `absent` when the document is read.
    """

    key: str = ""
    kind: Any = None
    write: Callable[[Any], Any] = same
    read: Callable[[Any], Any] = same
    present: bool = True
    absent: Any = None


def left_out(value: Any) -> As:
    """The member is not in documents of the form; where one is read, it is `value`."""
    return As(present=False, absent=value)


def member(default: Any = MISSING, *, optional: bool = False, brief: bool = False, about: Any = None, **forms: As) -> Any:
    """A field of a declared dataclass.

    `forms` say where it stands in another way than by its own name and type, by the names of the forms. An `optional` member may
    be missing in a document, which then means its default. A `brief` one is written only where it is not its default. `about` is
    for the user of the declaration (`Member.about`).
    """
    return dataclasses.field(default=default, metadata={"forms": forms, "optional": optional, "brief": brief, "about": about})


class Member(NamedTuple):
    """A member of an object in documents of one form: the attribute, the key, its type there, and how it is read and written."""

    name: str
    key: str
    kind: Any
    form: As
    optional: bool = False
    about: Any = None
    unwritten: Any = MISSING
    """The value that is not written."""
    hint: Any = None
    """The type in words of errors, where `kind` is wider."""

    @property
    def is_free(self) -> bool:
        """Whether any value is allowed and is the value of the attribute."""
        return self.kind is object and self.form.read is same


class Call:
    """The call of a function that a document asks for, with its arguments: an object of a `call_type`."""

    function: ClassVar[Callable[..., Any]]
    _given: ClassVar[tuple[str, ...]]
    _read: ClassVar[tuple[str, ...]]

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments that were read, by parameter of the function."""
        return {name: getattr(self, name) for name in self._read}

    def __call__(self, **given: object) -> Any:
        """What the function returns. Of what is given, it gets what it has parameters for in front of its slash."""
        return self.function(*[given[name] for name in self._given], **self.arguments)


CallType = TypeVar("CallType", bound=Call)


def call_type(function: Callable[..., Any], tag: str, names: tuple[str, ...], base: type[CallType]) -> type[CallType]:
    """The declared type of the calls of a function. It has the name of the function: `SetMemory` is that of `set_memory`.

    Its members are the `tag`, one of `names`, and the parameters of the function. Those in front of the slash are left out: they
    are given where the function is called. A parameter with a default may be missing. A function with several names learns which
    one was meant by a parameter that is called like the tag. The docstring is that of the function, without its errors.
    """
    given = [each for each in signature(function).parameters.values() if each.kind is Parameter.POSITIONAL_ONLY]
    read = [each for each in signature(function).parameters.values() if each not in given]
    members: list[tuple[str, Any, Any]] = [(tag, Literal[names], member())]
    for each in read:
        default = MISSING if each.default is Parameter.empty else each.default
        if each.name != tag:
            members.append((each.name, each.annotation, member(default, optional=default is not MISSING)))
    of_function = {
        "function": staticmethod(function),
        "_given": tuple([each.name for each in given]),
        "_read": tuple([each.name for each in read]),
        "__doc__": (getdoc(function) or "").partition("\n\nRaises:")[0],
    }
    name = "".join(part.capitalize() for part in function.__name__.split("_"))
    made = dataclasses.make_dataclass(name, members, bases=(base,), namespace=of_function, frozen=True)
    made.__module__ = function.__module__  # where the names in its annotations are looked up
    return made


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
        return tuple(Member(name, name, inner, As(), hint=inner) for name, inner in hints.items())
    checks_itself = form == BY_NAME and (hasattr(kind, "__post_init__") or hasattr(kind, "build"))
    found = []
    for field in dataclasses.fields(kind):
        if field.init:
            given = field.metadata
            how = given.get("forms", {}).get(form, As())
            key = how.key or (field.name if form == BY_NAME else json_name(field.name))
            hint = hints[field.name] if how.kind in (None, object) else how.kind
            inner = how.kind or (_left_to_class(hint) if checks_itself else hint)
            optional = given.get("optional", False) or (form == BY_NAME and field.default is not MISSING)
            unwritten = field.default if given.get("brief", False) else MISSING
            found.append(Member(field.name, key, inner, how, optional, given.get("about"), unwritten, hint))
    return tuple(found)


def _left_to_class(kind: Any) -> Any:
    """The type that reading checks where a class checks its members itself: any value, or a list, for what is plain."""
    inner = get_args(kind)
    if is_declared(kind) or get_origin(kind) is Literal or any(_left_to_class(each) is each for each in inner):
        return kind
    return list if get_origin(kind) is tuple or any(get_origin(each) is tuple for each in inner) else object
