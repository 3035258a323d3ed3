"""Run under mpiexec: `lost_peers.py WHAT FOLDER`. Rank 1 is killed, or stopped in the middle of what it does to rank 0.

`killed` and `waiting` are for three ranks. For two: what rank 1 does when it is stopped (`DOINGS`), and with `unfenced` on a
system that lets no rank end another one.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from given.rank_program import begin, tell
from stopped_rank import state, wait

from isoviz.backends.mpi import world as worlds
from isoviz.errors import RankLost
from isoviz.rma import Heap, malloc

LIMIT = 3.0
PATTERN = 0x5A5A5A5A
SIZE = (4096, 2048)
"""Words of 4 bytes: 32 MiB."""


@contextlib.contextmanager
def lost() -> Iterator[None]:
    """Code that has to end because rank 1 is lost."""
    try:
        yield
    except RankLost as error:
        found: RankLost | None = error
    else:
        found = None
    assert found is not None and found.rank == 1 and "rank 1 no longer answers" in str(found), found


_TURNS = threading.Semaphore(2)
"""Threads that call at a time: the one that hears of a loss needs the interpreter, too."""


def until_lost(call: Callable[[], object]) -> float:
    """The longest time that a call has taken, the last one included, which says that rank 1 is lost."""
    longest = 0.0
    while True:
        with _TURNS:
            began = time.perf_counter()
            try:
                call()
            except RankLost as error:
                found = error
                break
        longest = max(longest, time.perf_counter() - began)
    assert found.rank == 1 and "rank 1 no longer answers" in str(found), found
    return max(longest, time.perf_counter() - began)


def calls_of(heap: Heap, words: Heap) -> dict[str, Callable[[], object]]:
    """Everything that needs the memory of rank 1, without it."""
    rows, part = np.ones(SIZE, "i4"), np.ones((SIZE[0], SIZE[1] // 2), "i4")
    place, word = heap.place(to=1, at=np.s_[:, ::2]), words.place(to=1, at=2)
    listed = heap.place(to=1, at=[3, 1])
    return {
        "put": lambda: heap.put(rows, to=1),
        "put of one": lambda: heap.put(1, to=1, at=(5, 5)),
        "put begun": lambda: heap.put(rows, to=1, wait=False).wait(100),  # type: ignore[union-attr]
        "get": lambda: heap.get(of=1, at=np.s_[::2]),
        "get of one": lambda: heap.get(of=1, at=(5, 5)),
        "get begun": lambda: heap.get(of=1, wait=False).wait(100),
        "place": lambda: place.put(part),
        "place, get": lambda: place.get(part),
        "lists": lambda: listed.put(7),
        "word": lambda: word.fetch_and_add(1),  # type: ignore[attr-defined]
        "words": lambda: words.swap(to=1, at=2, value=3),
        "fence": lambda: heap.fence(1),
        "new place": lambda: heap.place(to=1, at=7),
    }


def killed(_folder: Path) -> None:
    """Rank 1 is killed while the others do everything to it. They hear of it in each call, and go on with each other."""
    heap, words, freed = malloc(SIZE, "i4"), malloc(16, "i8"), malloc(3)
    freed.free()
    calls, rank = calls_of(heap, words), heap.rank
    words.barrier()
    if rank == 1:
        wait(lambda: words.local[0] == 2)  # both are at it
        os.kill(os.getpid(), signal.SIGKILL)
    for call in calls.values():
        call()
    took: dict[str, float] = {}
    threads = [
        threading.Thread(target=lambda name=name, call=call: took.update({name: until_lost(call)}))
        for name, call in calls.items()
    ]
    for thread in threads:
        thread.start()
    words.fetch_and_add(to=1, at=0)
    for thread in threads:
        thread.join(100)
    assert set(took) == set(calls), set(calls) - set(took)
    for call in calls.values():
        with lost():
            call()
    other = 2 - rank
    heap.put(np.full(SIZE, rank + 9, "i4"), to=other)
    words.put(1, to=other, at=5)
    wait(lambda: words.local[5] == 1)
    assert (heap.local == other + 9).all()
    heap.fence(other)
    for together in (heap.barrier, lambda: malloc(8), heap.free, words.free):
        with lost():
            together()
    heap.free()
    freed.free()
    tell(rank, {"calls": len(took), "seconds": round(max(took.values()), 2)})


def waiting(_folder: Path) -> None:
    """Rank 1 is killed while the others wait for it."""
    heap = malloc(8)
    heap.barrier()
    if heap.rank == 1:
        wait(lambda: heap.local[0] + heap.local[2] == 2)
        os.kill(os.getpid(), signal.SIGKILL)
    heap.put(1.0, to=1, at=heap.rank)
    with lost():
        heap.barrier()
    with lost():
        heap.free()
    tell(heap.rank, {"calls": 2})


# ---- stopped


def put_all(heap: Heap) -> Callable[[], object]:
    rows = np.ones(SIZE, "i4")
    return lambda: heap.put(rows, to=0)


def put_rows(heap: Heap) -> Callable[[], object]:
    rows = np.ones((SIZE[0], SIZE[1] // 2), "i4")
    return lambda: heap.put(rows, to=0, at=np.s_[:, ::2])


def put_listed(heap: Heap) -> Callable[[], object]:
    listed = [*range(0, SIZE[0], 3)]
    return lambda: heap.put(1, to=0, at=listed)


def kept(heap: Heap) -> Callable[[], object]:
    place, rows = heap.place(to=0, at=np.s_[::-1, 1::3]), np.ones((SIZE[0], (SIZE[1] - 1) // 3 + 1), "i4")
    return lambda: place.put(rows)


def begun(heap: Heap) -> Callable[[], object]:
    rows = np.ones(SIZE, "i4")
    return lambda: heap.put(rows, to=0, wait=False).wait(100)  # type: ignore[union-attr]


def add(heap: Heap) -> Callable[[], object]:
    words = [heap.place(to=0, at=(row, 7)) for row in range(0, SIZE[0], 5)]

    def all_of_them() -> None:
        for word in words:
            word.fetch_and_add(1)  # type: ignore[attr-defined]

    return all_of_them


DOINGS: dict[str, Callable[[Heap], Callable[[], object]]] = {
    each.__name__: each for each in (put_all, put_rows, put_listed, kept, begun, add)
}


def stopped(folder: Path, doing: str) -> None:
    """Rank 1 writes to rank 0 again and again. Rank 0 stops it, waits for its loss, and gives its memory new contents."""
    heap, process = malloc(SIZE, "i4"), malloc(1, "i8")
    finished = folder / "finished"
    process.local[0] = os.getpid()
    into, value = np.zeros(SIZE, "i4"), np.full(SIZE, 2, "i4")
    if heap.rank == 0:  # the kernels are ready from now on
        heap.put(value, to=1)
        heap.get(of=1, into=into)
    process.barrier()
    if heap.rank == 1:
        call, last, left = DOINGS[doing](heap), time.monotonic(), 5
        with contextlib.suppress(RankLost):
            while left:
                call()
                now = time.monotonic()
                left -= left < 5 or now - last > LIMIT / 2  # some more after it was stopped
                last = now
        finished.touch()
        signal.pause()
    other = process.get(of=1, at=0)
    wait(lambda: heap.local.any())
    os.kill(other, signal.SIGSTOP)
    written, puts = int(np.count_nonzero(heap.local)), 0
    try:
        while True:  # its memory is there until it is lost
            heap.put(value, to=1)
            assert (heap.get(of=1, into=into) == 2).all()
            heap.fence(1)
            puts += 1
    except RankLost as error:
        reason = str(error)
    heap.local[...] = PATTERN
    with contextlib.suppress(ProcessLookupError):
        os.kill(other, signal.SIGCONT)
    wait(lambda: finished.exists() or state(other) in ("", "Z", "X"))
    found = {
        "written": written,
        "puts": puts,
        "overwritten": int(np.count_nonzero(heap.local != PATTERN)),
        "ended": not finished.exists(),
        "reason": reason,
    }
    (folder / "found").write_text(json.dumps(found))
    with contextlib.suppress(ProcessLookupError):
        os.kill(other, signal.SIGKILL)


def main() -> None:
    begin()
    what, folder = sys.argv[1], Path(sys.argv[2])
    if "unfenced" in sys.argv:

        def refused(*_: object) -> int:
            raise PermissionError(1, "Operation not permitted")

        os.pidfd_open = refused
    made: Any = worlds.World
    worlds.World = partial(made, period=LIMIT / 5, limit=LIMIT if what in DOINGS else 20.0)  # type: ignore[misc]
    if what in DOINGS:
        stopped(folder, what)
        os._exit(0)
    {"killed": killed, "waiting": waiting}[what](folder)


if __name__ == "__main__":
    main()
