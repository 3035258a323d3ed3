"""What planning costs on this computer, so that `auto` plans no longer than pays."""

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

SHARE = 0.1
"""Planning pays where it takes less than this share of the predicted transfer (Isometry, section 4.4)."""
LEAST, MOST = 50e-6, 50e-3
"""Seconds between which the full planner takes on any computer: outside of ten times that, nothing needs measuring."""
LEAST_SEARCH = 5e-3
"""Seconds in which a search for a path among many finds a good one on any computer."""


def planning_time(problem: Problem, seconds: float, *, listed: bool) -> float:
    """Seconds that the full planner may take for a transfer that is predicted to take `seconds`; 0 where it does not pay.

    Where the paths of the machine are `listed` it takes what it takes, so it has to cost less than the share; where they are not
    it can be stopped, but needs some time to begin with.
    """
    most = problem.options.planning_time or PLANNING_TIME
    if not listed:
        return min(most, SHARE * seconds) if SHARE * seconds >= LEAST_SEARCH else 0.0
    pays = seconds >= MOST / SHARE or (
        seconds >= LEAST / SHARE and planning_cost(min(len(problem.transfer.space), 2)) < SHARE * seconds
    )
    return most if pays else 0.0


@cache
def planning_cost(dimensions: int) -> float:
    """Seconds the full planner takes for a conversion of an array of 1 or of 2 and more dimensions: the median of a few between
    the GPUs of two nodes, measured once per process. Paths are known by then, as they are for a machine in use."""
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
