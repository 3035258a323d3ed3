"""`isoviz.rma.malloc`, and what all heaps of a world have in common."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

import numpy as np

from isoviz.backends.host.host_memory import HostStore
from isoviz.errors import ForkedError, InputError, IsovizError, RankError, in_words, show
from isoviz.forks import in_child
from isoviz.launch.rank_session import rank_session
from isoviz.launch.this_rank import current_rank
from isoviz.rma.heap import Heap, together
from isoviz.runtime.ranks.post import lost_rank

if TYPE_CHECKING:
    from isoviz.backends.mpi.world import World

_heaps: weakref.WeakSet[Heap] = weakref.WeakSet()


class Heaps:
    """The heaps of a world, by their numbers, which all ranks count alike."""

    def __init__(self, world: World) -> None:
        self._count = 0
        self._world = weakref.ref(world)
        world.transport.when_lost(self._lost)

    def next(self) -> int:
        """The number of the next heap."""
        self._count += 1
        return self._count

    def _lost(self, rank: int, reason: str) -> None:
        for heap in list(_heaps):
            if heap.belongs_to(self._world()):
                heap.lose(rank, lost_rank(rank, reason))


_of_worlds: weakref.WeakKeyDictionary[World, Heaps] = weakref.WeakKeyDictionary()


def malloc(shape: int | tuple[int, ...], dtype: Any = "f8") -> Heap:
    """An array of zeros of this shape on every rank, to which every rank has access. All ranks call it together.

    `dtype` is a type of plain data, also of structs. In a program, `mpiexec` or `srun` has started the ranks; without them this
    process is the only rank. In a notebook, call it in a function that `ranks.call` runs.

    Raises:
        InputError: it is no shape, or no such type.
        RankError: the ranks ask for different heaps, or a rank has no room. RankLost: a rank is lost.
        RunError: this rank has no room. MissingPartError: mpi4py is not installed.
    """
    extents, kind = _shape(shape), _kind(dtype)
    world = _world()
    heaps = _of_worlds.get(world)
    if heaps is None:
        heaps = _of_worlds[world] = Heaps(world)
    number = heaps.next()
    failed: IsovizError | None = None
    handle = None
    try:
        local = world.array(extents, kind)
        handle = world.stores.export(HostStore(local.reshape(-1).view(np.uint8)))
    except IsovizError as error:
        failed = error
    told = together(world, handle if failed is None else in_words(failed), f"malloc({extents}, {kind.str!r})")
    if failed is not None:
        raise failed
    for rank, each in enumerate(told):
        if isinstance(each, str):
            raise RankError(f"rank {rank} has no memory for the heap: {each}", rank=rank)
    heap = Heap(world, number, local, told)
    _heaps.add(heap)
    return heap


def _world() -> World:
    here = current_rank()
    return rank_session().world if here is None else here.station.world()


def _shape(shape: Any) -> tuple[int, ...]:
    extents = shape if isinstance(shape, tuple | list) else (shape,)
    for extent in extents:
        if isinstance(extent, bool) or not isinstance(extent, int | np.integer) or extent < 0:
            raise InputError(f"malloc: shape: expected whole numbers from 0, got {show(extent)}")
    return tuple(int(extent) for extent in extents)


def _kind(dtype: Any) -> np.dtype[Any]:
    try:
        kind: np.dtype[Any] = np.dtype(dtype)
    except (TypeError, ValueError):
        raise InputError(f"malloc: dtype: expected a type of NumPy, such as 'f8', got {show(dtype)}") from None
    if kind.hasobject or not kind.itemsize:
        raise InputError(f"malloc: dtype: expected a type of plain data, got {kind}")
    return kind


def _forked() -> None:
    for heap in list(_heaps):
        heap.end(ForkedError("this heap belongs to the process that this one was forked from"))


in_child(_forked)
