"""The hops of all paths of a plan in one numbering: that of requests, traces and reports."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from isoviz.planner import PathPlan, Plan


class HopOfPath(NamedTuple):
    """A hop among the hops of all paths.

    - `number`: the number of its path.
    - `path`: its path.
    - `hop`: its position on the path.
    - `ring`: the number of the ring buffer behind it. The ring buffer before it has the number `ring` − 1.
    - `is_last`: whether it writes the destination.
    - `first`: the number of the path's first chunk in the plan's sequence of chunks.
    """

    number: int
    path: PathPlan
    hop: int
    ring: int
    is_last: bool
    first: int


def hops_of(plan: Plan) -> list[HopOfPath]:
    """The hops of all paths, path after path. A path has one ring buffer fewer than hops."""
    found: list[HopOfPath] = []
    for number, path in enumerate(plan.paths):
        ring, last, first = len(found) - number, len(path.hops) - 1, path.numbers.start
        found += [HopOfPath(number, path, hop, ring + hop, hop == last, first) for hop in range(last + 1)]
    return found
