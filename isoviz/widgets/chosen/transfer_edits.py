"""Edits of what moves, and of the list of transfers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from isoviz.widgets.chosen.part import Part, Range
from isoviz.widgets.chosen.settings import Settings
from isoviz.widgets.chosen.transfers import added, chosen, duplicated, removed, with_transfer
from isoviz.widgets.contract import Command

_TEXTS = {"transfer-name": "name", "transfer-priority": "priority", "transfer-begin": "begin"}
"""The texts of a transfer, by what a command calls them."""


def with_transfers_edited(settings: Settings, command: Command) -> Settings | None:
    """The settings after an edit of what moves or of the list of transfers; None where the command is none.

    Raises:
        InputError: a transfer that is not there, one too many, or the only one is to be removed.
    """
    match command["kind"]:
        case "part":
            part = command["part"]
            return with_rows_there(replace(settings, part=Part.of((Range(**each) for each in part["ranges"]), part["leftOut"])))
        case "add-transfer":
            return added(settings)
        case "edit-transfer":
            return chosen(settings, command["transfer"])
        case "copy-transfer":
            return duplicated(settings, command["transfer"])
        case "remove-transfer":
            return removed(settings, command["transfer"])
    texts: Any = command
    if command["kind"] == "set" and texts["field"] in _TEXTS:
        return with_transfer(settings, texts["transfer"], **{_TEXTS[texts["field"]]: texts["value"]})
    return None


def with_rows_there(settings: Settings) -> Settings:
    """The settings with a part that says nothing of rows that are gone."""
    rows = [row.key for row in settings.dimensions], [row.key for row in settings.fields]
    return replace(settings, part=settings.part.of_rows(*rows))


def with_others(settings: Settings, now: Settings) -> Settings:
    """Settings that take the place of the transfer that is edited now: the other transfers stay."""
    return replace(
        settings, name=now.name, priority=now.priority, begin=now.begin, key=now.key, place=now.place, beside=now.beside
    )
