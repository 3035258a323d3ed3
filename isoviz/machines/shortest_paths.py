"""Paths with the fewest hops through a machine. All memories between the ends hold intermediate buffers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoviz.errors import NoPathError
from isoviz.machines.machine import Machine, some
from isoviz.machines.machine_file import MachineLike, machine_argument

if TYPE_CHECKING:
    from isoviz.machines.channel import Channel


def shortest_path(machine: MachineLike, source: str, destination: str) -> tuple[Channel, ...]:
    """The channels of a path with the fewest hops, without self-loops. It is empty if both ends are the same memory.

    All memories between the ends hold buffers. Among paths of equal length, the one with the alphabetically first memory names
    is taken. Among parallel channels, the one with the highest peak is taken, then the one with the first name.

    Raises:
        MachineError: the machine has no such memory.
        NoPathError: there is no path. The message lists the memories that can be reached.
    """
    machine = machine_argument("shortest path", machine).around(source, destination)
    machine.memory(source)
    machine.memory(destination)
    hops = _hops_to(machine, source, destination)
    if source not in hops:
        reached = sorted(_reached_from(machine, source) - {source})
        what = f"only {some(reached)} can be reached from it" if reached else "nothing can be reached from it"
        raise NoPathError(f"machine {machine.name!r}: no channels lead from {source} to {destination}; {what}")
    path: list[Channel] = []
    at = source
    while at != destination:
        nearer = [c for c in machine.outgoing(at) if hops.get(c.destination, hops[at]) == hops[at] - 1]
        best = min(nearer, key=lambda c: (c.destination, -c.peak, c.name))
        path.append(best)
        at = best.destination
    return tuple(path)


def _hops_to(machine: Machine, source: str, destination: str) -> dict[str, int]:
    """The number of hops to `destination`, for `source` and all memories that are at most as far."""
    incoming = machine.sources_of
    hops = {destination: 0}
    frontier = [destination]
    while frontier and source not in hops:
        found = dict.fromkeys(name for at in frontier for name in incoming[at] if name not in hops)
        reached = [name for name in found if name == source or machine.memory(name).holds_buffers]
        if not reached:
            break
        distance = hops[frontier[0]] + 1
        hops.update(dict.fromkeys(reached, distance))
        frontier = reached
    return hops


def _reached_from(machine: Machine, source: str) -> set[str]:
    reached = {source}
    frontier = [source]
    while frontier:
        at = frontier.pop()
        if at != source and not machine.memory(at).holds_buffers:
            continue
        for channel in machine.outgoing(at):
            if channel.destination not in reached:
                reached.add(channel.destination)
                frontier.append(channel.destination)
    return reached
