"""How a pane registers itself: its name, what it shows, and what its views demand.

A pane is one module of this folder, `<name>_pane.py`. It has a typed dictionary with what the browser needs (numbers, not words)
and a function that returns it, decorated with `pane`. The rest follows: the trait `part_<name>` of the widget, the views that
`explore(pane=…)` takes, and the browser's types (`python widgets/generate.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple, TypeVar

from isoviz.errors import InternalError
from isoviz.widgets.state import State

MakePart = Callable[[State], Mapping[str, object] | None]
Returned = TypeVar("Returned", bound=MakePart)


class Pane(NamedTuple):
    """A registered pane. `about` says in a few words what it shows; `part(state)` is what the browser gets of it."""

    name: str
    about: str
    part: MakePart


registered_panes: dict[str, Pane] = {}
"""Panes by name. `isoviz.widgets.panes.pane_table` loads all of them."""
registered_views: dict[str, frozenset[str]] = {}
"""The stages that a view demands, by the name of the view. A pane may have several views, or none of its own."""


def pane(name: str, about: str, views: Mapping[str, Iterable[str]] | None = None) -> Callable[[Returned], Returned]:
    """Register a pane; decorates the function `part(state)`.

    `part` returns the typed dictionary for the browser, or None where there is nothing to show yet. It is called with every
    snapshot, so it must cache what costs. `views` are the views that the pane offers, each with the stages that it demands
    (`isoviz.widgets.consequences.derive`).

    Raises:
        InternalError: another pane or view has the name.
    """

    def register(part: Returned) -> Returned:
        taken = sorted(({name} & registered_panes.keys()) | ((views or {}).keys() & registered_views.keys()))
        if taken:
            raise InternalError(f"pane {name!r}: there is another pane or view called {taken[0]!r}")
        registered_panes[name] = Pane(name, about, part)
        registered_views.update({view: frozenset(stages) for view, stages in (views or {}).items()})
        return part

    return register
