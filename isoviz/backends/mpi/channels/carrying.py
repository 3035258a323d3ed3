"""How a channel to another rank that a machine describes becomes a real one, by its kind.

`@carries(KIND)` marks the class whose `between` makes the channels of a kind. They are in the modules of this folder.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeVar

from isoviz.found_modules import FoundTable
from isoviz.machines import Channel, ChannelKind, Memory
from isoviz.runtime.protocols import RealChannel

if TYPE_CHECKING:
    from isoviz.backends.mpi.exchange import Exchange
    from isoviz.backends.mpi.gpu_memory import MessageBuffers
    from isoviz.backends.mpi.piece_pool import PiecePool
    from isoviz.backends.mpi.put_window import PutWindow
    from isoviz.backends.mpi.stores import Stores
    from isoviz.backends.mpi.windows import Windows


@dataclass(frozen=True)
class RankParts:
    """What a rank has that its channels to other ranks use.

    `refusals` has the reason for each rank of this host whose memory this rank cannot write to by its address. `put` is None
    where ranks do without MPI puts.
    """

    exchange: Exchange
    stores: Stores
    windows: Windows
    pool: PiecePool
    put: PutWindow | None
    buffers: MessageBuffers
    refusals: dict[int, str]


class BetweenRanks(Protocol):
    """A class of channels to other ranks."""

    @classmethod
    def between(cls, rank: RankParts, channel: Channel, source: Memory, destination: Memory) -> RealChannel | None:
        """The real channel from a memory of this rank to one of another rank; None if it cannot connect them.

        Raises:
            TransferError: it cannot, and there is more to say.
        """


CHANNELS: FoundTable[ChannelKind, type[BetweenRanks]] = FoundTable("isoviz.backends.mpi.channels")
_Class = TypeVar("_Class", bound=BetweenRanks)


def carries(*kinds: ChannelKind) -> Callable[[type[_Class]], type[_Class]]:
    """Mark a class: it carries out the channels of these kinds between ranks."""

    def mark(carrier: type[_Class]) -> type[_Class]:
        CHANNELS.add(carrier, *kinds)
        return carrier

    return mark
