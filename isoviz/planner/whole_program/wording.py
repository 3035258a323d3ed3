"""The result of the program of section 4.2 in words and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from isoviz.planner.whole_program.solving import WholeSolution
from isoviz.units import format_bytes, format_rate, format_seconds

if TYPE_CHECKING:
    from isoviz.schema import Node


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
