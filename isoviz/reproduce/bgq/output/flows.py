"""Streams of bytes that share links fairly, thousands of them at once: the flow-level simulation of whole partitions.

The simulator of isoviz follows every window, which takes too long for 8,192 nodes. Here a stream has one rate until another
stream ends: rates are max-min fair, as in `isoviz.planner.time.fair_sharing`, and worked out with NumPy.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

STEP = 0.01
"""Streams that end within this share of the time so far end together. So the time is too long by about this share at most."""
_ROUNDING = 1e-9


def fair_rates(most: Floats, links: Sequence[Sequence[int]], capacity: Floats) -> Floats:
    """The rate of every stream, in bytes per second: max-min fair.

    - `most`: the highest rate of each stream.
    - `links`: for each stream, the numbers of the links that it takes, at least one.
    - `capacity`: bytes per second of each link, by number.
    """
    return _fair_rates(most, *_pairs(links), capacity)


def ends(nbytes: Floats, most: Floats, links: Sequence[Sequence[int]], capacity: Floats) -> Floats:
    """The seconds after which each stream ends, if all begin at once. Arguments as in `fair_rates`."""
    streams, used = _pairs(links)
    left, found, now = nbytes.astype(np.float64), np.zeros(len(nbytes)), 0.0
    active = left > 0
    while active.any():
        kept = active[streams]
        numbers = np.cumsum(active) - 1  # of the active streams among themselves
        rates = _fair_rates(most[active], numbers[streams[kept]], used[kept], capacity)
        seconds = left[active] / rates
        step = max(float(seconds.min()), min(STEP * now, float(seconds.max())))
        places = np.flatnonzero(active)
        ending = seconds <= step * (1 + _ROUNDING)
        found[places[ending]] = now + seconds[ending]
        left[places] = np.where(ending, 0.0, left[places] - rates * step)
        active = left > 0
        now += step
    return found


def _pairs(links: Sequence[Sequence[int]]) -> tuple[Ints, Ints]:
    """For every use of a link by a stream: the stream and the link, stream after stream."""
    streams = np.repeat(np.arange(len(links)), [len(each) for each in links])
    return streams, np.fromiter((link for each in links for link in each), np.int64, len(streams))


def _fair_rates(most: Floats, streams: Ints, used: Ints, capacity: Floats) -> Floats:
    """Progressive filling. A link that no stream of it can fill elsewhere first is full at its even share; all such links of the
    whole machine are filled at once."""
    rates, left = np.zeros(len(most)), capacity.copy()
    while len(streams):
        count = np.bincount(used, minlength=len(capacity))
        even = np.divide(left, count, out=np.full(len(capacity), np.inf), where=count > 0)
        first = np.flatnonzero(np.diff(streams, prepend=-1))
        names = streams[first]
        bound = np.minimum.reduceat(even[used], first)
        done = most[names] <= bound
        found = most[names]
        if not done.any():
            found = bound
            least = np.full(len(capacity), np.inf)
            np.minimum.at(least, used, np.repeat(bound, np.diff(first, append=len(streams))))
            full = (even <= least * (1 + _ROUNDING)) & (count > 0)
            done = np.logical_or.reduceat(full[used], first)
        rates[names[done]] = found[done]
        is_done = np.zeros(len(most), bool)
        is_done[names[done]] = True
        gone = is_done[streams]
        left = np.maximum(left - np.bincount(used[gone], rates[streams[gone]], len(capacity)), 0.0)
        streams, used = streams[~gone], used[~gone]
    return rates
