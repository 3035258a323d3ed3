"""The constraints of a path (Isometry, section 4.2) with the figures of a plan: which of them hold, and what is missing.

The program of a path has the same constraints with block sizes as unknowns. Here all decisions are made, by a planner or by hand.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from isoviz.planner.options import Options
from isoviz.planner.problem import Problem
from isoviz.units import format_bytes, format_rate

if TYPE_CHECKING:
    from isoviz.machines import Machine
    from isoviz.planner.path_plan import Buffer, PathPlan
    from isoviz.planner.plan import Plan

ConstraintKind = Literal["throughput", "shuffle", "slot", "memory-limit", "capacity", "resource", "buffers"]
RATES = ("throughput", "resource")
"""The constraints in bytes per second; all others are in bytes."""

ROUNDING = 1e-9
"""A rate above its bound by at most this share is rounding, and the constraint holds."""


@dataclass(frozen=True)
class Constraint:
    """`needed` ≤ `allowed`: bytes per second for `throughput` and `resource`, else bytes.

    - `throughput`: the wanted throughput ≤ the rate of hop `hop`, with its runs and chunks. Hops of one channel take turns; then
      the bound is what the channel sustains for all of them.
    - `shuffle`: the shuffle size of hop `hop`, between two buffers, ≤ the chunk. Without a hop: the smallest block of the path ≤
      the chunk that was asked for.
    - `slot`: the slot that a chunk takes in the memory `name` ≤ the slot limit there (TH).
    - `memory-limit`: all buffers of the transfer together ≤ their limit.
    - `capacity`: the buffers in the memory `name` ≤ what is free in it.
    - `resource`: the bytes per second of the shared resource `name` at the wanted throughput ≤ its capacity.
    - `buffers`: the bytes of a buffer in the memory `name`, which holds no buffers, ≤ 0.
    """

    constraint: ConstraintKind
    hop: int | None
    name: str
    needed: float
    allowed: float

    @property
    def holds(self) -> bool:
        """Whether the constraint holds."""
        return self.needed <= (self.allowed * (1 + ROUNDING) if self.constraint in RATES else self.allowed)

    @property
    def slack(self) -> float:
        """The unused part of what is allowed; negative by what is missing where the constraint does not hold."""
        return 0.0 if self.holds and self.needed > self.allowed else self.allowed - self.needed

    def __str__(self) -> str:
        form = format_rate if self.constraint in RATES else format_bytes
        where = [f" of hop {self.hop}"] * (self.hop is not None) + [f" ({self.name})"] * bool(self.name)
        return f"{self.constraint}{''.join(where)}: {form(self.needed)} needed, {form(self.allowed)} allowed"


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


def constraints_of(plan: Plan, machine: Machine, throughput: float, options: Options | None = None) -> tuple[Constraint, ...]:
    """The constraints of every path of a plan for a wanted `throughput`, hop by hop, then those of whole paths.

    Several paths each take the share of the throughput that they have of the bytes. `options` are those that the plan was made
    with.
    """
    problem = Problem(plan.transfer, machine, Options.given(options))
    found: list[Constraint] = []
    hops = 0
    in_turn = _in_turn(plan)
    for path in plan.paths:
        found += _of_hops(path, plan, throughput * _share(plan, path), in_turn, hops)
        found += _of_buffers(path, problem, hops)
        found += _of_resources(path, problem, throughput * _share(plan, path))
        hops += len(path.hops)
    return (*found, *_together(plan.buffers, problem))


def broken_limits(problem: Problem, paths: Sequence[PathPlan]) -> tuple[Constraint, ...]:
    """The limits that the buffers of some paths of a transfer break."""
    found: list[Constraint] = []
    hops = 0
    for path in paths:
        found += _of_buffers(path, problem, hops)
        hops += len(path.hops)
    found += _together([buffer for path in paths for buffer in path.buffers], problem)
    return tuple(each for each in found if not each.holds)


def _share(plan: Plan, path: PathPlan) -> float:
    """The share of a path of the bytes of its plan."""
    return path.bytes / plan.bytes if plan.bytes else 1.0


def _in_turn(plan: Plan) -> dict[str, float]:
    """For every channel that several hops use, the bytes per second of the plan that it sustains for all of them."""
    uses: dict[str, list[float]] = {}
    for path in plan.paths:
        for hop, rate in zip(path.hops, path.rates, strict=True):
            uses.setdefault(hop.channel, []).append(_share(plan, path) / rate if rate else math.inf)
    return {name: 1 / sum(seconds) for name, seconds in uses.items() if len(seconds) > 1}


def _of_hops(path: PathPlan, plan: Plan, throughput: float, in_turn: Mapping[str, float], first: int) -> Iterator[Constraint]:
    last, share = len(path.hops) - 1, _share(plan, path)
    asked = (each.allowed for each in plan.violations if each.constraint == "shuffle")
    held = min([path.chunk_bytes, *asked])
    for hop, rate in enumerate(path.rates):
        channel = path.hops[hop].channel
        yield Constraint("throughput", first + hop, channel, throughput, in_turn[channel] * share if channel in in_turn else rate)
        if 0 < hop < last and path.hops[hop].converts:
            yield Constraint("shuffle", first + hop, channel, path.shuffles[hop], held)


def _of_buffers(path: PathPlan, problem: Problem, first: int) -> Iterator[Constraint]:
    for place, buffer in enumerate(path.buffers):
        if not problem.machine.memory(buffer.memory).holds_buffers:
            yield Constraint("buffers", first + place, buffer.memory, buffer.nbytes, 0)
        yield Constraint("slot", first + place, buffer.memory, buffer.nbytes, problem.own_slot_limit([buffer.memory]))


def _of_resources(path: PathPlan, problem: Problem, throughput: float) -> Iterator[Constraint]:
    for costs, name in zip(path.shares, path.resources, strict=True):
        capacity = problem.machine.resource(name).capacity
        yield Constraint("resource", None, name, throughput * sum(costs) * capacity, capacity)


def _together(buffers: Sequence[Buffer], problem: Problem) -> Iterator[Constraint]:
    if problem.memory_limit is not None and buffers:
        yield Constraint("memory-limit", None, "", sum(buffer.total_bytes for buffer in buffers), problem.memory_limit)
    for name in dict.fromkeys(buffer.memory for buffer in buffers):
        if problem.machine.memory(name).capacity is not None:
            need = sum(buffer.total_bytes for buffer in buffers if buffer.memory == name)
            yield Constraint("capacity", None, name, need, problem.free(name))
