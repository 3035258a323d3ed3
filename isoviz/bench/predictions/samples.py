"""What a benchmark of predictions measures: for every transfer and round what was predicted, and what its runs took."""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from isoviz.planner.time.spread import spread_prediction
from isoviz.runtime.ledger.prediction_errors import Outcome
from isoviz.units import format_bytes

if TYPE_CHECKING:
    from isoviz.bench.predictions.regret import Regret
    from isoviz.machines import Machine
    from isoviz.measure.trials.trial import Trial
    from isoviz.planner import Plan, Transfer
    from isoviz.planner.time.spread import Prediction


@dataclass(frozen=True)
class Sample:
    """One transfer in one round: its plan, the trial just before (None: nothing could be tried) and the seconds of its runs."""

    transfer: Transfer
    plan: Plan
    machine: Machine
    times: tuple[float, ...]
    trial: Trial | None = None

    @property
    def seconds(self) -> float:
        """The median of its runs."""
        return statistics.median(self.times)

    @property
    def by_model(self) -> Prediction | None:
        """The prediction of the model alone; None where its channels have no spread, and so no interval."""
        return spread_prediction(self.plan, self.machine)

    @property
    def by_trial(self) -> Prediction | None:
        """The prediction with the trial; None without one."""
        return None if self.trial is None else self.trial.prediction

    @property
    def cost(self) -> float | None:
        """The seconds of the trial as a multiple of those of the transfer; None without one."""
        return None if self.trial is None else self.trial.spent / self.seconds

    def outcome(self, said: Prediction | None, seconds: float | None = None) -> Outcome:
        """A prediction beside some seconds (None: the median of its runs). Without one the plan's own seconds count."""
        path = " → ".join(hop.kind for hop in self.plan.hops)
        predicted, interval = (self.plan.seconds, None) if said is None else (said.seconds, (said.low, said.high))
        measured = self.seconds if seconds is None else seconds
        return Outcome(path, transfer_words(self.transfer), self.plan.bytes, predicted, measured, interval)


@dataclass
class Measurements:
    """What has been measured so far."""

    samples: list[Sample] = field(default_factory=list)
    regrets: list[Regret] = field(default_factory=list)
    too_long: int = 0
    """Transfers that were drawn and left out, because they would have taken longer than the time left."""
    given_up: list[str] = field(default_factory=list)
    """Transfers whose runs were given up, because they took much longer than predicted."""
    seconds: float = 0.0

    @property
    def transfers(self) -> int:
        """The number of transfers that were measured."""
        return len({id(each.transfer) for each in self.samples})

    @property
    def tried(self) -> list[Sample]:
        """The samples with a trial."""
        return [each for each in self.samples if each.trial is not None]

    @property
    def model(self) -> list[Outcome]:
        """The model alone beside the medians of the runs."""
        return [each.outcome(each.by_model) for each in self.samples]

    @property
    def trials(self) -> list[Outcome]:
        """Trials beside the medians of the runs after them."""
        return [each.outcome(each.by_trial) for each in self.tried]


def held_share(samples: Iterable[Sample], *, with_trial: bool) -> tuple[float, int, int] | None:
    """How many runs lay in their intervals: the mean share over all samples, the runs inside, and all runs.

    None where there is no interval. Short transfers run up to a hundred times after one trial: in the mean every sample counts
    once.
    """
    shares, inside, runs = [], 0, 0
    for each in samples:
        said = each.by_trial if with_trial else each.by_model
        if said is not None:
            held = sum(map(said.holds, each.times))
            shares.append(held / len(each.times))
            inside, runs = inside + held, runs + len(each.times)
    return (statistics.fmean(shares), inside, runs) if shares else None


def interval_width(samples: Iterable[Sample], *, with_trial: bool) -> float | None:
    """The median of upper ÷ lower end of the intervals; None where there is no interval."""
    said = (each.by_trial if with_trial else each.by_model for each in samples)
    widths = [found.high / found.low for found in said if found is not None]
    return statistics.median(widths) if widths else None


def transfer_words(transfer: Transfer) -> str:
    """A transfer in short: `12 MiB node0.sys <F, x> → node0.dsk <x, F> (x=1024; fields of 4, 8 B)`."""
    sizes = f"{transfer.space}; fields of {', '.join(map(str, transfer.fields.sizes))} B"
    return f"{format_bytes(transfer.nbytes)} {transfer.source} → {transfer.destination} ({sizes})"
