"""The plans of the transfers beside the one that is edited: values, and the controls of their problems."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from isoviz.planner import Plan
    from isoviz.widgets.consequences.places import Where


@dataclass(frozen=True)
class BesidePlan:
    """What follows from a transfer beside the one that is edited: its plan on the machine of the session.

    `key` and `name` are those of the transfer. `begin` is in seconds after the begin of all; the priority is that of
    `plan.transfer`. Where there is no plan, `reason` says why; else `where` says where it runs.
    """

    key: int
    name: str
    plan: Plan | None
    begin: float = 0.0
    reason: str = ""
    where: Where | None = None


def control_of(key: int) -> str:
    """The control at which problems of a transfer beside the edited one are told."""
    return f"beside:{key}"


def is_of_beside(control: str) -> bool:
    """Whether a problem is about a transfer beside the edited one."""
    return control.startswith("beside:")
