"""Trials: the current rates of a plan's hops, measured on a few MiB just before a run.

The time of a conversion depends on more than the run length, which is all that throughput functions know: the number of fields
and the strides matter, too. The rates of disks and memories change by a third within seconds or minutes. One chunk of some MiB,
moved hop after hop, measures both effects in milliseconds. A few consecutive chunks measure how hops slow each other down. The
time model then continues with these rates.

If a path has other devices, or the runs of the chunk are scattered over a new file, only the copies within memory are tried, and
all other hops are idle.
"""

from __future__ import annotations

import os
import statistics
import time
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from isoviz import checks
from isoviz.backends.devices import ThisComputer
from isoviz.backends.host import kernels
from isoviz.checks import expect
from isoviz.errors import Cancelled, InputError, RunError, TransferError
from isoviz.machines import Machine, MachineLike, machine_argument
from isoviz.measure.trial_runs import between, is_copy, measured_rates, model_rate, scatter_of, with_rates
from isoviz.planner import Options, Plan
from isoviz.planner.explanation.alternatives import alternatives
from isoviz.planner.time.spread import NO_RECORD, TrialRecord
from isoviz.runtime.ledger.ledger import ledger
from isoviz.runtime.ledger.ledger_entry import LedgerEntry
from isoviz.runtime.ledger.trial_interval import conformal_bounds, trial_prediction, trial_record
from isoviz.runtime.opening import opening

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from isoviz.planner.time.spread import Prediction
    from isoviz.runtime.protocols import CancelToken


@dataclass(frozen=True)
class Trial:
    """The result of a trial.

    `tried` is the `plan` with the measured rates of its hops, moved a little towards those of the model. Use only its times:
    simulations and explanations use the rates of the machine. `ranges` are the ranges of the rates over the repeats, by hop, as
    multiples of the median. `prediction` has the seconds of `tried` and their interval. The trial took `spent` seconds. `record`
    says how close trials came in earlier runs of this kind, which decides whether the trial is the prediction. `others` are the
    trials of the other plans (`trial(..., of=5)`); that of the given plan comes first unless it is the fastest.
    """

    plan: Plan
    tried: Plan
    ranges: Mapping[int, tuple[float, float]]
    prediction: Prediction
    spent: float
    record: TrialRecord = NO_RECORD
    others: tuple[Trial, ...] = ()


def trial(
    plan: Plan,
    machine: MachineLike,
    source: Any | None = None,
    *,
    of: int = 1,
    options: Options | None = None,
    room: Any | None = None,
    devices: ThisComputer | None = None,
    entries: Sequence[LedgerEntry] | None = None,
    cancel: CancelToken | None = None,
) -> Trial | None:
    """Measure the hops of a plan on this computer: `trial(plan, machine).prediction`.

    With `of` above 1 the plan and its best alternatives within `options` are tried, `of` plans in all. The result is the trial of
    the fastest plan: `trial(plan, machine, of=5).plan`. Alternatives that cannot be tried are skipped.

    `source` is as in `Engine.run`. `room` is a writable array as large as the destination (None: memory is allocated), or the
    path of the destination. For a path, a nameless file in the same directory is written and discarded. If no source on a disk is
    named, a nameless source file is generated in the same way. `entries` are earlier runs, which determine the interval (None:
    those of the user's ledger). `cancel` is checked between requests.

    Returns None if nothing can be tried: the plan has several paths; the path has no copy within memory and no file to read; the
    parts of an array that a trial touches are so far apart that it needs more than 256 MiB; the trial was cancelled or took more
    than some seconds.

    Raises:
        InputError: `of` is below 1.
        TransferError: the plan is for another machine.
        RunError: a hop failed.
    """
    expect("trial", plan, Plan, "a plan")
    machine = machine_argument("trial", machine)
    of = checks.count("trial", "of", of, low=1)
    options = Options.given(options)
    checks.expect_token("trial", cancel)
    if devices is not None:
        expect("trial", devices, ThisComputer, "the devices of this computer or None")
    if room is not None:
        expect("trial, room", room, (np.ndarray, str, os.PathLike), "an array, a path or None")
    if entries is not None:
        entries = checks.items("trial, entries", entries, "earlier runs")
        for each in entries:
            expect("trial, entries", each, LedgerEntry, "earlier runs")
    if plan.machine_digest != machine.digest:
        raise TransferError(f"plan: made for a machine {plan.machine_name!r} that is not {machine.name!r} as it is; plan again")
    if len(plan.paths) > 1:  # a trial is of one path
        return None
    if entries is None:
        book = ledger()
        entries = () if book is None else book.recent()
    mine = devices or ThisComputer()
    first = _tried_once(plan, machine, source, room, mine, entries, cancel)
    if first is None or of == 1:
        return first
    found = [first]
    for other in alternatives(plan, machine, of, options)[1:]:
        if cancel is not None and cancel.is_set():
            break
        with suppress(RunError, InputError):
            tried = _tried_once(other, machine, source, room, mine, entries, cancel)
            found += [] if tried is None else [tried]
    best = min(found, key=lambda each: each.prediction.seconds)
    return replace(best, others=tuple(each for each in found if each is not best))


try_out = trial
"""The earlier name of `trial`, until version 1.0."""


def _tried_once(
    plan: Plan,
    machine: Machine,
    source: Any,
    room: Any,
    devices: ThisComputer,
    entries: Sequence[LedgerEntry],
    cancel: CancelToken | None,
) -> Trial | None:
    """The trial of one plan."""
    began = time.perf_counter()
    if any(is_copy(machine.channel(hop.channel), machine) for hop in plan.hops):
        try:
            with opening(partial(_check, cancel)):
                kernels.prepare_unless_cancelled()  # Loading takes a second, or longer if they are not in the page cache.
        except Cancelled:
            return None
    found = measured_rates(plan, machine, source, room, devices, cancel)
    if found is None or (cancel is not None and cancel.is_set()):
        return None
    medians = {hop: statistics.median(rates) for hop, rates in found.rates.items()}
    ranges = {hop: conformal_bounds([rate / medians[hop] for rate in rates]) for hop, rates in found.rates.items()}
    rates = {hop: between(rate, model_rate(plan, machine, hop)) / found.crowding for hop, rate in medians.items()}
    tried = with_rates(plan, machine, rates, statistics.median(found.idle))
    prediction = trial_prediction(plan, tried.seconds, scatter_of(tried, machine, ranges), entries)
    return Trial(plan, tried, ranges, prediction, time.perf_counter() - began, trial_record(plan, entries))


def _check(cancel: CancelToken | None) -> None:
    if cancel is not None and cancel.is_set():
        raise Cancelled("the trial was cancelled")
