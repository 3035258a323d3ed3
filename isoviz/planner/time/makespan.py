"""The exact time of a pipeline of full chunks and a shorter last one.

The planner minimises T, in which the last chunk counts as a fraction (`isoviz.planner.time.path_time`). T is smooth, so it can be
searched. The real pipeline is a flow shop: hop h begins chunk c once hop h − 1 has written it, hop h has finished chunk c − 1,
and a slot of its output is free. The completion time is the longest path through the grid of hops and chunks. All chunks but the
last are alike, so this longest path has a closed form. With shared resources the rate of a hop changes whenever another hop
begins or ends; then the pipeline is simulated until it repeats itself.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

from isoviz.planner.time.fair_sharing import fair_rates

SAME = 1e-12
"""Two states of a pipeline are equal if they differ by less than this share: it covers the rounding of a few additions."""
MOST_FOLLOWED = 2048
"""A pipeline that has not repeated itself after this many chunks is extrapolated from its last period; the error is then below
one period in 2048."""


def makespan(hops: Sequence[float], chunks: int, last: float, *, slots: int = 2, overlap: bool = True) -> float:
    """Seconds from the start of the first hop to the end of the last hop.

    `hops` holds the seconds that each hop takes for a full chunk. `chunks` is the number of chunks, `last` the size of the last
    chunk as a share of a full one, `slots` the number of slots per buffer. Without `overlap` all hops of a chunk end before the
    next chunk begins.
    """
    full = chunks - 1
    if not overlap:
        return (full + last) * math.fsum(hops)
    if not full:
        return last * math.fsum(hops)
    if slots == 1 and len(hops) > 1:
        done = [_one_slot(hops, h, full) for h in range(len(hops))]
        at = 0.0
        for h, seconds in enumerate(hops):
            freed = done[h + 1] if h + 1 < len(hops) else 0.0
            at = max(at, freed, done[h]) + last * seconds
        return at
    arrived = slowest = at = 0.0
    for seconds in hops:
        arrived, slowest = arrived + seconds, max(slowest, seconds)
        at = max(at, arrived + (full - 1) * slowest) + last * seconds
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


def shared_makespan(
    hops: Sequence[float], chunks: int, last: float, shares: Sequence[Sequence[float]], *, slots: int = 2, overlap: bool = True
) -> float:
    """The makespan of hops that share resources.

    `shares` holds, for every resource and hop, the seconds of the resource that a full chunk costs. Active hops get fair shares
    (`isoviz.planner.time.fair_sharing`). The other arguments are those of `makespan`.
    """
    return _SharedPipeline(hops, chunks, last, shares, slots, overlap).run()


class _SharedPipeline:
    """A pipeline on shared resources, simulated from event to event."""

    def __init__(
        self, hops: Sequence[float], chunks: int, last: float, shares: Sequence[Sequence[float]], slots: int, overlap: bool
    ) -> None:
        self.hops, self.chunks, self.last, self.slots, self.overlap = hops, chunks, last, slots, overlap
        # Progress is counted in chunks: a hop alone finishes 1/seconds of a chunk per second.
        self.most = [1 / seconds if seconds > 0 else math.inf for seconds in hops]
        self.uses = [tuple((str(k), share[h]) for k, share in enumerate(shares) if share[h]) for h in range(len(hops))]
        self.capacity = {str(k): 1.0 for k in range(len(shares))}
        self.done = [0] * len(hops)
        self.left: list[float | None] = [None] * len(hops)
        """The rest of the current chunk of every hop, as a share of a full chunk; None for an idle hop."""
        self.now = 0.0

    def run(self) -> float:
        seen: tuple[float, tuple[float, ...]] | None = None
        safe = self.chunks - 1 - (self.slots + 1) * len(self.hops)  # until then the last chunk cannot affect any hop
        while self.done[-1] < self.chunks:
            before = self.done[-1]
            self._begin()
            self._advance()
            if self.done[-1] == before or self.done[-1] >= safe:
                continue
            both = zip(self.done, self.left, strict=True)
            state = tuple(done - before + (2.0 if left is None else left) for done, left in both)
            if seen is not None and (_close(seen[1], state) or self.done[-1] > MOST_FOLLOWED):
                skipped = safe - self.done[-1]
                self.now += skipped * (self.now - seen[0])
                self.done = [done + skipped for done in self.done]
                seen, safe = None, 0
            else:
                seen = self.now, state
        return self.now

    def _begin(self) -> None:
        """Start the next chunk on every hop that can start one."""
        for h in range(len(self.hops)):
            chunk = self.done[h]
            if self.left[h] is not None or chunk == self.chunks:
                continue
            if h and self.done[h - 1] <= chunk:
                continue  # the chunk has not arrived
            if h + 1 < len(self.hops) and chunk - self.done[h + 1] >= self.slots:
                continue  # no slot is free
            if not self.overlap and h == 0 and self.done[-1] < chunk:
                continue
            self.left[h] = 1.0 if chunk < self.chunks - 1 else self.last

    def _advance(self) -> None:
        """Advance to the next moment at which a hop finishes a chunk."""
        busy = [h for h, left in enumerate(self.left) if left is not None]
        rates = fair_rates([self.most[h] for h in busy], [self.uses[h] for h in busy], self.capacity)
        todo = [self.left[h] or 0.0 for h in busy]
        step = min(left / rate for left, rate in zip(todo, rates, strict=True))
        self.now += step
        for h, left, rate in zip(busy, todo, rates, strict=True):
            rest = left - rate * step
            if rest > SAME:
                self.left[h] = rest
            else:
                self.left[h] = None
                self.done[h] += 1


def _close(one: Sequence[float], other: Sequence[float]) -> bool:
    return all(abs(a - b) <= SAME * 16 for a, b in zip(one, other, strict=True))
