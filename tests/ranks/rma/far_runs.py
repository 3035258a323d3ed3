"""A rank of a job with heaps that are not mapped: `far_runs.py WAY TASK COUNT`, which prints JSON on rank 0.

WAY: `hosts` (`malloc`, mapped where ranks share a host), `unmapped` (`malloc`, where no rank maps another one), `shared`
(`share` of memory that lies in no window), `refused` (the same where the system lets no process reach another one), `window`
(`share` of windows). Rank r writes to rank r + 1 alone, so it knows all that is there.

- `random`: puts, gets, places and lists at random, in the order of the program, as NumPy does them to an array of its own.
- `words`: all ranks change words of rank 0 at the same time.
- `handles`: puts and gets that were begun; cancelled ones.
- `wrong`: what is refused.
- `left`: rank 1 leaves its heap with an error while rank 0 puts.
- `lost`: rank 1 is killed while rank 0 puts and gets. With a FOLDER, it makes the file `arrived` there and goes on: the caller
  breaks the link between the hosts.
- `stopped`: rank 1 is stopped while rank 0 puts and gets, and continues.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from given.rank_program import begin, tell
from lane_runs import refuse_access
from waiting import until

import isoviz
from isoviz.backends.mpi.world import World
from isoviz.errors import Cancelled, InputError, RankError, RankLost, RunError
from isoviz.rma import Heap, Word, heaps

Array = np.ndarray[Any, Any]
STRUCT = np.dtype([("a", "i4"), ("b", "f8")])
DTYPES = ["f8", "f4", "i2", "u1", "c16", STRUCT]
SHAPES = [(7,), (1000,), (40, 50), (300, 700), (5, 6, 7), (64, 3, 9), (1 << 19,), (3, 0, 4)]


def made(way: str, shape: tuple[int, ...], dtype: Any, **words: str) -> Heap:
    if way in ("hosts", "unmapped"):
        return isoviz.rma.malloc(shape, dtype, **words)
    mine = heaps.this_world().array(shape, dtype) if way == "window" else np.zeros(shape, dtype)
    return isoviz.rma.share(mine, **words)


def elements(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """Random elements, in an order at random and perhaps with gaps between them."""
    if dtype.names:
        found = np.zeros(shape, dtype)
        for name in dtype.names:
            found[name] = rng.integers(-100, 100, shape)
        return found
    data = rng.integers(0, 100, tuple(2 * each for each in shape)).astype(dtype)
    kind = rng.integers(4)
    if kind == 0:
        return data[tuple(slice(None, each) for each in shape)].copy()
    if kind == 1:
        return data[tuple(slice(None, None, 2) for _ in shape)]
    if kind == 2:
        return data[tuple(slice(each - 1, None, -1) if each else slice(0) for each in shape)]
    return data[tuple(slice(None, each) for each in shape)].copy(order="F")


def index(rng: np.random.Generator, shape: tuple[int, ...], *, lists: bool) -> Any:
    """An index that names no element twice."""
    items: list[Any] = []
    list_at = int(rng.integers(len(shape))) if lists else -1
    for axis, extent in enumerate(shape):
        kind = rng.integers(5)
        if axis == list_at and extent:
            items.append(rng.permutation(extent)[: 1 + rng.integers(min(extent, 200))].tolist())
        elif kind == 0 and extent:
            items.append(int(rng.integers(-extent, extent)))
        elif kind == 1:
            items.append(slice(None))
        else:
            low, high = sorted(rng.integers(0, extent + 1, 2).tolist())
            step = int(rng.choice([1, 2, 3, -1, -2]))
            if step > 0 or low == 0 or high == 0:
                items.append(slice(low, high, abs(step)))
            else:
                items.append(slice(high - 1, low - 1, step))
    cut = int(rng.integers(1, len(items) + 1))
    if not lists and rng.integers(4) == 0:
        return (*items[:cut], ...)
    return tuple(items) if len(items) > 1 or lists else items[0]


def same(found: Any, right: Any) -> bool:
    found = found if isinstance(found, np.ndarray) else np.array(found, right.dtype)  # an element comes as a number
    return found.tobytes() == right.tobytes() and found.shape == right.shape


def random(way: str, count: int) -> object:
    done = {"puts": 0, "gets": 0, "lists": 0, "heaps": 0}
    ways: set[str] = set()
    turn = 0
    while done["puts"] + done["gets"] < count:
        together = np.random.default_rng([count, turn])
        shape = SHAPES[together.integers(len(SHAPES))]
        dtype = np.dtype(DTYPES[together.integers(len(DTYPES))])
        heap = made(way, shape, dtype)
        sums = isoviz.rma.malloc(20, "u1")
        rng = np.random.default_rng([count, turn, heap.rank])
        to, model = (heap.rank + 1) % heap.size, np.zeros(shape, dtype)
        place = heap.place(to=to, at=index(rng, shape, lists=False))
        for _ in range(12):
            has_lists = bool(rng.integers(3) == 0)
            at = index(rng, shape, lists=has_lists)
            done["lists"] += has_lists
            if rng.integers(2):
                value = elements(rng, model[at].shape, dtype)
                if rng.integers(6) == 0:
                    value = value.reshape(-1)[:1].reshape(()) if value.size else value
                model[at] = value
                heap.put(value, to=to, at=at)
                done["puts"] += 1
            else:
                into = np.empty(model[at].shape, dtype, order="F") if rng.integers(3) == 0 else None
                got = heap.get(of=to, at=at, into=into)
                assert same(got, model[at]), (way, shape, dtype, at)
                done["gets"] += 1
        assert place.get() is not None
        assert same(heap.get(of=to), model), (way, shape, dtype)
        sums.put(np.frombuffer(hashlib.sha1(model.tobytes(), usedforsecurity=False).digest(), np.uint8), to=to)
        heap.barrier()
        sums.barrier()
        assert sums.local.tobytes() == hashlib.sha1(heap.local.tobytes(), usedforsecurity=False).digest(), (way, shape, dtype)
        done["heaps"] += 1
        ways = {heap.way(rank) for rank in range(heap.size)}
        sums.free()
        heap.free()
        turn += 1
    return {**done, "ways": sorted(ways)}


def words(way: str, count: int) -> object:
    """Every change of every rank is there: sums, distinct values before, and tokens that are swapped around."""
    found = {}
    for who in ("processor", "server"):
        for dtype in ("i8", "u4") if who == "processor" else ("u8", "i4"):
            heap = made(way, (4,), dtype, words=who)
            if heap.rank == 0:  # over its limit, and back
                assert heap.fetch_and_add(to=0, at=3, value=-5) == 0
                assert heap.swap(to=0, at=3, value=9) == np.array([0 if dtype[0] == "i" else 1 << 8 * heap.dtype.itemsize]) - 5
                assert heap.compare_and_swap(to=0, at=3, expected=8, value=1) == 9 == heap.local[3]
            olds = np.zeros(count, "i8")
            word = heap.place(to=0, at=0)
            assert isinstance(word, Word)
            if heap.rank == 0:
                heap.put(7, to=0, at=1)
            heap.barrier()
            kept = []  # tokens that this rank took out of word 1
            for turn in range(count):
                olds[turn] = word.fetch_and_add(1)
                kept.append(heap.swap(to=0, at=1, value=1000 * heap.rank + turn + 8))
                while True:
                    old = heap.get(of=0, at=2)
                    if heap.compare_and_swap(to=0, at=2, expected=old, value=old + 2) == old:
                        break
            heap.barrier()
            everyone = isoviz.rma.malloc((heap.size, 2, count), "i8")
            everyone.put(np.array([olds, kept]), to=0, at=heap.rank)
            everyone.barrier()
            if heap.rank == 0:
                assert sorted(everyone.local[:, 0].ravel()) == list(range(count * heap.size)), "a sum is lost"
                tokens = {7} | {1000 * rank + turn + 8 for rank in range(heap.size) for turn in range(count)}
                assert {*everyone.local[:, 1].ravel().tolist(), int(heap.local[1])} == tokens, "a swap is lost"
                assert heap.local[0] == count * heap.size and heap.local[2] == 2 * count * heap.size, heap.local
            found[f"{who} {dtype}"] = count * heap.size
            everyone.free()
            heap.free()
    return found


def handles(way: str, count: int) -> object:
    heap = made(way, (8, 1 << 20), "u2")
    to = (heap.rank + 1) % heap.size
    data = np.random.default_rng(heap.rank).integers(0, 1000, heap.shape).astype("u2")
    begun = [heap.put(data[row], to=to, at=row, wait=False) for row in range(8)]
    heap.fence()
    assert all(each is not None and each.done for each in begun)
    heap.barrier()
    got = [heap.get(of=to, at=np.s_[row, ::-2], wait=False) for row in range(8)]
    for row, each in enumerate(got):
        assert same(each.wait(), data[row, ::-2])
    heap.barrier()
    stopped = 0
    for _ in range(count):
        zeros = np.zeros_like(data)
        handle = heap.put(zeros, to=to, wait=False)
        assert handle is not None
        asked = handle.cancel()
        try:
            handle.wait()
            was_stopped = False
        except Cancelled:
            was_stopped = True
        assert handle.done and asked >= was_stopped
        stopped += was_stopped
        heap.fence()
        there = heap.get(of=to)
        assert ((there == data) | (there == 0)).all()
        assert was_stopped or not there.any()
        heap.put(data, to=to)
    heap.barrier()
    heap.free()
    return {"stopped": stopped}


def refused(call: Callable[[], object], *kinds: type[Exception]) -> str:
    try:
        call()
    except kinds as error:
        return f"{type(error).__name__}: {error}"
    raise AssertionError(f"expected one of {kinds}")


def wrong(_way: str, _count: int) -> object:
    """What is refused. Each refusal leaves the ranks together."""
    said: dict[str, str] = {}
    rank = heaps.this_world().rank
    big = np.zeros((6, 6))
    said["strides"] = refused(lambda: isoviz.rma.share(big[:, ::2]), InputError)
    said["one rank"] = refused(lambda: isoviz.rma.share(big[:, ::2] if rank else np.zeros((6, 3))), InputError, RankError)
    said["shapes"] = refused(lambda: isoviz.rma.share(np.zeros(3 + rank)), RankError)
    said["words"] = refused(lambda: isoviz.rma.malloc(3, "i8", words="server" if rank else "processor"), RankError)
    said["who"] = refused(lambda: isoviz.rma.malloc(3, "i8", words="helper"), InputError)
    said["list"] = refused(lambda: isoviz.rma.share([1, 2]), InputError)
    shifted = np.zeros(33, "u1")[1:].view("i8")
    heap = isoviz.rma.share(shifted)
    heap.put(5, to=1 - rank, at=2)
    heap.barrier()
    assert shifted[2] == 5 and heap.get(of=1 - rank, at=2) == 5
    for to in (rank, 1 - rank):
        said[f"aligned {to}"] = refused(lambda to=to: heap.fetch_and_add(to=to, at=2, value=1), InputError)  # type: ignore[misc]
    said["shape"] = refused(lambda: heap.put(np.zeros(5, "i8"), to=1 - rank, at=np.s_[:3]), InputError)
    said["beyond"] = refused(lambda: heap.get(of=1 - rank, at=4), InputError)
    place = heap.place(to=1 - rank, at=np.s_[:2])
    heap.free()
    said["freed"] = refused(place.get, InputError)
    assert shifted[2] == 5, "the array of a rank is its own after free"
    return {"said": said}


def left(way: str, _count: int) -> object:
    """A put that finds no array any more is told by the next fence, and by the call that all ranks make together."""
    heap = made(way, (100, 100), "f8")
    heap.barrier()
    if heap.rank == 1:
        with contextlib.suppress(ZeroDivisionError), heap:
            assert until(lambda: heap.local[0, 0])
            raise ZeroDivisionError("on purpose")
        return {}
    said: dict[str, str] = {}
    for name, value, at in (("element", 1.0, (0, 0)), ("column", np.ones(100), np.s_[:, 3])):
        heap.put(value, to=1, at=at)
        while not said.get(name):
            heap.put(value, to=1, at=at)  # without an error here: nobody waits for it
            with contextlib.suppress(AssertionError):
                said[name] = refused(heap.fence, RunError)
    said["get"] = refused(lambda: heap.get(of=1, at=np.s_[:, 1]), RunError)
    begun = heap.put(np.ones((100, 100)), to=1, wait=False)
    assert begun is not None
    with contextlib.suppress(RunError):
        begun.wait()
    said["fence"] = refused(heap.fence, RunError)
    said["free"] = refused(heap.free, RankError)
    return said


def stopped(way: str, count: int) -> object:
    """Nothing ends while rank 1 is stopped, and nothing is missing afterwards."""
    heap = made(way, (count, 1 << 17), "u8")
    data = np.random.default_rng(3).integers(0, 1 << 60, heap.shape).astype("u8")
    heap.local[:] = data + heap.rank
    pids = isoviz.rma.malloc(heap.size, "i8")
    pids.put(os.getpid(), to=0, at=heap.rank)
    heap.barrier()
    pids.barrier()
    if heap.rank == 0:
        os.kill(int(pids.local[1]), signal.SIGSTOP)
        begun = [heap.get(of=1, at=np.s_[::2, ::-1], wait=False), heap.put(data[1::2], to=1, at=np.s_[1::2], wait=False)]
        is_done = [begun[0].done, begun[1].done]
        os.kill(int(pids.local[1]), signal.SIGCONT)
        assert same(begun[0].wait(), (data + 1)[::2, ::-1])
        heap.fence(1)
        assert begun[1].done
    heap.barrier()
    if heap.rank == 1:
        assert same(heap.local[1::2], data[1::2]) and same(heap.local[::2], (data + 1)[::2])
    heap.barrier()
    pids.free()
    heap.free()
    return {"done while stopped": is_done} if heap.rank == 0 else {}


def lost(way: str, count: int) -> object:
    """Rank 1 kills itself when bytes arrive. Rank 0 goes on until it hears of it."""
    folder = sys.argv[4] if len(sys.argv) > 4 else ""
    heap = made(way, (count, 1 << 17), "u8")
    if heap.rank == 1:
        heap.barrier()
        assert until(lambda: heap.local[-1, -1])
        if folder:
            (Path(folder) / "arrived").touch()
            until(lambda: heaps.this_world().transport.lost)
            return {}
        os.kill(os.getpid(), signal.SIGKILL)
    data = np.arange(1, 1 + (1 << 17), dtype="u8")
    word = heap.place(to=1, at=(0, 0))
    assert isinstance(word, Word)
    heap.barrier()
    ends: dict[str, str] = {}

    def until_lost(name: str, call: Callable[[], object]) -> None:
        try:
            while True:
                call()
        except (RankLost, RunError) as error:
            ends[name] = f"{type(error).__name__}: {error}"

    calls: dict[str, Callable[[], object]] = {
        "put": lambda: heap.put(data, to=1, at=count - 1),
        "rows": lambda: heap.put(np.broadcast_to(data[::2], (count, 1 << 16)), to=1, at=np.s_[:, ::2]),
        "element": lambda: heap.put(3, to=1, at=(1, 1)),
        "get": lambda: heap.get(of=1),
        "word": lambda: word.fetch_and_add(1),
        "begun": lambda: heap.put(data, to=1, at=2, wait=False).wait(),  # type: ignore[union-attr]
        "fence": lambda: heap.fence(1),
    }
    threads = [threading.Thread(target=until_lost, args=each) for each in calls.items()]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    ends["later"] = refused(lambda: heap.put(data, to=1, at=0), RankLost)
    with contextlib.suppress(RunError):
        heap.fence()
    ends["barrier"] = refused(heap.barrier, RankLost)
    ends["free"] = refused(heap.free, RankLost)
    return ends


def main() -> None:
    way, task, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
    begin()
    if way == "refused":
        heaps.this_world()
        refuse_access()
    if way == "unmapped" or task == "lost":
        world = World(period=0.1, limit=4.0, mapped=way != "unmapped")
        heaps.this_world = lambda: world
    found = {
        "random": random,
        "words": words,
        "handles": handles,
        "wrong": wrong,
        "lost": lost,
        "stopped": stopped,
        "left": left,
    }[task](way, count)
    world = heaps.this_world()
    tell(world.rank, {"found": found, "hosts": world.hosts})
    if task == "lost":
        os._exit(0)
    if way == "unmapped":
        world.close()


if __name__ == "__main__":
    main()
