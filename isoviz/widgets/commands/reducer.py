"""The reducer: the state and a command in, the state out. Commands that start or stop threads are those of the session."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from isoviz.widgets.chosen.selection import Selection
from isoviz.widgets.chosen.settings import controls
from isoviz.widgets.chosen.transfers import with_urgent
from isoviz.widgets.chosen.what_if import WhatIf
from isoviz.widgets.commands.command import (
    AddUrgent,
    AskExport,
    AskLayouts,
    AskRuns,
    AskSteps,
    AskTrace,
    AskVerdict,
    AskWhatIf,
    Bare,
    ChoosePart,
    Command,
    ConvertAt,
    EditMachine,
    PlanByHand,
    Select,
    SetMachineOption,
    SetRow,
    SetText,
    SetTransfer,
    Watch,
    WriteNote,
)
from isoviz.widgets.commands.edits import edited
from isoviz.widgets.commands.machine_steps import machine_edited
from isoviz.widgets.commands.read_command import Sender
from isoviz.widgets.consequences.where_it_runs import local_settings
from isoviz.widgets.running.begin_run import with_note
from isoviz.widgets.state import State
from isoviz.widgets.steps import (
    asking,
    changed,
    converting,
    demanding,
    keeping,
    measuring,
    measuring_layouts,
    redone,
    undone,
    watching,
)

_MENUS = ("machine", "source-memory", "destination-memory")
"""Controls besides those of text settings in which every choice is a step to undo."""


_OF_THE_STATE: dict[str, Callable[[State], State]] = {
    "hello": lambda state: state,
    "undo": undone,
    "redo": redone,
    "begin-afresh": lambda state: changed(state, state.begun or state.settings),
    "forget": lambda state: replace(state, history=()),
    "measure": measuring,
    "keep-what-if": keeping,
    "measure-layouts": measuring_layouts,
    "stop-measuring-layouts": lambda state: replace(state, layouts_to_measure=None, edits=state.edits + 1),
    "use-local": lambda state: changed(state, local_settings(state.settings, state.derived.machine)),
}
"""Commands without arguments that are about more than the settings."""


def reduce(state: State, command: Command, sender: Sender) -> State:
    """The state after a command.

    Raises:
        InputError: the command cannot be done; it is refused.
    """
    match command:
        case Select(selection=selection):
            return replace(state, selected=state.selected.then(Selection.of(selection), *sender))
        case Watch(views=views):
            return demanding(state, watching(state, sender.client, views))
        case AskWhatIf():
            return asking(state, _question(command))
        case ConvertAt(hop=hop):
            return converting(state, hop)
        case WriteNote(run=run, note=note):
            return with_note(state, run, note)
        case EditMachine(edit=edit):
            return machine_edited(state, edit)
        case AddUrgent():
            return changed(state, with_urgent(state.settings, state.derived.plan))
        case AskExport() | AskTrace() | AskSteps() | AskRuns():  # the publisher answers (isoviz.widgets.commands.answers)
            return state
        case AskVerdict():  # the pane that has the check judges (isoviz.widgets.views.checked_pane)
            return replace(state, refused=None)
        case Bare(kind=kind) if kind in _OF_THE_STATE:
            return _OF_THE_STATE[kind](state)
    settings = edited(state.settings, command)
    return state if settings is None else changed(state, settings, step=step_of(command))


def _question(command: AskWhatIf) -> WhatIf:
    tried = command.what_if
    question = WhatIf(
        bandwidths=tuple(tried["bandwidths"]),
        slot_limit=tried["slotLimit"],
        sizes=tuple(tried["sizes"]),
        reuse=tried["reuse"],
        capacities=tuple(tried["capacities"]),
    )
    return question if question.changes_nothing else replace(question, moving=command.moving)


def step_of(command: Command) -> object:
    """What tells an edit that goes on from one that begins: edits of one control, letter by letter, are one step to undo.

    None where the edit is a step by itself.
    """
    match command:
        case ChoosePart(control=control):
            return "part", control
        case PlanByHand(part=part):
            return ("by-hand", part) if part else None
        case AskLayouts(control=control):
            return ("find-layout", control) if control else None
        case SetText(field=field):
            menu = field in _MENUS or (field in controls() and controls()[field][1].menu)
            return None if menu else field
        case SetRow() | SetMachineOption() | SetTransfer():
            return replace(command, value="")
    return None
