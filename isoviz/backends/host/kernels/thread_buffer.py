"""A buffer for every thread, in which copy kernels transpose tiles."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from isoviz.backends.host.kernels.recipe import LINE
from isoviz.backends.host.kernels.tuning_constants import BUFFER_BYTES

_PAGE = 4096
_local = threading.local()
_unused: list[np.ndarray[Any, np.dtype[np.uint8]]] = []
"""Buffers of ended threads."""


class _Buffer:
    """A buffer that one thread owns.

    When the thread ends, the next thread takes over the buffer with its pages: fresh pages cost more than a small copy.
    """

    def __init__(self) -> None:
        try:
            self._data = _unused.pop()
        except IndexError:
            self._data = np.zeros(BUFFER_BYTES + 2 * _PAGE, np.uint8)
        self.address = -(-self._data.ctypes.data // _PAGE) * _PAGE + LINE

    def __del__(self) -> None:
        data = getattr(self, "_data", None)  # None where its allocation failed.
        if data is not None:
            _unused.append(data)


def buffer_address() -> int:
    """The address of this thread's buffer of `BUFFER_BYTES`. Kernels may write to the cache line before it."""
    buffer = getattr(_local, "buffer", None)
    if buffer is None:
        buffer = _local.buffer = _Buffer()
    address: int = buffer.address
    return address
