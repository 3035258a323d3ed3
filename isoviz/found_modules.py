"""Modules that are found by listing their folder, so that a new module needs no change of another file."""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Hashable, Mapping, Sequence
from importlib import import_module
from types import ModuleType
from typing import Generic, TypeVar

from isoviz.errors import InternalError

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


def modules_of(package: str, first: Sequence[str] = (), ending: str = "") -> tuple[ModuleType, ...]:
    """The modules of a package, which are imported: those named in `first` in that order, then by name those with this ending."""
    listed = (module.name for module in pkgutil.iter_modules(import_module(package).__path__))
    names = sorted(name for name in listed if name.endswith(ending))
    return tuple(import_module(f"{package}.{name}") for name in [*first, *(each for each in names if each not in first)])


def constants(modules: Sequence[ModuleType], kind: type) -> dict[str, object]:
    """The constants of modules that are of a kind, by their names."""
    return {name: value for module in modules for name, value in vars(module).items() if name.isupper() and type(value) is kind}


class FoundTable(Generic[Key, Value]):
    """What the modules of a package say of keys, such as kinds. They are imported when the table is first read."""

    def __init__(self, package: str) -> None:
        self._package = package
        self._found: dict[Key, Value] = {}
        self._is_whole = False

    def marking(self, *keys: Key) -> Callable[[Value], Value]:
        """A decorator: what stands below it is the value of some keys.

        Raises:
            InternalError: a key has a value already.
        """

        def mark(value: Value) -> Value:
            for key in keys:
                if self._found.setdefault(key, value) is not value:
                    raise InternalError(f"{self._package}: {key} is there twice; expected one module to add it")
            return value

        return mark

    def read(self) -> Mapping[Key, Value]:
        """All of it."""
        if not self._is_whole:
            modules_of(self._package)
            self._is_whole = True
        return self._found
