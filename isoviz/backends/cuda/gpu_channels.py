"""Channels of a GPU: between it and host memory, within it, and to another GPU.

A request is queued on the stream of its channel and needs no thread until it ends. Pageable host memory is staged
(`isoviz.backends.cuda.staging`). Host memory that its owner can lock in place is not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from isoviz.backends.cuda.device_memory import DeviceStore
from isoviz.backends.cuda.enqueueing import Lane
from isoviz.backends.cuda.pinned_memory import PinnedStore
from isoviz.backends.cuda.staging import Staging
from isoviz.backends.host.host_memory import HostStore, Memcpy
from isoviz.errors import DeviceError, InternalError
from isoviz.runtime.device_bases import AsynchronousChannel

if TYPE_CHECKING:
    from isoviz.backends.cuda.gpu import Gpu
    from isoviz.backends.cuda.layout_kernels import Job
    from isoviz.layouts import StridedCopy
    from isoviz.runtime.protocols import Check, Done, Expected, Store

_LONG = 1.0
"""Seconds for kernels from which a report says so."""
_TOLD = 3
"""Kernels that cannot be used and are told one by one."""


Locked = Callable[["Gpu", HostStore], int | None]
"""The address at which a GPU reaches the bytes of host memory, which are locked in place if need be; None if they stay pageable.

Raises DeviceError if they could be locked, and the driver refuses.
"""


def never_locked(_gpu: Gpu, _store: HostStore) -> None:
    """Leave host memory pageable (`Locked`)."""


class GpuChannel(AsynchronousChannel):
    """A channel whose work one GPU does.

    `name` is that of its thread, if any. `peer` is another GPU that is its destination. With `zero_copy`, kernels carry out all
    copies; otherwise contiguous bytes and long rows go to the copy engines, and `within` one GPU contiguous bytes only
    (`Lane.queue`). `locked` locks host memory in place.
    """

    def __init__(
        self,
        gpu: Gpu,
        name: str,
        peer: Gpu | None = None,
        *,
        within: bool = False,
        zero_copy: bool = False,
        locked: Locked = never_locked,
    ) -> None:
        self._gpu = gpu
        self._slow = self._refusal = ""
        self._refused: tuple[str, ...] = ()
        self._locked = locked
        self._lane = Lane(gpu, peer, within=within, zero_copy=zero_copy)
        self._up = Staging(self._lane, to_device=True, name=f"isoviz {name} staging")
        self._down = Staging(self._lane, to_device=False, name=f"isoviz {name} staging")

    @property
    def notes(self) -> tuple[str, ...]:
        """What was unusual: no kernels, kernels that do not compile or took long to, registered memory that was staged."""
        missing, refusal = self._gpu.without_kernels, self._refusal
        what = "zero-copy channels use the copy engines" if self._lane.zero_copy else "layouts are converted without GPU kernels"
        found = [f"{self._gpu.name}: {what}: {missing}"] if missing else []
        if refusal:
            found.append(f"{self._gpu.name}: registered memory was staged through pinned buffers: {refusal}")
        found += [f"{self._gpu.name}: {each}" for each in self._refused[:_TOLD]]
        if len(self._refused) > _TOLD:
            found.append(f"{self._gpu.name}: {len(self._refused) - _TOLD} more kernels cannot be used")
        return (*found, self._slow) if self._slow else tuple(found)

    def prepare(self, nbytes: int) -> None:
        """Load the kernels of the processor, which serve pageable memory, and make the stream."""
        Memcpy().prepare(nbytes)
        with self._gpu.current():
            self._lane.stream  # noqa: B018  # makes it

    def expect(self, requests: Iterable[Expected]) -> None:
        """Compile and load the kernels of the requests, so that no request waits for the compiler."""
        with self._gpu.current():
            kernels = self._gpu.kernels
            found = kernels.prepare(job for request in requests for job in self._jobs(*request))
        slow = found.seconds >= _LONG
        took = f"{found.kernels} kernels took {found.seconds:.1f} s to load or compile, which is not in the measured time"
        self._slow = f"{self._gpu.name}: {took}" if slow else ""
        self._refused = found.refused

    def _jobs(self, copies: Sequence[StridedCopy], source: Store, destination: Store) -> Iterator[Job]:
        here, there = self._address(source), self._address(destination)
        if here is not None and there is not None:
            for part in _parts(copies):
                yield from self._lane.expected(part, here, there)
        elif isinstance(source, DeviceStore):
            yield from self._down.expected(copies, source)
        elif isinstance(destination, DeviceStore):
            yield from self._up.expected(copies, destination)

    def start(self, copies: Sequence[StridedCopy], source: Store, destination: Store, check: Check, done: Done) -> None:
        check()
        here, there = self._address(source), self._address(destination)
        for store in (source, destination):
            if isinstance(store, DeviceStore) and store.has_work:
                with self._gpu.current():
                    store.followed_by(self._lane.stream)
        if here is not None and there is not None:
            self._queue(copies, here, there, check, done)
        elif isinstance(source, HostStore) and isinstance(destination, DeviceStore):
            self._up.put(copies, source, destination, check, done)
        elif isinstance(source, DeviceStore) and isinstance(destination, HostStore):
            self._down.put(copies, destination, source, check, done)
        else:
            raise InternalError(f"a GPU channel got a {type(source).__name__} and a {type(destination).__name__}")

    def release(self) -> None:
        """End the threads, the stream and the events. No request is under way."""
        self._up.rest()
        self._down.rest()
        self._gpu.completions.rest()
        self._lane.close()

    def _address(self, store: Store) -> int | None:
        """Where the GPU reaches a store; None if its bytes have to be staged."""
        if isinstance(store, DeviceStore):
            return store.address
        if isinstance(store, PinnedStore):
            return store.pointer
        if not isinstance(store, HostStore):
            raise InternalError(f"a GPU channel got a {type(store).__name__}")
        try:
            return self._locked(self._gpu, store)
        except DeviceError as error:
            self._refusal = str(error)
            return None

    def _queue(self, copies: Sequence[StridedCopy], source: int, destination: int, check: Check, done: Done) -> None:
        count = 0
        event = None
        with self._gpu.current():
            try:
                event = self._lane.event()
                for part in _parts(copies):
                    check()
                    count += self._lane.queue(part, source, destination)
                self._gpu.driver.record(event, self._lane.stream)
                ended = partial(self._ended, event, count, done)
                self._gpu.completions.watch(event, ended)  # Nothing may fail after this.
            except BaseException:
                # What is queued ends first: the stores are closed afterwards.
                with suppress(DeviceError):
                    self._gpu.driver.wait_stream(self._lane.stream)
                if event is not None:
                    self._lane.drop(event)
                raise

    def _ended(self, event: int, count: int, done: Done, error: BaseException | None) -> None:
        if error is not None:
            with suppress(DeviceError), self._gpu.current():  # Its other work may still use the stores.
                self._gpu.driver.wait_stream(self._lane.stream)
        self._lane.drop(event)
        done(count if error is None else error)


def _parts(copies: Sequence[StridedCopy]) -> list[Sequence[StridedCopy]]:
    """Copies in groups that are queued between two looks at a cancel. Copies of one kernel stay together."""
    return [copies[at : at + _TOGETHER] for at in range(0, len(copies), _TOGETHER)]


_TOGETHER = 256
