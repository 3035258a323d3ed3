"""Everything that a rank process needs: the MPI thread, the transport, and the devices of the rank.

with World() as world:
    ...  # world.rank, world.size, world.transport, world.devices
"""

from __future__ import annotations

import logging
import math
import os
import sys
import time
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from isoviz.backends.cuda.gpus import Gpus, ProcessOnHost
from isoviz.backends.mpi.channels.carrying import RankParts
from isoviz.backends.mpi.exchange import Exchange
from isoviz.backends.mpi.fencing import Fence
from isoviz.backends.mpi.gpu_memory import CudaAware, LockedWindows, MessageBuffers
from isoviz.backends.mpi.helper.helpers import Helpers
from isoviz.backends.mpi.hosts import meet, remove_files_of_mpi
from isoviz.backends.mpi.meeting import Meeting
from isoviz.backends.mpi.mpi_transport import LIMIT, PERIOD, MpiTransport
from isoviz.backends.mpi.piece_pool import PiecePool
from isoviz.backends.mpi.put_window import PutWindow
from isoviz.backends.mpi.rank_devices import MpiRankDevices
from isoviz.backends.mpi.serving import Server
from isoviz.backends.mpi.stores import Stores
from isoviz.backends.mpi.tags import STORES
from isoviz.backends.mpi.thread.mpi_thread import MpiThread
from isoviz.backends.mpi.windows import PeerWindows, Segment, Windows
from isoviz.backends.verify import BUDGET
from isoviz.errors import line
from isoviz.layouts.given_arrays import Array

if TYPE_CHECKING:
    from collections.abc import Callable

    from isoviz.backends.cuda.cuda_driver import CudaDriver
    from isoviz.backends.cuda.layout_kernels import KernelMaker

_LOG = logging.getLogger("isoviz")

_PATIENCE = 2.0
"""Seconds that MPI has to end the job, before this process ends and mpiexec ends the others."""


class World:
    """This rank of an MPI job. All ranks make and close it together.

    - `period`, `limit`: seconds between two signs of life, and seconds of silence after which a rank counts as lost.
    - `mapped`: whether ranks of one host map each other's memory. Without it all bytes go through MPI, as between hosts.
    - `put`: whether channels of kind Put work, which need an MPI window.
    - `takes_gpu_memory`: whether MPI takes addresses of GPU memory; None for what its library says (`cuda_aware`).
    - `registered`: the most bytes of registered memory (REG) of this rank; None leaves it to the system.
    - `directory`, `verify_budget`: as in `isoviz.backends.mpi.rank_devices.MpiRankDevices`.
    - `driver`, `kernels`: as in `isoviz.backends.cuda.gpus.Gpus`, for tests.

    In a `with`, an error makes the other ranks count this one as lost, with the error as reason.

    Raises:
        MissingPartError: mpi4py is not installed.
        RunError: MPI cannot be used.
    """

    def __init__(
        self,
        *,
        period: float = PERIOD,
        limit: float = LIMIT,
        mapped: bool = True,
        put: bool = True,
        takes_gpu_memory: bool | None = None,
        registered: int | None = None,
        directory: str | Path | None = None,
        verify_budget: int = BUDGET,
        driver: CudaDriver | None = None,
        kernels: KernelMaker | None = None,
    ) -> None:
        self._early: list[tuple[int, int, bytes]] = []
        self._is_ready = self._closed = False
        self.when_closed: list[Callable[[], None]] = []
        """Called when this rank begins to leave the others."""
        self.thread = MpiThread(self._take)
        self.rank, self.size = self.thread.rank, self.thread.size
        self.windows = Windows(registered, self._ended)
        self._locked = LockedWindows(self.windows)
        self._peers = PeerWindows()
        self._pools = [PiecePool(self.windows.array) for _ in range(2)]
        """One to pack into, one to receive into: ranks that send to each other do not wait for each other's pieces."""
        found, processes, refusals, slots = meet(self.thread, mapped=mapped)
        self.transport = MpiTransport(self.thread, period=period, limit=limit)
        self.transport.hosts, self.transport.slots = found, slots
        self.transport.fence = Fence(processes)
        self.exchange = Exchange(self.thread, self.transport)
        self.meeting = Meeting(self.exchange)
        self.stores = Stores(self.exchange, self.windows, self._peers, mapped=mapped)
        self.helpers = Helpers(self.exchange, self.stores, self.windows, self._peers, refusals)
        """The helpers of the ranks of this host, which serve one-sided requests."""
        self._buffers = MessageBuffers(self.thread, takes_gpu_memory)
        self._server = Server(self.exchange, self.stores.exported, self._pools[1], self._buffers)
        self.exchange.serve["forget"] = self._forget
        self._put = PutWindow(self.exchange, self.windows, self.stores.exported_segments) if put else None
        self.writes_refused = next(iter(refusals.values()), "")
        """Why some rank does not write to pageable memory of another one of its host; empty if all do."""
        refused = {there: words for (rank, there), words in refusals.items() if rank == self.rank}
        here = found[self.rank]
        process = ProcessOnHost(self.rank, f"rank {self.rank}", found[: self.rank].count(here), found.count(here))
        self.parts = RankParts(
            self.exchange, self.stores, self.windows, self._pools[0], self._put, self._buffers, refused, self.helpers
        )
        gpus = Gpus(driver, kernels, process=process, locked=self._locked.address)
        self.devices = MpiRankDevices(self.parts, gpus, directory=directory, verify_budget=verify_budget)
        self.transport.before_loss = self._before_loss
        self.thread.call(self._ready)

    @property
    def hosts(self) -> tuple[str, ...]:
        """The name of the host of each rank. Ranks of one host can map each other's memory."""
        return self.transport.hosts

    @property
    def cuda_aware(self) -> CudaAware:
        """What the MPI library says of memory of GPUs: whether messages are sent from it and received into it."""
        return self._buffers.aware

    def array(self, shape: int | tuple[int, ...], dtype: Any = np.uint8) -> Array:
        """An array of zeros in the windows of this rank, for REG memories.

        Raises:
            RunError: there is no room.
        """
        kind = np.dtype(dtype)
        extents = (shape,) if isinstance(shape, int) else shape
        nbytes = math.prod(extents) * kind.itemsize
        array: Array = self.windows.array(max(1, nbytes))[:nbytes].view(kind)
        return array.reshape(extents)

    def abort(self, reason: str) -> None:
        """End all processes of the job at once. It does not return."""
        print(f"isoviz: rank {self.rank} ends the job: {line(reason)}", file=sys.stderr, flush=True)  # noqa: T201  # last words
        self.thread.post_quietly(lambda: self.thread.mpi.COMM_WORLD.Abort(1))
        time.sleep(_PATIENCE)  # the thread may wait for a rank that does not answer
        os._exit(1)

    def _take(self, sender: int, tag: int, data: bytes) -> None:
        """Pass a message on. Messages of ranks that are ready earlier wait."""
        if not self._is_ready:
            self._early.append((sender, tag, data))
        elif tag == STORES:
            self.exchange.take(sender, tag, data)
        else:
            self.transport.take(sender, tag, data)

    def _ready(self) -> None:
        self._is_ready = True
        for message in self._early:
            self._take(*message)
        self._early.clear()

    def _ended(self, segment: Segment) -> None:
        """Let the GPUs and the ranks of this host forget a segment. This takes no lock."""
        self._locked.forget(segment)
        self.helpers.forget(segment)
        if not self._closed:
            self.thread.post_quietly(partial(self._announce_end, segment))

    def _announce_end(self, segment: Segment) -> None:
        for rank in range(self.size):
            if rank != self.rank and rank not in self.transport.lost and self.stores.shares_host(rank):
                self.exchange.tell(rank, "forget", *segment)

    def _before_loss(self, rank: int, has_ended: bool, may_write: bool) -> bool:
        """Let nothing write for a rank that is lost; whether this rank can go on with the others."""
        self._server.finish(rank)
        self.helpers.drop(rank)
        is_mapped = self.stores.shares_host(rank) and self.windows.nbytes > 0
        is_put_into = self._put is not None and self._put.is_exposed
        if has_ended or not (is_mapped or is_put_into or may_write):
            return True
        _LOG.error(
            "rank %d leaves the others: rank %d is lost, runs perhaps, and may write to the memory of this rank", self.rank, rank
        )
        self.windows.make_private()
        return False

    def _forget(self, sender: int, _number: int, arguments: tuple[Any, ...]) -> None:
        self.helpers.let_go(sender, Segment(*arguments))
        self._peers.forget(Segment(*arguments))

    def close(self, reason: str | None = None) -> None:
        """Leave the job, together with the other ranks, and free everything. With a `reason`, they count this rank as lost.

        If a rank is lost, MPI is not finalised: the process has to end.
        """
        if self._closed:
            return
        self._closed = True
        for call in self.when_closed:
            call()
        clean = False
        if reason is not None:  # the others do not wait for what the helper does for them
            self.helpers.close()
        try:
            clean = self.transport.leave(reason)
            if self._put is not None:
                self._put.close(clean=clean)
        finally:
            self.exchange.close()
            self.helpers.close()
            self._server.close()
            for pool in self._pools:
                pool.close()
            self._peers.close()
            self.transport.fence.close()
            self.stores.exported.clear()
            self.transport.slots = ()
            self.windows.close()
            self.thread.close(clean=clean)
            if not clean:
                remove_files_of_mpi()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if error is None:
            self.close()
            return
        reason = line(f"it ended with {type(error).__name__}: {error}")
        _LOG.error("rank %d leaves the job, and waits for the others: %s", self.rank, reason)
        self.close(reason)
