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

STEPS_PER_SECOND = 1_000_000
"""The steps of a second of planning time: a step is about a microsecond."""

WORTH = 1 / 3
"""Sparing work may cost this share of what it can save at most. On 250 random transfers over the presets, planning and transfer
together, in counted steps, take 0.85 of the time that they take with `simple` (geometric mean; at worst 1.26). Shares of 1/4 and
1/2 give 0.85 and 0.86 (at worst 1.21 and 1.37)."""

NO_COST = 0.01
"""Planning that takes less than this share of the transfer needs no saving: `full` also proves its plan."""

# ---- steps

PLAN_STEPS = 150
"""Steps of a plan besides the choice of its path."""
ROUTE_STEPS = 10
"""Steps of the lower bound of a listed route."""
FAMILY_STEPS = 150
"""Steps of a family of layouts (`intermediate.intermediate_layouts`) in a list of routes: few of the routes are worked out."""


class WorkDone(Exception):  # noqa: N818  # it reports no error
    """All steps of a search are taken; raised and caught within the search."""


class Work:
    """The steps that planning may take, and those that it has taken.

    Sparing work goes on only while it costs less than a share of what it can still save (`pays`, `WORTH`).
    """

    def __init__(self, seconds: float, *, sparing: bool = False, starts: int = 1) -> None:
        self.seconds = seconds
        """The planning time: the steps that it may take, in seconds."""
        self.sparing = sparing
        self.starts = starts
        """How often the transfer starts, and saves what planning finds."""
        self.steps = 0.0
        """The steps taken so far."""

    def add(self, steps: float) -> None:
        """Count further steps."""
        self.steps += steps

    def spend(self, steps: float) -> None:
        """Count further steps of a search that has a result already.

        Raises:
            WorkDone: no steps are left.
        """
        self.steps += steps
        if self.is_done:
            raise WorkDone

    @property
    def left(self) -> float:
        """The steps that are left; negative where more were taken."""
        return self.seconds * STEPS_PER_SECOND - self.steps

    @property
    def is_done(self) -> bool:
        """Whether no steps are left."""
        return self.left <= 0

    def may_continue(self, saving: float, steps: float) -> bool:
        """Whether planning may go on.

        There are steps left, and sparing work takes `steps` further ones only where they can save more: at most `saving` seconds
        of every start.
        """
        return not self.is_done and (not self.sparing or steps < WORTH * saving * self.starts * STEPS_PER_SECOND)


def work_of(options: Options, searches: int = 1, *, sparing: bool = False) -> Work:
    """The work that the options allow for some searches together."""
    return Work(searches * (options.planning_time or PLANNING_TIME), sparing=sparing, starts=options.reuse or 1)
