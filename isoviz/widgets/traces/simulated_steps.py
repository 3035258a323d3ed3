"""The steps of a simulation in words: each event, and the instructions with which the scheduler answers it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoviz.scheduling.work import Allocate, Cancel, Done, Failed, Finish, Issue, Release, Submit
from isoviz.units import format_bytes
from isoviz.widgets.trace_contract import ShownRequest, TraceStep

if TYPE_CHECKING:
    from isoviz.runtime.simulator import SimStep
    from isoviz.scheduling.work import Instruction, Stimulus, Work
    from isoviz.widgets.traces.simulating import Simulation

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
    """Words for the steps of a simulation; rows are those of its trace (`isoviz.widgets.traces.packed_trace`)."""

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
