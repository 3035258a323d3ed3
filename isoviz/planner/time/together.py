"""Several paths at the same time, as streams of bytes: the rate of each path, and the time at which the last one ends.

Paths that share nothing do not slow each other down: the slowest path determines the time. A channel or resource that several
paths use is divided by max-min fair sharing with progressive filling (`isoviz.scheduling.fair_sharing`). A path has the rate
that it has alone, unless a shared channel or resource allows less. When a path ends, the remaining paths share the capacity that
it frees.

So T counts the paths of a plan, and so does a redistribution, which may have thousands of paths. The paths of a plan really take
turns, request by request: its prediction follows them (`isoviz.planner.time.schedule`).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from isoviz.scheduling.fair_sharing import Uses, fair_rates

if TYPE_CHECKING:
    from isoviz.planner.path_plan import PathPlan

DONE = 1e-12
"""A path is done if less than this share of its bytes is left: the rest is rounding."""


def seconds_together(paths: Sequence[PathPlan], alone: Sequence[float]) -> float:
    """Seconds until the last of several paths ends, if all begin at once. `alone` holds the seconds of each path by itself."""
    uses = _shared_uses(paths)
    if not any(uses) or math.inf in alone:
        return max(alone)
    left = [float(path.bytes) for path in paths]
    most = [nbytes / seconds if seconds > 0 else math.inf for nbytes, seconds in zip(left, alone, strict=True)]
    capacity = {name: 1.0 for each in uses for name, _ in each}
    active, now = list(range(len(paths))), 0.0
    while active:
        rates = fair_rates([most[i] for i in active], [uses[i] for i in active], capacity)
        step = min(left[i] / rate for i, rate in zip(active, rates, strict=True))
        now += step
        for i, rate in zip(active, rates, strict=True):
            left[i] -= rate * step
        active = [i for i in active if left[i] > DONE * paths[i].bytes]
    return now


def rates_together(paths: Sequence[PathPlan]) -> list[float]:
    """Bytes per second of each path in the steady state, with all paths at work."""
    uses = _shared_uses(paths)
    most = [path.throughput for path in paths]
    return fair_rates(most, uses, {name: 1.0 for each in uses for name, _ in each}) if any(uses) else most


def sharing_paths(paths: Sequence[PathPlan]) -> list[list[int]]:
    """Groups of paths, by number: paths of different groups share no channel and no resource."""
    groups: list[tuple[set[str], list[int]]] = []
    for number, path in enumerate(paths):
        names, members = {name for name, cost in uses_of(path).items() if cost > 0}, [number]
        for group in [each for each in groups if not names.isdisjoint(each[0])]:
            groups.remove(group)
            names, members = names | group[0], members + group[1]
        groups.append((names, members))
    return [sorted(members) for _, members in groups]


def _shared_uses(paths: Sequence[PathPlan]) -> list[Uses]:
    """For every path, the seconds that a byte costs of each channel and resource that another path uses as well.

    A channel or resource has a capacity of one second per second.
    """
    found = [uses_of(path) for path in paths]
    users = Counter(name for each in found for name in each)
    return [tuple((name, cost) for name, cost in each.items() if users[name] > 1 and cost > 0) for each in found]


def uses_of(path: PathPlan) -> dict[str, float]:
    """The seconds of each channel and shared resource that a byte of a path costs."""
    found: dict[str, float] = {}
    for hop, rate in zip(path.hops, path.rates, strict=True):
        name = f"channel {hop.channel}"
        found[name] = found.get(name, 0.0) + (1 / rate if rate else math.inf)
    for resource, share in zip(path.resources, path.shares, strict=True):
        found[f"resource {resource}"] = sum(cost * moved for cost, moved in zip(share, path.moved, strict=True))
    return found
