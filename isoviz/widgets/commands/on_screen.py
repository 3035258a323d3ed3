"""The settings that a person saw when a check was asked for: those of the state, with what the command carries."""

from __future__ import annotations

from dataclasses import replace

from isoviz.widgets.chosen.settings import End, Row, Settings
from isoviz.widgets.commands.command import AskVerdict


def on_screen(settings: Settings, command: AskVerdict) -> Settings:
    """The settings with the texts of a command in the place of their own."""
    return replace(
        settings,
        dimensions=tuple(_row(settings, each) for each in command.dimensions),
        fields=command.fields,
        source=_end(settings.source, command.source),
        destination=_end(settings.destination, command.destination),
        by_hand=command.by_hand,
    )


def _row(settings: Settings, shown: Row) -> Row:
    """A dimension with the name that layouts go on with, which the browser does not know."""
    return next((row for row in settings.dimensions if replace(row, kept="") == shown), shown)


def _end(end: End, layout: str) -> End:
    return end if layout == end.layout else replace(end, layout=layout, unplanned="")
