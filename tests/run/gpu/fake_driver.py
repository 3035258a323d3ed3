"""A GPU driver for tests: devices whose memory is NumPy arrays, and streams that are queues.

Queued work runs late, inside later calls, in a random order that respects streams and events. So data that are used before their
event are wrong. The driver checks what a real one may not notice: memory freed while queued work uses it, use after free, bytes
beyond an allocation, streams used by a thread with another device, and pages that are unlocked after they were unmapped. It
records every call, and fails on demand.

Kernels are stand-ins (`fake_arrays.FakeKernels`), or, with an executor of PTX, the kernels of isoviz: what NVRTC makes of their
text is executed on the processor, with the arguments and the grid of the launch.

Nothing that runs on it says anything about a real GPU's speed.
"""

from __future__ import annotations

import ctypes
import json
import random
import threading
from collections import Counter, deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import as_strided
from ptx_executor import Executor, FaultError
from ptx_program import Program, programs

from isoviz.backends.cuda.cuda_driver import LEGACY_STREAM, DeviceBlock, PinnedBlock, Place
from isoviz.backends.cuda.row_copies import Rows
from isoviz.backends.pages import PAGE, page_aligned
from isoviz.errors import DeviceError, DeviceMemoryError
from isoviz.layouts import StridedCopy

Bytes = np.ndarray[Any, np.dtype[np.uint8]]
FIRST, GAP = 1 << 56, 1 << 20  # device addresses are no addresses of the host
FREED = 0xDD


class Span(NamedTuple):
    """Bytes that queued work reads or writes."""

    start: int
    nbytes: int


class Work:
    """One piece of queued work."""

    def __init__(self, what: str, run: Callable[[], None], spans: Sequence[Span]) -> None:
        self.what, self.run, self.spans = what, run, spans
        self.is_over = False
        self.after: Work | None = None
        """Work of another stream that has to be over before this begins."""


class Function(NamedTuple):
    """A kernel of PTX, and its module."""

    module: int
    program: Program


class FakeDriver:
    """`CudaDriver` for tests.

    - `violations`: what no correct program does; a test asserts that there are none.
    - `fail`: called with the name of each call and how often it was made; an error that it returns is raised.
    - `dead`: the device has failed, as after a kernel with a wrong access: queued work is lost and calls are refused.
    - `lazy`: never run queued work before somebody waits for it. Asking is not waiting, so a request that is only asked for never
      ends.
    - `slow`: run queued work seldom.
    - `late`: streams whose work never runs before other work, or somebody, waits for it.
    - `executor`: executes PTX. The devices then say that they take PTX, and kernels are what was loaded.
    - `reachable`: device memory has addresses of the host, which an MPI library reaches as one that takes GPU memory would.
    """

    def __init__(
        self,
        seed: int = 0,
        devices: int = 2,
        capacity: int = 1 << 30,
        pinned: int = 1 << 30,
        executor: Executor | None = None,
        reachable: bool = False,
    ) -> None:
        self.executor, self.reachable = executor, reachable
        self.rng = random.Random(seed)
        self.devices, self.capacity, self.pinned_capacity = devices, capacity, pinned
        self.calls: Counter[str] = Counter()
        self.violations: list[str] = []
        self.fail: Callable[[str, int], Exception | None] = lambda name, number: None
        self.dead = self.lazy = self.slow = False
        self.hold: Callable[[], bool] = lambda: False
        self.late: set[int] = set()
        self.peers: set[tuple[int, int]] = set()
        self.allocated: set[int] = set()  # devices
        self.can_reach = True
        self.streams: dict[int, tuple[int, deque[Work]]] = {}
        self.events: dict[int, Work | None] = {}
        self.modules: dict[int, bytes] = {}
        self.functions: dict[int, Function] = {}
        self.loaded: Counter[str] = Counter()  # names of kernels
        self.blocks: dict[int, tuple[int, Bytes]] = {}  # first address → device, bytes
        self.pinned: dict[int, Bytes] = {}
        self.locked: dict[int, Bytes] = {}
        self.pageable: set[int] = set()  # streams that moved pageable memory
        self._next = FIRST
        self._number = 100
        self._lock = threading.RLock()
        self._mine = threading.local()

    # ---- what tests ask

    @property
    def current(self) -> int:
        """The current stream of the thread that asks, on the device that it uses, as in CuPy."""
        return int(getattr(self._mine, "current", {}).get(self._device(), LEGACY_STREAM))

    @current.setter
    def current(self, stream: int) -> None:
        self._mine.current = {**getattr(self._mine, "current", {}), self._device(): stream}

    @property
    def used(self) -> tuple[int, int]:
        """Bytes of device memory and of pinned memory that are allocated."""
        with self._lock:
            return sum(len(data) for _, data in self.blocks.values()), sum(len(data) for data in self.pinned.values())

    @property
    def in_flight(self) -> int:
        with self._lock:
            return sum(len(queue) for _, queue in self.streams.values())

    def held(self, data: Bytes, device: int = 0) -> int:
        """Memory of the caller on a device that holds some bytes: its address, which is a multiple of 16 or not."""
        with self._lock:
            shift = self.rng.choice((0, 0, 0, 256, 16, 4, 1))
            room = _room(len(data), shift)
            room[:] = data
            return self._keep(room, device, shift)

    # ---- calls

    def device_count(self) -> int:
        self._called("device_count")
        return self.devices

    def device_name(self, device: int) -> str:
        self._called("device_name")
        return "fake"

    def architecture(self, device: int) -> str:
        self._called("architecture")
        return "compute_90" if self.executor else "sm_90"

    def pci_address(self, device: int) -> str:
        self._called("pci_address")
        return ""

    def versions(self) -> tuple[tuple[str, str], ...]:
        self._called("versions")
        return (("cupy", "none: a fake driver"),)

    def free_bytes(self) -> tuple[int, int]:
        self._called("free_bytes")
        return self.capacity - self.used[0], self.capacity

    def used_device(self) -> int:
        self._called("used_device")
        return int(getattr(self._mine, "device", 0))

    def use(self, device: int) -> None:
        self._called("use")
        self._require(0 <= device < self.devices, f"device {device}")
        self._mine.device = device

    def allocate(self, nbytes: int, stream: int) -> DeviceBlock:
        with self._lock:
            self._called("allocate")
            device = self._device_of(stream, "allocate")
            if self.used[0] + nbytes > self.capacity:
                raise DeviceMemoryError("fake: out of memory")
            self.allocated.add(device)
            return DeviceBlock(self._keep(_room(nbytes), device), nbytes, device, self)

    def free(self, block: DeviceBlock) -> None:
        with self._lock:
            self.calls["free"] += 1
            self._note(block.owner is self, "freed twice")
            block.owner = None
            self._require_idle(Span(block.pointer, block.nbytes), "device memory")
            self.blocks.pop(block.pointer)[1][:] = FREED

    def trim(self, stream: int) -> None:
        with self._lock:
            self._called("trim")
            self._note(self.dead or stream in self.streams, "memory of a stream that has ended was let go of")
            self._device_of(stream, "trim")

    def allocate_pinned(self, nbytes: int) -> PinnedBlock:
        with self._lock:
            self._called("allocate_pinned")
            if self.used[1] + nbytes > self.pinned_capacity:
                raise DeviceMemoryError("fake: out of pinned memory")
            array = page_aligned(nbytes)
            array[:] = 0xCD
            self.pinned[array.ctypes.data] = array
            return PinnedBlock(array.ctypes.data, array)

    def free_pinned(self, block: PinnedBlock) -> None:
        with self._lock:
            self.calls["free_pinned"] += 1
            self._note(block.array is not None, "pinned memory freed twice")
            block.array = None
            self._require_idle(Span(block.pointer, block.nbytes), "pinned memory")
            self.pinned.pop(block.pointer)[:] = FREED

    def page_lock(self, pointer: int, nbytes: int) -> None:
        with self._lock:
            self._called("page_lock")
            self._require(pointer % PAGE == nbytes % PAGE == 0 and nbytes > 0, "no whole pages were locked")
            for start, data in self.locked.items():
                self._require(pointer >= start + len(data) or start >= pointer + nbytes, "pages were locked twice")
            self.locked[pointer] = _host(pointer, nbytes)

    def page_unlock(self, pointer: int) -> None:
        with self._lock:
            self.calls["page_unlock"] += 1
            data = self.locked.pop(pointer, None)
            self._note(data is not None, "pages were unlocked that were not locked")
            if data is not None:
                self._require_idle(Span(pointer, len(data)), "locked memory")
                self._note(_is_mapped(pointer), "pages were unlocked after they were unmapped")
            self._refuse()

    def place_of(self, pointer: int, nbytes: int = 1) -> Place:
        with self._lock:
            self._called("place_of")
            for start, (device, data) in self.blocks.items():
                if start <= pointer < start + len(data):
                    return Place(device, False)
            first, last = (self.buffer_of(at) for at in (pointer, pointer + nbytes - 1))
            return Place(None, first is not None and first == last)

    def buffer_of(self, pointer: int) -> int | None:
        """The first address of the pinned bytes that hold an address; None if it is not pinned."""
        with self._lock:
            held = (*self.pinned.items(), *self.locked.items())
            return next((start for start, data in held if start <= pointer < start + len(data)), None)

    def from_dlpack(self, given: Any) -> Any:
        self._called("from_dlpack")
        return given.array

    def new_stream(self) -> int:
        with self._lock:
            self._called("new_stream")
            number = self._new()
            self.streams[number] = self._device(), deque()
            return number

    def destroy_stream(self, stream: int) -> None:
        with self._lock:
            _, queue = self.streams.pop(stream, (0, deque()))
            self._note(self.dead or not any(work.spans for work in queue), "a stream with work was destroyed")
            self._called("destroy_stream")

    def wait_stream(self, stream: int) -> None:
        with self._lock:
            self._called("wait_stream")
            if stream == LEGACY_STREAM:
                return
            while self.streams[stream][1]:
                self._run(stream)
            self._refuse()

    def new_event(self) -> int:
        with self._lock:
            self._called("new_event")
            number = self._new()
            self.events[number] = None
            return number

    def destroy_event(self, event: int) -> None:
        with self._lock:
            del self.events[event]
            self._called("destroy_event")

    def record(self, event: int, stream: int) -> None:
        with self._lock:
            self._called("record")
            work = self.events[event] = Work("event", lambda: None, ())
            if stream == LEGACY_STREAM:  # nothing here uses it, so it has no work
                work.is_over = True
            else:
                self._put(work, stream, "record")

    def is_over(self, event: int) -> bool:
        with self._lock:
            self._called("is_over")
            if not self.lazy and not self.hold():
                self._some()
            work = self.events[event]
            return work is None or work.is_over

    def wait_event(self, event: int) -> None:
        with self._lock:
            self._called("wait_event")
        while not self._waited(event):
            threading.Event().wait(0.005)

    def _waited(self, event: int) -> bool:
        """Run work until an event is over; false if a test holds all work back."""
        with self._lock:
            work = self.events[event]
            while work is not None and not work.is_over:
                if self.hold():
                    return False
                if not self.lazy and self.rng.random() < 0.5:
                    self._some()
                else:
                    self._run(next(stream for stream, (_, queue) in self.streams.items() if work in queue))
            self._refuse()
            return True

    def follow(self, stream: int, event: int) -> None:
        with self._lock:
            self._called("follow")
            work = Work("follow", lambda: None, ())
            work.after = self.events[event]
            self._put(work, stream, "follow")

    def copy(self, destination: int, source: int, nbytes: int, stream: int) -> None:
        self._copy("copy", destination, source, Rows(0, 0, nbytes), stream)

    def copy_rows(self, destination: int, source: int, rows: Rows, stream: int) -> None:
        assert rows.width <= rows.source_pitch and rows.width <= rows.destination_pitch
        assert rows.depth == 1 or (rows.height <= rows.source_rows and rows.height <= rows.destination_rows)
        self._copy("copy_2d" if rows.depth == 1 else "copy_3d", destination, source, rows, stream)

    def copy_peer(self, destination: int, there: int, source: int, here: int, nbytes: int, stream: int) -> None:
        with self._lock:
            for pointer, device in ((destination, there), (source, here)):
                self._require(self._block(pointer, 1)[2] == device, f"copy_peer: not on device {device}")
            self._copy("copy_peer", destination, source, Rows(0, 0, nbytes), stream)

    def fill(self, pointer: int, value: int, nbytes: int, stream: int) -> None:
        with self._lock:
            self._called("fill")

            def run() -> None:
                self._bytes(pointer, nbytes)[:] = value

            self._put(Work("fill", run, (Span(pointer, nbytes),)), stream, "fill")

    def reaches(self, device: int, peer: int) -> bool:
        self._called("reaches")
        return self.can_reach

    def enable_peer(self, peer: int) -> None:
        self._called("enable_peer")
        self.peers.add((self._device(), peer))

    def load(self, image: bytes) -> int:
        with self._lock:
            self._called("load")
            number = self._new()
            self.modules[number] = image
            return number

    def unload(self, module: int) -> None:
        with self._lock:
            self._called("unload")
            del self.modules[module]
            self.functions = {number: each for number, each in self.functions.items() if each.module != module}

    def function(self, module: int, name: str) -> int:
        with self._lock:
            self._called("function")
            self._require(module in self.modules, "a kernel of no module")
            self.loaded[name] += 1
            if self.executor is None:
                return module
            number = self._new()
            self.functions[number] = Function(module, programs(self.modules[module].decode())[name])
            return number

    def launch(
        self,
        function: int,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        shared: int,
        arguments: Sequence[int],
        stream: int,
    ) -> None:
        with self._lock:
            self._called("launch")
            source, destination, *numbers = arguments
            at, to = numbers[:2]
            device = self.streams[stream][0]
            for pointer in (source + at, destination + to):
                owner = self._block(pointer, 1)[2]
                reached = owner is None or owner == device or (device, owner) in self.peers
                self._require(reached, f"a kernel of device {device} cannot reach device {owner}")
            if self.executor is not None:
                assert block[1:] == grid[1:] == (1, 1) and not shared, "the executor takes one dimension"
                program = self.functions[function].program
                work = Work(
                    "kernel",
                    lambda: self._execute(program, source, destination, tuple(numbers), grid[0], block[0]),
                    (self._rest(source + at), self._rest(destination + to)),
                )
            else:
                shape = json.loads(self.modules[function])
                copy = StridedCopy(at, to, shape["run"], tuple(tuple(loop) for loop in shape["loops"]))
                work = Work("kernel", lambda: self._strided(copy, source, destination), _spans(copy, source, destination))
            self._put(work, stream, "launch")

    # ---- inside

    def _called(self, name: str) -> None:
        with self._lock:
            self.calls[name] += 1
            self._refuse()
            error = self.fail(name, self.calls[name])
        if error is not None:
            raise error

    def _refuse(self) -> None:
        if self.dead:
            for _, queue in self.streams.values():
                while queue:
                    queue.popleft().is_over = True
            raise DeviceError("fake: an illegal memory access was encountered")

    def _require(self, condition: bool, what: str) -> None:
        if not condition:
            self.violations.append(what)
            raise AssertionError(what)

    def _note(self, condition: bool, what: str) -> None:
        if not condition:
            self.violations.append(what)

    def _require_idle(self, span: Span, what: str) -> None:
        """No queued work uses these bytes."""
        for _, queue in self.streams.values():
            for work in queue:
                for used in work.spans:
                    apart = used.start + used.nbytes <= span.start or span.start + span.nbytes <= used.start
                    self._note(self.dead or apart, f"{what} was freed while {work.what} uses it")

    def _new(self) -> int:
        self._number += 1
        return self._number

    def _keep(self, data: Bytes, device: int, shift: int = 0) -> int:
        """Make bytes memory of a device. Returns their address there, `shift` bytes beyond a multiple of a power of two."""
        start = self._next + shift
        self._next += -(-(len(data) + shift + GAP) // GAP) * GAP
        if self.reachable:
            start = data.ctypes.data
        self.blocks[start] = device, data
        return start

    def _device(self) -> int:
        return int(getattr(self._mine, "device", 0))

    def _device_of(self, stream: int, what: str) -> int:
        device = self.streams[stream][0]
        mine = self._device()
        self._require(device == mine, f"{what}: a stream of device {device} in a thread that uses device {mine}")
        return device

    def _put(self, work: Work, stream: int, what: str) -> None:
        self._device_of(stream, what)
        for span in work.spans:
            self._block(span.start, span.nbytes)
        self.streams[stream][1].append(work)
        if not self.lazy and not self.hold() and self.rng.random() < 0.3:
            self._some()

    def _some(self) -> None:
        """Run some of the work that is queued."""
        for _ in range(int(self.rng.random() < 0.05) if self.slow else self.rng.randrange(4)):
            busy = [stream for stream, (_, queue) in self.streams.items() if queue and stream not in self.late]
            if not busy:
                return
            self._run(self.rng.choice(busy))

    def _run(self, stream: int) -> None:
        work = self.streams[stream][1][0]
        if work.after is not None and not work.after.is_over:
            self._run(next(other for other, (_, queue) in self.streams.items() if work.after in queue))
            return
        self.streams[stream][1].popleft()
        work.run()
        work.is_over = True

    def _block(self, pointer: int, nbytes: int) -> tuple[Bytes | None, int, int | None]:
        """The allocation that holds some bytes, their offset in it, and its device. No allocation for pageable memory."""
        if nbytes <= 0:
            return np.empty(0, np.uint8), 0, None
        for start, (device, data) in self.blocks.items():
            if start <= pointer < start + len(data):
                self._require(pointer + nbytes <= start + len(data), "access beyond device memory")
                return data, pointer - start, device
        self._require(pointer < FIRST, "use of device memory that is not allocated")
        for start, data in (*self.pinned.items(), *self.locked.items()):
            if start <= pointer < start + len(data):
                self._require(pointer + nbytes <= start + len(data), "access beyond pinned memory")
                return data, pointer - start, None
        return None, 0, None

    def _rest(self, pointer: int) -> Span:
        """An allocation from an address on."""
        data, at, _ = self._block(pointer, 1)
        self._require(data is not None, "a kernel uses pageable memory")
        assert data is not None
        return Span(pointer, len(data) - at)

    def _execute(self, program: Program, source: int, destination: int, numbers: tuple[int, ...], grid: int, block: int) -> None:
        """Execute a kernel on the allocations that hold its two ends."""
        assert self.executor is not None
        here, there = (self._bytes(*self._rest(pointer)) for pointer in (source, destination))
        try:
            self.executor.launch(program, here, there, numbers, grid, block=block, seed=self.rng.randrange(1 << 30))
        except FaultError as fault:
            self._require(False, str(fault))

    def _bytes(self, pointer: int, nbytes: int) -> Bytes:
        data, at, _ = self._block(pointer, nbytes)
        if data is None:
            return _host(pointer, nbytes)
        return data[at : at + nbytes]

    def _copy(self, what: str, destination: int, source: int, rows: Rows, stream: int) -> None:
        with self._lock:
            self._called(what)
            loops = [
                (rows.depth, rows.source_rows * rows.source_pitch, rows.destination_rows * rows.destination_pitch),
                (rows.height, rows.source_pitch, rows.destination_pitch),
            ]
            copy = StridedCopy(
                rows.source_offset, rows.destination_offset, rows.width, tuple(each for each in loops if each[0] > 1)
            )
            spans = _spans(copy, source, destination)
            work = Work(what, lambda: self._strided(copy, source, destination), spans)
            self._put(work, stream, what)
            if any(self._block(span.start, span.nbytes)[0] is None for span in spans):
                self.pageable.add(stream)
                while self.streams[stream][1]:  # as a real driver, which returns when it has read or written the bytes
                    self._run(stream)

    def _strided(self, copy: StridedCopy, source: int, destination: int) -> None:
        here, there = _spans(copy, source, destination)
        shape = (*(loop[0] for loop in copy.loops), copy.run)
        a = as_strided(self._bytes(*here), shape, (*(loop[1] for loop in copy.loops), 1))
        b = as_strided(self._bytes(*there), shape, (*(loop[2] for loop in copy.loops), 1))
        b[...] = a


def _host(pointer: int, nbytes: int) -> Bytes:
    """Host memory by its address."""
    return np.frombuffer((ctypes.c_uint8 * nbytes).from_address(pointer), np.uint8)


def _is_mapped(pointer: int) -> bool:
    for line in Path("/proc/self/maps").read_text(errors="replace").splitlines():
        first, _, last = line.split()[0].partition("-")
        if int(first, 16) <= pointer < int(last, 16):
            return True
    return False


def _spans(copy: StridedCopy, source: int, destination: int) -> tuple[Span, Span]:
    here = copy.run + sum((extent - 1) * stride for extent, stride, _ in copy.loops)
    there = copy.run + sum((extent - 1) * stride for extent, _, stride in copy.loops)
    return Span(source + copy.source_offset, here), Span(destination + copy.destination_offset, there)


def _room(nbytes: int, shift: int = 0) -> Bytes:
    """Bytes that hold nothing useful, `shift` bytes after an address that a device aligns to."""
    room = page_aligned(nbytes + shift)[shift:]
    room[:] = 0xCD
    return room
