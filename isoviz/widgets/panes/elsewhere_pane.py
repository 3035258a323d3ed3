"""How long the transfer takes with its conversion at each hop of its path."""

from __future__ import annotations

from typing import TypedDict

from isoviz.widgets.consequences.derive import EVERYTHING
from isoviz.widgets.consequences.explained_plan import FoundElsewhere
from isoviz.widgets.panes.pane import pane
from isoviz.widgets.state import State


class ElsewherePart(TypedDict):
    """The seconds of the transfer with its conversion at each hop, as far as they are known: null where that hop cannot convert.

    `isOfPlan` says whether it is about the path of the plan on the screen. `done` says that nothing more follows.
    """

    seconds: list[float | None]
    done: bool
    isOfPlan: bool


@pane("elsewhere", "the time of the transfer with its conversion at each hop", {"elsewhere": EVERYTHING | {"elsewhere"}})
def elsewhere_part(state: State) -> ElsewherePart | None:
    """The times of the plan; None before the first of them is known."""
    found: FoundElsewhere | None = state.derived.later.get("elsewhere")
    if found is None:
        return None
    return {"seconds": list(found.seconds), "done": found.done, "isOfPlan": found.plan is state.derived.plan}
