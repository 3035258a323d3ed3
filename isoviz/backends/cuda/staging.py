"""Pageable host memory to and from a GPU: through pinned buffers.

A piece of a request is packed into a buffer, in the order of the host memory, so that the processor moves long stretches; the GPU
converts the layout as it reads or writes the pinned buffer. Without layout kernels the processor converts. While the copy engine
moves one piece, the processor packs or unpacks others. A few threads do this, each a piece at a time, as long as there are
requests. Dividing each piece among threads would cost more: on a virtual machine, waking threads takes longer than packing a
piece.
"""

from __future__ import annotations

import logging
import os
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from isoviz.backends.cuda.gpu import prompt_naps
from isoviz.backends.cuda.row_copies import Steps, packed, pieces, stretched
from isoviz.backends.host.copying import copy_all
from isoviz.backends.pages import PAGE
from isoviz.errors import DeviceError, DeviceMemoryError

if TYPE_CHECKING:
    from isoviz.backends.cuda.cuda_driver import PinnedBlock
    from isoviz.backends.cuda.device_memory import DeviceStore
    from isoviz.backends.cuda.enqueueing import Lane
    from isoviz.backends.cuda.layout_kernels import Job
    from isoviz.backends.host.host_memory import HostStore
    from isoviz.layouts import StridedCopy
    from isoviz.runtime.protocols import Check, Done

_LOG = logging.getLogger("isoviz")

PIECE = 8 << 20
"""Bytes of a buffer, and of the largest piece. Threads wait for each other at every piece: with an H200 and 16 cores, 256 MiB
took 9.8 ms in pieces of 8 MiB and 13.5 ms in pieces of 4 MiB."""
THREADS = min(6, os.cpu_count() or 1)
"""Threads of a channel that pack and unpack: one core is slower than the link of a recent GPU. Eight took longer than six."""
AHEAD = 2
"""Buffers of a thread: it packs or unpacks one while the copy engine uses the other."""
_LINGER = 0.5
"""Seconds that a thread waits for a further request before it ends."""

_Parts = list[tuple["StridedCopy", int]]
"""The copies of a piece, each with its offset in the buffer."""


class StagedRequest:
    """Some copies between `host` and `device`, and what is left of them."""

    def __init__(self, copies: Sequence[StridedCopy], host: HostStore, device: DeviceStore, check: Check, done: Done) -> None:
        self.host, self.device = host, device
        self.check, self.done = check, done
        self.taken = self.count = 0
        """Pieces that threads have taken and not settled, and requests of the device."""
        self.error: BaseException | None = None
        self._pieces = pieces(copies, PIECE)
        self._next: _Parts | None = next(self._pieces, None)

    @property
    def has_more(self) -> bool:
        """Whether pieces are left to begin."""
        return self._next is not None and self.error is None

    def take(self) -> _Parts:
        """The next piece."""
        found = self._next
        assert found is not None
        self._next = next(self._pieces, None)
        self.taken += 1
        return found


class _Piece(NamedTuple):
    request: StagedRequest
    buffer: PinnedBlock
    event: int
    unpack: list[StridedCopy]


class Staging:
    """The buffers of one channel and its threads. `to_device` tells the direction; `lane` queues the work of the GPU."""

    def __init__(self, lane: Lane, to_device: bool, name: str) -> None:
        self._lane, self._to_device, self._name = lane, to_device, name
        self._driver = lane.gpu.driver
        self._changed = threading.Condition()
        # What follows is read and changed under `_changed`.
        self._waiting: deque[StagedRequest] = deque()
        """Requests with pieces that no thread has taken."""
        self._latest: Check | None = None
        """The transfer of the request that began last."""
        self._threads: dict[threading.Thread, None] = {}
        self._idle = self._starving = self._resting = 0
        """Threads that wait for a request, and for a buffer; calls that wait for all threads."""
        self._free: list[PinnedBlock] = []
        self._buffers = 0

    def put(self, copies: Sequence[StridedCopy], host: HostStore, device: DeviceStore, check: Check, done: Done) -> None:
        """Begin a request; returns at once. `done` is called in a thread of this object.

        Raises:
            RuntimeError: the system allows no thread.
        """
        request = StagedRequest(copies, host, device, check, done)
        useful = -(-sum([copy.nbytes for copy in copies]) // PIECE)
        with self._changed:
            while len(self._threads) < THREADS and self._idle < useful:
                thread = threading.Thread(target=self._work, name=f"{self._name} {len(self._threads)}", daemon=True)
                try:
                    thread.start()
                except RuntimeError:  # the system allows no more threads: the running ones do the work
                    if not self._threads:
                        raise
                    break
                self._threads[thread] = None
                useful -= 1
            self._waiting.append(request)
            self._changed.notify_all()

    def expected(self, copies: Sequence[StridedCopy], device: DeviceStore) -> Iterator[Job]:
        """The jobs of kernels for a request. Each buffer begins at a page."""
        for piece in pieces(copies, PIECE):
            into, out = self._steps(piece)
            if self._to_device:
                yield from self._lane.expected(out, PAGE, device.address)
            else:
                yield from self._lane.expected(into, device.address, PAGE)

    def _steps(self, piece: _Parts) -> Steps:
        """The copies of a piece into its buffer and out of it, in the order of the host: the GPU converts, if it has kernels."""
        with_kernels = not self._lane.gpu.kernels.missing
        by = "source" if self._to_device == with_kernels else "destination"
        found = stretched([copy for copy, _ in piece], by, PIECE) if with_kernels else None
        if found is not None:
            return found
        steps = [packed(copy, offset, by) for copy, offset in piece]
        return Steps([step.into for step in steps], [step.out for step in steps])

    def rest(self) -> None:
        """End the threads as soon as there is no request, and wait for them. A later `put` starts others."""
        with self._changed:
            threads = [each for each in self._threads if each is not threading.current_thread()]
            if not threads:
                return
            self._resting += 1
            self._changed.notify_all()
        for thread in threads:
            thread.join()
        with self._changed:
            self._resting -= 1

    # ---- the threads

    def _work(self) -> None:
        prompt_naps()
        try:
            with self._lane.gpu.current():
                self._work_on_gpu()
        except BaseException as error:  # noqa: BLE001  # the GPU cannot be used: every request reports it
            with self._changed:
                self._threads.pop(threading.current_thread(), None)
                waiting = [*self._waiting]
                for request in waiting:
                    request.taken += 1
            for request in waiting:
                self._ended(request, error)

    def _work_on_gpu(self) -> None:
        """Take pieces as long as there are any. The thread uses the GPU from here on: every call to ask or say so costs time."""
        flying: deque[_Piece] = deque()
        while True:
            # The end of a request must not wait for a piece of another one.
            while flying and not flying[0].request.has_more and self._is_over(flying[0]):
                self._settle(flying.popleft())
            found = self._taken(wait=not flying)
            if found is not None:
                self._begin(*found, flying)
            elif flying:
                self._settle(flying.popleft())
            else:
                return

    def _taken(self, *, wait: bool) -> tuple[StagedRequest, _Parts] | None:
        """The next piece; None if there is none. With `wait`, None also means that this thread has to end."""
        with self._changed:
            while not self._waiting:
                self._latest = None  # it keeps its transfer alive
                if not wait:
                    return None
                self._idle += 1
                goes_on = self._changed.wait_for(lambda: self._waiting or self._resting, _LINGER) and not self._resting
                self._idle -= 1
                if not goes_on and not self._waiting:
                    self._threads.pop(threading.current_thread(), None)
                    if not self._threads:
                        self._give_back()
                    return None
            request = self._waiting[0]
            piece = request.take()
            if not request.has_more:
                self._latest = request.check
                self._waiting.popleft()
                self._take_turns()
            return request, piece

    def _take_turns(self) -> None:
        """Let a request of another transfer be the next one: each transfer has a `check` of its own."""
        other = next((each for each in self._waiting if each.check != self._latest), None)
        if other is not None:
            self._waiting.remove(other)
            self._waiting.appendleft(other)

    def _is_over(self, piece: _Piece) -> bool:
        try:
            return self._driver.is_over(piece.event)
        except BaseException:  # noqa: BLE001  # `_settle` meets the error again, and the request reports it
            return True

    def _begin(self, request: StagedRequest, piece: _Parts, flying: deque[_Piece]) -> None:
        """Begin a piece, which joins those that fly for this thread."""
        try:
            request.check()
            if len(flying) == AHEAD:
                self._settle(flying.popleft())
            flying.append(self._queued(request, piece, self._buffer(flying)))
        except BaseException as error:  # noqa: BLE001  # the request reports it
            self._ended(request, error)

    def _buffer(self, flying: deque[_Piece]) -> PinnedBlock:
        """A free buffer.

        Raises:
            DeviceMemoryError: there is no room for a single one.
        """
        while True:
            with self._changed:
                if self._free:
                    return self._free.pop()
                self._buffers += 1
            try:
                return self._driver.allocate_pinned(PIECE)
            except BaseException as error:
                with self._changed:
                    self._buffers -= 1
                    self._changed.notify_all()
                    is_alone = not self._buffers
                if is_alone or not isinstance(error, DeviceMemoryError):
                    raise
            if flying:
                self._settle(flying.popleft())
                continue
            with self._changed:  # the other threads have buffers
                self._starving += 1
                self._changed.wait_for(lambda: self._free or not self._buffers)
                self._starving -= 1

    def _queued(self, request: StagedRequest, piece: _Parts, buffer: PinnedBlock) -> _Piece:
        """Pack a piece and queue its copies."""
        assert buffer.array is not None
        lane, at = self._lane, buffer.pointer
        event = None
        try:
            into, out = self._steps(piece)
            event = lane.event()
            if self._to_device:
                copy_all(into, request.host.array, buffer.array, request.check)
                count = lane.queue(out, at, request.device.address)
            else:
                count = lane.queue(into, request.device.address, at)
            self._driver.record(event, lane.stream)
        except BaseException:
            self._wait_for_all()
            self._freed(buffer, event)
            raise
        with self._changed:
            request.count += count
        return _Piece(request, buffer, event, [] if self._to_device else out)

    def _settle(self, piece: _Piece) -> None:
        """Wait for a piece and unpack it."""
        request, error = piece.request, None
        try:
            self._lane.gpu.await_end(piece.event)
            if piece.unpack and request.error is None:
                assert piece.buffer.array is not None
                host = request.host
                copy_all(piece.unpack, piece.buffer.array, host.array, request.check, large=host.is_large)
        except BaseException as raised:  # noqa: BLE001  # the request reports it
            error = raised
            self._wait_for_all()
        self._freed(piece.buffer, piece.event)
        self._ended(request, error)

    def _wait_for_all(self) -> None:
        """After an error: a buffer may be in use."""
        with suppress(DeviceError):
            self._driver.wait_stream(self._lane.stream)

    def _freed(self, buffer: PinnedBlock, event: int | None) -> None:
        if event is not None:
            self._lane.drop(event)
        with self._changed:
            self._free.append(buffer)
            if self._starving:
                self._changed.notify_all()

    def _ended(self, request: StagedRequest, error: BaseException | None) -> None:
        """A piece of a request has ended. The last one ends the request."""
        with self._changed:
            request.error = request.error or error
            request.taken -= 1
            if request.error is not None and request in self._waiting:
                self._waiting.remove(request)
            if request.taken or request.has_more:
                return
        try:
            request.done(request.count if request.error is None else request.error)
        except BaseException:  # noqa: BLE001  # an error of one request must not end the thread
            _LOG.exception("the end of a GPU request raised")

    def _give_back(self) -> None:
        """Give all buffers back to the pool of pinned memory."""
        for buffer in self._free:
            self._driver.free_pinned(buffer)
        self._free.clear()
        self._buffers = 0
