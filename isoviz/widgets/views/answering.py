"""What a pane alone answers to Python: the value on screen once the last gesture is taken in, or why there is none."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from isoviz import checks
from isoviz.errors import InternalError
from isoviz.widgets.state import is_of_other_transfer

if TYPE_CHECKING:
    from isoviz.widgets.session import Session
    from isoviz.widgets.state import Derived, State

TIMEOUT = 60.0
"""Seconds for which a pane waits for its answer unless the caller says otherwise."""
QUIET = 0.05
"""Seconds without a further gesture before a pane answers."""


def answered(session: Session, ready: Callable[[State], bool], timeout: float | None) -> State:
    """The state of a session once it has taken in the last gesture and is `ready`.

    Raises:
        TimeoutError: it takes longer than `timeout` seconds. InputError: that is no time.
        InternalError: something happened that should not have.
    """
    state = session.until(ready, checks.timeout(timeout), QUIET)
    if state.defect:
        raise InternalError(state.defect.splitlines()[0])
    return state


def why_no_value(derived: Derived, *controls: str) -> str:
    """What keeps a pane from having a value, in words: the problem of one of these controls, else the first there is."""
    problems = {control: each for control, each in derived.problems.items() if not is_of_other_transfer(control)}
    own = [problems[control] for control in controls if control in problems]
    return next((each.words for each in (*own, *problems.values())), "there is no value yet; expected one to be entered")
