"""What an edit of the machine makes of the state: a drawn machine, with both ends of the transfer in step."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar, get_args

from isoviz.errors import InputError
from isoviz.widgets.chosen.machine_choice import DescribedMachine, drawn_machine
from isoviz.widgets.chosen.settings import Settings, TransferSettings
from isoviz.widgets.commands.edited_machine import edited_machine
from isoviz.widgets.commands.machine_edit import MachineEdit, Place
from isoviz.widgets.consequences.chosen_machine import machine_at_once, nearest_memory
from isoviz.widgets.contract import Side
from isoviz.widgets.state import State
from isoviz.widgets.steps import changed

if TYPE_CHECKING:
    from isoviz.machines import Machine

T = TypeVar("T", bound=TransferSettings)


def machine_edited(state: State, edit: MachineEdit) -> State:
    """The state after an edit of the machine.

    Raises:
        InputError: the edit cannot be, or the machine is still being made.
    """
    before = machine_in_hand(state)
    result = edited_machine(before, edit)
    if result.machine == before:
        return replace(state, refused=None)
    settings, moved = _with_ends(state.settings, before, result.machine, result.renamed)
    machine = result.machine if edit.do == "new" else drawn_machine(state.settings.machine, before, result.machine)
    settings = replace(settings, machine=DescribedMachine(machine))
    after = changed(state, settings, step=_step_of(edit))
    return replace(after, notice=moved) if moved else after


def machine_in_hand(state: State) -> Machine:
    """The machine that is chosen.

    Raises:
        InputError: it is not made yet.
    """
    choice = state.settings.machine
    if isinstance(choice, DescribedMachine):
        return choice.machine
    kept = state.derived.kept.get("machine")
    if kept is not None and kept.inputs == (choice, state.measurement) and kept.value is not None:
        return kept.value  # type: ignore[no-any-return]  # the value of that stage is a machine
    found = machine_at_once(choice)
    if found is None:
        raise InputError("The machine is still being made or measured: edit it once it is there.")
    return found


def _with_ends(settings: Settings, before: Machine, after: Machine, renamed: tuple[str, str] | None) -> tuple[Settings, str]:
    """The settings with ends that are memories of the edited machine, in every transfer, and a notice on ends that changed."""
    one, moved = _one_with_ends(settings, before, after, renamed)
    others = [_one_with_ends(each, before, after, renamed) for each in settings.beside]
    changes = [*moved, *(f"{each.name}: {words}" for each, rest in others for words in rest)]
    one = replace(one, beside=tuple(each for each, _ in others))
    return one, f"The memory is gone: {', '.join(changes)}." if changes else ""


def _one_with_ends(settings: T, before: Machine, after: Machine, renamed: tuple[str, str] | None) -> tuple[T, list[str]]:
    memory_names = {memory.name for memory in after.memories}
    had = {memory.name for memory in before.memories}
    moved = []
    for side in get_args(Side):
        end = settings.end(side)
        if renamed is not None and end.memory == renamed[0]:
            settings = settings.with_end(side, replace(end, memory=renamed[1]))
        elif end.memory not in memory_names and end.memory in had:
            name = nearest_memory(end.memory, before, after)
            settings = settings.with_end(side, replace(end, memory=name))
            moved.append(f"the {side} is now {after.memory(name).kind.words} ({name})")
    return _with_path(settings, before, after), moved


def _with_path(settings: T, before: Machine, after: Machine) -> T:
    """Settings whose path by hand has the new names of channels that were renamed."""
    by_hand = settings.by_hand
    if by_hand is None or len(before.channels) != len(after.channels):
        return settings
    renamed = {old.name: new.name for old, new in zip(before.channels, after.channels, strict=True)}
    path = tuple(renamed.get(name, name) for name in by_hand.path)
    return settings if path == by_hand.path else replace(settings, by_hand=replace(by_hand, path=path))


def _step_of(edit: MachineEdit) -> object:
    """What tells an edit that goes on with the one before: a memory that is moved by a key, press by press."""
    return ("place", *dict(edit.positions)) if isinstance(edit, Place) and edit.goes_on else None
