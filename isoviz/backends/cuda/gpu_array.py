"""Bytes of host memory that were copied to a GPU, for callers who have no array of their own there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from isoviz.backends.cuda.device_memory import DeviceMemory
    from isoviz.backends.pages import Bytes
    from isoviz.layouts.given_arrays import Array


class GpuArray:
    """A copy of a flat array in the memory of a GPU, with `__cuda_array_interface__`, until `close`.

    Raises:
        DeviceMemoryError: the GPU has no room.
        DeviceError: the GPU fails.
    """

    def __init__(self, memory: DeviceMemory, array: Array) -> None:
        self._store = memory.slot(array.nbytes)
        try:
            memory.gpu.write(self._store.pointer, array.view(np.uint8))
        except BaseException:
            self._store.close()
            raise
        self.__cuda_array_interface__ = {
            "shape": array.shape,
            "typestr": array.dtype.str,
            "descr": array.dtype.descr,
            "data": (self._store.pointer, False),
            "stream": None,
            "version": 3,
        }

    def host(self) -> Bytes:
        """A copy of the bytes in host memory.

        Raises:
            DeviceError: the GPU fails.
        """
        return self._store.read(0, self._store.nbytes)

    def close(self) -> None:
        """Free the memory. Safe to call twice."""
        self._store.close()
