"""A plan carried out on this computer: a trial, then the run, verified."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from isoviz.errors import Cancelled
from isoviz.widgets.contract import Stage

if TYPE_CHECKING:
    from isoviz.machines import Machine
    from isoviz.measure.trial import Trial
    from isoviz.planner import Plan
    from isoviz.runtime import Progress, Report

_LOG = logging.getLogger("isoviz")

Tell = Callable[[Stage, int], None]
"""Takes what a run does, and the bytes of its plan that this stage has dealt with."""

Execute = Callable[["Plan", "Machine", Tell, threading.Event], "Report"]


def execute(plan: Plan, machine: Machine, tell: Tell, cancel: threading.Event) -> Report:
    """Carry out a plan with this computer's memories and channels, verified.

    Raises:
        RunError: a hop failed. Cancelled: `cancel` was set.
    """
    from isoviz.measure.local_engine import Engine
    from isoviz.widgets.running.run_devices import RunDevices

    def progress(step: Progress) -> None:
        if step.stage == "move":
            tell("move", step.bytes_done)

    engine = Engine(machine, RunDevices(lambda _, nbytes: tell("verify", nbytes)))
    tell("trial", 0)
    trial = _tried(plan, machine, cancel)
    if cancel.is_set():
        raise Cancelled("cancelled; no destination file was left")
    tell("generate", 0)
    return engine.run(plan, progress=progress, cancel=cancel, trial=trial or False)


def _tried(plan: Plan, machine: Machine, cancel: threading.Event) -> Trial | None:
    """A trial of a plan. Errors are left to the run, which meets them again and reports them."""
    from isoviz.measure.trial import trial

    if any(machine.memory(name).emulated for name in plan.every_memory):
        return None
    try:
        return trial(plan, machine, cancel=cancel)
    except Exception as error:  # noqa: BLE001 - the run meets it again and reports it
        _LOG.info("the trial of a plan failed: %s", error, exc_info=True)
        return None


def kept(report: Report, machine: Machine, origin: str = "run") -> str:
    """Add a run to the user's ledger and return the key of its entry; "" where it is not kept."""
    from isoviz.runtime.ledger.ledger import recording
    from isoviz.runtime.ledger.ledger_entry import entry_of

    book = recording()
    try:
        entry = entry_of(report, machine, origin)
        if book is not None and book.append(entry):
            return entry.key
    except Exception:  # noqa: BLE001 - a ledger that cannot be written must not lose a run
        _LOG.exception("a run could not be added to the ledger")
    return ""
