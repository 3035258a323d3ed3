"""The engine of this computer: its devices, a trial before a run, and the ledger of runs."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from isoviz.errors import Cancelled, InputError
from isoviz.runtime import Engine as _Engine

if TYPE_CHECKING:
    from isoviz.backends.devices import ThisComputer
    from isoviz.machines import Machine
    from isoviz.measure.trials.trial import Trial
    from isoviz.planner import Plan
    from isoviz.runtime import CancelToken, Devices, Report
    from isoviz.runtime.engine.progress import ProgressCallback
    from isoviz.runtime.ledger.ledger import Ledger


class Engine(_Engine):
    """An engine with the devices of this computer: `Engine(machine).run(plan)`.

    For the other options see `isoviz.runtime.Engine`.

    Runs on these devices are added to the user's prediction ledger, or to `ledger` (`isoviz.runtime.ledger.ledger`). Runs on
    other devices tell nothing about this computer: they are added only to an explicit `ledger`.

    `run` has a further option, `trial`. True tries a few MiB of the plan just before the run, and the prediction in the report
    uses the result. An existing `Trial` (`isoviz.try_out`) replaces the new one.
    """

    def __init__(self, machine: Machine, devices: Devices | None = None, *, ledger: Ledger | None = None, **options: Any) -> None:
        from isoviz.backends.devices import ThisComputer

        super().__init__(machine, ThisComputer() if devices is None else devices, **options)
        self._ledger = ledger
        self._is_here = type(self.devices) is ThisComputer

    def run(
        self,
        plan: Plan,
        source: Any | None = None,
        destination: Any | None = None,
        *,
        verify: bool = True,
        progress: ProgressCallback | None = None,
        cancel: CancelToken | None = None,
        pipelined: bool = True,
        chunks: int | None = None,
        trial: Trial | bool = False,
    ) -> Report:
        from isoviz.runtime.ledger.ledger import recording

        self._home.require()
        is_predicted = pipelined and chunks is None  # The prediction holds for the whole pipelined plan.
        book = self._ledger or (recording() if self._is_here else None)
        tried = None
        if is_predicted and trial is not False:
            tried = self._tried(plan, source, destination, cancel, book) if trial is True else trial
            if cancel is not None and cancel.is_set():  # The trial just ended early.
                raise Cancelled("cancelled; no destination file was left")
            if tried is not None and tried.plan != plan:
                raise InputError("run: the trial is one of another plan; expected one of the plan that runs")
        report = super().run(
            plan, source, destination, verify=verify, progress=progress, cancel=cancel, pipelined=pipelined, chunks=chunks
        )
        if tried is not None:
            report = replace(report, tried=tried.tried, prediction=tried.prediction)
        return recorded(report, self.machine, book) if is_predicted else report

    def _tried(self, plan: Plan, source: Any, destination: Any, cancel: CancelToken | None, book: Ledger | None) -> Trial | None:
        """A trial of a plan. Errors are ignored here: the run will raise and report them."""
        from isoviz.measure.trials.trial import try_out

        if not self._is_here:
            return None
        room = destination if isinstance(destination, str | Path) else None  # Arrays of the caller stay unchanged.
        with suppress(Exception):
            if not any(self.machine.memory(name).emulated for name in plan.every_memory):
                mine = cast("ThisComputer", self.devices)
                earlier = () if book is None else book.recent()
                return try_out(plan, self.machine, source, room=room, devices=mine, entries=earlier, cancel=cancel)
        return None


def recorded(report: Report, machine: Machine, book: Ledger | None) -> Report:
    """The report with a prediction, after its run was added to the ledger `book`.

    A report without a prediction gets that of the model. An error here does not affect the run: the report is returned unchanged.
    """
    from isoviz.planner.time.spread import spread_prediction
    from isoviz.runtime.ledger.ledger_entry import entry_of

    try:
        found = report if report.prediction is not None else replace(report, prediction=spread_prediction(report.plan, machine))
        if book is not None:
            book.append(entry_of(found, machine))
    except Exception:  # noqa: BLE001  # An error in the ledger must not lose the run.
        return report
    return found
