"""Settings of a state replaced, undone and redone: pure functions."""

from __future__ import annotations

from dataclasses import replace

from isoviz.widgets.chosen.settings import Settings
from isoviz.widgets.state import State

KEPT_STEPS = 200
"""Settings that undo brings back."""


def changed(state: State, settings: Settings, step: object = None) -> State:
    """The state with other settings, one step further. What was said about the last settings is over, and a run of them is not
    wanted any more. An edit with the same `step` as the one before it goes on with that one, unless `step` is None.
    """
    if settings == state.settings:
        return replace(state, refused=None)
    goes_on = step is not None and step == state.step
    past = state.past if goes_on else (*state.past, state.settings)[-KEPT_STEPS:]
    return _over(replaced(replace(state, past=past, future=(), step=step), settings))


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
    return replace(state, settings=settings, edits=state.edits + 1)


def _over(state: State) -> State:
    return replace(state, notice="", defect="", refused=None, awaited=False)
