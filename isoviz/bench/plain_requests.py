"""The limit of anything that moves a file: the same unbuffered requests, with nothing done to what they bring.

Threads that read and threads that write, so many of each as there are requests in flight. What is written is not what was read:
only the disk is looked at. Files whose file system takes no unbuffered requests are moved through the page cache.
"""

from __future__ import annotations

import mmap
import os
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from queue import SimpleQueue

from isoviz.backends.host import HUGE, page_aligned
from isoviz.backends.reserve import reserve

PAGE = mmap.PAGESIZE
Request = tuple[int, int]
"""Offset and length, bytes."""
Step = tuple[Sequence[Request], Sequence[Request]]
"""Requests to read, and those to write once these are done: a chunk."""

AHEAD = 4
"""Chunks that reading may be ahead of writing: the buffers of a pipeline."""


def moved(source: int, target: int, steps: Iterable[Step], in_flight: int) -> float:
    """Seconds to read and write what the steps say, from one open file to another, until the disk has it."""
    line = _Line(iter(steps), in_flight)
    longest = 1 << 20
    work = [(os.preadv, source, line.reads), (os.pwritev, target, line.writes)]
    threads = [
        threading.Thread(target=_work, args=(call, descriptor, queue, line, longest), daemon=True)
        for call, descriptor, queue in work
        for _ in range(in_flight)
    ]
    start = time.perf_counter()
    for thread in threads:
        thread.start()
    line.feed()
    for thread in threads:
        thread.join()
    if line.error is not None:
        raise line.error
    os.fsync(target)
    return time.perf_counter() - start


class _Line:
    """Hands steps out: reads as far ahead as allowed, writes of a step once its reads are done."""

    def __init__(self, steps: Iterable[Step], in_flight: int) -> None:
        self.steps = steps
        self.in_flight = in_flight
        self.reads: SimpleQueue[tuple[Request, _Part] | None] = SimpleQueue()
        self.writes: SimpleQueue[tuple[Request, _Part] | None] = SimpleQueue()
        self.room = threading.Semaphore(AHEAD)
        self.error: BaseException | None = None

    def feed(self) -> None:
        """Hand all steps out, and say that there are no more."""
        for reads, writes in self.steps:
            self.room.acquire()
            written = _Part(len(writes), self.room.release)

            def read(writes: Sequence[Request] = writes, written: _Part = written) -> None:
                for request in writes:
                    self.writes.put((request, written))

            part = _Part(len(reads), read)
            for request in reads:
                self.reads.put((request, part))
        for _ in range(AHEAD):  # everything is written
            self.room.acquire()
        for queue in (self.reads, self.writes):
            for _ in range(self.in_flight):
                queue.put(None)


class _Part:
    """Some requests, and what follows once all of them are done."""

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
    call: Callable[[int, list[memoryview], int], int],
    descriptor: int,
    queue: SimpleQueue[tuple[Request, _Part] | None],
    line: _Line,
    longest: int,
) -> None:
    memory = page_aligned(max(longest, 2 * HUGE))[:longest].data  # in large pages, as the engine's buffers are
    memory[:] = os.urandom(PAGE) * (longest // PAGE)
    while (found := queue.get()) is not None:
        (offset, length), part = found
        try:
            if line.error is None:
                call(descriptor, [memory[:length]], offset)
        except BaseException as error:  # noqa: BLE001  # raised where it is waited for
            line.error = error
        part.done()


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
