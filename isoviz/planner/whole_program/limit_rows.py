"""The rows of space: the bytes of a slot, against every limit of the memories in which the path has buffers.

`log_chunk` is the logarithm of a chunk in bytes. The block of the layouts is the shuffle size. Both stay below every limit that
applies. The limit of all buffers together depends on the number of buffers, and the capacity of a memory on the number of buffers
in it. A binary stands for each of these numbers, so the limit in logarithms is a sum over binaries. Slots are whole bytes, so the
limits of a chunk are rounded down. The block is a real number here, as in the program of one path.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from isoviz.planner.whole_program.layout_rows import BLOCK

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoviz.planner.problem import Problem
    from isoviz.planner.program.mip_rows import Rows
    from isoviz.planner.whole_program.stages import Arc

CHUNK = "log_chunk"

Bound = Callable[[str, float, float, list[str]], None]
"""Name of the rows, bytes of a block, bytes of a chunk, and binaries: one of them is 1 where these are limits."""


def slot_bounds(problem: Problem, memories: Sequence[str]) -> dict[str, float]:
    """Per memory, the largest slot in bytes by the limits of this memory alone; 0 where not even one element fits."""
    found = {}
    for name in memories:
        own = problem.own_slot_limit((name,))
        if not problem.alike and problem.machine.memory(name).capacity is not None:
            own = min(own, problem.free(name) // problem.slots)
        if problem.memory_limit is not None:
            own = min(own, problem.memory_limit // problem.slots)
        found[name] = float(own) if own >= problem.largest else 0.0
    return found


def add_limits(rows: Rows, problem: Problem, arcs: Sequence[Arc], names: dict[int, str], high: float) -> None:
    """Bound chunk and block by the limits of the buffers that arcs fill.

    `names` are the binaries of the arcs by number, `high` is the logarithm of the largest chunk.
    """
    blocked = BLOCK in rows
    filling: dict[str, list[str]] = {}
    uses_of: dict[tuple[str, bool], list[str]] = {}  # of each of these a path uses one at most
    for arc in arcs:
        if arc.fills is not None:
            filling.setdefault(arc.fills, []).append(names[arc.number])
            uses_of.setdefault((arc.fills, arc.channel.is_self_loop), []).append(names[arc.number])

    def bound(name: str, limit: float, whole: float, when: list[str]) -> None:
        """Chunk at most `whole` bytes and block at most `limit` bytes, where one of the binaries is 1."""
        sides = [(CHUNK, math.log(whole))] + ([(BLOCK, math.log(limit))] if blocked else [])
        for what, most in sides:
            top = high if what == CHUNK else max(high, _largest_block(problem))
            if most < top:
                rows.at_most(f"{name}_{what}", [(what, 1.0), *((each, top - most) for each in when)], top)

    for (memory, is_loop), uses in uses_of.items():
        prefix = "loop_" if is_loop else ""
        limit = float(problem.own_slot_limit((memory,)))
        bound(f"slot_{prefix}{memory}", limit, limit, uses)
        if not problem.alike and problem.machine.memory(memory).capacity is not None:
            free = problem.free(memory)
            bound(f"room_{prefix}{memory}", free / problem.slots, float(free // problem.slots), uses)
            if is_loop and (memory, False) in uses_of:
                _add_pair(rows, problem, memory, filling[memory], bound)
    if problem.memory_limit is not None and filling:
        _add_together(rows, problem, filling, bound)


def _add_pair(rows: Rows, problem: Problem, memory: str, uses: list[str], bound: Bound) -> None:
    """Two buffers in one memory, before and after its self-loop, get half of its free bytes each."""
    free, slots = problem.free(memory), 2 * problem.slots
    pair = rows.binary(f"two_buffers_{memory}")
    rows.at_most(f"two_buffers_{memory}_counted", [*((each, 1.0) for each in uses), (pair, -1.0)], 1.0)
    if free // slots >= problem.largest:
        bound(f"room_twice_{memory}", free / slots, float(free // slots), [pair])
    else:
        rows.at_most(f"no_room_for_two_{memory}", [(pair, 1.0)], 0.0)


def _add_together(rows: Rows, problem: Problem, filling: dict[str, list[str]], bound: Bound) -> None:
    """The limit of all buffers together, by the number of buffers."""
    total, slots = problem.memory_limit or 0, problem.slots
    most = min(sum(min(2, len(uses)) for uses in filling.values()), total // (slots * problem.largest))
    counts = {count: rows.binary(f"buffers_{count}") for count in range(1, most + 1)}
    every = [(each, 1.0) for uses in filling.values() for each in uses]
    rows.equal("buffers_counted", [*every, *((name, -float(count)) for count, name in counts.items())], 0.0)
    rows.at_most("one_number_of_buffers", [(name, 1.0) for name in counts.values()], 1.0)
    for count, name in counts.items():
        bound(f"together_{count}", total / (count * slots), float(total // (count * slots)), [name])


def _largest_block(problem: Problem) -> float:
    """The logarithm of a block with everything, every element in a slot of the largest field."""
    volume = math.prod(digit.extent for digit in problem.ends.digits)
    return math.log(volume * max(problem.entry, problem.largest))
