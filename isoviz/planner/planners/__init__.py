"""The planners, and `plan()`, which calls one of them."""

from isoviz.planner.planners.multipath_planner import plan_together
from isoviz.planner.planners.planner_call import machine_of, plan

__all__ = ["machine_of", "plan", "plan_together"]
