"""The sources of a lane, as the rank of the destination reaches them to compare what has come."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from isoviz.planner import Plan
    from isoviz.runtime.protocols import Check, Endpoint
    from isoviz.runtime.ranks.handles import Lanes
    from isoviz.runtime.ranks.messages import LaneUse

MOST_SOURCES = 4
"""The arrays that a sender uses with one lane."""


class LaneSources:
    """The sources of a lane for the transfer of a plan to a store: the latest ones that the sender has told of."""

    def __init__(self, lanes: Lanes, plan: Plan, destination: Endpoint) -> None:
        self._lanes, self._plan, self._destination = lanes, plan, destination
        self._told: OrderedDict[int, LaneUse] = OrderedDict()
        self._comparisons: dict[int, Callable[[Check], None]] = {}

    def __contains__(self, number: int) -> bool:
        return number in self._told

    def has_dropped(self, number: int) -> bool:
        """Whether the sender has told of a source, and let go of it."""
        return any(later > number for later in list(self._told)) and number not in self._told

    def add(self, message: LaneUse) -> None:
        """The sender tells of a source. It has let go of the oldest one if it has many."""
        self._told[message.number] = message
        while len(self._told) > MOST_SOURCES:
            self._comparisons.pop(self._told.popitem(last=False)[0], None)

    def compare(self, number: int, check: Check) -> None:
        """Compare the destination with a source.

        Raises:
            VerificationError: they differ. RunError: the source cannot be read.
        """
        found = self._comparisons.get(number)
        if found is None:
            message = self._told[number]
            lying = self._plan.lying(message.lies, self._destination.lies)
            found = self._comparisons[number] = self._lanes.comparison(lying, message.source, self._destination)
        found(check)
