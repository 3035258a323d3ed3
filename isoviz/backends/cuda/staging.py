"""Pageable host memory to and from a GPU: through a ring of pinned buffers.

A piece of a request is packed into a buffer, in the order of the host memory, so that the processor moves long stretches; the GPU
converts the layout as it reads or writes the pinned buffer. Without layout kernels the processor converts. While the copy engine
moves one piece, the processor packs or unpacks the next one. A single thread does this, as long as there are requests.
"""

from __future__ import annotations

import logging
import os
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from isoviz.backends.cuda.row_copies import Packing, packed, pieces
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

PIECE = 4 << 20
"""Bytes of a buffer of the ring."""
RING = 4
"""Buffers: two are packed or unpacked while two are in flight."""
_LINGER = 0.5
"""Seconds that the thread waits for a further request before it ends."""
_THREADS = min(8, os.cpu_count() or 1)
"""Threads that copy in host memory: one core alone is slower than the link of a recent GPU."""


class StagedRequest:
    """Some copies between `host` and `device`, and what is left of them."""

    def __init__(
        self, copies: Sequence[StridedCopy], host: HostStore, device: DeviceStore, piece: int, check: Check, done: Done
    ) -> None:
        self.host, self.device = host, device
        self.check, self.done = check, done
        self.in_flight = self.count = 0
        self.error: BaseException | None = None
        self._pieces = pieces(copies, piece)
        self._next: list[tuple[StridedCopy, int]] | None = next(self._pieces, None)

    @property
    def has_more(self) -> bool:
        """Whether pieces are left to begin."""
        return self._next is not None and self.error is None

    def take(self) -> list[tuple[StridedCopy, int]]:
        """The next piece."""
        found = self._next
        assert found is not None
        self._next = next(self._pieces, None)
        return found


class _Piece(NamedTuple):
    request: StagedRequest
    buffer: PinnedBlock
    event: int
    unpack: list[StridedCopy]


class Staging:
    """The ring of one channel and its thread. `to_device` tells the direction; `lane` queues the work of the GPU."""

    def __init__(self, lane: Lane, to_device: bool, name: str) -> None:
        self._lane, self._to_device, self._name = lane, to_device, name
        self._driver = lane.gpu.driver
        self._waiting: deque[StagedRequest] = deque()
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._resting = 0
        self._latest: Check | None = None
        # Only the thread uses these.
        self._flying: deque[_Piece] = deque()
        self._free: list[PinnedBlock] = []
        self._buffers = 0

    def put(self, copies: Sequence[StridedCopy], host: HostStore, device: DeviceStore, check: Check, done: Done) -> None:
        """Begin a request; returns at once. `done` is called in the thread of the ring."""
        request = StagedRequest(copies, host, device, PIECE, check, done)
        with self._changed:
            if self._thread is None:
                thread = threading.Thread(target=self._work, name=self._name, daemon=True)
                thread.start()
                self._thread = thread
            self._waiting.append(request)
            self._changed.notify_all()

    def expected(self, copies: Sequence[StridedCopy], device: DeviceStore) -> Iterator[Job]:
        """The jobs of kernels for a request. Each buffer begins at a page."""
        for piece in pieces(copies, PIECE):
            steps = self._steps(piece)
            if self._to_device:
                yield from self._lane.expected([step.out for step in steps], PAGE, device.address)
            else:
                yield from self._lane.expected([step.into for step in steps], device.address, PAGE)

    def _steps(self, piece: list[tuple[StridedCopy, int]]) -> list[Packing]:
        """The copies of a piece through its buffer, in the order of the host: the GPU converts, if it has kernels."""
        in_order_of_source = self._to_device != bool(self._lane.gpu.kernels.missing)
        return [packed(copy, offset, "source" if in_order_of_source else "destination") for copy, offset in piece]

    def rest(self) -> None:
        """End the thread as soon as there is no request, and wait for it. A later `put` starts another one."""
        with self._changed:
            thread = self._thread
            if thread is None or thread is threading.current_thread():
                return
            self._resting += 1
            self._changed.notify_all()
        thread.join()
        with self._changed:
            self._resting -= 1

    # ---- the thread

    def _work(self) -> None:
        request: StagedRequest | None = None
        while True:
            if request is None or not request.has_more:
                request = self._taken()
            if request is None and not self._flying:
                self._give_back()
                if self._is_at_end():
                    return
                continue
            while self._flying and (request is None or self._is_over(self._flying[0])):
                self._settle()
                if request is None:
                    break
            if request is not None:
                self._advance(request)

    def _taken(self) -> StagedRequest | None:
        """The next request. Transfers take turns: each has a `check` of its own."""
        with self._changed:
            if not self._waiting:
                self._latest = None  # it keeps its transfer alive
                return None
            request = next((each for each in self._waiting if each.check != self._latest), self._waiting[0])
            self._waiting.remove(request)
            self._latest = request.check
            return request

    def _is_at_end(self) -> bool:
        """Wait for a request. Returns true, and this thread is forgotten, if none comes."""
        with self._changed:
            if not self._waiting and not self._resting:
                self._changed.wait_for(lambda: self._waiting or self._resting, _LINGER)
            if self._waiting:
                return False
            self._thread = None
            return True

    def _is_over(self, piece: _Piece) -> bool:
        try:
            with self._lane.gpu.current():
                return self._driver.is_over(piece.event)
        except BaseException:  # noqa: BLE001  # `_settle` meets the error again, and the request reports it
            return True

    def _advance(self, request: StagedRequest) -> None:
        """Begin the next piece of a request, or settle an older one if no buffer is free."""
        if not request.has_more:
            self._end_if_over(request)
            return
        try:
            request.check()
            buffer = self._buffer()
            if buffer is None:
                self._settle()
                return
            self._begin(request, buffer)
        except BaseException as error:  # noqa: BLE001  # the request reports it
            request.error = request.error or error
        self._end_if_over(request)

    def _buffer(self) -> PinnedBlock | None:
        """A free buffer; None if the ring has to get one back first.

        Raises:
            DeviceMemoryError: there is no room for a single one.
        """
        if self._free:
            return self._free.pop()
        if self._buffers < RING:
            try:
                with self._lane.gpu.current():
                    buffer = self._driver.allocate_pinned(PIECE)
            except DeviceMemoryError:
                if not self._flying:
                    raise
                return None
            self._buffers += 1
            return buffer
        return None

    def _begin(self, request: StagedRequest, buffer: PinnedBlock) -> None:
        assert buffer.array is not None
        gpu, at = self._lane.gpu, buffer.pointer
        event = None
        try:
            with gpu.current():
                steps = self._steps(request.take())
                into, out = [step.into for step in steps], [step.out for step in steps]
                event = self._lane.event()
                if self._to_device:
                    copy_all(into, request.host.array, buffer.array, request.check, _THREADS)
                    request.count += self._lane.queue(out, at, request.device.address)
                else:
                    request.count += self._lane.queue(into, request.device.address, at)
                self._driver.record(event, self._lane.stream)
        except BaseException:
            with suppress(DeviceError), gpu.current():  # The buffer may be in use.
                self._driver.wait_stream(self._lane.stream)
            self._free.append(buffer)
            if event is not None:
                self._lane.drop(event)
            raise
        request.in_flight += 1
        self._flying.append(_Piece(request, buffer, event, [] if self._to_device else out))

    def _settle(self) -> None:
        """Wait for the oldest piece and unpack it."""
        piece = self._flying.popleft()
        request = piece.request
        try:
            with self._lane.gpu.current():
                self._driver.wait_event(piece.event)
            if piece.unpack and request.error is None:
                assert piece.buffer.array is not None
                host = request.host
                copy_all(piece.unpack, piece.buffer.array, host.array, request.check, _THREADS, large=host.is_large)
        except BaseException as error:  # noqa: BLE001  # the request reports it
            request.error = request.error or error
            with suppress(DeviceError), self._lane.gpu.current():  # The buffer may be in use.
                self._driver.wait_stream(self._lane.stream)
        self._lane.drop(piece.event)
        self._free.append(piece.buffer)
        request.in_flight -= 1
        self._end_if_over(request)

    def _end_if_over(self, request: StagedRequest) -> None:
        if request.has_more or request.in_flight or request.done is _told:
            return
        done, request.done = request.done, _told
        try:
            done(request.count if request.error is None else request.error)
        except BaseException:  # noqa: BLE001  # an error of one request must not end the thread
            _LOG.exception("the end of a GPU request raised")

    def _give_back(self) -> None:
        """Give all buffers back to the pool of pinned memory."""
        for buffer in self._free:
            self._driver.free_pinned(buffer)
        self._free.clear()
        self._buffers = 0


def _told(_: int | BaseException) -> None:
    """The end of a request that was reported already."""
