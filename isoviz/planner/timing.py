"""The time model: how long a path takes for chunks of a given size (DESIGN, section 2: objective)."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoviz.machines import Channel, Machine


@dataclass(frozen=True)
class Timing:
    """Predicted behaviour of a path.

    `seconds` for the whole transfer, `period` seconds per full chunk in the steady state, `hop_seconds` per full chunk and hop.
    """

    seconds: float
    period: float
    hop_seconds: tuple[float, ...]
    chunk_bytes: int

    @property
    def throughput(self) -> float:
        """Bytes per second in the steady state."""
        return self.chunk_bytes / self.period


def pipeline(
    machine: Machine,
    channels: Sequence[Channel],
    runs: Sequence[float],
    nbytes: int,
    chunk_bytes: int,
    slots: int,
    overlap: bool,
) -> Timing:
    """The time of a transfer of `nbytes` along `channels`, in chunks of `chunk_bytes`.

    Each hop moves contiguous runs of at most the bytes in `runs`. With N chunks and hop times tₕ it is set-up + Σ tₕ + (N − 1)
    × max tₕ. With one slot between two hops these two cannot work at the same time, so their times add inside the max; without
    `overlap` all hops of a chunk follow each other. Shared resources bound the steady state, throughput × Σ weights ≤
    capacity, and a hop on its own. The last chunk counts for what is in it.
    """
    chunk = min(chunk_bytes, nbytes)
    capacity = {resource.name: resource.capacity for resource in machine.resources}
    shares = [{name: weight * chunk / capacity[name] for name, weight in channel.resources} for channel in channels]
    hops = tuple(
        max(chunk / channel.rate(min(run, chunk)), *share.values(), 0.0)
        for channel, run, share in zip(channels, runs, shares, strict=True)
    )
    if not overlap:
        period = sum(hops)
    elif slots == 1 and len(hops) > 1:
        period = max(here + there for here, there in itertools.pairwise(hops))
    else:
        period = max(hops)
    for name in capacity:
        period = max(period, sum(share.get(name, 0.0) for share in shares))
    setup = sum(channel.setup for channel in channels)
    return Timing(setup + sum(hops) + (nbytes / chunk - 1) * period, period, hops, chunk)
