"""Files straight to and from the memory of a GPU: GPUDirect Storage, through kvikio.

kvikio is imported when the first such channel is opened. Where the system lacks GPUDirect Storage, kvikio moves the bytes through
host memory (its compatibility mode), and the report says so. The other way between files and a GPU needs no kvikio: DiskRead into
pinned memory, and GPUWrite from there, whose ring of slots is what a staging buffer would be.

A run of the file is one request. Short runs need many of them, so the throughput function of such a channel falls steeply there.
"""

from __future__ import annotations

import errno
import importlib
import importlib.util
import logging
from collections import deque
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol, cast

from isoviz.backends.cuda.device_memory import DeviceStore
from isoviz.backends.disk.disk_memory import FileStore, runs_in_order
from isoviz.backends.disk.file_access import NewFile, ReadFile
from isoviz.errors import InternalError, RunError, TransferError
from isoviz.runtime.device_bases import BaseChannel

if TYPE_CHECKING:
    from isoviz.layouts import StridedCopy
    from isoviz.runtime.protocols import Check, Store

_LOG = logging.getLogger("isoviz")

_IN_FLIGHT = 32
"""Requests of a move in flight. kvikio has threads of its own for them."""


class _Future(Protocol):
    """`kvikio.IOFuture`."""

    def get(self) -> int: ...


class _CuFile(Protocol):
    """`kvikio.CuFile`, as far as it is used."""

    def pread(self, buf: Any, size: int, file_offset: int) -> _Future: ...
    def pwrite(self, buf: Any, size: int, file_offset: int) -> _Future: ...
    def close(self) -> None: ...


class _DeviceBytes:
    """Bytes of a GPU as kvikio takes them."""

    __slots__ = ("__cuda_array_interface__",)

    def __init__(self, pointer: int, nbytes: int) -> None:
        self.__cuda_array_interface__ = {
            "shape": (nbytes,),
            "strides": None,
            "typestr": "|u1",
            "data": (pointer, False),
            "version": 3,
        }


def is_unsupported(error: BaseException | None) -> bool:
    """Whether an error, or one behind it, says that a file system, or the system, does not support direct storage."""
    while error is not None:
        number = error.errno if isinstance(error, OSError) else None
        if number in (errno.EOPNOTSUPP, errno.ENOTSUP, errno.ENOSYS) or any(said in str(error).lower() for said in _UNSUPPORTED):
            return True
        error = error.__cause__
    return False


_UNSUPPORTED = "not supported", "unsupported"


@cache
def kvikio() -> Any:
    """The module kvikio.

    Raises:
        TransferError: it is not installed, or cannot be imported.
    """
    if importlib.util.find_spec("kvikio") is None:
        raise TransferError("kvikio, for GPUDirect Storage, is not installed here (pip install kvikio-cu13)")
    try:
        return importlib.import_module("kvikio")
    except Exception as error:
        raise TransferError(f"kvikio, for GPUDirect Storage, cannot be imported: {type(error).__name__}: {error}") from error


def why_not_direct() -> str:
    """Why files cannot go straight to and from GPUs here, as the end of a sentence; empty if they can."""
    try:
        module = kvikio()
    except TransferError as error:
        return str(error)
    try:
        return "kvikio finds no GPUDirect Storage" if module.defaults.is_compat_mode_preferred() else ""
    except Exception as error:  # noqa: BLE001 - another version of kvikio
        _LOG.debug("kvikio does not tell whether there is GPUDirect Storage", exc_info=True)
        return f"kvikio does not tell whether there is GPUDirect Storage: {type(error).__name__}: {error}"


class DirectStorage(BaseChannel):
    """The channel from a file to a GPU (`to_device`), or from a GPU to a file. `name` is that of the channel.

    Raises:
        TransferError: there is no kvikio.
    """

    def __init__(self, name: str, *, to_device: bool) -> None:
        try:
            self._kvikio = kvikio()
        except TransferError as error:
            raise TransferError(f"channel {name}: {error}") from error
        self._to_device = to_device

    @property
    def notes(self) -> tuple[str, ...]:
        """Whether the bytes went through host memory."""
        if not self._kvikio.defaults.is_compat_mode_preferred():
            return ()
        return ("kvikio is in its compatibility mode: files went through host memory, without GPUDirect Storage",)

    def move(self, copies: Sequence[StridedCopy], source: Store, destination: Store, check: Check) -> int:
        files, device = (source, destination) if self._to_device else (destination, source)
        if not isinstance(files, FileStore) or not isinstance(device, DeviceStore):
            raise InternalError(f"direct storage got a {type(source).__name__} and a {type(destination).__name__}")
        with device.gpu.current():
            return self._moved(copies, files, device, check)

    def _moved(self, copies: Sequence[StridedCopy], files: FileStore, device: DeviceStore, check: Check) -> int:
        file, disk = files.file, 1 if self._to_device else 2
        if isinstance(file, NewFile):
            file.write_shared()  # what other channels keep of partly known pages
        handle = cast("_CuFile", file.handle(lambda: self._opened(file)))
        begin = handle.pread if self._to_device else handle.pwrite
        under_way: deque[tuple[_Future, int, int]] = deque()
        requests = 0
        try:
            for copy in copies:
                for here, there in runs_in_order(copy, disk):
                    for at, to in zip(here.tolist(), there.tolist(), strict=True):
                        check()
                        offset, place = (at, to) if self._to_device else (to, at)
                        if len(under_way) == _IN_FLIGHT:
                            self._settle(file, *under_way.popleft())
                        future = begin(_DeviceBytes(device.pointer + place, copy.run), copy.run, files.base + offset)
                        under_way.append((future, files.base + offset, copy.run))
                        requests += 1
            while under_way:
                self._settle(file, *under_way.popleft())
        except RunError:
            raise
        except Exception as error:
            raise self._failed(file, str(error)) from error
        finally:
            for future, _, _ in under_way:  # The stores are closed afterwards.
                try:
                    future.get()
                except Exception:  # noqa: BLE001  # the request reports the first error
                    _LOG.debug("%s: a further request through kvikio failed", file.path, exc_info=True)
        return requests

    def _opened(self, file: ReadFile | NewFile) -> _CuFile:
        """The file, opened again by kvikio. A new file has no name yet."""
        return cast("_CuFile", self._kvikio.CuFile(f"/proc/self/fd/{file.descriptor}", "r" if self._to_device else "r+"))

    def _settle(self, file: ReadFile | NewFile, future: _Future, offset: int, nbytes: int) -> None:
        """Wait for a request."""
        moved = future.get()
        if moved != nbytes:
            raise self._failed(file, f"{moved} of {nbytes} bytes at byte {offset} were moved")
        file.count(nbytes)

    def _failed(self, file: ReadFile | NewFile, reason: str) -> RunError:
        what = "read" if self._to_device else "written"
        return RunError(f"{file.path}: cannot be {what} through kvikio: {reason}")
