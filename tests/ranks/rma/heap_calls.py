"""Functions that the tests of one-sided calls call on ranks. Heaps stay on the ranks between calls."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from isoviz.errors import IsovizError
from isoviz.launch.this_rank import this_rank, this_world
from isoviz.rma import Heap, malloc

KEPT: dict[str, Heap] = {}


def round_trip(seed: int) -> int:
    """Every rank puts to the next one, in a heap of this call alone. Returns what came."""
    with malloc((50, 40), "i8") as heap, malloc(4, "i8") as words:
        to = (heap.rank + 1) % heap.size
        heap.put(np.full((50, 20), seed + heap.rank), to=to, at=np.s_[:, ::2])
        words.fetch_and_add(to=0, at=1, value=seed)
        heap.barrier()
        assert words.get(of=0, at=1) == seed * heap.size
        assert (heap.local[:, 1::2] == 0).all()
        found = int(heap.local[0, 0])
        heap.barrier()
    return found


def make(name: str, size: int) -> int:
    KEPT[name] = malloc(size, "i8")
    return KEPT[name].size


def put(name: str, value: int) -> None:
    """Without a meeting: the end of the call on all ranks is one."""
    heap = KEPT[name]
    heap.put(np.full(heap.shape, value + heap.rank), to=(heap.rank + 1) % heap.size)
    heap.fence()


def add(name: str, at: int, count: int) -> None:
    word = KEPT[name].place(to=0, at=at)
    for _ in range(count):
        word.fetch_and_add(1)  # type: ignore[attr-defined]


def look(name: str, at: int) -> int:
    return int(KEPT[name].local[at])


def drop(name: str) -> str:
    heap = KEPT.pop(name)
    heap.free()
    try:
        heap.put(1, to=0, at=0)
    except IsovizError as error:
        return str(error)
    return "it was put"


def fail_in(rank: int) -> None:
    """A rank fails while the others wait for it."""
    with malloc(8) as heap:
        if heap.rank == rank:
            raise ArithmeticError("one and one are three")
        heap.barrier()


def fail_before(rank: int, call: str) -> None:
    """A rank fails before it makes a call that the others make together: with a heap of an earlier call, or a new one."""
    if this_rank().rank == rank:
        raise ArithmeticError("one and one are three")
    if call == "barrier":
        KEPT["kept"].barrier()
    else:
        malloc(8)


def hear_late(seconds: float) -> None:
    """This rank hears later that another one has given up a meeting."""
    exchange = this_world().exchange
    hear = exchange.serve["meet"]

    def late(sender: int, number: int, arguments: Any) -> None:
        if type(arguments[1]).__name__ == "_GaveUp":
            threading.Event().wait(seconds)
        hear(sender, number, arguments)

    exchange.serve["meet"] = late


def wait_for(rank: int) -> None:
    """All but one wait; that one has nothing to do."""
    if this_rank().rank != rank:
        this_rank().tell("waits")
        KEPT["kept"].barrier()


def other_thread() -> list[str]:
    """In a thread of a rank, heaps of this rank work."""
    said: list[str] = []

    def work() -> None:
        heap = KEPT["kept"]
        heap.put(5, to=(heap.rank + 1) % heap.size, at=1)
        heap.barrier()
        said.append(str(heap.local[1]))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    return said
