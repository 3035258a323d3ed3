"""Routes of one hop. No buffer holds a chunk, so no limit on slots applies, and everything may move as one chunk.

Very large transfers are cut into several chunks all the same, because progress is reported per chunk. They are cut only where
that costs no time.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from isoviz.layouts import ChunkSequence
from isoviz.planner.intermediate.part_layouts import grown, restricted
from isoviz.planner.intermediate.part_runs import boxes_of_runs
from isoviz.planner.one_path.buffer_needs import evaluated
from isoviz.planner.one_path.choice import Choice
from isoviz.planner.tuning import (
    BOUND_SLACK,
    CHUNK_GROWTH_SHARE,
    MOST_BOXES,
    UNBUFFERED_MOST,
    UNBUFFERED_SECONDS,
    UNBUFFERED_UNIT,
)

if TYPE_CHECKING:
    from isoviz.layouts import Layout, Linearization
    from isoviz.planner.paths.routes import Route
    from isoviz.planner.problem import Problem
    from isoviz.planner.time.path_time import Clock


def best_unbuffered(problem: Problem, route: Route, clock: Clock, order: Linearization) -> Choice:
    """The best choice for a route of one hop, with chunks in the given order."""
    nbytes, runs = problem.nbytes, problem.runs(1, route.converting)
    everything = order.count * len(order.fields)
    whole = Choice(clock.seconds(nbytes, runs), route, None, 1, 1, everything, nbytes, order.nbytes, runs, problem.slots)
    most = UNBUFFERED_MOST // UNBUFFERED_UNIT
    if whole.seconds > UNBUFFERED_SECONDS:
        most = max(1, min(most, math.floor(UNBUFFERED_SECONDS * nbytes / whole.seconds) // UNBUFFERED_UNIT))
    pieces = most if problem.machine.limits.chunk_seconds else 1
    while nbytes > pieces * UNBUFFERED_UNIT:
        last = pieces >= most
        goal = whole.seconds * (1 + (CHUNK_GROWTH_SHARE if last else BOUND_SLACK))
        boxes = boxes_of_runs(order) > MOST_BOXES
        for part, per_chunk in (
            _boxes(problem, order, pieces * UNBUFFERED_UNIT) if boxes else _runs(problem, pieces * UNBUFFERED_UNIT)
        ):
            made = evaluated(problem, whole._replace(per_chunk=per_chunk, layout_before=part, chunk=0))
            if made.chunk < nbytes and made.seconds <= goal:
                return made
        if last:
            break
        pieces = min(2 * pieces, most)
    return whole


def _runs(problem: Problem, most: int) -> Iterator[tuple[None, int]]:
    """Chunks that are runs of the order, of about `most` bytes."""
    yield None, max(1, most // problem.entry) * problem.field_count


def _boxes(problem: Problem, order: Linearization, most: int) -> Iterator[tuple[tuple[Layout, int], int]]:
    """Chunks of blocks that are boxes, of at most `most` bytes, the largest block first."""
    lead = problem.transfer.source_order if problem.follows == "source" else problem.transfer.destination_order
    entries = max(1, most // problem.entry)
    while entries >= 1:
        block = grown(order, lead, dict.fromkeys(problem.transfer.space.dims, 1), entries)
        layout, outer = restricted(order, lead, block)
        sequence = ChunkSequence(layout.on(problem.transfer.space, problem.transfer.fields), outer)
        yield (layout, outer), max(1, min(MOST_BOXES, most // sequence.block_bytes))
        entries //= 2
