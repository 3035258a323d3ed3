"""Shared resources divided fairly: max-min fairness by progressive filling."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

Uses = tuple[tuple[str, float], ...]
"""Pairs (resource, resource bytes that each payload byte costs)."""
ROUNDING = 1e-12
"""A request or resource is at its limit if it is within this share of it: rates are sums of a few rounded steps."""


def fair_rates(most: Sequence[float], uses: Sequence[Uses], capacity: Mapping[str, float]) -> list[float]:
    """Bytes per second of every active request, in the order given.

    No request exceeds its `most`, and no resource exceeds its `capacity`. No request could be faster without slowing down another
    request that is no faster than it.
    """
    rates = [0.0] * len(most)
    left = dict(capacity)
    growing = set(range(len(most)))
    while growing:
        load: dict[str, float] = {}
        for i in growing:
            for name, weight in uses[i]:
                load[name] = load.get(name, 0.0) + weight
        step = min(most[i] - rates[i] for i in growing)
        for name, weight in load.items():
            if weight > 0:
                step = min(step, left[name] / weight)
        step = max(step, 0.0)
        for i in growing:
            rates[i] += step
        for name, weight in load.items():
            left[name] -= weight * step
        full = {name for name, weight in load.items() if weight > 0 and left[name] <= ROUNDING * capacity[name]}
        stopped = {
            i
            for i in growing
            if rates[i] >= most[i] * (1 - ROUNDING) or any(weight > 0 and name in full for name, weight in uses[i])
        }
        if not stopped:  # rounding left every request just below its limit
            stopped = set(growing) if math.isclose(step, 0.0) else {min(growing, key=lambda i: most[i] - rates[i])}
        growing -= stopped
    return rates
