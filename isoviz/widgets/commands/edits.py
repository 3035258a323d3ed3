"""Edits of the settings: settings and a command in, settings out."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from isoviz.errors import FileError, InputError, IsovizError, MachineError
from isoviz.machines import Machine, machine_from_json
from isoviz.schema import parse
from isoviz.widgets.chosen.examples import EXAMPLES
from isoviz.widgets.chosen.machine_choice import DescribedMachine, FileMachine, PresetMachine
from isoviz.widgets.chosen.session_file import settings_in
from isoviz.widgets.chosen.settings import Part, Row, Settings, controls
from isoviz.widgets.chosen.transfers import added, chosen, duplicated, removed, with_transfer
from isoviz.widgets.commands.command import (
    AddRow,
    AskLayouts,
    Bare,
    BeginFrom,
    ChoosePart,
    Command,
    DescribeMachine,
    OneTransfer,
    OpenMachine,
    OpenSession,
    PlanByHand,
    RemoveRow,
    SetMachineOption,
    SetRow,
    SetText,
    SetTransfer,
    TakeLayout,
)

_NAMES = ("x", "y", "z", "w", "u", "v")
"""Names that new dimensions are given."""
_COMPONENT = re.compile(r"(?P<name>[^\W\d]\w*)(?P<rest>\s*(?:=\s*\d*)?)")


def edited(settings: Settings, command: Command) -> Settings | None:
    """The settings after one edit; None where the command is no edit of the settings.

    Raises:
        InputError: an edit of a row or a transfer that is gone, an unknown example, options for a machine that is no preset, no
            description of a machine, a file that holds no machine or no session, one transfer too many, or the only one is to be
            removed.
    """
    match command:
        case SetText() | SetRow() | SetMachineOption() | SetTransfer():
            return _set(settings, command)
        case AddRow() | RemoveRow():
            return _with_other_rows(settings, command)
        case DescribeMachine() | OpenMachine() | OpenSession() | BeginFrom():
            return _opened(settings, command)
        case ChoosePart(part=part):
            return _without_lost_rows(replace(settings, part=Part.of(part.ranges, part.left_out)))
        case PlanByHand(by_hand=by_hand):
            return replace(settings, by_hand=None if by_hand is None else replace(by_hand, name=""))
        case AskLayouts(question=question):
            return replace(settings, layout_question=question)
        case TakeLayout(layout=layout, question=question):
            end = replace(settings.end(question.side), layout=layout, unplanned="")
            return replace(settings.with_end(question.side, end), layout_question=question)
        case OneTransfer(kind=kind, transfer=key):
            return {"edit-transfer": chosen, "copy-transfer": duplicated, "remove-transfer": removed}[kind](settings, key)
        case Bare(kind="swap"):
            return replace(settings, source=settings.destination, destination=settings.source)
        case Bare(kind="add-transfer"):
            return added(settings)
    return None


def _opened(settings: Settings, command: DescribeMachine | OpenMachine | OpenSession | BeginFrom) -> Settings:
    """The settings with a machine, a session or an example in place of what was there."""
    match command:
        case DescribeMachine(machine=described):
            return replace(settings, machine=DescribedMachine(machine_from_json(described)))
        case OpenMachine(name=name, text=text):
            return replace(settings, machine=FileMachine(_machine_in(text, name), name))
        case OpenSession(name=name, text=text):
            return settings_in(text, name)
    example = EXAMPLES.get(command.value)
    if example is None:
        raise InputError(f"example {command.value!r}: expected one of {', '.join(EXAMPLES)}")
    return _with_others(example.settings, settings)


def _set(settings: Settings, command: SetText | SetRow | SetMachineOption | SetTransfer) -> Settings:
    value = command.value
    match command:
        case SetRow():
            return _with_row(settings, command)
        case SetTransfer():
            return with_transfer(settings, command.transfer, **_checked(command.field, value))
        case SetMachineOption(name=name):
            if not isinstance(settings.machine, PresetMachine):
                raise InputError(f"option {name!r}: {settings.machine.name!r} is no preset, and only presets take options")
            return replace(settings, machine=settings.machine.with_option(name, value))
        case SetText(field="machine"):
            return replace(settings, machine=PresetMachine(value), runs_in="")
    if command.field in controls():
        return replace(settings, **_checked(command.field, value))
    side, _, member = command.field.partition("-")
    end = settings.end(side)
    if member == "memory":
        return settings.with_end(side, replace(end, memory=value))
    return settings.with_end(side, replace(end, layout=value, unplanned=""))  # another layout is that of another array


def _checked(field: str, value: str) -> dict[str, Any]:
    """The attribute of the settings that a control enters, with its text."""
    name, control = controls()[field]
    if control.allowed is not None and value not in control.allowed:
        raise InputError(f"{field} {value!r}: expected {', '.join(map(repr, control.allowed))}")
    return {name: value}


def _with_row(settings: Settings, command: SetRow) -> Settings:
    what, _, member = command.field.partition("-")
    rows = settings.dimensions if what == "dimension" else settings.fields
    row = _row(rows, command.row)
    if command.field == "dimension-name":
        return _renamed(settings, row, command.value)
    new = replace(row, name=command.value) if member == "name" else replace(row, value=command.value)
    return replace(settings, **{f"{what}s": _replaced(rows, new)})  # type: ignore[arg-type]  # both are rows


def _with_other_rows(settings: Settings, command: AddRow | RemoveRow) -> Settings:
    """The settings with a row more or less; layouts follow the dimensions."""
    if isinstance(command, AddRow):
        if command.kind == "add-field":
            name = _free_name(settings, ("value",), "f", {row.name for row in settings.fields})
            dtype = settings.fields[-1].value if settings.fields else "float32"
            return replace(settings, fields=(*settings.fields, Row(settings.next_key, name, dtype)))
        name = _free_name(settings, _NAMES, "d", {row.name for row in settings.dimensions})
        longer = replace(settings, dimensions=(*settings.dimensions, Row(settings.next_key, name, "4")))
        return _with_layouts(longer, lambda text: _add_dimension(text, name))
    if command.kind == "remove-field":
        field = _row(settings.fields, command.row)
        return _without_lost_rows(replace(settings, fields=tuple(row for row in settings.fields if row != field)))
    lost = _row(settings.dimensions, command.row)
    shorter = _without_lost_rows(replace(settings, dimensions=tuple(row for row in settings.dimensions if row != lost)))
    return _with_layouts(shorter, lambda text: _remove_dimension(text, lost.in_layouts))


def _machine_in(text: str, name: str) -> Machine:
    """The machine that the text of a file describes."""
    try:
        return machine_from_json(parse(text))
    except MachineError as error:
        raise FileError(f"{name}: {error}") from None


def _renamed(settings: Settings, row: Row, name: str) -> Settings:
    """The settings with a dimension renamed, in the layouts too; an invalid name is not propagated to the layouts."""
    others = {text for other in settings.dimensions if other.key != row.key for text in (other.name, other.in_layouts)}
    good = _is_dimension(name) and name not in others
    new = replace(row, name=name, kept="" if good else row.in_layouts)
    asked = settings.layout_question
    if good and asked is not None:
        settings = replace(settings, layout_question=asked.with_dimension(row.in_layouts, name))
    changed = replace(settings, dimensions=_replaced(settings.dimensions, new))
    return _with_layouts(changed, lambda text: _rename_dimension(text, row.in_layouts, name)) if good else changed


def _is_dimension(name: str) -> bool:
    """Whether a dimension may have that name: F is the field space, and x_in reads as a digit of x."""
    from isoviz.layouts import IndexSpace

    try:
        IndexSpace.of({name: 1})
    except IsovizError:
        return False
    return True


def _row(rows: tuple[Row, ...], key: int) -> Row:
    for row in rows:
        if row.key == key:
            return row
    raise InputError(f"row {key}: it is not there, or not any more")


def _replaced(rows: tuple[Row, ...], new: Row) -> tuple[Row, ...]:
    return tuple(new if row.key == new.key else row for row in rows)


def _free_name(settings: Settings, wanted: tuple[str, ...], stem: str, taken: set[str]) -> str:
    numbered = (f"{stem}{number}" for number in range(settings.next_key + 1))
    return next(name for name in (*wanted, *numbered) if name not in taken)


def _with_layouts(settings: Settings, change: Callable[[str], str]) -> Settings:
    asked = settings.layout_question
    return replace(
        settings,
        source=replace(settings.source, layout=change(settings.source.layout)),
        destination=replace(settings.destination, layout=change(settings.destination.layout)),
        layout_question=None if asked is None else asked.with_layouts(change),
    )


def _without_lost_rows(settings: Settings) -> Settings:
    """The settings with a part that names no removed rows."""
    rows = [row.key for row in settings.dimensions], [row.key for row in settings.fields]
    return replace(settings, part=settings.part.of_rows(*rows))


def _with_others(settings: Settings, now: Settings) -> Settings:
    """Settings that take the place of the transfer that is edited now: the other transfers stay."""
    return replace(
        settings, name=now.name, priority=now.priority, begin=now.begin, key=now.key, place=now.place, beside=now.beside
    )


def _belongs(component: str, dim: str) -> bool:
    """Whether a component is the dimension or one of its digits: `x`, `x_in=4`, `x_2`."""
    match = _COMPONENT.fullmatch(component.strip())
    if match is None:
        return False
    name = match["name"]
    return name == dim or (name.startswith(f"{dim}_") and re.fullmatch(r"in|out|\d+", name[len(dim) + 1 :]) is not None)


def _components(text: str) -> tuple[str, list[str], str]:
    match = re.fullmatch(r"(\s*[<⟨]?\s*)(.*?)(\s*[>⟩]?\s*)", text, re.DOTALL)
    assert match is not None  # every part is optional
    return match[1], [part.strip() for part in match[2].split(",")] if match[2] else [], match[3]


def _add_dimension(text: str, dim: str) -> str:
    """The layout with a further dimension, slowest: `<x, F>` → `<x, F, y>`."""
    opening, parts, closing = _components(text)
    return f"{opening}{', '.join((*parts, dim))}{closing}"


def _remove_dimension(text: str, dim: str) -> str:
    """The layout without the digits of a dimension: `<x_in=4, F, x_out, y>` → `<F, y>`."""
    opening, parts, closing = _components(text)
    return f"{opening}{', '.join(part for part in parts if not _belongs(part, dim))}{closing}"


def _rename_dimension(text: str, old: str, new: str) -> str:
    """The layout with a dimension renamed: `<x_in=4, F, x_out>` → `<row_in=4, F, row_out>`."""
    opening, parts, closing = _components(text)
    return f"{opening}{', '.join(new + part[len(old) :] if _belongs(part, old) else part for part in parts)}{closing}"
