"""The machine editor alone in a notebook, bound to a machine in both directions.

editor = isoviz.MachineEditor("two-node")
editor
"""

from __future__ import annotations

import itertools
import threading
import uuid
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import traitlets

from isoviz.errors import InputError, IsovizError, show
from isoviz.machines import Machine, MachineLike, machine_argument
from isoviz.machines.edits.memory_edits import new_machine
from isoviz.widgets.chosen.fixed_parts import FixedParts, given_part_that_differs
from isoviz.widgets.chosen.machine_choice import DescribedMachine, MachineChoice, PresetMachine, machine_choice
from isoviz.widgets.chosen.settings import Settings
from isoviz.widgets.commands.command import OnScreen
from isoviz.widgets.consequences.chosen_machine import machine_at_once
from isoviz.widgets.consequences.derive import LAYOUTS
from isoviz.widgets.explorer import Explorer
from isoviz.widgets.session import Session
from isoviz.widgets.views.checked_pane import TIMEOUT, Check, CheckedPane, why_no_value
from isoviz.widgets.views.judging import Found

if TYPE_CHECKING:
    from isoviz.widgets.state import Derived, State


def _has_machine(state: State) -> bool:
    """Whether it is known which machine was chosen."""
    return isinstance(state.settings.machine, DescribedMachine) or state.settled


def _faults(derived: Derived) -> list[str]:
    """The controls of the machine with which something is wrong."""
    return [control for control in derived.problems if control.partition(":")[0] in ("machine", "machine-option")]


def _given(fixed: bool | MachineLike, choice: MachineChoice) -> Machine | None:
    """The machine whose parts stay; None where all of them may change.

    Raises:
        InputError: `fixed` is not a machine, or one with other parts than the machine that is chosen. MachineError, FileError:
            there is no preset of that name, or the file describes no machine.
    """
    if fixed is False:
        return None
    chosen = choice.machine if isinstance(choice, DescribedMachine) else machine_at_once(choice)
    if chosen is None:
        raise InputError(
            "MachineEditor, fixed: this computer is not measured yet; expected a machine, such as isoviz.probe() returns"
        )
    if fixed is True:
        return chosen
    given = machine_argument("MachineEditor, fixed", fixed)
    if lost := given_part_that_differs(given, chosen):
        raise InputError(f"MachineEditor, fixed: {lost} is not part of the machine {chosen.name!r} as it is in {given.name!r}")
    return given


class MachineEditor(CheckedPane):
    """The editor of a machine: a drawing whose memories and channels can be added, connected, moved and changed, and a `value`.

        editor = isoviz.MachineEditor("two-node")
        editor

    - `machine`: a `Machine`, the name of a preset, or the path of a machine file; without it, a machine with one memory.
    - `session`: the session of an explorer, or the explorer itself; the editor then edits its machine.

    `editor.value` is an `isoviz.Machine`. It can be observed, and set to anything that `machine` accepts. It is None until this
    computer is measured, and if there is no such preset. `editor.problem` says what was refused last. Observers are called in the
    thread that caused the change. `editor.answer()` waits for the machine of the last gesture.

    With `check`, a function that takes the machine, the editor has a button *Check* that judges the machine on screen
    (`isoviz.widgets.views.checked_pane.CheckedPane` says what the function returns). `editor.verdict` is the verdict on that
    machine. With `fixed=True` the present memories, channels and shared resources cannot be changed, but others can be added. If
    `fixed` is a machine, its parts cannot be changed.

    `close` ends the view. A session that the view made itself ends, too.

    Raises:
        InputError: the machine is none of these. FileError, MachineError: the file holds no machine.
    """

    value = traitlets.Any(None, allow_none=True, help="the machine: an isoviz.Machine; may be set")
    problem = traitlets.Unicode("", help='why the last edit was refused; "" where it was not')
    _unfollow: Callable[[], None] | None = None

    _stages = LAYOUTS | {"machine", "memories"}

    def __init__(
        self,
        machine: MachineLike | MachineChoice | None = None,
        *,
        session: Session | Explorer | None = None,
        check: Check | None = None,
        fixed: bool | MachineLike = False,
    ) -> None:
        if isinstance(session, Explorer):
            session = session.session
        choice = None if machine is None else machine_choice(machine)
        self._client = f"python-{uuid.uuid4().hex}"
        self._numbers = itertools.count(1)
        self._newest = 0
        self._told = threading.local()
        own = Settings(machine=choice or DescribedMachine(new_machine()))
        given = _given(fixed, own.machine)
        held = None if given is None else FixedParts(own, given=given)
        super().__init__(session if isinstance(session, Session) else own, pane="machine", check=check, fixed=held)
        if isinstance(session, Session) and choice is not None:
            self._choose(choice)
        with suppress(IsovizError):  # what is wrong with a preset is told where it is planned
            if isinstance(choice, PresetMachine) and (made := machine_at_once(choice)) is not None:
                self._tell(made)
        self._unfollow = self.session.listen(self._follow)
        self._follow(True)  # what changed before `listen`

    def answer(self, timeout: float | None = TIMEOUT) -> Machine:
        """The machine on screen, after all gestures that the browser has sent. It does not have edits that were refused.

        Raises:
            InputError: there is no such machine; the message says why. TimeoutError: it takes longer than `timeout` seconds.
        """
        machine: Machine = self._answered(_has_machine, timeout)
        return machine

    def _found_in(self, derived: Derived) -> Found:
        choice = derived.settings.machine
        if isinstance(choice, DescribedMachine):
            return Found(choice.machine)
        faults = _faults(derived)
        if derived.machine is None or faults:
            return Found(None, why_no_value(derived, *faults))
        return Found(derived.machine)

    def _shown_of(self, seen: OnScreen) -> object:
        choice = seen.settings.machine
        return choice.machine.undrawn if isinstance(choice, DescribedMachine) else choice

    @property
    def _called(self) -> str:
        return "machine editor"

    def close(self) -> None:
        """Take the view off the page and stop its threads. A session that the view made itself ends, too."""
        if self._unfollow is not None:
            self._unfollow()
        super().close()

    def __repr__(self) -> str:
        return f"<isoviz machine editor: {self.value}>"

    # ---- from Python to the session

    @traitlets.validate("value")
    def _checked(self, proposal: Any) -> Machine | None:
        given: object = proposal["value"]
        if getattr(self._told, "now", False):
            return given if isinstance(given, Machine) else None
        try:
            choice = machine_choice(given)
        except InputError as error:
            raise traitlets.TraitError(f"value: expected a Machine, the name of a preset or a path, got {show(given)}") from error
        self._choose(choice)
        return choice.machine if isinstance(choice, DescribedMachine) else self.value

    def _choose(self, choice: MachineChoice) -> None:
        """Choose a machine. What the session says is not heard until it has this one."""
        settings = replace(self.session.settings, machine=choice)
        self._hold(settings)
        self._newest = next(self._numbers)
        self.session.choose(settings)
        self.session.send({"kind": "hello", "client": self._client, "number": self._newest})

    # ---- from the session to Python, in the thread of the session

    def _tell(self, machine: Machine | None) -> None:
        """Let the value be what the session has."""
        before, self._told.now = getattr(self._told, "now", False), True
        try:
            self.value = machine
        finally:
            self._told.now = before

    def _follow(self, _finished: bool) -> None:
        state: State = self.session.state
        if state.acknowledged.get(self._client, 0) < self._newest:
            return
        choice = state.settings.machine
        refused = state.refused
        self.problem = refused.message if refused is not None and refused.kind == "edit-machine" else ""
        if isinstance(choice, DescribedMachine):
            self._tell(choice.machine)
        elif state.settled and state.derived.settings.machine == choice and "machine" not in state.derived.problems:
            self._tell(state.derived.machine)
