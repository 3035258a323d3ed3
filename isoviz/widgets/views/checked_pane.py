"""A single pane with a value for Python; if it has a check, a button judges the value on screen."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import traitlets

from isoviz import checks
from isoviz.errors import InputError, InternalError
from isoviz.widgets.chosen.fixed_parts import FixedParts
from isoviz.widgets.chosen.settings import Settings
from isoviz.widgets.commands.command import CheckAsked, OnScreen
from isoviz.widgets.commands.explorer_commands import Command
from isoviz.widgets.consequences.derive import LAYOUTS
from isoviz.widgets.explorer import Explorer
from isoviz.widgets.session import Session
from isoviz.widgets.state import is_of_other_transfer
from isoviz.widgets.steps import held, to_derive
from isoviz.widgets.views.judging import Found, Judging

if TYPE_CHECKING:
    from isoviz.widgets.contract import ShownEntry
    from isoviz.widgets.state import Derived, State

TIMEOUT = 60.0
"""Seconds for which a pane waits for its answer unless the caller says otherwise."""
QUIET = 0.05
"""Seconds without a further gesture before a pane answers."""


def answered(session: Session, ready: Callable[[State], bool], timeout: float | None) -> State:
    """The state of a session once it has taken in the last gesture and is `ready`.

    Raises:
        TimeoutError: it takes longer than `timeout` seconds. InputError: that is not a time.
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


Check = Callable[[Any], object]
"""What judges a value: it returns something with a `kind` ("right", "wrong", "unread" or "open") whose text is shown."""


class CheckedPane(Explorer):
    """A pane alone that has a value. With a `check`, it shows a button *Check*, which judges the value on screen.

    `check(value)` gets what `answer` returns; it is called in a separate thread. It returns an object with a `kind`: "right",
    "wrong" (not yet right), "unread" (not counted) or "open" (nothing to judge yet). The pane shows the text of that object,
    `str(…)`. If there is no value, the pane says why, and `check` is not called. The parts named by `fixed` cannot be changed.

    `verdict` is that text for as long as it is about the value on screen, else None. It can be observed.
    """

    verdict = traitlets.Unicode(None, allow_none=True, read_only=True, help="what was said of the value on screen, or None")
    checked: Any = traitlets.Any(None, help="what the button has led to, a dict; None where there is none").tag(sync=True)

    _stages: ClassVar[frozenset[str]] = LAYOUTS
    """What is computed of the settings to find the value."""
    _judging: Judging | None = None

    def __init__(
        self,
        session: Session | Settings | None = None,
        *,
        pane: str,
        side: Literal["source", "destination", "both"] = "both",
        check: Check | None = None,
        fixed: FixedParts | None = None,
    ) -> None:
        if check is not None:
            call = f"{type(self).__name__}, check"
            checks.expect_call(call, check, "a function that takes the value on screen and returns a verdict")
        if fixed is None:
            super().__init__(session, pane=pane, side=side)
        elif isinstance(session, Session):
            raise InputError(f"{type(self).__name__}: fixed is about a session of its own; expected none beside a shared one")
        else:
            super().__init__(Session(session, both_ends=side == "both", fixed=fixed), pane=pane, side=side)
            self._owns_session = True
        if check is not None:
            self._judging = Judging(check, self._to_judge, self._stages, lambda: self.session.send({"kind": "hello"}))
            self.before_close(self._judging.close)
            self.before_close(self.session.listen(self._tell_verdict))
            self.checked = self._judging.shown(lambda _: False)

    @property
    def _called(self) -> str:
        """What it is called in messages."""
        return self.pane.replace("-", " ")

    @abstractmethod
    def _found_in(self, derived: Derived) -> Found:
        """The value in what follows from settings."""

    @abstractmethod
    def _shown_of(self, seen: OnScreen) -> object:
        """What the value follows from: it is equal where the same one is on screen."""

    def _to_judge(self, derived: Derived, _entry: ShownEntry | None) -> Found:
        """What the check gets: the value, unless the selected entry is asked for."""
        return self._found_in(derived)

    def _answered(self, ready: Callable[[State], bool], timeout: float | None) -> Any:
        """The value once the last gesture has been taken in and the state is `ready`.

        Raises:
            InputError: there is none; the message says why. TimeoutError: it takes longer than `timeout` seconds.
        """
        state = answered(self.session, ready, timeout)
        found = self._found_in(replace(state.derived, settings=state.settings))
        if found.problem:
            raise InputError(f"{self._called}: {found.problem}")
        return found.value

    def _hold(self, settings: Settings) -> None:
        """Check that settings change nothing that is fixed.

        Raises:
            InputError: they do; the message says what stays.
        """
        fixed = self.session.state.fixed
        if fixed is not None and (broken := fixed.broken_by(settings)):
            raise InputError(f"{self._called}: {broken}")

    # ---- in any thread: what arrives is queued

    def _receive(self, widget: Any, content: Any, buffers: Any) -> None:
        if self._judging is not None and isinstance(content, Mapping) and content.get("kind") == "check":
            self.session.send(content, self._judge_soon)
        else:
            super()._receive(widget, content, buffers)

    # ---- in the thread of the session

    def _judge_soon(self, state: State, command: Command) -> None:
        """Have the check judge what a command carries.

        Raises:
            InputError: that is not what was given.
        """
        judging = self._judging
        if judging is not None and isinstance(command, CheckAsked):
            seen = command.seen(state)
            held(state, replace(state, settings=seen.settings))
            judging.ask(seen, to_derive(state))

    def _tell_verdict(self, _finished: bool) -> None:
        if self._judging is not None:
            told = self._judging.shown(self._is_of(self.session.state))
            self.set_trait("verdict", told["text"] if told["fresh"] else None)

    def _is_of(self, state: State) -> Callable[[OnScreen], bool]:
        """Whether what was seen is what a state has."""
        now = self._shown_of(OnScreen(state.settings, state.selected.selection.shown["entry"]))
        return lambda seen: self._shown_of(seen) == now

    # ---- in the thread of the publisher

    def _told_of(self, state: State) -> dict[str, Any]:
        told = super()._told_of(state)
        if self._judging is None:
            return told
        return {**told, "checked": self._judging.shown(self._is_of(state))}
