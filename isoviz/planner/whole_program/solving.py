"""Solving the program of section 4.2: HiGHS, and tangents where a solution needs them.

A smooth throughput function, and exp where resources are shared, stand in the program as tangents, which lie on the far side of
them: each optimum is a bound. So the program is solved, its path and layouts are held, and the linear program that is left gets
the tangents that its optimum needs, which are rows for every path. Then the whole is solved again, until its bound is what the
path found sustains. Nothing is enumerated, and no row is an approximation once that holds.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from isoviz.errors import LimitError, NoPathError
from isoviz.planner.failures import limits_too_small
from isoviz.planner.whole_program.layout_rows import BLOCK, ENDS, digit_name
from isoviz.planner.whole_program.limit_rows import CHUNK
from isoviz.planner.whole_program.whole_model import Model

if TYPE_CHECKING:
    from pathlib import Path

    from isoviz.planner.problem import Problem
    from isoviz.planner.whole_program.mip_rows import Point
    from isoviz.planner.whole_program.stages import Arc

TOLERANCE = 1e-8
"""Relative difference between a bound and what a path sustains, up to which the path is the best."""
MOST_SECONDS = 60.0
"""Seconds that a solve may take where nobody says how many."""
NO_SLACK = 1e-7
"""A row with less slack, in logarithms, is binding."""
MOST_ROUNDS = 40
"""Programs with further tangents; a handful suffice."""


@dataclass(frozen=True)
class WholeSolution:
    """What the program of section 4.2 says about a transfer on a machine.

    No path, layouts and blocks sustain more than `bound` bytes per second; the path of `channels`, which converts in hop
    `converting` (None: nothing to convert), sustains `throughput`. `exact` says whether the program holds everything that section
    4.2 does; where it is not, the layouts or a throughput function were left out, and it only bounds. `finished` is whether the
    bound was reached, and not time up. `chunk` and `block` are in bytes, `kept` the digits of both ends' orders that the
    buffers keep together, with how many of their values (a real number); `binding` are the names of the rows without slack.

    What a solve took is no part of what makes solutions equal: `seconds` of it all, `rounds` of whole programs.
    """

    throughput: float
    bound: float
    channels: tuple[str, ...]
    converting: int | None
    exact: bool
    finished: bool
    chunk: float
    block: float | None
    kept: tuple[tuple[str, str, float], ...]
    variables: int
    binaries: int
    constraints: int
    binding: tuple[str, ...]
    seconds: float = field(compare=False)
    rounds: int = field(compare=False)
    model: Model = field(compare=False, repr=False)

    @property
    def gap(self) -> float:
        """How far the throughput may be from the best, as a share of the bound."""
        return max(0.0, 1 - self.throughput / self.bound)

    def write(self, path: Path) -> None:
        """Write the program as an LP file, with all tangents that were needed. Logarithms are of the throughput as a share of
        `model.reference` bytes per second, and of bytes.

        Raises:
            OSError: it cannot be written.
        """
        self.model.rows.write(path)


def solve_whole(problem: Problem, seconds: float | None = None) -> WholeSolution | None:
    """The best path of a transfer by the program of section 4.2; None where the time is up before any path was found.

    Raises:
        NoPathError: no channels lead there. LimitError: no path has room for an element.
    """
    began = time.perf_counter()
    left = MOST_SECONDS if seconds is None else seconds
    model = Model(problem)
    if not model.stages.arcs or not model.reaches:
        raise _no_path_error(problem)

    def remaining() -> float:
        return left - (time.perf_counter() - began)

    best: Point | None = None
    bound, reached, rounds, finished = model.reference, 0.0, 0, False
    while rounds < MOST_ROUNDS and remaining() > 0:
        point = model.rows.solve(remaining())
        rounds += 1
        if point is None:
            if rounds == 1 and remaining() > 0:
                raise _limit_error(problem)
            break
        bound = min(bound, model.bound(point))
        polished = _with_tangents(model, point)
        found = model.throughput(polished)
        if found > reached:
            best, reached = polished, found
        if bound <= reached * (1 + TOLERANCE):
            finished = True
            break
        if not point.proved:
            break
    if best is None:
        return None
    if finished:
        best = _shortest(model, best, reached, remaining())
    return _solution(model, best, min(bound, model.reference), finished, time.perf_counter() - began, rounds)


def _with_tangents(model: Model, point: Point) -> Point:
    """The path and layouts of a point with the best sizes: tangents are added until none is missing."""
    rows = model.rows
    rows.fix(point)
    try:
        for _ in range(MOST_ROUNDS):
            held = rows.solve()
            if held is None:  # rounding: the binaries were nearly whole
                break
            point = held
            if not model.refine(held, TOLERANCE / 100):
                break
    finally:
        rows.free()
    return point


def _shortest(model: Model, best: Point, reached: float, seconds: float) -> Point:
    """Of all paths with that throughput one with the fewest hops."""
    began = time.perf_counter()
    model.keep_throughput(best, TOLERANCE)
    for _ in range(MOST_ROUNDS):
        left = seconds - (time.perf_counter() - began)
        model.aim_at_fewest_hops()
        shorter = model.rows.solve(left) if left > 0 else None
        model.aim_at_throughput()
        if shorter is None or not shorter.proved or model.cost(shorter) >= model.cost(best):
            break
        polished = _with_tangents(model, shorter)
        if model.throughput(polished) >= reached * (1 - 2 * TOLERANCE):
            return polished
    return best


def _solution(model: Model, point: Point, bound: float, finished: bool, seconds: float, rounds: int) -> WholeSolution:
    route = model.route(point)
    rows, ends = model.rows, model.problem.ends
    kept = [
        (ENDS[end], digit_name(model.problem, digit), math.exp(value))
        for end in (0, 1)
        for digit in ends.orders[end].digits
        if (name := f"kept_{ENDS[end]}_{digit_name(model.problem, digit)}") in rows and (value := point[name]) > 1e-9
    ]
    converting = next((number for number, arc in enumerate(route) if arc.converts), None)
    between = converting is not None and 0 < converting < len(route) - 1
    slacks = rows.slacks(point)
    throughput = model.throughput(point)
    return WholeSolution(
        throughput=throughput,
        bound=max(bound, throughput),
        channels=tuple(arc.channel.name for arc in route),
        converting=converting,
        exact=model.exact,
        finished=finished,
        chunk=math.exp(point[CHUNK]) if len(route) > 1 else model.direct_chunk,
        block=math.exp(point[BLOCK]) if between else None,
        kept=tuple(kept) if between else (),
        variables=rows.variable_count,
        binaries=rows.binary_count,
        constraints=rows.row_count,
        binding=_binding(model, slacks, route),
        seconds=seconds,
        rounds=rounds,
        model=model,
    )


def _binding(model: Model, slacks: dict[str, float], route: tuple[Arc, ...]) -> tuple[str, ...]:
    """The rows of throughput, space and resources that hold the path back: those without slack that name one of its arcs."""
    used = {arc.name for arc in route}
    kinds = ("rate_", "top_", "resource_", "slot_", "room_", "together_")
    found = []
    for name, slack in slacks.items():
        if name.startswith(kinds) and abs(slack) <= NO_SLACK and used & set(model.rows.names_in(name)):
            found.append(name)
    return tuple(found)


def _no_path_error(problem: Problem) -> NoPathError | LimitError:
    here, there = problem.transfer.source.memory, problem.transfer.destination.memory
    problem.machine.shortest_path(here, there)  # says what can be reached
    if here == there and not problem.machine.between(here, here):
        return NoPathError(f"machine {problem.machine.name}: no channels lead from {here} back to it within the limits")
    return _limit_error(problem)


def _limit_error(problem: Problem) -> LimitError:
    here, there = problem.transfer.source.memory, problem.transfer.destination.memory
    inside = tuple(channel.destination for channel in problem.machine.shortest_path(here, there)[:-1])
    return limits_too_small(problem, [inside])
