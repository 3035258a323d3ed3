"""Timing of plans on real ranks: rank 0 leads, and the other ranks carry out what it asks for."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from isoviz.backends.generate import fill
from isoviz.backends.pages import page_aligned
from isoviz.errors import RunError
from isoviz.machines import MemoryKind
from isoviz.measure import tuning
from isoviz.runtime.ranks.merging import merged
from isoviz.runtime.ranks.rank_engine import Item

if TYPE_CHECKING:
    from isoviz.backends.pages import Bytes
    from isoviz.planner import Plan
    from isoviz.runtime.ranks.merging import RankPart
    from isoviz.runtime.ranks.rank_engine import RankEngine


class _Order(NamedTuple):
    """What all ranks do next. `plans` is a pickle of plans, none where the measurement ends."""

    how: Literal["in turn", "together", "end"]
    plans: bytes = b""


class RankTimer:
    """Time plans on the ranks of an engine. All ranks make one; rank 0 measures with it, and the others `follow`.

    `registered(nbytes)` makes an array in the windows of this rank. Plans use successive parts of arrays of `room` bytes, sources
    in the first half and destinations in the second, so that no data of an earlier plan are in a cache.

    Raises:
        RunError: a plan failed on a rank, or a rank was lost.
    """

    def __init__(self, engine: RankEngine, room: int, registered: Callable[[int], Bytes]) -> None:
        self.engine, self.room = engine, room
        self._make = {MemoryKind.SYS: page_aligned, MemoryKind.REG: registered}
        self._arrays: dict[MemoryKind, Bytes] = {}
        self._at = 0
        self._ended = False

    def seconds(self, plans: Sequence[Plan]) -> list[float]:
        """The seconds of each plan, one after the other, as in a report. For rank 0."""
        return self._lead("in turn", plans)

    def together(self, plans: Sequence[Plan]) -> list[float]:
        """The seconds of each plan, all at the same time. For rank 0."""
        return self._lead("together", plans)

    def follow(self) -> None:
        """Carry out what rank 0 asks for, until it ends the measurement. For all other ranks."""
        while True:
            order = self.engine.gather(None)[0]
            assert isinstance(order, _Order)
            if order.how == "end":
                return
            self._carry_out(order.how, pickle.loads(order.plans))  # noqa: S301  # the ranks of a job trust each other

    def end(self) -> None:
        """Let the other ranks go. For rank 0, also after an error."""
        if not self._ended:
            self._ended = True
            self.engine.gather(_Order("end"))

    def _lead(self, how: Literal["in turn", "together"], plans: Sequence[Plan]) -> list[float]:
        self.engine.gather(_Order(how, pickle.dumps(plans)))
        return self._carry_out(how, plans)

    def _carry_out(self, how: Literal["in turn", "together"], plans: Sequence[Plan]) -> list[float]:
        items = [Item(plan, *self._ends(plan)) for plan in plans]
        batches = [[item] for item in items] if how == "in turn" else [items]
        mine: list[RankPart] = []
        for batch in batches:
            mine += self.engine.run_parts(batch, verify=False)
        every: Any = self.engine.gather([replace(part, spans=()) for part in mine])
        if self.engine.rank:
            return []
        machine = self.engine.machine
        return [
            max(merged(plan, machine, parts).seconds, tuning.CLOCK_TICK)
            for plan, parts in zip(plans, zip(*every, strict=True), strict=True)
        ]

    def _ends(self, plan: Plan) -> tuple[Bytes | None, Bytes | None]:
        """The parts of this rank's arrays that are the ends of a plan; None for an end on another rank."""
        transfer, half = plan.transfer, self.room // 2
        nbytes = max(transfer.source.linearization.nbytes, transfer.destination.linearization.nbytes)
        if nbytes > half:
            raise RunError(f"a job of {nbytes} bytes; expected at most {half}")
        if self._at + nbytes > half:
            self._at = 0
        at = self._at
        self._at += -(-nbytes // tuning.MIB) * tuning.MIB
        found: list[Bytes | None] = []
        for instance, begin in ((transfer.source, at), (transfer.destination, at + half)):
            memory = self.engine.machine.memory(instance.memory)
            is_here = memory.node == self.engine.rank
            found.append(self._array(memory.kind)[begin : begin + instance.linearization.nbytes] if is_here else None)
        return found[0], found[1]

    def _array(self, kind: MemoryKind) -> Bytes:
        """The array of a kind of memory, made when it is first used. Its pages are there before anything is measured."""
        if kind not in self._arrays:
            array = self._make[kind](self.room)
            fill(array, 0)
            self._arrays[kind] = array
        return self._arrays[kind]
