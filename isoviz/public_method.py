"""Methods of values whose code lies on a higher floor: `plan.simulate()` is `isoviz.simulate(plan)`."""

from __future__ import annotations

from importlib import import_module
from types import MethodType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


class PublicMethod:
    """A method of a value that is the public function of a module, by default the one of the same name in `isoviz`; the value is
    its first argument. With `of_class` it is a function of the class that makes such a value, as `Plan.from_json(data)`.

    A value does not import the code that explains it, tells it or runs it. That code is loaded when the method is first used.
    """

    def __init__(self, module: str = "isoviz", name: str = "", *, of_class: bool = False) -> None:
        self._module = module
        self._name = name
        self._of_class = of_class

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = self._name or name

    def __get__(self, value: object | None, owner: type | None = None) -> Callable[..., Any]:
        function: Callable[..., Any] = getattr(import_module(self._module), self._name)
        return function if value is None or self._of_class else MethodType(function, value)
