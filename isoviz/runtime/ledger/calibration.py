"""Intervals of predictions, going by how earlier runs went.

The spread of a measured channel says how much its repetitions differed within a second, on a quiet machine, one channel at a
time. Runs differ by more. So where the ledger holds enough runs on the same machine (as it was measured: its digest), over the
same kinds of channels if there are enough of those, the interval goes by them: it is the one that would have held nine of ten of
them, the nearest in size of the latest being asked.
This is split conformal prediction: with runs that are exchangeable it holds the next one in nine of ten cases, whatever the shape
of the errors. To move the predicted seconds themselves to the median of those runs was tried: they are as often further off.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from isoviz.planner.time.spread import Prediction, spread_prediction
from isoviz.runtime.ledger.ledger import Ledger, ledger
from isoviz.runtime.ledger.ledger_entry import LedgerEntry, entry_of

if TYPE_CHECKING:
    from isoviz.machines import Machine
    from isoviz.planner import Plan
    from isoviz.runtime.trace.report import Report

COVERAGE = 0.9
"""The share of runs that an interval is to hold."""
ENOUGH = 20
"""Runs from which on the interval goes by them: 19 are needed for nine of ten to mean something."""
LATEST, NEAREST = 120, 30
"""So many of the latest runs are looked at, and of these so many, the nearest in size, are asked."""
ANOTHER_KIND = math.log(100)
"""A copy tells as little of a conversion as a transfer a hundred times larger or smaller."""


def predicted(
    plan: Plan, machine: Machine, entries: Sequence[LedgerEntry] | None = None, trial: Prediction | None = None
) -> Prediction | None:
    """The prediction of a plan with its interval: by earlier runs where there are enough, else by the spread of its channels.

    `entries` are earlier runs (None: those of the user's ledger). With what a `trial` said, the seconds are that,
    and earlier runs are those that had one; too few of them leave the trial's own interval. None where nothing is known.

    Raises:
        MachineError: the machine has not the channels of the plan.
    """
    seconds = plan.seconds if trial is None else trial.seconds
    if not 0 < seconds < math.inf:
        return None
    if entries is None:
        book = ledger()
        entries = () if book is None else book.recent()
    tried = trial is not None
    here = [each for each in entries if each.digest == plan.machine_digest and not each.emulated and (each.tried or not tried)]
    kinds = tuple(hop.kind for hop in plan.hops)
    alike = [each for each in here if each.kinds == kinds]
    same_path = len(alike) >= ENOUGH
    if not same_path:
        alike = here
    if len(alike) < ENOUGH or any(machine.memory(name).emulated for name in plan.memories):
        return trial or spread_prediction(plan, machine)
    source, destination = plan.transfer.source, plan.transfer.destination
    size, converts = math.log(plan.bytes), str(source.layout) != str(destination.layout)

    def distance(each: LedgerEntry) -> float:
        return abs(math.log(each.nbytes) - size) + ANOTHER_KIND * (each.converts != converts)

    nearest = sorted(alike[: -LATEST - 1 : -1], key=distance)[:NEAREST]  # of equals the latest
    low, high = held_by([each.measured / (each.predicted if tried else each.by_model) for each in nearest])
    return Prediction(seconds, seconds * low, seconds * high, "history", len(nearest), same_path, tried)


def held_by(ratios: Sequence[float]) -> tuple[float, float]:
    """The interval of ratios that holds the next one with a chance of at least `COVERAGE`, half of the rest on either side."""
    ordered = sorted(ratios)
    outside = math.floor((len(ordered) + 1) * (1 - COVERAGE) / 2 + 1e-9)
    last = len(ordered) - 1
    below = min(max(outside - 1, 0), last)
    return ordered[below], ordered[last - below]


def recorded(report: Report, machine: Machine, book: Ledger | None) -> Report:
    """The report with the interval of its prediction, after its run was added to a ledger, if there is one.

    Whatever goes wrong here, the run itself went well: then the report comes back as it was.
    """
    try:
        earlier = () if book is None else book.recent()
        trial = report.prediction if report.tried is not None else None
        found = replace(report, prediction=predicted(report.plan, machine, earlier, trial))
        if book is not None:
            book.append(entry_of(found, machine))
    except Exception:  # noqa: BLE001  # a record is no reason to lose a run
        return report
    return found
