"""Counted work: it bounds planning, in place of a clock.

A clock would make the plan depend on what else the computer does. So planning counts its steps, and a planning time is a number
of steps: `STEPS_PER_SECOND` for every second. The weights below are measured once (2-core x86-64, Zen 5), so that a second of
planning time takes about a second there. It takes longer on a slower or busy computer, with the same plan.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoviz.planner.options import PLANNING_TIME

if TYPE_CHECKING:
    from isoviz.planner.options import Options
    from isoviz.planner.problem import Problem

STEPS_PER_SECOND = 1_000_000
"""The steps of a second of planning time: a step is about a microsecond."""

PLANNING_SHARE = 0.1
"""Planning pays where it takes less than this share of the predicted transfer (Isometry, section 4.4)."""
LEAST_SEARCH_SECONDS = 5e-3
"""The planning time in which a search over paths too many to list finds a good path; with less it does not start."""

# ---- steps

PLAN_STEPS = 150
"""Steps of a plan besides the choice of its path."""
ROUTE_STEPS = 10
"""Steps of the lower bound of a listed route."""
FAMILY_STEPS = 150
"""Steps of a family of layouts (`intermediate.intermediate_layouts`) in a list of routes: few of the routes are worked out."""


class Work:
    """The steps that planning may take, and those that it has taken."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        """The planning time: the steps that it may take, in seconds."""
        self.steps = 0.0
        """The steps taken so far."""

    def add(self, steps: float) -> None:
        """Count further steps."""
        self.steps += steps

    @property
    def left(self) -> float:
        """The steps that are left; negative where more were taken."""
        return self.seconds * STEPS_PER_SECOND - self.steps

    @property
    def is_done(self) -> bool:
        """Whether no steps are left."""
        return self.left <= 0


def work_of(options: Options) -> Work:
    """The work that the options allow for one search."""
    return Work(options.planning_time or PLANNING_TIME)


def listed_steps(problem: Problem, routes: int) -> float:
    """The predicted steps of planning with a list of `routes` routes; the list itself is known for a machine in use."""
    return PLAN_STEPS + ROUTE_STEPS * routes + FAMILY_STEPS * len(problem.ends.families)


def work_that_pays(problem: Problem, seconds: float, routes: int | None) -> Work | None:
    """The work that the full planner may do for a transfer that is predicted to take `seconds`; None where planning does not pay.

    Where the paths are listed, as `routes` routes, planning cannot be cut short, so all its work has to stay below the share.
    Where they are not (None), the search can be stopped, but needs some work to find anything.
    """
    share = PLANNING_SHARE * seconds
    most = problem.options.planning_time or PLANNING_TIME
    if routes is None:
        return Work(min(most, share)) if share >= LEAST_SEARCH_SECONDS else None
    return Work(most) if listed_steps(problem, routes) < share * STEPS_PER_SECOND else None
