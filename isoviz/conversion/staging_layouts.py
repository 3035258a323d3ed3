"""Layouts of the temporary file between two passes, best first: tiles that keep part of the order of each end.

A tile is contiguous along the fast dimensions of the source and along those of the destination. If the tiles are in source order
and a row of tiles fits a chunk, the first pass is sequential at both ends, and the second pass reads scattered tiles. If the
tiles are in destination order, the first pass writes scattered tiles and the second is sequential. Larger tiles make the
scattered runs longer and lose the sequential access. They suit files so large that a row of tiles does not fit a chunk.

The layouts are sorted by an estimate from their runs, since planning all of them would take too long.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from isoviz.layouts import Component
from isoviz.planner.intermediate.part_layouts import restricted
from isoviz.planner.intermediate.part_runs import contiguous_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isoviz.layouts import Layout, Linearization
    from isoviz.machines import Channel, Machine
    from isoviz.planner.options import Options
    from isoviz.planner.transfer import Transfer

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
