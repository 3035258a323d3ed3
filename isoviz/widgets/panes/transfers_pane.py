"""The transfers of a session: what was planned for each."""

from __future__ import annotations

from typing import TypedDict

from isoviz.widgets.panes.pane import pane
from isoviz.widgets.state import State


class ShownTransferPlan(TypedDict):
    """What was planned for a transfer: seconds and bytes, null where there is no plan; then `problem` says why."""

    key: int
    seconds: float | None
    bytes: int | None
    problem: str


class TransfersPart(TypedDict):
    """What was planned for every transfer, the one that is edited last."""

    plans: list[ShownTransferPlan]


@pane("transfers", "the plans of all transfers")
def transfers_part(state: State) -> TransfersPart:
    """What was planned for every transfer."""
    derived = state.derived
    plan = derived.plan
    shown_plans: list[ShownTransferPlan] = [
        {
            "key": each.key,
            "seconds": None if each.plan is None else each.plan.seconds,
            "bytes": None if each.plan is None else each.plan.bytes,
            "problem": each.reason or ("" if each.where is None else each.where.reason),
        }
        for each in derived.beside
    ]
    shown_plans.append(
        {
            "key": state.settings.key,
            "seconds": None if plan is None else plan.seconds,
            "bytes": None if plan is None else plan.bytes,
            "problem": "",
        }
    )
    return {"plans": shown_plans}
