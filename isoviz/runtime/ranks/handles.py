"""Handles: how a rank reaches a store of another rank, and what a rank asks of its devices for that."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

from isoviz.runtime.protocols import Devices

if TYPE_CHECKING:
    from isoviz.runtime.protocols import Store


class StoreHandle(NamedTuple):
    """The address of a store of rank `rank` for other ranks. It can be pickled.

    - `key`: the number of the exported store on that rank.
    - `nbytes`: the bytes of the store.
    - `window`: what the devices need to map the store (a segment and an offset); None if it cannot be mapped.
    - `alignment`, `base`: those of the store.
    """

    rank: int
    key: int
    nbytes: int
    window: tuple[object, ...] | None
    alignment: int = 1
    base: int = 0


class RankDevices(Devices, Protocol):
    """The real memories and channels of one rank. Other ranks reach its stores by handles."""

    def export(self, store: Store) -> StoreHandle:
        """Make a store of this rank reachable for other ranks, until `withdraw`."""

    def withdraw(self, handle: StoreHandle) -> None:
        """Make a store of this rank unreachable again, before it is closed."""

    def reach(self, handle: StoreHandle) -> Store:
        """A store of another rank: a destination for the channels of this rank. It can be read, too.

        If the store is mapped, its bytes are host memory of this rank. Closing it releases what this rank holds of it only.
        """
