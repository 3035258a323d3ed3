"""The messages between rank engines. They are small and can be pickled."""

from __future__ import annotations

import logging
import pickle
from typing import TYPE_CHECKING, NamedTuple

from isoviz.errors import Cancelled, RankError, in_words

if TYPE_CHECKING:
    from isoviz.file_rights import Rights
    from isoviz.planner import Instance
    from isoviz.runtime.ranks.handles import StoreHandle
    from isoviz.scheduling.coordinator import Message
    from isoviz.scheduling.work import Stimulus

_LOG = logging.getLogger("isoviz")


class Digest(NamedTuple):
    """What all ranks of a transfer have to agree on: the version of isoviz, the machine and the plan."""

    version: str
    machine: str
    plan: str

    def difference(self, other: Digest) -> str:
        """In words, what differs from another rank's; empty if nothing does."""
        if self.version != other.version:
            return f"isoviz {self.version} instead of {other.version}"
        if self.machine != other.machine:
            return "another machine"
        return "" if self.plan == other.plan else "another plan"


class Relay(NamedTuple):
    """A stimulus for the scheduler of the receiving rank. `handles` are the stores that a credit provides, sent once.

    With the credit of a direct transfer comes its digest. `is_direct`: the other rank of a direct transfer stops or ends it.
    `lies` says how the destination lies, if that is what a credit provides (`Endpoint.lies`).
    """

    stimulus: Stimulus
    handles: tuple[StoreHandle, ...] = ()
    digest: Digest | None = None
    is_direct: bool = False
    lies: Instance | None = None


class Compare(NamedTuple):
    """What rank `rank` has submitted as a transfer, for a rank that it waits for.

    It comes from the sender of a direct transfer (`is_direct`), or from the arbiter.
    """

    transfer: int
    rank: int
    digest: Digest | None
    is_direct: bool


class Consult(NamedTuple):
    """A message for the arbiter on rank 0. With the first message about a transfer comes its digest."""

    message: Message
    digest: Digest | None = None


class Decline(NamedTuple):
    """Rank `rank` cannot take part in a transfer of `ranks`, which therefore fails."""

    transfer: int
    rank: int
    ranks: tuple[int, ...]
    reason: str


class RankLostNotice(NamedTuple):
    """A rank no longer answers."""

    rank: int
    reason: str


class EagerData(NamedTuple):
    """A small transfer: all bytes of its source, or why there are none (`refusal`). `EagerReceipt` answers it."""

    transfer: int
    digest: Digest | None
    source: bytes
    refusal: str | None = None


class EagerReceipt(NamedTuple):
    """The bytes of a small transfer are in place, or the error. `is_cancelled`: the rank of the destination has cancelled it."""

    transfer: int
    error: str | None = None
    is_cancelled: bool = False


class Offer(NamedTuple):
    """The source of a transfer that has moved, for the rank of the destination, which verifies it or gives a file its rights.

    `handle` is None if the rank of the source was interrupted and offers nothing. `sources` and `lies` are those of the source.
    """

    transfer: int
    handle: StoreHandle | None
    sources: tuple[Rights, ...] = ()
    lies: Instance | None = None


class LaneOffer(NamedTuple):
    """What a rank brings to a prepared transfer: the receiver its address, the sender whether it can use that.

    `refusal` says why this rank has no lane, and `error` why it cannot take part at all (`is_cancelled`: it was interrupted).
    `lies` says how its end lies (`Endpoint.lies`).
    """

    transfer: int
    digest: Digest | None
    address: object = None
    refusal: str = ""
    error: str = ""
    is_cancelled: bool = False
    lies: Instance | None = None


class LaneEnd(NamedTuple):
    """The receiver of a plan that comes again offers its end of a lane for submitted transfers; without `address` it has gone."""

    plan: Digest
    address: object
    lies: Instance | None = None


class LaneUse(NamedTuple):
    """The answer of the sender to a `LaneEnd`: it looks for credits. Later it says where its `source` is, and how that lies.

    The lane names that source by its `number`. `may_share`: the receiver may move parts of it. `is_gone`: its array has ended,
    and the lane with it. `is_refused`: it uses no lane for this plan.
    """

    plan: Digest
    source: object = None
    lies: Instance | None = None
    number: int = 0
    may_share: bool = False
    is_gone: bool = False
    is_refused: bool = False


class NoLane(NamedTuple):
    """The receiver carries out a transfer without the lane that its plan has."""

    transfer: int


class FinalStatus(NamedTuple):
    """The last word on a transfer, from the rank of its destination: it is complete, or the error."""

    transfer: int
    error: Exception | None = None
    verified: bool | None = None


class Gathered(NamedTuple):
    """The value of a rank for a collective call, the `turn`-th of the group; from rank 0, the values of all ranks."""

    turn: int
    value: object


def for_others(error: BaseException, rank: int) -> Exception:
    """An error of a rank as the other ranks get it: Ctrl-C there cancels what they do together."""
    return error if isinstance(error, Exception) else Cancelled(f"rank {rank} was interrupted")


def picklable(error: Exception | None, rank: int) -> Exception | None:
    """An error of a rank as it can be sent, without what it came from."""
    if error is None:
        return None
    found = error.with_traceback(None)
    found.__cause__ = found.__context__ = None
    try:
        pickle.loads(pickle.dumps(found))  # noqa: S301  # our own
    except Exception:  # noqa: BLE001  # pickle raises errors of many types
        _LOG.debug("an error cannot be sent to the other ranks, its words can", exc_info=True)
        return RankError(f"rank {rank}: {in_words(error)}", rank=rank)
    return found
