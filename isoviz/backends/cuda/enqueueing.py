"""A stream of a channel, and the ways in which copies are queued on it."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from isoviz.backends.cuda.gpu import Completions
from isoviz.backends.cuda.layout_kernels import Job
from isoviz.backends.cuda.row_copies import Rows, all_rows, rows_of
from isoviz.errors import DeviceError
from isoviz.forks import Home

if TYPE_CHECKING:
    from isoviz.backends.cuda.gpu import Gpu
    from isoviz.layouts import StridedCopy

SHORT = 256
"""Bytes. Rows shorter than this go by kernels over a link. Measured on an H200: from here on, copy engines fill the link (55
GB/s), and kernels reach 51 to 53 GB/s."""


class Lane:
    """A stream of a channel and its events, made when they are needed. Any thread may use it.

    `peer` is another GPU whose memory is one end of the copies. `within` the memory of the GPU, kernels carry out all copies but
    contiguous ones: they move rows of any width as fast as the memory does. With `zero_copy`, kernels carry out all copies. This
    holds as far as there are kernels.

    Kernels read and write pinned memory where it is. So a short row crosses the link once, as part of a longer access, and takes
    no room and no second pass in device memory. A plan that converts in device memory instead has a hop for that (GPUCopy).
    """

    def __init__(self, gpu: Gpu, peer: Gpu | None = None, *, within: bool = False, zero_copy: bool = False) -> None:
        self.gpu, self.peer, self.within, self.zero_copy = gpu, peer, within, zero_copy
        self.completions = Completions(gpu, f"isoviz GPU {gpu.number}")
        self._stream: int | None = None
        self._events: list[int] = []
        self._reaches: bool | None = None
        self._lock = threading.Lock()
        self._home = Home("a stream of a GPU")

    @property
    def stream(self) -> int:
        """The stream. The thread uses the GPU."""
        if (stream := self._stream) is not None:
            return stream
        with self._lock:
            if self._stream is None:
                self._stream = self.gpu.driver.new_stream()
                self.gpu.join()
            return self._stream

    def event(self) -> int:
        """An event for one use; `drop` gives it back. The thread uses the GPU."""
        with suppress(IndexError):
            return self._events.pop()
        return self.gpu.driver.new_event()

    def drop(self, event: int) -> None:
        """Give an event back."""
        self._events.append(event)

    def close(self) -> None:
        """End the thread, the stream and the events, which have no work left. Later work makes others."""
        self.completions.rest()
        with self._lock:
            stream, self._stream = self._stream, None
            events, self._events = self._events, []
        driver = self.gpu.driver
        for event in events:
            with suppress(DeviceError):
                driver.destroy_event(event)
        if stream is not None:
            with suppress(DeviceError):
                driver.destroy_stream(stream)
            self.gpu.leave()

    def __del__(self) -> None:
        if self._home.is_here and not sys.is_finalizing():  # a forked child has neither the thread nor the GPU
            self.close()

    def queue(self, copies: Sequence[StridedCopy], source: int, destination: int) -> int:
        """Queue copies between two addresses that the GPU reaches. The thread uses the GPU. Returns the number of requests.

        Contiguous bytes and long rows go to the copy engines unless copies are `within` or `zero_copy`, everything else to layout
        kernels. Without kernels, it goes to the copy engines in many requests.

        Raises:
            DeviceError: the driver refuses. Some of the copies may be queued.
        """
        if len(copies) == 1 and not copies[0].loops and not self.zero_copy:
            at, to, run, _ = copies[0]
            self._run(destination + to, source + at, run)(self.stream)
            return 1
        return sum([call(self.stream) or 1 for call in self.calls(copies, source, destination)])

    def calls(self, copies: Sequence[StridedCopy], source: int, destination: int) -> list[Callable[[int], int | None]]:
        """What `queue` calls with its stream: functions that queue a request, or as many as they return."""
        rows, job = self._divided(copies, source, destination)
        launch = self.gpu.kernels.launcher(job) if job.copies and self._kernels_reach() else None
        if launch is None:
            rows += [each for copy in job.copies for each in all_rows(copy)]
        queue_rows: list[Callable[[int], int | None]] = [self._rows(each, source, destination) for each in rows]
        return queue_rows if launch is None else [*queue_rows, launch]

    def expected(self, copies: Sequence[StridedCopy], source: int, destination: int) -> list[Job]:
        """The jobs of kernels if `queue` is called with these arguments. The thread uses the GPU."""
        _, job = self._divided(copies, source, destination)
        return [job] if job.copies and self._kernels_reach() else []

    def _divided(self, copies: Sequence[StridedCopy], source: int, destination: int) -> tuple[list[Rows], Job]:
        """What copy engines do, and what kernels do."""
        engines: list[Rows] = []
        others: list[StridedCopy] = []
        for copy in copies:
            rows = None if self.zero_copy else rows_of(copy)
            if rows is None or (not rows.is_contiguous and (self.within or rows.width < SHORT)):
                others.append(copy)
            else:
                engines.append(rows)
        return engines, Job(others, source, destination)

    def _rows(self, rows: Rows, source: int, destination: int) -> Callable[[int], None]:
        """A function that queues rows on a stream."""
        if rows.is_contiguous:
            return self._run(destination + rows.destination_offset, source + rows.source_offset, rows.width)
        return partial(self.gpu.driver.copy_rows, destination, source, rows)

    def _run(self, destination: int, source: int, nbytes: int) -> Callable[[int], None]:
        """A function that queues a copy of contiguous bytes on a stream."""
        driver = self.gpu.driver
        if self.peer is None:
            return partial(driver.copy, destination, source, nbytes)
        return partial(driver.copy_peer, destination, self.peer.number, source, self.gpu.number, nbytes)

    def _kernels_reach(self) -> bool:
        """Whether a kernel of the GPU reaches both ends."""
        if self.peer is None:
            return True
        if self._reaches is None:
            reaches = self.gpu.driver.reaches(self.gpu.number, self.peer.number)
            if reaches:
                self.gpu.driver.enable_peer(self.peer.number)
            self._reaches = reaches
        return self._reaches
