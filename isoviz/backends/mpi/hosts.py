"""Which ranks share a host: those that MPI puts together and that can map each other's memory."""

from __future__ import annotations

import contextlib
import mmap
import os
import secrets
from typing import TYPE_CHECKING, Any

from isoviz.backends.pages import PAGE

if TYPE_CHECKING:
    from isoviz.backends.mpi.mpi_thread import MpiThread


def hosts(thread: MpiThread) -> tuple[str, ...]:
    """The name of the host of each rank. All ranks call this together.

    MPI knows which ranks can share memory. Containers on one host may still hide processes from each other, so that every rank
    really maps a page of every other rank. Groups of ranks that share the name of a host and cannot map each other get numbers.
    """
    return thread.call(lambda: _hosts(thread.mpi))


def _hosts(mpi: Any) -> tuple[str, ...]:
    world = mpi.COMM_WORLD
    shared = world.Split_type(mpi.COMM_TYPE_SHARED)
    together = set(shared.allgather(world.rank))
    shared.Free()
    token = secrets.token_bytes(16)
    descriptor = _page(token)
    try:
        pages = world.allgather((os.getpid(), descriptor, token))
        seen = {rank for rank in together if rank == world.rank or _can_map(*pages[rank])}
        reach = world.allgather((mpi.Get_processor_name(), seen))
    finally:
        if descriptor is not None:
            os.close(descriptor)  # every rank has finished: the last exchange came after its mapping
    first = [
        min(rank for rank in range(world.size) if rank in seen and at in reach[rank][1]) for at, (_, seen) in enumerate(reach)
    ]
    names = [name for name, _ in reach]
    found = []
    for at, name in enumerate(names):
        groups = sorted({first[other] for other in range(world.size) if names[other] == name})
        found.append(name if len(groups) == 1 else f"{name}#{groups.index(first[at])}")
    return tuple(found)


def _page(token: bytes) -> int | None:
    """A descriptor of a page of memory that begins with the token; None where the system has no such memory."""
    if not hasattr(os, "memfd_create"):
        return None
    try:
        descriptor = os.memfd_create("isoviz host", os.MFD_CLOEXEC)
    except OSError:
        return None
    with contextlib.suppress(OSError):
        os.pwrite(descriptor, token.ljust(PAGE, b"\0"), 0)
    return descriptor


def _can_map(process: int, descriptor: int | None, token: bytes) -> bool:
    """Whether the page of another rank can be mapped and is the right one."""
    if descriptor is None:
        return False
    try:
        mine = os.open(f"/proc/{process}/fd/{descriptor}", os.O_RDWR | os.O_CLOEXEC)
        try:
            with mmap.mmap(mine, PAGE) as page:
                return page[: len(token)] == token
        finally:
            os.close(mine)
    except (OSError, ValueError):
        return False
