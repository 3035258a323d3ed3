"""What commands make of the state, by kind: pure functions of the state.

Edits of the settings are in `isoviz.widgets.chosen.edits`; what starts and stops threads is in the session.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from isoviz.widgets.chosen.selection import Selection
from isoviz.widgets.chosen.transfers import with_urgent
from isoviz.widgets.chosen.what_if import WhatIf
from isoviz.widgets.commands.machine_steps import machine_edited
from isoviz.widgets.consequences.where_it_runs import local_settings
from isoviz.widgets.running.begin_run import with_note
from isoviz.widgets.state import State
from isoviz.widgets.steps import asking, changed, demanding, keeping, measuring, redone, undone, watching

Step = Callable[[State, Any, str | None, int | None], State]
"""Takes the state, the command, the view that sent it and its number. It may raise an InputError, which refuses the command."""


def _selected(state: State, command: Any, client: str | None, number: int | None) -> State:
    return replace(state, selected=state.selected.then(Selection.of(command["selection"]), client, number))


def _watching(state: State, command: Any, client: str | None, _number: int | None) -> State:
    return demanding(state, watching(state, client, command["views"]))


def _on_this_computer(state: State, _command: Any, _client: str | None, _number: int | None) -> State:
    return changed(state, local_settings(state.settings, state.derived.machine))


def _with_urgent(state: State, _command: Any, _client: str | None, _number: int | None) -> State:
    return changed(state, with_urgent(state.settings, state.derived.plan))


def _question(command: Any) -> WhatIf:
    tried = command["whatIf"]
    question = WhatIf(tuple(tried["bandwidths"].items()), tried["slotLimit"], tuple(tried["sizes"].items()))
    return question if question.changes_nothing else replace(question, moving=command["moving"])


COMMAND_STEPS: dict[str, Step] = {
    "hello": lambda state, *_: state,
    "note": lambda state, command, *_: with_note(state, command["run"], command["note"]),
    "runs": lambda state, *_: state,  # answered like an export
    "export": lambda state, *_: state,  # the publisher answers (isoviz.widgets.commands.answers)
    "trace": lambda state, *_: state,
    "steps": lambda state, *_: state,
    "add-urgent": _with_urgent,
    "select": _selected,
    "watch": _watching,
    "measure": lambda state, *_: measuring(state),
    "forget": lambda state, *_: replace(state, history=()),
    "what-if": lambda state, command, *_: asking(state, _question(command)),
    "keep-what-if": lambda state, *_: keeping(state),
    "undo": lambda state, *_: undone(state),
    "redo": lambda state, *_: redone(state),
    "edit-machine": machine_edited,
    "use-local": _on_this_computer,
}
