"""The sources of a lane, as the rank of the destination reaches them to compare what has come."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

from isoviz.runtime.ranks.rank_execution import FetchedStore

if TYPE_CHECKING:
    from collections.abc import Callable

    from isoviz.planner import Plan
    from isoviz.runtime.protocols import Endpoint, Store
    from isoviz.runtime.ranks.handles import Lanes
    from isoviz.runtime.ranks.messages import LaneUse

MOST_SOURCES = 4
"""The arrays that a sender uses with one lane."""


class LaneSources:
    """The sources of a lane for the transfer of a plan to a store: the latest ones that the sender has told of."""

    def __init__(self, lanes: Lanes, plan: Plan, destination: Endpoint) -> None:
        self._lanes, self._plan, self.destination = lanes, plan, destination
        self._told: OrderedDict[int, LaneUse] = OrderedDict()
        self._reached: dict[int, tuple[Plan, Callable[[], Store]]] = {}

    def __contains__(self, number: int) -> bool:
        return number in self._told

    def add(self, message: LaneUse) -> None:
        """The sender tells of a source. It has let go of the oldest one if it has many."""
        self._told[message.number] = message
        while len(self._told) > MOST_SOURCES:
            self._reached.pop(self._told.popitem(last=False)[0], None)

    def of(self, number: int) -> tuple[Plan, Store]:
        """The plan as both ends lie, and the source as it is now.

        Raises:
            RunError: it cannot be reached.
        """
        found = self._reached.get(number)
        if found is None:
            message = self._told[number]
            lying = self._plan.lying(message.lies, self.destination.lies)
            found = self._reached[number] = lying, self._lanes.source(message.source)
        plan, fetch = found
        store = fetch()
        return plan, store if store.reads_in_place else FetchedStore(store, plan.transfer)
