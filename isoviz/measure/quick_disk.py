"""A quick measurement of a directory's file system: one request in flight, for several request lengths.

It uses direct I/O (`O_DIRECT`, on macOS `F_NOCACHE`) where the file system supports it. Otherwise it uses buffered I/O: the file
is dropped from the page cache before it is read, and every write is flushed. The result states which.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import secrets
import time
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

from isoviz.errors import FileError
from isoviz.measure import tuning

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

BLOCK = 4096
"""Alignment of direct I/O, in bytes: no block device in use needs more."""

Triples = list[tuple[float, float, float]]


@dataclass(frozen=True)
class DiskMeasurement:
    """Samples (request bytes, bytes per second, relative spread) of reads and of writes, and whether direct I/O was used."""

    reads: Triples
    writes: Triples
    unbuffered: bool


def measure_disk(directory: Path, seconds: float = 0.5, tell: Callable[[float], None] = lambda _share: None) -> DiskMeasurement:
    """Write and read a temporary file of at most 256 MiB in a directory, for about `seconds`. The file is removed.

    Writes go to parts of the file that were never written, like those of a new file. `tell` is called before each request with
    the share that is done; it may raise to stop.

    Raises:
        FileError: the directory is not writable or has too little space.
    """
    path = directory / f".isoviz-measure-{secrets.token_hex(8)}"
    try:
        with _opened(path) as (descriptor, unbuffered), mmap.mmap(-1, tuning.QUICK_REQUESTS[-1]) as memory:
            memory[:] = os.urandom(tuning.MIB) * (len(memory) // tuning.MIB)  # Random data, which a disk cannot compress.
            buffer = memoryview(memory)
            try:
                share = seconds / (2 * len(tuning.QUICK_REQUESTS))
                os.ftruncate(descriptor, tuning.QUICK_FILE)

                def write(offset: int, part: memoryview) -> None:
                    if os.pwritev(descriptor, [part], offset) != len(part):
                        raise OSError(None, "no room for the measurement")
                    if not unbuffered:
                        os.fsync(descriptor)

                def read(offset: int, part: memoryview) -> None:
                    if os.preadv(descriptor, [part], offset) != len(part):
                        raise OSError(None, "a read came back short")

                writes, written = _samples(write, buffer, share, tuning.QUICK_FILE, lambda done: tell(done / 2))
                os.fsync(descriptor)
                if not unbuffered and hasattr(os, "posix_fadvise"):
                    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
                reads, _ = _samples(read, buffer, share, written, lambda done: tell((1 + done) / 2))
            finally:
                buffer.release()
    except OSError as error:
        raise FileError(f"{directory}: cannot be measured: {error.strerror or error}") from None
    return DiskMeasurement(reads, writes, unbuffered)


def _samples(
    request: Callable[[int, memoryview], None], buffer: memoryview, share: float, end: int, tell: Callable[[float], None]
) -> tuple[Triples, int]:
    """A sample of every request length, at successive offsets in the file, and the largest offset reached."""
    result = []
    at = reached = 0
    for done, size in enumerate(tuning.QUICK_REQUESTS):
        at = -(-at // size) * size  # Requests are aligned to their length.
        if at + 2 * size > end:
            at = 0
        times: list[float] = []
        with buffer[:size] as part:
            while at + size <= end:
                tell(done / len(tuning.QUICK_REQUESTS))
                begin = time.perf_counter()
                request(at, part)
                times.append(time.perf_counter() - begin)
                at += size
                spent = sum(times)
                if size * len(times) >= tuning.QUICK_REQUESTS_BYTES or spent > 4 * share or (len(times) > 1 and spent > share):
                    break
        reached = max(reached, at)
        # A rate is bytes over time, so the mean request counts. The spread is that of the middle half, without stray pauses.
        ordered = sorted(times)
        quarter = len(ordered) // 4
        spread = (ordered[-1 - quarter] - ordered[quarter]) / median(ordered)
        result.append((float(size), size * len(times) / sum(times), spread))
    return result, reached


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[tuple[int, bool]]:
    """A new nameless file, open for reading and writing, and whether it bypasses the page cache."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        unbuffered = False
        try:
            unbuffered = _bypass_cache(descriptor)
            if unbuffered:
                with mmap.mmap(-1, BLOCK) as block:  # Some file systems accept it and then refuse requests.
                    unbuffered = os.pwritev(descriptor, [block], 0) == BLOCK
        except OSError:
            _clear_direct(descriptor)
            unbuffered = False
        finally:
            path.unlink(missing_ok=True)
        yield descriptor, unbuffered
    finally:
        os.close(descriptor)


def _bypass_cache(descriptor: int) -> bool:
    import fcntl

    direct = getattr(os, "O_DIRECT", 0)
    if direct:
        fcntl.fcntl(descriptor, fcntl.F_SETFL, fcntl.fcntl(descriptor, fcntl.F_GETFL) | direct)
        return bool(fcntl.fcntl(descriptor, fcntl.F_GETFL) & direct)
    no_cache = getattr(fcntl, "F_NOCACHE", None)
    if no_cache is not None:
        fcntl.fcntl(descriptor, no_cache, 1)
        return True
    return False


def _clear_direct(descriptor: int) -> None:
    import fcntl

    direct = getattr(os, "O_DIRECT", 0)
    if direct:
        with contextlib.suppress(OSError):
            fcntl.fcntl(descriptor, fcntl.F_SETFL, fcntl.fcntl(descriptor, fcntl.F_GETFL) & ~direct)
