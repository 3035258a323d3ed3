"""The choice between one pass and two passes through a temporary file, for conversions from disk to disk.

One pass with M bytes of memory transposes N bytes in N / M tiles of about M bytes. It reads and writes every tile in runs of
about √M bytes. Two passes move all bytes twice, through a file of small tiles. One of the passes reads and writes sequentially;
the other has runs of a whole tile in its reads or in its writes. If runs are short, the request rate of the disk is the
bottleneck, and two passes are faster.

Each pass is planned like any transfer. The comparison uses the time of the disk, from its throughput functions. Reads and writes
of one disk take turns. A request that begins or ends within a page costs the whole page.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from isoviz import checks
from isoviz.errors import InputError, LimitError, TransferError
from isoviz.layouts import Component
from isoviz.planner.intermediate.part_layouts import restricted
from isoviz.planner.intermediate.part_runs import contiguous_bytes
from isoviz.planner.options import Options
from isoviz.planner.planners import plan
from isoviz.planner.transfer import Instance, Transfer
from isoviz.units import format_bytes, format_seconds

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from isoviz.layouts import Layout, Linearization, StridedCopy
    from isoviz.machines import Channel, Machine
    from isoviz.planner.plan import Plan


# Layouts of the temporary file between two passes, best first: tiles that keep part of the order of each end.
#
# A tile is contiguous along the fast dimensions of the source and along those of the destination. If the tiles are in
# source order and a row of tiles fits a chunk, the first pass is sequential at both ends, and the second pass reads
# scattered tiles. If the tiles are in destination order, the first pass writes scattered tiles and the second is
# sequential. Larger tiles make the scattered runs longer and lose the sequential access. They suit files so large that
# a row of tiles does not fit a chunk.
#
# The layouts are sorted by an estimate from their runs, since planning all of them would take too long.

_SCALES = range(-2, 5)
"""Exponents of the powers of two by which tiles are scaled, in each direction, from the size that makes a pass sequential."""


_LOOKED_AT = 2048
"""Number of candidates in the search for a divisor."""


def stopovers(transfer: Transfer, machine: Machine, options: Options) -> list[Layout]:
    """Layouts of the temporary file for a transfer from a disk to itself, by ascending estimated time."""
    source, destination = transfer.source_order, transfer.destination_order
    entry = transfer.fields.nbytes
    entries = _chunk_bytes(machine, options) // entry
    disk = transfer.source.memory
    reads = [channel for channel in machine.outgoing(disk) if not channel.is_self_loop]
    writes = [channel for channel in machine.channels if channel.destination == disk and not channel.is_self_loop]
    if not reads or not writes:
        return []
    read, write = max(reads, key=lambda each: each.peak), max(writes, key=lambda each: each.peak)
    unit = max(read.alignment, write.alignment)
    rows, columns = _fitting(source, destination, entries), _fitting(destination, source, entries)
    found: dict[Layout, float] = {}
    for tile in _tiles(source, destination, rows, columns, unit // math.gcd(unit, entry)):
        if math.prod(tile.values()) > entries:
            continue
        for among in (source, destination):
            layout, outer = restricted(destination, among, tile)
            if not outer or layout in found:
                continue
            middle = layout.on(transfer.space, transfer.fields)
            seconds = _seconds(source, middle, tile, entries, read, write) + _seconds(
                middle, destination, tile, entries, read, write
            )
            found[layout] = seconds * middle.nbytes / source.nbytes  # ragged tiles are padded, and move in pieces
    return sorted(found, key=lambda layout: (found[layout], str(layout)))


def _tiles(source: Linearization, destination: Linearization, rows: int, columns: int, unit: int) -> Iterator[dict[str, int]]:
    """Tiles of about `rows` × `columns` entries, as extents by dimension. Their size is a multiple of `unit` where possible."""
    for higher in _SCALES:
        for wider in _SCALES:
            height, width = _scaled(rows, higher), _scaled(columns, wider)
            for wanted in ((height, width), (_even(destination, height), _even(source, width))):
                high, wide = _aligned(*wanted, unit)
                tile = _block(source, wide)
                for dim, extent in _block(destination, high).items():
                    tile[dim] = max(tile[dim], extent)
                yield tile


def _scaled(extent: int, power: int) -> int:
    return max(1, extent << power if power >= 0 else extent >> -power)


def _even(order: Linearization, entries: int) -> int:
    """The largest divisor of the fast dimension between `entries` / 2 and `entries`; `entries` if there is none."""
    dim = next(part.dim for part in order.layout.components if isinstance(part, Component))
    size = order.space[dim]
    if entries >= size:
        return entries
    least = max(entries // 2, entries - _LOOKED_AT)
    return next((each for each in range(entries, least, -1) if size % each == 0), entries)


def _seconds(
    here: Linearization, there: Linearization, tile: Mapping[str, int], entries: int, read: Channel, write: Channel
) -> float:
    """Estimated seconds per byte of one pass, for the best chunk shape: a tile doubled along the source, then the destination."""
    names, origin = here.fields.names, (0,) * len(here.space)
    best = math.inf
    doublings = max(0, (entries // math.prod(tile.values())).bit_length() - 1)
    for along in range(doublings + 1):
        box = _grown(_grown(tile, here, entries, along), there, entries, doublings)
        chunk = math.prod(box.values()) * here.fields.nbytes
        shapes = [tuple(box[dim] for dim in end.space.dims) for end in (here, there)]
        runs = [min(chunk, contiguous_bytes(end, origin, shape, names)) for end, shape in zip((here, there), shapes, strict=True)]
        best = min(best, 1 / read.rate(runs[0]) + 1 / write.rate(runs[1]))
    return best


def _grown(box: Mapping[str, int], order: Linearization, entries: int, times: int) -> dict[str, int]:
    """A box doubled up to `times` times while it has at most `entries` entries, along the fastest dimensions of `order` first."""
    found = dict(box)
    for _ in range(times):
        for part in order.layout.components:
            if not isinstance(part, Component) or found[part.dim] >= order.space[part.dim]:
                continue
            wanted = min(2 * found[part.dim], order.space[part.dim])
            if math.prod(found.values()) // found[part.dim] * wanted <= entries:
                found[part.dim] = wanted
                break
    return found


def _chunk_bytes(machine: Machine, options: Options) -> int:
    """The approximate size of the largest chunk of a pass, in bytes. A pass has three hops and two buffers between them."""
    slots = options.slots or machine.limits.slots
    limit = options.memory_limit or machine.limits.memory_limit
    slot = options.slot_limit or machine.limits.slot_limit
    return slot if limit is None else min(slot, limit // (2 * slots))


def _fitting(first: Linearization, second: Linearization, entries: int) -> int:
    """The number of entries along the fast dimensions of `second` for which `first` is still accessed sequentially.

    For a matrix: the number of whole rows that fit `entries` entries.
    """
    fast = _block(second, 2)
    cut = next((dim for dim, extent in fast.items() if extent > 1), None)
    if cut is None:
        return 1
    faster = 1
    for part in first.layout.components:  # a chunk includes all dimensions that are faster than `cut` in `first`
        if isinstance(part, Component):
            if part.dim == cut:
                break
            faster *= first.space[part.dim]
    return max(1, entries // faster)


def _block(order: Linearization, entries: int) -> dict[str, int]:
    """The first `entries` entries in an order, as extents by dimension: fast dimensions whole, one of them cut, the others 1."""
    block = dict.fromkeys(order.space.dims, 1)
    for part in order.layout.components:
        if isinstance(part, Component) and entries > 1:
            block[part.dim] = min(order.space[part.dim], entries)
            entries //= order.space[part.dim]
    return block


def _aligned(height: int, width: int, unit: int) -> tuple[int, int]:
    """The largest tile within this height and width whose size is a multiple of `unit`, a power of two.

    The height and width are unchanged if there is no such tile.
    """
    best = 0, height, width
    shift = 1
    while shift <= unit:
        high, wide = height // shift * shift, width // (unit // shift) * (unit // shift)
        best = max(best, (high * wide, high, wide))
        shift *= 2
    return best[1:]


WORTH_A_LOOK = 3.0
"""One temporary layout is planned per this many seconds of predicted transfer. Planning its passes takes up to 0.15 s."""
LEAST_TRIED, MOST_TRIED = 1, 8
"""Bounds on the number of temporary layouts that are planned. The best by estimate are planned first."""
MORE_SLOTS = 2
"""Factor on the number of slots in the second plan of one pass. Its chunks are smaller."""
MAY_COST = 1.02
"""A plan with more slots is taken if its predicted time is at most this factor longer."""
LOOKED_AT = 6
"""Number of chunks from which the disk time of a plan is estimated."""
NEGLIGIBLE = 0.2
"""Predicted seconds below which two passes are not planned: they would gain nothing."""


@dataclass(frozen=True)
class Passes:
    """The plans of a conversion, in order: one plan, or two with a temporary file in the layout `through`.

    `seconds` is the predicted time of all passes. `other_seconds` is the predicted time of the best alternative with the other
    number of passes; it is infinite if there is none.
    """

    plans: tuple[Plan, ...]
    seconds: float
    through: Layout | None = None
    other_seconds: float = math.inf

    @property
    def temporary_bytes(self) -> int:
        """Bytes of the temporary file; 0 for one pass."""
        return self.plans[0].transfer.destination.linearization.nbytes if self.through is not None else 0

    @property
    def reason(self) -> str:
        """The decision in one line, for display; empty if there was no alternative."""
        here, there = format_seconds(self.seconds), format_seconds(self.other_seconds)
        if self.through is not None:
            return (
                f"two passes, through a temporary file of {format_bytes(self.temporary_bytes)} in the layout"
                f" {self.through.pretty}: {here} predicted, one pass {there}"
            )
        return "" if math.isinf(self.other_seconds) else f"one pass: {here} predicted, two passes {there}"


def passes(transfer: Transfer, machine: Machine, options: Options | None = None, number: int | None = None) -> Passes:
    """The passes with the shortest predicted time, or the best `number` passes (1 or 2). The result is deterministic.

    Two passes are considered if both ends are whole arrays on one disk and neither layout has blocks.

    Raises:
        InputError: `number` is neither None, 1 nor 2.
        TransferError: `number` is 2 and two passes are impossible.
        Any error of `plan` for one pass.
    """
    options = Options.given(options)
    if number is not None:
        number = checks.count("convert", "passes", number, low=1, high=2)
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
    """One pass. A plan with more, smaller slots is preferred if it is about as fast: reads and writes then wait less."""
    found = plan(transfer, machine, "auto", options)
    if len(found.paths) > 1:  # a pass has one path, whose slots and chunks it chooses
        found = plan(transfer, machine, "full", options)
    seconds = disk_seconds(found, machine)
    if options.slots is None and options.memory_limit is not None:
        with contextlib.suppress(InputError):  # no room for the slots, or more slots than allowed
            more = plan(transfer, machine, found.planner, replace(options, slots=MORE_SLOTS * found.slots))
            if (expected := disk_seconds(more, machine)) <= seconds * MAY_COST:
                return Passes((more,), expected)
    return Passes((found,), seconds)


def _least_of_two(transfer: Transfer, machine: Machine) -> float:
    """A lower bound on the seconds of two passes: all bytes are read twice and written twice, sequentially."""
    disk = transfer.source.memory
    others = [channel for channel in machine.channels if not channel.is_self_loop]
    reads = [channel for channel in others if channel.source == disk]
    writes = [channel for channel in others if channel.destination == disk]
    ways = [max(found, key=lambda channel: channel.peak) for found in (reads, writes) if found]
    each = [2 * transfer.nbytes / channel.peak for channel in ways if channel.peak]
    shared = any(channel.resources for channel in ways)  # the machine models sharing: reads and writes may overlap
    return max(each, default=0.0) if shared else sum(each)


def _twice(transfer: Transfer, machine: Machine, options: Options, seconds: float) -> Passes | None:
    """The best two passes among the temporary layouts worth planning. `seconds` is the predicted time of one pass."""
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
    """Two passes with the temporary layout `through`; None if one of them does not fit the limits."""
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
    """Predicted seconds of a plan, corrected for two effects that `plan.seconds` leaves out.

    A request costs every page that it touches. Reads and writes of one disk take turns, unless the machine models the resources
    that they share.
    """
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
    """Numbers of the chunks in the sample: consecutive ones from the middle, so that shorter chunks at row ends are included."""
    count = min(plan.chunk_count, LOOKED_AT)
    first = (plan.chunk_count - count) // 2
    return range(first, first + count)


def _reading(copies: Iterable[StridedCopy], channel: Channel) -> float:
    """Seconds to read the runs of copies. Every run reads whole pages."""
    total = 0.0
    for copy in copies:
        count = copy.nbytes // copy.run
        whole = _starts_at_pages(copy, 1, channel.alignment)
        touched = -(-copy.run // channel.alignment) * channel.alignment + (0 if whole else channel.alignment)
        total += count * touched / channel.rate(touched)
    return total


def _writing(copies: Iterable[StridedCopy], channel: Channel) -> float:
    """Seconds to write the runs of copies. A partly written page at either end of a run costs one more request."""
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
