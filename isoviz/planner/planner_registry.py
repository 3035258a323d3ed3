"""The registry of planners, which other packages may extend.

    >>> def nearest(problem: Problem) -> Plan: ...
    >>> register_planner("nearest", nearest, about="the nearest buffer", meaning="Goes through the nearest buffer.")

Afterwards `plan(transfer, machine, "nearest")`, the options of transfer files and the explorer know the planner by its name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from isoviz import checks
from isoviz.errors import InputError, show

if TYPE_CHECKING:
    from isoviz.planner.plan import Plan


@dataclass(frozen=True, eq=False)
class Planner:
    """A registered planner. `about` describes it in a line for menus, `meaning` in a sentence for the glossary.

    `make` takes a `Problem` (`isoviz.planner.problem`).
    """

    name: str
    make: Callable[[Any], Plan]
    about: str
    meaning: str


_planners: dict[str, Planner] = {}
_about: dict[str, str] = {}
PLANNERS: Mapping[str, str] = MappingProxyType(_about)
"""Names of the planners, each with a line for people."""


def register_planner(name: str, make: Callable[[Any], Plan], *, about: str, meaning: str = "") -> Planner:
    """Register a planner: `make(problem)` returns the plan of `problem.transfer` on `problem.machine` within `problem.options`.

    `problem.part` is the part of the machine to search, with the channels of its networks. The planner may build on other
    planners, as in `plan(problem.transfer, problem.machine, "simple")`, and on `isoviz.planner.plan_of_paths`. `meaning` is a
    sentence of at most 140 characters, by default `about`. If a function of the same name and module is registered again, as when
    a cell runs twice, it replaces the earlier one.

    Raises:
        InputError: the name is not one printable word or belongs to another planner, or `make` cannot be called.
    """
    name = checks.text("planner", "name", name, spaces=False)
    about = checks.text("planner", "about", about)
    checks.expect_call(f"planner {name!r}", make, "a function of a problem")
    checks.expect(f"planner {name!r}, meaning", meaning, str, "a sentence")
    known = _planners.get(name)
    if known is not None and _origin(known.make) != _origin(make):
        raise InputError(f"planner {name!r}: there is another planner of this name; choose another name")
    planner = Planner(name, make, about, meaning or f"{about[:1].upper()}{about[1:]}.")
    _planners[name], _about[name] = planner, about
    return planner


def _origin(make: object) -> tuple[object, object]:
    return getattr(make, "__module__", None), getattr(make, "__qualname__", make)


def registered_planners() -> tuple[Planner, ...]:
    """All planners, in the order in which they were registered."""
    return tuple(_planners.values())


def find_planner(name: object) -> Planner:
    """The planner of a name.

    Raises:
        InputError: there is no such planner.
    """
    planner = _planners.get(name) if isinstance(name, str) else None
    if planner is None:
        raise InputError(f"planner {show(name)}: expected one of {', '.join(_planners)}")
    return planner
