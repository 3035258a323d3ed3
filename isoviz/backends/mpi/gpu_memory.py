"""Where messages of MPI begin and end: in host memory, and in memory of GPUs if the MPI library takes its addresses.

Only the library knows whether it sends from and receives into memory of GPUs, and not every library says so. Registered memory is
locked in place for all GPUs of the rank when a channel of a GPU first uses it, and stays so until it goes.
"""

from __future__ import annotations

import ctypes
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from isoviz.backends.cuda.device_memory import DeviceStore
from isoviz.backends.host.host_memory import HostStore
from isoviz.errors import DeviceError, RunError

if TYPE_CHECKING:
    from isoviz.backends.cuda.gpu import Gpu
    from isoviz.backends.host.host_memory import HostStore
    from isoviz.backends.mpi.thread.mpi_thread import MpiThread
    from isoviz.backends.mpi.windows import Segment, Windows
    from isoviz.backends.pages import Bytes
    from isoviz.runtime.protocols import Store


class _Locked(NamedTuple):
    """A segment that is locked: its first address, and the GPU whose driver locked it."""

    address: int
    gpu: Gpu


class LockedWindows:
    """The segments of `windows` that are locked in place. Any thread may use it."""

    def __init__(self, windows: Windows) -> None:
        self._windows = windows
        self._locked: dict[int, _Locked | str] = {}
        """By inode; for a segment that cannot be locked, the reason."""
        self._lock = threading.Lock()

    def address(self, gpu: Gpu, store: HostStore) -> int | None:
        """The address at which a GPU reaches the bytes of a store; None if they lie in no window of this rank.

        Raises:
            DeviceError: the driver refuses to lock their segment. It is asked once for each segment.
        """
        array = store.array
        place = self._windows.place(array)
        if place is None:
            return None
        segment, offset = place
        address = int(array.__array_interface__["data"][0])
        found = self._locked.get(segment.inode)
        if found is None:
            with self._lock:
                found = self._locked.get(segment.inode)
                if found is None:
                    found = self._locked[segment.inode] = _locked(gpu, address - offset, segment.nbytes)
        if isinstance(found, str):
            raise DeviceError(found)
        return address

    def forget(self, segment: Segment) -> None:
        """Unlock a segment that goes. No request uses it, and its bytes are still mapped. This takes no lock."""
        found = self._locked.pop(segment.inode, None)
        if isinstance(found, _Locked):
            with suppress(DeviceError), found.gpu.current():
                found.gpu.driver.page_unlock(found.address)


def _locked(gpu: Gpu, address: int, nbytes: int) -> _Locked | str:
    try:
        with gpu.current():
            gpu.driver.page_lock(address, nbytes)
    except DeviceError as error:
        return str(error)
    return _Locked(address, gpu)


_CUDA = 0
"""MPIX_GPU_SUPPORT_CUDA."""
_KINDS = "mpi_memory_alloc_kinds"


class CudaAware(NamedTuple):
    """What an MPI library says of memory of GPUs: whether it takes its addresses, and its words, for people."""

    takes: bool
    said: str


def cuda_aware(mpi: Any, library: Any | None = None) -> CudaAware:
    """Ask the MPI library that `mpi4py.MPI` has loaded. MPI is initialised. `library` replaces it, for tests.

    A library that does not tell does not take them: wrong addresses would end the process.
    """
    if library is None:
        library = ctypes.CDLL(mpi.__file__)  # symbols are found in what it has loaded, too
    name = " ".join(mpi.Get_library_version().replace("\0", " ").split(",")[0].split("\n")[0].split())
    if (ask := _function(library, "MPIX_Query_cuda_support")) is not None:
        answer = int(ask())
        if answer == 1:
            return CudaAware(True, f"{name}: MPIX_Query_cuda_support() gave 1")
        said = f"{name}: MPIX_Query_cuda_support() gave {answer}"
    elif (ask := _function(library, "MPIX_GPU_query_support")) is not None:
        is_supported = ctypes.c_int(0)
        status = int(ask(_CUDA, ctypes.byref(is_supported)))
        if status == 0 and is_supported.value:
            return CudaAware(True, f"{name}: MPIX_GPU_query_support(CUDA) gave 1")
        said = f"{name}: MPIX_GPU_query_support(CUDA) gave {is_supported.value}" + (
            f", with the error {status}" if status else ""
        )
    else:
        said = f"{name} does not tell"
    info = mpi.COMM_WORLD.Get_info()
    try:
        kinds = str(info.get(_KINDS) or "")
    finally:
        info.Free()
    if any(kind.strip().partition(":")[0] == "cuda" for kind in kinds.split(",")):
        return CudaAware(True, f"{name}: {_KINDS} is {kinds}")
    return CudaAware(False, said)


def _function(library: Any, name: str) -> Any | None:
    """A function of the library; None if it has none of this name."""
    try:
        return getattr(library, name)
    except AttributeError:
        return None


class MessageBuffers:
    """The buffers of messages of a rank. `takes` says whether MPI takes addresses of GPU memory; None asks the library."""

    def __init__(self, thread: MpiThread, takes: bool | None = None) -> None:
        self._thread = thread
        self._aware = None if takes is None else CudaAware(takes, "the caller of World says so")

    @property
    def aware(self) -> CudaAware:
        """What the MPI library says of memory of GPUs. It is asked once."""
        if self._aware is None:
            self._aware = self._thread.call(lambda: cuda_aware(self._thread.mpi))
        return self._aware

    @property
    def refusal(self) -> str:
        """Why messages do not reach memory of GPUs, as a sentence without its end; empty if they do."""
        aware = self.aware
        if aware.takes:
            return ""
        return f"the MPI library of rank {self._thread.rank} takes no addresses of GPU memory ({aware.said})"

    def of(self, store: Store) -> Bytes:
        """The bytes of a store as a buffer for MPI. To be called in the MPI thread, which uses the GPU of the store from then on.

        Those of a GPU have their addresses there: nothing but MPI may look at them.

        Raises:
            RunError: MPI does not reach them.
            DeviceError: the GPU fails.
        """
        if isinstance(store, HostStore):
            return store.array
        if not isinstance(store, DeviceStore):
            raise RunError(f"{type(store).__name__}: MPI cannot reach its bytes")
        if self.refusal:
            raise RunError(self.refusal)
        store.gpu.driver.use(store.gpu.number)
        return np.ctypeslib.as_array((ctypes.c_uint8 * store.nbytes).from_address(store.pointer))
