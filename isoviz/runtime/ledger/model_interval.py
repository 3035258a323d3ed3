"""The interval of the model's prediction of a plan, before any trial: it follows from the errors of the model for earlier runs.

As in `isoviz.runtime.ledger.trial_interval`, errors are log(measured / predicted) and the bounds are order statistics of them
(split conformal prediction). Only runs of like kind count: those over the same kinds of channels, and copies apart from
conversions. The model errs in one direction for each kind on each computer.
"""

from __future__ import annotations

import math
import socket
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from isoviz.runtime.ledger.trial_interval import LATEST, conformal_bounds

if TYPE_CHECKING:
    from isoviz.planner import Plan
    from isoviz.runtime.ledger.ledger_entry import LedgerEntry

LEAST_RUNS = 5
"""With fewer runs nothing is said. The bounds of 5 runs hold two of three; 19 runs are enough for nine of ten."""
NEAREST = 40
"""Of the runs of like kind, those nearest in size, the latest among equals."""


class ModelInterval(NamedTuple):
    """The seconds that nine of ten runs should take, and the number of earlier runs that this is known from."""

    low: float
    high: float
    runs: int


def model_interval(plan: Plan, entries: Sequence[LedgerEntry]) -> ModelInterval | None:
    """The interval of a plan's `seconds`; None if too few runs of its kind are known.

    `entries` are earlier runs, oldest first. Runs on this computer count, and runs that were planned on the same machine.
    """
    here = socket.gethostname()
    source, destination = plan.transfer.source, plan.transfer.destination
    kinds = tuple(hop.kind for hop in plan.every_hop)
    converts, size = str(source.layout) != str(destination.layout), math.log(plan.bytes)
    alike = [
        each
        for each in entries
        if each.is_real
        and (each.digest == plan.machine_digest or each.host == here)
        and each.kinds == kinds
        and each.converts == converts
        and each.by_model > 0
        and each.measured > 0
    ]
    nearest = sorted(alike[: -LATEST - 1 : -1], key=lambda each: abs(math.log(each.nbytes) - size))[:NEAREST]
    if len(nearest) < LEAST_RUNS or not math.isfinite(plan.seconds):
        return None
    low, high = conformal_bounds([math.log(each.measured / each.by_model) for each in nearest])
    return ModelInterval(plan.seconds * math.exp(low), plan.seconds * math.exp(high), len(nearest))
