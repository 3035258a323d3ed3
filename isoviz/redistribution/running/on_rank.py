"""Redistributions on one rank: the ranks agree on what they do, plan it once, open their arrays, run it, and keep the plan."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

from isoviz.errors import DistributionError
from isoviz.redistribution.planning import plan_redistribution
from isoviz.redistribution.running.meeting import Meeting
from isoviz.redistribution.running.opened_ends import OpenedEnds, Shown
from isoviz.redistribution.running.own_sendings import OwnSendings
from isoviz.redistribution.running.prepared import PreparedRedistribution

if TYPE_CHECKING:
    import numpy as np

    from isoviz.planner import Options
    from isoviz.redistribution.distributed_instance import DistributedInstance
    from isoviz.redistribution.redistribution_plan import RedistributionPlan
    from isoviz.redistribution.running.redistribution_report import RedistributionReport
    from isoviz.runtime.protocols import CancelToken, RealMemory
    from isoviz.runtime.ranks.rank_engine import RankEngine

T = TypeVar("T")
MOST_KEPT = 8
"""The most plans that an engine keeps for redistributions to come."""

Asked = tuple["DistributedInstance", "DistributedInstance", "Options | None"]
"""What a redistribution is asked for: source, destination, options."""


class OnRank(NamedTuple):
    """A redistribution that is done, as one rank sees it: the report on all ranks, and this rank's part of the destination.

    `array` has the shape and dtype of its layout; None where the rank has no part, or the part is a file.
    """

    report: RedistributionReport
    array: np.ndarray[Any, Any] | None


class _Kept(NamedTuple):
    """A plan that is kept, with what this rank carries out of it. The plan has the same number on all ranks."""

    number: int
    asked: Asked
    digest: bytes
    own: OwnSendings


class Redistributions:
    """What the engine of a rank keeps for redistributions: where the ranks meet, and the latest plans."""

    def __init__(self, engine: RankEngine) -> None:
        self._engine = engine
        self.meeting = Meeting(engine)
        self._kept: list[_Kept] = []
        self._memories: dict[str, RealMemory] = {}
        self._numbers = itertools.count(1)

    def prepare(self, asked: Asked, array: Any | None, into: Any | None, *, shows_source: bool) -> PreparedRedistribution:
        """A redistribution that is ready; when this returns, the ranks have just met.

        The ranks exchange one message if they have kept the plan: what each is asked for, and its opened ends.
        """
        kept = self._found(asked)
        digest = _digest(asked) if kept is None else kept.digest
        ends = OpenedEnds(self._engine, self._memory, *asked[:2])
        try:
            if kept is not None:
                ends.open(array, into, shows_source=shows_source)
            answers = self.meeting.gather("ends", (digest, None if kept is None else kept.number, ends.told))
            for rank, (other, _, _) in enumerate(answers):
                if other != digest:
                    mine = self._engine.rank
                    raise DistributionError(
                        f"redistribution: rank {mine} and rank {rank} ask for different ones; expected the same on all ranks"
                    )
            if kept is not None and all(number == kept.number for _, number, _ in answers):
                return self._ready(kept.own, ends, [Shown(*each) for _, _, each in answers])
            kept = self._planned(asked, digest)
            if ends.told is None:
                ends.open(array, into, shows_source=shows_source)
            return self._ready(kept.own, ends, [Shown(*each) for each in self.meeting.gather("ends opened", ends.told)])
        except BaseException as error:
            self.meeting.__exit__(type(error))
            ends.close()
            raise

    def prepare_plan(self, plan: RedistributionPlan, array: Any | None, into: Any | None) -> PreparedRedistribution:
        """The same for a plan that all ranks have. It is not kept."""
        own = self._together(lambda: OwnSendings(self._engine, plan))
        ends = OpenedEnds(self._engine, self._memory, plan.source, plan.destination)
        try:
            ends.open(array, into, shows_source=True)
            return self._ready(own, ends, [Shown(*each) for each in self.meeting.gather("ends opened", ends.told)])
        except BaseException as error:
            self.meeting.__exit__(type(error))
            ends.close()
            raise

    def close(self) -> None:
        """Forget everything, and end the meeting."""
        self._kept.clear()
        self._memories.clear()
        self.meeting.close()

    def _memory(self, name: str) -> RealMemory:
        found = self._memories.get(name)
        if found is None:
            found = self._engine.devices.memory(self._engine.machine.memory(name))
            if found is None:
                raise DistributionError(f"memory {name}: rank {self._engine.rank} has no such device")
            self._memories[name] = found
        return found

    def _found(self, asked: Asked) -> _Kept | None:
        for place, kept in enumerate(self._kept):
            if kept.asked == asked:
                self._kept.append(self._kept.pop(place))  # The one that was used longest ago is dropped first.
                return kept
        return None

    def _planned(self, asked: Asked, digest: bytes) -> _Kept:
        """A plan that rank 0 makes, with what this rank carries out of it. It is kept."""
        source, destination, options = asked
        engine = self._engine
        number, plan = engine.agreed(
            lambda: (next(self._numbers), plan_redistribution(source, destination, engine.machine, options))
        )
        self._kept = [each for each in self._kept if each.asked != asked]
        kept = _Kept(number, asked, digest, self._together(lambda: OwnSendings(engine, plan)))
        self._kept = [*self._kept[1 - MOST_KEPT :], kept]
        return kept

    def _ready(self, own: OwnSendings, ends: OpenedEnds, shown: Sequence[Shown]) -> PreparedRedistribution:
        """The redistribution, if all ranks could open their ends and either all or none have given arrays."""
        _raise_problem(ends.error, [each.problem for each in shown])
        if any(each.has_array for each in shown):
            for rank, each in enumerate(shown):
                if not each.has_array and own.plan.source.part(rank) is not None:
                    raise DistributionError(f"redistribution: rank {rank} gave no array for its part, and another rank gave one")
        else:
            self._together(ends.generate)
        return PreparedRedistribution(self._engine, self.meeting, own, ends, shown)

    def _together(self, work: Callable[[], T]) -> T:
        """Do work that may fail. If it fails on a rank, all ranks raise."""
        error: Exception | None = None
        made: T | None = None
        try:
            made = work()
        except Exception as found:  # noqa: BLE001  # the other ranks must not wait for this one
            error = found
        problem = None if error is None else f"rank {self._engine.rank}: {error}"
        _raise_problem(error, self.meeting.gather("preparation", problem))
        return cast("T", made)


def _raise_problem(own: Exception | None, problems: Sequence[str | None]) -> None:
    """Raise this rank's own error, or say what the first rank that failed has said."""
    if own is not None:
        raise own
    for problem in problems:
        if problem is not None:
            raise DistributionError(problem)


def _digest(asked: Asked) -> bytes:
    """16 bytes that are equal on all ranks that ask for the same."""
    source, destination, options = asked
    text = str((source.to_json(), destination.to_json(), None if options is None else options.as_dict()))
    return hashlib.blake2b(text.encode(), digest_size=16).digest()


def _redistributions(engine: RankEngine) -> Redistributions:
    """What an engine keeps. All ranks begin anew together after one of them was interrupted."""
    found = engine.attached(Redistributions)
    if found.meeting.is_over:
        found.meeting.close()
        found.meeting = Meeting(engine)
    return found


def prepare_on_rank(
    engine: RankEngine,
    source: DistributedInstance,
    destination: DistributedInstance,
    array: Any | None = None,
    into: Any | None = None,
    options: Options | None = None,
) -> PreparedRedistribution:
    """Prepare a redistribution together with all ranks of an engine; see `isoviz.prepare_redistribution`."""
    redistributions = _redistributions(engine)
    with redistributions.meeting:
        return redistributions.prepare((source, destination, options), array, into, shows_source=True)


def redistribute_on_rank(
    engine: RankEngine,
    source: DistributedInstance,
    destination: DistributedInstance,
    array: Any | None = None,
    into: Any | None = None,
    options: Options | None = None,
    *,
    verify: bool = True,
    cancel: CancelToken | None = None,
) -> OnRank:
    """Redistribute together with all ranks of an engine; see `isoviz.redistribute`."""
    redistributions = _redistributions(engine)
    with (
        redistributions.meeting,
        redistributions.prepare((source, destination, options), array, into, shows_source=verify) as prepared,
    ):
        return OnRank(prepared.run_at_once(verify=verify, cancel=cancel), prepared.array)


def run_on_rank(
    engine: RankEngine,
    plan: RedistributionPlan,
    array: Any | None = None,
    *,
    verify: bool = True,
    cancel: CancelToken | None = None,
) -> OnRank:
    """Carry out a plan that all ranks have; see `isoviz.redistribute`."""
    redistributions = _redistributions(engine)
    with redistributions.meeting, redistributions.prepare_plan(plan, array, None) as prepared:
        return OnRank(prepared.run_at_once(verify=verify, cancel=cancel), prepared.array)
