"""Routes of one hop: no buffer holds anything, so no limit on slots bounds a chunk. Everything moves as one.

Only where very much moves it goes in several chunks: progress is told by chunks. They take no longer, or there is one after all.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from isoviz.layouts import ChunkSequence
from isoviz.planner.intermediate.part_layouts import grown, restricted
from isoviz.planner.intermediate.part_runs import boxes_of_runs
from isoviz.planner.one_path.buffer_needs import evaluated
from isoviz.planner.one_path.choice import MOST_BOXES, PIECE, Choice

if TYPE_CHECKING:
    from isoviz.layouts import Layout, Linearization
    from isoviz.planner.paths.routes import Route
    from isoviz.planner.problem import Problem
    from isoviz.planner.time.path_time import Clock

MOST, LONG = 256 << 20, 0.5
"""Chunks that nothing holds are a multiple of `PIECE` bytes, at most `MOST`, and take about `LONG` predicted seconds at most."""
SAME, NEARLY = 1e-9, 1e-3
"""Relative difference of two times that are the same, and what chunks that are as large as they may be may cost of T."""


def unheld(problem: Problem, route: Route, clock: Clock, held: Linearization) -> Choice:
    """The best choice for a route of one hop, its chunks in the order `held`."""
    nbytes, runs = problem.nbytes, problem.runs(1, route.converting)
    everything = held.count * len(held.fields)
    whole = Choice(clock.seconds(nbytes, runs), route, None, 1, 1, everything, nbytes, held.nbytes, runs, problem.slots)
    most = MOST // PIECE
    if whole.seconds > LONG:
        most = max(1, min(most, math.floor(LONG * nbytes / whole.seconds) // PIECE))
    pieces = most if problem.machine.limits.chunk_seconds else 1
    while nbytes > pieces * PIECE:
        last = pieces >= most
        goal = whole.seconds * (1 + (NEARLY if last else SAME))
        boxes = boxes_of_runs(held) > MOST_BOXES
        for part, per_chunk in _boxes(problem, held, pieces * PIECE) if boxes else _runs(problem, pieces * PIECE):
            made = evaluated(problem, whole._replace(per_chunk=per_chunk, part=part, chunk=0))
            if made.chunk < nbytes and made.seconds <= goal:
                return made
        if last:
            break
        pieces = min(2 * pieces, most)
    return whole


def _runs(problem: Problem, most: int) -> Iterator[tuple[None, int]]:
    """Runs of the order that hold about so many bytes."""
    yield None, max(1, most // problem.entry) * problem.field_count


def _boxes(problem: Problem, held: Linearization, most: int) -> Iterator[tuple[tuple[Layout, int], int]]:
    """Blocks of the order that are boxes and hold at most so many bytes, the largest first."""
    lead = problem.transfer.source_order if problem.follows == "source" else problem.transfer.destination_order
    entries = max(1, most // problem.entry)
    while entries >= 1:
        block = grown(held, lead, dict.fromkeys(problem.transfer.space.dims, 1), entries)
        layout, outer = restricted(held, lead, block)
        sequence = ChunkSequence(layout.on(problem.transfer.space, problem.transfer.fields), outer)
        yield (layout, outer), max(1, min(MOST_BOXES, most // sequence.block_bytes))
        entries //= 2
