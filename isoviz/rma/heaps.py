"""`isoviz.rma.malloc` and `isoviz.rma.share`."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from isoviz.backends.host.host_memory import HostStore
from isoviz.errors import ForkedError, InputError, IsovizError, RankError, RunError, in_words, show
from isoviz.forks import in_child
from isoviz.launch.this_rank import this_world
from isoviz.layouts.given_arrays import Array
from isoviz.rma.heap import Heap
from isoviz.rma.together import Together

if TYPE_CHECKING:
    from isoviz.backends.mpi.world import World

MOST_AXES = 32
_of_worlds: weakref.WeakKeyDictionary[World, Together] = weakref.WeakKeyDictionary()


def malloc(shape: int | tuple[int, ...], dtype: Any = "f8", *, words: str = "processor") -> Heap:
    """An array of zeros of this shape on every rank, to which every rank has access. All ranks call it together.

    `dtype` is a type of plain data, also of structs. `words` says what changes words atomically for ranks of the same host: the
    "processor" of the caller, or the "server" of the rank that has the word. Ranks of other hosts always ask the server. It uses
    the same processor instructions, so no change is lost if both change a word. In a program, `mpiexec` or `srun` has started the
    ranks; without them this process is the only rank. In a notebook, call it in a function that `ranks.call` runs.

    Raises:
        InputError: `shape` or `dtype` is not of this kind.
        RankError: the ranks ask for different heaps, or a rank has no room. RankLost: a rank is lost.
        RunError: this rank has no room. MissingPartError: mpi4py is not installed.
    """
    extents, kind = _shape(shape), _kind("malloc", dtype)
    _check_words("malloc", words)
    return _heap(f"malloc({extents}, {_in_full(kind)}, words={words!r})", lambda world: world.array(extents, kind), words)


def share(array: Any, *, words: str = "processor") -> Heap:
    """A heap of existing arrays: each rank gives its own array. All ranks call it together.

    The arrays have one shape and type, and are contiguous in C order. `words` is as in `malloc`. An array in a window of its rank
    (`world.array`, `heap.local`) is mapped by the ranks of its host, like an array of `malloc`. Other memory is not mapped.
    Between ranks of one host, the system then moves long runs. Short runs, and everything between hosts, go through pieces of
    registered memory, which are made at their first use and kept. `Heap.way` says which way is used. The server changes the words
    of such memory. `free` leaves the arrays as they are.

    Raises:
        InputError: `array` is not such an array.
        RankError: the ranks give different arrays, or a rank gives a wrong one. RankLost: a rank is lost.
        MissingPartError: mpi4py is not installed.
    """
    _check_words("share", words)
    return _heap(f"share(words={words!r})", lambda _: _shared(array), words)


def _heap(call: str, make: Callable[[World], Array], words: str) -> Heap:
    """The heap of the arrays that the ranks make."""
    world = this_world()
    together = _of_worlds.get(world)
    if together is None:
        together = _of_worlds[world] = Together(world)
    failed: IsovizError | None = None
    handle, like = None, ""
    try:
        local = make(world)
        like = f"{local.shape} of {_in_full(local.dtype)}"
        handle = world.stores.export(HostStore(local.reshape(-1).view(np.uint8)))
    except IsovizError as error:
        failed = error
    except Exception as error:  # noqa: BLE001  # the other ranks wait for a word
        failed = RunError(f"no memory for the heap: {in_words(error)}")
    try:
        told = together.meet((together.next, handle if failed is None else in_words(failed), like), call)
        if failed is not None:
            raise failed
        for rank, (_, each, other) in enumerate(told):
            if isinstance(each, str):
                raise RankError(f"rank {rank} has no memory for the heap: {each}", rank=rank)
            if other != like:
                raise RankError(f"the ranks give different arrays: {like} here, {other} on rank {rank}", rank=rank)
    except BaseException:
        if handle is not None:
            world.stores.withdraw(handle)
        raise
    number = max(each for each, _, _ in told)
    heap = Heap(world, together, number, local, [each for _, each, _ in told], words)
    together.add(number, heap)
    return heap


def _shared(array: Any) -> Array:
    """An array that can be shared."""
    if type(array) is not np.ndarray:
        raise InputError(f"share: expected an array of NumPy in host memory, got {show(array)}")
    if not array.flags.c_contiguous or not array.flags.writeable:
        got = f"strides of {array.strides} bytes" + ("" if array.flags.writeable else ", not to be written to")
        raise InputError(f"share: expected an array to write to, contiguous in the order of C, got {got}")
    _kind("share", array.dtype)
    return array


def _check_words(call: str, words: object) -> None:
    if words not in ("processor", "server"):
        raise InputError(f"{call}: words: expected 'processor' or 'server', got {show(words)}")


def _shape(shape: Any) -> tuple[int, ...]:
    extents = shape if isinstance(shape, tuple | list) else (shape,)
    for extent in extents:
        if isinstance(extent, bool) or not isinstance(extent, int | np.integer) or extent < 0:
            raise InputError(f"malloc: shape: expected whole numbers from 0, got {show(extent)}")
    if len(extents) > MOST_AXES:
        raise InputError(f"malloc: shape: expected {MOST_AXES} axes at most, got {len(extents)}")
    return tuple(int(extent) for extent in extents)


def _kind(call: str, dtype: Any) -> np.dtype[Any]:
    try:
        kind: np.dtype[Any] = np.dtype(dtype)
    except (TypeError, ValueError, SyntaxError):
        raise InputError(f"{call}: dtype: expected a type of NumPy, such as 'f8', got {show(dtype)}") from None
    if kind.hasobject or kind.subdtype is not None or not kind.itemsize:
        raise InputError(f"{call}: dtype: expected a type of plain data, got {kind}")
    return kind


def _in_full(kind: np.dtype[Any]) -> str:
    """A type with its fields: structs of one size differ."""
    return repr(kind.str if kind.names is None else kind.descr)


def _forked() -> None:
    for together in list(_of_worlds.values()):
        together.forget(ForkedError("this heap belongs to the process that this one was forked from"))


in_child(_forked)
