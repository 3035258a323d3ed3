"""Runs of the transfers of a session, each in a separate thread."""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from isoviz.errors import Cancelled, IsovizError, RankLost, RanksClosed
from isoviz.widgets.contract import Stage
from isoviz.widgets.running.joint_run import (
    JointPart,
    Outcome,
    measured_trace,
    on_one_clock,
    outcome_alone,
    run_together,
    simulated,
)
from isoviz.widgets.running.one_run import Execute, Tell, execute, kept
from isoviz.widgets.running.rank_keeper import RankKeeper, lost_words
from isoviz.widgets.state import MovedTransfer, Run

if TYPE_CHECKING:
    from isoviz.machines import Machine
    from isoviz.planner import Plan
    from isoviz.runtime import Progress, Report

_TICK = 0.05
"""Seconds between two messages of progress: finer ones could not be seen."""
KEPT_RUNS = 20
"""Runs in the history."""
MOST_TRACE_BYTES = 64 << 20
"""The traces of the history together, in bytes of memory."""
REQUEST_BYTES = 176
"""A request of a trace in memory: a tuple of six numbers, and those of them that are its own."""
CANCELLED = "Cancelled; nothing was left behind."


@dataclass(frozen=True)
class Progressed:
    """A run has come this far: what it does, the bytes of its plans that this stage has dealt with, and the runs that are over of
    those that were asked for.
    """

    number: int
    stage: Stage
    bytes_done: int
    over: int = 0


@dataclass(frozen=True)
class Finished:
    """A run is over, well or not."""

    run: Run


class Runner:
    """Carries out one run at a time and posts `Progressed` and, once for each run, `Finished`.

    `keep(report, machine)` adds what was measured to a ledger and returns the key of its entry. `ranks` has the MPI ranks of the
    session.
    """

    def __init__(
        self,
        post: Callable[[Any], None],
        carry_out: Execute = execute,
        keep: Callable[..., str] = kept,
        ranks: RankKeeper | None = None,
    ) -> None:
        self._post = post
        self._ranks = RankKeeper(post) if ranks is None else ranks
        self._execute = carry_out
        self._keep = keep
        self._cancel = threading.Event()
        self._thread: threading.Thread | None = None
        self._beginning = threading.Lock()
        """Held while a run begins: a thread can be waited for only after it was started."""

    def start(self, run: Run, machine: Machine) -> None:
        """Begin; returns at once. `run` has a plan, or several transfers."""
        with self._beginning:
            self._cancel = threading.Event()
            self._thread = threading.Thread(
                target=self._work, args=(run, machine, self._cancel), name=f"isoviz-run-{run.number}", daemon=True
            )
            self._thread.start()

    def cancel(self) -> None:
        """Ask the present run to stop, without waiting for its end."""
        self._cancel.set()

    def close(self, timeout: float = 5.0) -> None:
        """Cancel the present run and wait for the end of its thread."""
        with self._beginning:
            self._cancel.set()
            thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(timeout)

    def _work(self, run: Run, machine: Machine, cancel: threading.Event) -> None:
        over = run
        try:
            for number in range(run.wanted):
                if cancel.is_set():
                    raise Cancelled(CANCELLED)
                tell = self._teller(run.number, number)
                tell("prepare", 0)
                over = self._several(over, machine, tell, cancel) if over.transfers else self._one(over, machine, tell, cancel)
                over = replace(over, over=number + 1)
            over = replace(over, phase="failed" if over.error else "done")
        except Cancelled as error:
            over = replace(error.run if isinstance(error, _CancelledWith) else over, phase="cancelled", error=CANCELLED)
        except IsovizError as error:
            over = replace(over, phase="failed", error=str(error))
        except Exception as error:  # noqa: BLE001 - a defect: shown in the pane like a failure, with its kind
            over = replace(over, phase="failed", error=f"{type(error).__name__}: {error}")
        if over.phase == "done":
            over = replace(over, bytes_done=over.bytes)
        self._post(Finished(over))
        if over.report is None:
            # An error and the frames that it came through hold each other, and with them the arrays of the run.
            gc.collect()

    def _teller(self, run: int, over: int) -> Tell:
        last, stage = -_TICK, ""

        def tell(now: Stage, bytes_done: int) -> None:
            nonlocal last, stage
            moment = time.monotonic()
            if moment - last >= _TICK or now != stage:
                last, stage = moment, now
                self._post(Progressed(run, now, bytes_done, over))

        return tell

    def _one(self, run: Run, machine: Machine, tell: Tell, cancel: threading.Event) -> Run:
        """One more run of the plan."""
        plan = run.plan
        assert plan is not None
        if run.ranks:
            report, library = execute_on_ranks(self._ranks, run.ranks, plan, machine, tell, cancel)
            run = replace(run, library=library)
        else:
            report = self._execute(plan, machine, tell, cancel)
        return with_report(replace(run, keys=(*run.keys, self._keep(report, machine))), report)

    def _several(self, run: Run, machine: Machine, tell: Tell, cancel: threading.Event) -> Run:
        """One more run of all transfers together.

        Raises:
            Cancelled: it was cancelled before all of them had ended well.
        """
        from isoviz.runtime.ledger.ledger_entry import TOGETHER

        parts = [JointPart(each.name, each.plan, each.begin) for each in run.transfers]
        predicted = simulated(parts, machine) if run.transfers[0].simulated is None else None
        if run.ranks:
            outcomes, library = run_together_on_ranks(self._ranks, run.ranks, parts, machine, tell, cancel)
            run = replace(run, library=library)
        else:
            outcomes = run_together(parts, machine, tell, cancel)
        transfers: list[MovedTransfer] = []
        keys = list(run.keys)
        for place, (each, outcome) in enumerate(zip(run.transfers, outcomes, strict=True)):
            if predicted is not None:
                each = replace(each, simulated=predicted[place])
            transfers.append(_moved(each, outcome, run.wanted))
            if outcome.report is not None:
                keys.append(self._keep(outcome.report, machine, TOGETHER))
        pairs = list(zip(transfers, outcomes, strict=True))
        done = [(each.name, outcome) for each, outcome in pairs]
        failed = [each for each, outcome in pairs if outcome.error and not outcome.cancelled]
        error = run.error or "; ".join(f"{each.name}: {each.error}" for each in failed)
        run = replace(run, transfers=tuple(transfers), keys=tuple(keys), error=error, trace=measured_trace(done))
        main = next((each.reports for each in transfers if each.is_edited), ())
        if main:
            run = replace(run, report=_median(main), reports=main)
        if any(outcome.cancelled for outcome in outcomes):
            raise _CancelledWith(run)
        return run


def _moved(transfer: MovedTransfer, outcome: Outcome, wanted: int) -> MovedTransfer:
    """The transfer with the outcome of one more of the `wanted` runs."""
    if outcome.report is None:
        return replace(transfer, error=outcome.error)
    reports = (*transfer.reports, _kept_report(outcome.report, wanted))
    return replace(transfer, reports=reports, seconds=(*transfer.seconds, outcome.seconds), error="")


def _kept_report(report: Report, wanted: int) -> Report:
    """A report as it is kept: of repeated runs without its trace, which takes megabytes. The run has that of the last one."""
    return report if wanted == 1 else replace(report, trace=None)


class _CancelledWith(Cancelled):
    """A run was cancelled; `run` has what was measured until then."""

    def __init__(self, run: Run) -> None:
        super().__init__(CANCELLED)
        self.run = run


def with_report(run: Run, report: Report) -> Run:
    """The run with one more report: that of the median run is shown."""
    reports = (*run.reports, _kept_report(report, run.wanted))
    return replace(run, report=_median(reports), reports=reports, trace=measured_trace([(run.name, outcome_alone(report))]))


def with_run(history: tuple[Run, ...], run: Run) -> tuple[Run, ...]:
    """The history with one more run, the newest first.

    A run keeps one trace, and the reports of the newest one theirs. The newest trace stays; the oldest ones are dropped, until
    all fit into `MOST_TRACE_BYTES`.
    """
    earlier = history if run.report is None else tuple(map(_with_bare_reports, history))
    runs: list[Run] = []
    total = 0
    for each in (run, *earlier)[:KEPT_RUNS]:
        size = 0 if each.trace is None else REQUEST_BYTES * len(each.trace.requests)
        is_too_much = size > 0 and total > 0 and total + size > MOST_TRACE_BYTES
        total += size
        runs.append(replace(each, trace=None, is_trace_dropped=True) if is_too_much else each)
    return tuple(runs)


def _with_bare_reports(run: Run) -> Run:
    """The run without the traces of its reports: it has that of its last repeat on its own clock."""

    def bare(reports: tuple[Report, ...]) -> tuple[Report, ...]:
        return tuple(replace(each, trace=None) for each in reports)

    transfers = tuple(replace(each, reports=bare(each.reports)) for each in run.transfers)
    report = None if run.report is None else replace(run.report, trace=None)
    return replace(run, report=report, reports=bare(run.reports), transfers=transfers)


def _median(reports: tuple[Report, ...]) -> Report:
    """The report of the run in the middle, of the quicker one of two."""
    return sorted(reports, key=lambda each: each.seconds)[(len(reports) - 1) // 2]


# ---- plans carried out by the MPI ranks of a session, verified


def execute_on_ranks(
    keeper: RankKeeper, count: int, plan: Plan, machine: Machine, tell: Tell, cancel: threading.Event
) -> tuple[Report, str]:
    """Carry out a plan with `count` ranks, which are started where none run; the report, and the MPI of the ranks.

    Raises:
        LaunchError: the ranks did not start. RankLost: a rank ended, or no longer answers. RunError: a hop failed.
        Cancelled: `cancel` was set.
    """
    tell("ranks", 0)
    ranks = keeper.running(count, cancel)
    tell("generate", 0)
    with _in_words():
        return ranks.run(plan, machine=machine, progress=_telling(tell), cancel=cancel), ranks.mpi


def run_together_on_ranks(
    keeper: RankKeeper, count: int, parts: Sequence[JointPart], machine: Machine, tell: Tell, cancel: threading.Event
) -> tuple[tuple[Outcome, ...], str]:
    """Carry out transfers together with `count` ranks and verify each. One that fails leaves the others running.

    Raises:
        LaunchError: the ranks did not start. RankLost: a rank ended, or no longer answers: then no transfer has an outcome.
        Cancelled: `cancel` was set before the transfers began.
    """
    tell("ranks", 0)
    ranks = keeper.running(count, cancel)
    tell("generate", 0)
    with _in_words():
        begins = [part.begin for part in parts]
        submitted = ranks.submit(*(part.plan for part in parts), machine=machine, begins=begins)
        found = submitted.outcomes(progress=_telling(tell), cancel=cancel)
    return on_one_clock([_outcome(each) for each in found], parts), ranks.mpi


def _outcome(found: Report | BaseException) -> Outcome:
    if isinstance(found, Cancelled):
        return Outcome(None, "Cancelled; nothing was left behind.", cancelled=True)
    if isinstance(found, IsovizError):
        return Outcome(None, str(found))
    if isinstance(found, BaseException):
        return Outcome(None, f"{type(found).__name__}: {found}")  # a defect: told like a failure, with its kind
    return Outcome(found)


def _telling(tell: Tell) -> Callable[[Progress], None]:
    def progress(step: Progress) -> None:
        tell("verify" if step.stage == "verify" else "move", step.bytes_done)

    return progress


@contextmanager
def _in_words() -> Iterator[None]:
    """The end of the ranks in words for the pane, which has buttons for what Python would be called for.

    Raises:
        RankLost, RanksClosed: the ranks have ended.
    """
    try:
        yield
    except RankLost as error:
        raise RankLost(lost_words(error), rank=error.rank, pid=error.pid) from None
    except RanksClosed:
        raise RanksClosed("the ranks were ended during the run") from None
