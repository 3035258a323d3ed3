"""The rows of space: what a slot holds, against every limit of the memories that the path has buffers in.

`log_chunk` is the logarithm of a chunk, in bytes; the block of the layouts is the shuffle size. Both lie below every limit that
counts. A limit of all buffers together depends on how many there are, and a memory's own on how many of them are in it, so a
binary says each number: the limit in logarithms is then a sum over them. Slots are whole bytes, so the chunk's limits are rounded
down; the block is a real number here, as the program of a path has it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from isoviz.planner.whole_program.layout_rows import BLOCK

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoviz.planner.problem import Problem
    from isoviz.planner.whole_program.mip_rows import Rows
    from isoviz.planner.whole_program.stages import Arc

CHUNK = "log_chunk"

Bound = Callable[[str, float, float, list[str]], None]
"""Name of the rows, bytes of a block, bytes of a chunk, and the binaries of which one is 1 where they are limits."""


def slot_bounds(problem: Problem, memories: Sequence[str]) -> dict[str, float]:
    """By memory: the bytes that a slot in it may have, all other limits left out; 0 where not one element fits."""
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

    `names` are the binaries of the arcs by number, `high` the logarithm of the largest chunk.
    """
    blocked = BLOCK in rows
    filling: dict[str, list[str]] = {}
    uses_of: dict[tuple[str, bool], list[str]] = {}  # of each of these a path uses one at most
    for arc in arcs:
        if arc.fills is not None:
            filling.setdefault(arc.fills, []).append(names[arc.number])
            uses_of.setdefault((arc.fills, arc.channel.is_self_loop), []).append(names[arc.number])

    def bound(name: str, limit: float, whole: float, when: list[str]) -> None:
        """Chunk at most `whole` and block at most `limit` bytes, where one of the binaries is 1."""
        sides = [(CHUNK, math.log(whole))] + ([(BLOCK, math.log(limit))] if blocked else [])
        for what, most in sides:
            top = high if what == CHUNK else max(high, _largest_block(problem))
            if most < top:
                rows.at_most(f"{name}_{what}", [(what, 1.0), *((each, top - most) for each in when)], top)

    for (memory, is_loop), uses in uses_of.items():
        way = "loop_" if is_loop else ""
        limit = float(problem.own_slot_limit((memory,)))
        bound(f"slot_{way}{memory}", limit, limit, uses)
        if not problem.alike and problem.machine.memory(memory).capacity is not None:
            free = problem.free(memory)
            bound(f"room_{way}{memory}", free / problem.slots, float(free // problem.slots), uses)
            if is_loop and (memory, False) in uses_of:
                _add_pair(rows, problem, memory, filling[memory], bound)
    if problem.memory_limit is not None and filling:
        _add_together(rows, problem, filling, bound)


def _add_pair(rows: Rows, problem: Problem, memory: str, uses: list[str], bound: Bound) -> None:
    """Two buffers in one memory, before and after its self-loop, have half of the room each."""
    free, slots = problem.free(memory), 2 * problem.slots
    pair = rows.binary(f"two_buffers_{memory}")
    rows.at_most(f"two_buffers_{memory}_counted", [*((each, 1.0) for each in uses), (pair, -1.0)], 1.0)
    if free // slots >= problem.largest:
        bound(f"room_twice_{memory}", free / slots, float(free // slots), [pair])
    else:
        rows.at_most(f"no_room_for_two_{memory}", [(pair, 1.0)], 0.0)


def _add_together(rows: Rows, problem: Problem, filling: dict[str, list[str]], bound: Bound) -> None:
    """The limit of all buffers together, by how many there are."""
    total, slots = problem.memory_limit or 0, problem.slots
    most = min(sum(min(2, len(uses)) for uses in filling.values()), total // (slots * problem.largest))
    counts = {count: rows.binary(f"buffers_{count}") for count in range(1, most + 1)}
    every = [(each, 1.0) for uses in filling.values() for each in uses]
    rows.equal("buffers_counted", [*every, *((name, -float(count)) for count, name in counts.items())], 0.0)
    rows.at_most("one_number_of_buffers", [(name, 1.0) for name in counts.values()], 1.0)
    for count, name in counts.items():
        bound(f"together_{count}", total / (count * slots), float(total // (count * slots)), [name])


def _largest_block(problem: Problem) -> float:
    """The logarithm of a block that holds everything, a slot's room for each element that of the largest field."""
    volume = math.prod(digit.extent for digit in problem.ends.digits)
    return math.log(volume * max(problem.entry, problem.largest))
