"""The base class of devices. It verifies transfers by reading both ends; derived classes provide the memories and channels."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from isoviz.backends.verify import BUDGET, verify

if TYPE_CHECKING:
    from isoviz.machines import Channel, Memory
    from isoviz.planner import Plan
    from isoviz.runtime.protocols import Bound, Check, Endpoint, RealChannel, RealMemory


class BaseDevices(ABC):
    """Devices (`isoviz.runtime.protocols.Devices`) that verify any stores.

    `verify_budget` limits the memory of a comparison, in bytes.
    """

    def __init__(self, verify_budget: int = BUDGET) -> None:
        self.verify_budget = verify_budget

    @abstractmethod
    def memory(self, memory: Memory) -> RealMemory | None: ...

    @abstractmethod
    def channel(self, channel: Channel, source: Bound, destination: Bound) -> RealChannel | None: ...

    def absence(self, memory: Memory) -> str:  # noqa: ARG002  # a default
        """Nothing to add."""
        return ""

    def verify(self, plan: Plan, source: Endpoint, destination: Endpoint, check: Check) -> None:
        """Read both ends with `Store.read` and compare them."""
        verify(plan.transfer, source, destination, self.verify_budget, check)
