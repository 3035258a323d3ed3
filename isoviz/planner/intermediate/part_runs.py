"""The contiguous runs of a part of an instance: a box or some of the fields leave gaps that the order of the part does not
show."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from isoviz.layouts import FieldsComponent, FieldSpace, Linearization, Mode

if TYPE_CHECKING:
    from isoviz.planner.transfer import Transfer


def end_runs(transfer: Transfer) -> tuple[float, float]:
    """Bytes that are contiguous in the source and in the destination, where only a part moves; infinite where the whole moves."""
    if transfer.is_whole:
        return math.inf, math.inf
    names, (here, there) = transfer.field_names, transfer.runs
    return (
        contiguous_bytes(transfer.source.linearization, transfer.source_origin, here, names),
        contiguous_bytes(transfer.destination.linearization, transfer.destination_origin, there, names),
    )


def contiguous_bytes(lin: Linearization, origin: Sequence[int], shape: Sequence[int], fields: Sequence[str]) -> float:
    """The bytes of the contiguous runs of a box with some of the fields, where `origin` and `shape` are in the order of the
    dimensions.

    Infinite where the part is the whole. Where fields between those that move are omitted, the result is the mean over the groups
    of adjacent fields. A digit that the box cuts counts with the values that it covers.
    """
    if tuple(shape) == lin.space.sizes and len(fields) == len(lin.fields):
        return math.inf
    box = {dim: (lo, extent) for dim, lo, extent in zip(lin.space.dims, origin, shape, strict=True)}
    count = 1
    entry = lin.fields.nbytes / len(lin.fields)  # bytes of a mean element, and of an entry after F
    for part in lin.parts:
        if isinstance(part, FieldsComponent):
            if len(fields) < len(lin.fields):
                moved = sum(lin.fields.sizes[lin.fields.index(name)] for name in fields)
                return count * moved / (_groups(lin.fields, fields) if count == 1 else len(fields))
            entry = lin.fields.nbytes
            continue
        lo, extent = box[part.dim]
        whole = part.step * part.extent
        if (lo, extent) != (0, lin.space[part.dim]) and (lo % whole or extent % whole):
            return count * min(part.extent, max(1, extent // part.step)) * entry
        count *= part.extent
    return math.inf


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


def _groups(space: FieldSpace, fields: Sequence[str]) -> int:
    """The number of groups of adjacent fields among those that move."""
    places = sorted(space.index(name) for name in fields)
    return 1 + sum(b != a + 1 for a, b in itertools.pairwise(places))


def boxes_of_runs(order: Linearization) -> int:
    """The number of boxes that a long run of an order falls into."""
    digits = [part for part in order.parts if isinstance(part, Mode)]
    late = [any(low.dim == digit.dim and low.step < digit.step for low in digits[i:]) for i, digit in enumerate(digits)]
    return math.prod(digit.extent for digit, scattered in zip(digits, late, strict=True) if scattered)
