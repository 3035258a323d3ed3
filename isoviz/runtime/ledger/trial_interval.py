"""The interval of a prediction that goes by a trial: from the scatter of the trial, and from how earlier trials came true.

The error of a prediction is log(measured / predicted). How large it may be depends on the trial: where its repeats differed much,
the run differs much as well. So every error is divided by a `unit` that grows with the scatter of its trial, which makes runs of
all kinds comparable (locally weighted conformal prediction: Lei et al., Distribution-free predictive inference for regression,
JASA 113, 2018, section 5.2). The interval is the one between two order statistics of these ratios over the nearest runs in the
ledger, times the unit of the trial at hand. With exchangeable runs it holds the next one with a chance of at least `COVERAGE`,
whatever the distribution of the errors (split conformal prediction).

A new ledger is empty. So a prior of made-up runs is always in the pool: it gives an interval without any run, and shrinks the
quantiles of a few runs towards what is usual. Real runs replace half of it, one by one.
"""

from __future__ import annotations

import math
import socket
from bisect import bisect_left
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

from isoviz.planner.time.spread import Prediction

if TYPE_CHECKING:
    from isoviz.planner import Plan
    from isoviz.runtime.ledger.ledger_entry import LedgerEntry

COVERAGE = 0.9
"""The share of runs that an interval is to hold."""
# Source of the numbers below: random transfers with trials in three rounds, two cores each. On a quiet Zen 5 the 60 rounds of
# benchmarks/2026-11-23/predictions.json whose interval came from the trial alone: in four groups ordered by scatter (0.05, 0.13,
# 0.28 and 0.6 in the middle) the root mean square error was 0.11, 0.11, 0.19 and 0.29. On a computer busy with other work 214
# rounds: half of the errors as small, but tails twice as long. With these numbers, replayed, 92 % of the quiet runs and 86 % of
# the busy ones were inside, the ledger being empty at first; with a full ledger 91 % and 88 to 92 %. 105 other busy rounds, run
# afterwards with an empty ledger: 88 %.
FLOOR = 0.08
"""The unit of a trial whose repeats were all alike: a trial is one moment, and moments differ by this much."""
GROWTH = 0.0625
"""The square of the unit grows by this part of the scatter. The scatter is a range, and grows faster than the errors do."""
TYPICAL_SCATTER = 0.19
"""The scatter of a ledger entry that does not say one: the median."""
PRIOR_SHARES = (0.0, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 1.0)
PRIOR_ERRORS = (-2.9, -1.8, -1.45, -0.85, 0.0, 0.85, 1.8, 2.4, 3.6)
"""Quantiles of the errors of usual trials, in units."""
MOST_PRIOR_RUNS, LEAST_PRIOR_RUNS = 39, 19
"""The number of runs that the prior stands for beside an empty ledger, and beside one with 20 runs or more. With 39 in the pool
one run that stopped for a moment does not decide an interval; with 19 an interval holds nine of ten by itself."""
LATEST, NEAREST = 400, 100
"""The number of latest runs with a trial that are looked at: computers change. The number that counts: the nearest of these."""
ANOTHER_KIND = math.log(100)
"""The distance of a run over other channels, or of a copy from a conversion: that of a size a hundred times larger or smaller."""


def trial_prediction(plan: Plan, seconds: float, scatter: float, entries: Sequence[LedgerEntry]) -> Prediction:
    """The prediction of a plan after a trial said `seconds`, whose repeats had this `scatter` (`Prediction.scatter`).

    `entries` are earlier runs, oldest first. Those that count had a trial, on this computer or on the machine of the plan; of the
    `LATEST` of them the `NEAREST` in kind and size.
    """
    here = socket.gethostname()
    earlier = [
        each for each in entries if each.tried and each.is_real and (each.digest == plan.machine_digest or each.host == here)
    ]
    source, destination = plan.transfer.source, plan.transfer.destination
    kinds, size, converts = (
        tuple(hop.kind for hop in plan.every_hop),
        math.log(plan.bytes),
        str(source.layout) != str(destination.layout),
    )

    def distance(each: LedgerEntry) -> float:
        return abs(math.log(each.nbytes) - size) + ANOTHER_KIND * ((each.kinds != kinds) + (each.converts != converts))

    nearest = sorted(earlier[: -LATEST - 1 : -1], key=distance)[:NEAREST]  # of equals the latest
    low, high = conformal_bounds([*prior(max(LEAST_PRIOR_RUNS, MOST_PRIOR_RUNS - len(nearest))), *map(standardized, nearest)])
    unit = unit_of(scatter)
    return Prediction(seconds, seconds * math.exp(unit * low), seconds * math.exp(unit * high), "trial", len(nearest), scatter)


@cache
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
    """The error of a run with a trial in units of that trial."""
    return math.log(entry.measured / entry.predicted) / unit_of(TYPICAL_SCATTER if entry.scatter is None else entry.scatter)


def unit_of(scatter: float) -> float:
    """The unit of errors after a trial of this scatter: a natural logarithm, like the scatter."""
    return math.sqrt(FLOOR**2 + GROWTH * scatter)


def conformal_bounds(values: Sequence[float]) -> tuple[float, float]:
    """The bounds that hold the next value with a chance of at least `COVERAGE`, half of the rest on either side.

    They are order statistics: with n values the k-th from below and from above, k = ⌊(n + 1)(1 − COVERAGE) / 2⌋, or the first
    where n is below 19: then the chance is less.
    """
    ordered = sorted(values)
    outside = math.floor((len(ordered) + 1) * (1 - COVERAGE) / 2 + 1e-9)
    place = max(outside - 1, 0)
    return ordered[place], ordered[len(ordered) - 1 - place]
