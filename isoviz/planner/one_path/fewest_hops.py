"""The choice among paths with different numbers of hops: more hops have to pay.

Beginning with the fewest hops, a path with more hops wins only where it is faster than the one chosen so far by a thousandth. The
best path of every number of hops decides, so the order of a search does not matter.

What cannot win need not be worked out. With b the best time known for some number of hops:

1. A path with as many hops or more that takes longer than b does not win: the one chosen before it takes at most b, or less than
   a thousandth longer.
2. A path with k hops fewer changes nothing if its time, less a thousandth for each of these hops and for one more, exceeds b:
   with or without it, the path of b or one before it is chosen instead.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from isoviz.planner.one_path.choice import Choice
    from isoviz.planner.problem import Problem

FEWER_HOPS = 1e-3
"""The share of its time by which a plan with more hops has to be faster: predictions err by more."""


class FewestHops:
    """The best choice of every number of hops, and the one that wins among them."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._best: dict[int, Choice] = {}

    def add(self, choice: Choice) -> None:
        """Compare a choice with those known so far."""
        hops = len(choice.route.channels)
        known = self._best.get(hops)
        if known is None or self._problem.key(choice) < self._problem.key(known):
            self._best[hops] = choice

    @property
    def winner(self) -> Choice | None:
        """The choice that wins; None where there is none."""
        found: Choice | None = None
        for hops in sorted(self._best):
            each = self._best[hops]
            if found is None or self._seconds(each) < self._seconds(found) * (1 - FEWER_HOPS):
                found = each
        return found

    def goal(self, hops: int) -> float:
        """The seconds within which a path with so many hops may win, or change what wins."""
        least = math.inf
        for known, choice in self._best.items():
            more = known - hops + 1 if known > hops else 0
            least = min(least, self._seconds(choice) / (1 - FEWER_HOPS) ** more)
        return least

    def fewest(self, most: float) -> Choice | None:
        """The fastest choice with at most so many hops; None where there is none."""
        return min((each for hops, each in self._best.items() if hops <= most), key=self._problem.key, default=None)

    def _seconds(self, choice: Choice) -> float:
        return self._problem.with_cost(choice)
