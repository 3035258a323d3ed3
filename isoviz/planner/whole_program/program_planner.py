"""The planner that takes its path from the program of section 4.2, and reports what the program proved."""

from __future__ import annotations

import math
import threading
from collections import OrderedDict
from dataclasses import replace
from typing import TYPE_CHECKING

from isoviz.machines import shortest_path
from isoviz.planner.build_plan import make_plan
from isoviz.planner.check_ends import check_arguments, check_ends
from isoviz.planner.failures import no_throughput
from isoviz.planner.full import search
from isoviz.planner.one_path.chunk_size import with_larger_chunks
from isoviz.planner.one_path.optimum import best_feasible_choice, clock_of
from isoviz.planner.options import Options
from isoviz.planner.paths.routes import Route
from isoviz.planner.problem import Problem, channels_in_mean
from isoviz.planner.whole_program.solving import WholeSolution, solve_whole
from isoviz.planner.whole_program.wording import cut_off_note, no_whole_blocks_note, program_note

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from isoviz.machines import MachineLike
    from isoviz.planner.one_path.choice import Choice
    from isoviz.planner.plan import Plan
    from isoviz.planner.time.path_time import Clock
    from isoviz.planner.transfer import Transfer

MOST_SOLUTIONS = 16
"""Solutions that are cached: after planning a transfer, users often ask for its explanation."""
_SOLUTIONS: OrderedDict[Hashable, WholeSolution | None] = OrderedDict()
_LOCK = threading.Lock()


def program(problem: Problem) -> Plan:
    """The path with the highest steady-state throughput, by one mixed-integer program, and on this path the least T.

    The program decides the path and the converting hop. Its layouts and real block sizes are replaced by those that fit best in
    whole numbers, and the chunk is chosen as for every other planner. If `planning_time` is used up first, the best path found
    so far is taken, or the shortest one; a note says how far from the best it may be.

    Raises:
        NoPathError: no channels lead to the destination.
        LimitError: on no path an element fits the limits.
    """
    solution = solved(problem)
    if solution is None:
        return _plan_of(problem, _shortest(problem), cut_off_note())
    channels = channels_in_mean(problem, solution.channels)
    candidates = _candidate_hops(problem, len(channels))
    if solution.converting is not None:
        found = _best(problem, [Route(channels, solution.converting)]) or _best(
            problem, [Route(channels, at) for at in candidates]
        )
    else:  # nothing converts, or the program omits the layouts
        found = _best(problem, [Route(channels, at) for at in candidates])
    if found is not None:
        return _plan_of(problem, found, program_note(solution))
    other = search(problem)  # on the path of the program no blocks of whole size fit
    return _plan_of(problem, (other.best, other.clock(other.best.route)), f"{program_note(solution)}; {no_whole_blocks_note()}")


def whole_solution(transfer: Transfer, machine: MachineLike, options: Options | None = None) -> WholeSolution | None:
    """The solution of the program of section 4.2 for a transfer; None where `planning_time` is used up before it finds a path.

    Raises:
        NoPathError: no channels lead to the destination.
        LimitError: on no path an element fits the limits.
        TransferError: an instance is larger than its memory.
        MachineError: an unknown memory.
    """
    machine = check_arguments("whole_solution", transfer, machine)
    check_ends(transfer, machine)
    return solved(Problem(transfer, machine, Options.given(options)))


def solved(problem: Problem) -> WholeSolution | None:
    """The solution of a transfer's program, cached; None where `planning_time` was used up before any path was found.

    Raises:
        NoPathError, LimitError: as `program`.
    """
    key = problem.transfer, problem.machine, replace(problem.options, planner="program")
    with _LOCK:
        if key in _SOLUTIONS:
            _SOLUTIONS.move_to_end(key)
            return _SOLUTIONS[key]
    found = solve_whole(problem, problem.options.planning_time)
    with _LOCK:
        _SOLUTIONS[key] = found
        while len(_SOLUTIONS) > MOST_SOLUTIONS:
            _SOLUTIONS.popitem(last=False)
    return found


def forget_solutions() -> None:
    """Drop all cached solutions."""
    with _LOCK:
        _SOLUTIONS.clear()


def _candidate_hops(problem: Problem, hops: int) -> tuple[int | None, ...]:
    """The hops that may convert."""
    return tuple(range(hops)) if problem.ends.converts else (None,)


def _shortest(problem: Problem) -> tuple[Choice, Clock]:
    """The best choice along the shortest path, with any hop converting."""
    source, destination = problem.transfer.source.memory, problem.transfer.destination.memory
    channels = tuple(shortest_path(problem.part, source, destination))
    routes = [Route(channels, at) for at in _candidate_hops(problem, len(channels))] if channels else []
    found = _best(problem, routes)
    if found is None:
        other = search(problem)
        return other.best, other.clock(other.best.route)
    return found


def _best(problem: Problem, routes: Sequence[Route]) -> tuple[Choice, Clock] | None:
    """The best choice for any of these routes; None where nothing fits the limits of any."""
    found: list[tuple[Choice, Clock]] = []
    for route in routes:
        clock = clock_of(problem, route)
        choice = best_feasible_choice(problem, route, clock)
        if choice is not None:
            found.append((choice, clock))
    return min(found, key=lambda each: problem.key(each[0]), default=None)


def _plan_of(problem: Problem, found: tuple[Choice, Clock], note: str) -> Plan:
    choice, clock = found
    if math.isinf(choice.seconds):
        raise no_throughput(problem)
    return make_plan(problem, with_larger_chunks(problem, choice, clock), clock, "program", [note])
