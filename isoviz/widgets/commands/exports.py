"""Exports: the state of a session as files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from isoviz.errors import IsovizError
from isoviz.widgets.commands.exported_files import exported_file
from isoviz.widgets.commands.reading import envelope
from isoviz.widgets.contract import Exported, ExportMessage
from isoviz.widgets.pages.plan_page import state_page
from isoviz.widgets.state import State

_OF_SETTINGS: tuple[Exported, ...] = ("session", "python")
"""What follows from the settings alone."""


def is_due(asked: Mapping[str, Any], state: State) -> bool:
    """Whether the state holds all that an export needs."""
    return asked["what"] in _OF_SETTINGS or state.settled


def answer(asked: Mapping[str, Any], state: State) -> ExportMessage:
    """The export that a command asks for, or why there is none."""
    what: Exported = asked["what"]
    found: ExportMessage = {"kind": "export", "what": what, "number": envelope(asked)[1], "name": "", "text": "", "error": ""}
    try:
        name, text = ("isoviz-plan.html", state_page(state)) if what == "page" else exported_file(what, state)
    except IsovizError as error:
        return {**found, "error": str(error)}
    except Exception as error:  # noqa: BLE001 - a defect: told where the export was asked for
        return {**found, "error": f"{type(error).__name__}: {error}"}
    return {**found, "name": name, "text": text}
