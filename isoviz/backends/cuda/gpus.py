"""The GPUs of a process: the memories of kinds FBM and ZCM, and the channels between them and host memory."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, NamedTuple
from weakref import WeakSet

from isoviz.backends.cuda.cupy_driver import loaded
from isoviz.backends.cuda.device_memory import DeviceMemory, DeviceStore
from isoviz.backends.cuda.enqueueing import Lane
from isoviz.backends.cuda.gpu import Gpu
from isoviz.backends.cuda.layout_kernels import DefaultMaker
from isoviz.backends.cuda.pinned_memory import PinnedMemory, PinnedStore
from isoviz.backends.cuda.staging import Staging
from isoviz.backends.host.host_memory import HostMemory, HostStore, Memcpy
from isoviz.errors import DeviceError, InternalError, TransferError
from isoviz.machines import ChannelKind, MemoryKind
from isoviz.runtime.device_bases import AsynchronousChannel

if TYPE_CHECKING:
    from isoviz.backends.cuda.cuda_driver import CudaDriver
    from isoviz.backends.cuda.gpu import Gpu
    from isoviz.backends.cuda.layout_kernels import Job, KernelMaker
    from isoviz.layouts import StridedCopy
    from isoviz.machines import Channel, Memory
    from isoviz.runtime.protocols import Bound, Check, Done, Expected, RealChannel, RealMemory, Store

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
        self._new_lane = partial(Lane, gpu, peer, within=within, zero_copy=zero_copy)
        self._lane = self._new_lane()
        self._lanes = [_LaneInUse(self._lane)]
        self._prepared: WeakSet[Lane] = WeakSet()
        self._lock = threading.Lock()
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
        if here is not None and there is not None:
            self._queue(copies, (source, here), (destination, there), check, done)
        elif isinstance(source, HostStore) and isinstance(destination, DeviceStore):
            self._follow(self._lane, destination)
            self._up.put(copies, source, destination, check, done)
        elif isinstance(source, DeviceStore) and isinstance(destination, HostStore):
            self._follow(self._lane, source)
            self._down.put(copies, destination, source, check, done)
        else:
            raise InternalError(f"a GPU channel got a {type(source).__name__} and a {type(destination).__name__}")

    def prepared_move(
        self, copies: Sequence[StridedCopy], source: Store, destination: Store
    ) -> Sequence[Callable[[], object]] | None:
        """Two functions: one queues the copies on a stream of its own, the other one waits for their end.

        None if copies are staged, or many, or if an array cannot be asked for later work of the caller.
        """
        ends = [store for store in (source, destination) if isinstance(store, DeviceStore)]
        here, there = self._address(source), self._address(destination)
        if here is None or there is None or not all(store.can_be_noted for store in ends):
            return None
        lane = self._new_lane()
        with self._lock:
            self._prepared.add(lane)
        with self._gpu.current():
            lane.stream  # noqa: B018  # makes it, and keeps the kernels loaded
            calls = [call for part in _parts(copies) for call in lane.calls(part, here, there)]
        if len(calls) > _PREPARED:
            return None
        move = _PreparedMove(lane, ends, calls)
        return move.queue, move.wait

    def release(self) -> None:
        """End the threads, the streams and the events. No request is under way."""
        self._up.rest()
        self._down.rest()
        with self._lock:
            lanes = [*(each.lane for each in self._lanes), *self._prepared]
        for lane in lanes:
            lane.close()

    def _address(self, store: Store) -> int | None:
        """Where the GPU reaches a store; None if its bytes have to be staged."""
        kind = type(store)
        if kind is DeviceStore:
            return store.address  # type: ignore[attr-defined,no-any-return]
        if kind is PinnedStore:
            return store.pointer  # type: ignore[attr-defined,no-any-return]
        if not isinstance(store, HostStore):
            raise InternalError(f"a GPU channel got a {type(store).__name__}")
        try:
            return self._locked(self._gpu, store)
        except DeviceError as error:
            self._refusal = str(error)
            return None

    def _follow(self, lane: Lane, *stores: Store) -> None:
        """Let later work of a lane wait for work of the caller that uses the stores."""
        for store in stores:
            if type(store) is DeviceStore and store.has_work:
                with self._gpu.current():
                    store.followed_by(lane.stream)

    def _queue(
        self,
        copies: Sequence[StridedCopy],
        source: tuple[Store, int],
        destination: tuple[Store, int],
        check: Check,
        done: Done,
    ) -> None:
        """Queue the copies of a request between two stores with their addresses."""
        count, event = 0, None
        used = self._lane_of(check)
        lane = used.lane
        with self._gpu.current():
            try:
                self._follow(lane, source[0], destination[0])
                event = lane.event()
                for part in _parts(copies):
                    check()
                    count += lane.queue(part, source[1], destination[1])
                self._gpu.driver.record(event, lane.stream)
                lane.completions.watch(event, partial(self._ended, used, event, count, done))  # Nothing may fail after this.
            except BaseException:
                # What is queued ends first: the stores are closed afterwards.
                with suppress(DeviceError):
                    self._gpu.driver.wait_stream(lane.stream)
                self._settled(used, event)
                raise

    def _ended(self, used: _LaneInUse, event: int, count: int, done: Done, error: BaseException | None) -> None:
        if error is not None:
            with suppress(DeviceError), self._gpu.current():  # Its other work may still use the stores.
                self._gpu.driver.wait_stream(used.lane.stream)
        self._settled(used, event)
        done(count if error is None else error)

    def _lane_of(self, check: Check) -> _LaneInUse:
        """The lane for a request of a transfer, which `check` identifies.

        Each transfer has a lane of its own while it has requests in flight, as long as there are not more than `_LANES` of them.
        So an urgent transfer does not wait for all requests of another one that are queued already.
        """
        with self._lock:
            used = next((each for each in self._lanes if each.requests and each.check == check), None)
            used = used or next((each for each in self._lanes if not each.requests), None)
            if used is None and len(self._lanes) < _LANES:
                used = _LaneInUse(self._new_lane())
                self._lanes.append(used)
            used = used or min(self._lanes, key=lambda each: each.requests)
            used.check = check
            used.requests += 1
            return used

    def _settled(self, used: _LaneInUse, event: int | None) -> None:
        """A request of a lane has ended."""
        if event is not None:
            used.lane.drop(event)
        with self._lock:
            used.requests -= 1
            if not used.requests:
                used.check = None  # it keeps its transfer alive


class _PreparedMove:
    """Copies of a prepared transfer as `calls` that queue them on a lane. `ends` are its stores on GPUs."""

    def __init__(self, lane: Lane, ends: Sequence[DeviceStore], calls: Sequence[Callable[[int], object]]) -> None:
        self._lane, self._ends, self._calls = lane, ends, calls
        self._driver = lane.gpu.driver
        self._event: int | None = None

    def queue(self) -> None:
        """Queue the copies behind the work that streams of the caller have now. The thread is the caller's."""
        lane, driver = self._lane, self._driver
        with lane.gpu.current():
            stream = lane.stream
            try:
                for store in self._ends:
                    store.note()
                    if store.has_work:
                        store.followed_by(stream)
                event = self._event = self._event or lane.event()
                for call in self._calls:
                    call(stream)
                driver.record(event, stream)
            except BaseException:
                self._settle()
                raise

    def wait(self) -> None:
        """Wait until the copies have ended."""
        assert self._event is not None
        try:
            self._lane.gpu.wait_event(self._event)
        except BaseException:
            self._settle()
            raise
        self._lane.drop(self._event)
        self._event = None

    def _settle(self) -> None:
        """After an error: what is queued ends before the stores are used again."""
        with suppress(DeviceError), self._lane.gpu.current():
            self._driver.wait_stream(self._lane.stream)
        if self._event is not None:
            self._lane.drop(self._event)
            self._event = None


class _LaneInUse:
    """A lane, its number of requests in flight, and the transfer whose request was the latest, by its `check`."""

    __slots__ = ("check", "lane", "requests")

    def __init__(self, lane: Lane) -> None:
        self.lane, self.requests = lane, 0
        self.check: Check | None = None


def _parts(copies: Sequence[StridedCopy]) -> list[Sequence[StridedCopy]]:
    """Copies in groups that are queued between two looks at a cancel. Copies of one kernel stay together."""
    if len(copies) <= _TOGETHER:
        return [copies]
    return [copies[at : at + _TOGETHER] for at in range(0, len(copies), _TOGETHER)]


_TOGETHER = 256
_PREPARED = 256
"""Calls of a prepared transfer: with more of them, a thread would queue for longer than handing them to another one takes."""
_LANES = 4
"""Streams of a channel: transfers that have requests in flight at the same time."""


_KINDS = (MemoryKind.FBM, MemoryKind.ZCM)
_ZERO_COPY = (ChannelKind.ZERO_COPY_READ, ChannelKind.ZERO_COPY_WRITE)


class ProcessOnHost(NamedTuple):
    """The process whose GPUs are meant, and its place among the processes of its host.

    - `node`: the node of the machine that it is.
    - `name`: what errors call it.
    - `turn`, `of`: it is number `turn`, from 0, of `of` processes on its host. They divide the GPUs of the host among them in
      this order. If there are fewer GPUs than processes, some share one.
    """

    node: int = 0
    name: str = "this computer"
    turn: int = 0
    of: int = 1

    def gpu(self, position: int, count: int) -> int:
        """The number of the GPU at a position, from 0, among those of this process. The host has `count` GPUs."""
        return (self.turn * max(1, count // self.of) + position) % count


class Gpus:
    """The GPUs of one process. Nothing is imported and no driver is asked before a memory of a GPU is wanted.

    `driver` and `maker` replace the driver and the kernels of this computer, for tests. `locked` locks host memory in place for
    the channels.
    """

    def __init__(
        self,
        driver: CudaDriver | None = None,
        maker: KernelMaker | None = None,
        *,
        process: ProcessOnHost = ProcessOnHost(),  # noqa: B008  # a value that does not change
        locked: Locked = never_locked,
    ) -> None:
        self._given, self._maker = driver, maker
        self._process, self._locked = process, locked
        self._gpus: dict[int, Gpu] = {}
        self._count: int | None = None
        self._lock = threading.Lock()

    def absence(self, memory: Memory) -> str:
        """Why this computer has no GPU for a memory, as the end of a sentence; empty for memories of other kinds."""
        return self.reason() if memory.kind in _KINDS and memory.node == self._process.node else ""

    def driver(self) -> CudaDriver | None:
        """The driver; None if this computer has no GPU that can be used. The first call may import CuPy."""
        return self._given or loaded().driver

    def reason(self) -> str:
        """Why there is no driver, as the end of a sentence; empty if there is one."""
        return "" if self._given is not None else loaded().reason

    def device_memory(self, memory: Memory) -> RealMemory | None:
        """FBM. See `isoviz.backends.devices.MemoryFactory`."""
        gpu = self._gpu_of(memory)
        return None if gpu is None else DeviceMemory(memory.name, gpu)

    def pinned_memory(self, memory: Memory) -> RealMemory | None:
        """ZCM. See `isoviz.backends.devices.MemoryFactory`."""
        gpu = self._gpu_of(memory)
        return None if gpu is None else PinnedMemory(memory.name, gpu)

    def channel(self, channel: Channel, source: Bound, destination: Bound) -> RealChannel | None:
        """A channel of a GPU. See `isoviz.backends.devices.ChannelFactory`."""
        here, there = source.real, destination.real
        zero_copy = channel.kind in _ZERO_COPY
        if isinstance(here, DeviceMemory) and isinstance(there, DeviceMemory):
            within = here.gpu is there.gpu
            return GpuChannel(here.gpu, channel.name, None if within else there.gpu, within=within)
        if isinstance(here, DeviceMemory) and isinstance(there, HostMemory):
            return GpuChannel(here.gpu, channel.name, zero_copy=zero_copy, locked=self._locked)
        if isinstance(here, HostMemory) and isinstance(there, DeviceMemory):
            return GpuChannel(there.gpu, channel.name, zero_copy=zero_copy, locked=self._locked)
        return None

    def _gpu_of(self, memory: Memory) -> Gpu | None:
        """The GPU that a memory is bound to; None if this computer has no GPU at all.

        Raises:
            TransferError: it has GPUs, but not this one.
        """
        if memory.node != self._process.node:
            return None
        driver = self.driver()
        if driver is None:
            return None
        with self._lock:
            try:
                number = self._number(memory, driver)
                gpu = self._gpus.get(number)
                if gpu is None:
                    gpu = self._gpus[number] = Gpu(driver, number, self._maker or DefaultMaker())
            except DeviceError as error:
                raise TransferError(f"memory {memory.name}: the GPUs of {self._process.name} cannot be used: {error}") from error
            return gpu

    def _number(self, memory: Memory, driver: CudaDriver) -> int:
        """The number of the GPU of a memory: its device, else the GPU of this process that its name counts.

        Raises:
            TransferError: there is no such GPU.
        """
        if self._count is None:
            self._count = driver.device_count()
        count = self._count
        bound = memory.device if isinstance(memory.device, int) else None
        position = position_of(memory) if bound is None else bound
        if position >= count:
            have = "no GPU" if not count else "GPU 0" if count == 1 else f"GPUs 0 to {count - 1}"
            raise TransferError(f"memory {memory.name}: is bound to GPU {position}; {self._process.name} has {have}")
        return self._process.gpu(position, count) if bound is None else bound


def position_of(memory: Memory) -> int:
    """The position of a memory's GPU among those of its process, by its name: 1 for `node0.fbm1`, 0 for a ZCM."""
    found = re.search(r"\d+$", memory.short_name) if memory.kind is MemoryKind.FBM else None
    return int(found.group()) if found else 0
