"""A rank that puts and gets at random: `random_calls.py SEED CASES`.

All ranks draw the same calls, so each knows what every array has to be. That is compared with NumPy's copy, and without lists
with what MPI packs and unpacks by a derived datatype.
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from functools import partial
from typing import Any

import numpy as np
from given.rank_program import begin, tell
from mpi4py import MPI

import isoviz

Array = np.ndarray[Any, Any]
KINDS = [
    np.dtype(each)
    for each in (
        "u1",
        "?",
        "i2",
        ">i4",
        "u4",
        "f4",
        "f8",
        ">f8",
        "i8",
        "c16",
        "S3",
        "U2",
        "V12",
        "M8[s]",
        "f4,u1",
        ">i2,f8,S5",
        "f2",
    )
]
KINDS.append(np.dtype({"names": ["a", "b"], "formats": ["u1", "f8"], "offsets": [3, 8], "itemsize": 24}))
LARGEST = (1, 1 << 8, 1 << 12, 1 << 16, 1 << 20, 6 << 20)
"""Bytes of an array, about: NumPy copies the small ones, and kernels the large ones, also past the caches."""


def elements(rng: np.random.Generator, shape: tuple[int, ...], kind: np.dtype[Any]) -> Array:
    """Random elements. Bytes of padding are 0, since elements have none."""
    count = int(np.prod(shape))
    found = np.zeros(count, kind)
    if kind.names is not None:
        for name in kind.names:
            found[name] = elements(rng, (count,), kind[name])
    elif kind.kind in "bU":
        found[:] = rng.integers(0, 2, count)
    else:
        found[:] = rng.integers(0, 100, count * kind.itemsize, np.uint8).view(kind)
    return found.reshape(shape)


def bits(array: Any) -> bytes:
    """The bytes of the elements, without padding of structs."""
    array = np.asarray(array)
    if array.dtype.names is not None:
        return b"".join(bits(array[name]) for name in array.dtype.names)
    return array.tobytes()


class Case:
    """A heap's shape and type, and calls with places in it. All ranks make the same one."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.kind = rng.choice(KINDS)
        count = max(1, rng.choice(LARGEST) // self.kind.itemsize)
        axes, extents = rng.randint(0, 4), []
        for _ in range(axes):
            extent = rng.choice((1, 2, 3, 7, 16, 64, 500, count))
            extents.append(max(0 if rng.random() < 0.03 else 1, min(extent, count)))
            count = max(1, count // max(1, extents[-1]))
        rng.shuffle(extents)
        self.shape = tuple(extents)

    def at(self) -> Any:
        """An index that names no element twice."""
        if self.rng.random() < 0.1:
            return ()
        items: list[Any] = []
        for extent in self.shape:
            way = self.rng.choice(("number", "slice", "slice", "slice", "all", "list", "mask", "end"))
            if way == "end":
                break
            if extent == 0 or way == "all":
                items.append(slice(None))
            elif way == "number":
                items.append(self.rng.choice((int, np.int64))(self.rng.randrange(-extent, extent)))
            elif way == "slice":
                items.append(self._slice(extent))
            elif way == "list":
                if any(isinstance(each, list | np.ndarray) for each in items):
                    items.append(slice(None))  # lists beside each other are pairs
                else:
                    chosen = self.rng.sample(range(extent), self.rng.randint(0, min(extent, 2000)))
                    items.append(self._listed([each - extent * self.rng.randint(0, 1) for each in chosen]))
            elif any(isinstance(each, list | np.ndarray) for each in items):
                items.append(...)
                break
            else:
                share = self.rng.random()
                items.append(np.array([self.rng.random() < share for _ in range(extent)]))
        if items and self.rng.random() < 0.1 and not any(each is ... for each in items):
            items.append(...)
        return items[0] if len(items) == 1 and self.rng.random() < 0.5 else tuple(items)

    def _listed(self, chosen: list[int]) -> Any:
        return chosen if self.rng.random() < 0.5 else np.array(chosen, np.intp)

    def _slice(self, extent: int) -> slice:
        low, high = sorted((self.rng.randint(0, extent), self.rng.randint(0, extent)))
        step = self.rng.choice((1, 1, 2, 3, 17))
        if self.rng.random() < 0.3 and high > low:
            return slice(high - 1, low - 1 if low else None, -step)
        return slice(low - extent if low < extent and self.rng.random() < 0.2 else low, high, step if step > 1 else None)

    def source(self, shape: tuple[int, ...], seed: int) -> tuple[Array, Array]:
        """An array for a put, and the bytes that it lies in: in any order of its axes, with steps, backwards, or smaller."""
        rng, axes = np.random.default_rng(seed), list(range(len(shape)))
        if self.rng.random() < 0.15:
            smaller = [1 if self.rng.random() < 0.5 else extent for extent in shape][self.rng.randint(0, len(shape)) :]
            found = elements(rng, tuple(smaller), self.kind)
            return found, found.reshape(-1).view(np.uint8)
        order = self.rng.choice((axes, axes[::-1], self.rng.sample(axes, len(axes))))
        steps = [self.rng.choice((1, 1, 1, 2, -1, -3)) for _ in shape]
        room = np.zeros([shape[axis] * abs(steps[axis]) for axis in order], self.kind)
        steady = room.transpose(np.argsort(order))[(*(slice(None, None, step) for step in steps), ...)]
        found = steady[(*(slice(extent) for extent in shape), ...)]
        found[...] = elements(rng, shape, self.kind)
        return found, room.reshape(-1).view(np.uint8)


def datatype(array: Array, room: Array) -> MPI.Datatype:
    """The elements of an array in the bytes that it lies in, in the order of its axes."""
    made = [MPI.BYTE.Create_contiguous(array.itemsize)]
    for extent, stride in zip(reversed(array.shape), reversed(array.strides), strict=True):
        if stride < 0:  # Open MPI takes a vector that goes backwards without gaps for one that goes forwards
            made.append(made[-1].Create_hindexed_block(1, [stride * turn for turn in range(extent)]))
        else:
            made.append(made[-1].Create_hvector(extent, 1, stride))
    start = array.__array_interface__["data"][0] - room.__array_interface__["data"][0]
    made.append(made[-1].Create_hindexed_block(1, [start if array.size else 0]))
    found = made[-1].Create_resized(0, room.nbytes)
    for each in made:
        each.Free()
    return found.Commit()


def packed(array: Array, room: Array) -> Array:
    """The elements as MPI packs them."""
    kind = datatype(array, room)
    found = np.zeros(max(1, kind.Pack_size(1, MPI.COMM_SELF)), np.uint8)
    end = kind.Pack(room, found, 0, MPI.COMM_SELF)
    kind.Free()
    assert end == array.size * array.itemsize
    return found[:end]


def unpack(data: Array, array: Array, room: Array) -> None:
    """Let MPI write packed elements into an array."""
    kind = datatype(array, room)
    kind.Unpack(data, 0, room, MPI.COMM_SELF)
    kind.Free()


def view_of(array: Array, at: Any) -> Array:
    """What an index without lists names, also one element, as a view."""
    items = at if isinstance(at, tuple) else (at,)
    return array[items if any(each is ... for each in items) else (*items, ...)]


def has_lists(at: Any) -> bool:
    return any(isinstance(each, list | np.ndarray) for each in (at if isinstance(at, tuple) else (at,)))


class Turn:
    """One put and one get of a heap, drawn alike on all ranks."""

    def __init__(self, case: Case, size: int, number: int) -> None:
        rng = case.rng
        self.case, self.at = case, case.at()
        self.writer, self.target, self.reader = (rng.randrange(size) for _ in range(3))
        self.shape = np.shape(np.zeros(case.shape, np.uint8)[self.at])
        self.source, self.room = case.source(self.shape, number)
        self.into, self.into_room = case.source(self.shape, number + 1)
        self.is_kept, self.waits = rng.random() < 0.4, rng.random() < 0.7
        self.words = f"turn {number}: {case.kind} {case.shape} at {self.at} from {self.source.shape} {self.source.strides}"

    def put(self, heap: isoviz.rma.Heap) -> None:
        if self.is_kept:
            place = heap.place(to=self.target, at=self.at)
            assert place.shape == self.shape and place.dtype == self.case.kind and place.rank == self.target
            kept, right = self.source, self.source.copy()
            kept[...] = np.zeros((), kept.dtype)
            place.put(kept)
            kept[...] = right  # the same array with other contents
            place.put(kept)
        elif self.waits:
            heap.put(self.source, to=self.target, at=self.at)
        else:
            handle = heap.put(self.source, to=self.target, at=self.at, wait=False)
            assert handle is not None and handle.wait(100) is None and handle.done
        heap.fence(self.target)

    def get(self, heap: isoviz.rma.Heap) -> list[Any]:
        """What is there: as a new array, and in one that is given if it has the shape."""
        suits = self.into.shape == self.shape
        if suits:
            self.into[...] = np.zeros((), self.into.dtype)
        into = [self.into] * 2 if suits else []
        if self.is_kept:
            place = heap.place(to=self.target, at=self.at)
            return [place.get(), *(place.get(each) for each in into)]
        if self.waits:
            return [heap.get(of=self.target, at=self.at, into=each) for each in (None, *into)]
        handles = [heap.get(of=self.target, at=self.at, into=each, wait=False) for each in (None, *into[:1])]
        return [handle.wait(100) for handle in reversed(handles)]


def one(seed: str, number: int, seen: Counter[str]) -> None:
    """A heap with calls of all ranks. `known` is what this rank knows of every rank's array, by a naive copy."""
    case = Case(random.Random(f"{seed} {number}"))
    with isoviz.rma.malloc(case.shape, case.kind) as heap:
        thread = heap._world.thread  # MPI is for this thread
        assert not np.count_nonzero(heap.local.reshape(-1).view(np.uint8))
        known = [elements(np.random.default_rng([number, rank]), case.shape, case.kind) for rank in range(heap.size)]
        heap.local[...] = known[heap.rank]
        heap.barrier()
        for count in range(2):
            turn = Turn(case, heap.size, 100 * number + 10 * count)
            naive = known[turn.target]
            naive[turn.at] = turn.source
            if heap.rank == turn.writer:
                turn.put(heap)
            heap.barrier()
            with_mpi = not has_lists(turn.at) and 0 not in (naive.size, *turn.shape)
            if heap.rank == turn.target:
                assert bits(heap.local) == bits(naive), turn.words
                seen["puts"] += 1
                if with_mpi:  # MPI packs the source, and writes it to where NumPy sees the elements
                    other = heap.local.copy()
                    view, room = view_of(other, turn.at), other.reshape(-1).view(np.uint8)
                    view[...] = np.zeros((), case.kind)
                    full = np.broadcast_to(turn.source, turn.shape)
                    theirs = thread.call(partial(packed, full, turn.room))
                    thread.call(partial(unpack, theirs, view, room))
                    assert bits(other) == bits(heap.local), f"MPI: {turn.words}"
                    seen["puts equal to MPI's"] += 1
            if heap.rank == turn.reader:
                expected = np.asarray(naive[turn.at], case.kind)
                for each in turn.get(heap):
                    found = np.asarray(each, case.kind)
                    assert found.shape == turn.shape and bits(found) == bits(expected), turn.words
                    seen["gets"] += 1
                    if with_mpi:
                        view, room = view_of(naive, turn.at), naive.reshape(-1).view(np.uint8)
                        theirs = thread.call(partial(packed, view, room))
                        assert bits(theirs.view(case.kind)) == bits(found), f"MPI: {turn.words}"
                        seen["gets equal to MPI's"] += 1
            assert bits(heap.local) == bits(known[heap.rank]), turn.words
            heap.barrier()
        seen["MiB"] += sum(each.nbytes for each in known) / (1 << 20)
        told = heap._world.meeting.gather(None)
        assert told == [None] * heap.size


def main() -> None:
    begin()
    seed, cases = sys.argv[1], int(sys.argv[2])
    seen: Counter[str] = Counter()
    for number in range(cases):
        one(seed, number, seen)
    with isoviz.rma.malloc(0) as last:
        every = last._world.meeting.gather(dict(seen))
        tell(last.rank, {name: round(sum(each.get(name, 0) for each in every)) for name in every[0]})


if __name__ == "__main__":
    main()
