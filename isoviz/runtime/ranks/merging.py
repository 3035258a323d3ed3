"""What the ranks measured, put together: one report and one trace on the clock of rank 0."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from isoviz.errors import Cancelled, RankError, RankLost
from isoviz.runtime.opening import OPEN
from isoviz.runtime.trace.report import HopMeasurement, Report, notes_of
from isoviz.runtime.trace.trace import RequestSpan, Trace, TransferSpan

if TYPE_CHECKING:
    from isoviz.machines import Machine
    from isoviz.planner import Plan
    from isoviz.runtime.ranks.rank_execution import RankExecution
    from isoviz.scheduling.work import Work


LEAST_UNCERTAIN = 1e-6
"""Seconds. A report speaks of clocks that agree less."""


@lru_cache(maxsize=16)
def clocks_note(uncertainty: float) -> str:
    """A note for clocks that agree to some seconds."""
    return f"the clocks of the ranks agree to {1e6 * uncertainty:.0f} µs"


@dataclass(frozen=True)
class RankPart:
    """What one rank did and measured of a transfer. It can be pickled.

    Times are seconds of the rank's clock (`time.perf_counter`). `offset` leads to the clock of rank 0: it is added to them. It is
    exact to `uncertainty` seconds. A rank without a part in the transfer has no `work`.
    """

    rank: int
    number: int = -1
    work: Work | None = None
    submitted: float = math.inf
    admitted: float | None = None
    ended: float = -math.inf
    first: float = math.inf
    last: float = -math.inf
    flush_seconds: float = 0.0
    hops: tuple[tuple[int, HopMeasurement], ...] = ()
    """The hops that the rank carried out, each with its number among the hops of all paths."""
    spans: tuple[RequestSpan, ...] = ()
    verified: bool | None = None
    notes: tuple[str, ...] = ()
    error: BaseException | None = None
    offset: float = 0.0
    uncertainty: float = 0.0
    buffer_seconds: float = 0.0
    route: str = "scheduler"

    @classmethod
    def of(cls, execution: RankExecution, rank: int, flush_seconds: float, verified: bool | None) -> RankPart:
        """The part of a rank in an execution that has ended."""
        measured = execution.measured(flush_seconds)
        return cls(
            rank,
            execution.number,
            execution.work,
            execution.submitted,
            execution.admitted,
            execution.ended,
            execution.spans.first,
            execution.spans.last,
            flush_seconds,
            tuple([(hop, measured[hop]) for hop in execution.own_hops]),
            tuple(execution.spans),
            verified,
            execution.notes if execution.phase == OPEN else (),
            execution.error,
            buffer_seconds=execution.buffer_seconds,
            route=execution.event.route,
        )

    def on_clock(self, offset: float, uncertainty: float) -> RankPart:
        """The part with the way from its clock to that of rank 0."""
        return replace(self, offset=offset, uncertainty=uncertainty)


def first_error(parts: Sequence[RankPart]) -> BaseException | None:
    """The error that a transfer failed for: first that of the rank where it happened, then what other ranks heard of it."""
    errors = [part.error for part in parts if part.error is not None]
    second_hand = [error for error in errors if isinstance(error, RankError | Cancelled)]
    at_first_hand = [error for error in errors if error not in second_hand]
    lost = [error for error in errors if isinstance(error, RankLost)]
    return next(iter([*at_first_hand, *lost, *second_hand]), None)


def merged(plan: Plan, machine: Machine, parts: Sequence[RankPart]) -> Report:
    """The report of a plan that several ranks carried out.

    Raises:
        RunError: the plan failed on a rank.
        Exception: it was refused on a rank.
    """
    error = first_error(parts)
    if error is not None:
        raise error
    with_part = [part for part in parts if part.work is not None]
    first = min(part.first + part.offset for part in with_part)
    last = max(part.last + part.offset for part in with_part)
    flush = max(part.flush_seconds for part in with_part)
    found = {hop: measurement for part in with_part for hop, measurement in part.hops}
    hops = tuple(found[hop] for hop in range(len(plan.every_hop)))
    verified = next((part.verified for part in with_part if part.verified is not None), None)
    words = dict.fromkeys(note for part in with_part for note in part.notes)
    clocks = max(part.uncertainty for part in with_part)
    if clocks > LEAST_UNCERTAIN:
        words[clocks_note(clocks)] = None
    notes = (*words, *notes_of(plan, machine))
    trace, waited = merged_trace([(plan, parts)], moving=True), max(part.buffer_seconds for part in with_part)
    seconds, route = max(0.0, last - first) + flush, with_part[0].route
    return Report(plan, seconds, flush, hops, verified, notes, trace, buffer_seconds=waited, route=route)


def merged_trace(runs: Sequence[tuple[Plan, Sequence[RankPart]]], *, moving: bool = False) -> Trace:
    """The trace of some transfers of several ranks, on the clock of rank 0.

    With `moving`, the times before the first and after the last request are left out, but for flushing the destination: opening
    files, allocating pages, generating data, the last messages. So it takes as long as the report says.
    """
    transfers: list[TransferSpan] = []
    requests: list[RequestSpan] = []
    for plan, every in runs:
        parts = [part for part in every if part.work is not None]
        if not parts:
            continue
        first = min(part.first + part.offset for part in parts)
        submitted = min(part.submitted + part.offset for part in parts)
        ended = max(part.ended + part.offset for part in parts)
        granted = [part.admitted + part.offset for part in parts if part.admitted is not None]
        admitted = max(granted) if len(granted) == len(parts) else None
        if moving and math.isfinite(first):
            submitted = admitted = first
            ended = max(part.last + part.offset for part in parts) + max(part.flush_seconds for part in parts)
        sizes = tuple([(path.bytes, path.chunk_payload) for path in plan.paths])
        error = first_error(parts)
        outcome = "done" if error is None else "cancelled" if isinstance(error, Cancelled) else "failed"
        number = parts[0].number
        transfers.append(
            TransferSpan(
                number,
                f"transfer {number}",
                _whole_work(parts),
                plan.bytes,
                max(full for _, full in sizes),
                submitted,
                admitted,
                ended,
                outcome,
                "" if error is None else str(error),
                sizes if len(sizes) > 1 else (),
                plan.emulated,
            )
        )
        for part in parts:
            requests += [span._replace(start=span.start + part.offset, end=span.end + part.offset) for span in part.spans]
    return Trace(tuple(transfers), tuple(sorted(requests, key=lambda span: span.end)), "measured")


def _whole_work(parts: Sequence[RankPart]) -> Work:
    """The work of a transfer, with the requests of each hop as the rank that carried it out counts them."""
    works = {part.rank: part.work for part in parts if part.work is not None}
    any_of = next(iter(works.values()))
    paths = []
    for number, path in enumerate(any_of.paths):
        owners = [works.get(rank, any_of).paths[number] for rank in path.ranks]
        requests = tuple([owner.requests[at] if owner.requests else 1 for at, owner in enumerate(owners)])
        paths.append(path._replace(requests=requests))
    return type(any_of)(tuple(paths), any_of.priority)
