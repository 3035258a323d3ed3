"""The planners behind `plan()`: `simple` (Isometry, section 4.4), `spsl` and `spdl` (section 6.3), and `direct`.

They take a shortest path and convert in one hop. The optimal planner of section 4.2 has its place in `PLANNERS` below.
"""

from __future__ import annotations

import itertools
from types import MappingProxyType
from typing import TYPE_CHECKING

from isoviz.errors import NoPathError, TransferError
from isoviz.machines import Channel, ChannelKind, Machine, MemoryKind
from isoviz.planner.options import Options, check_planner
from isoviz.planner.search import PathSearch
from isoviz.units import format_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from isoviz.planner.plan import Plan
    from isoviz.planner.transfer import Transfer

_HOST = (MemoryKind.SYS, MemoryKind.ZCM, MemoryKind.REG)

Path = tuple[str, ...]
"""Names of memories, source first; twice the same in a row is a self-loop."""


def plan(transfer: Transfer, machine: Machine, planner: str | None = None, options: Options | None = None) -> Plan:
    """Decide how a transfer goes through a machine. Deterministic.

    `planner` ("auto", "simple", "spsl", "spdl", "direct") overrides the one in `options`; `auto` is `simple` at present.

    Raises:
        InputError: an unknown planner. MachineError: an unknown memory. NoPathError: no channels lead there.
        LimitError: no buffer within the limits is large enough. TransferError: an instance larger than its memory.
    """
    options = options or Options()
    chosen = PLANNERS[check_planner(planner or options.planner)]
    for end, instance in (("source", transfer.source), ("destination", transfer.destination)):
        memory = machine.memory(instance.memory)
        need = instance.linearization.nbytes
        if memory.capacity is not None and need > memory.capacity:
            room = format_bytes(memory.capacity)
            raise TransferError(f"transfer: the {end} needs {format_bytes(need)}, {memory.name} has {room}")
        if instance.path is not None and memory.kind is not MemoryKind.DSK:
            raise TransferError(
                f"transfer: the {end} names the file {instance.path!r}, but {memory.name} is no file system (DSK)"
            )
    ends = {transfer.source, transfer.destination}
    for name in sorted({end.memory for end in ends}):
        need, capacity = sum(end.linearization.nbytes for end in ends if end.memory == name), machine.memory(name).capacity
        if capacity is not None and need > capacity:
            raise TransferError(f"transfer: both ends need {format_bytes(need)}, {name} has {format_bytes(capacity)}")
    return chosen(transfer, machine, options)


def simple(transfer: Transfer, machine: Machine, options: Options) -> Plan:
    """The shortest path; a layout is converted by its first Memcpy channel, which is added where the path has none.

    Added after the first CPU memory of the path that has a Memcpy self-loop (Isometry, section 4.4). A path without any (a copy
    within a GPU) converts in the hop that makes it fastest, and says so.
    """
    path = shortest(machine, transfer)
    if not transfer.converts:
        return _search(transfer, machine, options, path, None).plan("simple")
    at = _memcpy_hop(machine, path)
    if at is None:
        path, at = _with_memcpy(machine, path)
    if at is not None:
        return _search(transfer, machine, options, path, at).plan("simple")
    found = [_search(transfer, machine, options, path, i) for i in range(len(path) - 1)]
    best = min(found, key=lambda search: search.best().key)
    where = f"{path[best.converting or 0]} to {path[(best.converting or 0) + 1]}"
    return best.plan("simple", (f"no Memcpy channel on this path: the layout is converted on the way from {where}",))


def spsl(transfer: Transfer, machine: Machine, options: Options) -> Plan:
    """Shortest path, source layout in every buffer: the last hop converts (Isometry, section 6.3)."""
    path = shortest(machine, transfer)
    return _search(transfer, machine, options, path, len(path) - 2 if transfer.converts else None).plan("spsl")


def spdl(transfer: Transfer, machine: Machine, options: Options) -> Plan:
    """Shortest path, destination layout in every buffer: the first hop converts (Isometry, section 6.3)."""
    path = shortest(machine, transfer)
    return _search(transfer, machine, options, path, 0 if transfer.converts else None).plan("spdl")


def direct(transfer: Transfer, machine: Machine, options: Options) -> Plan:
    """One channel from source to destination, no intermediate buffer.

    Raises:
        NoPathError: no such channel.
    """
    here, there = transfer.source.memory, transfer.destination.memory
    if not machine.between(here, there):
        raise NoPathError(
            f"machine {machine.name}: no channel leads directly from {here} to {there}; planner 'simple' finds a path"
        )
    return _search(transfer, machine, options, (here, there), 0 if transfer.converts else None).plan("direct")


def auto(transfer: Transfer, machine: Machine, options: Options) -> Plan:
    """The planner a user who did not choose gets."""
    return simple(transfer, machine, options)


PLANNERS: Mapping[str, Callable[[Transfer, Machine, Options], Plan]] = MappingProxyType(
    {"auto": auto, "simple": simple, "spsl": spsl, "spdl": spdl, "direct": direct}
)
"""Name → planner; the same names as `options.PLANNERS`, which describes them."""


def shortest(machine: Machine, transfer: Transfer) -> Path:
    """The memories of a shortest path; from a memory to itself, its self-loop, or else the shortest way out and back.

    Raises:
        NoPathError: there is none.
    """
    here, there = transfer.source.memory, transfer.destination.memory
    if here != there:
        return (here, *(channel.destination for channel in machine.shortest_path(here, there)))
    if machine.between(here, here):
        return (here, here)
    ways: list[Path] = []
    for channel in machine.outgoing(here):
        try:
            back = machine.shortest_path(channel.destination, here)
        except NoPathError:
            continue
        ways.append((here, channel.destination, *(step.destination for step in back)))
    if not ways:
        raise NoPathError(f"machine {machine.name}: no channels lead from {here} back to it")
    return min(ways, key=lambda way: (len(way), way))


def _channels(machine: Machine, path: Path) -> tuple[tuple[Channel, ...], ...]:
    return tuple(
        tuple(sorted(machine.between(here, there), key=lambda channel: channel.name)) for here, there in itertools.pairwise(path)
    )


def _search(transfer: Transfer, machine: Machine, options: Options, path: Path, converting: int | None) -> PathSearch:
    return PathSearch(transfer, machine, options, _channels(machine, path), converting)


def _memcpy_hop(machine: Machine, path: Path) -> int | None:
    for i, channels in enumerate(_channels(machine, path)):
        if any(channel.kind is ChannelKind.MEMCPY for channel in channels):
            return i
    return None


def _with_memcpy(machine: Machine, path: Path) -> tuple[Path, int | None]:
    """The path with a Memcpy self-loop after its first CPU memory that has one, and the number of that hop."""
    for i, name in enumerate(path):
        loops = machine.between(name, name)
        if machine.memory(name).kind in _HOST and any(channel.kind is ChannelKind.MEMCPY for channel in loops):
            return (*path[: i + 1], name, *path[i + 1 :]), i
    return path, None
