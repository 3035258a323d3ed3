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
from collections.abc import Sequence


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
