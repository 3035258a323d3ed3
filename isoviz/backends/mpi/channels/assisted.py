"""Channel Assisted: the helper of the destination's rank carries runs from the memory of this rank to their places in its own."""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from isoviz.backends.host.host_memory import LARGE
from isoviz.backends.mpi.channels.carrying import RankParts, carries
from isoviz.backends.mpi.channels.cutting import cut
from isoviz.backends.mpi.channels.writing import bytes_of, handle_of, require_inside
from isoviz.backends.mpi.helper.ring import PART
from isoviz.errors import RunError
from isoviz.layouts.copies import ListedCopy
from isoviz.machines import ChannelKind
from isoviz.machines.channel_kinds.assisted import RUNS
from isoviz.runtime.device_bases import BaseChannel

if TYPE_CHECKING:
    from isoviz.backends.mpi.helper.client import Ticket
    from isoviz.backends.mpi.helper.helpers import Helpers
    from isoviz.layouts import StridedCopy
    from isoviz.runtime.protocols import Check, Store

Table = np.ndarray[Any, np.dtype[np.int64]]
_TICK = 0.05
"""Seconds between two checks for cancellation."""


class Assisted(BaseChannel):
    """Requests of up to 60 runs to the helper of another rank of this host, which needs neither MPI nor the interpreter there.

    There is no buffer between the two memories. The ring of requests takes the place of an acknowledgement: the memory of the
    destination is always ready. Requests follow each other without waiting, up to as many as a ring holds.
    """

    takes_lists = True

    def __init__(self, helpers: Helpers, rank: int) -> None:
        self._helpers, self._rank = helpers, rank

    def prepare(self, nbytes: int) -> None:  # noqa: ARG002  # the protocol's signature
        """Start the helper of the other rank, before time is measured."""
        self._helpers.client(self._rank)

    def move(self, copies: Sequence[StridedCopy], source: Store, destination: Store, check: Check) -> int:
        check()
        array, handle = bytes_of(source), handle_of(destination)
        require_inside(copies, handle)
        client = self._helpers.client(handle.rank)
        process, here = client.place_of(int(array.ctypes.data), array.nbytes)
        is_large = sum([copy.nbytes for copy in copies]) >= LARGE
        waiting: deque[Ticket] = deque()
        count = 0
        try:
            for table in tables(copies, here, handle.address):
                check()
                waiting.append(client.copy_runs(table, source_process=process, large=is_large, kept=array))
                count += 1
                while waiting and waiting[0].done:
                    waiting.popleft().wait()
            while waiting:
                with contextlib.suppress(TimeoutError):
                    waiting[0].wait(_TICK)
                    waiting.popleft()
                check()
        except BaseException:
            for ticket in waiting:
                ticket.cancel()
            for ticket in waiting:
                with contextlib.suppress(RunError):  # the first error tells more
                    ticket.wait()
            raise
        return count


def tables(copies: Sequence[StridedCopy], here: int, there: int) -> Iterator[Table]:
    """The runs of copies from one address to another one: source, destination and bytes, up to 60 in a table."""
    left: list[Table] = []
    rows = 0
    for part in (part for copy in copies for part in cut(copy, PART)):
        left.append(_runs(part, here, there))
        rows += len(left[-1])
        if rows >= RUNS:
            together = np.concatenate(left)
            full = rows // RUNS * RUNS
            yield from together[:full].reshape(-1, RUNS, 3)
            left, rows = [together[full:]], rows - full
    if rows:
        yield np.concatenate(left)


def _runs(copy: StridedCopy, here: int, there: int) -> Table:
    """The runs of one copy."""
    if isinstance(copy, ListedCopy):
        rows = np.stack([here + copy.offsets[0], there + copy.offsets[1]], axis=1)
    else:
        rows = np.array([[here + copy.source_offset, there + copy.destination_offset]], np.int64)
    for extent, source, destination in copy.loops:
        steps = np.arange(extent)[:, None] * np.array([source, destination])
        rows = (rows[:, None] + steps).reshape(-1, 2)
    return np.concatenate([rows, np.full((len(rows), 1), copy.run)], axis=1)


@carries(ChannelKind.ASSISTED)
def _assisted(rank: RankParts, peer: int, *_: object) -> Assisted | None:
    return Assisted(rank.helpers, peer) if rank.stores.shares_host(peer) else None
