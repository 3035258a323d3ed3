"""One GPU of this computer: its driver, the ends of its work, and its kernels.

One thread per stream waits for the events of all requests in flight, so a request in flight needs no thread. The thread ends
after a short time without requests.
"""

from __future__ import annotations

import ctypes
import logging
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from isoviz.backends.cuda.cuda_driver import CudaDriver, DeviceBlock
from isoviz.backends.cuda.layout_kernels import LayoutKernels
from isoviz.errors import DeviceError, DeviceMemoryError
from isoviz.units import format_bytes

if TYPE_CHECKING:
    from isoviz.backends.cuda.layout_kernels import KernelMaker
    from isoviz.backends.pages import Bytes

_LOG = logging.getLogger("isoviz")

_LINGER = 0.5
"""Seconds that the thread waits for a further request before it ends."""
_SPIN, _NAP, _NAPS, _NAPS_END = 50e-6, 30e-6, 1 / 20, 5e-3
"""A wait for the GPU: the seconds in which a thread asks without a pause, those of a pause after that at least, the part of the
time so far that a pause may be, and the seconds until the last pause.

A wait that the driver ends wakes the thread 0.1 to 0.2 ms late (measured on a virtual machine with an H200): too late for work
that takes less than some milliseconds.
"""
_TIMER_SLACK, _PROMPT = 29, 1000
"""An option of `prctl`, and the nanoseconds by which a pause of the thread may be too long. Linux grants itself 50 µs."""

Finished = Callable[[BaseException | None], None]
"""Called with the error of the work, or None."""


class _Watched(NamedTuple):
    event: int
    ended: Finished


class Completions:
    """Calls functions when the work of a stream has ended that their events stand for, or has failed.

    The work of a stream ends in the order in which it was queued. So the thread waits for the first event that it watches, and
    then asks only for the events that follow it. `name` is that of the thread.
    """

    def __init__(self, gpu: Gpu, name: str) -> None:
        self._gpu = gpu
        self._name = name
        self._watched: deque[_Watched] = deque()
        self._resting = 0
        self._thread: threading.Thread | None = None
        self._changed = threading.Condition()

    def watch(self, event: int, ended: Finished) -> None:
        """Call `ended` once, in the thread of this object, when the work of `event` is over. Calls come in the stream's order.

        Raises:
            RuntimeError: the system allows no thread.
        """
        with self._changed:
            if self._thread is None:
                thread = threading.Thread(target=self._work, name=self._name, daemon=True)
                thread.start()
                self._thread = thread
            self._watched.append(_Watched(event, ended))
            self._changed.notify_all()

    def rest(self) -> None:
        """End the thread and wait for it, unless something is watched. A later `watch` starts another one."""
        with self._changed:
            thread = self._thread
            if thread is None or thread is threading.current_thread() or self._watched:
                return
            self._resting += 1
            self._changed.notify_all()
        thread.join()
        with self._changed:
            self._resting -= 1

    def _work(self) -> None:
        prompt_naps()
        while True:
            with self._changed:
                if not self._watched and not self._resting:
                    self._changed.wait_for(lambda: self._watched or self._resting, _LINGER)
                if not self._watched:
                    self._thread = None
                    return
            error: BaseException | None = None
            try:
                self._gpu.wait_event(self._watched[0].event)
            except BaseException as raised:  # noqa: BLE001  # the request reports it
                error = raised
            ended = [self._watched[0].ended, *self._over()]
            with self._changed:
                for _ in ended:
                    self._watched.popleft()
            for tell in ended:
                try:
                    tell(error)
                except BaseException:  # noqa: BLE001  # an error of one request must not end the thread
                    _LOG.exception("the end of a GPU request raised")
                error = None  # the other requests are over

    def _over(self) -> list[Finished]:
        """The functions of the events that follow the first one and are over, too."""
        over: list[Finished] = []
        with suppress(Exception), self._gpu.current():  # a request whose event cannot be asked is waited for later
            for at in range(1, len(self._watched)):
                if not self._gpu.driver.is_over(self._watched[at].event):
                    break
                over.append(self._watched[at].ended)
        return over


class Gpu:
    """One GPU, by its number. Any thread may use it; each thread uses the device inside `current` only.

    Raises:
        DeviceError: the driver does not answer.
    """

    def __init__(self, driver: CudaDriver, number: int, maker: KernelMaker) -> None:
        self.driver, self.number = driver, number
        self.name = f"GPU {number} ({driver.device_name(number)})"
        """The number and the name of the GPU, for people."""
        self._maker = maker
        self._lock = threading.Lock()
        self._stream: int | None = None
        self._kernels: LayoutKernels | None = None
        self._users = 0

    @property
    def kernels(self) -> LayoutKernels:
        """The layout kernels on this GPU. The caller has joined."""
        with self._lock:
            if self._kernels is None:
                self._kernels = LayoutKernels(self.driver, self.driver.architecture(self.number), self._maker)
            return self._kernels

    @property
    def without_kernels(self) -> str:
        """Why layouts are converted without kernels, as far as it is known; empty otherwise."""
        kernels = self._kernels
        return "" if kernels is None else kernels.missing

    def join(self) -> None:
        """Keep the stream and the kernels of this object until `leave`. Device memory that was allocated keeps them, too."""
        with self._lock:
            self._users += 1

    def leave(self) -> None:
        """End what `join` began. The last one to leave ends the stream and the kernels."""
        with self._lock:
            self._users -= 1
            if self._users:
                return
            stream, self._stream = self._stream, None
            kernels, self._kernels = self._kernels, None
        if kernels is not None:
            with suppress(DeviceError), self.current():
                kernels.unload()
        if stream is not None:
            with suppress(DeviceError), self.current():
                self.driver.trim(stream)
            with suppress(DeviceError):
                self.driver.destroy_stream(stream)

    def current(self) -> AbstractContextManager[None]:
        """Use this GPU in the calling thread, and afterwards the one that it used before."""
        return using(self.driver, self.number)

    # ---- memory

    def allocate(self, nbytes: int, who: str) -> DeviceBlock:
        """Device memory filled with zeros. `who` names the memory that asks.

        The memory comes from the pool for the stream of this object, whose blocks no other work uses.

        Raises:
            DeviceMemoryError: no room.
            DeviceError: the driver fails.
        """
        with self._at_home() as stream:
            try:
                block = self.driver.allocate(nbytes, stream)
            except DeviceMemoryError as error:
                raise DeviceMemoryError(
                    f"{who}: no room for {format_bytes(nbytes)} on {self.name}{self._free()} ({error})"
                ) from error
            try:
                if nbytes:
                    self.driver.fill(block.pointer, 0, nbytes, stream)
                self._wait(stream)
            except BaseException:
                self.driver.free(block)
                raise
            self.join()  # The pool finds a block again by its stream, which therefore lives as long as the block.
            return block

    def free(self, block: DeviceBlock) -> None:
        """Give back what `allocate` returned. No work uses it any more."""
        self.driver.free(block)
        self.leave()

    def _free(self) -> str:
        try:
            free, total = self.driver.free_bytes()
        except DeviceError:
            return ""
        return f", where {format_bytes(free)} of {format_bytes(total)} are free"

    def clear(self, pointer: int, nbytes: int) -> None:
        """Fill with zeros, and wait for it."""
        if nbytes:
            with self._at_home() as stream:
                self.driver.fill(pointer, 0, nbytes, stream)
                self._wait(stream)

    def read(self, pointer: int, nbytes: int) -> Bytes:
        """A copy of device memory in host memory."""
        array = np.empty(nbytes, np.uint8)
        self._copied(array.ctypes.data, pointer, nbytes)
        return array

    def write(self, pointer: int, array: Bytes) -> None:
        """Copy host memory to device memory, and wait for it."""
        self._copied(pointer, array.ctypes.data, len(array))

    def _copied(self, destination: int, source: int, nbytes: int) -> None:
        if not nbytes:
            return
        with self._at_home() as stream:
            try:
                self.driver.copy(destination, source, nbytes, stream)
            finally:
                self._wait(stream)  # The host memory may be gone afterwards.

    def _wait(self, stream: int) -> None:
        """Wait for a stream. An error may be that of earlier work, so that a second call has to wait."""
        try:
            self.driver.wait_stream(stream)
        except DeviceError:
            with suppress(DeviceError):
                self.driver.wait_stream(stream)
            raise

    @contextmanager
    def _at_home(self) -> Iterator[int]:
        """Use this GPU, with the stream of this object."""
        self.join()
        try:
            with self.current():
                with self._lock:
                    if self._stream is None:
                        self._stream = self.driver.new_stream()
                    stream = self._stream
                yield stream
        finally:
            self.leave()

    def wait_event(self, event: int) -> None:
        """Wait for the work that an event stands for."""
        with self.current():
            self.await_end(event)

    def await_end(self, event: int) -> None:
        """`wait_event` in a thread that uses this GPU."""
        is_over, began = self.driver.is_over, time.perf_counter()
        while not is_over(event):
            waited = time.perf_counter() - began
            if waited > _NAPS_END:
                self.driver.wait_event(event)
                return
            if waited > _SPIN:
                time.sleep(max(_NAP, waited * _NAPS))


def prompt_naps() -> None:
    """Let short pauses of this thread be as short as they should be, where the system can do that."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_TIMER_SLACK, _PROMPT, 0, 0, 0)


class using:  # noqa: N801  # it is called like the functions of contextlib, which cost more than a copy
    """Use a device in the calling thread, and afterwards the one that it used before."""

    __slots__ = ("_before", "_driver", "_number")

    def __init__(self, driver: CudaDriver, number: int) -> None:
        self._driver, self._number = driver, number

    def __enter__(self) -> None:
        self._before = self._driver.used_device()
        if self._before != self._number:
            self._driver.use(self._number)

    def __exit__(self, *_: object) -> None:
        if self._before != self._number:
            with suppress(DeviceError):  # What was done inside is done, and the next call of a dead device fails anyway.
                self._driver.use(self._before)
