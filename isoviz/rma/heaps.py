"""`isoviz.rma.malloc`."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

import numpy as np

from isoviz.backends.host.host_memory import HostStore
from isoviz.errors import ForkedError, InputError, IsovizError, RankError, RunError, in_words, show
from isoviz.forks import in_child
from isoviz.launch.rank_session import rank_session
from isoviz.launch.this_rank import current_rank
from isoviz.rma.heap import Heap
from isoviz.rma.together import Together

if TYPE_CHECKING:
    from isoviz.backends.mpi.world import World

MOST_AXES = 32
_of_worlds: weakref.WeakKeyDictionary[World, Together] = weakref.WeakKeyDictionary()


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
    together = _of_worlds.get(world)
    if together is None:
        together = _of_worlds[world] = Together(world)
    failed: IsovizError | None = None
    handle = None
    try:
        local = world.array(extents, kind)
        handle = world.stores.export(HostStore(local.reshape(-1).view(np.uint8)))
    except IsovizError as error:
        failed = error
    except Exception as error:  # noqa: BLE001  # the other ranks wait for a word
        failed = RunError(f"no memory for the heap: {in_words(error)}")
    try:
        tells = together.next, handle if failed is None else in_words(failed)
        told = together.meet(tells, f"malloc({extents}, {_in_full(kind)})")
        if failed is not None:
            raise failed
        for rank, (_, each) in enumerate(told):
            if isinstance(each, str):
                raise RankError(f"rank {rank} has no memory for the heap: {each}", rank=rank)
    except BaseException:
        if handle is not None:
            world.stores.withdraw(handle)
        raise
    number = max(each for each, _ in told)
    heap = Heap(world, together, number, local, [each for _, each in told])
    together.add(number, heap)
    return heap


def _world() -> World:
    here = current_rank()
    return rank_session().world if here is None else here.station.world()


def _shape(shape: Any) -> tuple[int, ...]:
    extents = shape if isinstance(shape, tuple | list) else (shape,)
    for extent in extents:
        if isinstance(extent, bool) or not isinstance(extent, int | np.integer) or extent < 0:
            raise InputError(f"malloc: shape: expected whole numbers from 0, got {show(extent)}")
    if len(extents) > MOST_AXES:
        raise InputError(f"malloc: shape: expected {MOST_AXES} axes at most, got {len(extents)}")
    return tuple(int(extent) for extent in extents)


def _kind(dtype: Any) -> np.dtype[Any]:
    try:
        kind: np.dtype[Any] = np.dtype(dtype)
    except (TypeError, ValueError, SyntaxError):
        raise InputError(f"malloc: dtype: expected a type of NumPy, such as 'f8', got {show(dtype)}") from None
    if kind.hasobject or kind.subdtype is not None or not kind.itemsize:
        raise InputError(f"malloc: dtype: expected a type of plain data, got {kind}")
    return kind


def _in_full(kind: np.dtype[Any]) -> str:
    """A type with its fields: structs of one size differ."""
    return repr(kind.str if kind.names is None else kind.descr)


def _forked() -> None:
    for together in list(_of_worlds.values()):
        together.forget(ForkedError("this heap belongs to the process that this one was forked from"))


in_child(_forked)
