"""The contiguous runs of a part of an instance: a box or some of the fields leave gaps that the order of the part does not
show."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from isoviz.layouts import FieldsComponent, Linearization, Mode, View
from isoviz.layouts.geometry import mean_run

if TYPE_CHECKING:
    from isoviz.layouts import Layout
    from isoviz.planner.transfer import Transfer


# The order of the fields in the buffers of a path, where the two ends have the fields in different orders.
#
# The first buffers hold them in the order of the source, the others in that of the destination. They change places in
# the hop between, which converts. Where `F` numbers the blocks of the chunks, all buffers have one order.


def buffer_orders(transfer: Transfer, layouts: Sequence[Layout], source_fields: int) -> tuple[Linearization, ...]:
    """The orders of the moved data in buffers with these layouts. The first `source_fields` buffers have the source's fields."""
    kinds = transfer.source_fields, transfer.fields
    return tuple([layout.on(transfer.space, kinds[place >= source_fields]) for place, layout in enumerate(layouts)])


def chunk_order(transfer: Transfer, layout: Layout, source_fields: int) -> Linearization:
    """The order of the chunks of a path."""
    return layout.on(transfer.space, transfer.source_fields if source_fields else transfer.fields)


def end_runs(transfer: Transfer) -> tuple[float, float]:
    """Bytes that are contiguous in the source and in the destination, where only a part moves; infinite where the whole moves."""
    if transfer.is_whole:
        return math.inf, math.inf
    ends = (transfer.source_view(), transfer.source_fields), (transfer.destination_view(), transfer.fields)
    here, there = [transfer.mean_run(view, view, fields.names) for view, fields in ends]  # a buffer adds no gap
    return here, there


def contiguous_bytes(lin: Linearization, origin: Sequence[int], shape: Sequence[int], fields: Sequence[str]) -> float:
    """The mean bytes of the contiguous runs of a box with some of the fields, where `origin` and `shape` are in the order of the
    dimensions; infinite where it is one run."""
    view = View(lin, tuple(origin))
    return mean_run(view, view, tuple(shape), tuple([name for name in lin.fields if name in fields]))


def stretch_bytes(order: Linearization, other: Linearization, nbytes: float) -> float:
    """About how many bytes are contiguous in the order `other`, of the entries that fill the first `nbytes` bytes of `order`."""
    count, fields = len(order.fields), 1
    mean = order.fields.nbytes / count
    left = max(1.0, nbytes / mean)
    covered: dict[str, int] = {}  # per dimension, the number of coordinates from 0
    for part in order.parts:
        extent = count if isinstance(part, FieldsComponent) else part.extent
        taken = int(min(extent, left))
        if isinstance(part, FieldsComponent):
            fields = taken
        elif covered.get(part.dim, 1) == part.step:
            covered[part.dim] = part.step * taken
        if taken < extent:
            break
        left /= taken
    together = 1
    for part in other.parts:
        extent = count if isinstance(part, FieldsComponent) else part.extent
        have = fields if isinstance(part, FieldsComponent) else max(1, covered.get(part.dim, 1) // part.step)
        together *= min(extent, have)
        if have < extent:
            break
    return together * mean


def boxes_of_runs(order: Linearization) -> int:
    """The number of boxes that a long run of an order falls into."""
    digits = [part for part in order.parts if isinstance(part, Mode)]
    late = [any(low.dim == digit.dim and low.step < digit.step for low in digits[i:]) for i, digit in enumerate(digits)]
    return math.prod(digit.extent for digit, scattered in zip(digits, late, strict=True) if scattered)
