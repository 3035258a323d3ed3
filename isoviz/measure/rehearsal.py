"""Predicting by rehearsal: the first chunks of a transfer are moved for real, into room that is nobody's, and the rest follows.

A plan is predicted by throughput functions of one number, the run. What a copy takes depends on more: how many fields, which
strides, what is in the caches, what else the computer does at this moment. A rehearsal knows all of that, for some per cent of
the work: the pipeline runs until it is steady, and goes on like that in thought. Short transfers are rehearsed as a whole.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from isoviz.errors import InputError, RunError, TransferError
from isoviz.machines import MemoryKind
from isoviz.planner.time.spread import Prediction

if TYPE_CHECKING:
    from isoviz.planner import Plan
    from isoviz.runtime.engine.engine import Engine
    from isoviz.runtime.trace.report import Report

SHARE = 0.02
"""The share of the chunks that are moved, where there are many."""
LEAST = 0.005
"""Seconds that are rehearsed at least, as far as the transfer has them."""
FULL = 4
"""Chunks that are moved once the pipeline is full, at least."""
QUICK = 0.05
"""Seconds: a rehearsal below is repeated, one above is tried with few chunks first."""
LOST = 2.0
"""A plan that takes so many times as long as the best before it is given up."""
GRACE = 0.02
"""Seconds that may always be taken."""
FLUSHES = 0.2
"""The share of a run from which on waiting for the disk at its end grows with what was moved: what was written lay in a cache."""
SHORT = 0.005
"""Seconds: what takes less differs from run to run, and is done more often."""
REPEATS = 3
MORE_REPEATS = 15
MARGIN = 0.05
"""The share by which an interval is wider than what rehearsals differed."""


@dataclass(frozen=True)
class Rehearsal:
    """What came of it: the `plan`, how many of its `chunks` were moved each time, the seconds that all of them would take by each
    of the `repeats`, and the seconds `spent`."""

    plan: Plan
    chunks: int
    repeats: tuple[float, ...]
    spent: float

    @property
    def prediction(self) -> Prediction:
        """The predicted seconds of the plan, and the interval: what the repeats differed in, and a little more."""
        low, high = min(self.repeats) * (1 - MARGIN), max(self.repeats) * (1 + MARGIN)
        return Prediction(statistics.median(self.repeats), low, high, "rehearsal", self.chunks)


def rehearse(
    engine: Engine, plan: Plan, source: Any | None = None, room: Any | None = None, *, most: float = math.inf
) -> Rehearsal:
    """Rehearse a plan on an engine. `source` is as in `Engine.run`; `room` is an array that may be written to, as large as the
    destination (None: memory that is got for it). On a disk a new file is written, which is given up: one that is there stays. If
    all of it would take more than about `most` seconds, it is given up.

    Raises:
        TransferError: the destination is an instance that is kept in part. Cancelled: it takes more than `most`. What
            `Engine.run` raises.
    """
    transfer = plan.transfer
    if transfer.is_partial:
        raise TransferError(f"rehearsal: {transfer.destination} is written to in part; only whole instances can be rehearsed")
    count = chunks_to_move(plan)
    began = time.perf_counter()
    repeats: list[float] = []
    source, room = _held_ready(engine, plan, source, room)
    share = count / max(1, plan.chunk_count)
    few = count if plan.seconds * share < QUICK else min(count, len(plan.hops) + 1)
    # What is done only once, such as page faults, is not to be seen.
    engine.run(plan, source, room, verify=False, chunks=few, cancel=_Deadline(most * few / max(1, plan.chunk_count)))
    while len(repeats) < (MORE_REPEATS if repeats and max(repeats) < SHORT else REPEATS):
        report = engine.run(plan, source, room, verify=False, chunks=count, cancel=_Deadline(most * share))
        repeats.append(seconds_of_all(report, count))
        if report.seconds > QUICK:
            break
    return Rehearsal(plan, count, tuple(repeats), time.perf_counter() - began)


def rehearsed(engine: Engine, plans: Sequence[Plan], source: Any | None = None, room: Any | None = None) -> list[Rehearsal]:
    """Rehearsals of some plans for one transfer. All but the first are left out where they cannot be carried out, and given up
    where they are clearly slower than one before.

    Raises:
        What `rehearse` raises, of the first plan.
    """
    found = [rehearse(engine, plans[0], source, room)]
    for plan in plans[1:]:
        best = quickest(found).prediction.seconds
        with suppress(RunError, InputError):
            found.append(rehearse(engine, plan, source, room, most=LOST * best))
    return found


def quickest(found: Sequence[Rehearsal]) -> Rehearsal:
    """The one whose plan takes least."""
    return min(found, key=lambda each: each.prediction.seconds)


class _Deadline:
    """A cancel token that is set once moving takes too long: nobody asks it before the ends are open."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds + GRACE
        self._end: float | None = None

    def is_set(self) -> bool:
        if self._end is None:
            self._end = time.perf_counter() + self._seconds
        return time.perf_counter() > self._end


def _held_ready(engine: Engine, plan: Plan, source: Any, room: Any) -> tuple[Any, Any]:
    """Both ends; where they are in memory and nobody gave them, got once for all runs, generated data and all."""
    transfer = plan.transfer
    for end, given in ((transfer.source, source), (transfer.destination, room)):
        memory = engine.machine.memory(end.memory)
        real = engine.devices.memory(memory) if given is None and memory.kind is not MemoryKind.DSK else None
        if real is None:
            continue
        store = real.source(end, None) if end is transfer.source else real.destination(end, None, False)
        array = getattr(store, "array", None)
        if end is transfer.source:
            source = array
        else:
            room = array
    return source, room


def chunks_to_move(plan: Plan) -> int:
    """How many chunks are enough to see how a plan goes on: until the pipeline is full, and some more."""
    count = plan.chunk_count
    full = len(plan.hops) * plan.slots + FULL
    per_chunk = plan.seconds / max(1, count)
    long_enough = math.ceil(LEAST / per_chunk) if 0 < per_chunk < math.inf else 1
    return min(count, max(full, math.ceil(SHARE * count), long_enough))


def seconds_of_all(report: Report, moved: int) -> float:
    """What all chunks of a plan take, going by a run of its first ones: the later half of these says how it goes on."""
    plan, trace = report.plan, report.trace
    if trace is None or moved >= plan.chunk_count:
        return report.seconds
    ends: dict[int, float] = {}
    for span in trace.requests:
        if span.hop == len(plan.hops) - 1:
            ends[span.chunk] = max(ends.get(span.chunk, 0.0), span.end)
    times = sorted(ends.values())
    middle = len(times) // 2
    payloads = [plan.chunks[number].payload_bytes for number in range(len(times))]
    done, later = sum(payloads), sum(payloads[middle:])
    rest = plan.bytes - sum(plan.chunks[number].payload_bytes for number in range(len(times), moved)) - done
    if rest <= 0 or not later:
        return report.seconds
    flush = report.flush_seconds / done * rest if report.flush_seconds > FLUSHES * report.seconds else 0.0
    return report.seconds + (times[-1] - times[middle - 1]) / later * rest + flush
