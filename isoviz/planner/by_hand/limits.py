"""The limits that bound the buffers of a path (Isometry, section 4.2): what they need, what is allowed, and words for both."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from isoviz.planner.path_plan import Constraint
from isoviz.units import format_bytes

if TYPE_CHECKING:
    from isoviz.machines import Machine
    from isoviz.planner.path_plan import Buffer, PathPlan
    from isoviz.planner.problem import Problem


def broken_limits(problem: Problem, paths: Sequence[PathPlan]) -> tuple[Constraint, ...]:
    """The limits that the buffers of some paths of a transfer break."""
    found: list[Constraint] = []
    hops = 0
    for path in paths:
        found += limits_of_path(path, problem, hops)
        hops += len(path.hops)
    found += limits_together([buffer for path in paths for buffer in path.buffers], problem)
    return tuple(each for each in found if not each.holds)


def limits_of_path(path: PathPlan, problem: Problem, first: int) -> Iterator[Constraint]:
    """The limits of each buffer of a path whose first hop has the number `first`."""
    for place, buffer in enumerate(path.buffers):
        if not problem.machine.memory(buffer.memory).holds_buffers:
            yield Constraint("buffers", first + place, buffer.memory, buffer.nbytes, 0)
        yield Constraint("slot", first + place, buffer.memory, buffer.nbytes, problem.own_slot_limit([buffer.memory]))


def limits_together(buffers: Sequence[Buffer], problem: Problem) -> Iterator[Constraint]:
    """The limits of all buffers of a transfer together."""
    if problem.memory_limit is not None and buffers:
        yield Constraint("memory-limit", None, "", sum(buffer.total_bytes for buffer in buffers), problem.memory_limit)
    for name in dict.fromkeys(buffer.memory for buffer in buffers):
        if problem.machine.memory(name).capacity is not None:
            need = sum(buffer.total_bytes for buffer in buffers if buffer.memory == name)
            yield Constraint("capacity", None, name, need, problem.free_bytes(name))


def limit_text(broken: Constraint, machine: Machine) -> str:
    """A limit that a plan breaks, in words with its figures."""
    needed, allowed, name = format_bytes(broken.needed), format_bytes(broken.allowed), broken.name
    match broken.constraint:
        case "buffers":
            return f"{name} ({machine.memory(name).kind}) holds no intermediate buffers"
        case "slot":
            return f"a chunk takes a slot of {needed} in {name}, where the slot limit is {allowed}"
        case "memory-limit":
            return f"all buffers take {needed}, the memory limit is {allowed}"
        case "capacity":
            beside = "" if broken.allowed == machine.memory(name).capacity else " beside the ends"
            return f"buffers take {needed} in {name}, which has {allowed} free{beside}"
        case _:
            return f"a chunk of {allowed} is smaller than a block, which a conversion has to hold: {needed}"


LIMITS = {"slot": "slot limit", "memory-limit": "memory limit", "shuffle": "shuffle size ≤ chunk"}
"""What notes call the constraints of limits, where that is not their name."""


def limit_notes(broken: Iterable[Constraint], machine: Machine) -> tuple[str, ...]:
    """The notes of a plan that breaks limits."""
    named = ((LIMITS.get(each.constraint, each.constraint), limit_text(each, machine)) for each in broken)
    return tuple(f"over the limits ({name}): {text}" for name, text in named)
