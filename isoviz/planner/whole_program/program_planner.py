"""The planner that takes its path from the program of section 4.2, and reports what the program proved."""

from __future__ import annotations

import math
from collections import OrderedDict
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from isoviz.forks import Lock
from isoviz.machines import shortest_path
from isoviz.planner.build_plan import make_plan
from isoviz.planner.full import search
from isoviz.planner.one_path.optimum import best_feasible_choice, clock_of, with_larger_chunks
from isoviz.planner.options import Options
from isoviz.planner.paths.routes import Route
from isoviz.planner.problem import Problem, channels_in_mean, no_throughput
from isoviz.planner.transfer import check_arguments, check_ends
from isoviz.planner.whole_program.solving import WholeSolution, solve_whole
from isoviz.units import format_bytes, format_rate, format_seconds

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from isoviz.machines import MachineLike
    from isoviz.planner.one_path.choice import Choice
    from isoviz.planner.plan import Plan
    from isoviz.planner.time.path_time import Clock
    from isoviz.planner.transfer import Transfer
    from isoviz.schema import Node


# The result of the program of section 4.2 in words and as JSON.


def program_note(solution: WholeSolution) -> str:
    """The note of a plan about its program. It contains no times, so it is the same for every run."""
    said = f"program of Isometry, section 4.2: no path sustains more than {format_rate(solution.bound)}; {_size(solution)}"
    return f"{said}; {_honest(solution)}" if not (solution.finished and solution.exact) else said


def cut_off_note() -> str:
    """The note of a plan whose program found no path within the planning time."""
    return "program of Isometry, section 4.2: planning_time was used up before it found a path; this is the shortest one"


def no_whole_blocks_note() -> str:
    """The note of a plan on whose path blocks fit only in real numbers."""
    return "on its path no whole numbers fit the limits, so this is the path of planner 'full'"


def program_lines(solution: WholeSolution) -> list[str]:
    """The result of the program, for an explanation."""
    reaches = ", which is that bound" if solution.finished else ""
    lines = [
        "One mixed-integer program holds every path, layout and block size.",
        f"It was {solved_line(solution)}.",
        f"No path sustains more than {format_rate(solution.bound)}.",
        f"Its path sustains {format_rate(solution.throughput)}{reaches}: {' → '.join(solution.channels)}.",
    ]
    if solution.block is not None:
        kept = [
            f"{', '.join(f'{digit} = {size:.6g}' for which, digit, size in solution.kept if which == end)} of the {end}'s order"
            for end in ("source", "destination")
            if any(which == end for which, _, _ in solution.kept)
        ]
        lines.append(
            f"Hop {solution.converting} converts in blocks of {format_bytes(solution.block)}, which keep together"
            f" {' and '.join(kept)} (digits by dimension and step, values as real numbers)."
        )
    if not (solution.finished and solution.exact):
        lines.append(f"{_honest(solution)[0].upper()}{_honest(solution)[1:]}.")
    rows = ", ".join(solution.binding) or "none but the bound of every path"
    lines.append(f"Binding rows: {rows}.")
    return lines


def solved_line(solution: WholeSolution) -> str:
    """The time and size of the solve."""
    programs = "one program" if solution.rounds == 1 else f"{solution.rounds} programs, with tangents added between them"
    return f"solved in {format_seconds(solution.seconds)} ({programs}, {_size(solution)})"


def program_json(solution: WholeSolution) -> dict[str, Any]:
    """The result of the program as a JSON object, in bytes, seconds and bytes per second."""
    return {
        "throughput": solution.throughput,
        "bound": solution.bound,
        "gap": solution.gap,
        "exact": solution.exact,
        "finished": solution.finished,
        "channels": list(solution.channels),
        "converting": solution.converting,
        "chunk_bytes": solution.chunk,
        "block_bytes": solution.block,
        "kept": [{"end": end, "digit": digit, "size": size} for end, digit, size in solution.kept],
        "variables": solution.variables,
        "binaries": solution.binaries,
        "constraints": solution.constraints,
        "binding": list(solution.binding),
        "rounds": solution.rounds,
        "solver_seconds": solution.seconds,
    }


def program_from_json(node: Node) -> WholeSolution:
    """The result of a JSON object of `program_json`. Its program itself is not in there."""
    keys = ("throughput", "bound", "channels", "converting", "exact", "finished", "chunk_bytes", "block_bytes", "kept",
            "variables", "binaries", "constraints", "binding", "solver_seconds", "rounds")  # fmt: skip
    parts = node.members(keys, ("gap",))
    block = parts["block_bytes"]
    kept = [each.members(("end", "digit", "size")) for each in parts["kept"].items()]
    return WholeSolution(
        parts["throughput"].number(),
        parts["bound"].number(),
        parts["channels"].read(tuple[str, ...]),
        parts["converting"].read(int | None),
        parts["exact"].read(bool),
        parts["finished"].read(bool),
        parts["chunk_bytes"].number(),
        None if block.value is None else block.number(),
        tuple((each["end"].read(str), each["digit"].read(str), each["size"].number()) for each in kept),
        parts["variables"].read(int),
        parts["binaries"].read(int),
        parts["constraints"].read(int),
        parts["binding"].read(tuple[str, ...]),
        parts["solver_seconds"].number(),
        parts["rounds"].read(int),
        None,
    )


def _size(solution: WholeSolution) -> str:
    return f"{solution.variables:,} variables ({solution.binaries:,} of them 0 or 1), {solution.constraints:,} constraints"


def _honest(solution: WholeSolution) -> str:
    """The parts that are not proved."""
    said = []
    if not solution.finished:
        said.append(f"planning_time was used up, so that its path may be {100 * solution.gap:.2g} % below the best")
    if not solution.exact:
        said.append(
            "the blocks of both ends do not nest or pad, a throughput function is of another kind, or a channel has requests or"
            " layout changes with figures of their own: the program leaves out what that does, and only bounds the throughput"
        )
    return "; ".join(said)


MOST_SOLUTIONS = 16
"""Solutions that are cached: after planning a transfer, users often ask for its explanation."""
_SOLUTIONS: OrderedDict[Hashable, WholeSolution | None] = OrderedDict()
_LOCK = Lock()


def program(problem: Problem) -> Plan:
    """The path with the highest steady-state throughput, by one mixed-integer program, and on this path the least T.

    The program decides the path and the converting hop. Its layouts and real block sizes are replaced by those that fit best in
    whole numbers, and the chunk is chosen as for every other planner. If `planning_time` is used up first, the best path found
    so far is taken, or the shortest one; a note says how far from the best it may be.

    Raises:
        NoPathError: no channels lead to the destination.
        LimitError: there is no path on which an element fits the limits.
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
    """The solution of the program of section 4.2 for a transfer; None if `planning_time` is used up before it finds a path.

    Raises:
        NoPathError: no channels lead to the destination.
        LimitError: there is no path on which an element fits the limits.
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
