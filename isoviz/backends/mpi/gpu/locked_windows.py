"""Registered memory as the GPUs of a rank reach it: segments of its windows, locked in place.

A segment is locked for all GPUs of the rank when a channel of a GPU first uses it, and stays so until it goes. Then requests of
GPUs go straight to it and from it. Locking takes about as long as copying, so it is done once.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from isoviz.errors import DeviceError

if TYPE_CHECKING:
    from isoviz.backends.cuda.gpu import Gpu
    from isoviz.backends.host.host_memory import HostStore
    from isoviz.backends.mpi.windows import Segment, Windows


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
