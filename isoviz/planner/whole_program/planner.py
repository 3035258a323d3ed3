"""The planner that takes its path from the program of section 4.2, and says what the program proved."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import replace
from typing import TYPE_CHECKING

from isoviz.planner.failures import moves_nothing, too_small
from isoviz.planner.making import make_plan
from isoviz.planner.optimum import any_choice, clock_of
from isoviz.planner.routes import Route
from isoviz.planner.settling import settled
from isoviz.planner.whole_program.solving import WholeSolution, solve_whole
from isoviz.planner.whole_program.wording import cut_off_note, program_note

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable

    from isoviz.planner.choice import Choice
    from isoviz.planner.plan import Plan
    from isoviz.planner.problem import Problem
    from isoviz.planner.timing import Clock

MOST_KEPT = 16
"""Solutions kept: whoever plans a transfer often asks for its explanation next."""
_KEPT: OrderedDict[Hashable, WholeSolution | None] = OrderedDict()
_LOCK = threading.Lock()


def program(problem: Problem) -> Plan:
    """The path with the highest steady-state throughput, by one mixed-integer program; on it the least T.

    The program decides the path and the hop that converts; of its layouts and real block sizes those are taken that fit best
    in whole numbers, and the chunk, as for every other planner. Where the time is up (`planning_time`), the best path found so
    far is taken, or the shortest one, and a note says how far from the best it may be.

    Raises:
        NoPathError: no channels lead there. LimitError: no path has room for an element.
    """
    solution = solved(problem)
    if solution is None:
        return _cut_off(problem)
    machine, at = problem.machine, solution.converting
    channels = tuple(machine.channel(name) for name in solution.channels)
    turns: Iterable[int | None] = (at,)
    if problem.ends.converts and at is None:  # the program left the layouts out
        turns = range(len(channels))
    return _plan(problem, [Route(channels, turn) for turn in turns], program_note(solution))


def solved(problem: Problem) -> WholeSolution | None:
    """The solution of a transfer's program; one that was found before is returned again. None where the time was up before any
    path was found.

    Raises:
        NoPathError, LimitError: as `program`.
    """
    key = problem.transfer, problem.machine, replace(problem.options, planner="program")
    with _LOCK:
        if key in _KEPT:
            _KEPT.move_to_end(key)
            return _KEPT[key]
    found = solve_whole(problem, problem.options.planning_time)
    with _LOCK:
        _KEPT[key] = found
        while len(_KEPT) > MOST_KEPT:
            _KEPT.popitem(last=False)
    return found


def _cut_off(problem: Problem) -> Plan:
    """Any plan at all: the shortest path, converting at one of its ends."""
    machine, transfer = problem.machine, problem.transfer
    channels = tuple(machine.shortest_path(transfer.source.memory, transfer.destination.memory))
    turns: Iterable[int | None] = dict.fromkeys((0, len(channels) - 1)) if problem.ends.converts else (None,)
    return _plan(problem, [Route(channels, turn) for turn in turns], cut_off_note())


def _plan(problem: Problem, routes: list[Route], note: str) -> Plan:
    """The plan of the best choice for any of these routes."""
    found: list[tuple[Choice, Clock]] = []
    for route in routes:
        clock = clock_of(problem, route)
        choice = any_choice(problem, route, clock)
        if choice is not None:
            found.append((choice, clock))
    if not found:
        raise too_small(problem, [route.inside for route in routes])
    choice, clock = min(found, key=lambda each: problem.key(each[0]))
    if choice.seconds == float("inf"):
        raise moves_nothing(problem)
    return make_plan(problem, settled(problem, choice, clock), clock, "program", [note])
