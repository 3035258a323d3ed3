"""What is selected in every view of a session: a frozen value."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from isoviz.checks import expect
from isoviz.errors import InputError, show
from isoviz.schema import named
from isoviz.widgets.contract import Selected, ShownSelection

if TYPE_CHECKING:
    from isoviz.layouts import IndexSpace
    from isoviz.planner import Plan


@dataclass(frozen=True)
class Selection:
    """An entry (its index by dimension, and the name of its field), a chunk, a moment, and a stop or a hop of the path.

    None means not selected. `stop`, `hop` and `chunk` count from 0. `time` is in seconds from the start of the transfer.

    Raises:
        InputError: there are both a stop and a hop, an index without a field or a field without an index, a number below 0, or a
            time that is not finite.
    """

    index: Mapping[str, int] | None = None
    field: str | None = None
    chunk: int | None = None
    time: float | None = None
    stop: int | None = None
    hop: int | None = None

    def __post_init__(self) -> None:
        if self.stop is not None and self.hop is not None:
            raise InputError("selection: a stop and a hop; expected at most one of them")
        if self.index is not None:
            expect("selection, index", self.index, Mapping, "a coordinate for each dimension")
        if self.field is not None:
            expect("selection, field", self.field, str, "the name of a field")
        if (self.index is None) != (self.field is None):
            raise InputError("selection: expected an index together with a field, or neither")
        numbers: dict[str, object] = {"chunk": self.chunk, "stop": self.stop, "hop": self.hop, **(self.index or {})}
        for name, number in numbers.items():
            if number is not None and (isinstance(number, bool) or not isinstance(number, int) or number < 0):
                raise InputError(f"selection, {name}: expected a whole number of at least 0, got {show(number)}")
        time: object = self.time
        if time is not None and (
            isinstance(time, bool) or not isinstance(time, int | float) or not abs(time) <= sys.float_info.max
        ):
            raise InputError(f"selection, time: expected seconds, got {show(time)}")

    @classmethod
    def of(cls, shown: ShownSelection) -> Selection:
        """The selection of a command.

        Raises:
            InputError: it is invalid (see the class).
        """
        entry = shown["entry"]
        index, name = (None, None) if entry is None else (dict(entry["index"]), entry["field"])
        return cls(index, name, shown["chunk"], shown["time"], shown["stop"], shown["hop"])

    @property
    def shown(self) -> ShownSelection:
        """The selection as the browser gets it."""
        entry = self.index is not None and self.field is not None
        return {
            "entry": {"index": named(self.index or {}), "field": self.field or ""} if entry else None,
            "chunk": self.chunk,
            "time": self.time,
            "stop": self.stop,
            "hop": self.hop,
        }

    def without_entry(self) -> Selection:
        """The rest of the selection."""
        return replace(self, index=None, field=None)


@dataclass(frozen=True)
class SelectionMade:
    """A selection with its origin: how many were made before it, and the view and the command that made it (None: Python)."""

    selection: Selection = field(default_factory=Selection)
    count: int = 0
    client: str | None = None
    number: int | None = None

    def then(self, selection: Selection, client: str | None = None, number: int | None = None) -> SelectionMade:
        """The next selection; the same one where nothing changes."""
        return self if selection == self.selection else SelectionMade(selection, self.count + 1, client, number)

    @property
    def shown(self) -> Selected:
        """The selection as the browser gets it."""
        return {"selection": self.selection.shown, "count": self.count, "client": self.client, "number": self.number}


def valid_selection(selection: Selection, space: IndexSpace | None, fields: tuple[str, ...], plan: Plan | None) -> Selection:
    """The selection without what is not there any more: an entry of other dimensions, a hop or a chunk that the plan lacks."""
    if selection.index is not None and space is not None and selection.field is not None:
        index = selection.index
        fits = set(index) == set(space) and all(number < space[dim] for dim, number in index.items())
        if not fits or (fields and selection.field not in fields):
            selection = selection.without_entry()
    if plan is not None:
        hops, chunks = len(plan.every_hop), plan.chunk_count
        if selection.hop is not None and selection.hop >= hops:
            selection = replace(selection, hop=None)
        if selection.stop is not None and selection.stop >= hops + len(plan.paths):
            selection = replace(selection, stop=None)
        if selection.chunk is not None and selection.chunk >= chunks:
            selection = replace(selection, chunk=None)
        if selection.time is not None and selection.time < 0:
            selection = replace(selection, time=None)
    return selection
