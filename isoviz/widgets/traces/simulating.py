"""A plan simulated for the explorer: quickly, in parts that can be given up, and with what runs beside it."""

from __future__ import annotations

import time
from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from isoviz.errors import IsovizError
from isoviz.scheduling.work import Allocate, Cancel, Done, Failed, Finish, Issue, Release, Submit
from isoviz.units import format_bytes, format_seconds
from isoviz.widgets.state import Problem, sentence
from isoviz.widgets.trace_contract import ShownRequest, TraceStep

if TYPE_CHECKING:
    from isoviz.machines import Machine
    from isoviz.planner import Plan
    from isoviz.runtime import Simulator, Trace
    from isoviz.runtime.simulator import SimStep
    from isoviz.scheduling.work import Instruction, Stimulus, Work
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


# ---- its steps in words: each event, and the instructions with which the scheduler answers it


MOST_STEPS = 1000
"""The most steps in one answer."""
MOST_PASSED = 200_000
"""The most steps before the first step of an answer. Simulating them takes some seconds."""


def trace_steps(simulation: Simulation, first: int = 0, begin: float = 0.0) -> list[TraceStep]:
    """The steps of a simulation from number `first` on, at most `MOST_STEPS` + 1. Their times are seconds since `begin`.

    Raises:
        IsovizError: the plans cannot be simulated.
    """
    simulator = simulation.simulator()
    words = _Words(simulation)
    if first:
        simulator.advance(most=min(first, MOST_PASSED))
    steps: list[TraceStep] = []
    while len(steps) <= MOST_STEPS and (step := simulator.step()) is not None:
        steps.append(words.step(step, begin))
    return steps


class _Words:
    """Words for the steps of a simulation; rows are those of its trace (`isoviz.widgets.traces.session_traces`)."""

    def __init__(self, simulation: Simulation) -> None:
        from isoviz.runtime.pipeline import work_of

        self._machine = simulation.machine
        self._labels = [each.label for each in simulation.transfers]
        size = simulation.request_bytes
        self._works = [
            work_of(each.plan, each.priority, pipelined=simulation.pipelined, request_bytes=size) for each in simulation.transfers
        ]
        self._first = [0]
        for work in self._works:
            self._first.append(self._first[-1] + len(work.channels))

    def step(self, step: SimStep, begin: float) -> TraceStep:
        """A step for the browser."""
        issues = [each for each in step.instructions if isinstance(each, Issue)]
        others = [_sentence(self._answer(each)) for each in step.instructions if not isinstance(each, Issue)]
        answers = [*others, *(_sentence(text) for text in self._issued(issues))]
        ended = step.stimulus if isinstance(step.stimulus, Done | Failed) and step.stimulus.hop >= 0 else None
        return {
            "seconds": step.seconds - begin,
            "stimulus": _sentence(self._stimulus(step.stimulus)),
            "answers": answers or ["Nothing else can begin yet."],
            "ended": None if ended is None else self._request(ended),
            "begun": [self._request(each) for each in issues],
        }

    def _request(self, at: Issue | Done | Failed) -> ShownRequest:
        return {"row": self._first[at.transfer] + at.hop, "chunk": at.chunk, "request": at.request}

    def _stimulus(self, stimulus: Stimulus) -> str:
        if isinstance(stimulus, Submit):
            work = stimulus.work
            hops = _counted(len(work.channels), "hop")
            urgency = f", priority {work.priority}" if len(self._works) > 1 else ""
            return f"{self._label(stimulus.transfer)} is submitted: {_counted(work.chunks, 'chunk')} over {hops}{urgency}"
        if isinstance(stimulus, Failed):
            return f"{self._place(stimulus)} has failed: {stimulus.reason}"
        if isinstance(stimulus, Done):
            return f"{self._place(stimulus)} is done"
        if isinstance(stimulus, Cancel):
            return f"{self._label(stimulus.transfer)} is cancelled"
        return "the scheduler has nothing left to wait for"

    def _answer(self, instruction: Instruction) -> str:
        if isinstance(instruction, Allocate):
            return f"{self._label(instruction.transfer)} {self._buffers(self._works[instruction.transfer])}"
        if isinstance(instruction, Release):
            return f"{self._label(instruction.transfer)} gives its buffers back"
        assert isinstance(instruction, Finish)
        reason = f": {instruction.reason}" if instruction.reason else ""
        return f"{self._label(instruction.transfer)} is {instruction.outcome}{reason}"

    def _buffers(self, work: Work) -> str:
        held = [
            f"{_counted(each.slots, 'slot')} of {format_bytes(each.nbytes)} in {self._memory(each.memory)}" for each in work.rings
        ]
        return f"gets its buffers: {', '.join(held)}" if held else "begins: it needs no buffers"

    def _issued(self, issues: list[Issue]) -> list[str]:
        """The requests that are handed to channels, those of one chunk and hop together."""
        found: dict[tuple[int, int, int], list[int]] = {}
        for each in issues:
            found.setdefault(each[:3], []).append(each.request)
        texts = []
        for (transfer, hop, chunk), requests in found.items():
            work = self._works[transfer]
            part = "" if len(requests) == work.requests[hop] else f", {_numbers(requests)} of {work.requests[hop]}"
            texts.append(f"{self._channel(work, hop)} gets chunk {chunk}{self._whose(transfer)}{part}")
        return texts

    def _place(self, at: Issue | Done | Failed) -> str:
        work = self._works[at.transfer]
        count = work.requests[at.hop]
        part = f", request {at.request + 1} of {count}" if count > 1 else ""
        return f"chunk {at.chunk}{self._whose(at.transfer)} on hop {at.hop} ({self._channel(work, at.hop)}){part}"

    def _channel(self, work: Work, hop: int) -> str:
        return self._machine.channel(work.channels[hop]).kind.words

    def _memory(self, name: str) -> str:
        memory = self._machine.memory(name)
        return f"{memory.kind.words} of node {memory.node}"

    def _label(self, transfer: int) -> str:
        return self._labels[transfer]

    def _whose(self, transfer: int) -> str:
        return f" of {self._labels[transfer]}" if len(self._works) > 1 else ""


def _numbers(requests: list[int]) -> str:
    low, high = min(requests) + 1, max(requests) + 1
    return f"request {low}" if low == high else f"requests {low} to {high}"


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + "."


def _counted(number: int, what: str) -> str:
    return f"{number:,} {what}{'s'[: number != 1]}"
