"""The planner `full`: every path, every intermediate layout and every block size (Isometry, section 4.2)."""

from __future__ import annotations

import contextlib
import itertools
import math
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

from isoviz.errors import LimitError, NoPathError
from isoviz.machines import shortest_path
from isoviz.planner.build_plan import make_plan
from isoviz.planner.cache import CACHE
from isoviz.planner.full import RouteKey, listed_routes, search
from isoviz.planner.one_path.fewest_hops import FewestHops
from isoviz.planner.one_path.optimum import best_feasible_choice, clock_of, with_comparable_chunks, with_larger_chunks
from isoviz.planner.paths.routes import Route
from isoviz.planner.planning_work import Work, work_of
from isoviz.planner.problem import limits_too_small, no_throughput
from isoviz.units import format_share

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoviz.machines import Channel, Machine
    from isoviz.planner.one_path.choice import Choice
    from isoviz.planner.plan import Plan
    from isoviz.planner.problem import Problem
    from isoviz.planner.time.path_time import Clock
    from isoviz.planner.transfer import Transfer


# Planners of one path: `simple` (Isometry, section 4.4), `spsl` and `spdl` (section 6.3), and `direct`.

# The shortest path between two memories, and the routes along a path: which of its parallel channels are used.

MemoryPath = tuple[str, ...]
"""Names of memories, source first; the same name twice in a row is a self-loop."""

MOST_PARALLEL = 16
"""Up to this number of combinations of parallel channels, a planner of one path tries all."""


def shortest(machine: Machine, transfer: Transfer) -> MemoryPath:
    """The memories of a shortest path. From a memory to itself this is its self-loop, or else the shortest cycle.

    Raises:
        NoPathError: there is no path.
    """
    return _shortest(machine, transfer.source.memory, transfer.destination.memory)


@lru_cache(maxsize=256)
def _shortest(machine: Machine, here: str, there: str) -> MemoryPath:
    if here != there:
        return (here, *(channel.destination for channel in shortest_path(machine, here, there)))
    if machine.between(here, here):
        return (here, here)
    ways: list[MemoryPath] = []
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


def routes_along(problem: Problem, path: MemoryPath, converting: int | None) -> tuple[Route, ...]:
    """The combinations of parallel channels along a path, or the fastest one where there are more than `MOST_PARALLEL`."""
    return _routes(problem.part, path, converting) or _fastest(problem, path, converting)


@lru_cache(maxsize=512)
def _routes(machine: Machine, path: MemoryPath, converting: int | None) -> tuple[Route, ...]:
    """All combinations of parallel channels along a path; empty if there are more than `MOST_PARALLEL`."""
    hops = _hops(machine, path)
    if math.prod(map(len, hops)) > MOST_PARALLEL:
        return ()
    return tuple(Route(channels, converting) for channels in itertools.product(*hops))


def _fastest(problem: Problem, path: MemoryPath, converting: int | None) -> tuple[Route, ...]:
    """The fastest channels along a path for whole chunks."""
    chunk = min(problem.limit(path[1:-1]), problem.nbytes)
    hops = _hops(problem.part, path)
    return (Route(tuple(max(channels, key=lambda c: c.rate(chunk)) for channels in hops), converting),)


def _hops(machine: Machine, path: MemoryPath) -> list[tuple[Channel, ...]]:
    """The parallel channels of every hop, by name."""
    return [tuple(sorted(machine.between(*ends), key=lambda c: c.name)) for ends in itertools.pairwise(path)]


@lru_cache(maxsize=256)
def with_memcpy(machine: Machine, path: MemoryPath) -> tuple[MemoryPath, int | None]:
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


def simple(problem: Problem) -> Plan:
    """The shortest path, whose first Memcpy channel converts the layout.

    If the path has no Memcpy channel, the planner adds the Memcpy self-loop of the first CPU memory that has one (Isometry,
    section 4.4). If there is none either (a copy within a GPU), the hop that makes the path fastest converts, and a note says so.
    """
    choice, clock = simple_choice(problem)
    route, notes = choice.route, []
    if not route.has_memcpy and problem.ends.converts:
        channel = route.channels[route.converting or 0]
        way = f"from {channel.source} to {channel.destination}"
        notes.append(f"no Memcpy channel on this path: the layout is converted on the way {way}")
    return make_plan(problem, with_larger_chunks(problem, choice, clock), clock, "simple", notes)


def simple_choice(problem: Problem) -> tuple[Choice, Clock]:
    """The choice of `simple`, with the times of its route."""
    return best_along(problem, *simple_path(problem))


def simple_path(problem: Problem) -> tuple[MemoryPath, Sequence[int | None]]:
    """The path of `simple`, and the hops that may convert."""
    path = shortest(problem.part, problem.transfer)
    if not problem.ends.converts:
        return path, (None,)
    path, at = with_memcpy(problem.part, path)
    return path, (at,) if at is not None else range(len(path) - 1)


def spsl(problem: Problem) -> Plan:
    """Shortest path, source layout in every buffer: the last hop converts (Isometry, section 6.3)."""
    path = shortest(problem.part, problem.transfer)
    return _plan(problem, path, (len(path) - 2 if problem.ends.converts else None,), "spsl")


def spdl(problem: Problem) -> Plan:
    """Shortest path, destination layout in every buffer: the first hop converts (Isometry, section 6.3)."""
    path = shortest(problem.part, problem.transfer)
    return _plan(problem, path, (0 if problem.ends.converts else None,), "spdl")


def direct(problem: Problem) -> Plan:
    """One channel from source to destination, no intermediate buffer.

    Raises:
        NoPathError: no such channel.
    """
    here, there = problem.transfer.source.memory, problem.transfer.destination.memory
    if not problem.machine.between(here, there):
        raise NoPathError(
            f"machine {problem.machine.name}: no channel leads directly from {here} to {there}; planner 'full' finds a path"
        )
    return _plan(problem, (here, there), (0 if problem.ends.converts else None,), "direct")


def _plan(problem: Problem, path: MemoryPath, converting: Sequence[int | None], planner: str) -> Plan:
    best, clock = best_along(problem, path, converting)
    return make_plan(problem, with_larger_chunks(problem, best, clock), clock, planner)


def best_along(problem: Problem, path: MemoryPath, converting: Sequence[int | None]) -> tuple[Choice, Clock]:
    """The best choice along one path of memories, over its parallel channels.

    Raises:
        LimitError: not even one entry fits the limits; the message says which limits would be enough.
    """
    best: tuple[Choice, Clock] | None = None
    for at in converting:
        for route in routes_along(problem, path, at):
            clock = clock_of(problem, route)
            choice = best_feasible_choice(problem, route, clock)
            if choice is not None and (best is None or choice.key < best[0].key):
                best = choice, clock
    if best is None:
        raise limits_too_small(problem, [path[1:-1]])
    choice, clock = best
    if math.isinf(choice.seconds):
        raise no_throughput(problem)
    return choice, clock


def full(problem: Problem) -> Plan:
    """The fastest path, layouts, blocks and chunk (Isometry, section 4.2).

    If the planning time does not suffice, the plan is the fastest one found, and never slower than that of `simple`.
    """
    return full_within(problem, work_of(problem.options))


def full_within(
    problem: Problem, work: Work, more: Sequence[Route] = (), *, first: RouteKey | None = None, within: float = 0.0
) -> Plan:
    """The plan of `full` within a bound of work; a search begins with the routes in `more`, a list of routes with `first`.

    `within`: see `search`.
    """
    if listed_routes(problem) is None:
        # No path from the cache: what a search finds that is stopped depends on the paths that it begins with.
        seeds = list(more)
        with contextlib.suppress(LimitError, NoPathError):  # another path may exist, or have room
            seeds.append(simple_choice(problem)[0].route)
        found = search(problem, work=work, seeds=seeds)
    else:
        found = search(problem, first or CACHE.path(problem), work=work, within=within)
        CACHE.keep_path(problem, found.best.route.names, found.best.route.converting)
    best = found.best.route
    choice, clock = found.best, found.clock(best)
    if not problem.ends.regular or (problem.machine.limits.overlap and problem.slots == 1):
        # The search does not try all paths separately here, so compare its result with the planners of one path.
        path = shortest(problem.part, problem.transfer)
        ends = (0, len(path) - 2) if problem.ends.converts else (None,)
        known = FewestHops(problem)
        known.add(choice)
        for planner in (simple_choice, lambda problem: best_along(problem, path, ends)):
            with contextlib.suppress(LimitError, NoPathError):  # that path has no room
                other, its_clock = planner(problem)
                known.add(with_comparable_chunks(problem, other, its_clock))
        choice = known.winner or choice
        clock = clock_of(problem, choice.route)
    made = made_plan(problem, choice, clock, "full")
    notes = (*made.notes, stopped_note(found.gap, used_up=work.is_done)) if found.stopped else made.notes
    return replace(made, gap=found.gap, notes=notes)


def stopped_note(gap: float | None, *, used_up: bool = True) -> str:
    """The note for a plan that was the best one when planning stopped: `planning_time` was used up, or planning cost too much."""
    said = "nothing is proved of what was not looked at" if gap is None else f"at most {format_share(gap)} above the optimum"
    why = "planning_time was used up before all was searched" if used_up else "it stopped where it cost more than it can save"
    return f"{why}: {said}"


def made_plan(problem: Problem, choice: Choice, clock: Clock, planner: str) -> Plan:
    """The plan of a choice, with larger chunks where these cost next to nothing."""
    done = problem.machine.limits.chunk_seconds > 0  # larger chunks were compared already
    return make_plan(problem, choice if done else with_larger_chunks(problem, choice, clock), clock, planner)
