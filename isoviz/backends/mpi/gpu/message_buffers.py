"""Where messages of MPI begin and end: in host memory, and in memory of GPUs if the MPI library takes its addresses."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING

import numpy as np

from isoviz.backends.cuda.device_memory import DeviceStore
from isoviz.backends.host.host_memory import HostStore
from isoviz.backends.mpi.gpu.cuda_aware import CudaAware, cuda_aware
from isoviz.errors import RunError

if TYPE_CHECKING:
    from isoviz.backends.mpi.mpi_thread import MpiThread
    from isoviz.backends.pages import Bytes
    from isoviz.runtime.protocols import Store


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
