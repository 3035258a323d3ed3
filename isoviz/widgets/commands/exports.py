"""Exports: the state of a session as files."""

from __future__ import annotations

from isoviz.errors import IsovizError
from isoviz.widgets.commands.command import AskExport
from isoviz.widgets.commands.exported_files import exported_file
from isoviz.widgets.commands.read_command import Sender
from isoviz.widgets.contract import Exported, ExportMessage
from isoviz.widgets.state import State

_OF_SETTINGS: tuple[Exported, ...] = ("session", "python")
"""What follows from the settings alone."""


def is_due(command: AskExport, state: State) -> bool:
    """Whether the state holds all that an export needs."""
    return command.what in _OF_SETTINGS or state.settled


def answer(command: AskExport, sender: Sender, state: State) -> ExportMessage:
    """The file that a command requests; if it cannot be made, a message with the reason."""
    what = command.what
    message: ExportMessage = {"kind": "export", "what": what, "number": sender.number, "name": "", "text": "", "error": ""}
    try:
        name, text = ("isoviz-plan.html", _page(state)) if what == "page" else exported_file(what, state)
    except IsovizError as error:
        return {**message, "error": str(error)}
    except Exception as error:  # noqa: BLE001 - a defect: told where the export was asked for
        return {**message, "error": f"{type(error).__name__}: {error}"}
    return {**message, "name": name, "text": text}


def _page(state: State) -> str:
    from isoviz.widgets.pages.plan_page import state_page  # an explorer is shown without it

    return state_page(state)
