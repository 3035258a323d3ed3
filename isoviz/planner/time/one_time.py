"""One-time costs along a path: the costs of a transfer that do not depend on its bytes or its chunk."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from isoviz.layouts import Linearization
    from isoviz.machines import Channel


def one_time_seconds(channels: Sequence[Channel], converts: Sequence[bool], orders: Sequence[Linearization]) -> float:
    """The sum of all one-time costs of a path (`OneTimeCost`), in seconds.

    `converts` says for every hop whether it converts. `orders` holds the orders at both ends and in every buffer: one more than
    hops.
    """
    total = 0.0
    paid: set[Hashable] = set()
    for hop, (channel, converting) in enumerate(zip(channels, converts, strict=True)):
        total += channel.setup + (channel.conversion_setup if converting else 0.0)
        for cost in channel.costs:
            if cost.only_converting and not converting:
                continue
            things: tuple[Hashable, ...] = ("transfer",)
            if cost.per == "buffer":
                things = hop, hop + 1
            elif cost.per == "layout":
                things = tuple({orders[hop].normal, orders[hop + 1].normal})
            owner = f"cache {cost.cached_by}" if cost.cached_by else (hop, cost.name)
            for thing in things:
                if (owner, cost.per, thing) not in paid:
                    paid.add((owner, cost.per, thing))
                    total += cost.seconds
    return total
