"""The steps of a simulation as text: each event, and the instructions of the scheduler."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoviz.scheduling.work import Allocate, Cancel, Done, Failed, Finish, Issue, Release, Submit
from isoviz.units import format_bytes, format_seconds

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from isoviz.runtime.simulator import SimStep
    from isoviz.scheduling.work import Instruction, PathWork, Stimulus, Work


def steps_text(steps: Iterable[SimStep], works: Mapping[int, Work] | None = None) -> Iterator[str]:
    """The lines of the steps. `works` has the transfers submitted before the first of them, by number."""
    known = dict(works or {})
    for count, step in enumerate(steps, start=1):
        if isinstance(step.stimulus, Submit):
            known[step.stimulus.transfer] = step.stimulus.work
        yield f"{count}. {format_seconds(step.seconds)}: {stimulus_text(step.stimulus, known)}"
        answers = [instruction_text(instruction, known) for instruction in step.instructions]
        yield from (f"     → {answer}" for answer in answers or ["nothing can go on yet"])


def stimulus_text(stimulus: Stimulus, works: Mapping[int, Work]) -> str:
    """An event as text."""
    if isinstance(stimulus, Submit):
        work = stimulus.work
        paths = "; ".join(_path(path) for path in work.paths)
        count = f"{len(work.paths)} paths: " if len(work.paths) > 1 else ""
        return f"transfer {stimulus.transfer} is submitted: {count}{paths}{_priority(work)}"
    if isinstance(stimulus, Done):
        return f"{_request(stimulus, works)} is done"
    if isinstance(stimulus, Failed):
        where = "its buffers could not be made" if stimulus.hop < 0 else f"{_request(stimulus, works)} failed"
        return f"{where}: {stimulus.reason}"
    assert isinstance(stimulus, Cancel)
    return f"transfer {stimulus.transfer} is cancelled"


def instruction_text(instruction: Instruction, works: Mapping[int, Work]) -> str:
    """An instruction of the scheduler as text."""
    if isinstance(instruction, Issue):
        name = works[instruction.transfer].channels[instruction.hop]
        return f"hand to {name}: {_request(instruction, works)}"
    if isinstance(instruction, Allocate):
        rings = works[instruction.transfer].rings
        held = ", ".join(f"{_count(ring.slots, 'slot')} of {format_bytes(ring.nbytes)} in {ring.memory}" for ring in rings)
        return f"transfer {instruction.transfer} gets its buffers: {held or 'it needs none'}"
    if isinstance(instruction, Release):
        return f"transfer {instruction.transfer} gives its buffers back"
    assert isinstance(instruction, Finish)
    return f"transfer {instruction.transfer} is {instruction.outcome}" + (f": {instruction.reason}" if instruction.reason else "")


def _request(at: Issue | Done | Failed, works: Mapping[int, Work]) -> str:
    work = works[at.transfer]
    requests = work.requests[at.hop]
    part = f", request {at.request + 1} of {requests}" if requests > 1 else ""
    return f"transfer {at.transfer}, hop {at.hop}, chunk {at.chunk}{part}"


def _path(path: PathWork) -> str:
    how = "" if path.pipelined or len(path.channels) == 1 else ", stored and forwarded"
    return f"{_count(len(path.channels), 'hop')}, {_count(path.chunks, 'chunk')}{how}"


def _priority(work: Work) -> str:
    return f", priority {work.priority}" if work.priority else ""


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'s'[: number != 1]}"
