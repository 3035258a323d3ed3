"""Leases: a transfer that is alone on all of its channels moves chunk after chunk without asking the scheduler.

The channels are lent to it, so no other transfer issues requests there. A transfer of a lower priority waits anyway. One that the
channel may have to serve now recalls the lease: then the scheduler decides again about each request.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoviz.errors import InputError
from isoviz.scheduling.pool import RUNS, TransferState
from isoviz.scheduling.work import Lease, Recall

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoviz.scheduling.pool import ChannelState
    from isoviz.scheduling.work import Instruction


def unfinished_channels(transfer: TransferState) -> tuple[ChannelState, ...]:
    """The channels on which a transfer has chunks to move."""
    return tuple(dict.fromkeys([xd.channel for xd in transfer.xds.values() if xd.moved < xd.chunks]))


def lease(transfer: TransferState, out: list[Instruction]) -> bool:
    """Lease a transfer its channels if it is alone there. Whether it issues nothing now.

    Its requests in flight end first: it waits for that.
    """
    channels = unfinished_channels(transfer)
    transfer.waits_for_lease = False
    if not all(channel.may_be_leased and channel.serves_only(transfer) for channel in channels):
        return False
    if transfer.in_flight:
        transfer.waits_for_lease = True
        return True
    if any(channel.in_flight for channel in channels):  # the last requests of a transfer that was stopped
        return False
    transfer.leased, transfer.in_flight = channels, 1
    for channel in channels:
        channel.borrower = transfer
    out.append(Lease(transfer.number, tuple([xd.moved for xd in transfer.xds.values()])))
    return True


def recall(channel: ChannelState, out: list[Instruction]) -> None:
    """Recall the lease of a channel if it may have to serve another transfer."""
    holder = channel.borrower
    if type(holder) is TransferState and not holder.recalled and not channel.serves_only(holder):
        holder.recalled = True
        out.append(Recall(holder.number))


def give_back(transfer: TransferState, moved: Sequence[int], again: bool) -> tuple[ChannelState, ...]:
    """Take back a lease, whose transfer has moved the first `moved` chunks on each hop. Returns the channels that are free again.

    Raises:
        InputError: it has no lease, or `moved` is impossible.
    """
    if not transfer.leased or not _is_possible(transfer, moved):
        known = f"has moved {[xd.moved for xd in transfer.xds.values()]}" if transfer.leased else "has no lease"
        raise InputError(f"transfer {transfer.number}: returned a lease after chunks {list(moved)}, but {known}")
    channels, transfer.leased, transfer.recalled = transfer.leased, (), False
    for channel in channels:
        channel.borrower = None
    transfer.in_flight -= 1
    transfer.may_lease = transfer.may_lease and again
    if transfer.state is RUNS:
        _advance(transfer, moved)
    return channels


def _advance(transfer: TransferState, moved: Sequence[int]) -> None:
    """Take note of the chunks that a transfer has moved by itself."""
    xds = transfer.xds.values()
    for xd, count in zip(xds, moved, strict=True):
        if xd.moved < count == xd.chunks:
            xd.channel.leave(xd)
            transfer.unfinished -= 1
        xd.chunk = xd.moved = count
    for xd in xds:
        xd.advanced()
    for xd in xds:
        if xd.moved < xd.chunks and xd.ready:
            xd.channel.wake(xd)


def _is_possible(transfer: TransferState, moved: Sequence[int]) -> bool:
    """Whether the hops of a leased transfer can have moved as many chunks."""
    xds = list(transfer.xds.values())
    if len(moved) != len(xds) or any(not xd.moved <= count <= xd.chunks for xd, count in zip(xds, moved, strict=True)):
        return False
    counts = dict(zip(xds, moved, strict=True))
    return all(
        (xd.feeds is None or counts[xd.feeds] <= count + xd.lead)
        and (xd.releases is None or counts[xd.releases] <= count + xd.slots)
        for xd, count in counts.items()
    )
