"""How a channel to another rank that a machine describes becomes a real one, by its kind.

`@carries(KIND)` marks the function that makes the channels of a kind. They are in the modules of this folder.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from isoviz.found_modules import FoundTable
from isoviz.machines import Channel, ChannelKind
from isoviz.runtime.protocols import RealChannel

if TYPE_CHECKING:
    from isoviz.backends.mpi.exchange import Exchange
    from isoviz.backends.mpi.gpu_memory import MessageBuffers
    from isoviz.backends.mpi.helper.helpers import Helpers
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
    helpers: Helpers


MakeRankChannel = Callable[[RankParts, int, Channel, bool], RealChannel | None]
"""Make the real channel from a memory of this rank to one of another rank, by its number; None if it cannot connect them.

The last argument says whether one of the memories belongs to a GPU, which is not emulated. Raises TransferError if the ranks
cannot have the channel and there is more to say.
"""

CHANNELS: FoundTable[ChannelKind, MakeRankChannel] = FoundTable("isoviz.backends.mpi.channels")
carries = CHANNELS.marking
