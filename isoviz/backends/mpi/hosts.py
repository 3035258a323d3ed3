"""Which ranks share a host: those that MPI puts together and that can map each other's memory."""

from __future__ import annotations

import contextlib
import itertools
import mmap
import os
import secrets
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from isoviz.backends.mpi.fencing import process_of
from isoviz.backends.mpi.other_process import allow_tracing, check_reach
from isoviz.backends.mpi.thread.bells import SharedBell, are_shared
from isoviz.backends.mpi.thread.rings import ROOM
from isoviz.backends.mpi.thread.slots import SLOT, Slots
from isoviz.backends.pages import PAGE
from isoviz.errors import RunError

if TYPE_CHECKING:
    from isoviz.backends.mpi.thread.mpi_thread import MpiThread

_SHM = "/dev/shm/"  # noqa: S108
_USES = 2
"""The slots of each rank: those of its engine, and those of its redistributions."""
_OF_MPI = ("mpich_", "sm_segment.", "osc_", "vader_segment.")
"""How the names of the files of MPI libraries begin. Other files in /dev/shm may be a user's data."""


class Met(NamedTuple):
    """What ranks find out about each other.

    - `hosts`: the name of the host of each rank.
    - `processes`: a pidfd of each other rank of this host that the system gives one for.
    - `refusals`: for two ranks of one host, why the first one does not write to memory of the second one by its address. It has
      those alone that do not.
    - `slots`: where all ranks tell each other small values; none if they do not all map each other's memory.
    """

    hosts: tuple[str, ...]
    processes: dict[int, int]
    refusals: dict[tuple[int, int], str]
    slots: tuple[Slots, ...]


def meet(thread: MpiThread, *, mapped: bool = True) -> Met:
    """Find out which ranks share a host. All ranks call this together.

    MPI knows which ranks can share memory. Containers on one host may still hide processes from each other, so every rank really
    maps a page of every other rank. Groups of ranks that share the name of a host and cannot map each other get numbers. The
    pages become the bells of the ranks, and the memory behind them their rings, unless they are not to be `mapped`.
    """
    return thread.call(lambda: _meet(thread, mapped=mapped))


def _meet(thread: MpiThread, *, mapped: bool) -> Met:
    mpi = thread.mpi
    world = mpi.COMM_WORLD
    shared = world.Split_type(mpi.COMM_TYPE_SHARED)
    together = set(shared.allgather(world.rank))
    _unname_files_of_mpi(shared)
    shared.Free()
    token = secrets.token_bytes(16)
    proof = np.frombuffer(token, np.uint8)
    allow_tracing()
    descriptor = _memory(token, world.size)
    rings: dict[int, mmap.mmap] = {}
    try:
        pages = world.allgather((os.getpid(), descriptor, token, int(proof.ctypes.data)))
        maps = {rank: _mapped(pages[rank], world.rank) for rank in sorted(together)}
        slots = _slots(pages[0], world.rank, world.size) if mapped and are_shared() and maps.get(0) is not None else ()
        processes = {rank: process_of(pages[rank][0]) for rank, found in maps.items() if found is not None and rank != world.rank}
        seen = {rank for rank, found in maps.items() if found is not None or rank == world.rank}
        refused = {rank: words for rank in sorted(seen - {world.rank}) if (words := _refusal(pages[rank]))}
        ended = {rank for rank, process in processes.items() if process is not None}
        reach = world.allgather((mpi.Get_processor_name(), seen, refused, ended, bool(slots)))
        if descriptor is not None and maps.get(world.rank) is not None:
            rings = {rank: _ring(descriptor, rank) for rank in sorted(seen) if rank != world.rank}
    finally:
        if descriptor is not None:
            os.close(descriptor)  # every rank has mapped it: the last exchange came afterwards
    first = [min([at, *(rank for rank in others if at in reach[rank][1])]) for at, (_, others, *_) in enumerate(reach)]
    names = [each[0] for each in reach]
    found = []
    for at, name in enumerate(names):
        groups = sorted({first[other] for other in range(world.size) if names[other] == name})
        found.append(name if len(groups) == 1 else f"{name}#{groups.index(first[at])}")
    near = {rank: each for rank, each in maps.items() if each is not None and found[rank] == found[world.rank]}
    if are_shared() and world.rank in near:
        bells = {rank: SharedBell(page) for rank, (page, _) in near.items()}
        own = bells.pop(world.rank)
        outbound = {rank: ring for rank, (_, ring) in near.items() if rank != world.rank and mapped}
        thread.share_memory(own, bells, {rank: rings[rank] for rank in outbound}, outbound)
    # Every rank took part in the last exchange, so its process was the one with its number when the pidfds were opened.
    ours = {rank: process for rank, process in processes.items() if process is not None}
    refusals = {
        (here, there): words
        for here, there in itertools.permutations(range(world.size), 2)
        if found[here] == found[there] and (words := _refusal_between(here, there, reach))
    }
    processes_here = {rank: process for rank, process in ours.items() if _kept(process, rank in near)}
    is_shared = len(set(found)) == 1 and all(has_slots for *_, has_slots in reach)
    return Met(tuple(found), processes_here, refusals, slots if is_shared else ())


def _refusal(told: tuple[int, int | None, bytes, int]) -> str:
    """Why this process cannot reach the memory of another rank by its address; empty if it can. `told` is as in `_mapped`."""
    process, _, token, address = told
    try:
        return "" if check_reach(process, address, len(token)) == token else f"process {process} is another one here"
    except RunError as error:
        return str(error)


def _refusal_between(here: int, there: int, reach: Sequence[tuple[str, set[int], dict[int, str], set[int], bool]]) -> str:
    """Why rank `here` does not write to memory of rank `there` of the same host by its address; empty if it does."""
    if here not in reach[there][3]:
        return f"rank {there} could not end rank {here} if that were lost"
    return reach[here][2].get(there, "")


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


def _memory(token: bytes, size: int) -> int | None:
    """A descriptor of memory of this rank; None where the system has no such memory.

    It has a page that ends with the token, a ring from each of `size` ranks, and slots, which are used on rank 0.
    """
    if not hasattr(os, "memfd_create"):
        return None
    try:
        descriptor = os.memfd_create("isoviz rank", os.MFD_CLOEXEC)
    except OSError:
        return None
    with contextlib.suppress(OSError):
        os.truncate(descriptor, PAGE + size * ROOM + _USES * size * SLOT)
        os.pwrite(descriptor, token, PAGE - len(token))
    return descriptor


def _ring(descriptor: int, writer: int) -> mmap.mmap:
    """The ring that a rank writes, in memory of its reader."""
    return mmap.mmap(descriptor, ROOM, offset=PAGE + writer * ROOM)


def _mapped(told: tuple[int, int | None, bytes, int], writer: int) -> tuple[mmap.mmap, mmap.mmap] | None:
    """The page of a rank, and its ring for messages of rank `writer`, if they can be mapped and are the right ones.

    `told`: its process, the descriptor of its memory there, the token at the end of the page, and the address of another token.
    """
    token = told[2]
    try:
        with _opened(told) as memory:
            page, ring = mmap.mmap(memory, PAGE), _ring(memory, writer)
    except (OSError, ValueError):
        return None
    return (page, ring) if page[-len(token) :] == token else None


def _slots(told: tuple[int, int | None, bytes, int], rank: int, size: int) -> tuple[Slots, ...]:
    """The slots in memory of rank 0; none if it cannot be mapped."""
    try:
        with _opened(told) as memory:
            found = mmap.mmap(memory, _USES * size * SLOT, offset=PAGE + size * ROOM)
    except (OSError, ValueError):
        return ()
    return Slots.of(np.frombuffer(found, np.uint8), rank, size)


@contextlib.contextmanager
def _opened(told: tuple[int, int | None, bytes, int]) -> Iterator[int]:
    """The memory of a rank.

    Raises:
        OSError: it cannot be opened.
    """
    process, descriptor, *_ = told
    mine = os.open(f"/proc/{process}/fd/{descriptor}", os.O_RDWR | os.O_CLOEXEC)
    try:
        yield mine
    finally:
        os.close(mine)
