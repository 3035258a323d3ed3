"""Steps of a state: settings replaced, undone and redone, what was computed taken in, a measurement asked for."""

from __future__ import annotations

import itertools
import time
import traceback
from collections.abc import Mapping
from dataclasses import replace
from typing import TypeVar, get_args

from isoviz.errors import InputError
from isoviz.widgets.chosen.machine_choice import PresetMachine
from isoviz.widgets.chosen.selection import valid_selection
from isoviz.widgets.chosen.settings import Settings, TransferSettings
from isoviz.widgets.chosen.what_if import NOTHING, kept
from isoviz.widgets.consequences.layout_stages import FoundLayouts
from isoviz.widgets.contract import Side
from isoviz.widgets.state import Derived, State

T = TypeVar("T", bound=TransferSettings)

KEPT_STEPS = 200
"""Settings that undo brings back."""
PAUSE = 1.0
"""Seconds after which an edit of the same control is a step of its own: what a person did before then is done."""
_measurements = itertools.count(1)
"""Numbers of measurements of this computer, over all sessions."""


def changed(state: State, settings: Settings, step: object = None) -> State:
    """The state with other settings, one step further. What was said about the last settings is over, and a run of them is not
    wanted any more. An edit with the same `step` as the one just before it goes on with that one, unless `step` is None.
    """
    if settings == state.settings:
        return replace(state, refused=None)
    now = time.monotonic()
    goes_on = step is not None and step == state.step and now - state.stepped < PAUSE
    past = state.past if goes_on else (*state.past, state.settings)[-KEPT_STEPS:]
    return _over(replaced(replace(state, past=past, future=(), step=step, stepped=now), settings))


def held(before: State, after: State) -> State:
    """The state `after`, which changes nothing that stays as it was given.

    Raises:
        InputError: it would.
    """
    if after.fixed is not None and after.settings != before.settings and (broken := after.fixed.broken_by(after.settings)):
        raise InputError(broken)
    return after


def undone(state: State) -> State:
    """The state with the settings before the last step."""
    if not state.past:
        return state
    back = replace(state, past=state.past[:-1], future=(*state.future, state.settings), step=None)
    return _over(replaced(back, state.past[-1]))


def redone(state: State) -> State:
    """The state with the settings that were undone last."""
    if not state.future:
        return state
    forth = replace(state, past=(*state.past, state.settings), future=state.future[:-1], step=None)
    return _over(replaced(forth, state.future[-1]))


def replaced(state: State, settings: Settings) -> State:
    """The state with other settings that belong to the same step."""
    return replace(state, settings=settings, what_if=NOTHING, edits=state.edits + 1)


def _over(state: State) -> State:
    return replace(state, notice="", defect="", refused=None, awaited=0)


def to_derive(state: State) -> Derived:
    """What the calculator begins from: what was derived last, with what it is to be of now."""
    last = state.history[0].number if state.history else 0
    return replace(state.derived, settings=state.settings, demanded=state.demanded, measurement=state.measurement, runs=last,
                   what_if=state.what_if, layouts_to_measure=state.layouts_to_measure)  # fmt: skip


def measuring(state: State) -> State:
    """The state in which this computer is measured afresh.

    Raises:
        InputError: the machine is another one.
    """
    choice = state.settings.machine
    if not isinstance(choice, PresetMachine) or not choice.is_this_computer:
        raise InputError(f"measure: the machine is {choice.name!r}; only this computer can be measured")
    options = tuple(option for option in choice.options if option[0] != "measure")
    state = changed(state, replace(state.settings, machine=replace(choice, options=options)))
    return replace(state, measurement=next(_measurements), edits=state.edits + 1)


def measuring_layouts(state: State) -> State:
    """The state in which the best layouts that were found are run on this computer.

    Raises:
        InputError: a run is under way, no layout was found yet, or they cannot run here.
    """
    found: FoundLayouts | None = state.derived.later.get("layout_choice")
    if state.run.active:
        raise InputError("a run is under way: wait for it or cancel it first")
    if found is None or found.choice is None or not found.done:
        raise InputError("find a layout: the search is not over yet; measure its result once it is there")
    if found.reason:
        raise InputError(f"find a layout: {found.reason}")
    return replace(state, layouts_to_measure=found.choice, refused=None, edits=state.edits + 1)


def keeping(state: State) -> State:
    """The state whose settings have the changes that are tried.

    Raises:
        InputError: there is no plan yet, or the changes do not fit the machine.
    """
    machine = state.derived.machine
    if machine is None or not state.planned:
        raise InputError("what if: there is no plan yet for these settings; keep the changes once it is there")
    return changed(state, kept(state.settings, replace(state.what_if, moving=False), machine, state.derived.transfer))


def demanding(before: State, after: State) -> State:
    """The state `after`, one edit further where more is demanded than `before`."""
    return after if after.demanded <= before.demanded else replace(after, edits=after.edits + 1)


def computed(state: State, number: int, result: Derived | Exception, final: bool) -> State:
    """The state with what the calculator found out for the edit `number`; `final` where nothing better follows."""
    if number != state.edits:
        return state
    if isinstance(result, Exception):
        return replace(state, computed=number, derived=replace(state.derived, step="", stale=frozenset({"plan"})),
                       defect=describe(result))  # fmt: skip
    final = final or result.refines
    if final and result.corrections:
        settings = state.settings
        moved = _with_memories(settings, result.corrections)
        moved = replace(moved, beside=tuple(_with_memories(each, result.corrections) for each in settings.beside))
        changes = [_corrected(side, moved, result) for side in get_args(Side) if moved.end(side) != settings.end(side)]
        if moved.beside != settings.beside:
            changes.append("other transfers have moved as well")
        notice = f"The new machine has other memories: {', '.join(changes)}."
        state = replace(state, derived=replace(result, corrections={}), notice=notice)
        return replaced(state, moved)
    state = replace(state, derived=result, computed=number if final else state.computed)
    if not final:
        return state
    fresh = result.plan if "plan" not in result.stale else None
    names = () if result.fields is None else result.fields.names
    kept = valid_selection(state.selected.selection, result.space, names, fresh)
    return replace(state, selected=state.selected.then(kept))


def _with_memories(settings: T, instead: Mapping[str, str]) -> T:
    """The settings with other memories at the ends, by the names of those that were there."""
    for side in get_args(Side):
        end = settings.end(side)
        settings = settings.with_end(side, replace(end, memory=instead.get(end.memory, end.memory)))
    return settings


def _corrected(side: Side, settings: TransferSettings, derived: Derived) -> str:
    """What stands at one end now, in words: "the destination is now GPU memory (node1.fbm0)"."""
    memory = settings.end(side).memory
    words = "" if derived.machine is None else derived.machine.memory(memory).kind.words
    return f"the {side} is now {f'{words} ({memory})' if words else memory}"


def describe(error: Exception) -> str:
    """An exception that should not have happened, for the pane: its name and text, then where it came from."""
    return f"{type(error).__name__}: {error}\n\n" + "".join(traceback.format_exception(error)[-6:])
