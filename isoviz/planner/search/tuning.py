"""The numbers that tune the search on machines whose paths are too many to list.

They decide how long the search takes. What it finds depends on `ACCEPTED_GAP` alone: `tests/property/test_search.py` holds the
result against brute force. "Measured" gives the time of the search with other values, as a share of its time with this one: on
the seven dense machines of these tests, with and without a conversion, and on twelve random machines (2-core x86-64, processor
time). Differences below 10 % are noise. Numbers without a measurement are plain choices.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoviz.planner.planning_work import FAMILY_STEPS, PLAN_STEPS, ROUTE_STEPS
from isoviz.planner.tuning import WORKED_OUT_STEPS

if TYPE_CHECKING:
    from isoviz.planner.problem import Problem


# ---- rounding

ROUND_DOWN = 1 - 1e-12
"""Bounds are lowered by this factor: NumPy's arrays and Python's numbers round differently."""
TIE = 1e-12
"""Two plans whose T differ by less than this share are equally fast; hops, buffers and names then decide."""
EDGE = 1e-9
"""A range whose ends differ by less than this share is a point and is not cut; a size this close to a limit meets it."""

# ---- boxes

FIRST_CHUNK_RATIO = 4.0
"""In the first boxes the largest chunk is this many times the smallest: larger ratios mean fewer boxes with weaker bounds.
Measured: 2 takes 1.09, 16 takes 0.77."""
BOXES_PER_BATCH = 24
"""The bounds of this many boxes are worked out together, so that they share the cost of a call to NumPy. Larger batches contain
more boxes that a better choice would have excluded. Measured: 1 takes 1.13, 8 takes 1.05, 72 takes 0.82."""
HALVE_ABOVE = 0.2
"""A range of the slowest hop wider than this share of T is halved; a narrower one is cut at the time of the best walk.
Measured: 0.05 takes 1.10, 1 takes 0.90."""
PATIENCE_BOXES = 400
"""After this many boxes the search accepts a choice that is proved to be within `ACCEPTED_GAP` of the optimum."""
ACCEPTED_GAP = 1e-4
"""The share of T that the search may leave unproved after `PATIENCE_BOXES`: far below the error of any prediction."""

# ---- paths of a box

LABELS = 100
"""A box is listed if its paths have at most this many beginnings, plus `LABELS_PER_MEMORY` for every memory.
Measured: 30 takes 1.00, 300 takes 1.16."""
LABELS_PER_MEMORY = 4
"""Beginnings that a box may have in addition, for every memory of the machine. Measured: 1 takes 0.95, 16 takes 1.48."""
MOST_PATHS = 48
"""A box with more paths than this that may be the best one is halved instead of listed. Measured: 12 and 200 take 1.0."""
SLACK_STEP = 1.5
"""After a box that could be listed, or could not, the next box is listed up to this many times its slack, or this part of it.
Measured: 1.1 takes 1.17, 3 takes 0.95."""
SLACK_GROWTH = 1.02
"""For every box that is not listed, the slack up to which boxes are listed grows by this factor: listing is tried again."""

# ---- rivals for an explanation

RIVAL_FACTORS = (1.01, 1.05, 1.2, 1.5, 2.0, 4.0)
"""Rivals may take these many times as long as the best choice, one after the other, until `ENOUGH_ROUTES` are known."""
RIVAL_CHUNK_RATIO = 1.05
"""Chunks of rivals are at most this many times larger or smaller than that of the best choice."""
ENOUGH_ROUTES = 40
"""No more rivals are looked for once this many routes are known: enough for an explanation."""

# ---- steps (`planner.planning_work`)

WORKED_OUT_FAMILY_STEPS = 100
"""Steps of the best choice of a path, for every family of layouts, as far as they are known before."""
BATCH_STEPS = 1500
"""Steps of the bounds of a batch of boxes."""
BOX_STEPS = 20
"""Steps of a box besides its bound: its best walk, and where it is split."""
LINK_STEPS = 0.3
"""Steps of the bound of a box, for every channel."""
LISTED_LINK_STEPS = 0.3
"""Steps of listing the paths of a box, for every channel."""
LABEL_STEPS = 5
"""Steps of listing the paths of a box, for every beginning of a path."""

LOOK_STEPS = 350
"""Steps of a first look."""
LOOK_LINK_STEPS = 1.0
"""Steps of a first look, for every channel."""

# ---- first look

CHUNKS_OF_A_LOOK = 16
"""A first look compares routes by the time of a chunk. A transfer has this number of chunks, or more in smaller slots."""
SLOWER_THAN_WIDEST = 1.03
"""The slowest hop of a good route for many chunks takes at most this many times as long as that of the widest walk."""

# ---- cache

MOST_LINKS = 64
"""The channels of this many (machine, nodes) pairs are cached as arrays, those used last."""


# The steps that parts of the search are expected to take (`planner.planning_work`), known before they begin.


def look_steps(problem: Problem) -> float:
    """Steps of a first look."""
    return LOOK_STEPS + LOOK_LINK_STEPS * len(problem.part.channels)


def worked_out_steps(problem: Problem) -> float:
    """Steps of the best choice of a path."""
    return WORKED_OUT_STEPS + WORKED_OUT_FAMILY_STEPS * len(problem.ends.families)


def search_steps(problem: Problem) -> float:
    """Steps until the best-first search finds anything: a batch of boxes, and the path of one of them."""
    return BATCH_STEPS + BOXES_PER_BATCH * (BOX_STEPS + LINK_STEPS * len(problem.part.channels)) + worked_out_steps(problem)


def listed_steps(problem: Problem, routes: int) -> float:
    """The predicted steps of planning with a list of `routes` routes; the list itself is known for a machine in use."""
    return PLAN_STEPS + ROUTE_STEPS * routes + FAMILY_STEPS * len(problem.ends.families)
