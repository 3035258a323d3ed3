"""The messages to the thread of a session: from views, from callers, and from the threads that compute, run and keep ranks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from isoviz.widgets.chosen.selection import Selection
from isoviz.widgets.chosen.settings import Settings
from isoviz.widgets.commands.explorer_commands import Command
from isoviz.widgets.running.rank_keeper import RanksChanged
from isoviz.widgets.running.run_thread import Finished, Progressed
from isoviz.widgets.state import Derived, State


@dataclass(frozen=True)
class Asked:
    """What a view or a caller asks for, as it came. Unless it is refused, `then` is called with the state after it."""

    content: object
    then: Callable[[State, Command], None] | None = None


@dataclass(frozen=True)
class Computed:
    """What the calculator found out."""

    number: int
    result: Derived | Exception
    final: bool


@dataclass(frozen=True)
class Chosen:
    """New settings as a whole, with a notice."""

    settings: Settings
    notice: str


@dataclass(frozen=True)
class Demanded:
    """The stages that views ask for."""

    stages: frozenset[str]


@dataclass(frozen=True)
class SelectedHere:
    """A selection that Python made."""

    selection: Selection


@dataclass(frozen=True)
class Broken:
    """What an observer of the session raised."""

    error: Exception


Told = Asked | Computed | Chosen | Demanded | SelectedHere | Broken | Progressed | Finished | RanksChanged
