"""Shortest paths through a machine, counted in hops."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoviz.errors import NoPathError
from isoviz.machines.machine import Machine, some

if TYPE_CHECKING:
    from isoviz.machines.channel import Channel


def shortest_path(machine: Machine, source: str, destination: str) -> tuple[Channel, ...]:
    """See `Machine.shortest_path`."""
    machine.memory(source)
    machine.memory(destination)
    hops = _hops_to(machine, destination)
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


def _hops_to(machine: Machine, destination: str) -> dict[str, int]:
    """The number of hops from every memory that can reach `destination`."""
    incoming: dict[str, set[str]] = {memory.name: set() for memory in machine.memories}
    for channel in machine.channels:
        incoming[channel.destination].add(channel.source)
    hops = {destination: 0}
    frontier = [destination]
    while frontier:
        frontier = [
            name
            for name in dict.fromkeys(source for at in frontier for source in incoming[at])
            if hops.setdefault(name, hops[frontier[0]] + 1) == hops[frontier[0]] + 1
        ]
    return hops


def _reached_from(machine: Machine, source: str) -> set[str]:
    reached = {source}
    frontier = [source]
    while frontier:
        for channel in machine.outgoing(frontier.pop()):
            if channel.destination not in reached:
                reached.add(channel.destination)
                frontier.append(channel.destination)
    return reached
