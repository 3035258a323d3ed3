"""Several paths of one transfer at the same time: how fast each of them is, and when the last one ends.

Paths that share nothing do not slow each other down: the slowest of them says when all is done. A channel that several paths go
over, or a resource that they use, is divided among them in fair shares, max-min fair by progressive filling
(`isoviz.planner.time.fair_sharing`), as the simulator divides resources among requests. A path counts as one stream of bytes: it
is as fast as it would be alone, unless what it shares allows less. When one has ended, the others share what it leaves.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from isoviz.planner.time.fair_sharing import Uses, fair_rates

if TYPE_CHECKING:
    from isoviz.planner.path_plan import PathPlan

DONE = 1e-12
"""The part of a path's bytes below which nothing is left of it: rounding."""


def seconds_together(paths: Sequence[PathPlan], alone: Sequence[float]) -> float:
    """When the last of several paths ends, all begun at once; `alone` are the seconds that each takes by itself."""
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
    """Bytes per second of each path in the steady state, all at work."""
    uses = _shared_uses(paths)
    most = [path.throughput for path in paths]
    return fair_rates(most, uses, {name: 1.0 for each in uses for name, _ in each}) if any(uses) else most


def _shared_uses(paths: Sequence[PathPlan]) -> list[Uses]:
    """For every path, the seconds that a byte takes of each channel and of each resource that another path uses too. Each of them
    has a second in every second."""
    found = [_uses(path) for path in paths]
    users = Counter(name for each in found for name in each)
    return [tuple((name, cost) for name, cost in each.items() if users[name] > 1 and cost > 0) for each in found]


def _uses(path: PathPlan) -> dict[str, float]:
    found: dict[str, float] = {}
    for hop, rate in zip(path.hops, path.rates, strict=True):
        name = f"channel {hop.channel}"
        found[name] = found.get(name, 0.0) + (1 / rate if rate else math.inf)
    for resource, share in zip(path.resources, path.shares, strict=True):
        found[f"resource {resource}"] = sum(cost * moved for cost, moved in zip(share, path.moved, strict=True))
    return found
