"""Shared resources divided fairly: max-min fairness by progressive filling."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol, TypeVar

Uses = tuple[tuple[str, float], ...]
"""Pairs (resource, resource bytes that each payload byte costs)."""
ROUNDING = 1e-12
"""A request or resource is at its limit if it is within this share of it: rates are sums of a few rounded steps."""


class User(Protocol):
    """A request that uses shared resources."""

    uses: Uses


Request = TypeVar("Request", bound=User)


def those_sharing(names: Iterable[str], users: Mapping[str, Iterable[Request]]) -> list[Request]:
    """The requests that use some of the resources with these names, and those that share a resource with one of them, and so on.

    `users` holds the requests by resource. The rates of all other requests do not depend on them.
    """
    found: dict[Request, None] = {}
    pending = list(names)
    seen = set(pending)
    while pending:
        for request in users[pending.pop()]:
            if request not in found:
                found[request] = None
                new = [name for name, _ in request.uses if name not in seen]
                seen.update(new)
                pending += new
    return list(found)


def fair_rates(most: Sequence[float], uses: Sequence[Uses], capacity: Mapping[str, float]) -> list[float]:
    """Bytes per second of every active request, in the order given.

    No request exceeds its `most`, and no resource exceeds its `capacity`. No request could be faster without slowing down another
    request that is no faster than it.
    """
    load: dict[str, float] = {}
    for rate, each in zip(most, uses, strict=True):
        for name, weight in each:
            load[name] = load.get(name, 0.0) + (weight * rate if weight > 0 else 0.0)
    if all(asked <= capacity[name] for name, asked in load.items()):  # everybody gets what they can take
        return list(most)
    rates = [0.0] * len(most)
    costs = [[use for use in each if use[1] > 0] for each in uses]
    enough = [rate * (1 - ROUNDING) for rate in most]
    left = {name: capacity[name] for name in load}
    growing = list(range(len(most)))
    while growing:
        load = {}
        for i in growing:
            for name, weight in costs[i]:
                load[name] = load.get(name, 0.0) + weight
        step = min([most[i] - rates[i] for i in growing])
        step = max(min([step, *[left[name] / weight for name, weight in load.items()]]), 0.0)
        for i in growing:
            rates[i] += step
        full = set()
        for name, weight in load.items():
            left[name] -= weight * step
            if left[name] <= ROUNDING * capacity[name]:
                full.add(name)
        stopped = {i for i in growing if rates[i] >= enough[i] or (full and any(name in full for name, _ in costs[i]))}
        if not stopped:  # rounding left every request just below its limit
            stopped = set(growing) if math.isclose(step, 0.0) else {min(growing, key=lambda i: most[i] - rates[i])}
        growing = [i for i in growing if i not in stopped]
    return rates
