"""The steps that parts of the search are expected to take (`planner.planning_work`), known before they begin."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoviz.planner.planning_work import FAMILY_STEPS, PLAN_STEPS, ROUTE_STEPS
from isoviz.planner.search.tuning import (
    BATCH_STEPS,
    BOX_STEPS,
    BOXES_PER_BATCH,
    LINK_STEPS,
    LOOK_LINK_STEPS,
    LOOK_STEPS,
    WORKED_OUT_FAMILY_STEPS,
)
from isoviz.planner.tuning import WORKED_OUT_STEPS

if TYPE_CHECKING:
    from isoviz.planner.problem import Problem


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
