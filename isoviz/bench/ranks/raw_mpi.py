"""What a program with mpi4py does itself, as ways of the benchmark."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from isoviz.bench.ranks.here import empty

if TYPE_CHECKING:
    from isoviz.bench.ranks.here import Here, Way


def sent(here: Here, source: Any, destination: Any, types: tuple[Any, Any] = (None, None)) -> Way:
    """Send at rank 0, Recv at rank 1. `types` are derived datatypes for either end; None: contiguous bytes."""
    byte = here.mpi.BYTE
    there = [source, byte] if types[0] is None else [source, 1, types[0]]
    into = [destination, byte] if types[1] is None else [destination, 1, types[1]]

    def work() -> bool:
        if here.rank == 0:
            here.comm.Send(there, 1)
        else:
            here.comm.Recv(into, 0)
        return here.rank == 0

    return here.raw(work)


def packed(here: Here, pack: Callable[[], Any], between: Any, unpack: Callable[[Any], None] | None = None) -> Way:
    """NumPy packs at rank 0, Send, Recv at rank 1, where NumPy unpacks. `between` is the contiguous array of rank 1."""
    byte = here.mpi.BYTE

    def work() -> bool:
        if here.rank == 0:
            here.comm.Send([pack(), byte], 1)
        else:
            here.comm.Recv([between, byte], 0)
            if unpack is not None:
                unpack(between)
        return here.rank == 0

    return here.raw(work)


@contextmanager
def put(here: Here, nbytes: int) -> Iterator[Way]:
    """MPI Put between memory that MPI has allocated as windows, Flush, and an empty message that tells rank 1."""
    mpi = here.mpi

    def made() -> tuple[Any, Any]:
        window = mpi.Win.Allocate(nbytes, 1, comm=here.comm)
        array = np.frombuffer(window.tomemory(), np.uint8)
        array[:] = 1
        window.Lock_all()
        return window, array

    window, array = here.world.thread.call(made)

    def work() -> bool:
        if here.rank == 0:
            window.Put([array, mpi.BYTE], 1)
            window.Flush(1)
            here.comm.Send([empty(), mpi.BYTE], 1)
        else:
            here.comm.Recv([empty(), mpi.BYTE], 0)
            window.Sync()
        return here.rank == 0

    def ended() -> None:
        window.Unlock_all()
        window.Free()

    yield here.raw(work)
    here.world.thread.call(ended)


@contextmanager
def datatype(here: Here, make: Callable[[Any], Any]) -> Iterator[Any]:
    """A committed datatype, made by `make(mpi)` in the thread that calls MPI."""
    found = here.world.thread.call(lambda: make(here.mpi).Commit())
    yield found
    here.world.thread.call(found.Free)
