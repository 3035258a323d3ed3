"""What earlier runs on this computer tell of the prediction of a plan: a stage."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoviz.widgets.consequences.places import Where
from isoviz.widgets.state import Problem

if TYPE_CHECKING:
    from isoviz.machines import Machine
    from isoviz.planner import Plan
    from isoviz.runtime.ledger.model_interval import ModelInterval


def runs_known() -> tuple[int, ...]:
    """What tells the ledger of now from earlier ones: it grows with every run, of any process."""
    from isoviz.runtime.ledger.ledger import ledger

    book = ledger()
    try:
        status = None if book is None else book.path.stat()
    except OSError:
        status = None
    return () if status is None else (status.st_ino, status.st_size)


def interval_of(
    _problems: dict[str, Problem], plan: Plan, _machine: Machine, where: Where, _runs: tuple[int, ...]
) -> ModelInterval | None:
    """The seconds that nine of ten runs of a plan should take.

    None where the plan does not run on this computer, or nothing is known of the errors of its predictions. It depends on the
    ledger as well; `_runs` differs where the ledger does (`runs_known`).
    """
    from isoviz.runtime.ledger.ledger import ledger
    from isoviz.runtime.ledger.model_interval import model_interval

    book = ledger() if where.is_here else None
    return None if book is None else model_interval(plan, book.recent())
