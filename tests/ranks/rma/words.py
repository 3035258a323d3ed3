"""A rank that changes words and flags together with others: `words.py WHAT COUNT`; `WAYS` has what they do."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
from given.rank_program import begin, tell

import isoviz
from isoviz.rma import Heap, malloc

Told = dict[str, Any]


def gather(heap: Heap, value: Any) -> list[Any]:
    return heap._world.meeting.gather(value)


def start(heap: Heap, word: int = -1) -> None:
    """All ranks begin at one moment, as well as they can: each waits in memory until all are here."""
    heap.barrier()
    mine = heap.place(to=0, at=word)
    mine.fetch_and_add(1)  # type: ignore[attr-defined]
    while mine.get() % heap.size:
        os.sched_yield()


def added(count: int) -> Told:
    """All ranks add to words of one rank, each by its own place, through a heap and from several threads."""
    found: Told = {}
    for kind in ("i4", "u4", "i8", "u8"):
        with malloc(8, kind) as heap:
            limits = np.iinfo(kind)
            if heap.rank == 0:
                heap.local[0] = limits.max - 5  # it wraps around at once
            each = count // 4 // heap.size
            start(heap)
            word = heap.place(to=0, at=0)
            for _ in range(each // 2):
                word.fetch_and_add(1)
            for _ in range(each - each // 2):
                heap.fetch_and_add(to=0, at=0, value=1)
            ticket = heap.place(to=0, at=1)
            olds = [ticket.fetch_and_add(1) for _ in range(min(each, 5000))]
            heap.barrier()
            every = [old for part in gather(heap, olds) for old in part]
            assert sorted(every) == list(range(heap.size * min(each, 5000))), "each sees another value"
            assert olds == sorted(olds)
            total = heap.size * each
            expected = (int(limits.max) - 5 + total - int(limits.min)) % (1 << 8 * heap.dtype.itemsize) + int(limits.min)
            assert heap.get(of=0, at=0) == expected, (kind, heap.get(of=0, at=0), expected)
            found["added"] = found.get("added", 0) + total
            heap.barrier()
    return found


def mixed(count: int) -> Told:
    """Swaps, additions and compares of one word. What was added is what swaps have taken out, and the rest."""
    swaps = adds = won = 0
    for kind in ("i4", "u4", "i8", "u8"):
        with malloc(8, kind) as heap:
            word, taken, mine = heap.place(to=heap.size - 1, at=3), 0, 0
            start(heap)
            for turn in range(count // heap.size):
                way = (turn + heap.rank) % 3
                if way == 0:
                    word.fetch_and_add(3)
                    mine += 3
                    adds += 1
                elif way == 1:
                    taken += word.swap(0)
                    swaps += 1
                else:
                    old = word.get()
                    if word.compare_and_swap(old, 0) == old:
                        taken += old
                        won += 1
            heap.barrier()
            both = gather(heap, (mine, taken))
            assert sum(each for each, _ in both) == sum(each for _, each in both) + word.get()
            heap.barrier()
    return {"additions": adds, "swaps": swaps, "compares that won": won}


def locked(count: int) -> Told:
    """A lock of compare_and_swap guards numbers that are changed by plain puts and gets on another rank."""
    with malloc(4, "i8") as words, malloc(300, "f8") as guarded:
        lock, sizes = words.place(to=0, at=0), 0
        place = guarded.place(to=words.size - 1, at=np.s_[::3])
        counter = guarded.place(to=words.size - 1, at=1)
        start(words)
        for _ in range(count // words.size):
            while lock.compare_and_swap(0, words.rank + 1):
                os.sched_yield()  # the rank inside may have no processor
            values = place.get()
            assert (values == values[0]).all(), "another rank was inside"
            place.put(values + 1)
            counter.put(counter.get() + 1)
            guarded.fence(words.size - 1)
            assert lock.swap(0) == words.rank + 1
            sizes += 1
        words.barrier()
        total = count // words.size * words.size
        assert counter.get() == total and (place.get() == total).all()
        words.barrier()
    return {"times locked": sizes}


def flags(count: int) -> Told:
    """Rank 0 puts 16 MiB and then a flag; rank 1 looks at its own memory and never sees the flag before the bytes.

    The flag comes by a put, by a kept place, by an addition, or as the last element of another put; the bytes in one piece, by
    rows, by single elements, by a list, or backwards.
    """
    size = 16 << 20
    with malloc(2 * size // 8, "u8") as data, malloc(64, "i8") as words:
        rng, waited = np.random.default_rng(5), 0
        lists = np.sort(rng.choice(2 * size // 8, size // 64, replace=False))
        ways: list[Any] = [np.s_[: size // 8], np.s_[1 : 1 + size // 8], np.s_[::2], np.s_[::-2], np.s_[5::37], lists]
        for turn in range(count):
            at = ways[turn % len(ways)] if turn < len(ways) else rng.integers(0, len(ways))
            if not isinstance(at, slice | np.ndarray):
                first, step = int(rng.integers(0, 999)), int(rng.integers(2, 60))
                at = np.s_[first::step] if at % 2 else np.s_[first : first + size // 8]
            words.barrier()
            if words.rank == 0:
                source = np.full(np.shape(data.local[at]), turn + 1, "u8")
                if turn % 4 < 2:
                    data.put(source, to=1, at=at)
                elif turn % 4 == 2:
                    data.place(to=1, at=at).put(source)
                else:  # by the helper of this rank, in another thread
                    data.put(source, to=1, at=at, wait=False).wait(100)  # type: ignore[union-attr]
                if turn % 3 == 0:
                    words.put(turn + 1, to=1, at=7)
                elif turn % 3 == 1:
                    words.fetch_and_add(to=1, at=7, value=turn + 1 - words.get(of=1, at=7))
                else:
                    words.put(np.full(8, turn + 1), to=1, at=np.s_[:8])
            elif words.rank == 1:
                flag, there = words.local[7:8], data.local[at] if isinstance(at, slice) else None
                while flag[0] != turn + 1:
                    waited += 1
                found = data.local[at] if there is None else there
                assert (found == turn + 1).all(), (
                    f"turn {turn}: the flag came before {np.count_nonzero(found != turn + 1)} elements"
                )
        words.barrier()
        times = gather(words, waited)
    return {"rounds": count, "looks": times[1]}


def woven(count: int) -> Told:
    """Ranks put at the same time to elements that lie between each other's: no copy writes what lies between its elements."""
    with malloc((256, 96), "u1") as small, malloc((512, 96), "f8") as large, malloc((64, 640), "i2") as wide:
        for turn in range(count):
            for heap in (small, large, wide):
                for axis in (0, 1):
                    at: list[Any] = [slice(None)] * 2
                    at[axis] = slice(heap.rank, None, heap.size)
                    value = np.zeros(np.shape(heap.local[tuple(at)]), heap.dtype)
                    value[...] = turn % 50 + heap.rank
                    start_here = heap.place(to=turn % heap.size, at=tuple(at))
                    heap.barrier()
                    start_here.put(value)
                    heap.put(value, to=turn % heap.size, at=tuple(at))
                    heap.barrier()
                    if heap.rank == turn % heap.size:
                        for rank in range(heap.size):
                            at[axis] = slice(rank, None, heap.size)
                            assert (heap.local[tuple(at)] == turn % 50 + rank).all(), (turn, heap, axis, rank)
    return {"rounds": count}


def begun(count: int) -> Told:
    """Puts and gets that were begun, waited for in any order, some cancelled, some only by a fence. What was not cancelled is in
    place; what was is as before or as put, element by element; nothing else has changed."""
    parts, size, cancelled = 24, 20_000, 0
    with malloc((parts + 1, 2 * size), "i8") as heap:
        rng, to = np.random.default_rng(heap.rank), (heap.rank + 1) % heap.size
        for turn in range(count):
            new, handles, gone = turn + 2, {}, []
            heap.local[...] = -1
            heap.barrier()
            for part in range(parts):
                at = np.s_[part, ::2] if part % 2 else np.s_[part, 1 : 1 + size]
                handles[part] = heap.put(np.full(size, new), to=to, at=at, wait=False)
            for part in rng.permutation(parts):
                handle = handles[part]
                assert handle is not None
                way = rng.integers(0, 4)
                if way == 0 and handle.cancel():
                    gone.append(int(part))
                elif way == 1:
                    handle.wait(100)
                    assert handle.done
            found = heap.get(of=to, at=parts, wait=False)
            heap.fence()
            assert (found.wait(100) == -1).all()
            cancelled += len(gone)
            heap.barrier()
            told = gather(heap, gone)[(heap.rank - 1) % heap.size]
            for part in range(parts):
                row, at = heap.local[part], slice(None, None, 2) if part % 2 else slice(1, 1 + size)
                others = np.ones(2 * size, bool)
                others[at] = False
                assert (row[others] == -1).all(), (turn, part)
                assert np.isin(row[at], (-1, new)).all() if part in told else (row[at] == new).all(), (turn, part, told)
            heap.barrier()
    return {"begun": count * parts, "cancelled": cancelled}


def threads(count: int) -> Told:
    """Threads of each rank put, get and add at the same time, also through one kept place and one heap."""
    with malloc((4, 20000), "f8") as heap, malloc(16, "i8") as words, malloc(1000, "i4") as other:
        to, errors = (heap.rank + 1) % heap.size, []
        shared = heap.place(to=to, at=np.s_[3, ::2])
        same = np.arange(10000.0)
        heap.barrier()

        def work(number: int) -> None:
            try:
                mine = np.zeros(20000)
                for turn in range(count):
                    mine[:] = turn + number
                    heap.put(mine, to=to, at=number)
                    heap.fence(to)
                    assert (heap.get(of=to, at=number) == turn + number).all()
                    shared.put(same)
                    assert (shared.get() == same).all()
                    words.fetch_and_add(to=to, at=number)
                    words.fetch_and_add(to=0, at=8)
                    other.put(turn, to=to, at=number)
                    assert other.get(of=to, at=number) == turn
            except BaseException as error:  # noqa: BLE001  # told by the main thread
                errors.append(error)

        running = [threading.Thread(target=work, args=(number,)) for number in range(3)]
        for each in running:
            each.start()
        for each in running:
            each.join()
        assert not errors, errors
        heap.barrier()
        assert list(words.local[:3]) == [count] * 3
        assert words.get(of=0, at=8) == 3 * count * heap.size
        heap.barrier()
    return {"calls": 8 * 3 * count}


WAYS: dict[str, Callable[[int], Told]] = {each.__name__: each for each in (added, mixed, locked, flags, woven, begun, threads)}


def main() -> None:
    begin()
    names, counts = (each.split(",") for each in sys.argv[1:])
    found = {name: WAYS[name](int(count)) for name, count in zip(names, counts, strict=True)}
    with isoviz.rma.malloc(0) as last:
        tell(last.rank, found)


if __name__ == "__main__":
    main()
