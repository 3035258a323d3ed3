"""How well predictions hold, and what the planner's choices cost: random transfers, planned, run and measured.

What `isoviz run` says before a run, having tried a few MiB (`isoviz.measure.trial`), is set beside the median of the runs that
follow at once (the plan has run before, and nothing of it is done only once), and its interval beside every single one; and so is
what a rehearsal says (`isoviz.measure.rehearsal`), with what both cost. There are several rounds over all transfers, a minute
apart: what else a computer does comes and goes. What the plan says by the throughput functions alone is about usual times; it is
set beside the median over the rounds. For a sample of the transfers the chosen plan competes with others
(`isoviz.bench.predictions.regret`). Every plan that is run is verified once, in a run of its own. The first run of every transfer
goes into the user's prediction ledger, by which later intervals are calibrated; here intervals are calibrated by what was in the
ledger before, and by the transfers that went before.
"""

from __future__ import annotations

import math
import os
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from isoviz.backends.devices import ThisComputer
from isoviz.backends.host import kernels
from isoviz.bench.predictions.accuracy_report import PredictionTable, tabled
from isoviz.bench.predictions.random_transfers import LARGEST, SMALLEST, random_transfers
from isoviz.bench.predictions.regret import LEAST_RUNS, Regret, regret_of
from isoviz.bench.predictions.timed_runs import TimedRuns
from isoviz.errors import Cancelled, InputError, VerificationError
from isoviz.machines import preset
from isoviz.measure.local_engine import Engine
from isoviz.planner import plan
from isoviz.runtime.ledger.calibration import predicted
from isoviz.runtime.ledger.ledger import ledger, unrecorded
from isoviz.runtime.ledger.ledger_entry import LedgerEntry, entry_of
from isoviz.runtime.ledger.prediction_errors import Outcome
from isoviz.units import format_bytes, parse_bytes

if TYPE_CHECKING:
    from isoviz.machines import Machine
    from isoviz.measure.rehearsal import Rehearsal
    from isoviz.measure.trial import Trial
    from isoviz.planner import Plan, Transfer
    from isoviz.planner.time.spread import Prediction
    from isoviz.runtime import Devices, Report
    from isoviz.runtime.ledger.ledger import Ledger

ORIGIN = "bench predictions"


class Effort(NamedTuple):
    """How much is measured: transfers for the errors and of them for regret, seconds for each of the two (infinite: as long as
    it takes), after how many times its predicted time, and how many seconds, a run is given up, and in how many rounds: the first
    has the seconds for the errors, all later ones together as many again."""

    transfers: int
    regrets: int
    error_seconds: float
    regret_seconds: float
    patience: float = 50.0
    slack: float = 5.0
    rounds: int = 1


USUAL = Effort(50, 12, 150.0, 200.0, rounds=3)
THOROUGH = Effort(200, 60, math.inf, math.inf, rounds=5)
MOST_OF_IT = 0.05
"""A transfer that has taken this share of all the time is run once more and no further."""
SHORT, MOST_RUNS = 0.5, 101
"""Seconds that all runs of a transfer take at least, unless there are so many of them."""
GRACE = 5.0
"""Seconds by which the last transfer may be late."""
RUNS_OF_A_REGRET = 120
"""Runs as long as the chosen one that a regret costs, about: most candidates are slower, but soon run no more."""


@dataclass(frozen=True)
class Round:
    """Seconds of some runs within a moment, and what was `said` just before (None: there is no interval), by a `trial` (None:
    nothing could be tried); and what a rehearsal said (None: none was made again)."""

    times: tuple[float, ...]
    said: Prediction | None = None
    trial: Trial | None = None
    rehearsal: Rehearsal | None = None

    @property
    def seconds(self) -> float:
        """The median of its runs."""
        return statistics.median(self.times)


@dataclass(frozen=True)
class Measured:
    """One transfer: its plan and its runs; `known` are the entries of the ledger before it."""

    transfer: Transfer
    plan: Plan
    rounds: tuple[Round, ...]
    known: int = 0

    @property
    def seconds(self) -> float:
        """The median over its rounds of the median of their runs."""
        return statistics.median(each.seconds for each in self.rounds)

    @property
    def times(self) -> list[float]:
        """Seconds of all runs."""
        return [seconds for each in self.rounds for seconds in each.times]

    def outcome(self, seconds: float, said: Prediction | None = None) -> Outcome:
        """What was said beside one figure; None: the plan's own time."""
        path = " → ".join(hop.kind for hop in self.plan.hops)
        predicted, interval = (self.plan.seconds, None) if said is None else (said.seconds, (said.low, said.high))
        return Outcome(path, transfer_words(self.transfer), self.plan.bytes, predicted, seconds, interval)

    def repeated_outcome(self) -> Outcome | None:
        """The later half of its runs in a moment beside the earlier one: what a prediction would be worth that knew these."""
        times = self.rounds[0].times
        half = len(times) // 2
        if not half:
            return None
        before, after = statistics.median(times[:half]), statistics.median(times[half:])
        return replace(self.outcome(after), predicted=before)

    def later_outcome(self) -> Outcome | None:
        """Its runs in later rounds beside those in the first one: by how much moments differ."""
        if len(self.rounds) < 2:
            return None
        after = statistics.median(each.seconds for each in self.rounds[1:])
        return replace(self.outcome(after), predicted=self.rounds[0].seconds)


@dataclass
class Found:
    """What has been measured so far."""

    measured: list[Measured] = field(default_factory=list)
    regrets: list[Regret] = field(default_factory=list)
    too_long: int = 0
    """Transfers that were drawn and left out: they would have taken longer than there was time."""
    given_up: list[str] = field(default_factory=list)
    """What took so much longer than predicted that it was given up."""
    seconds: float = 0.0

    @property
    def outcomes(self) -> list[Outcome]:
        """What was said before every round beside its median."""
        return [each.outcome(moment.seconds, moment.said) for each in self.measured for moment in each.rounds]

    @property
    def singles(self) -> list[Outcome]:
        """The same beside every single run."""
        every = [(each, moment) for each in self.measured for moment in each.rounds]
        return [each.outcome(seconds, moment.said) for each, moment in every for seconds in moment.times]

    @property
    def usual(self) -> list[Outcome]:
        """What throughput functions alone say beside the median over all rounds."""
        return [each.outcome(each.seconds) for each in self.measured]

    @property
    def moments(self) -> list[Outcome]:
        """The same beside the median of every single round."""
        return [each.outcome(moment.seconds) for each in self.measured for moment in each.rounds]

    @property
    def trials(self) -> list[tuple[Round, Trial]]:
        """All trials, with the runs after them."""
        return [(moment, moment.trial) for each in self.measured for moment in each.rounds if moment.trial is not None]

    @property
    def repeated(self) -> list[Outcome]:
        """Runs beside runs a moment before."""
        found = [each.repeated_outcome() for each in self.measured]
        return [each for each in found if each is not None]

    @property
    def later(self) -> list[Outcome]:
        """Runs beside runs some minutes before."""
        found = [each.later_outcome() for each in self.measured]
        return [each for each in found if each is not None]

    @property
    def rehearsals(self) -> list[tuple[Measured, Round, Rehearsal]]:
        """All rehearsals, each with its transfer and the runs after it."""
        every = [(each, moment, moment.rehearsal) for each in self.measured for moment in each.rounds]
        return [(each, moment, made) for each, moment, made in every if made is not None]

    @property
    def rehearsed(self) -> list[Outcome]:
        """What rehearsals said beside the medians of the runs after them."""
        return [each.outcome(moment.seconds, made.prediction) for each, moment, made in self.rehearsals]


def transfer_words(transfer: Transfer) -> str:
    """A transfer in short: `12 MiB node0.sys <F, x> → node0.dsk <x, F> (x=1024; fields of 4, 8 B)`."""
    sizes = f"{transfer.space}; fields of {', '.join(map(str, transfer.fields.sizes))} B"
    return f"{format_bytes(transfer.nbytes)} {transfer.source} → {transfer.destination} ({sizes})"


def measure(
    size: int | str | None = None,
    repeat: int = 3,
    directory: str | Path | None = None,
    seed: int = 0,
    thorough: bool = False,
    *,
    machine: Machine | None = None,
    devices: Devices | None = None,
    planner: str | None = None,
    effort: Effort | None = None,
    progress: Callable[[str], None] | None = None,
) -> PredictionTable:
    """Errors of predictions and regret of choices for random transfers of 64 KiB to `size` bytes (1 GiB unless given).

    `repeat` is the number of runs whose median is compared with the prediction; short ones are run more often. Files are written
    to a folder of their own in `directory` (None: the working directory, whose disk `local` describes) and removed in every case.
    `seed` draws other transfers. It takes about seven minutes, `thorough` some hours. `machine`, `devices`, `planner` and
    `effort` are for measuring something else than this computer; then nothing goes into the ledger. `progress` is told what is
    being measured.

    Raises:
        InputError: a `size` below 64 KiB. RunError, VerificationError: a run failed.
    """
    largest = LARGEST if size is None else parse_bytes(size)
    if largest < SMALLEST:
        raise InputError(f"bench predictions: --size {format_bytes(largest)}; expected at least {format_bytes(SMALLEST)}")
    if directory is None and os.access(Path.cwd(), os.W_OK):
        directory = Path.cwd()
    with tempfile.TemporaryDirectory(prefix="isoviz-bench-", dir=directory) as folder:
        here = preset("local", directory=folder) if machine is None else machine
        mine = ThisComputer(folder) if devices is None else devices
        book = ledger() if devices is None else None
        memories = [memory for memory in here.memories if mine.memory(memory) is not None]
        largest = min(largest, *(memory.capacity // 8 for memory in memories if memory.capacity is not None), LARGEST)
        began = time.monotonic()
        if devices is None:
            kernels.prepare()  # else the first transfers would go without, and all others with them
        engine = Engine(here, mine)
        with engine, unrecorded():
            bench = _Bench(engine, folder, repeat, planner, effort or (THOROUGH if thorough else USUAL), book)
            bench.tell = progress or bench.tell
            bench.errors(random_transfers(here, [memory.name for memory in memories], seed, SMALLEST, largest))
            bench.later_rounds()
            bench.regrets(random.Random(seed))  # noqa: S311  # no secret
        bench.found.seconds = time.monotonic() - began
    return tabled(bench.found, here, seed, (SMALLEST, largest), repeat)


class _Bench:
    """Transfers on one engine."""

    def __init__(
        self, engine: Engine, folder: str, repeat: int, planner: str | None, effort: Effort, book: Ledger | None
    ) -> None:
        self.engine, self.machine = engine, engine.machine
        self.folder, self.repeat, self.planner, self.effort, self.book = folder, repeat, planner, effort, book
        self.entries: list[LedgerEntry] = [] if book is None else list(book.recent())
        self.found = Found()
        self.tell: Callable[[str], None] = lambda _: None

    def errors(self, draws: Iterator[Transfer]) -> None:
        """Run transfers as they are drawn while there is time."""
        end = time.monotonic() + self.effort.error_seconds
        while len(self.found.measured) < self.effort.transfers and (left := end - time.monotonic()) > 0:
            transfer = next(draws)
            self.tell(f"errors: transfer {len(self.found.measured) + 1} of {self.effort.transfers}, {transfer_words(transfer)}")
            made = plan(transfer, self.machine, self.planner)
            found = None if (self.repeat + 4) * made.seconds > left else self._measured(transfer, made, left)
            if found is None:
                self.found.too_long += 1
            else:
                self.found.measured.append(found)

    def _measured(self, transfer: Transfer, made: Plan, left: float) -> Measured | None:
        """What becomes of a transfer; None where there is no time for it, of which `left` seconds are left."""
        times: tuple[float, ...] = ()
        trial, said, rehearsal, known = None, None, None, len(self.entries)
        with self._runs(transfer) as runs:
            began = time.monotonic()
            trial, said = self._said(runs, made, known)
            report = runs.run(made, self._limit(made), verify=True, most=left + GRACE)
            if report is None and time.monotonic() - began > left:
                return None
            if report is not None:
                self._keep(replace(report, prediction=said, tried=None if trial is None else trial.tried))
                (rehearsal,) = runs.rehearsed([made])
                trial, said = self._said(runs, made, known)
                times = self._times(runs, made, began + min(left, self.effort.error_seconds * MOST_OF_IT))
        if not times:
            self.found.given_up.append(transfer_words(transfer))
            times = (self._limit(made),)  # or more
        return Measured(transfer, made, (Round(times, said, trial, rehearsal),), known)

    def _said(self, runs: TimedRuns, made: Plan, known: int) -> tuple[Trial | None, Prediction | None]:
        """What `isoviz run` says before it runs a plan, with so many entries in the ledger."""
        trial = runs.tried(made)
        return trial, predicted(made, self.machine, self.entries[:known], None if trial is None else trial.prediction)

    def _limit(self, made: Plan) -> float:
        """Seconds after which a run is given up."""
        return self.effort.patience * made.seconds + self.effort.slack

    def _times(self, runs: TimedRuns, made: Plan, end: float) -> tuple[float, ...]:
        """Seconds of some runs, the first of which begins in any case, and none after `end`; none where it was given up."""
        times: list[float] = []
        while self._wants_more(times) and (not times or time.monotonic() < end):
            seconds = runs.seconds(made, self._limit(made))
            if seconds is None:
                break
            times.append(seconds)
        return tuple(times)

    def later_rounds(self) -> None:
        """Run all of them again, some times, while there is time; those that were given up are not."""
        end = time.monotonic() + self.effort.error_seconds
        for number in range(1, self.effort.rounds):
            for place, each in enumerate(self.found.measured):
                label = transfer_words(each.transfer)
                left = end - time.monotonic()
                if label in self.found.given_up or (self.repeat + 2) * each.seconds > left:
                    continue
                self.tell(f"errors: round {number + 1} of {self.effort.rounds}, transfer {place + 1}, {label}")
                with self._runs(each.transfer) as runs:
                    runs.run(each.plan, self._limit(each.plan))  # what is done only once
                    trial, said = self._said(runs, each.plan, each.known)
                    times = self._times(runs, each.plan, time.monotonic() + min(left, self.effort.error_seconds * MOST_OF_IT))
                if times:
                    self.found.measured[place] = replace(each, rounds=(*each.rounds, Round(times, said, trial)))

    def _wants_more(self, times: Sequence[float]) -> bool:
        """Whether more runs say more: short ones differ much, and cost nothing."""
        return len(times) < self.repeat or (len(times) < MOST_RUNS and math.fsum(times) < SHORT)

    def _keep(self, report: Report) -> None:
        entry = entry_of(report, self.machine, ORIGIN)
        self.entries.append(entry)
        if self.book is not None:
            self.book.append(entry)

    def _runs(self, transfer: Transfer) -> TimedRuns:
        return TimedRuns(self.engine, self.engine.devices, transfer, self.folder)

    def regrets(self, rng: random.Random) -> None:
        """Let the chosen plans of some of the transfers compete, while there is time: in the order in which they were drawn,
        those that need more than their share of it last, the quickest of them first."""
        end = time.monotonic() + self.effort.regret_seconds
        share = self.effort.regret_seconds / max(1, self.effort.regrets)
        waiting = sorted(self.found.measured, key=lambda each: max(RUNS_OF_A_REGRET * each.seconds, 2 * share))
        while waiting and len(self.found.regrets) < self.effort.regrets:
            each, left = waiting.pop(0), end - time.monotonic()
            if RUNS_OF_A_REGRET * each.seconds > left:
                return
            label = transfer_words(each.transfer)
            self.tell(f"regret: transfer {len(self.found.regrets) + 1} of {self.effort.regrets}, {label}")
            with self._runs(each.transfer) as runs:
                try:
                    repeat = max(LEAST_RUNS, self.repeat)
                    self.found.regrets.append(regret_of(each.plan, self.machine, runs, each.seconds, rng, repeat, label))
                except VerificationError:
                    raise
                except Cancelled:
                    self.found.given_up.append(label)
