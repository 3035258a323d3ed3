"""A rank that calls what is wrong, or at a wrong time: `wrong_calls.py WHAT`; `WAYS` has what, and `leaks COUNT`.

Each call ends with an error that says what is wrong; no byte of any rank changes by it; the ranks go on afterwards.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import resource
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from given.rank_program import begin, tell

import isoviz
from isoviz.errors import EngineClosed, ForkedError, InputError, IsovizError, RankError, RankLost, RunError
from isoviz.rma import Heap, malloc

Told = dict[str, Any]


def gather(heap: Heap, value: Any) -> list[Any]:
    return heap._world.meeting.gather(value)


@contextlib.contextmanager
def refused(kind: type[IsovizError], *words: str) -> Iterator[list[str]]:
    """Code that has to raise an error of this very kind, which says so in these words."""
    said: list[str] = []
    try:
        yield said
    except IsovizError as error:
        found = error
    else:
        raise AssertionError(f"no {kind.__name__}")
    assert type(found) is kind, repr(found)
    said.append(str(found))
    assert all(word in said[0] for word in words), said


def works(heap: Heap) -> None:
    """The ranks still do what they are asked for."""
    to = (heap.rank + 1) % heap.size
    heap.barrier()
    heap.put(np.full(heap.shape, heap.rank + 7, heap.dtype), to=to)
    heap.barrier()
    assert (heap.local == (heap.rank - 1) % heap.size + 7).all()
    heap.barrier()


def all_work() -> None:
    with malloc((300, 100), "f8") as heap:
        works(heap)


# ---- what is asked for


RANKS: tuple[Any, ...] = (-1, 99, "1", True, False, 1.0, None, [1], np.array([0]), np.float64(0), 10**100)
PLACES: tuple[Any, ...] = (
    *(6, -7, np.s_[:7], np.s_[-7:], np.s_[6::-1], [0, 6], (0, 5), (0, 0, 0), (0, True), (True, 0)),
    *(1.0, "a", None, True, {}, object()),
)  # fmt: skip
VALUES: tuple[Any, ...] = (
    *(1j, "a", None, np.ma.masked, object(), 10**400, {1: 2}),
    *([[1, 2], [3]], np.zeros(0), np.zeros((7, 5))),
)  # fmt: skip
ROOMS: tuple[Any, ...] = (
    *(np.zeros(5), np.zeros((6, 5), "f4"), np.ma.zeros((6, 5)), np.broadcast_to(0.0, (6, 5))),
    *([0.0], 1.0, "a"),
)  # fmt: skip
Calls = list[Callable[[], object]]


def of_rank(heap: Heap, words: Heap, rank: Any) -> Calls:
    return [
        lambda: heap.put(9.0, to=rank, at=(0, 0)),
        lambda: heap.put(np.zeros(5), to=rank, at=0),
        lambda: heap.put(np.zeros((6, 5)), to=rank, wait=False),
        lambda: heap.get(of=rank, at=(0, 0)),
        lambda: heap.get(of=rank),
        lambda: heap.get(of=rank, wait=False),
        lambda: heap.place(to=rank, at=0),
        lambda: words.fetch_and_add(to=rank, at=1),
        lambda: words.swap(to=rank, at=1, value=9),
        lambda: words.compare_and_swap(to=rank, at=1, expected=4, value=9),
        *([lambda: heap.fence(rank)] if rank is not None else []),
    ]


def of_place(heap: Heap, words: Heap, at: Any) -> Calls:
    return [
        lambda: heap.put(9.0, to=1, at=at),
        lambda: heap.put(9.0, to=1, at=at, wait=False),
        lambda: heap.get(of=1, at=at),
        lambda: heap.place(to=1, at=at),
        lambda: words.fetch_and_add(to=1, at={6: 8, -7: -9}.get(at, at) if isinstance(at, int) else at),
    ]


def of_value(heap: Heap, _words: Heap, value: Any) -> Calls:
    return [
        lambda: heap.put(value, to=1),
        lambda: heap.put(value, to=1, wait=False),
        lambda: heap.put(value, to=1, at=[0, 1]),
        lambda: heap.place(to=1).put(value),
        lambda: heap.place(to=1, at=[0, 1]).put(value),
        lambda: heap.place(to=1, at=(0, 0)).put(value),
    ]


def of_room(heap: Heap, _words: Heap, room: Any) -> Calls:
    return [
        lambda: heap.get(of=1, into=room),
        lambda: heap.get(of=1, into=room, wait=False),
        lambda: heap.get(of=1, at=[0, 1], into=room),
        lambda: heap.place(to=1).get(into=room),
        lambda: heap.place(to=1, at=(0, 0)).get(into=room),
    ]


def arguments() -> Told:
    """Wrong ranks, places, values and arrays, in every call, after the quick ways know the rank."""
    heap, words = malloc((6, 5), "f8"), malloc(8, "i8")
    heap.local[...], words.local[...] = 3, 4
    heap.barrier()
    calls = 0
    heap.put(3.0, to=1, at=(0, 0))
    heap.get(of=1, at=(0, 0))
    words.fetch_and_add(to=1, at=1, value=0)
    for given, made, said in (
        (RANKS, of_rank, "there is no rank"),
        (PLACES, of_place, "at:"),
        (VALUES, of_value, "put: expected"),
        (ROOMS, of_room, "into: expected an array to write to"),
    ):
        for each in given:
            for call in made(heap, words, each):
                with refused(InputError, said):
                    call()
                calls += 1
    for at in ([1, 1], [0, -6], ([0, 0], [1, 1])):
        with refused(InputError, "name an element twice"):
            heap.put(np.zeros(np.shape(heap.local[at])), to=1, at=at)
        assert (heap.get(of=1, at=at) == heap.local[at]).all()
    for at in (np.s_[:2], [0, 1], ()):
        with refused(InputError, "expected an index of one element"):
            words.fetch_and_add(to=1, at=at)
    with refused(InputError, "expected words of whole numbers"):
        heap.fetch_and_add(to=1, at=(0, 0))
    for limit in ("soon", [1], True):
        with refused(InputError):
            heap.get(of=1, wait=False).wait(limit)
    heap.barrier()
    assert (heap.local == 3).all() and (words.local == 4).all()
    heap.free()
    words.free()
    sizes()
    all_work()
    return {"refused": calls}


def sizes() -> None:
    """Heaps that cannot be."""
    for shape in (-1, (2, -1), 1.5, "8", True, None, (1,) * 40):
        with refused(InputError, "malloc: shape: "):
            malloc(shape, "f8")  # type: ignore[arg-type]
    for shape in ((1 << 62,), 1 << 70, (1 << 40, 1 << 40)):
        with refused(RunError, "no room for"):
            malloc(shape, "f8")
    for kind in ("O", "x", "V0", "", "2f4", "(1,", [("a", "O")], 3, object(), [("a", "f4"), ("a", "i4")]):
        with refused(InputError, "malloc: dtype: expected a type"):
            malloc(8, kind)


def freed() -> Told:
    """Everything that belongs to a heap is refused after it was freed, which may be said twice."""
    heap = malloc((40, 50), "i8")
    with malloc(4) as other:
        to = (heap.rank + 1) % heap.size
        kept = [heap.place(to=to, at=at) for at in (np.s_[::2], [1, 2], (1, 2))]
        word = heap.place(to=to, at=(3, 3))
        into, heap_local = np.zeros((20, 50), "i8"), heap.local
        for place in kept:
            place.put(5)
            place.get()
        kept[0].put(into)
        kept[0].get(into)
        heap.fetch_and_add(to=to, at=(3, 3))
        begun = heap.put(np.zeros((40, 50), "i8"), to=to, wait=False)
        heap.free()
        heap.free()
        assert begun is not None and begun.wait(100) is None
        calls: list[Callable[[], object]] = [
            lambda: heap.put(1, to=to, at=(0, 0)),
            lambda: heap.put(into, to=to, at=np.s_[::2]),
            lambda: heap.put(into, to=heap.rank, at=np.s_[::2], wait=False),
            lambda: heap.get(of=to, at=(0, 0)),
            lambda: heap.get(of=to),
            lambda: heap.place(to=to),
            lambda: heap.fetch_and_add(to=to, at=(3, 3)),
            lambda: heap.swap(to=to, at=(0, 0), value=1),
            lambda: heap.compare_and_swap(to=to, at=(0, 0), expected=1, value=1),
            heap.fence,
            lambda: heap.fence(to),
            heap.barrier,
            lambda: word.fetch_and_add(1),  # type: ignore[attr-defined]
            lambda: word.swap(1),  # type: ignore[attr-defined]
            lambda: word.compare_and_swap(1, 1),  # type: ignore[attr-defined]
            *(lambda place=place: place.put(5) for place in kept),
            *(lambda place=place: place.get() for place in kept),
            lambda: kept[0].put(into),
            lambda: kept[0].get(into),
        ]
        for call in calls:
            with refused(InputError, "this heap was freed"):
                call()
        assert heap_local.shape == (40, 50) and "freed" in repr(heap)
        heap_local[...] = 1
        works(other)
    return {"refused": len(calls)}


def freed_under_way() -> Told:
    """Threads put, get and add in every way while the heap is freed and its memory goes. Nothing crashes, all get one error."""
    ended = 0
    for turn in (0, 3, 5):
        heap = malloc((2048, 600), "i8")  # 9.8 MB: memory of its own, which goes with the heap
        to, errors, begun = (heap.rank + 1) % heap.size, [], threading.Semaphore(0)
        word, whole, part = heap.place(to=to, at=(0, 0)), heap.place(to=to), heap.place(to=to, at=np.s_[1:, ::3])
        value, into = np.ones((2048, 600), "i8"), np.ones((2047, 200), "i8")

        def run(call: Callable[[], object], errors: list[BaseException] = errors, begun: Any = begun) -> None:
            begun.release()
            try:
                while True:
                    call()
            except BaseException as found:  # noqa: BLE001  # looked at below
                errors.append(found)

        calls: list[Callable[[], object]] = [
            lambda heap=heap, to=to, value=value: heap.put(value, to=to),
            lambda heap=heap, to=to: heap.put(1, to=to, at=(5, 5)),
            lambda heap=heap, to=to: heap.get(of=to, at=np.s_[::2, 1]),
            lambda heap=heap, to=to: heap.fetch_and_add(to=to, at=(7, 7)),
            lambda heap=heap, to=to: heap.place(to=to, at=np.s_[3]).put(1),
            lambda word=word: word.fetch_and_add(1),
            lambda whole=whole, value=value: whole.put(value),
            lambda part=part, into=into: part.get(into),
            lambda heap=heap, to=to, value=value: heap.put(value, to=to, wait=False),
            lambda heap=heap, to=to, into=into: heap.get(of=to, at=np.s_[1:, ::3], into=into, wait=False).wait(100),
            lambda heap=heap: heap.fence(),
        ]
        running = [threading.Thread(target=run, args=(call,)) for call in calls]
        for each in running:
            each.start()
        for _ in running:
            begun.acquire()
        for _ in range(turn):
            heap.put(value, to=to, at=())
        heap.free()
        del calls, word, whole, part, heap
        gc.collect()
        with malloc((1500, 700), "i8") as other:  # memory where the other one was, if it has gone too soon
            for each in running:
                each.join(60)
                assert not each.is_alive()
            assert (other.local == 0).all()
        assert len(errors) == len(running)
        for error in errors:
            assert type(error) is InputError and str(error) == "this heap was freed", repr(error)
        ended += len(errors)
    all_work()
    return {"threads": ended}


def forked() -> Told:
    """A forked child can use no heap, and keeps none of its ranks waiting. The parent goes on."""
    heap = malloc(100, "i8")
    to = (heap.rank + 1) % heap.size
    place, word = heap.place(to=to, at=np.s_[::2]), heap.place(to=to, at=1)
    place.put(3)
    heap.fetch_and_add(to=to, at=1)
    large = malloc(1 << 20, "f8")
    begun = large.put(np.ones(1 << 20), to=to, wait=False)
    assert begun is not None
    heap.barrier()
    reader, writer = os.pipe()
    if (child := os.fork()) == 0:
        said = []
        calls: list[Callable[[], object]] = [
            lambda: heap.put(1, to=to, at=0),
            lambda: heap.put(np.ones(100, int), to=heap.rank),
            lambda: heap.get(of=to, at=0),
            lambda: heap.place(to=to),
            lambda: heap.fetch_and_add(to=to, at=1),
            lambda: place.put(1),
            lambda: place.get(),
            lambda: word.swap(1),  # type: ignore[attr-defined]
            heap.fence,
            heap.barrier,
            lambda: malloc(8),
            lambda: begun.wait(100),
        ]
        for call in calls:
            try:
                call()
                said.append("nothing")
            except BaseException as error:  # noqa: BLE001  # told to the parent
                said.append(type(error).__name__)
        heap.free()
        os.write(writer, json.dumps(said).encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        found = json.loads(pipe.read())
    assert os.waitpid(child, 0)[1] == 0 and found == ["ForkedError"] * 12, found
    assert ForkedError.__name__ == found[0]
    begun.wait(100)
    large.barrier()
    assert (large.local == 1).all()
    large.free()
    works(heap)
    heap.free()
    all_work()
    return {"refused": len(found)}


def left() -> Told:
    """After this rank has left the world, each call says so. The memory stays an array."""
    from isoviz.launch import this_rank

    heap = malloc(100, "i8")
    to = (heap.rank + 1) % heap.size
    place = heap.place(to=to, at=np.s_[::2])
    place.put(3)
    heap.barrier()
    rank = heap.rank
    session = this_rank._session
    assert session is not None
    this_rank._leave(session)
    for call in (
        lambda: heap.put(1, to=to, at=0),
        lambda: heap.get(of=to),
        lambda: place.put(1),
        heap.barrier,
        lambda: heap.fence(to),
    ):
        with refused(EngineClosed, "has left"):
            call()
    heap.free()
    assert (heap.local[::2] == 3).all()
    tell(rank, {"left": {"refused": 5}})
    return {}


# ---- ranks that differ


def differ() -> Told:
    """Ranks that call different things hear of each other's call, and go on."""
    with malloc(8) as heap:
        mine, told = min(heap.rank, 1), 0
        malloc((8, (8,))[mine]).free()  # the same
        for shapes, kinds in (
            ((8, 9), ("f8", "f8")),
            ((8, (4, 2)), ("f8", "f8")),
            ((8, 8), ("f4", "i4")),
            ((8, 8), ("f4,i4", "i4,f4")),
        ):
            with refused(RankError, "the ranks do not call the same", "malloc"):
                malloc(shapes[mine], kinds[mine])  # type: ignore[arg-type]
            told += 1
        second = malloc(4)
        with refused(RankError, "the ranks do not call the same", "malloc", f"free of heap {second._number}"):
            if mine:
                second.free()
            else:
                malloc(9)
        if mine:
            with refused(InputError, "this heap was freed"):
                second.barrier()
        else:
            second.put(1.0, to=1, at=0)  # it was not freed here, and its memory is still there
            assert second.get(of=1, at=0) == 1
        with refused(RankError, f"barrier of heap {heap._number}", f"free of heap {second._number}"):
            if mine:
                heap.barrier()
            else:
                second.free()
        works(heap)
    all_work()
    return {"told": told}


def raises() -> Told:
    """A rank that leaves a heap with an error: the others hear of it wherever they meet next, and all go on together."""
    rounds = 0
    for turn in range(12):
        with malloc(8) as outer:
            works(outer)
            culprit, size, told = turn % outer.size, outer.size, ""
            try:
                with malloc(8) as heap, malloc(8) as inner:
                    works(inner)
                    if heap.rank == culprit:
                        raise ArithmeticError("one and one are three")
                    if turn % 3 == 0:
                        inner.barrier()
                    elif turn % 3 == 1:
                        outer.barrier()
                    else:
                        malloc(9)
                    raise AssertionError("it came back")
            except ArithmeticError:
                assert outer.rank == culprit
            except RankError as error:
                told = str(error)
            assert (outer.rank == culprit) == (told == "")
            assert told in ("", f"rank {culprit} left a heap with ArithmeticError: one and one are three")
            assert heap.is_over and inner.is_over
            works(outer)
            rounds += size
    with malloc(8) as heap:  # all at once
        with contextlib.suppress(ArithmeticError), malloc(8):
            raise ArithmeticError
        works(heap)
        with contextlib.suppress(RankError), malloc(8) as other:  # two of all
            if heap.rank < 2:
                other.end(InputError("over")) if heap.rank == 9 else None
                raise RankError("on purpose")
            other.barrier()
        works(heap)
        with contextlib.suppress(RankError), malloc(8) as other:  # one in a barrier, the others at the end
            if heap.rank == 0:
                other.barrier()
        works(heap)
    all_work()
    return {"rounds": rounds}


def no_room() -> Told:
    """A rank that has no memory says so; the others name it. Later heaps that are small enough are made."""
    all_work()
    with malloc(8) as heap:
        rank = heap.rank
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        if rank == 1:
            resource.setrlimit(resource.RLIMIT_FSIZE, (32 << 20, before[1]))
        words = (
            ("the limit of a file's size",)
            if rank == 1
            else ("rank 1 has no memory for the heap", "RunError: no room for 64 MiB")
        )
        descriptors = len(list(Path("/proc/self/fd").iterdir()))
        for _ in range(5):
            with refused(RunError if rank == 1 else RankError, *words):
                malloc(64 << 20, "u1")
        gc.collect()
        assert len(list(Path("/proc/self/fd").iterdir())) == descriptors
        with malloc(20 << 20, "u1") as small:
            works(small)
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        with malloc(64 << 20, "u1") as large:
            works(large)
        works(heap)
    return {"told": 5}


def full_shared_memory() -> Told:
    """Heaps need no room in /dev/shm."""
    with malloc(8) as heap:
        works(heap)
        if heap.rank == 0:
            room = os.statvfs("/dev/shm")
            with contextlib.suppress(OSError), Path("/dev/shm/filler").open("wb") as file:
                file.write(bytes(room.f_bavail * room.f_frsize))
        heap.barrier()
        room = os.statvfs("/dev/shm")
        assert room.f_bavail == 0
        with malloc((80 << 20) // 8, "f8") as large:
            works(large)
            handle = large.put(np.full(large.shape, 2.0), to=(large.rank + 1) % large.size, wait=False)
            assert handle is not None
            handle.wait(100)
            large.barrier()
            assert (large.local == 2).all()
        return {"left": room.f_bavail, "of": room.f_blocks * room.f_frsize}


# ---- ends


def ends() -> Told:
    """A rank that ends its program in order, while another waits for it, keeps nobody waiting."""
    heap = malloc(8)
    works(heap)
    if heap.rank == 1:
        return {}
    with refused(RankLost, "rank 1 no longer answers: it has left the other ranks") as said:
        heap.barrier()
    tell(heap.rank, {"said": said})
    return {}


def interrupted() -> Told:
    """Ctrl-C while a rank waits for the others: it comes at once, and no rank waits for longer. All go on."""
    came = []
    with malloc(8) as heap:
        for turn in range(4):
            victim = turn % heap.size
            heap.barrier()
            if heap.rank == victim:
                timer = threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT))
                began = time.perf_counter()
                timer.start()
                try:
                    heap.barrier()
                    raise AssertionError("nobody else was there")
                except KeyboardInterrupt:
                    came.append(time.perf_counter() - began)
                timer.join()
                heap.put(turn + 1.0, to=(victim + 1) % heap.size, at=5)  # the others wait for this
            else:
                if heap.rank == (victim + 1) % heap.size:
                    while heap.local[5] != turn + 1:
                        pass
                    for rank in range(heap.size):
                        if rank not in (heap.rank, victim):
                            heap.put(turn + 1.0, to=rank, at=5)
                else:
                    while heap.local[5] != turn + 1:
                        pass
                heap.barrier()  # it was told of the victim's
            works_without = gather(heap, None)
            assert len(works_without) == heap.size
            heap.local[5] = 0
            works(heap)
        late = max((each for part in gather(heap, came) for each in part), default=0.0)
    all_work()
    return {"seconds": round(late, 2)}


def leaks(count: int) -> Told:
    """Heaps that come and go, small and large, with kept places and begun puts, leave nothing."""

    def use(size: int) -> None:
        with malloc(size, "f8") as heap, malloc(16, "i8") as words:
            to = (heap.rank + 1) % heap.size
            value = np.ones(size)
            place = heap.place(to=to, at=np.s_[::3])
            place.put(value[::3].copy())
            heap.put(value, to=to)
            handle = heap.put(value, to=to, wait=False)
            assert handle is not None
            words.fetch_and_add(to=to, at=0)
            heap.barrier()
            assert (heap.local == 1).all()
            heap.get(of=to)
            heap.barrier()

    def state() -> tuple[int, int, int, int]:
        gc.collect()
        mine = [line for line in Path("/proc/self/maps").read_text().splitlines() if "isoviz window" in line]
        return len(list(Path("/proc/self/fd").iterdir())), len(mine), threading.active_count(), len(world.stores.exported)

    with malloc(8) as first:
        world = first._world
        for size in (10, 1 << 19, 10, 1 << 19):
            use(size)
        first.barrier()
        before = state()
        for turn in range(count):
            use((10, 3000, 70_000, 1 << 19)[turn % 4])
        first.barrier()
        last = time.monotonic() + 60  # what other ranks tell of ended memory is on its way
        while (after := state()) > before and time.monotonic() < last:
            threading.Event().wait(0.05)
        first.barrier()
        # Small heaps share pieces of memory. One more piece may be open: two descriptors here, one for that of each other rank.
        most = (before[0] + 1 + first.size, before[1] + first.size)
        assert after[0] <= most[0] and after[1] <= most[1] and after[2:] == before[2:], (before, after)
    return {"cycles": count, "descriptors": after[0] - before[0]}


WAYS: dict[str, Callable[[], Told]] = {
    each.__name__: each
    for each in (
        arguments, freed, freed_under_way, forked, left, differ, raises, no_room, full_shared_memory, ends, interrupted,
    )
}  # fmt: skip


def main() -> None:
    begin()
    what = sys.argv[1]
    found = leaks(int(sys.argv[2])) if what == "leaks" else {each: told for each in what.split(",") if (told := WAYS[each]())}
    if found:
        with isoviz.rma.malloc(0) as last:
            tell(last.rank, found)


if __name__ == "__main__":
    main()
