"""A run as it begins, and the notes that people write to runs."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime

from isoviz.errors import FileError, InputError, show
from isoviz.widgets.consequences.run_places import RANKS
from isoviz.widgets.state import MovedTransfer, Run, State

MOST_REPEATS = 100
"""Runs of one click."""
OF_SESSION = "run "
"""What the names of a session's own runs begin with; earlier runs are named by their keys in the ledger."""


def checked_times(times: int) -> int:
    """A number of runs.

    Raises:
        InputError: it cannot be.
    """
    if not 1 <= times <= MOST_REPEATS:
        raise InputError(f"repeat: {show(times)} runs; expected 1 to {MOST_REPEATS}")
    return times


def new_run(state: State, times: int, transfer_text: str) -> Run:
    """The run of what is planned now, `times` (`checked_times`) in a row."""
    derived, settings = state.derived, state.settings
    assert derived.plan is not None
    assert derived.where is not None
    place = derived.where.place
    transfers: list[MovedTransfer] = []
    if derived.beside:
        transfers = [
            MovedTransfer(each.key, each.name, each.plan, each.begin) for each in derived.beside if each.plan is not None
        ]
        transfers.insert(settings.place, MovedTransfer(settings.key, settings.name, derived.plan, derived.begin, is_edited=True))
    return Run(
        state.run.number + 1,
        phase="running",
        plan=derived.plan,
        transfer_text=transfer_text,
        name=settings.name,
        wanted=times,
        transfers=tuple(transfers),
        settings=settings,
        machine=derived.machine,
        ranks=0 if place is None else place.ranks if place.name == RANKS else 0,
        date=datetime.now(UTC).isoformat(timespec="milliseconds"),
    )


def with_note(state: State, name: str, note: str) -> State:
    """The state with a note to a run, which is kept beside the ledger as well.

    Raises:
        InputError: there is no such run, or the note cannot be kept.
    """
    from isoviz.runtime.ledger.ledger import LONGEST_NOTE, ledger, write_note

    note = note[:LONGEST_NOTE]
    keys: tuple[str, ...] = (name,)
    if name.startswith(OF_SESSION):
        runs = [run for run in state.history if name == f"{OF_SESSION}{run.number}"]
        if not runs:
            raise InputError(f"{name}: it is not there, or not any more")
        keys = tuple(key for key in runs[0].keys if key)
        history = tuple(replace(run, note=note) if run is runs[0] else run for run in state.history)
        run = replace(state.run, note=note) if state.run.number == runs[0].number else state.run
        state = replace(state, history=history, run=run)
    elif not re.fullmatch("[0-9a-f]{24}", name):
        raise InputError(f"{show(name)}: no run has such a name")
    book = ledger()
    if book is not None and keys:
        try:
            write_note(book.notes, keys, note)
        except FileError as error:
            raise InputError(str(error)) from None
    return replace(state, notes=state.notes + 1, refused=None)
