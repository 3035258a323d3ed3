"""Several transfers carried out together, in one engine.

All ends are opened and filled before the first transfer begins, so that each begins at its own time. Verification waits until no
bytes move any more: it would slow the others down.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from isoviz.errors import Cancelled, IsovizError
from isoviz.widgets.running.one_run import Tell

if TYPE_CHECKING:
    from isoviz.machines import Machine
    from isoviz.planner import Plan
    from isoviz.runtime import BaseEngine, Progress, Report
    from isoviz.runtime.protocols import Check, Endpoint
    from isoviz.runtime.trace.trace import Trace
    from isoviz.widgets.running.run_devices import OpenedEnd, RunDevices

    Ends = tuple[OpenedEnd, OpenedEnd]

_LOG = logging.getLogger("isoviz")

MOST_SIMULATED = 300_000
"""Requests that are simulated for the prediction of a run; more would take longer than a person waits."""
_LOOK = 0.02
"""Seconds between two looks at a cancel."""


@dataclass(frozen=True)
class JointPart:
    """A transfer that is carried out with others: its plan, and when it begins, in seconds after the begin of all."""

    name: str
    plan: Plan
    begin: float


@dataclass(frozen=True)
class Outcome:
    """How a transfer ended: with a report, or with an error in words. `cancelled` tells the two kinds of errors apart.

    `seconds` are those from its begin until its last byte was in place, waiting included. The clock of its trace showed `zero`
    when all transfers began: as for a transfer alone, that is with the first request, so that what is made ready before is not
    counted. This one was to begin `begin` seconds later.
    """

    report: Report | None
    error: str = ""
    cancelled: bool = False
    seconds: float = 0.0
    zero: float = 0.0
    begin: float = 0.0


@dataclass
class _Progress:
    """How far all transfers are together. Any thread may tell it."""

    tell: Tell
    moving: int
    """Transfers whose bytes may still move."""
    moved: dict[int, int] = field(default_factory=dict)
    equal: dict[int, int] = field(default_factory=dict)
    change: threading.Condition = field(default_factory=threading.Condition)

    def has_moved(self, number: int, nbytes: int) -> None:
        with self.change:
            self.moved[number] = nbytes
            self.tell("move", sum(self.moved.values()))

    def has_verified(self, number: int, nbytes: int) -> None:
        with self.change:
            self.equal[number] = nbytes
            self.tell("verify", sum(self.equal.values()))

    def stands_still(self) -> None:
        """One transfer moves no more bytes."""
        with self.change:
            self.moving -= 1
            self.change.notify_all()

    def wait_for_the_others(self, check: Check) -> None:
        """Wait until no transfer moves bytes any more."""
        self.stands_still()
        with self.change:
            while self.moving > 0:
                check()
                self.change.wait(_LOOK)


def run_together(parts: Sequence[JointPart], machine: Machine, tell: Tell, cancel: threading.Event) -> tuple[Outcome, ...]:
    """Carry out transfers together and verify each. One that fails leaves the others running.

    Raises:
        IsovizError: the end of a transfer cannot be opened: none has begun. Cancelled: `cancel` was set before.
    """
    from isoviz.measure.local_engine import Engine
    from isoviz.widgets.running.run_devices import RunDevices

    progress = _Progress(tell, len(parts))
    parts = [replace(part, plan=copy(part.plan)) for part in parts]  # equal transfers share a plan: each gets one of its own
    numbers = {id(part.plan): number for number, part in enumerate(parts)}
    devices = RunDevices(
        lambda plan, nbytes: progress.has_verified(numbers[id(plan)], nbytes),
        lambda _, check: progress.wait_for_the_others(check),
    )
    tell("generate", 0)
    ends = _opened(parts, machine, devices, cancel)
    found: list[Outcome | None] = [None] * len(parts)
    with Engine(machine, devices) as engine:
        begin = time.perf_counter()

        def work(number: int) -> None:
            part, told = parts[number], [False]

            def moved(step: Progress) -> None:
                if step.stage == "move":
                    progress.has_moved(number, step.bytes_done)
                else:
                    told[0] = True  # the verification says itself that no bytes move any more

            outcome = Outcome(None, "Cancelled before it began.", cancelled=True)
            if not cancel.wait(max(0.0, begin + part.begin - time.perf_counter())):
                outcome = _outcome(engine, part, ends[number], moved, cancel)
            if not told[0]:
                progress.stands_still()
            found[number] = outcome

        threads = [threading.Thread(target=work, args=(number,), name=f"isoviz-run-part-{number}", daemon=True)
                   for number in range(len(parts))]  # fmt: skip
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    for pair in ends:
        for end in pair:
            _close(end.end)  # those of transfers that never began; closing twice is safe
    return on_one_clock([each for each in found if each is not None], parts)


def on_one_clock(outcomes: Sequence[Outcome], parts: Sequence[JointPart]) -> tuple[Outcome, ...]:
    """The outcomes with their seconds on one clock, which begins with the first request of all transfers."""
    begins = [
        outcome.report.trace.begin - part.begin
        for outcome, part in zip(outcomes, parts, strict=True)
        if outcome.report is not None and outcome.report.trace is not None
    ]
    timed: list[Outcome] = []
    for outcome, part in zip(outcomes, parts, strict=True):
        if (report := outcome.report) is not None and report.trace is not None:
            zero = min(begins)
            ended = report.trace.end + report.flush_seconds - zero - part.begin
            outcome = replace(outcome, seconds=ended, zero=zero, begin=part.begin)
        timed.append(outcome)
    return tuple(timed)


def _outcome(
    engine: BaseEngine, part: JointPart, ends: Ends, moved: Callable[[Progress], None], cancel: threading.Event
) -> Outcome:
    try:
        report = engine.run(part.plan, *ends, progress=moved, cancel=cancel)
    except Cancelled:
        return Outcome(None, "Cancelled; nothing was left behind.", cancelled=True)
    except IsovizError as error:
        return Outcome(None, str(error))
    except Exception as error:  # noqa: BLE001 - a defect: told like a failure, with its kind; the others go on
        return Outcome(None, f"{type(error).__name__}: {error}")
    return Outcome(report)


def _opened(parts: Sequence[JointPart], machine: Machine, devices: RunDevices, cancel: threading.Event) -> list[Ends]:
    """The ends of all transfers, open and filled."""
    from isoviz.errors import TransferError
    from isoviz.runtime.opening import opening
    from isoviz.widgets.running.run_devices import OpenedEnd

    def check() -> None:
        if cancel.is_set():
            raise Cancelled("cancelled; no destination file was left")

    opened: list[Endpoint] = []
    pairs: list[Ends] = []
    try:
        with opening(check):
            for part in parts:
                transfer = part.plan.transfer
                here, there = (devices.memory(machine.memory(end.memory)) for end in (transfer.source, transfer.destination))
                if here is None or there is None:
                    raise TransferError(f"{part.name}: this computer lacks one of its memories")
                opened.append(here.source(transfer.source, None))
                opened.append(there.destination(transfer.destination, None, transfer.is_partial))
                pairs.append((OpenedEnd(opened[-2]), OpenedEnd(opened[-1])))
                check()
    except BaseException:
        for end in opened:
            _close(end)
        raise
    return pairs


def _close(end: Endpoint) -> None:
    """Close an end, also one that cannot be closed."""
    try:
        end.close()
    except Exception:  # noqa: BLE001 - the others are closed as well
        _LOG.exception("an end of a transfer could not be closed")


def simulated(parts: Sequence[JointPart], machine: Machine) -> tuple[float, ...] | None:
    """The simulated seconds of each transfer while all transfers run, None if the simulation would have too many requests."""
    from isoviz.runtime.pipeline import work_of
    from isoviz.runtime.simulator import Simulator

    requests = 0
    for part in parts:
        work = work_of(part.plan)
        requests += sum(count * chunks for count, chunks in zip(work.requests, work.hop_chunks, strict=True))
    if requests > MOST_SIMULATED:
        return None
    simulator = Simulator(machine)
    for part in parts:
        simulator.submit(part.plan, at=part.begin, label=part.name)
    return tuple(span.seconds for span in sorted(simulator.run().transfers, key=lambda span: span.number))


def measured_trace(parts: Sequence[tuple[str, Outcome]]) -> Trace | None:
    """The requests of runs on one clock that began when all of them did. Transfers have the order of `parts`."""
    from isoviz.runtime.trace.trace import Trace

    transfers, requests = [], []
    for number, (name, outcome) in enumerate(parts):
        trace = None if outcome.report is None else outcome.report.trace
        if trace is None or not trace.transfers:
            continue
        (span,), zero = trace.transfers, outcome.zero
        transfers.append(
            span._replace(
                number=number,
                label=name,
                submitted=outcome.begin,
                admitted=None if span.admitted is None else span.admitted - zero,
                ended=span.ended - zero,
            )
        )
        requests += [each._replace(transfer=number, start=each.start - zero, end=each.end - zero) for each in trace.requests]
    if not transfers:
        return None
    return Trace(tuple(transfers), tuple(sorted(requests, key=lambda each: each.end)), "measured")


def outcome_alone(report: Report) -> Outcome:
    """The outcome of a run without others: its clock begins with its first request."""
    zero = 0.0 if report.trace is None else report.trace.begin
    return Outcome(report, seconds=report.seconds, zero=zero)
