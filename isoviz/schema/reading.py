"""Reading: a value of a declared type from plain JSON. Every complaint names the place (`transfers[0].dimensions[1].value`)."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from functools import lru_cache
from types import NoneType, UnionType
from typing import Any, Literal, NoReturn, Union, get_args, get_origin, is_typeddict

from isoviz.checks import FieldError
from isoviz.errors import InputError, InternalError, show
from isoviz.schema.declaration import Member, is_declared, members_of, same
from isoviz.schema.json_text import Repeated

_WORDS = {
    str: "a text", int: "a whole number", float: "a number", bool: "true or false", NoneType: "null", list: "a list",
    tuple: "a list", dict: "an object", Mapping: "an object",
}  # fmt: skip


class MismatchError(InputError):
    """A value is not of a declared type: at `place` (empty: the whole value), `problem` says what is wrong."""

    def __init__(self, place: str, problem: str) -> None:
        self.place = place
        self.problem = problem
        super().__init__(f"{place}: {problem}" if place else problem)

    def __reduce__(self) -> tuple[type[MismatchError], tuple[str, str]]:
        return type(self), (self.place, self.problem)


@contextmanager
def errors_as(error: type[InputError], place: str = "", title: str = "", objects: str = "an object") -> Iterator[None]:
    """A context in which a MismatchError is raised as `error`, with its place within `place`, after the `title` of the document.

    `objects` is what the format of the document calls an object.
    """
    try:
        yield
    except (MismatchError, FieldError) as found:
        inner = found.place if isinstance(found, MismatchError) else found.field
        where = f"{place}{inner}" if inner.startswith("[") else ".".join(filter(None, (place, inner)))
        problem = found.problem.replace("expected an object", f"expected {objects}")
        raise error(": ".join(filter(None, (title, where, problem)))) from None


def read(value: Any, kind: Any, form: str = "", place: str = "") -> Any:
    """The value of a declared type that plain JSON stands for.

    Types are str, int, float, bool, None, object, `Literal`, unions, `list[…]`, `tuple[…, ...]`, `tuple[…, …]`, `dict[str, …]`,
    dataclasses and typed dictionaries. Objects have all their keys, except those of optional members, and no others. Among
    several types of objects, the one whose literals fit is taken.

    Raises:
        MismatchError: the value does not have the type.
    """
    origin = get_origin(kind)
    if origin in (Union, UnionType):
        return _of_union(value, get_args(kind), form, place)
    if is_declared(kind):
        return _of_object(value, kind, form, place)
    if origin in (list, tuple) and isinstance(value, list | tuple):
        found = [read(each, inner, form, f"{place}[{index}]") for index, (each, inner) in enumerate(_items(value, kind, place))]
        return found if origin is list else tuple(found)
    if origin in (dict, Mapping) and isinstance(value, Mapping):
        check_keys(value, place)
        return {key: read(each, get_args(kind)[1], form, child(place, key)) for key, each in value.items()}
    if not _is_plain(value, kind, origin):
        fail(place, f"expected {words(kind)}, got {show(value)}")
    return value


def mismatch(value: Any, kind: Any, form: str = "", place: str = "") -> str | None:
    """Why plain JSON is not a value of a type, in one line that names the place; None if it is one."""
    try:
        read(value, kind, form, place)
    except MismatchError as error:
        return str(error)
    return None


def tag(value: Any, key: str, known: Mapping[str, Any], place: str = "") -> str:
    """The text under a key of an object, one of those that are known.

    Raises:
        MismatchError: the text is missing, or is not one of these.
    """
    check_keys(value, place)
    given = value.get(key)
    if not isinstance(given, str) or given not in known:
        fail(child(place, key), f"{show(given)} is not known; {_nearest(given, known)}")
    return given


def alternatives(kind: Any) -> tuple[Any, ...]:
    """The alternatives of a union; of any other type, the type alone."""
    return get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)


def words(kind: Any) -> str:
    """A type in words, for errors."""
    origin = get_origin(kind)
    if origin in (Union, UnionType):
        return " or ".join(dict.fromkeys(words(each) for each in get_args(kind)))
    if origin is Literal:
        return " or ".join(repr(each) for each in get_args(kind))
    if is_declared(kind):
        return "an object"
    return "a text" if isinstance(kind, type) and issubclass(kind, str) else _WORDS.get(origin or kind, "a value")


def _items(value: Sequence[Any], kind: Any, place: str) -> Iterator[tuple[Any, Any]]:
    """The items of a list, each with its type: the same for all of them, or one for each."""
    inner = get_args(kind)
    if get_origin(kind) is list or inner[-1] is ...:
        return ((each, inner[0]) for each in value)
    if len(value) != len(inner):
        fail(place, f"expected a list of {len(inner)}, got {show(value)}")
    return zip(value, inner, strict=True)


def _of_union(value: Any, kinds: tuple[Any, ...], form: str, place: str) -> Any:
    objects = tuple([kind for kind in kinds if is_declared(kind)])
    if objects and isinstance(value, Mapping):
        return _of_object(value, _meant(value, objects, form, place), form, place)
    lists = [kind for kind in kinds if get_origin(kind) in (list, tuple)]
    if len(lists) == 1 and isinstance(value, list | tuple):
        return read(value, lists[0], form, place)
    fitting = [kind for kind in kinds if kind not in objects and mismatch(value, kind, form) is None]
    if not fitting:
        fail(place, f"expected {' or '.join(dict.fromkeys(map(words, kinds)))}, got {show(value)}")
    return read(value, fitting[0], form, place)


def _meant(value: Mapping[str, Any], kinds: tuple[Any, ...], form: str, place: str) -> Any:
    """The type of object that is meant: the one whose literals are in the value."""
    if len(kinds) == 1:
        return kinds[0]
    for key in _tags(kinds, form):
        given = tag(value, key, dict.fromkeys(each for kind in kinds for each in _literals(kind, form)[key]), place)
        fitting = tuple([kind for kind in kinds if given in _literals(kind, form)[key]])
        if len(fitting) < len(kinds):
            return _meant(value, fitting, form, place)
    raise InternalError(f"{place}: {' and '.join(kind.__name__ for kind in kinds)} have the same literals")


@lru_cache(maxsize=256)
def _tags(kinds: tuple[Any, ...], form: str) -> tuple[str, ...]:
    """The keys that hold one of some literals in all of these types of objects."""
    return tuple([key for key in _literals(kinds[0], form) if all(key in _literals(kind, form) for kind in kinds)])


@lru_cache(maxsize=512)
def _literals(kind: Any, form: str) -> dict[str, tuple[Any, ...]]:
    """The literals of the members of an object that have some, by key."""
    return {each.key: get_args(each.kind) for each in members_of(kind, form) if get_origin(each.kind) is Literal}


def _of_object(value: Any, kind: Any, form: str, place: str) -> Any:
    check_keys(value, place)
    members = _present(kind, form)
    for key in _literals(kind, form):  # An object of another kind is told first.
        if key in value:
            read(value[key], members[key].kind, form, child(place, key))
    check_known(value, members, place)
    for key, each in members.items():
        if key not in value and not each.optional:
            fail(place, f"the key {key!r} is missing; expected {words(each.hint)}")
    found = {}
    for key, given in value.items():
        each = members[key]
        found[each.name] = given if each.is_free else _of_member(given, each, form, child(place, key))
    if is_typeddict(kind):
        return found
    found |= _absent(kind, form)
    return _converted(lambda given: _built(kind(**given)), found, place)


def _built(value: Any) -> Any:
    build = getattr(value, "build", None)
    return value if build is None else build()


@lru_cache(maxsize=512)
def _absent(kind: Any, form: str) -> dict[str, Any]:
    """The values of the members that are not in documents of a form."""
    return {each.name: each.form.absent for each in members_of(kind, form) if not each.form.present}


@lru_cache(maxsize=512)
def _present(kind: Any, form: str) -> dict[str, Member]:
    """The members that are in documents of a form, by key."""
    return {each.key: each for each in members_of(kind, form) if each.form.present}


def _of_member(value: Any, member: Member, form: str, place: str) -> Any:
    found = read(value, member.kind, form, place)
    return found if member.form.read is same else _converted(member.form.read, found, place)


def _converted(convert: Any, value: Any, place: str) -> Any:
    try:
        return convert(value)
    except FieldError as error:
        fail(child(place, error.field), error.problem)
    except MismatchError as error:
        fail(child(place, error.place) if error.place else place, error.problem)
    except InputError as error:
        fail(place, str(error))


def check_keys(value: object, place: str) -> None:
    """Check that a value is an object whose keys are texts, each there once.

    Raises:
        MismatchError: it is not.
    """
    if not isinstance(value, Mapping):
        fail(place, f"expected an object, got {show(value)}")
    if isinstance(value, Repeated):
        fail(place, f"the key {show(value.key)} stands twice")
    for key in value:
        if not isinstance(key, str):
            fail(place, f"expected texts as keys, got {show(key)}")


def check_known(value: Mapping[str, Any], known: Sequence[str] | Mapping[str, Any], place: str) -> None:
    """Check that an object has no other keys than those known.

    Raises:
        MismatchError: it has one.
    """
    for key in value:
        if key not in known:
            fail(place, f"unknown key {show(key)}; {_nearest(key, known)}")


def _nearest(given: Any, known: Sequence[str] | Mapping[str, Any]) -> str:
    """The names that are known, after the one that is nearest to a name."""
    close = get_close_matches(given[:80], known, n=1) if isinstance(given, str) else []
    return f"did you mean {close[0]!r}? Known are {', '.join(known)}" if close else f"known are {', '.join(known)}"


def _is_plain(value: object, kind: Any, origin: Any) -> bool:
    if origin is Literal:
        return any(type(value) is type(each) and value == each for each in get_args(kind))
    if kind is float:
        # A whole number beyond all floats is no number that anything here computes with, nor are infinity and NaN.
        return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) <= sys.float_info.max
    if kind is int:
        return isinstance(value, int) and not isinstance(value, bool)
    if kind is list:
        return isinstance(value, (list, tuple))
    return origin is None and isinstance(value, object if kind is Any else kind)


def child(place: str, key: str) -> str:
    """The place of a member of an object."""
    return f"{place}.{key}" if place else key


def fail(place: str, problem: str) -> NoReturn:
    """Complain about a place.

    Raises:
        MismatchError: always.
    """
    raise MismatchError(place, problem)
