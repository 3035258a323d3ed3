"""What is tried on the plan, and the plan that follows from it."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

from isoviz.widgets.chosen.what_if import ShownWhatIf, WhatIf
from isoviz.widgets.consequences.what_if_plan import WhatIfPlan
from isoviz.widgets.panes.pane import pane
from isoviz.widgets.remembered import Remembered
from isoviz.widgets.state import State

if TYPE_CHECKING:
    from isoviz.machines import Machine
    from isoviz.planner import Plan


class WhatIfHop(TypedDict):
    """A hop of the plan with the changes, in bytes per second."""

    channel: str
    words: str
    source: str
    destination: str
    rate: float
    slowest: bool
    converts: bool


class WhatIfPart(TypedDict):
    """What is tried, and the plan with it. `plan` is null where there is none yet, or none at all: then `problem` says why.

    `seconds` are those of the first of `reuse` starts, `again` those of each later one. `isAnswer` says whether the plan is that
    of `whatIf`, else it is that of a moment ago. `isFinal` says that the planner has compared all that it compares, else the plan
    is the best of the paths that are known.
    """

    whatIf: ShownWhatIf
    isAnswer: bool
    isFinal: bool
    seconds: float | None
    again: float | None
    reuse: int
    throughput: float | None
    samePath: bool
    hops: list[WhatIfHop]
    problem: str


_hops: Remembered[list[WhatIfHop]] = Remembered(16)


@pane("what_if", "what is tried on the plan")
def what_if_part(state: State) -> WhatIfPart | None:
    """What is tried on the plan; None where nothing is."""
    question = state.what_if
    if question.changes_nothing:
        return None
    what_if_plan: WhatIfPlan | None = state.derived.later.get("what_if")
    if what_if_plan is None or what_if_plan.question.changes_nothing or what_if_plan.base is not state.derived.plan:
        return {
            "whatIf": _shown(question), "isAnswer": False, "isFinal": False, "seconds": None, "again": None, "reuse": 1,
            "throughput": None, "samePath": True, "hops": [], "problem": "",
        }  # fmt: skip
    plan, machine = what_if_plan.plan, what_if_plan.machine
    hops: list[WhatIfHop] = []
    if plan is not None and machine is not None:
        hops = _hops.of(lambda: hops_of(plan, machine), plan)
    base = [hop.channel for hop in what_if_plan.base.every_hop]
    return {
        "whatIf": _shown(question),
        "isAnswer": what_if_plan.question == question,
        "isFinal": what_if_plan.is_final,
        "seconds": None if plan is None else plan.seconds,
        "again": None if plan is None else plan.again,
        "reuse": 1 if plan is None else plan.reuse,
        "throughput": None if plan is None else plan.throughput,
        "samePath": [hop["channel"] for hop in hops] == base,
        "hops": hops,
        "problem": what_if_plan.problem,
    }


def _shown(question: WhatIf) -> ShownWhatIf:
    return {
        "bandwidths": list(question.bandwidths),
        "slotLimit": question.slot_limit,
        "sizes": list(question.sizes),
        "reuse": question.reuse,
        "capacities": list(question.capacities),
    }


def hops_of(plan: Plan, machine: Machine) -> list[WhatIfHop]:
    """The hops of a plan, path after path."""
    return [
        {
            "channel": hop.channel,
            "words": machine.channel(hop.channel).kind.words,
            "source": hop.source,
            "destination": hop.destination,
            "rate": hop.throughput,
            "slowest": hop.index in slowest,
            "converts": hop.converts,
        }
        for path, slowest in zip(plan.paths, plan.slowest, strict=True)
        for hop in path.hops
    ]
