"""A plan simulated for the explorer: quickly, in parts that can be given up, and with what runs beside it."""

from __future__ import annotations

import time
from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from isoviz.errors import IsovizError
from isoviz.units import format_seconds
from isoviz.widgets.state import Problem, sentence

if TYPE_CHECKING:
    from isoviz.machines import Machine
    from isoviz.planner import Plan
    from isoviz.runtime import Simulator, Trace
    from isoviz.widgets.consequences.transfer_stages import Turn
    from isoviz.widgets.state import OtherPlan

MOST_REQUESTS = 100_000
"""With more requests than this, a request is a whole chunk."""
PATIENCE = 2.0
"""Seconds after which a simulation ends where it is."""
PART = 2_000
"""Events between two places where a simulation can be given up: some hundredths of a second."""


class Simulated(NamedTuple):
    """A transfer of a simulation: its plan, what it is called, its priority, when it is submitted (seconds), and its key in the
    session (`isoviz.widgets.chosen.transfers`)."""

    plan: Plan
    label: str
    priority: int
    start: float
    key: int = 0


@dataclass(frozen=True, eq=False)
class Simulation:
    """A simulation of plans on a machine; the first one is the session's own.

    `trace` is None if they cannot be simulated: `problem` says why. `note` says what was left out, "" if nothing was. With
    `request_bytes`, requests are about that long.
    """

    machine: Machine
    transfers: tuple[Simulated, ...]
    pipelined: bool
    request_bytes: int
    trace: Trace | None = None
    note: str = ""
    problem: str = ""

    @cached_property
    def plan(self) -> Plan:
        """The plan of the session's own transfer."""
        return self.transfers[0].plan

    def simulator(self) -> Simulator:
        """A simulator to which the transfers have been submitted.

        Raises:
            IsovizError: they cannot be simulated: a buffer is larger than its memory, or a plan is for another machine.
        """
        from isoviz.runtime import Simulator

        simulator = Simulator(self.machine, request_bytes=self.request_bytes)
        for each in self.transfers:
            simulator.submit(each.plan, at=each.start, priority=each.priority, pipelined=self.pipelined, label=each.label)
        return simulator


def simulation_of(
    _problems: dict[str, Problem],
    plan: Plan,
    machine: Machine,
    turn: Turn,
    typed_key: int,
    typed_name: str,
    other_plans: tuple[OtherPlan, ...],
) -> Generator[None, None, Simulation]:
    """The plan simulated, pipelined as it is, together with the other plans: a stage."""
    return (yield from _simulated(machine, _transfers(plan, turn, typed_key, typed_name, other_plans), pipelined=True))


def stored_simulation_of(
    _problems: dict[str, Problem],
    plan: Plan,
    machine: Machine,
    turn: Turn,
    typed_key: int,
    typed_name: str,
    other_plans: tuple[OtherPlan, ...],
) -> Generator[None, None, Simulation]:
    """The same, stored and forwarded: every hop moves everything before the next hop begins. A stage."""
    return (yield from _simulated(machine, _transfers(plan, turn, typed_key, typed_name, other_plans), pipelined=False))


def _transfers(plan: Plan, turn: Turn, key: int, name: str, other_plans: Sequence[OtherPlan]) -> tuple[Simulated, ...]:
    """The transfer that is edited, then the others that have a plan."""
    own = Simulated(plan, name, plan.transfer.priority, turn.begin, key)
    others = [
        Simulated(each.plan, each.name, each.plan.transfer.priority, each.begin, each.key)
        for each in other_plans
        if each.plan is not None
    ]
    return (own, *others)


def _simulated(machine: Machine, transfers: tuple[Simulated, ...], pipelined: bool) -> Generator[None, None, Simulation]:
    request_bytes, note = _request_bytes([each.plan for each in transfers])
    asked = Simulation(machine, transfers, pipelined, request_bytes, note=note)
    try:
        simulator = asked.simulator()
    except IsovizError as error:
        return replace(asked, problem=sentence(str(error)))
    end = time.monotonic() + PATIENCE
    while simulator.advance(most=PART):
        yield
        if time.monotonic() > end:
            note = f"Only the first {format_seconds(simulator.now)} were simulated. {note}".strip()
            break
    return replace(asked, trace=simulator.trace(), note=note)


def _request_bytes(plans: Sequence[Plan]) -> tuple[int, str]:
    """About how long requests are, and what is to be said of it."""
    from isoviz.machines.cards import REQUEST_BYTES
    from isoviz.runtime.pipeline import work_of

    works = [work_of(plan) for plan in plans]
    count = sum(path.chunks * sum(path.requests) for work in works for path in work.paths)
    if count <= MOST_REQUESTS:
        return REQUEST_BYTES, ""
    longest = max(path.chunk_bytes for plan in plans for path in plan.paths)
    return longest, f"A request here is a whole chunk: otherwise there were {count:,} requests to simulate."
