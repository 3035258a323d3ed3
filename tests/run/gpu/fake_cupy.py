# ruff: noqa: N803  # CuPy's names
"""A CuPy for tests, over the driver of the tests: the parts of CuPy that isoviz uses, with CuPy's names and parameters.

`test_cupy_calls.py` compares the parameters with those of the real CuPy, where that is installed.
"""

from __future__ import annotations

import ctypes
import sys
import threading
import time
import types
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import pytest
from fake_arrays import FakeDlpack
from fake_cupy_arrays import add_arrays
from fake_driver import FakeDriver

from isoviz.backends.cuda import cupy_driver, gpus
from isoviz.backends.cuda.cuda_driver import DeviceBlock
from isoviz.backends.cuda.cupy_driver import CupyDriver, Loaded
from isoviz.backends.cuda.row_copies import Rows
from isoviz.backends.pages import page_aligned
from isoviz.errors import DeviceError, DeviceMemoryError

NOT_READY, INVALID, OUT_OF_MEMORY, FAILED, NO_CONTEXT = 600, 1, 2, 719, 201
HOST, DEVICE = 1, 2


class CUDARuntimeError(RuntimeError):
    def __init__(self, status: int, said: str = "") -> None:
        super().__init__(f"status {status}: {said}")
        self.status = status


class CUDADriverError(CUDARuntimeError):
    pass


class OutOfMemoryError(MemoryError):
    pass


class PointerAttributes(NamedTuple):
    device: int
    devicePointer: int  # noqa: N815  # CuPy's names
    hostPointer: int  # noqa: N815
    type: int


@contextmanager
def failing() -> Iterator[None]:
    """Errors of the driver of the tests, as CuPy raises them."""
    try:
        yield
    except DeviceMemoryError as error:
        raise CUDARuntimeError(OUT_OF_MEMORY, str(error)) from error
    except DeviceError as error:
        raise CUDARuntimeError(FAILED, str(error)) from error


class FakeRuntime(types.ModuleType):
    """`cupy.cuda.runtime`."""

    CUDARuntimeError = CUDARuntimeError

    def __init__(self, plays: FakeDriver) -> None:
        super().__init__("cupy.cuda.runtime")
        self.plays = plays
        self.thread = threading.local()
        self.times: dict[int, float] = {}
        self.apart = 0
        """How far the address of host memory on a device is from that on the host."""

    def getDeviceCount(self) -> int:
        with failing():
            return self.plays.device_count()

    def getDeviceProperties(self, device: int) -> dict[str, Any]:
        with failing():
            return {
                "name": self.plays.device_name(device).encode(),
                "major": 9,
                "minor": 0,
                "totalGlobalMem": self.plays.capacity,
            }

    def driverGetVersion(self) -> int:
        return 13000

    def runtimeGetVersion(self) -> int:
        return 13000

    def memGetInfo(self) -> tuple[int, int]:
        self.thread.has_context = True
        return self.plays.capacity - self.plays.used[0], self.plays.capacity

    def getDevice(self) -> int:
        with failing():
            return self.plays.used_device()

    def setDevice(self, device: int) -> None:
        with failing():
            self.plays.use(device)
        self.thread.has_context = True

    def deviceCanAccessPeer(self, device: int, peerDevice: int) -> int:
        with failing():
            return int(self.plays.reaches(device, peerDevice))

    def deviceEnablePeerAccess(self, peerDevice: int) -> None:
        if (self.plays.used_device(), peerDevice) in self.plays.peers:
            raise CUDARuntimeError(704)
        with failing():
            self.plays.enable_peer(peerDevice)

    def deviceGetPCIBusId(self, device: int) -> str:
        with failing():
            return self.plays.pci_address(device).upper()

    def hostRegister(self, ptr: int, size: int, flags: int) -> None:
        assert flags == 3, "for all devices, and mapped"
        with failing():
            self.plays.page_lock(ptr, size)

    def hostUnregister(self, ptr: int) -> None:
        with failing():
            self.plays.page_unlock(ptr)

    def deviceSynchronize(self) -> None:
        with failing(), self.plays._lock:
            for stream in list(self.plays.streams):
                self.plays.wait_stream(stream)

    def pointerGetAttributes(self, ptr: int) -> PointerAttributes:
        with failing():
            place = self.plays.place_of(ptr)
        kind = DEVICE if place.device is not None else HOST if place.is_pinned else 0
        return PointerAttributes(place.device or 0, ptr + self.apart, ptr, kind)

    def streamCreateWithFlags(self, flags: int) -> int:
        assert flags == 1, "streams do not wait for the default stream"
        with failing():
            return self.plays.new_stream()

    def streamDestroy(self, stream: int) -> None:
        with failing():
            self.plays.destroy_stream(stream)

    def streamSynchronize(self, stream: int) -> None:
        with failing():
            self.plays.wait_stream(stream)

    def eventCreateWithFlags(self, flags: int) -> int:
        with failing():
            return self.plays.new_event()

    def eventDestroy(self, event: int) -> None:
        with failing():
            self.plays.destroy_event(event)

    def eventRecord(self, event: int, stream: int) -> None:
        with failing():
            self.plays.record(event, stream)
        self.times[event] = time.perf_counter()

    def eventQuery(self, event: int) -> int:
        try:
            return 0 if self.plays.is_over(event) else NOT_READY
        except DeviceError:
            return FAILED

    def eventSynchronize(self, event: int) -> None:
        with failing():
            self.plays.wait_event(event)

    def streamWaitEvent(self, stream: int, event: int, flags: int = 0) -> None:
        with failing():
            self.plays.follow(stream, event)

    def eventElapsedTime(self, start: int, end: int) -> float:
        return max(1e-3, 1e3 * (self.times[end] - self.times[start]))

    def memcpy(self, dst: int, src: int, size: int, kind: int) -> None:
        assert kind == 4
        with failing():
            stream = self.plays.new_stream()
            self.plays.copy(dst, src, size, stream)
            self.plays.wait_stream(stream)
            self.plays.destroy_stream(stream)

    def memcpyAsync(self, dst: int, src: int, size: int, kind: int, stream: int) -> None:
        assert kind == 4
        with failing():
            self.plays.copy(dst, src, size, stream)

    def memcpy2DAsync(
        self, dst: int, dpitch: int, src: int, spitch: int, width: int, height: int, kind: int, stream: int
    ) -> None:
        assert kind == 4
        with failing():
            self.plays.copy_rows(dst, src, Rows(0, 0, width, height, 1, spitch, dpitch, height, height), stream)

    def memcpy3DAsync(self, Memcpy3DParmsPtr: int, stream: int) -> None:
        words = (ctypes.c_size_t * 19).from_address(Memcpy3DParmsPtr)
        kind = ctypes.c_int.from_address(Memcpy3DParmsPtr + 19 * 8).value
        assert not any(words[k] for k in (0, 1, 2, 3, 8, 9, 10, 11)), "neither arrays nor positions"
        source, pitch, width, height = words[4:8]
        destination, to_pitch, to_width, to_height = words[12:16]
        across, down, deep = words[16:19]
        assert kind == 4 and width == to_width == across
        with failing():
            rows = Rows(0, 0, across, down, deep, pitch, to_pitch, height, to_height)
            self.plays.copy_rows(destination, source, rows, stream)

    def memcpyPeerAsync(self, dst: int, dstDevice: int, src: int, srcDevice: int, size: int, stream: int) -> None:
        with failing():
            self.plays.copy_peer(dst, dstDevice, src, srcDevice, size, stream)

    def memsetAsync(self, ptr: int, value: int, size: int, stream: int) -> None:
        with failing():
            self.plays.fill(ptr, value, size, stream)


class FakeCudaDriver(types.ModuleType):
    """`cupy.cuda.driver`. Its functions need a context in the calling thread, which functions of the runtime make."""

    CUDADriverError = CUDADriverError

    def __init__(self, runtime: FakeRuntime) -> None:
        super().__init__("cupy.cuda.driver")
        self.runtime, self.plays = runtime, runtime.plays

    def require_context(self) -> None:
        if not getattr(self.runtime.thread, "has_context", False):
            self.plays.violations.append("a call of the driver in a thread without a context")
            raise CUDADriverError(NO_CONTEXT)

    def moduleLoadData(self, image: bytes) -> int:
        self.require_context()
        with failing():
            return self.plays.load(image)

    def moduleUnload(self, module: int) -> None:
        self.require_context()
        with failing():
            self.plays.unload(module)

    def moduleGetFunction(self, module: int, funcname: str) -> int:
        self.require_context()
        with failing():
            return self.plays.function(module, funcname)

    def launchKernel(
        self,
        f: int,
        grid_dim_x: int,
        grid_dim_y: int,
        grid_dim_z: int,
        block_dim_x: int,
        block_dim_y: int,
        block_dim_z: int,
        shared_mem_bytes: int,
        stream: int,
        kernel_params: int,
        extra: int,
    ) -> None:
        self.require_context()
        assert extra == 0
        count = len(self.plays.functions[f].program.parameters) if self.plays.executor else 4
        places = (ctypes.c_void_p * count).from_address(kernel_params)
        values = [ctypes.c_int64.from_address(place or 0).value for place in places]
        grid, block = (grid_dim_x, grid_dim_y, grid_dim_z), (block_dim_x, block_dim_y, block_dim_z)
        with failing():
            self.plays.launch(f, grid, block, shared_mem_bytes, values, stream)


class FakeMemory:
    """`cupy.cuda.MemoryPointer` with the memory that it points to."""

    def __init__(self, plays: FakeDriver, start: int, size: int, block: DeviceBlock | None, offset: int = 0) -> None:
        self.plays, self.start, self.size, self.offset = plays, start, size, offset
        self.ptr = start + offset
        if block is not None:
            weakref.finalize(self, plays.free, block).atexit = False
        self.owner: FakeMemory | None = None

    def __add__(self, offset: int) -> FakeMemory:
        moved = FakeMemory(self.plays, self.start, self.size, None, self.offset + offset)
        moved.owner = self
        return moved


class FakeStream:
    """`cupy.cuda.Stream`."""

    current: dict[int, list[Any]] = {}  # noqa: RUF012  # of all threads
    runtime: FakeRuntime

    def __init__(self, null: bool = False, non_blocking: bool = False, ptds: bool = False) -> None:
        assert non_blocking and not null and not ptds
        self.ptr, self.device_id = self.runtime.streamCreateWithFlags(1), self.runtime.getDevice()

    def __del__(self) -> None:
        self.runtime.streamDestroy(self.ptr)

    def __enter__(self) -> FakeStream:
        assert self.device_id in (-1, self.runtime.getDevice())
        self.current.setdefault(threading.get_ident(), []).append(self)
        return self

    def __exit__(self, *_: object) -> None:
        self.current[threading.get_ident()].pop()

    def synchronize(self) -> None:
        self.runtime.streamSynchronize(self.ptr)


class FakeEvent:
    """`cupy.cuda.Event`."""

    runtime: FakeRuntime

    def __init__(self, block: bool = False, disable_timing: bool = False, interprocess: bool = False) -> None:
        assert not interprocess
        self.ptr = self.runtime.eventCreateWithFlags(block + 2 * disable_timing)

    def __del__(self) -> None:
        self.runtime.eventDestroy(self.ptr)

    def record(self, stream: Any = None) -> None:
        self.runtime.eventRecord(self.ptr, stream.ptr)

    def synchronize(self) -> None:
        self.runtime.eventSynchronize(self.ptr)


class FakePool:
    """`cupy.cuda.MemoryPool`."""

    def __init__(self, plays: FakeDriver) -> None:
        self.plays = plays

    def used_bytes(self) -> int:
        return self.plays.used[0]

    def free_all_blocks(self, stream: Any = None) -> None:
        if stream is not None:
            self.plays.trim(stream.ptr)

    def set_limit(self, size: int) -> None:
        self.plays.capacity = size or 1 << 30


class FakePinnedPool(FakePool):
    """`cupy.cuda.PinnedMemoryPool`."""

    def n_free_blocks(self) -> int:
        return 0


def make(plays: FakeDriver) -> types.ModuleType:
    """The module `cupy`."""
    runtime = FakeRuntime(plays)
    cuda: Any = types.ModuleType("cupy.cuda")
    cuda.runtime, cuda.driver = runtime, FakeCudaDriver(runtime)
    cuda.memory = types.SimpleNamespace(OutOfMemoryError=OutOfMemoryError)
    cuda.Stream = type("Stream", (FakeStream,), {"runtime": runtime, "current": {}})
    cuda.Event = type("Event", (FakeEvent,), {"runtime": runtime})

    def get_elapsed_time(start_event: Any, end_event: Any) -> float:
        return runtime.eventElapsedTime(start_event.ptr, end_event.ptr)

    class Device:
        """`cupy.cuda.Device`."""

        def __init__(self, device: int) -> None:
            self.id = device
            self.compute_capability = plays.architecture(device).removeprefix("sm_")

        def __enter__(self) -> None:
            self.before = runtime.getDevice()
            runtime.setDevice(self.id)

        def __exit__(self, *_: object) -> None:
            runtime.setDevice(self.before)

    def alloc(size: int) -> FakeMemory:
        stream = (cuda.Stream.current.get(threading.get_ident()) or [None])[-1]
        if stream is None:
            with plays._lock:  # `held` is not as well aligned as CuPy's memory
                start = plays._keep(page_aligned(size), runtime.getDevice())
            return FakeMemory(plays, start, size, DeviceBlock(start, size, 0, plays))
        try:
            block = plays.allocate(size, stream.ptr)
        except DeviceMemoryError as error:
            raise OutOfMemoryError(str(error)) from error
        except DeviceError as error:
            raise CUDARuntimeError(FAILED, str(error)) from error
        return FakeMemory(plays, block.pointer, size, block)

    def alloc_pinned_memory(size: int) -> Any:
        with failing():
            block = plays.allocate_pinned(size)
        room = (ctypes.c_uint8 * size).from_address(block.pointer)  # arrays of NumPy on it keep it
        weakref.finalize(room, plays.free_pinned, block).atexit = False
        return room

    cuda.get_elapsed_time, cuda.Device = get_elapsed_time, Device
    cuda.alloc, cuda.alloc_pinned_memory = alloc, alloc_pinned_memory
    found: Any = types.ModuleType("cupy")
    found.__version__, found.cuda = "0 (fake)", cuda
    pool, pinned = FakePool(plays), FakePinnedPool(plays)
    found.get_default_memory_pool, found.get_default_pinned_memory_pool = lambda: pool, lambda: pinned
    found.from_dlpack = lambda given: plays.from_dlpack(given) if isinstance(given, FakeDlpack) else given.__dlpack__()
    add_arrays(found)
    return found  # type: ignore[no-any-return]


def play(plays: FakeDriver, patch: pytest.MonkeyPatch) -> CupyDriver:
    """Let this process find this CuPy, its GPUs, and the driver of isoviz over it."""
    driver = install(patch, plays)
    if plays.executor is not None:
        patch.setattr(CupyDriver, "architecture", lambda self, device: plays.architecture(device))
    patch.setattr(cupy_driver, "loaded", lambda: Loaded(driver, ""))
    patch.setattr(gpus, "loaded", cupy_driver.loaded)
    return driver


class FakeLibrary:
    """The library of the NVIDIA driver."""

    def __init__(self, plays: FakeDriver) -> None:
        self.plays = plays

    def cuPointerGetAttribute(self, data: Any, attribute: int, ptr: ctypes.c_uint64) -> int:  # CUDA's names
        assert attribute == 7, "CU_POINTER_ATTRIBUTE_BUFFER_ID"
        found = self.plays.buffer_of(ptr.value)
        if found is None:
            return INVALID
        data._obj.value = found
        return 0


def install(monkeypatch: pytest.MonkeyPatch, plays: FakeDriver) -> CupyDriver:
    """The driver of isoviz over this CuPy, which is what `import cupy` finds from now on."""
    made: Any = make(plays)
    for name, module in (("cupy", made), ("cupy.cuda", made.cuda)):
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setattr(cupy_driver, "driver_library", lambda: FakeLibrary(plays))
    return CupyDriver()
