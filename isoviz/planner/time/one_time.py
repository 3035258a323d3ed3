"""What a path pays before its first chunk moves: the one-time costs of its channels (`OneTimeCost`).

Most costs depend on which hops convert and on the layouts of the path. Costs per request, run and page depend on chunks and runs
as well (`SizedCosts`): N chunks map N lists of descriptors. All are set-up, of every start or, if they are kept, of the first.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from isoviz.machines.costs import CopyShape, pages

if TYPE_CHECKING:
    from collections.abc import Collection, Hashable, Iterator, Sequence

    from isoviz.layouts import Linearization
    from isoviz.layouts.windows import Keyed
    from isoviz.machines import Channel, OneTimeCost


def one_time_seconds(
    channels: Sequence[Channel], converts: Sequence[bool], orders: Sequence[Linearization], *, kept: bool = False
) -> float:
    """The sum of the one-time costs of a path that do not depend on its chunks, in seconds; with `kept` of those that are kept.

    `converts` says for every hop whether it converts. `orders` holds the orders at both ends and in every buffer: one more than
    hops.
    """
    total = 0.0
    paid: set[Hashable] = set()
    for hop, (channel, converting) in enumerate(zip(channels, converts, strict=True)):
        if not kept:
            total += channel.setup + (channel.conversion_setup if converting else 0.0)
        for cost in _due(channel, hop, converting):
            things: tuple[Hashable, ...] = ("transfer",)
            if cost.is_sized:
                continue
            if cost.per == "buffer":
                things = hop, hop + 1
            elif cost.per == "layout":
                things = tuple(dict.fromkeys((order.normal, order.fields.names) for order in orders[hop : hop + 2]))
            owner = f"cache {cost.cached_by}" if cost.cached_by else (hop, cost.name)
            for thing in things:
                if (owner, cost.per, thing) not in paid:
                    paid.add((owner, cost.per, thing))
                    total += cost.seconds if cost.kept or not kept else 0.0
    return total


def _due(channel: Channel, hop: int, converting: bool) -> Iterator[OneTimeCost]:
    """The costs that a hop over a channel pays."""
    for cost in channel.costs:
        if (converting or not cost.only_converting) and (hop or not cost.only_following):
            yield cost


class SizedCosts:
    """The one-time costs of a path that depend on its chunks and runs.

    `converting` holds the numbers of the hops that convert, `ends` the bytes of the instances at both ends. An intermediate
    buffer has `slots` slots of a chunk.
    """

    def __init__(self, channels: Sequence[Channel], converting: Collection[int], slots: int, ends: tuple[int, int]) -> None:
        self.channels, self.slots, self.ends = channels, slots, ends
        self._of_hops: list[tuple[int, bool, OneTimeCost]] = []
        self._of_buffers: list[tuple[int, OneTimeCost]] = []
        paid: set[tuple[str, int]] = set()
        for hop, channel in enumerate(channels):
            for cost in _due(channel, hop, hop in converting):
                if cost.per in ("request", "run"):
                    self._of_hops.append((hop, cost.per == "run", cost))
                for place in (hop, hop + 1) if cost.per == "page" else ():
                    if not cost.cached_by or (cost.cached_by, place) not in paid:
                        paid.add((cost.cached_by, place))
                        self._of_buffers.append((place, cost))

    def seconds(
        self,
        nbytes: float,
        chunk: float,
        runs: Sequence[float],
        gaps: Sequence[float],
        keys: Sequence[Keyed | None],
        *,
        kept: bool = False,
    ) -> float:
        """Their sum for `nbytes` bytes in chunks of `chunk` bytes, the last of which may be short; with `kept` of those kept.

        `runs` and `gaps` bound the runs of every hop, in bytes, as in `rate_of`. `keys` are those of a `Clock`.
        """
        count = max(1, math.ceil(nbytes / chunk * (1 - 1e-12)))
        last = nbytes - (count - 1) * chunk
        total = 0.0
        for hop, of_runs, cost in self._of_hops:
            if cost.kept or not kept:
                each, known = [], keys[hop]
                for size in (chunk, last):
                    shape = CopyShape(size, min(runs[hop], gaps[hop], size), 0.0 if known is None else known.window)
                    if known is not None and of_runs:
                        each.append(known.runs(size / nbytes))
                    else:
                        each.append(shape.pieces if of_runs else self.channels[hop].requests(shape))
                total += cost.seconds * ((count - 1) * each[0] + each[1])
        for place, cost in self._of_buffers:
            if cost.kept or not kept:
                ends = {0: self.ends[0], len(self.channels): self.ends[1]}
                total += cost.seconds * pages(ends.get(place, self.slots * chunk))
        return total
