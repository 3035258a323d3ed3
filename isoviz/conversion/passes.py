"""One pass or two: whether a conversion from disk to disk goes faster by way of a temporary file.

Within a memory of M bytes one pass turns rows into columns by tiles of about M bytes: N / M of them, and every tile is read and
written in runs of about √M. Two passes move everything twice, but by way of a file of small tiles one of them reads and writes in
sequence and the other one only reads, or only writes, in runs of a whole tile. Where runs are short the disk's request rate
decides, and two passes win.

Both are planned as any transfer is; what is compared is the time that the disk needs, from its throughput functions: reading
and writing one disk take turns, and a request that begins or ends within one of its pages costs that page too.
"""

from __future__ import annotations

import contextlib
import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from isoviz.conversion.staging_layouts import stopovers
from isoviz.errors import InputError, LimitError, TransferError, show
from isoviz.planner.options import Options
from isoviz.planner.planners import plan
from isoviz.planner.transfer import Instance, Transfer
from isoviz.units import format_bytes, format_seconds

if TYPE_CHECKING:
    from collections.abc import Iterable

    from isoviz.layouts import Layout, StridedCopy
    from isoviz.machines import Channel, Machine
    from isoviz.planner.plan import Plan

WORTH_A_LOOK = 3.0
"""Seconds of predicted transfer for which one temporary layout is planned: both passes of one take up to 0.15 s."""
LEAST_TRIED, MOST_TRIED = 1, 8
"""Temporary layouts that are planned, the best of them by estimate."""
MORE_SLOTS = 2
"""By how much more slots, of smaller chunks, are tried."""
MAY_COST = 1.02
"""By how much more predicted time these may take."""
LOOKED_AT = 6
"""Chunks by which the disk's seconds of a plan are estimated."""
NEGLIGIBLE = 0.2
"""Seconds of predicted transfer in which nothing is gained by planning more."""


@dataclass(frozen=True)
class Passes:
    """How a transfer is carried out: its `plans` in turn, two of them by way of a file in the layout `through`.

    `seconds` is predicted for all of it, `other_seconds` for the best of the other kind (one pass instead of two, two instead of
    one; infinite where there is none). `temporary_bytes` is the size of the file between.
    """

    plans: tuple[Plan, ...]
    seconds: float
    through: Layout | None = None
    other_seconds: float = math.inf

    @property
    def temporary_bytes(self) -> int:
        """Bytes of the temporary file; 0 where there is none."""
        return self.plans[0].transfer.destination.linearization.nbytes if self.through is not None else 0

    @property
    def reason(self) -> str:
        """The decision for people, in one line; empty where there was nothing to decide."""
        here, there = format_seconds(self.seconds), format_seconds(self.other_seconds)
        if self.through is not None:
            return (
                f"two passes, through a temporary file of {format_bytes(self.temporary_bytes)} in the layout"
                f" {self.through.pretty}: {here} predicted, one pass {there}"
            )
        return "" if math.isinf(self.other_seconds) else f"one pass: {here} predicted, two passes {there}"


def passes(transfer: Transfer, machine: Machine, options: Options | None = None, number: int | None = None) -> Passes:
    """How many passes a transfer takes that is soonest done, or `number` of them (1 or 2); deterministic.

    Two are considered where both ends are whole arrays on one disk whose layouts have no blocks.

    Raises:
        InputError: another number. TransferError: two were asked for and cannot be. What `plan` raises for one pass.
    """
    options = options or Options()
    if number not in (None, 1, 2):
        raise InputError(f"passes: expected 1 or 2, got {show(number)}")
    single = _once(transfer, machine, options)
    if number == 1 or (number is None and single.seconds < max(NEGLIGIBLE, _least_of_two(transfer, machine))):
        return single
    twice = _twice(transfer, machine, options, single.seconds) if _may_stop_over(transfer, machine) else None
    if twice is None:
        if number == 2:
            raise TransferError(
                f"two passes: expected a conversion on one disk of a whole array larger than the buffers, layouts without blocks,"
                f" got {transfer}"
            )
        return single
    if number == 2 or twice.seconds < single.seconds:
        return Passes(twice.plans, twice.seconds, twice.through, single.seconds)
    return Passes(single.plans, single.seconds, None, twice.seconds)


def _once(transfer: Transfer, machine: Machine, options: Options) -> Passes:
    """One pass; with more and smaller chunks where their runs are about as long: reading and writing wait less for each other."""
    found = plan(transfer, machine, "auto", options)
    seconds = disk_seconds(found, machine)
    if options.slots is None and options.memory_limit is not None:
        with contextlib.suppress(InputError):  # no room, or too many
            more = plan(transfer, machine, found.planner, replace(options, slots=MORE_SLOTS * found.slots))
            if (expected := disk_seconds(more, machine)) <= seconds * MAY_COST:
                return Passes((more,), expected)
    return Passes((found,), seconds)


def _least_of_two(transfer: Transfer, machine: Machine) -> float:
    """Seconds that two passes take at least: everything read twice and written twice, in sequence."""
    disk = transfer.source.memory
    others = [channel for channel in machine.channels if not channel.is_self_loop]
    reads = [channel for channel in others if channel.source == disk]
    writes = [channel for channel in others if channel.destination == disk]
    ways = [max(found, key=lambda channel: channel.peak) for found in (reads, writes) if found]
    each = [2 * transfer.nbytes / channel.peak for channel in ways if channel.peak]
    shared = any(channel.resources for channel in ways)  # then the machine says what adds up
    return max(each, default=0.0) if shared else sum(each)


def _twice(transfer: Transfer, machine: Machine, options: Options, seconds: float) -> Passes | None:
    """The best two passes among those that are worth planning, where one pass takes so many seconds."""
    best: Passes | None = None
    for tried, through in enumerate(stopovers(transfer, machine, options)):
        expected = min(seconds, seconds if best is None else best.seconds)
        if tried >= min(MOST_TRIED, max(LEAST_TRIED, expected / WORTH_A_LOOK)):
            break
        found = _by_way_of(through, transfer, machine, options)
        if found is not None and (best is None or found.seconds < best.seconds):
            best = found
    return best


def _by_way_of(through: Layout, transfer: Transfer, machine: Machine, options: Options) -> Passes | None:
    """Both passes; None where one of them has no room."""
    middle = Instance(transfer.source.memory, transfer.space, transfer.fields, through)
    try:
        plans = (
            plan(Transfer(transfer.source, middle, field_names=transfer.field_names), machine, "full", options),
            plan(Transfer(middle, transfer.destination), machine, "full", options),
        )
    except LimitError:
        return None
    return Passes(plans, sum(disk_seconds(each, machine) for each in plans), through)


def _may_stop_over(transfer: Transfer, machine: Machine) -> bool:
    here, there = transfer.source, transfer.destination
    return (
        here.memory == there.memory
        and machine.memory(here.memory).is_file_system
        and transfer.converts
        and not transfer.is_partial
        and here.space == there.space
        and not here.layout.is_blocked
        and not there.layout.is_blocked
    )


# ---- seconds


def disk_seconds(plan: Plan, machine: Machine) -> float:
    """Predicted seconds of a plan, with what the plan's own prediction leaves out: that a request costs all of the pages it
    touches, and that reading and writing one disk take turns, where the machine does not say what they share."""
    some = _some(plan)
    moved = sum(plan.chunks[number].payload_bytes for number in some)
    busy: list[tuple[Channel, float]] = []
    for i, hop in ((0, plan.hops[0]), (len(plan.hops) - 1, plan.hops[-1])):
        disk = hop.source if i == 0 else hop.destination
        if not machine.memory(disk).is_file_system or not moved:
            continue
        channel = machine.channel(hop.channel)
        asked = _reading if i == 0 else _writing
        seconds = sum(asked(plan.copies(i, number), channel) for number in some)
        busy.append((channel, seconds * plan.bytes / moved))
    if not any(channel.resources for channel, _ in busy):
        return max(plan.seconds, sum(seconds for _, seconds in busy))
    shared = [
        sum(
            plan.bytes * resource.cost(dict(channel.resources).get(resource.name, 0.0), plan.bytes / seconds)
            for channel, seconds in busy
        )
        for resource in machine.resources
    ]
    return max(plan.seconds, *shared, *(seconds for _, seconds in busy))


def _some(plan: Plan) -> range:
    """Numbers of chunks that stand for all: some in a row from the middle, with those that are left over where rows end."""
    count = min(plan.chunk_count, LOOKED_AT)
    first = (plan.chunk_count - count) // 2
    return range(first, first + count)


def _reading(copies: Iterable[StridedCopy], channel: Channel) -> float:
    """Seconds to read runs: of whole pages."""
    total = 0.0
    for copy in copies:
        count = copy.nbytes // copy.run
        whole = _starts_at_pages(copy, 1, channel.alignment)
        touched = -(-copy.run // channel.alignment) * channel.alignment + (0 if whole else channel.alignment)
        total += count * touched / channel.rate(touched)
    return total


def _writing(copies: Iterable[StridedCopy], channel: Channel) -> float:
    """Seconds to write runs; a page that is not written whole is one more request at either end."""
    total = 0.0
    for copy in copies:
        count = copy.nbytes // copy.run
        page = channel.alignment
        ends = (not _starts_at_pages(copy, 2, page)) + (copy.run % page != 0 or not _starts_at_pages(copy, 2, page))
        total += count * (copy.run / channel.rate(copy.run) + (ends * page / channel.rate(page) if page > 1 else 0.0))
    return total


def _starts_at_pages(copy: StridedCopy, end: int, page: int) -> bool:
    first = copy.source_offset if end == 1 else copy.destination_offset
    return first % page == 0 and all(loop[end] % page == 0 for loop in copy.loops)
