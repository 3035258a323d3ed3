"""Experiments of a paper as declarations: `@experiment("figure 9", …)` on a function of the assumptions."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Generic, ParamSpec, TypeVar

from isoviz.document import Section
from isoviz.errors import InputError
from isoviz.reproduce.assumption import Depends
from isoviz.reproduce.claim import Claim, Statement
from isoviz.reproduce.plots import Shown

P = ParamSpec("P")
Found = TypeVar("Found")


@dataclass(frozen=True, eq=False)
class Experiment(Generic[P, Found]):
    """An experiment; see `experiment`. It is called as its function."""

    name: str
    title: str
    run: Callable[P, Found]
    place: str
    claims: Sequence[Claim]
    shows: Sequence[Shown]
    depends: Sequence[Depends]
    quick: Mapping[str, Any]
    data: Callable[[Any], Mapping[str, Any]]

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Found:
        """What it finds."""
        return self.run(*args, **kwargs)

    def statements(self, found: Any, *, quick: bool) -> list[Statement]:
        """Its claims beside what it found."""
        return [claim.beside(found, self.place) for claim in self.claims if not (quick and claim.full)]

    def section(self, found: Any) -> Section:
        """What it shows, and its data."""
        heading = f"{self.name[:1].upper()}{self.name[1:]}: {self.title}"
        parts = [part for each in self.shows for part in each(found, self.name.replace(" ", ""), heading)]
        return Section(heading, parts, self.data(found))

    def further(self, name: str, title: str, **declared: Any) -> Experiment[P, Found]:
        """Another figure of what the same function finds: arguments as of `experiment`, without `quick` and `data`."""
        return experiment(name, title, quick=self.quick, data=lambda _: {}, **declared)(self.run)


def experiment(
    name: str,
    title: str,
    *,
    section: str = "",
    claims: Sequence[Claim] = (),
    shows: Sequence[Shown] = (),
    depends: Sequence[Depends] = (),
    quick: Mapping[str, Any] | None = None,
    data: Callable[[Any], Mapping[str, Any]] | None = None,
) -> Callable[[Callable[P, Found]], Experiment[P, Found]]:
    """Declare that a function is an experiment of a paper. It gets the assumptions, and returns what programs read: rows, each a
    dictionary, or several lists of rows by name.

    - `name`: the figure or table of the paper, such as "figure 9"; pages have experiments in the order of these. `title`: what it
      is about. `section`: the section of the paper.
    - `claims`: claims of the paper about the result. `shows`: the plots and tables (`isoviz.reproduce.plots`).
    - `depends`: the figures that depend on assumptions.
    - `quick`: further arguments of the function in a quick run, such as fewer sizes.
    - `data`: the JSON data, by key; by default the result, under the name without its space.
    """
    key, place = name.replace(" ", ""), f"{section}, {name}" if section else name

    def declared(run: Callable[P, Found]) -> Experiment[P, Found]:
        shaped = data or (lambda found: {key: found})
        return Experiment(name, title, run, place, claims, shows, depends, quick or {}, shaped)

    return declared


def experiments_of(module: ModuleType) -> list[Experiment[..., Any]]:
    """The experiments that a module declares, or all modules of a package, in the order of their names: figure 9, figure 10.

    Raises:
        InputError: two of them have one name.
    """
    modules = [module]
    if hasattr(module, "__path__"):
        modules += [importlib.import_module(each.name) for each in pkgutil.walk_packages(module.__path__, f"{module.__name__}.")]
    found: dict[str, Experiment[..., Any]] = {}
    for each in modules:
        for value in vars(each).values():
            declared = isinstance(value, Experiment) and value.run.__module__ == each.__name__
            if declared and value is not found.setdefault(value.name, value):
                raise InputError(f"{each.__name__}: two experiments are called {value.name!r}; give each a name of its own")
    return [found[name] for name in sorted(found, key=_in_order)]


def _in_order(name: str) -> list[tuple[str, int]]:
    """Figures of a name in numbers: "figure 9" before "figure 10"."""
    return [(words, int(number or 0)) for words, number in re.findall(r"([^0-9]*)([0-9]*)", name)]
