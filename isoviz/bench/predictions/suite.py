"""How well predictions hold, and what the planner's choices cost: random transfers, planned, tried, run and measured.

Two predictions are set beside the median of the runs that follow: that of the model alone, and that of a trial just before
(`isoviz.measure.trial`). Their intervals are set beside every single run. The plan has run once before, so that page faults and
the like are not measured. There are several rounds over all transfers, a minute apart, because the speed of a computer changes.
For some of the transfers the chosen plan competes with others (`isoviz.bench.predictions.regret`). Every plan is verified
in a run of its own that is not counted. The first run of every transfer goes into the user's prediction ledger. The intervals
of a transfer go by the entries of the ledger before it, in all rounds.
"""

from __future__ import annotations

import math
import os
import random
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from isoviz.backends.devices import ThisComputer
from isoviz.backends.host import kernels
from isoviz.bench.predictions.random_transfers import LARGEST, SMALLEST, random_transfers
from isoviz.bench.predictions.regret import LEAST_RUNS, TimedRuns, regret_of
from isoviz.bench.predictions.report import Measurements, PredictionTable, Sample, tabled, transfer_words
from isoviz.errors import Cancelled, InputError, VerificationError
from isoviz.machines import preset
from isoviz.measure.local_engine import Engine
from isoviz.planner import plan
from isoviz.runtime.ledger.ledger import ledger, unrecorded
from isoviz.runtime.ledger.ledger_entry import LedgerEntry, entry_of
from isoviz.units import format_bytes, parse_bytes

if TYPE_CHECKING:
    from isoviz.machines import Machine
    from isoviz.measure.trial import Trial
    from isoviz.planner import Plan, Transfer
    from isoviz.runtime import Devices, Report
    from isoviz.runtime.ledger.ledger import Ledger

ORIGIN = "bench predictions"


class Effort(NamedTuple):
    """How much is measured.

    `transfers` are measured for the errors, `regrets` of them for regret, each within a time in seconds (infinite: as long as it
    takes). A run is given up after `patience` times its predicted time and `slack` seconds. The first of the `rounds` has
    `error_seconds`, and all later ones together take at most that time again.
    """

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
"""The share of all the time that one transfer takes at most, its last run apart."""
SHORT, MOST_RUNS = 0.5, 101
"""The seconds that all runs of a transfer take at least, and the number of runs that is enough in any case."""
GRACE = 5.0
"""The seconds by which the last transfer may be late."""
RUNS_OF_A_REGRET = 120
"""The cost of one regret in runs of the chosen plan, about. Most candidates are slower, but soon run no more."""


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
    `effort` are for measuring something else than this computer; then nothing goes into the ledger. `progress` is called with a
    line on what is being measured.

    Raises:
        InputError: a `size` below 64 KiB. RunError, VerificationError: a run failed.
    """
    largest = LARGEST if size is None else parse_bytes(size)
    if largest < SMALLEST:
        raise InputError(f"bench predictions: --size {format_bytes(largest)}; expected at least {format_bytes(SMALLEST)}")
    if directory is None and os.access(Path.cwd(), os.W_OK):
        directory = Path.cwd()
    with tempfile.TemporaryDirectory(prefix="isoviz-bench-", dir=directory) as folder:
        if devices is None:
            kernels.prepare(wait=True)  # else a first measurement and the first transfers would be without them
        here = preset("local", directory=folder) if machine is None else machine
        mine = ThisComputer(folder) if devices is None else devices
        book = ledger() if devices is None else None
        memories = [memory for memory in here.memories if mine.memory(memory) is not None]
        largest = min(largest, *(memory.capacity // 8 for memory in memories if memory.capacity is not None), LARGEST)
        began = time.monotonic()
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
        self.found = Measurements()
        self.known: dict[int, int] = {}
        """The number of ledger entries before a transfer, by its id."""
        self.tell: Callable[[str], None] = lambda _: None

    def errors(self, draws: Iterator[Transfer]) -> None:
        """Run transfers as they are drawn while there is time."""
        end = time.monotonic() + self.effort.error_seconds
        while len(self.found.samples) < self.effort.transfers and (left := end - time.monotonic()) > 0:
            transfer = next(draws)
            self.tell(f"errors: transfer {len(self.found.samples) + 1} of {self.effort.transfers}, {transfer_words(transfer)}")
            made = plan(transfer, self.machine, self.planner)
            found = None if (self.repeat + 4) * made.seconds > left else self._measured(transfer, made, left)
            if found is None:
                self.found.too_long += 1
            else:
                self.found.samples.append(found)

    def _measured(self, transfer: Transfer, made: Plan, left: float) -> Sample | None:
        """The first sample of a transfer; None where the `left` seconds are not enough."""
        times: tuple[float, ...] = ()
        trial, known = None, len(self.entries)
        with self._runs(transfer) as runs:
            began = time.monotonic()
            trial = runs.tried(made, self.entries)
            report = runs.run(made, self._limit(made), verify=True, most=left + GRACE)
            if report is None and time.monotonic() - began > left:
                return None
            if report is not None:
                self._keep(report, trial)
                trial = runs.tried(made, self.entries[:known])
                times = self._times(runs, made, began + min(left, self.effort.error_seconds * MOST_OF_IT))
        if not times:
            self.found.given_up.append(transfer_words(transfer))
            times = (self._limit(made),)  # or more
        self.known[id(transfer)] = known
        return Sample(transfer, made, self.machine, times, trial)

    def _limit(self, made: Plan) -> float:
        """Seconds after which a run is given up."""
        return self.effort.patience * made.seconds + self.effort.slack

    def _times(self, runs: TimedRuns, made: Plan, end: float) -> tuple[float, ...]:
        """The seconds of some runs. The first begins in any case, none after `end`. Empty where it was given up."""
        times: list[float] = []
        while self._wants_more(times) and (not times or time.monotonic() < end):
            seconds = runs.seconds(made, self._limit(made))
            if seconds is None:
                break
            times.append(seconds)
        return tuple(times)

    def later_rounds(self) -> None:
        """Run all transfers again, some times, while there is time. Those that were given up are left out."""
        end = time.monotonic() + self.effort.error_seconds
        first = list(self.found.samples)
        for number in range(1, self.effort.rounds):
            for place, each in enumerate(first):
                label = transfer_words(each.transfer)
                left = end - time.monotonic()
                if label in self.found.given_up or (self.repeat + 2) * each.seconds > left:
                    continue
                self.tell(f"errors: round {number + 1} of {self.effort.rounds}, transfer {place + 1}, {label}")
                with self._runs(each.transfer) as runs:
                    runs.run(each.plan, self._limit(each.plan))  # page faults and the like happen only once
                    trial = runs.tried(each.plan, self.entries[: self.known[id(each.transfer)]])
                    times = self._times(runs, each.plan, time.monotonic() + min(left, self.effort.error_seconds * MOST_OF_IT))
                if times:
                    self.found.samples.append(replace(each, times=times, trial=trial))

    def _wants_more(self, times: Sequence[float]) -> bool:
        """Whether more runs say more: short runs differ much, and cost nothing."""
        return len(times) < self.repeat or (len(times) < MOST_RUNS and math.fsum(times) < SHORT)

    def _keep(self, report: Report, trial: Trial | None) -> None:
        if trial is not None:
            report = replace(report, prediction=trial.prediction, tried=trial.tried)
        entry = entry_of(report, self.machine, ORIGIN)
        self.entries.append(entry)
        if self.book is not None:
            self.book.append(entry)

    def _runs(self, transfer: Transfer) -> TimedRuns:
        return TimedRuns(self.engine, self.engine.devices, transfer, self.folder)

    def regrets(self, rng: random.Random) -> None:
        """Let the chosen plans of some of the transfers compete, while there is time.

        They come in the order in which they were drawn. Those that need more than their share of the time come last.
        """
        end = time.monotonic() + self.effort.regret_seconds
        share = self.effort.regret_seconds / max(1, self.effort.regrets)
        first: dict[int, Sample] = {}
        for each in self.found.samples:
            first.setdefault(id(each.transfer), each)
        waiting = sorted(first.values(), key=lambda each: max(RUNS_OF_A_REGRET * each.seconds, 2 * share))
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
