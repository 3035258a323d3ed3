"""The shortest path between two memories, and the routes along a path: which of its parallel channels are used."""

from __future__ import annotations

import itertools
import math
from functools import lru_cache
from typing import TYPE_CHECKING

from isoviz.errors import NoPathError
from isoviz.machines import shortest_path
from isoviz.planner.paths.routes import Route

if TYPE_CHECKING:
    from isoviz.machines import Channel, Machine
    from isoviz.planner.problem import Problem
    from isoviz.planner.transfer import Transfer

Path = tuple[str, ...]
"""Names of memories, source first; the same name twice in a row is a self-loop."""

MOST_PARALLEL = 16
"""Up to this number of combinations of parallel channels, a planner of one path tries all."""


def shortest(machine: Machine, transfer: Transfer) -> Path:
    """The memories of a shortest path. From a memory to itself this is its self-loop, or else the shortest cycle.

    Raises:
        NoPathError: there is no path.
    """
    return _shortest(machine, transfer.source.memory, transfer.destination.memory)


@lru_cache(maxsize=256)
def _shortest(machine: Machine, here: str, there: str) -> Path:
    if here != there:
        return (here, *(channel.destination for channel in shortest_path(machine, here, there)))
    if machine.between(here, here):
        return (here, here)
    ways: list[Path] = []
    for channel in machine.outgoing(here):
        if not machine.memory(channel.destination).holds_buffers:
            continue
        try:
            back = shortest_path(machine, channel.destination, here)
        except NoPathError:
            continue
        ways.append((here, channel.destination, *(step.destination for step in back)))
    if not ways:
        raise NoPathError(f"machine {machine.name}: no channels lead from {here} back to it")
    return min(ways, key=lambda way: (len(way), way))


def routes_along(problem: Problem, path: Path, converting: int | None) -> tuple[Route, ...]:
    """The combinations of parallel channels along a path, or the fastest one where there are more than `MOST_PARALLEL`."""
    return _routes(problem.part, path, converting) or _fastest(problem, path, converting)


@lru_cache(maxsize=512)
def _routes(machine: Machine, path: Path, converting: int | None) -> tuple[Route, ...]:
    """All combinations of parallel channels along a path; empty if there are more than `MOST_PARALLEL`."""
    hops = _hops(machine, path)
    if math.prod(map(len, hops)) > MOST_PARALLEL:
        return ()
    return tuple(Route(channels, converting) for channels in itertools.product(*hops))


def _fastest(problem: Problem, path: Path, converting: int | None) -> tuple[Route, ...]:
    """The fastest channels along a path for whole chunks."""
    chunk = min(problem.limit(path[1:-1]), problem.nbytes)
    hops = _hops(problem.part, path)
    return (Route(tuple(max(channels, key=lambda c: c.rate(chunk)) for channels in hops), converting),)


def _hops(machine: Machine, path: Path) -> list[tuple[Channel, ...]]:
    """The parallel channels of every hop, by name."""
    return [tuple(sorted(machine.between(*ends), key=lambda c: c.name)) for ends in itertools.pairwise(path)]


@lru_cache(maxsize=256)
def with_memcpy(machine: Machine, path: Path) -> tuple[Path, int | None]:
    """A path with a Memcpy hop, and the number of its first Memcpy hop.

    If the path has none, the Memcpy self-loop of the first CPU memory that has one is inserted. The number is None if no CPU
    memory of the path has one.
    """
    for i, ends in enumerate(itertools.pairwise(path)):
        if any(channel.kind.is_host_copy for channel in machine.between(*ends)):
            return path, i
    for i, name in enumerate(path):
        loops = machine.between(name, name)
        if machine.memory(name).kind.is_host and any(channel.kind.is_host_copy for channel in loops):
            return (*path[: i + 1], name, *path[i + 1 :]), i
    return path, None
