"""Runs of a plan, each in a thread of its own."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from isoviz.errors import Cancelled, IsovizError
from isoviz.units import format_bytes
from isoviz.widgets.state import Run

if TYPE_CHECKING:
    from isoviz.machines import Machine
    from isoviz.planner import Plan
    from isoviz.runtime import Progress, Report

_TICK = 0.05
"""Seconds between two messages of progress: finer ones could not be seen."""

_MOVING = 0.9
"""The share of the bar that belongs to moving; the rest is verification."""


@dataclass(frozen=True)
class Progressed:
    """A run has come this far: a fraction from 0 to 1 and words."""

    number: int
    fraction: float
    text: str


@dataclass(frozen=True)
class Finished:
    """A run is over, well or not."""

    run: Run


Execute = Callable[["Plan", "Machine", Callable[[float, str], None], threading.Event], "Report"]


def execute(plan: Plan, machine: Machine, progress: Callable[[float, str], None], cancel: threading.Event) -> Report:
    """Carry out a plan with this computer's memories and channels, verified."""
    from isoviz.measure.local_engine import Engine

    def tell(step: Progress) -> None:
        if step.stage == "verify":
            progress(_MOVING, "Verifying every byte")
        else:
            done = step.bytes_done / step.bytes if step.bytes else 0.0
            progress(_MOVING * done, f"{format_bytes(step.bytes_done)} of {format_bytes(step.bytes)} moved")

    return Engine(machine).run(plan, progress=tell, cancel=cancel, trial=True)


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

        def progress(fraction: float, text: str) -> None:
            nonlocal last
            now = time.monotonic()
            if now - last >= _TICK or fraction >= _MOVING:
                last = now
                self._post(Progressed(run.number, min(max(fraction, 0.0), 1.0), text))

        try:
            report = self._execute(run.plan, machine, progress, cancel)
            over = replace(run, phase="done", fraction=1.0, text="Finished", report=report)
        except Cancelled:
            over = replace(run, phase="cancelled", text="Cancelled", error="Cancelled; nothing was left behind.")
        except IsovizError as error:
            over = replace(run, phase="failed", text="Failed", error=str(error))
        except Exception as error:  # noqa: BLE001 - a defect: shown in the pane like a failure, with its kind
            over = replace(run, phase="failed", text="Failed", error=f"{type(error).__name__}: {error}")
        self._post(Finished(over))
