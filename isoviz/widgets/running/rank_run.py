"""Plans carried out by the MPI ranks of a session, verified."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from isoviz.errors import Cancelled, IsovizError, RankLost, RanksClosed
from isoviz.widgets.running.joint_run import JointPart, Outcome, on_one_clock
from isoviz.widgets.running.one_run import Tell
from isoviz.widgets.running.rank_keeper import RankKeeper, lost_words

if TYPE_CHECKING:
    from isoviz.machines import Machine
    from isoviz.planner import Plan
    from isoviz.runtime import Progress, Report


def execute_on_ranks(
    keeper: RankKeeper, count: int, plan: Plan, machine: Machine, tell: Tell, cancel: threading.Event
) -> tuple[Report, str]:
    """Carry out a plan with `count` ranks, which are started where none run; the report, and the MPI of the ranks.

    Raises:
        LaunchError: the ranks did not start. RankLost: a rank ended, or no longer answers. RunError: a hop failed.
        Cancelled: `cancel` was set.
    """
    tell("ranks", 0)
    ranks = keeper.running(count, cancel)
    tell("generate", 0)
    with _in_words():
        return ranks.run(plan, machine=machine, progress=_telling(tell), cancel=cancel), ranks.mpi


def run_together_on_ranks(
    keeper: RankKeeper, count: int, parts: Sequence[JointPart], machine: Machine, tell: Tell, cancel: threading.Event
) -> tuple[tuple[Outcome, ...], str]:
    """Carry out transfers together with `count` ranks and verify each. One that fails leaves the others running.

    Raises:
        LaunchError: the ranks did not start. RankLost: a rank ended, or no longer answers: then no transfer has an outcome.
        Cancelled: `cancel` was set before the transfers began.
    """
    tell("ranks", 0)
    ranks = keeper.running(count, cancel)
    tell("generate", 0)
    with _in_words():
        begins = [part.begin for part in parts]
        submitted = ranks.submit(*(part.plan for part in parts), machine=machine, begins=begins)
        found = submitted.outcomes(progress=_telling(tell), cancel=cancel)
    return on_one_clock([_outcome(each) for each in found], parts), ranks.mpi


def _outcome(found: Report | BaseException) -> Outcome:
    if isinstance(found, Cancelled):
        return Outcome(None, "Cancelled; nothing was left behind.", cancelled=True)
    if isinstance(found, IsovizError):
        return Outcome(None, str(found))
    if isinstance(found, BaseException):
        return Outcome(None, f"{type(found).__name__}: {found}")  # a defect: told like a failure, with its kind
    return Outcome(found)


def _telling(tell: Tell) -> Callable[[Progress], None]:
    def progress(step: Progress) -> None:
        tell("verify" if step.stage == "verify" else "move", step.bytes_done)

    return progress


@contextmanager
def _in_words() -> Iterator[None]:
    """The end of the ranks in words for the pane, which has buttons for what Python would be called for.

    Raises:
        RankLost, RanksClosed: the ranks have ended.
    """
    try:
        yield
    except RankLost as error:
        raise RankLost(lost_words(error), rank=error.rank, pid=error.pid) from None
    except RanksClosed:
        raise RanksClosed("the ranks were ended during the run") from None
