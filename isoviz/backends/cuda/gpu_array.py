"""An array of host memory that was copied to a GPU, for callers who have none of their own there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from isoviz.backends.cuda.device_memory import DeviceMemory

Array = np.ndarray[Any, Any]


class GpuArray:
    """A copy of a contiguous array in the memory of a GPU, with `__cuda_array_interface__`, until `close`.

    Raises:
        DeviceMemoryError: the GPU has no room.
        DeviceError: the GPU fails.
    """

    def __init__(self, memory: DeviceMemory, array: Array) -> None:
        self._is_turned = array.flags.f_contiguous and not array.flags.c_contiguous
        rows = array.T if self._is_turned else array
        self._store = memory.slot(array.nbytes)
        try:
            memory.gpu.write(self._store.pointer, rows.reshape(-1).view(np.uint8))
        except BaseException:
            self._store.close()
            raise
        self._shape, self._dtype = rows.shape, rows.dtype
        self.__cuda_array_interface__ = {
            **array.__array_interface__,
            "data": (self._store.pointer, False),
            "stream": None,
            "version": 3,
        }

    def host(self) -> Array:
        """A copy of the array in host memory.

        Raises:
            DeviceError: the GPU fails.
        """
        found: Array = self._store.read(0, self._store.nbytes).view(self._dtype).reshape(self._shape)
        return found.T if self._is_turned else found

    def close(self) -> None:
        """Free the memory. Safe to call twice."""
        self._store.close()
