"""The exact time of a pipeline of full chunks and a shorter last one.

The planner minimises T, in which the last chunk counts as a fraction (`isoviz.planner.time.path_time`). T is smooth, so it can
be searched. Here the last chunk takes what a copy of its size takes: a request of few bytes has the latency of a long one.

The real pipeline is a flow shop: hop h begins chunk c once hop h − 1 has written it, hop h has finished chunk c − 1, and a slot
of its output is free. The completion time is the longest path through the grid of hops and chunks. All chunks but the last are
alike, so this longest path has a closed form. Hops that share channels or resources have none (`isoviz.planner.time.schedule`).
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Sequence
from typing import NamedTuple

from isoviz.units import format_rate

# What sets the pace of a path: one hop, or several that share a channel or a resource.


class PaceSetters(NamedTuple):
    """Hops that set the pace of a path together: those of one channel, or those that use one shared resource.

    `seconds` is how long a byte keeps the channel or the resource busy. `resource` is the name of the resource, "" for a channel.
    `takes_turns` says whether only one of the hops works at a time; else they slow each other down.
    """

    hops: tuple[int, ...]
    seconds: float
    resource: str = ""
    takes_turns: bool = True

    @property
    def rate(self) -> float:
        """The bytes per second that all of its hops sustain."""
        return 1 / self.seconds if self.seconds else math.inf

    def words(self, first: int = 0) -> str:
        """What the hops share, as a sentence without a full stop; "" for one hop that shares nothing with another.

        `first` is the number of the path's first hop among those of all paths.
        """
        together = format_rate(self.rate)
        if len(self.hops) == 1:
            return f"It is as fast as {self.resource} allows" if self.resource else ""
        if not self.resource:
            what = "one channel"
        elif found := re.fullmatch(r"(.+)\.(reading|writing)", self.resource):
            what = f"{'one' if self.takes_turns else 'the'} {found[2].replace('ing', 'er')} of {found[1]}"
        else:
            what = self.resource
        numbers = [f"hop {first + hop}" for hop in self.hops]
        named = f"{', '.join(numbers[:-1])} and {numbers[-1]}".replace("hop", "Hop", 1)
        if self.takes_turns:
            return f"{named} take turns ({what}): together {together}"
        return f"{named} slow each other down (they share {what}): together {together}"


_SAME_PACE = 1e-9
_SHARED = 1e-6
"""A resource sets the pace where it is busy for longer than every channel, by more than this share."""


def paces(
    channels: Sequence[str], rates: Sequence[float], resources: Sequence[str] = (), shares: Sequence[Sequence[float]] = ()
) -> tuple[PaceSetters, ...]:
    """What sets the pace of a path whose hops work at the same time; several where they tie.

    Hop i moves `rates[i]` bytes per second on its channel, and hops of one channel take turns there. A byte costs the shared
    resource r `shares[r][i]` seconds on hop i.
    """
    seconds = [1 / rate if rate else math.inf for rate in rates]
    found = []
    for channel in dict.fromkeys(channels):
        hops = tuple(hop for hop, name in enumerate(channels) if name == channel)
        found.append(PaceSetters(hops, sum(seconds[hop] for hop in hops)))
    alone = max((each.seconds for each in found), default=0.0)
    for name, share in zip(resources, shares, strict=True):
        hops = tuple(hop for hop, each in enumerate(share) if each)
        if sum(share) > alone * (1 + _SHARED):
            turns = all(share[hop] >= seconds[hop] * (1 - _SHARED) for hop in hops)
            found.append(PaceSetters(hops, sum(share), name, turns))
    most = max((each.seconds for each in found), default=0.0)
    return tuple(each for each in found if each.seconds >= most * (1 - _SAME_PACE))


def makespan(hops: Sequence[float], chunks: int, last: Sequence[float], *, slots: int = 2, overlap: bool = True) -> float:
    """Seconds from the start of the first hop to the end of the last hop.

    `hops` holds the seconds that each hop takes for a full chunk, `last` those for the last chunk. `chunks` is the number of
    chunks, `slots` the number of slots per buffer. Without `overlap` all hops of a chunk end before the next chunk begins.
    """
    full = chunks - 1
    if not overlap:
        return full * math.fsum(hops) + math.fsum(last)
    if not full:
        return math.fsum(last)
    if slots == 1 and len(hops) > 1:
        done = [_one_slot(hops, h, full) for h in range(len(hops))]
        at = 0.0
        for h, seconds in enumerate(last):
            freed = done[h + 1] if h + 1 < len(hops) else 0.0
            at = max(at, freed, done[h]) + seconds
        return at
    arrived = slowest = at = 0.0
    for seconds, shorter in zip(hops, last, strict=True):
        arrived, slowest = arrived + seconds, max(slowest, seconds)
        at = max(at, arrived + (full - 1) * slowest) + shorter
    return at


def _one_slot(hops: Sequence[float], hop: int, chunks: int) -> float:
    """The time at which a hop has finished `chunks` full chunks, where two neighbouring hops never work at the same time.

    The longest path moves back and forth between neighbouring hops, once for every chunk but the first. It may go beyond `hop`;
    then it has to return over every pair that it passed.
    """
    pairs = [here + there for here, there in itertools.pairwise(hops)]
    best = -math.inf
    longest_pair = max(pairs[:hop], default=-math.inf)
    length, left = 0.0, chunks - 1
    if left == 0 or hop:
        best = left * longest_pair if left else 0.0
    for pair in pairs[hop:]:
        if left == 0:
            break
        length, left, longest_pair = length + pair, left - 1, max(longest_pair, pair)
        best = max(best, length + left * longest_pair)
    return math.fsum(hops[: hop + 1]) + best
