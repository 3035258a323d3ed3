"""Memory that other ranks of the host can map: segments, each a file in memory without a name.

A segment needs no room in `/dev/shm` and leaves no file behind when a rank is killed. `posix_fallocate` takes its pages at once,
so that missing memory is an error here and not a bus error during a copy. A rank of the host opens `/proc/PID/fd/N` and maps it.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import mmap
import os
import threading
import weakref
from bisect import bisect_right
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from isoviz.backends.pages import HUGE, PAGE, Bytes
from isoviz.errors import RunError
from isoviz.runtime.opening import check_opening
from isoviz.units import format_bytes

_POPULATE_WRITE = 23
"""MADV_POPULATE_WRITE of Linux 5.14: map all pages now, so that no copy waits for page faults."""
_MAP_FIXED = 0x10
_PART = 64 << 20
"""Bytes of pages that are taken between two looks at a cancel."""


class Segment(NamedTuple):
    """The name of a segment for other processes of the host, and its size."""

    process: int
    descriptor: int
    inode: int
    nbytes: int


class _Room:
    """The mapped bytes of a segment, which NumPy takes as an array.

    A map of its own class is unmapped before its finalizers run. This object ends first, so that its finalizer finds the bytes
    still mapped: a GPU has to let go of pages before they are unmapped.
    """

    def __init__(self, memory: mmap.mmap) -> None:
        self._memory = memory
        self.__array_interface__ = np.frombuffer(memory, np.uint8).__array_interface__

    @property
    def address(self) -> int:
        """The address of the first byte."""
        return int(self.__array_interface__["data"][0])


class _Mine(NamedTuple):
    address: int
    segment: Segment
    room: weakref.ref[_Room]


class Windows:
    """The segments of this rank. A segment lives as long as an array in it.

    `limit` bounds the bytes of all segments together; None leaves it to the system. `ended` is called with the segment when the
    last array in it has gone, or the windows are closed; its bytes are still mapped. It must take no locks, because the end of
    an array may come at any time.
    """

    def __init__(self, limit: int | None = None, ended: Callable[[Segment], None] | None = None) -> None:
        self._limit = limit
        self._ended = ended
        self._mine: dict[int, _Mine] = {}
        self._order: list[_Mine] | None = None
        self._lock = threading.Lock()
        self._rest = np.empty(0, np.uint8)
        self._closed = False

    @property
    def nbytes(self) -> int:
        """The bytes of all segments."""
        return sum(mine.segment.nbytes for mine in list(self._mine.values()))

    def array(self, nbytes: int) -> Bytes:
        """Page-aligned bytes in a segment, zeroed. Small arrays share segments.

        Raises:
            RunError: there is no room, or the windows are closed.
        """
        if nbytes >= 2 * HUGE:
            return self._new(nbytes)[:nbytes]
        size = max(1, -(-nbytes // PAGE)) * PAGE
        with self._lock:
            if len(self._rest) < size:
                self._rest = self._new(max(4 * HUGE, size))
            room, self._rest = self._rest[:nbytes], self._rest[size:]
        return room

    def place(self, array: Bytes) -> tuple[Segment, int] | None:
        """The segment that holds an array, and the offset of the array in it; None if it lies elsewhere."""
        return self.place_of(array.__array_interface__["data"][0], array.nbytes)

    def place_of(self, address: int, nbytes: int) -> tuple[Segment, int] | None:
        """The same for bytes from an address on."""
        order = self._order
        if order is None:
            order = self._order = sorted(self._mine.values(), key=lambda mine: mine.address)
        k = bisect_right(order, address, key=lambda mine: mine.address) - 1
        if k < 0:
            return None
        start, segment, _ = order[k]
        offset = address - start
        if segment.inode not in self._mine:  # it has gone while its place was noted
            self._order = None
            return self.place_of(address, nbytes)
        return (segment, offset) if offset + nbytes <= segment.nbytes else None

    def whole(self, inode: int) -> Bytes | None:
        """All bytes of a segment; None if there is no such segment."""
        mine = self._mine.get(inode)
        room = None if mine is None else mine.room()
        return None if room is None else np.asarray(room)

    def make_private(self) -> None:
        """Give all segments pages of their own, with the bytes that they hold: what other processes write no longer arrives.

        The arrays keep their addresses. They count as memory outside of the windows from now on. A thread of this rank may write
        to them meanwhile: the system copies each page as a whole.
        """
        for inode, mine in list(self._mine.items()):
            if (room := mine.room()) is not None:
                _map_privately(mine)
            self._forget(inode)
            del room
        self._rest = np.empty(0, np.uint8)

    def close(self) -> None:
        """Close the descriptors. Arrays that are in use keep their memory, but cannot be mapped any more."""
        self._closed = True
        self._rest = np.empty(0, np.uint8)
        for inode in list(self._mine):
            self._forget(inode)

    def _new(self, nbytes: int) -> Bytes:
        if self._closed:
            raise RunError("the windows of this rank are closed")
        size = max(1, -(-nbytes // PAGE)) * PAGE
        if self._limit is not None and self.nbytes + size > self._limit:
            raise RunError(
                f"no room for {format_bytes(size)} of registered memory: {format_bytes(self.nbytes)} of at most"
                f" {format_bytes(self._limit)} are in use"
            )
        if size > (there := os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")):  # the system would kill processes first
            raise RunError(f"no room for {format_bytes(size)} of registered memory: this computer has {format_bytes(there)}")
        try:
            descriptor = os.memfd_create("isoviz window", os.MFD_CLOEXEC)
        except OSError as error:
            raise RunError(f"no room for {format_bytes(size)} of registered memory: {error.strerror}") from None
        try:
            for at in range(0, size, _PART):
                check_opening()
                os.posix_fallocate(descriptor, at, min(_PART, size - at))
            memory = mmap.mmap(descriptor, size)
        except (OSError, ValueError, OverflowError, MemoryError) as error:
            os.close(descriptor)
            raise _no_room(size, error) from None
        except BaseException:
            os.close(descriptor)
            raise
        _advise(memory)
        inode = os.fstat(descriptor).st_ino
        room = _Room(memory)
        segment = Segment(os.getpid(), descriptor, inode, size)
        self._mine[inode] = _Mine(room.address, segment, weakref.ref(room))
        self._order = None
        weakref.finalize(room, self._forget, inode).atexit = False
        return np.asarray(room)

    def _forget(self, inode: int) -> None:
        """Close the descriptor of a segment."""
        mine = self._mine.pop(inode, None)
        if mine is None:
            return
        self._order = None
        with contextlib.suppress(OSError):
            os.close(mine.segment.descriptor)
        if self._ended is not None:
            self._ended(mine.segment)


def _map_privately(mine: _Mine) -> None:
    """Map a segment anew over itself. Copies of its pages are taken at once.

    Raises:
        RunError: the system has no room for the copies.
    """
    size = mine.segment.nbytes
    library = ctypes.CDLL(None, use_errno=True)
    library.mmap.restype = ctypes.c_void_p
    where = ctypes.c_void_p(mine.address)
    flags = mmap.MAP_PRIVATE | _MAP_FIXED
    kinds = mmap.PROT_READ | mmap.PROT_WRITE
    if library.mmap(where, ctypes.c_size_t(size), kinds, flags, mine.segment.descriptor, ctypes.c_long(0)) != mine.address:
        raise RunError(f"no room for {format_bytes(size)} of memory: {os.strerror(ctypes.get_errno())}")
    if library.madvise(where, ctypes.c_size_t(size), _POPULATE_WRITE):  # an older system copies a page that is written to
        for at in range(mine.address, mine.address + size, PAGE):
            byte = ctypes.c_uint8.from_address(at)
            byte.value |= 0


class PeerWindows:
    """Segments of other ranks of the host, as this rank has mapped them. They stay mapped until `forget` or `close`."""

    def __init__(self) -> None:
        self._mapped: dict[tuple[int, int], Bytes] = {}
        self._lock = threading.Lock()

    def array(self, segment: Segment) -> Bytes:
        """The bytes of a segment, mapped.

        Raises:
            RunError: it cannot be mapped.
        """
        key = segment.process, segment.inode
        with self._lock:
            found = self._mapped.get(key)
            if found is None:
                found = self._mapped[key] = _mapped(segment)
        return found

    def forget(self, segment: Segment) -> None:
        """Unmap a segment that its rank has given up, as soon as no array of it is in use."""
        self._mapped.pop((segment.process, segment.inode), None)

    def close(self) -> None:
        """Unmap everything that is not in use."""
        self._mapped.clear()


def _mapped(segment: Segment) -> Bytes:
    try:
        descriptor = os.open(f"/proc/{segment.process}/fd/{segment.descriptor}", os.O_RDWR | os.O_CLOEXEC)
    except OSError as error:
        raise RunError(f"a window of process {segment.process} cannot be opened: {error.strerror}") from None
    try:
        status = os.fstat(descriptor)
        if status.st_ino != segment.inode or status.st_size < segment.nbytes:
            raise RunError(f"a window of process {segment.process} was closed before it was mapped")
        memory = mmap.mmap(descriptor, segment.nbytes)
    except (OSError, ValueError) as error:
        raise RunError(f"a window of process {segment.process} cannot be mapped: {error}") from None
    finally:
        os.close(descriptor)
    _advise(memory)
    with contextlib.suppress(OSError, ValueError):  # older systems map the pages one by one
        memory.madvise(_POPULATE_WRITE)
    return np.frombuffer(memory, np.uint8)


def _advise(memory: mmap.mmap) -> None:
    """Ask for huge pages, as `isoviz.backends.pages` does. Systems whose files in memory have small pages ignore it."""
    if hasattr(mmap, "MADV_HUGEPAGE") and len(memory) >= HUGE:
        with contextlib.suppress(OSError):
            memory.madvise(mmap.MADV_HUGEPAGE)


def _no_room(nbytes: int, error: BaseException) -> RunError:
    number = getattr(error, "errno", None)
    why = "the limit of a file's size (RLIMIT_FSIZE) is lower" if number == errno.EFBIG else getattr(error, "strerror", None)
    return RunError(f"no room for {format_bytes(nbytes)} of registered memory" + (f": {why}" if why else ""))
