"""The engine of this computer: its devices, a trial before a run, and the ledger of runs."""

from __future__ import annotations

import logging
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from isoviz import checks
from isoviz.checks import expect
from isoviz.errors import Cancelled, InputError, IsovizError, in_words
from isoviz.machines import machine_argument
from isoviz.planner import LayoutChoice, Plan, machine_of, plan
from isoviz.runtime import BaseEngine
from isoviz.units import format_seconds

if TYPE_CHECKING:
    from isoviz.backends.devices import ThisComputer
    from isoviz.machines import Machine, MachineLike
    from isoviz.measure.trial import Trial
    from isoviz.planner import RankedLayout
    from isoviz.runtime import CancelToken, Devices, Report
    from isoviz.runtime.engine.progress import ProgressCallback
    from isoviz.runtime.ledger.ledger import Ledger


_LOG = logging.getLogger("isoviz")


class Engine(BaseEngine):
    """An engine with the devices of this computer: `Engine(machine).run(plan)`.

    For the other options see `isoviz.runtime.BaseEngine`.

    Runs on these devices are added to the user's prediction ledger, or to `ledger` (`isoviz.runtime.ledger.ledger`). Runs on
    other devices tell nothing about this computer: they are added only to an explicit `ledger`.

    `run` has a further option, `trial`. True tries a few MiB of the plan just before the run, and the prediction in the report
    uses the result. An existing `Trial` (`isoviz.trial`) is used instead of a new one.
    """

    def __init__(
        self, machine: MachineLike, devices: Devices | None = None, *, ledger: Ledger | None = None, **options: Any
    ) -> None:
        from isoviz.backends.devices import ThisComputer

        if ledger is not None:
            from isoviz.runtime.ledger.ledger import Ledger

            expect("engine, ledger", ledger, Ledger, "a ledger or None")
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

        self._driver.home.require()
        asked: object = trial
        if asked is not None and not isinstance(asked, bool):
            from isoviz.measure.trial import Trial

            expect("run, trial", asked, Trial, "a trial, True or False")
        checks.flag_argument("run", "pipelined", pipelined)
        checks.expect_token("run", cancel)
        is_predicted = pipelined and chunks is None  # The prediction holds for the whole pipelined plan.
        book = self._ledger or (recording() if self._is_here else None)
        tried, failed = None, ""
        if is_predicted and trial is not False:
            if trial is True:
                try:
                    tried = self._tried(plan, source, destination, cancel, book)
                except Exception as error:  # noqa: BLE001  # An error of the trial must not lose the run.
                    level = logging.DEBUG if isinstance(error, IsovizError) else logging.WARNING  # the run may say the same
                    _LOG.log(level, "the trial of %s failed", plan.transfer, exc_info=True)
                    failed = f"the prediction is without a trial, which failed: {in_words(error)}"
            else:
                tried = trial
            if cancel is not None and cancel.is_set():  # The trial just ended early.
                raise Cancelled("cancelled; no destination file was left")
            if tried is not None and tried.plan != plan:
                raise InputError("run: the trial is one of another plan; expected one of the plan that runs")
        report = super().run(
            plan, source, destination, verify=verify, progress=progress, cancel=cancel, pipelined=pipelined, chunks=chunks
        )
        if tried is not None:
            report = replace(report, tried=tried.tried, prediction=tried.prediction, record=tried.record)
        if failed:
            report = replace(report, notes=(*report.notes, failed))
        return recorded(report, self.machine, book) if is_predicted else report

    def _tried(self, plan: Plan, source: Any, destination: Any, cancel: CancelToken | None, book: Ledger | None) -> Trial | None:
        """A trial of a plan; None where it says nothing."""
        from isoviz.measure.trial import trial

        if not self._is_here:
            return None
        room = destination if isinstance(destination, str | Path) else None  # Arrays of the caller stay unchanged.
        if any(self.machine.memory(name).emulated for name in plan.every_memory):
            return None
        mine = cast("ThisComputer", self.devices)
        earlier = () if book is None else book.recent()
        try:
            return trial(plan, self.machine, source, room=room, devices=mine, entries=earlier, cancel=cancel)
        except Cancelled:  # the run raises it
            return None


def run(
    plan: Plan,
    source: Any | None = None,
    destination: Any | None = None,
    *,
    machine: MachineLike | None = None,
    devices: Devices | None = None,
    **options: Any,
) -> Report:
    """Run a plan on this computer and report. It is `Engine(machine).run(plan, source, destination, **options)`.

    `machine` may be left out if this process knows the machine of the plan (`isoviz.planner.machine_of`).

    Raises:
        InputError: this process does not know the machine. Others as `Engine.run`.
    """
    expect("run", plan, Plan, "a plan")
    with Engine(machine_of(plan, machine), devices) as engine:
        return engine.run(plan, source, destination, **options)


class MeasuredLayout(NamedTuple):
    """A candidate of `find_layout` whose uses were run: `times` are the measured seconds of each, `weighted` is Σ weight ×
    seconds."""

    candidate: RankedLayout
    weighted: float
    times: tuple[float, ...]

    def __repr__(self) -> str:
        times = ", ".join(map(format_seconds, self.times))
        return f"{self.candidate.layout}: {format_seconds(self.weighted)} weighted ({times})"


def measure_layouts(
    choice: LayoutChoice,
    machine: MachineLike,
    *,
    count: int = 5,
    repeats: int = 3,
    devices: Devices | None = None,
    cancel: CancelToken | None = None,
) -> tuple[MeasuredLayout, ...]:
    """Run every use of the best `count` layouts on this computer, and rank them by the measured time, the least first.

    `machine` is the one that the layouts were found for. Each use runs `repeats` times with generated data, in turn with the
    others, and its median counts.

    Raises:
        InputError: `choice` is not a result of `find_layout`, or was made for another machine. Others as `Engine.run`.
    """
    checks.expect_token("measure_layouts", cancel)
    found: tuple[MeasuredLayout, ...] = ()
    for step in layout_measurements(choice, machine, count=count, repeats=repeats, devices=devices, cancel=cancel):
        found = found if step is None else step
    return found


def layout_measurements(
    choice: LayoutChoice,
    machine: MachineLike,
    *,
    count: int = 5,
    repeats: int = 3,
    devices: Devices | None = None,
    cancel: CancelToken | None = None,
) -> Iterator[tuple[MeasuredLayout, ...] | None]:
    """The steps of `measure_layouts`, for callers that show what was measured so far or give up in between.

    It yields None after every run, and the ranked layouts after every round in which each of them ran once.

    Raises:
        As `measure_layouts`.
    """
    expect("measure_layouts", choice, LayoutChoice, "a result of find_layout")
    machine = machine_argument("measure_layouts", machine)
    if machine.digest != choice.machine_digest:
        raise InputError(f"measure_layouts: the layouts were found for a machine {choice.machine_name!r} that is not this one")
    count = checks.count("measure_layouts", "count", count, low=1)
    repeats = checks.count("measure_layouts", "repeats", repeats, low=1)
    chosen = choice.candidates[:count]
    plans = [[plan(transfer, machine, options=choice.options) for transfer in choice.transfers(each)] for each in chosen]
    seconds: dict[tuple[int, int], list[float]] = {}
    with Engine(machine, devices) as engine:
        for _ in range(repeats):
            for number, uses in enumerate(plans):
                for use, each in enumerate(uses):
                    report = engine.run(each, verify=False, cancel=cancel)
                    seconds.setdefault((number, use), []).append(report.seconds)
                    yield None
            yield _ranked_by_measurement(choice, chosen, seconds)


def _ranked_by_measurement(
    choice: LayoutChoice, chosen: Sequence[RankedLayout], seconds: Mapping[tuple[int, int], Sequence[float]]
) -> tuple[MeasuredLayout, ...]:
    found = []
    for number, candidate in enumerate(chosen):
        times = tuple(statistics.median(seconds[number, use]) for use in range(len(choice.uses)))
        weighted = sum(use.weight * each for use, each in zip(choice.uses, times, strict=True))
        found.append(MeasuredLayout(candidate, weighted, times))
    return tuple(sorted(found, key=lambda each: each.weighted))


def recorded(report: Report, machine: Machine, book: Ledger | None) -> Report:
    """The report with a prediction, after its run was added to the ledger `book`.

    A report without a prediction gets that of the model. An error here does not affect the run: a note of the report tells it.
    """
    from isoviz.planner.time.spread import spread_prediction
    from isoviz.runtime.ledger.ledger_entry import entry_of

    found, step, failed = report, "predicted", ""
    try:
        if report.prediction is None:
            found = replace(report, prediction=spread_prediction(report.plan, machine))
        step = "added to the ledger"
        if book is not None and not book.append(entry_of(found, machine)):
            failed = f"{book.path} cannot be written"
    except Exception as error:  # noqa: BLE001  # An error in the ledger must not lose the run.
        _LOG.warning("the run was not %s", step, exc_info=True)
        failed = in_words(error)
    return replace(found, notes=(*found.notes, f"the run was not {step}: {failed}")) if failed else found
