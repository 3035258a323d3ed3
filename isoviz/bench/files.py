"""Files of benchmarks: array files that are made for them, and the limit of programs that move a file.

The limit is the same unbuffered requests, without work on the bytes. Threads read and threads write. Each has one request in
flight, or hands several short ones to the system together. The written bytes are not those that were read, as only the disk is
measured. Files go through the page cache if the file system takes no unbuffered requests.
"""

from __future__ import annotations

import mmap
import os
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import numpy as np

from isoviz.backends.disk import aio
from isoviz.backends.disk.aio import READ, WRITE
from isoviz.backends.disk.file_system import reserve
from isoviz.backends.pages import HUGE, Bytes, page_aligned


def generated(path: Path, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Path:
    """A `.npy` file of this shape whose bytes compress badly, written in pieces."""
    array = np.lib.format.open_memmap(path, "w+", dtype, shape)
    words = array.reshape(-1).view(np.uint32)
    for start in range(0, len(words), 1 << 22):
        part = np.arange(start, min(start + (1 << 22), len(words)), dtype=np.uint32)
        words[start : start + len(part)] = (part * np.uint32(2654435761)) & np.uint32(0xBFFFFFFF)
    array.flush()
    return path


def timed(action: Callable[[Path], object], source: Path, target: Path) -> float:
    """Seconds until the target is on the disk. The source is out of the page cache at first, and the target is removed at the
    end."""
    forget(source)
    start = time.perf_counter()
    action(target)
    with target.open("rb") as file:
        os.fsync(file.fileno())
    seconds = time.perf_counter() - start
    target.unlink()
    return seconds


def forget(path: Path) -> None:
    """Drop a file from the page cache if the system can, so that every reader starts alike."""
    if hasattr(os, "posix_fadvise"):
        with path.open("rb") as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


PAGE = mmap.PAGESIZE
Request = tuple[int, int]
"""Offset and length, bytes."""
Step = tuple[Sequence[Request], Sequence[Request]]
"""Requests to read, and those to write once these are done: a chunk."""

AHEAD = 4
"""Chunks by which reads may be ahead of writes: the buffers of a pipeline."""


def moved(source: int, target: int, steps: Iterable[Step], threads: int, together: int = 1) -> float:
    """Seconds that `threads` threads each way need for the reads and writes of all steps, until the data are on the disk.

    `together` is the bytes that a thread has in flight: one request, if that is longer.
    """
    line = _Line(iter(steps), threads, together)
    work = [(READ, source, line.reads), (WRITE, target, line.writes)]
    ready = threading.Barrier(2 * threads + 1)
    workers = [
        threading.Thread(target=_work, args=(code, descriptor, queue, line, ready), daemon=True)
        for code, descriptor, queue in work
        for _ in range(threads)
    ]
    for worker in workers:
        worker.start()
    ready.wait()  # all have their memory
    start = time.perf_counter()
    line.feed()
    for worker in workers:
        worker.join()
    if line.error is not None:
        raise line.error
    os.fsync(target)
    return time.perf_counter() - start


class _Line:
    """Hands out steps: reads as far ahead as `AHEAD` allows, the writes of a step after its reads."""

    def __init__(self, steps: Iterable[Step], threads: int, together: int) -> None:
        self.steps = steps
        self.threads = threads
        self.together = together
        self.reads: SimpleQueue[tuple[Sequence[Request], _Part] | None] = SimpleQueue()
        self.writes: SimpleQueue[tuple[Sequence[Request], _Part] | None] = SimpleQueue()
        self.room = threading.Semaphore(AHEAD)
        self.error: BaseException | None = None

    def feed(self) -> None:
        """Hand out all steps, then the end."""
        for reads, writes in self.steps:
            self.room.acquire()
            batches = self._batches(writes)
            written = _Part(len(batches), self.room.release)

            def read(batches: Sequence[Sequence[Request]] = batches, written: _Part = written) -> None:
                for batch in batches:
                    self.writes.put((batch, written))

            wanted = self._batches(reads)
            part = _Part(len(wanted), read)
            for batch in wanted:
                self.reads.put((batch, part))
        for _ in range(AHEAD):  # everything is written
            self.room.acquire()
        for queue in (self.reads, self.writes):
            for _ in range(self.threads):
                queue.put(None)

    def _batches(self, wanted: Sequence[Request]) -> list[Sequence[Request]]:
        """Requests in batches of about `together` bytes."""
        if not wanted:
            return []
        count = min(aio.DEPTH, max(1, self.together // max(length for _, length in wanted)))
        return [wanted[first : first + count] for first in range(0, len(wanted), count)]


class _Part:
    """Some requests, and the call that follows when all of them are done."""

    def __init__(self, count: int, then: Callable[[], None]) -> None:
        self.left, self.then = count, then
        self.lock = threading.Lock()
        if not count:
            then()

    def done(self) -> None:
        with self.lock:
            self.left -= 1
            last = not self.left
        if last:
            self.then()


def _work(
    code: int,
    descriptor: int,
    queue: SimpleQueue[tuple[Sequence[Request], _Part] | None],
    line: _Line,
    ready: threading.Barrier,
) -> None:
    memory = page_aligned(2 * HUGE)  # in large pages, as the engine's buffers are
    memory[:] = np.frombuffer(os.urandom(PAGE) * (len(memory) // PAGE), np.uint8)
    ready.wait()
    while (found := queue.get()) is not None:
        batch, part = found
        try:
            if line.error is None:
                _carry_out(code, descriptor, batch, memory)
        except BaseException as error:  # noqa: BLE001  # raised where it is waited for
            line.error = error
        part.done()


def _carry_out(code: int, descriptor: int, batch: Sequence[Request], memory: Bytes) -> None:
    if len(batch) == 1:
        ((offset, length),) = batch
        (os.pwritev if code == WRITE else os.preadv)(descriptor, [memory[:length].data], offset)
        return
    offsets, lengths = (np.array(each, np.int64) for each in zip(*batch, strict=True))
    with aio.requests(len(batch)) as way:
        done = way.carry_out(code, descriptor, offsets, memory, np.cumsum(lengths) - lengths, lengths)
    if (done < 0).any():
        number = -int(done.min())
        raise OSError(number, os.strerror(number))


def opened(path: Path) -> int:
    """A file for reading, unbuffered where the file system allows."""
    try:
        return os.open(path, os.O_RDONLY | getattr(os, "O_DIRECT", 0))
    except OSError:
        return os.open(path, os.O_RDONLY)


def created(path: Path, size: int) -> int:
    """A new file of a size, its room reserved, unbuffered where the file system allows."""
    flags = os.O_RDWR | os.O_CREAT | os.O_TRUNC
    try:
        descriptor = os.open(path, flags | getattr(os, "O_DIRECT", 0), 0o600)
    except OSError:
        descriptor = os.open(path, flags, 0o600)
    os.ftruncate(descriptor, size)
    reserve(descriptor, size)
    return descriptor


def in_pieces(offset: int, length: int, piece: int, end: int) -> list[Request]:
    """A contiguous range as requests of whole pages, none longer than `piece` or behind `end`."""
    first, last = offset // PAGE * PAGE, min(-(-(offset + length) // PAGE) * PAGE, end // PAGE * PAGE)
    return [(at, min(piece, last - at)) for at in range(first, last, piece)]
