"""The interval of a prediction from a trial: it follows from the scatter of the trial and from the errors of earlier trials.

The error of a prediction is log(measured / predicted). Its size depends on the trial: if the repeats of the trial differed much,
the run differs much as well. So every error is divided by a `unit` that grows with the scatter of its trial, which makes runs of
all kinds comparable (locally weighted conformal prediction: Lei et al., Distribution-free predictive inference for regression,
JASA 113, 2018, section 5.2). The interval lies between two order statistics of these ratios over the nearest runs in the ledger,
times the unit of the current trial. If the runs are exchangeable, it holds the next run with a probability of at least
`COVERAGE`, for every distribution of the errors (split conformal prediction).

A new ledger is empty, so a prior of made-up runs is always in the pool. The prior gives an interval without any run, and shrinks
the quantiles of a few runs towards the usual ones. Real runs replace half of it, one by one.
"""

from __future__ import annotations

import math
import socket
from bisect import bisect_left
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from isoviz.planner.time.spread import Prediction, TrialRecord

if TYPE_CHECKING:
    from isoviz.planner import Plan
    from isoviz.runtime.ledger.ledger_entry import LedgerEntry


COVERAGE = 0.9
"""The share of runs that an interval should hold."""
# Source of the numbers below: random transfers with trials in three rounds, two cores each.
# - Quiet Zen 5: 60 rounds of benchmarks/predictions.json (2026-11-23) whose interval came from the trial alone. In four groups
#   ordered by scatter (middles 0.05, 0.13, 0.28 and 0.6) the root mean square error was 0.11, 0.11, 0.19 and 0.29.
# - Computer busy with other work: 214 rounds. Half of the errors were as small, but the tails were twice as long.
# A replay with these numbers and a ledger empty at first had 92 % of the quiet runs and 86 % of the busy runs in their intervals.
# With a full ledger it had 91 % and 88 to 92 %. 105 other busy rounds, run afterwards with an empty ledger, had 88 %.
FLOOR = 0.08
"""The unit of a trial whose repeats were all equal: a trial is one moment, and moments differ by this much."""
GROWTH = 0.0625
"""The square of the unit grows by this multiple of the scatter. The scatter is a range, which grows faster than the errors."""
TYPICAL_SCATTER = 0.19
"""The scatter assumed for a ledger entry without one: the median."""
PRIOR_SHARES = (0.0, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 1.0)
PRIOR_ERRORS = (-2.9, -1.8, -1.45, -0.85, 0.0, 0.85, 1.8, 2.4, 3.6)
"""The quantiles, at `PRIOR_SHARES`, of the errors of usual trials, in units."""
MOST_PRIOR_RUNS, LEAST_PRIOR_RUNS = 39, 19
"""The number of runs in the prior: `MOST_PRIOR_RUNS` beside an empty ledger, `LEAST_PRIOR_RUNS` beside one with 20 runs or more.

With 39 runs in the pool, one run that was stopped for a moment does not decide an interval. With 19, an interval holds nine of
ten runs by itself.
"""
LATEST, NEAREST = 400, 100
"""Of the `LATEST` latest runs with a trial, the `NEAREST` nearest ones count. Older runs do not, because computers change."""
ANOTHER_KIND = math.log(100)
"""The distance of a run over other channels, or between a copy and a conversion: that of a size 100 times larger or smaller."""


MOST_COMPARED = 20
"""The number of earlier runs that say whether a trial comes nearer than the plan."""


def trial_record(plan: Plan, entries: Sequence[LedgerEntry]) -> TrialRecord:
    """How trials have done in earlier runs over channels of the same kinds, copies apart from conversions.

    `entries` are earlier runs, oldest first. The `MOST_COMPARED` nearest in size count; none is 100 times larger or smaller.
    """
    distance = _distance_from(plan)
    alike = [each for each in _latest_with_trial(plan, entries) if distance(each) < ANOTHER_KIND]
    nearest = sorted(alike, key=distance)[:MOST_COMPARED]
    nearer = sum(abs(math.log(each.measured / each.predicted)) < abs(math.log(each.measured / each.by_model)) for each in nearest)
    return TrialRecord(nearer, len(nearest))


def trial_prediction(plan: Plan, seconds: float, scatter: float, entries: Sequence[LedgerEntry]) -> Prediction:
    """The prediction of a plan from a trial that took `seconds`, whose repeats had this `scatter` (`Prediction.scatter`).

    `entries` are earlier runs, oldest first. Only runs with a trial count, on this computer or on the machine of the plan. Of the
    `LATEST` of them, the `NEAREST` in kind and size are used.
    """
    nearest = sorted(_latest_with_trial(plan, entries), key=_distance_from(plan))[:NEAREST]  # at equal distance, the latest
    low, high = conformal_bounds([*prior(max(LEAST_PRIOR_RUNS, MOST_PRIOR_RUNS - len(nearest))), *map(standardized, nearest)])
    unit = unit_of(scatter)
    return Prediction(seconds, seconds * math.exp(unit * low), seconds * math.exp(unit * high), "trial", len(nearest), scatter)


def _latest_with_trial(plan: Plan, entries: Sequence[LedgerEntry]) -> list[LedgerEntry]:
    """The latest runs with a trial, on this computer or on the machine of the plan, newest first."""
    here = socket.gethostname()
    earlier = [
        each for each in entries if each.tried and each.is_real and (each.digest == plan.machine_digest or each.host == here)
    ]
    return earlier[: -LATEST - 1 : -1]


def _distance_from(plan: Plan) -> Callable[[LedgerEntry], float]:
    """The distance of a run from a plan, in kind and size."""
    source, destination = plan.transfer.source, plan.transfer.destination
    kinds, size, converts = (
        tuple(hop.kind for hop in plan.every_hop),
        math.log(plan.bytes),
        str(source.layout) != str(destination.layout),
    )

    def distance(each: LedgerEntry) -> float:
        return abs(math.log(each.nbytes) - size) + ANOTHER_KIND * ((each.kinds != kinds) + (each.converts != converts))

    return distance


@lru_cache(maxsize=MOST_PRIOR_RUNS)
def prior(runs: int) -> tuple[float, ...]:
    """The errors of the made-up runs, in units: the quantiles k / (`runs` + 1) of a piecewise linear distribution."""
    found = []
    for k in range(1, runs + 1):
        share = k / (runs + 1)
        place = bisect_left(PRIOR_SHARES, share)
        part = (share - PRIOR_SHARES[place - 1]) / (PRIOR_SHARES[place] - PRIOR_SHARES[place - 1])
        found.append(PRIOR_ERRORS[place - 1] + part * (PRIOR_ERRORS[place] - PRIOR_ERRORS[place - 1]))
    return tuple(found)


def standardized(entry: LedgerEntry) -> float:
    """The error of a run with a trial, in units of that trial."""
    return math.log(entry.measured / entry.predicted) / unit_of(TYPICAL_SCATTER if entry.scatter is None else entry.scatter)


def unit_of(scatter: float) -> float:
    """The unit of errors for a trial of this scatter: a natural logarithm, like the scatter."""
    return math.sqrt(FLOOR**2 + GROWTH * scatter)


def conformal_bounds(values: Sequence[float]) -> tuple[float, float]:
    """The bounds that hold the next value with a probability of at least `COVERAGE`, with half of the rest on either side.

    They are order statistics: of n values, the k-th from below and the k-th from above, with k = ⌊(n + 1)(1 − COVERAGE) / 2⌋.
    Below n = 19, k is 1 and the probability is lower.
    """
    ordered = sorted(values)
    outside = math.floor((len(ordered) + 1) * (1 - COVERAGE) / 2 + 1e-9)
    place = max(outside - 1, 0)
    return ordered[place], ordered[len(ordered) - 1 - place]


# The interval of the model's prediction of a plan, before any trial: it follows from the errors of the model for
# earlier runs.
#
# As in `isoviz.runtime.ledger.trial_interval`, errors are log(measured / predicted) and the bounds are order
# statistics of them (split conformal prediction). Only runs of like kind count: those over the same kinds of channels,
# and copies apart from conversions. The model errs in one direction for each kind on each computer.

LEAST_RUNS = 5
"""With fewer runs nothing is said. The bounds of 5 runs hold two of three; 19 runs are enough for nine of ten."""
NEAREST_IN_SIZE = 40
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
    nearest = sorted(alike[: -LATEST - 1 : -1], key=lambda each: abs(math.log(each.nbytes) - size))[:NEAREST_IN_SIZE]
    if len(nearest) < LEAST_RUNS or not math.isfinite(plan.seconds):
        return None
    low, high = conformal_bounds([math.log(each.measured / each.by_model) for each in nearest])
    return ModelInterval(plan.seconds * math.exp(low), plan.seconds * math.exp(high), len(nearest))
