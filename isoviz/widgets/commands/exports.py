"""Exports: the state of a session as files of its own kinds."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from isoviz.errors import IsovizError
from isoviz.widgets.chosen.python_text import python_text
from isoviz.widgets.chosen.session_file import session_text
from isoviz.widgets.commands.reading import envelope
from isoviz.widgets.contract import Exported, ExportMessage
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
        name, text = exported(what, state)
    except IsovizError as error:
        return {**found, "error": str(error)}
    except Exception as error:  # noqa: BLE001 - a defect: told where the export was asked for
        return {**found, "error": f"{type(error).__name__}: {error}"}
    return {**found, "name": name, "text": text}


def exported(what: Exported, state: State) -> tuple[str, str]:
    """The name of a file and its text.

    Raises:
        InputError: there is no plan, or no machine.
    """
    from isoviz.errors import InputError
    from isoviz.json_cursor import format_json

    derived = state.derived
    if what == "session":
        return "isoviz-session.json", session_text(state.settings)
    if what == "python":
        return "isoviz-session.py", python_text(state.settings)
    if what == "machine":
        if derived.machine is None:
            raise InputError("There is no machine to export.")
        from isoviz.machines import machine_to_json

        return f"{_file_name(derived.machine.name)}.json", format_json(machine_to_json(derived.machine)) + "\n"
    plan, machine = derived.plan, derived.planned_on
    if plan is None or machine is None or "plan" in derived.stale:
        raise InputError("There is no plan to export.")
    if what == "plan":
        from isoviz.planner import plan_to_json

        return "isoviz-plan.json", format_json(plan_to_json(plan)) + "\n"
    from isoviz.figures import page

    report = state.run.report
    return "isoviz-plan.html", page(plan, machine, report if report is not None and report.plan == plan else None)


def _file_name(name: str) -> str:
    """A name that every file system takes."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.")[:80] or "machine"
