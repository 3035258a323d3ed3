"""Runs of a plan, each in a thread of its own."""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from isoviz.errors import Cancelled, IsovizError
from isoviz.widgets.contract import Stage
from isoviz.widgets.state import Run

if TYPE_CHECKING:
    from isoviz.machines import Machine
    from isoviz.planner import Plan
    from isoviz.runtime import Progress, Report

_TICK = 0.05
"""Seconds between two messages of progress: finer ones could not be seen."""


@dataclass(frozen=True)
class Progressed:
    """A run has come this far: what it does, and the bytes of its plan that have been moved."""

    number: int
    stage: Stage
    bytes_done: int


@dataclass(frozen=True)
class Finished:
    """A run is over, well or not."""

    run: Run


Tell = Callable[[Stage, int], None]
"""Takes what a run does and the bytes of its plan that have been moved."""

Execute = Callable[["Plan", "Machine", Tell, threading.Event], "Report"]


def execute(plan: Plan, machine: Machine, tell: Tell, cancel: threading.Event) -> Report:
    """Carry out a plan with this computer's memories and channels, verified."""
    from isoviz.measure.local_engine import Engine

    def progress(step: Progress) -> None:
        tell("verify" if step.stage == "verify" else "move", step.bytes_done)

    return Engine(machine).run(plan, progress=progress, cancel=cancel, trial=True)


class Runner:
    """Runs one plan at a time and posts `Progressed` and, once for each run, `Finished`."""

    def __init__(self, post: Callable[[Any], None], carry_out: Execute = execute) -> None:
        self._post = post
        self._execute = carry_out
        self._cancel = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self, run: Run, machine: Machine) -> None:
        """Begin; returns at once. `run` has a plan."""
        self._cancel = threading.Event()
        self._thread = threading.Thread(
            target=self._work, args=(run, machine, self._cancel), name=f"isoviz-run-{run.number}", daemon=True
        )
        self._thread.start()

    def cancel(self) -> None:
        """Ask the run in hand to stop."""
        self._cancel.set()

    def close(self, timeout: float = 5.0) -> None:
        """Cancel the run in hand and wait for its thread."""
        self._cancel.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(timeout)

    def _work(self, run: Run, machine: Machine, cancel: threading.Event) -> None:
        assert run.plan is not None
        last = -_TICK
        stage: Stage = "prepare"

        def tell(now: Stage, bytes_done: int) -> None:
            nonlocal last, stage
            moment = time.monotonic()
            if moment - last >= _TICK or now != stage:
                last, stage = moment, now
                self._post(Progressed(run.number, now, bytes_done))

        try:
            report = self._execute(run.plan, machine, tell, cancel)
            over = replace(run, phase="done", bytes_done=run.plan.bytes, report=report)
        except Cancelled:
            over = replace(run, phase="cancelled", error="Cancelled; nothing was left behind.")
        except IsovizError as error:
            over = replace(run, phase="failed", error=str(error))
        except Exception as error:  # noqa: BLE001 - a defect: shown in the pane like a failure, with its kind
            over = replace(run, phase="failed", error=f"{type(error).__name__}: {error}")
        self._post(Finished(over))
        if over.report is None:
            # An error and the frames that it came through hold each other, and with them the arrays of the run.
            gc.collect()
