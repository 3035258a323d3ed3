"""Which ranks share a host: those that MPI puts together and that can map each other's memory."""

from __future__ import annotations

import contextlib
import mmap
import os
import secrets
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from isoviz.backends.mpi.bells import Bell, SharedBell, are_shared
from isoviz.backends.mpi.fencing import process_of
from isoviz.backends.pages import PAGE

if TYPE_CHECKING:
    from isoviz.backends.mpi.mpi_thread import MpiThread

_SHM = "/dev/shm/"  # noqa: S108
_OF_MPI = ("mpich_", "sm_segment.", "osc_", "vader_segment.")
"""How the names of the files of MPI libraries begin. Other files in /dev/shm may be a user's data."""


class Met(NamedTuple):
    """The name of the host of each rank, and a pidfd of each other rank of this host that the system gives one for."""

    hosts: tuple[str, ...]
    processes: dict[int, int]


def meet(thread: MpiThread) -> Met:
    """Find out which ranks share a host. All ranks call this together.

    MPI knows which ranks can share memory. Containers on one host may still hide processes from each other, so every rank really
    maps a page of every other rank. Groups of ranks that share the name of a host and cannot map each other get numbers. The
    pages become the bells of the ranks.
    """
    return thread.call(lambda: _meet(thread))


def _meet(thread: MpiThread) -> Met:
    mpi = thread.mpi
    world = mpi.COMM_WORLD
    shared = world.Split_type(mpi.COMM_TYPE_SHARED)
    together = set(shared.allgather(world.rank))
    _unname_files_of_mpi(shared)
    shared.Free()
    token = secrets.token_bytes(16)
    descriptor = _page(token)
    try:
        pages = world.allgather((os.getpid(), descriptor, token))
        mapped = {rank: _mapped(*pages[rank]) for rank in sorted(together)}
        processes = {rank: process_of(pages[rank][0]) for rank, page in mapped.items() if page is not None and rank != world.rank}
        seen = {rank for rank, page in mapped.items() if page is not None or rank == world.rank}
        reach = world.allgather((mpi.Get_processor_name(), seen))
    finally:
        if descriptor is not None:
            os.close(descriptor)  # every rank has mapped it: the last exchange came afterwards
    first = [min([at, *(rank for rank in others if at in reach[rank][1])]) for at, (_, others) in enumerate(reach)]
    names = [name for name, _ in reach]
    found = []
    for at, name in enumerate(names):
        groups = sorted({first[other] for other in range(world.size) if names[other] == name})
        found.append(name if len(groups) == 1 else f"{name}#{groups.index(first[at])}")
    near = {rank: page for rank, page in mapped.items() if page is not None and found[rank] == found[world.rank]}
    if are_shared() and world.rank in near:
        bells: dict[int, Bell] = {rank: SharedBell(page) for rank, page in near.items()}
        thread.share_bells(bells.pop(world.rank), bells)
    # Every rank took part in the last exchange, so its process was the one with its number when the pidfds were opened.
    ours = {rank: process for rank, process in processes.items() if process is not None}
    return Met(tuple(found), {rank: process for rank, process in ours.items() if _kept(process, rank in near)})


def _kept(descriptor: int, is_needed: bool) -> bool:
    if not is_needed:
        os.close(descriptor)
    return is_needed


def _unname_files_of_mpi(shared: Any) -> None:
    """Take the names from the files through which MPI joins these ranks, so that none is left if the job is killed.

    A rank maps the file of another one when they first exchange a message. Afterwards nobody needs its name.
    """
    others = [rank for rank in range(shared.size) if rank != shared.rank]
    sent = [shared.isend(None, rank) for rank in others]
    for rank in others:
        shared.recv(source=rank)
    for request in sent:
        request.wait()
    shared.Barrier()
    remove_files_of_mpi()


def remove_files_of_mpi() -> None:
    """Remove what MPI has put into this host's /dev/shm for this job, where the job ends without MPI's own end.

    The ranks of a job share these files. Those that have mapped them keep them, and nobody opens them again.
    """
    with contextlib.suppress(OSError), Path("/proc/self/maps").open(encoding="utf-8", errors="surrogateescape") as file:
        for line in file:
            at = line.find(_SHM)
            name = line[at + len(_SHM) :].rstrip("\n")
            if at > 0 and name.startswith(_OF_MPI) and not name.endswith(" (deleted)"):
                Path(_SHM, name).unlink(missing_ok=True)


def _page(token: bytes) -> int | None:
    """A descriptor of a page of memory that ends with the token; None where the system has no such memory."""
    if not hasattr(os, "memfd_create"):
        return None
    try:
        descriptor = os.memfd_create("isoviz rank", os.MFD_CLOEXEC)
    except OSError:
        return None
    with contextlib.suppress(OSError):
        os.pwrite(descriptor, token, PAGE - len(token))
    return descriptor


def _mapped(process: int, descriptor: int | None, token: bytes) -> mmap.mmap | None:
    """The page of a rank, if it can be mapped and is the right one."""
    if descriptor is None:
        return None
    try:
        mine = os.open(f"/proc/{process}/fd/{descriptor}", os.O_RDWR | os.O_CLOEXEC)
        try:
            page = mmap.mmap(mine, PAGE)
        finally:
            os.close(mine)
    except (OSError, ValueError):
        return None
    return page if page[-len(token) :] == token else None
