"""The order of the fields in the buffers of a path, where the two ends have the fields in different orders.

The first buffers hold them in the order of the source, the others in that of the destination. They change places in the hop
between, which converts. Where `F` numbers the blocks of the chunks, all buffers have one order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from isoviz.layouts import Layout, Linearization
    from isoviz.planner.transfer import Transfer


def buffer_orders(transfer: Transfer, layouts: Sequence[Layout], source_fields: int) -> tuple[Linearization, ...]:
    """The orders of the moved data in buffers with these layouts, of which the first `source_fields` have the source's fields."""
    kinds = transfer.source_fields, transfer.fields
    return tuple([layout.on(transfer.space, kinds[place >= source_fields]) for place, layout in enumerate(layouts)])


def chunk_order(transfer: Transfer, layout: Layout, source_fields: int) -> Linearization:
    """The order of the chunks of a path."""
    return layout.on(transfer.space, transfer.source_fields if source_fields else transfer.fields)
