"""The rows of the layouts: how much of both ends' orders the buffers keep together, and the block that a slot then has to hold.

Where a hop between two buffers converts, the buffers before it hold a layout L, those after it a layout M. L keeps a beginning of
the source's order A together, M a beginning of the destination's order B. The smallest block that both number alike, D, is the
union of the two beginnings; its size is the shuffle size (Isometry, section 4.2).
`isoviz.planner.intermediate.intermediate_layouts` says why no other layouts can be optimal. Per digit of the common refinement of
A and B the program has these variables, as logarithms of extents:

- `kept_source`, `kept_destination`: the part of the digit that belongs to the beginning, from nothing to the whole digit. A digit
  is begun only where the digit before it is whole (a binary), and F is whole or absent.
- `block`: the part in D, at least that of either beginning.

The run of the first hop is then the beginning of A, that of the last hop the beginning of B. Two cases have longer runs:

- D is a beginning of A and nothing more. With the blocks in the order of A, L is A and the first hop moves whole chunks (binary
  `source_whole`). The same holds for B. The blocks have one order, so at most one of the two binaries is 1.
- D is the same set of first digits in A and in B, all whole. The run at the end whose order the blocks do not have continues with
  the digits that follow alike in both (binary `both_i`); it is everything where all that follows is alike.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import takewhile
from typing import TYPE_CHECKING

from isoviz.planner.intermediate.intermediate_layouts import F

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoviz.planner.problem import Problem
    from isoviz.planner.program.mip_rows import Rows, Terms
    from isoviz.planner.whole_program.stages import Arc


ENDS = ("source", "destination")
BLOCK = "log_block"


def digit_name(problem: Problem, digit: int) -> str:
    """A digit by dimension and step: `x_1`, `x_64`; `F` for the fields."""
    if digit == F:
        return "F"
    dim, step, _, _ = problem.ends.digits[digit]
    return f"{dim}_{step}"


def add_layouts(rows: Rows, problem: Problem, between: Terms, runs: tuple[str, str], most: float) -> None:
    """Bound the runs of the first and the last hop and define the block, where a hop between buffers converts: Σ `between` is 1.

    `runs` names the logarithms of the two runs, which are at most `most`.
    """
    between = list(between)
    orders = [order.digits for order in problem.ends.orders]
    extents = {digit: _log_extent(problem, digit) for digit in dict.fromkeys((*orders[0], *orders[1]))}
    block = {digit: rows.variable(f"block_{digit_name(problem, digit)}", 0.0, extents[digit]) for digit in extents}
    kept = [_add_beginning(rows, problem, end, extents, block) for end in (0, 1)]

    log_largest = math.log(problem.largest)
    entry = math.log(problem.entry / problem.largest)
    fields = extents.get(F, 0.0)
    size = [(block[digit], 1.0 if digit != F else entry / fields) for digit in extents if digit != F or fields > 0]
    rows.variable(BLOCK, log_largest, None)
    rows.equal("shuffle_size", [(BLOCK, 1.0), *((name, -factor) for name, factor in size)], log_largest)

    whole = [rows.binary(f"{end}_whole") for end in ENDS]
    rows.at_most("one_order_of_blocks", [(name, 1.0) for name in whole], 1.0)
    for end in (0, 1):
        for digit, high in extents.items():
            if high > 0:
                terms = [(block[digit], 1.0), (whole[end], high)]
                terms += [(kept[end][digit][0], -1.0)]
                rows.at_most(f"{ENDS[end]}_whole_{digit_name(problem, digit)}", terms, high)
    both = _add_both(rows, problem, kept, block, extents)
    mean = math.log(problem.mean)
    for end in (0, 1):
        # run ≤ log mean + Σ kept; big-M lifts the row if no hop between buffers converts, the end is whole or the run continues
        lift = most - mean
        terms = [(runs[end], 1.0), *((name, -1.0) for name, _ in kept[end].values())]
        terms += [(whole[end], -lift), *((name, -lift) for name, _ in both), *((name, lift * factor) for name, factor in between)]
        rows.at_most(f"{ENDS[end]}_run", terms, mean + lift)
        for name, onwards in both:
            if onwards < most:
                rows.at_most(
                    f"{ENDS[end]}_run_{name}",
                    [(runs[end], 1.0), (name, most - onwards), (whole[end], -(most - onwards))],
                    most,
                )


def _add_beginning(
    rows: Rows, problem: Problem, end: int, extents: dict[int, float], block: dict[int, str]
) -> dict[int, tuple[str, str]]:
    """Per digit: the variable of the part that is kept in the beginning of an end's order, and the binary that it is whole."""
    found: dict[int, tuple[str, str]] = {}
    before: str | None = None
    for digit in problem.ends.orders[end].digits:
        high, text = extents[digit], digit_name(problem, digit)
        kept = rows.variable(f"kept_{ENDS[end]}_{text}", 0.0, high)
        full = rows.binary(f"whole_{ENDS[end]}_{text}")
        if digit == F:
            rows.equal(f"fields_{ENDS[end]}", [(kept, 1.0), (full, -high)], 0.0)
        else:
            rows.at_most(f"whole_{ENDS[end]}_{text}_is", [(full, high), (kept, -1.0)], 0.0)
        if before is not None:
            rows.at_most(f"order_{ENDS[end]}_{text}", [(kept, 1.0), (before, -high)], 0.0)
            rows.at_most(f"order_{ENDS[end]}_{text}_whole", [(full, 1.0), (before, -1.0)], 0.0)
        rows.at_most(f"block_holds_{ENDS[end]}_{text}", [(kept, 1.0), (block[digit], -1.0)], 0.0)
        found[digit] = kept, full
        before = full
    return found


def _add_both(
    rows: Rows, problem: Problem, kept: list[dict[int, tuple[str, str]]], block: dict[int, str], extents: dict[int, float]
) -> list[tuple[str, float]]:
    """Binaries that say: the block is a set of first digits of both orders. Each comes with the log run with which both continue.

    The log run is infinite where it is everything.
    """
    a, b = (order.digits for order in problem.ends.orders)
    found = []
    for i in range(1, len(a) + 1):
        inside = frozenset(a[:i])
        if frozenset(b[:i]) != inside:
            continue
        name = rows.binary(f"both_{i}")
        for end, order in ((0, a), (1, b)):
            rows.at_most(f"{name}_{ENDS[end]}", [(name, 1.0), (kept[end][order[i - 1]][1], -1.0)], 0.0)
        for digit, high in extents.items():
            if digit not in inside and high > 0:
                rows.at_most(f"{name}_{digit_name(problem, digit)}", [(block[digit], 1.0), (name, high)], high)
        alike = [x for x, _ in takewhile(lambda pair: pair[0] == pair[1], zip(a[i:], b[i:], strict=True))]
        run = math.log(problem.mean) + sum(extents[digit] for digit in (*a[:i], *alike))
        found.append((name, math.inf if len(alike) == len(a) - i else run))
    if found:
        rows.at_most("one_both", [(name, 1.0) for name, _ in found], 1.0)
    return found


def _log_extent(problem: Problem, digit: int) -> float:
    return math.log(problem.field_count if digit == F else problem.ends.digits[digit].extent)


# The rows of space: the bytes of a slot, against every limit of the memories in which the path has buffers.
#
# `log_chunk` is the logarithm of a chunk in bytes. The block of the layouts is the shuffle size. Both stay below every
# limit that applies. The limit of all buffers together depends on the number of buffers, and the capacity of a memory
# on the number of buffers in it. A binary stands for each of these numbers, so the limit in logarithms is a sum over
# binaries. Slots are whole bytes, so the limits of a chunk are rounded down. The block is a real number here, as in
# the program of one path.

CHUNK = "log_chunk"

Bound = Callable[[str, float, float, list[str]], None]
"""Name of the rows, bytes of a block, bytes of a chunk, and binaries: one of them is 1 where these are limits."""


def slot_bounds(problem: Problem, memories: Sequence[str]) -> dict[str, float]:
    """Per memory, the largest slot in bytes by the limits of this memory alone; 0 where not even one element fits."""
    found = {}
    for name in memories:
        own = problem.own_slot_limit((name,))
        if not problem.uniform_slots and problem.machine.memory(name).capacity is not None:
            own = min(own, problem.free_bytes(name) // problem.slots)
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
        if not problem.uniform_slots and problem.machine.memory(memory).capacity is not None:
            free = problem.free_bytes(memory)
            bound(f"room_{prefix}{memory}", free / problem.slots, float(free // problem.slots), uses)
            if is_loop and (memory, False) in uses_of:
                _add_pair(rows, problem, memory, filling[memory], bound)
    if problem.memory_limit is not None and filling:
        _add_together(rows, problem, filling, bound)


def _add_pair(rows: Rows, problem: Problem, memory: str, uses: list[str], bound: Bound) -> None:
    """Two buffers in one memory, before and after its self-loop, get half of its free bytes each."""
    free, slots = problem.free_bytes(memory), 2 * problem.slots
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
