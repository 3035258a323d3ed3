"""Edits: settings and a command in, settings out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import cast

from isoviz.errors import FileError, InputError, IsovizError, MachineError
from isoviz.json_cursor import parse
from isoviz.machines import Machine, machine_from_json
from isoviz.widgets.chosen.examples import EXAMPLES
from isoviz.widgets.chosen.layout_text import add_dimension, remove_dimension, rename_dimension
from isoviz.widgets.chosen.machine_choice import DescribedMachine, FileMachine, PresetMachine
from isoviz.widgets.chosen.session_file import by_hand_of, settings_in
from isoviz.widgets.chosen.settings import RUNS_IN, Row, Settings
from isoviz.widgets.chosen.transfer_edits import with_others, with_rows_there, with_transfers_edited
from isoviz.widgets.contract import Bare, Command, PlanByHand, SetMachineOption, SetRow, SetText

_NAMES = ("x", "y", "z", "w", "u", "v")
"""Names that new dimensions are given."""


def edited(settings: Settings, command: Command) -> Settings:
    """The settings after one edit; unchanged where the command edits nothing.

    Raises:
        InputError: an edit of a row that is gone, an unknown example, options for a machine that is no preset, no description of
            a machine, or a file that holds no machine or no session.
    """
    others = with_transfers_edited(settings, command)
    return _of_one(settings, command) if others is None else others


def _of_one(settings: Settings, command: Command) -> Settings:
    """The settings after an edit of the transfer or of the machine."""
    match command["kind"]:
        case "set":
            return _set(settings, cast("SetText | SetRow | SetMachineOption", command))
        case "describe-machine":
            return replace(settings, machine=DescribedMachine(machine_from_json(command["machine"])))
        case "open-machine":
            return replace(settings, machine=FileMachine(_machine_in(command["text"], command["name"]), command["name"]))
        case "open-session":
            return settings_in(command["text"], command["name"])
        case "example":
            if (example := EXAMPLES.get(command["value"])) is None:
                raise InputError(f"example {command['value']!r}: expected one of {', '.join(EXAMPLES)}")
            return with_others(example.settings, settings)
        case "add-dimension":
            name = _free_name(settings, _NAMES, "d", {row.name for row in settings.dimensions})
            added = replace(settings, dimensions=(*settings.dimensions, Row(settings.next_key, name, "4")))
            return _with_layouts(added, lambda text: add_dimension(text, name))
        case "add-field":
            name = _free_name(settings, ("value",), "f", {row.name for row in settings.fields})
            dtype = settings.fields[-1].value if settings.fields else "float32"
            return replace(settings, fields=(*settings.fields, Row(settings.next_key, name, dtype)))
        case "remove-dimension":
            row = _row(settings.dimensions, command["row"])
            kept = tuple(other for other in settings.dimensions if other.key != row.key)
            fewer = with_rows_there(replace(settings, dimensions=kept))
            return _with_layouts(fewer, lambda text: remove_dimension(text, row.in_layouts))
        case "remove-field":
            row = _row(settings.fields, command["row"])
            rest = tuple(other for other in settings.fields if other.key != row.key)
            return with_rows_there(replace(settings, fields=rest))
        case "by-hand" | "swap":
            return _as_a_whole(settings, command)
    return settings


def _as_a_whole(settings: Settings, command: PlanByHand | Bare) -> Settings:
    if command["kind"] == "by-hand":
        return replace(settings, by_hand=by_hand_of(command["byHand"]))
    return replace(settings, source=settings.destination, destination=settings.source)


def _machine_in(text: str, name: str) -> Machine:
    """The machine that the text of a file describes."""
    try:
        return machine_from_json(parse(text))
    except MachineError as error:
        raise FileError(f"{name}: {error}") from None


def _set(settings: Settings, command: SetText | SetRow | SetMachineOption) -> Settings:
    value = command["value"]
    match command["field"]:
        case "dimension-name" | "dimension-size" | "field-name" | "field-dtype":
            return _set_row(settings, command)
        case "machine":
            return replace(settings, machine=PresetMachine(value), runs_in="")
        case "machine-option":
            if not isinstance(settings.machine, PresetMachine):
                raise InputError(
                    f"option {command['name']!r}: {settings.machine.name!r} is no preset, and only presets take options"
                )
            return replace(settings, machine=settings.machine.with_option(command["name"], value))
        case "planner":
            return replace(settings, planner=value)
        case "runs-in":
            if value not in RUNS_IN:
                raise InputError(f"runs-in {value!r}: expected {', '.join(map(repr, RUNS_IN))}")
            return replace(settings, runs_in=value)
        case "slot-limit":
            return replace(settings, slot_limit=value)
        case "memory-limit":
            return replace(settings, memory_limit=value)
        case "source-memory" | "destination-memory":
            side = command["field"].partition("-")[0]
            return settings.with_end(side, replace(settings.end(side), memory=value))
        case "source-layout" | "destination-layout":
            side = command["field"].partition("-")[0]
            return settings.with_end(side, replace(settings.end(side), layout=value))


def _set_row(settings: Settings, command: SetRow) -> Settings:
    value = command["value"]
    match command["field"]:
        case "dimension-size":
            row = _row(settings.dimensions, command["row"])
            return replace(settings, dimensions=_replaced(settings.dimensions, replace(row, value=value)))
        case "dimension-name":
            return _renamed(settings, _row(settings.dimensions, command["row"]), value)
        case "field-dtype":
            row = _row(settings.fields, command["row"])
            return replace(settings, fields=_replaced(settings.fields, replace(row, value=value)))
        case "field-name":
            row = _row(settings.fields, command["row"])
            return replace(settings, fields=_replaced(settings.fields, replace(row, name=value)))


def _renamed(settings: Settings, row: Row, name: str) -> Settings:
    """The settings with a dimension renamed, in the layouts too; a name that cannot be is not spread into them."""
    others = {text for other in settings.dimensions if other.key != row.key for text in (other.name, other.in_layouts)}
    good = _is_dimension(name) and name not in others
    new = replace(row, name=name, kept="" if good else row.in_layouts)
    changed = replace(settings, dimensions=_replaced(settings.dimensions, new))
    return _with_layouts(changed, lambda text: rename_dimension(text, row.in_layouts, name)) if good else changed


def _is_dimension(name: str) -> bool:
    """Whether a dimension may have that name: F is the field space, and x_in reads as a digit of x."""
    from isoviz.layouts import IndexSpace

    try:
        IndexSpace.of({name: 1})
    except IsovizError:
        return False
    return True


def _row(found: tuple[Row, ...], key: int) -> Row:
    for row in found:
        if row.key == key:
            return row
    raise InputError(f"row {key}: it is not there, or not any more")


def _replaced(found: tuple[Row, ...], new: Row) -> tuple[Row, ...]:
    return tuple(new if row.key == new.key else row for row in found)


def _free_name(settings: Settings, wanted: tuple[str, ...], stem: str, taken: set[str]) -> str:
    numbered = (f"{stem}{number}" for number in range(settings.next_key + 1))
    return next(name for name in (*wanted, *numbered) if name not in taken)


def _with_layouts(settings: Settings, change: Callable[[str], str]) -> Settings:
    return replace(
        settings,
        source=replace(settings.source, layout=change(settings.source.layout)),
        destination=replace(settings.destination, layout=change(settings.destination.layout)),
    )
