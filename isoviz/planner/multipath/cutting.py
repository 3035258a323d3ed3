"""Shares of the bytes as boxes of a transfer: parts of one dimension, side by side."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from isoviz.layouts import Box, Mode
from isoviz.planner.multipath.tuning import FINE_PARTS, PAGE

if TYPE_CHECKING:
    from isoviz.planner.transfer import Transfer


def cut_dims(transfer: Transfer) -> list[str]:
    """The dimensions that are worth cutting: the slowest one of each end, whose parts are contiguous there, and the longest."""
    slowest = [
        next((part.dim for part in reversed(order.parts) if isinstance(part, Mode)), None)
        for order in (transfer.destination_order, transfer.source_order)
    ]
    sizes = transfer.space.as_dict()
    return [
        dim for dim in dict.fromkeys([*slowest, max(sizes, key=lambda dim: sizes[dim])]) if dim is not None and sizes[dim] > 1
    ]


def cut(transfer: Transfer, dim: str, shares: Sequence[float]) -> list[Box | None]:
    """A box for every share, in the order of the shares; None where a share is 0, or less than half of the smallest part.

    Together the boxes are the whole transfer.
    """
    size, step = transfer.space[dim], _step(transfer, dim, sum(share > 0 for share in shares))
    units = math.ceil(size / step)
    at = list(transfer.space).index(dim)
    whole = Box.whole(transfer.space)
    found: list[Box | None] = []
    total, begin, sum_of_shares = 0.0, 0, math.fsum(shares)
    for share in shares:
        total += share
        end = min(size, step * round(units * total / sum_of_shares))
        box = Box((*whole.lo[:at], begin, *whole.lo[at + 1 :]), (*whole.hi[:at], end, *whole.hi[at + 1 :]))
        found.append(box if end > begin else None)
        begin = end
    return found


def _step(transfer: Transfer, dim: str, count: int) -> int:
    """Cuts are multiples of this number of coordinates: a block of both ends, and whole pages, where that is fine enough."""
    size = transfer.space[dim]
    orders = transfer.source_order, transfer.destination_order
    blocks = [part.step for order in orders for part in order.parts if isinstance(part, Mode) and part.dim == dim]
    block = math.lcm(*blocks)
    each = max(1, transfer.nbytes // size)
    page = max(1, PAGE // math.gcd(PAGE, each))
    for step in (math.lcm(block, page), block):
        if size // step >= FINE_PARTS * count:
            return step
    return 1
