"""Files (DSK): reads and writes with direct I/O (`O_DIRECT`) where the file system supports it, else buffered I/O with a note.

Direct I/O requires page alignment of offsets, lengths and addresses. An aligned request moves data directly between the disk and
its place in memory. Other requests go through a small bounce buffer. Pages shared by two runs are completed in memory
(`isoviz.backends.disk.shared_pages`); pages that stay incomplete go through the page cache. No file is mapped, because mapped
pages count as memory of the process.
"""

from __future__ import annotations

import contextlib
import errno
import os
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from isoviz.backends.disk.file_system import free_bytes, reserve
from isoviz.backends.disk.shared_pages import SHARED, SharedPages
from isoviz.backends.disk.unfinished import Unfinished, sweep
from isoviz.backends.pages import BOUNCE, PAGE, Bytes, bounce, page_aligned
from isoviz.errors import FileError, RunError
from isoviz.file_rights import Rights
from isoviz.regular_files import final_path, open_for_reading, reason
from isoviz.units import format_bytes

if TYPE_CHECKING:
    from collections.abc import Callable

    from isoviz.runtime.protocols import Check

REQUEST = 8 << 20  # The largest single request: long enough for the full rate, short enough to cancel between two requests.
_DIRECT = getattr(os, "O_DIRECT", 0)
_REFUSED = (errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EFAULT)
"""Errors after which a request is made again through the page cache. EFAULT: the system cannot pin memory of a driver."""


def always() -> None:
    """Check nothing."""


def _direct(descriptor: int, flags: int) -> int | None:
    """Open a second descriptor of the file for direct I/O; None where the file system does not support it."""
    if not _DIRECT:
        return None
    try:
        return os.open(f"/proc/self/fd/{descriptor}", flags | _DIRECT | os.O_CLOEXEC)
    except OSError:
        return None


def _address(array: Bytes) -> int:
    return int(array.__array_interface__["data"][0])


def _read_around(direct: int, into: Bytes, offset: int, lead: int) -> int:
    """Read in one request data that begin `lead` bytes after a page boundary, both in the file and in memory.

    An incomplete first or last page goes through the bounce buffer. Returns the bytes read, including the `lead` bytes before the
    data; fewer at the end of the file.
    """
    first, last = -lead % PAGE, (lead + len(into)) % PAGE
    middle, edges = into[first : len(into) - last], bounce()
    parts = [edges[:PAGE].data] * bool(lead) + [middle.data] * bool(len(middle)) + [edges[PAGE : 2 * PAGE].data] * bool(last)
    got = os.preadv(direct, parts, offset - lead)
    before = max(0, min(first, got - lead))
    into[:before] = edges[lead : lead + before]
    behind = max(0, min(last, got - lead - first - len(middle)))
    into[first + len(middle) :][:behind] = edges[PAGE : PAGE + behind]
    return got


class Handle(Protocol):
    """What another library opened."""

    def close(self) -> None: ...


class _OpenFile:
    """A file with a buffered descriptor and, where supported, one for direct I/O. Several threads may read or write it."""

    def __init__(self, path: Path, descriptor: int, flags: int) -> None:
        self.path = path
        self._descriptor: int | None = descriptor
        self._unbuffered = _direct(descriptor, flags)
        self._descriptors = [fd for fd in (descriptor, self._unbuffered) if fd is not None]
        self._lock = threading.Lock()
        self._handle: Handle | None = None
        self.moved_bytes = 0
        self.cached_bytes = 0  # The part of `moved_bytes` that went through the page cache.

    @property
    def descriptor(self) -> int:
        assert self._descriptor is not None, f"{self.path} is closed"
        return self._descriptor

    @property
    def is_direct(self) -> bool:
        return self._unbuffered is not None

    @property
    def unbuffered(self) -> int | None:
        """The descriptor for direct I/O; None without direct I/O."""
        return self._unbuffered

    @property
    def identity(self) -> tuple[int, int]:
        """Device and inode: the same for every name of the file."""
        status = os.fstat(self.descriptor)
        return status.st_dev, status.st_ino

    def handle(self, opened: Callable[[], Handle]) -> Handle:
        """A handle of another library for this file: made by `opened` at the first call, and closed with the file."""
        with self._lock:
            if self._handle is None:
                self._handle = opened()
            return self._handle

    def _leave_direct(self) -> None:
        """Stop direct I/O: some file systems accept `O_DIRECT` on opening and then refuse the request."""
        self._unbuffered = None

    def count(self, moved: int, cached: int = 0) -> None:
        """Count bytes that were moved, and the part of them that went through the page cache."""
        with self._lock:
            self.moved_bytes += moved
            self.cached_bytes += cached

    def read_at(self, offset: int, into: Bytes, check: Check = always, cached: bool = False) -> int:
        """Fill `into` from byte `offset` on and return the number of requests. `cached` reads through the page cache.

        `check` is called before every request and may raise.

        Raises:
            RunError: the file ends too early, or cannot be read.
        """
        done = requests = through_cache = 0
        # Less than a page goes through the page cache: direct I/O would read the same page again for its neighbours.
        buffered = cached or len(into) < PAGE
        while done < len(into):
            check()
            got, was_cached = self._read_some(offset + done, into[done:], buffered)
            requests += 1
            done += got
            through_cache += got if was_cached else 0
        self.count(done, through_cache)
        return requests

    def read_pages(self, offset: int, into: Bytes, wanted: int, check: Check = always) -> int:
        """Read `wanted` bytes as `read_at` does, in whole pages.

        `offset` and `into` are page-aligned. `into` has room for the whole of the last page.
        """
        done = requests = 0
        while done < wanted:
            direct = self._unbuffered
            if direct is None:
                break
            check()
            try:
                got = os.preadv(direct, [into[done:].data], offset + done)
            except OSError as error:
                if error.errno not in _REFUSED:
                    raise RunError(f"{self.path}: cannot be read: {reason(error)}") from None
                self._leave_direct()
                continue
            requests += 1
            if done + got < wanted:  # Direct I/O continues at a page boundary: reread a partial page.
                got -= got % PAGE
                if not got:  # End of file, or the file system returns smaller pieces.
                    break
            done += got
        self.count(min(done, wanted))
        # The request must not use this thread's bounce buffer: `into` may be that buffer.
        return requests + (self.read_at(offset + done, into[done:wanted], check, cached=True) if done < wanted else 0)

    def _read_some(self, offset: int, into: Bytes, buffered: bool) -> tuple[int, bool]:
        """Read at least one byte with one request. Returns the bytes read, and whether they came through the page cache."""
        direct = self._unbuffered
        if direct is None or buffered:
            try:
                return self._count(os.preadv(self.descriptor, [into[:REQUEST].data], offset), offset), True
            except OSError as error:
                raise RunError(f"{self.path}: cannot be read: {reason(error)}") from None
        lead = offset % PAGE
        lines_up = (_address(into) - lead) % PAGE == 0 and len(into) >= PAGE + -lead % PAGE
        want = min(len(into), REQUEST - lead if lines_up else BOUNCE - lead)
        try:
            if lines_up:
                got = _read_around(direct, into[:want], offset, lead)
            else:
                pages = -(-(lead + want) // PAGE) * PAGE
                got = os.preadv(direct, [bounce()[:pages].data], offset - lead)
        except OSError as error:
            if error.errno not in _REFUSED:
                raise RunError(f"{self.path}: cannot be read: {reason(error)}") from None
            self._leave_direct()
            return self._read_some(offset, into, buffered)
        if got <= lead:  # End of file, or the file system returns smaller pieces.
            return self._read_some(offset, into, buffered=True)
        got = min(got - lead, want)
        if not lines_up:
            into[:got] = bounce()[lead : lead + got]
        return got, False

    def _count(self, got: int, offset: int) -> int:
        if got <= 0:
            raise RunError(f"{self.path}: ends at byte {os.fstat(self.descriptor).st_size}, where byte {offset} was expected")
        return got

    def close(self) -> None:
        handle, self._handle = self._handle, None
        if handle is not None:
            handle.close()
        descriptors, self._descriptors = self._descriptors, []
        for descriptor in descriptors:
            os.close(descriptor)
        self._unbuffered = self._descriptor = None


class ReadFile(_OpenFile):
    """A regular file opened for reading. `sources` has its rights, for files with its content.

    Raises:
        FileError: the file is missing, a directory, not readable or not regular.
    """

    def __init__(self, path: str | Path) -> None:
        descriptor, status = open_for_reading(Path(path))
        self.size = status.st_size
        self._modified = status.st_mtime_ns
        self.sources = tuple(filter(None, [Rights.of(descriptor)]))
        super().__init__(Path(path), descriptor, os.O_RDONLY)

    def check_unchanged(self) -> None:
        """Check that size and modification time of the file are the same as when it was opened.

        Raises:
            RunError: they differ, so the data read may mix old and new content.
        """
        status = os.fstat(self.descriptor)
        if (status.st_size, status.st_mtime_ns) != (self.size, self._modified):
            raise RunError(f"{self.path}: was changed while it was read; nothing was kept")


class NewFile(_OpenFile):
    """A file being written. It is nameless until `publish`, or has a temporary name where the file system requires one.

    `final` is the path of the finished file. None keeps the file nameless in `directory`, for data that are not kept. Until
    `publish`, the file at `final` is unchanged, even if the process dies. Without `replace`, a file that was created at `final`
    in the meantime is kept. `sources` are the rights of the files that its content is from. Up to `shared` bytes of partly
    written pages wait in memory for their remaining bytes.

    Raises:
        FileError: the directory is missing or not writable, or `final` exists and is not a regular file.
        RunError: less than `size` bytes of free space.
    """

    def __init__(
        self,
        final: str | Path | None,
        size: int,
        directory: str | Path | None = None,
        replace: bool = True,
        shared: int = SHARED,
    ) -> None:
        self.replace = replace
        self.sources: tuple[Rights, ...] = ()
        self.shared = SharedPages(shared)
        self.final = None if final is None else final_path(final)
        self.directory = self.final.parent if self.final is not None else Path(directory or ".")
        self.size = size
        if self.final is not None:
            sweep(self.directory)
        self._check_space()
        self._unfinished = self._create()
        super().__init__(self.final or self.directory / "temporary file", self._unfinished.descriptor, os.O_RDWR)
        try:
            os.ftruncate(self.descriptor, size)
            reserve(self.descriptor, size)
        except OSError as error:
            self.close()
            raise self._no_room(error) from None

    @property
    def place(self) -> Path:
        """A path to the directory that was opened for the file, even if another directory has its name now."""
        return self._unfinished.directory

    def _check_space(self) -> None:
        free = free_bytes(self.directory)
        if free < self.size:
            raise RunError(
                f"{self.final or self.directory}: needs {format_bytes(self.size)}, the disk has {format_bytes(free)} free"
            )

    def _create(self) -> Unfinished:
        try:
            if self.final is not None and not os.access(self.directory, os.W_OK | os.X_OK):
                raise FileError(f"{self.directory}: directory not writable")
            return Unfinished(self.directory)
        except OSError as error:
            raise FileError(f"{self.final or self.directory}: cannot be created: {reason(error)}") from None

    def write_at(self, offset: int, data: Bytes, check: Check = always, cached: bool = False) -> int:
        """Write `data` from byte `offset` on and return the number of requests. `cached` writes through the page cache.

        `check` is called before every request and may raise.

        Raises:
            RunError: the disk is full, the file exceeds the size limit, or the disk fails.
        """
        if pages := self.shared.among(offset // PAGE, -(-(offset + len(data)) // PAGE)):  # They must not overwrite `data` later.
            self.write_shared(pages[0], pages[-1] + 1)
        return self._put(offset, data, None if cached else self._unbuffered, check)

    def _put(self, offset: int, data: Bytes, direct: int | None, check: Check = always) -> int:
        done = requests = buffered = 0
        try:
            while done < len(data):
                check()
                got, through_cache = self._write_some(offset + done, data[done:], direct)
                requests += 1
                done += got
                buffered += got if through_cache else 0
                direct = direct and self._unbuffered
        except OSError as error:
            raise self._no_room(error) from None
        self.count(done, buffered)
        return requests

    def _write_some(self, offset: int, data: Bytes, direct: int | None) -> tuple[int, bool]:
        lead = -offset % PAGE  # Bytes before the first whole page.
        if direct is None or len(data) - lead < PAGE or lead:
            wanted = REQUEST if direct is None or len(data) - lead < PAGE else lead
            return os.pwritev(self.descriptor, [data[:wanted].data], offset), True
        whole = min(len(data), REQUEST) // PAGE * PAGE
        if _address(data) % PAGE:
            whole = min(whole, BOUNCE)
            bounce()[:whole] = data[:whole]
            data = bounce()
        try:
            return os.pwritev(direct, [data[:whole].data], offset), False
        except OSError as error:
            if error.errno not in _REFUSED:
                raise
            self._leave_direct()
            return os.pwritev(self.descriptor, [data[:whole].data], offset), True

    def _no_room(self, error: OSError) -> RunError:
        reasons = {
            errno.ENOSPC: "the disk is full",
            errno.EDQUOT: "the disk quota is used up",
            errno.EFBIG: f"larger than files may be here ({format_bytes(self.size)} wanted)",
        }
        return RunError(f"{self.path}: cannot be written: {reasons.get(error.errno or 0) or reason(error)}")

    def copy_of(self, existing: ReadFile) -> None:
        """Copy an existing file of the same size into this one, with shared blocks where the file system supports them."""
        done, room = 0, page_aligned(0)
        while done < self.size:
            try:
                got = os.copy_file_range(existing.descriptor, self.descriptor, self.size - done, done, done)
                if not got:
                    raise RunError(f"{existing.path}: became shorter while it was copied")
                done += got
            except OSError as error:
                if error.errno not in (*_REFUSED, errno.EXDEV, errno.ENOSYS):
                    raise self._no_room(error) from None
                room = room if len(room) else page_aligned(REQUEST)
                piece = room[: self.size - done]
                existing.read_at(done, piece)
                self.write_at(done, piece)
                done += len(piece)

    def read_at(self, offset: int, into: Bytes, check: Check = always, cached: bool = False) -> int:
        self.write_shared()
        return super().read_at(offset, into, check, cached)

    def read_pages(self, offset: int, into: Bytes, wanted: int, check: Check = always) -> int:
        self.write_shared()
        return super().read_pages(offset, into, wanted, check)

    def write_shared(self, first: int = 0, last: int = 1 << 62) -> None:
        """Write the pending parts of pages `first` up to `last`, without waiting for their remaining bytes.

        Raises:
            RunError: as in `write_at`. Parts that could not be written stay pending.
        """
        for number in self.shared.among(first, last):
            if (kept := self.shared.to_write(number)) is None:
                continue
            try:
                self._put(*kept, None)
            except BaseException:
                self.shared.written(number, failed=True)
                raise
            self.shared.written(number)

    def flush(self) -> None:
        """Wait until all written data are on the disk."""
        self.write_shared()
        try:
            os.fsync(self.descriptor)
        except OSError as error:
            raise self._no_room(error) from None

    def publish(self) -> None:
        """Give the file its final name atomically. With `replace` it replaces the file of that name.

        Raises:
            RunError: a file of that name appeared in the meantime, or the directory accepts no new entry.
        """
        self.write_shared()
        if self.final is None:
            return
        try:
            self._unfinished.become(self.final.name, self.replace, self.sources)
            self._sync_directory()
        except FileExistsError:
            raise RunError(f"{self.final}: another process created this file in the meantime; that file was kept") from None
        except OSError as error:
            raise RunError(f"{self.final}: cannot be put in place: {reason(error)}") from None

    def _sync_directory(self) -> None:
        place = os.open(self.place, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            with contextlib.suppress(OSError):  # Some file systems cannot sync a directory.
                os.fsync(place)
        finally:
            os.close(place)

    def close(self) -> None:
        super().close()
        self._unfinished.remove()
