"""The GPU driver of this computer, through CuPy. CuPy is imported when the first memory of a GPU is asked for.

Device memory comes from the allocator that CuPy uses (its pool, or what the caller has set), and pinned memory from CuPy's pool
of pinned memory. So limits that a program sets for its pools hold for isoviz, too, and closed blocks are there for others.
"""

from __future__ import annotations

import ctypes
import importlib.util
import mmap
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from isoviz.backends.cuda.cuda_driver import DeviceBlock, PinnedBlock, Place
from isoviz.errors import DeviceError, DeviceMemoryError, installation, line

if TYPE_CHECKING:
    from isoviz.backends.cuda.cuda_driver import CudaDriver
    from isoviz.backends.cuda.row_copies import Rows
    from isoviz.backends.pages import Bytes

_NOT_READY = 600
_OUT_OF_MEMORY = 2
_PEER_ENABLED = 704
_HOST, _DEVICE, _MANAGED = 1, 2, 3
_ANY = 4
"""cudaMemcpyDefault: the driver tells from the addresses where they lie."""
_BUFFER_ID = 7
"""CU_POINTER_ATTRIBUTE_BUFFER_ID."""
_NO_TIMING, _BLOCKING = 2, 1
_NON_BLOCKING = 1
_PORTABLE, _MAPPED = 1, 2
_PAGE = mmap.PAGESIZE


class Loaded(NamedTuple):
    """The driver, or the reason why there is none, as the end of a sentence."""

    driver: CudaDriver | None
    reason: str


_ABSENT = "CuPy finds no GPU: this computer has no NVIDIA driver"
_KNOWN = {
    "cudaErrorNoDevice": "CuPy finds no GPU here",
    "cudaErrorInsufficientDriver": "CuPy cannot use a GPU here: the NVIDIA driver is broken, or too old for the CUDA of CuPy",
}
"""What errors of CuPy mean, by a word in them."""
_MOST = 300
"""Characters of an error that are told."""


@cache
def loaded() -> Loaded:
    """The driver of this computer. The first call may import CuPy. It never raises: an import of CuPy may fail in any way."""
    if not _is_installed():
        return Loaded(None, f"CuPy is not installed here ({installation('gpu-cuda13')})")
    try:
        driver_library()
    except OSError as error:
        is_absent = any(word in str(error) for word in ("No such file", "Could not find"))
        return Loaded(None, _ABSENT if is_absent else f"CuPy finds no GPU: the NVIDIA driver cannot be loaded: {_told(error)}")
    try:
        driver = CupyDriver()
        count = driver.device_count()
    except Exception as error:  # noqa: BLE001  # CuPy or its libraries may lack anything
        known = next((said for word, said in _KNOWN.items() if word in str(error)), "")
        return Loaded(None, known or f"CuPy cannot use a GPU here: {type(error).__name__}: {_told(error)}")
    return Loaded(driver, "") if count else Loaded(None, _KNOWN["cudaErrorNoDevice"])


def driver_library() -> Any:
    """The library of the NVIDIA driver.

    Raises:
        OSError: there is none that can be loaded.
    """
    return ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")


def _is_installed() -> bool:
    try:
        return importlib.util.find_spec("cupy") is not None
    except (ImportError, ValueError):  # something else stands in its place
        return True


def _told(error: BaseException) -> str:
    """An error on one line, without the rules that CuPy draws around its messages."""
    lines = (each.strip(" =-\t") for each in str(error).splitlines())
    return line(" ".join(filter(None, lines)), _MOST)


class _Pitched(ctypes.Structure):
    """cudaPitchedPtr."""

    _fields_ = (
        ("pointer", ctypes.c_void_p),
        ("pitch", ctypes.c_size_t),
        ("width", ctypes.c_size_t),
        ("rows", ctypes.c_size_t),
    )


class _Position(ctypes.Structure):
    """cudaPos and cudaExtent."""

    _fields_ = (("x", ctypes.c_size_t), ("y", ctypes.c_size_t), ("z", ctypes.c_size_t))


class Memcpy3D(ctypes.Structure):
    """cudaMemcpy3DParms."""

    _fields_ = (
        ("source_array", ctypes.c_void_p),
        ("source_position", _Position),
        ("source", _Pitched),
        ("destination_array", ctypes.c_void_p),
        ("destination_position", _Position),
        ("destination", _Pitched),
        ("extent", _Position),
        ("kind", ctypes.c_int),
    )


def planes(destination: int, source: int, rows: Rows) -> Memcpy3D:
    """The arguments of cudaMemcpy3D for planes of rows."""
    return Memcpy3D(
        source=_Pitched(source + rows.source_offset, rows.source_pitch, rows.width, rows.source_rows),
        destination=_Pitched(destination + rows.destination_offset, rows.destination_pitch, rows.width, rows.destination_rows),
        extent=_Position(rows.width, rows.height, rows.depth),
        kind=_ANY,
    )


def _lent_stream(stream_class: type) -> type:
    """A class of CuPy streams for streams of others, which it does not destroy.

    CuPy's own one (`ExternalStream`) is deprecated from version 14 on, and its successor (`Stream.from_external`) is not in 13.
    """

    def begin(self: Any, pointer: int) -> None:
        self.ptr, self.device_id = pointer, -1

    def leave(_: Any) -> None:
        """Do not destroy the stream."""

    return type("LentStream", (stream_class,), {"__init__": begin, "__del__": leave})


class CupyDriver:
    """A `CudaDriver` by CuPy.

    Raises:
        ImportError: CuPy cannot be imported.
    """

    def __init__(self) -> None:
        # It warns of parts that isoviz does not use, such as a missing toolkit. The filters are those of the whole process, which
        # for the time of this one import loses warnings of other threads too.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import cupy
            from cupy.cuda import driver, runtime

        self._cupy, self._runtime, self._driver = cupy, runtime, driver
        self._failed = (runtime.CUDARuntimeError, driver.CUDADriverError)
        self._lent_stream = _lent_stream(cupy.cuda.Stream)
        self._thread = threading.local()

    # ---- devices

    def device_count(self) -> int:
        with self._call("cudaGetDeviceCount"):
            return int(self._runtime.getDeviceCount())

    def device_name(self, device: int) -> str:
        with self._call("cudaGetDeviceProperties"):
            return bytes(self._runtime.getDeviceProperties(device)["name"]).decode()

    def architecture(self, device: int) -> str:
        with self._call("cudaDeviceGetAttribute"):
            return f"sm_{self._cupy.cuda.Device(device).compute_capability}"

    def pci_address(self, device: int) -> str:
        with self._call("cudaDeviceGetPCIBusId"):
            return str(self._runtime.deviceGetPCIBusId(device)).lower()

    def versions(self) -> tuple[tuple[str, str], ...]:
        with self._call("cudaDriverGetVersion"):
            found = self._runtime.runtimeGetVersion(), self._runtime.driverGetVersion()
        runtime, driver = (f"{version // 1000}.{version % 1000 // 10}" for version in found)
        return ("cupy", str(self._cupy.__version__)), ("CUDA runtime", runtime), ("CUDA driver", driver)

    def free_bytes(self) -> tuple[int, int]:
        with self._call("cudaMemGetInfo"):
            free, total = self._runtime.memGetInfo()
            return int(free), int(total)

    def used_device(self) -> int:
        with self._call("cudaGetDevice"):
            return int(self._runtime.getDevice())

    def use(self, device: int) -> None:
        with self._call("cudaSetDevice"):
            self._runtime.setDevice(device)

    def reaches(self, device: int, peer: int) -> bool:
        with self._call("cudaDeviceCanAccessPeer"):
            return bool(self._runtime.deviceCanAccessPeer(device, peer))

    def enable_peer(self, peer: int) -> None:
        with self._call("cudaDeviceEnablePeerAccess"):
            try:
                self._runtime.deviceEnablePeerAccess(peer)
            except self._runtime.CUDARuntimeError as error:
                if error.status != _PEER_ENABLED:
                    raise

    # ---- memory

    def allocate(self, nbytes: int, stream: int) -> DeviceBlock:
        with self._call("allocation"), self._lent_stream(stream):
            memory = self._cupy.cuda.alloc(max(1, nbytes))
            return DeviceBlock(int(memory.ptr), nbytes, self.used_device(), memory)

    def free(self, block: DeviceBlock) -> None:
        block.owner = None

    def trim(self, stream: int) -> None:
        with self._call("cudaFree"):
            self._cupy.get_default_memory_pool().free_all_blocks(self._lent_stream(stream))

    def allocate_pinned(self, nbytes: int) -> PinnedBlock:
        room = self._pinned(nbytes)  # The pool rounds up to a power of two: one page more can be twice as much.
        if room.ctypes.data % _PAGE:
            room = self._pinned(nbytes + _PAGE)
        array = room[-room.ctypes.data % _PAGE :][:nbytes]
        return PinnedBlock(array.ctypes.data, array)

    def _pinned(self, nbytes: int) -> Bytes:
        with self._call("cudaHostAlloc"):
            return np.frombuffer(self._cupy.cuda.alloc_pinned_memory(max(1, nbytes)), np.uint8, max(1, nbytes))

    def free_pinned(self, block: PinnedBlock) -> None:
        block.array = None

    def page_lock(self, pointer: int, nbytes: int) -> None:
        with self._call("cudaHostRegister"):
            self._runtime.hostRegister(pointer, nbytes, _PORTABLE | _MAPPED)
        there = None
        try:
            with self._call("cudaPointerGetAttributes"):
                there = int(self._runtime.pointerGetAttributes(pointer).devicePointer)
        finally:
            if there != pointer:
                self.page_unlock(pointer)
        if there != pointer:
            raise DeviceError("cudaHostRegister: the devices reach the pages at another address only")

    def page_unlock(self, pointer: int) -> None:
        with self._call("cudaHostUnregister"):
            self._runtime.hostUnregister(pointer)

    def place_of(self, pointer: int, nbytes: int = 1) -> Place:
        with self._call("cudaPointerGetAttributes"):
            found = self._runtime.pointerGetAttributes(pointer)
        if found.type in (_DEVICE, _MANAGED):
            return Place(int(found.device), False)
        # Others may have pinned both ends and nothing between them, or let the devices reach the bytes elsewhere.
        is_mapped = found.type == _HOST and int(found.devicePointer) == pointer
        first = self._buffer_of(pointer) if is_mapped else None
        return Place(None, first is not None and first == self._buffer_of(pointer + nbytes - 1))

    def _buffer_of(self, pointer: int) -> int | None:
        """The number of the allocation, or of the bytes locked together, that hold an address; None if the driver knows of none.

        Such numbers are never used again. CuPy does not have this call.
        """
        number = ctypes.c_uint64()
        status = self._library.cuPointerGetAttribute(ctypes.byref(number), _BUFFER_ID, ctypes.c_uint64(pointer))
        return None if status else number.value

    @cached_property
    def _library(self) -> Any:
        return driver_library()

    def from_dlpack(self, given: Any) -> Any:
        try:
            with self._call("DLPack"):
                return self._cupy.from_dlpack(given)
        except (TypeError, ValueError, BufferError) as error:  # such as elements of bfloat16 and 8-bit floats
            dtype = getattr(given, "dtype", "unknown type")
            raise DeviceError(
                f"DLPack: CuPy takes no {type(given).__name__} with elements of {dtype} ({_told(error)}); pass a view of it as"
                " whole numbers of that size, such as tensor.view(torch.uint16) of bfloat16, or torch.uint8 of 8-bit floats"
            ) from error

    # ---- streams and events

    def new_stream(self) -> int:
        with self._call("cudaStreamCreate"):
            return int(self._runtime.streamCreateWithFlags(_NON_BLOCKING))

    def destroy_stream(self, stream: int) -> None:
        with self._call("cudaStreamDestroy"):
            self._runtime.streamDestroy(stream)

    def wait_stream(self, stream: int) -> None:
        with self._call("cudaStreamSynchronize"):
            self._runtime.streamSynchronize(stream)

    def new_event(self) -> int:
        with self._call("cudaEventCreate"):
            return int(self._runtime.eventCreateWithFlags(_NO_TIMING | _BLOCKING))

    def destroy_event(self, event: int) -> None:
        with self._call("cudaEventDestroy"):
            self._runtime.eventDestroy(event)

    def record(self, event: int, stream: int) -> None:
        with self._call("cudaEventRecord"):
            self._runtime.eventRecord(event, stream)

    def is_over(self, event: int) -> bool:
        with self._call("cudaEventQuery"):
            status = self._runtime.eventQuery(event)
            if status not in (0, _NOT_READY):
                raise self._runtime.CUDARuntimeError(status)
            return bool(status == 0)

    def wait_event(self, event: int) -> None:
        with self._call("cudaEventSynchronize"):
            self._runtime.eventSynchronize(event)

    def follow(self, stream: int, event: int) -> None:
        with self._call("cudaStreamWaitEvent"):
            self._runtime.streamWaitEvent(stream, event)

    # ---- copies

    def copy(self, destination: int, source: int, nbytes: int, stream: int) -> None:
        with self._call("cudaMemcpyAsync"):
            self._runtime.memcpyAsync(destination, source, nbytes, _ANY, stream)

    def copy_rows(self, destination: int, source: int, rows: Rows, stream: int) -> None:
        if rows.depth > 1:
            parameters = planes(destination, source, rows)
            with self._call("cudaMemcpy3DAsync"):
                self._runtime.memcpy3DAsync(ctypes.addressof(parameters), stream)
            return
        there, here = destination + rows.destination_offset, source + rows.source_offset
        with self._call("cudaMemcpy2DAsync"):
            self._runtime.memcpy2DAsync(
                there, rows.destination_pitch, here, rows.source_pitch, rows.width, rows.height, _ANY, stream
            )

    def copy_peer(self, destination: int, there: int, source: int, here: int, nbytes: int, stream: int) -> None:
        with self._call("cudaMemcpyPeerAsync"):
            self._runtime.memcpyPeerAsync(destination, there, source, here, nbytes, stream)

    def fill(self, pointer: int, value: int, nbytes: int, stream: int) -> None:
        with self._call("cudaMemsetAsync"):
            self._runtime.memsetAsync(pointer, value, nbytes, stream)

    # ---- kernels

    def load(self, image: bytes) -> int:
        with self._call("cuModuleLoadData"):
            self._require_context()
            return int(self._driver.moduleLoadData(image))

    def unload(self, module: int) -> None:
        with self._call("cuModuleUnload"):
            self._require_context()
            self._driver.moduleUnload(module)

    def function(self, module: int, name: str) -> int:
        with self._call("cuModuleGetFunction"):
            self._require_context()
            return int(self._driver.moduleGetFunction(module, name))

    def launch(
        self,
        function: int,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        shared: int,
        arguments: Sequence[int],
        stream: int,
    ) -> None:
        values = (ctypes.c_int64 * len(arguments))(*arguments)
        first, size = ctypes.addressof(values), ctypes.sizeof(ctypes.c_int64)
        places = (ctypes.c_void_p * len(arguments))(*(first + k * size for k in range(len(arguments))))
        with self._call("cuLaunchKernel"):
            self._require_context()
            self._driver.launchKernel(function, *grid, *block, shared, stream, ctypes.addressof(places), 0)

    def _require_context(self) -> None:
        """Have a context in this thread. Functions of the runtime make it, and those of the driver, which end here, do not."""
        if not getattr(self._thread, "has_context", False):
            self._runtime.setDevice(self._runtime.getDevice())
            self._runtime.memGetInfo()
            self._thread.has_context = True

    # ---- errors

    @contextmanager
    def _call(self, what: str) -> Iterator[None]:
        """Turn CuPy's errors into those of isoviz. `what` names the call."""
        try:
            yield
        except self._cupy.cuda.memory.OutOfMemoryError as error:
            raise DeviceMemoryError(f"{what}: no room: {error}") from error
        except self._failed as error:
            kind: Callable[[str], Exception] = DeviceMemoryError if error.status == _OUT_OF_MEMORY else DeviceError
            raise kind(f"{what} failed: {error}") from error
