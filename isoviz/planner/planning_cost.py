"""The cost of planning on this computer. It lets `auto` plan no longer than planning can save."""

from __future__ import annotations

import time
from functools import cache
from statistics import median

from isoviz.layouts import FieldSpace, IndexSpace
from isoviz.machines import preset
from isoviz.planner.build_plan import make_plan
from isoviz.planner.full import search
from isoviz.planner.options import PLANNING_TIME, Options
from isoviz.planner.problem import Problem
from isoviz.planner.transfer import Transfer

PLANNING_SHARE = 0.1
"""Planning pays where it takes less than this share of the predicted transfer (Isometry, section 4.4)."""
LEAST_FULL_SECONDS = 50e-6
"""The full planner takes at least this on any computer: shorter transfers than ten times that need no measurement."""
MOST_FULL_SECONDS = 50e-3
"""The full planner takes at most this for paths that are listed: longer transfers than ten times that need no measurement."""
LEAST_SEARCH_SECONDS = 5e-3
"""Seconds in which a search over paths too many to list finds a good path on any computer; with less time it does not start."""


def planning_time(problem: Problem, seconds: float, *, listed: bool) -> float:
    """Seconds that the full planner may take for a transfer that is predicted to take `seconds`; 0 where planning does not pay.

    Where the paths are `listed`, planning cannot be cut short, so its whole cost has to stay below the share. Where they are not,
    the search can be stopped, but needs some time to find anything.
    """
    most = problem.options.planning_time or PLANNING_TIME
    if not listed:
        return min(most, PLANNING_SHARE * seconds) if PLANNING_SHARE * seconds >= LEAST_SEARCH_SECONDS else 0.0
    pays = seconds >= MOST_FULL_SECONDS / PLANNING_SHARE or (
        seconds >= LEAST_FULL_SECONDS / PLANNING_SHARE
        and planning_cost(min(len(problem.transfer.space), 2)) < PLANNING_SHARE * seconds
    )
    return most if pays else 0.0


@cache
def planning_cost(dimensions: int) -> float:
    """Seconds that the full planner takes to plan a conversion of an array of 1 dimension, or of 2 and more.

    It is the median over a few transfers between the GPUs of two nodes, measured once per process. The routes of the machine are
    known by then, as they are for a machine in use.
    """
    machine, fields = preset("two-node"), FieldSpace(re="float32", im="float32")
    layouts = ("<F, x>", "<x, F>") if dimensions == 1 else ("<F, x, y>", "<y, F, x>")
    found = []
    for k in range(6):
        space = IndexSpace(x=(1 << 20) + k) if dimensions == 1 else IndexSpace(x=4096 + k, y=4096)
        began = time.perf_counter()
        transfer = Transfer.whole(space, fields, "node0.fbm0", layouts[0], "node1.fbm0", layouts[1])
        result = search(Problem(transfer, machine, Options()))
        make_plan(result.problem, result.best, result.clock(result.best.route), "full")
        found.append(time.perf_counter() - began)
    return median(found[1:])
