"""The solution of the program of section 4.2: HiGHS, with tangents added where a solution needs them.

1. A smooth throughput function is represented by tangents, and so is exp where resources are shared. Tangents lie outside the
   feasible region, so each optimum is a bound.
2. The program is solved. Its path and layouts are then fixed, and the remaining linear program gets the tangents that its optimum
   needs. These tangents are rows for every path.
3. The whole program is solved again, until its bound equals what the path found sustains.

Nothing is enumerated. At the end no row is an approximation.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from isoviz.errors import FileError, InputError, LimitError, NoPathError
from isoviz.machines import shortest_path
from isoviz.planner.planning_work import Work
from isoviz.planner.problem import limits_too_small
from isoviz.planner.program.tuning import SOLVE_STEPS
from isoviz.planner.whole_program.layout_rows import BLOCK, CHUNK, ENDS, digit_name
from isoviz.planner.whole_program.whole_model import MOST_ROUNDS, MOST_SECONDS, NO_SLACK, PRESENT, TOLERANCE, Model
from isoviz.regular_files import reason, write_text

if TYPE_CHECKING:
    from pathlib import Path

    from isoviz.planner.problem import Problem
    from isoviz.planner.program.mip_rows import Point
    from isoviz.planner.whole_program.stages import Arc


@dataclass(frozen=True)
class WholeSolution:
    """The solution of the program of section 4.2 for a transfer on a machine.

    No path, layouts and blocks sustain more than `bound` bytes per second. The path of `channels`, which converts in hop
    `converting` (None: nothing to convert), sustains `throughput`. `exact` says whether the program contains everything of
    section 4.2; otherwise it omits the layouts, requests or a throughput function, and its optimum is only a bound.
    `finished` says whether the bound was reached within the planning time. `chunk` and `block` are in bytes. `kept` holds the
    digits of both ends' orders that the buffers keep together, each with its number of values (a real number). `binding`
    holds the names of the rows without slack.

    `seconds` (of all solves) and `rounds` (of whole programs) do not affect the equality of solutions. `model` is the program
    itself; None in a solution that was read from JSON.
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
    model: Model | None = field(compare=False, repr=False)

    @property
    def gap(self) -> float:
        """The share of the bound by which the throughput may be below the best."""
        return max(0.0, 1 - self.throughput / self.bound)

    def write(self, path: Path, source: str | Path | None = None) -> None:
        """Write the program as an LP file, with all tangents that were added.

        Its variables are logarithms of bytes, and of the throughput as a share of `model.reference` bytes per second. `source` is
        the file that the transfer is from: only those who may read it may read the new file.

        Raises:
            FileError: the file cannot be written. InputError: the solution was read from JSON.
        """
        if self.model is None:
            raise InputError("program: this solution was read from JSON, which has no program; expected one that was solved here")
        try:
            text = self.model.rows.text
        except OSError as error:
            raise FileError(f"{path}: {reason(error)}") from None
        write_text(path, text, source=source)


def solve_whole(problem: Problem, seconds: float | None = None) -> WholeSolution | None:
    """The best path of a transfer by the program of section 4.2; None where the work is done before any path is found.

    Raises:
        NoPathError: no channels lead to the destination.
        LimitError: on no path an element fits the limits.
    """
    began = time.perf_counter()
    work = Work(MOST_SECONDS if seconds is None else seconds)
    model = Model(problem)
    if not model.stages.arcs or not model.reaches:
        raise _no_path_error(problem)

    best: Point | None = None
    bound, reached, rounds, finished = model.reference, 0.0, 0, False
    while rounds < MOST_ROUNDS and work.left > SOLVE_STEPS * (model.rows.variable_count + model.rows.row_count):
        point = model.rows.solve(work)
        rounds += 1
        if point is None:
            if rounds == 1 and not work.is_done:
                raise _limit_error(problem)
            break
        bound = min(bound, model.bound(point))
        polished = _with_tangents(model, point, work)
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
        best = _shortest(model, best, reached, work)
    return _solution(model, best, min(bound, model.reference), finished, time.perf_counter() - began, rounds)


def _with_tangents(model: Model, point: Point, work: Work) -> Point:
    """The path and layouts of a point with the best sizes: tangents are added until none is missing."""
    rows = model.rows
    rows.fix(point)
    try:
        for _ in range(MOST_ROUNDS):
            held = rows.solve(work)
            if held is None:  # the binaries were whole only up to rounding
                break
            point = held
            if not model.refine(held, TOLERANCE / 100):
                break
    finally:
        rows.free()
    return point


def _shortest(model: Model, best: Point, reached: float, work: Work) -> Point:
    """A path with the fewest hops among the paths with that throughput."""
    model.keep_throughput(best, TOLERANCE)
    for _ in range(MOST_ROUNDS):
        model.aim_at_fewest_hops()
        shorter = None if work.is_done else model.rows.solve(work)
        model.aim_at_throughput()
        if shorter is None or not shorter.proved or model.cost(shorter) >= model.cost(best):
            break
        polished = _with_tangents(model, shorter, work)
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
        if (name := f"kept_{ENDS[end]}_{digit_name(model.problem, digit)}") in rows and (value := point[name]) > PRESENT
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
    """The rows of throughput, space and resources that limit the path: those without slack that name one of its arcs."""
    used = {arc.name for arc in route}
    kinds = ("rate_", "top_", "resource_", "slot_", "room_", "together_")
    found = []
    for name, slack in slacks.items():
        if name.startswith(kinds) and abs(slack) <= NO_SLACK and used & set(model.rows.names_in(name)):
            found.append(name)
    return tuple(found)


def _no_path_error(problem: Problem) -> NoPathError | LimitError:
    here, there = problem.transfer.source.memory, problem.transfer.destination.memory
    shortest_path(problem.part, here, there)  # raises an error that names the reachable memories
    if here == there and not problem.machine.between(here, here):
        return NoPathError(f"machine {problem.machine.name}: no channels lead from {here} back to it within the limits")
    return _limit_error(problem)


def _limit_error(problem: Problem) -> LimitError:
    here, there = problem.transfer.source.memory, problem.transfer.destination.memory
    inside = tuple(channel.destination for channel in shortest_path(problem.part, here, there)[:-1])
    return limits_too_small(problem, [inside])
