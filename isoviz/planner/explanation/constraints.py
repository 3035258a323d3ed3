"""The constraints of a path (Isometry, section 4.2) with the figures of a plan: which of them hold, and what is missing.

The program of a path has the same constraints with block sizes as unknowns. Here all decisions are made, by a planner or by hand.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from isoviz.planner.options import Options
from isoviz.planner.problem import Problem

if TYPE_CHECKING:
    from isoviz.machines import Machine
    from isoviz.planner.path_plan import PathPlan
    from isoviz.planner.plan import Plan

ConstraintKind = Literal["throughput", "shuffle", "slot", "memory-limit", "capacity", "resource", "buffers"]

ROUNDING = 1e-9
"""A left side above its bound by at most this share is rounding, and the constraint holds."""


@dataclass(frozen=True)
class Constraint:
    """`left` ≤ `bound`: bytes per second for `throughput` and `resource`, else bytes.

    - `throughput`: the wanted throughput ≤ the rate of hop `hop`, with its runs and chunks. Hops of one channel take turns; then
      the bound is what the channel sustains for all of them.
    - `shuffle`: the shuffle size of hop `hop`, between two buffers, ≤ the chunk.
    - `slot`: the slot that a chunk takes in the memory `name` ≤ the slot limit there (TH).
    - `memory-limit`: all buffers of the transfer together ≤ their limit.
    - `capacity`: the buffers in the memory `name` ≤ what is free in it.
    - `resource`: the bytes per second of the shared resource `name` at the wanted throughput ≤ its capacity.
    - `buffers`: the bytes of a buffer in the memory `name`, which holds no buffers, ≤ 0.
    """

    kind: ConstraintKind
    hop: int | None
    name: str
    left: float
    bound: float

    @property
    def holds(self) -> bool:
        """Whether the constraint holds."""
        return self.left <= self.bound * (1 + ROUNDING)

    @property
    def slack(self) -> float:
        """The unused part of the bound; negative by what is missing where the constraint does not hold."""
        return 0.0 if self.holds and self.left > self.bound else self.bound - self.left


def constraints_of(
    plan: Plan, machine: Machine, throughput: float, options: Options | None = None, chunk: float | None = None
) -> tuple[Constraint, ...]:
    """The constraints of every path of a plan for a wanted `throughput`, hop by hop, then those of whole paths.

    Several paths each take the share of the throughput that they have of the bytes. `chunk` is the size of a chunk that was asked
    for, in bytes, where it is smaller than that of the plan. `options` are those that the plan was made with.
    """
    problem = Problem(plan.transfer, machine, Options.given(options))
    found: list[Constraint] = []
    hops = 0
    in_turn = _in_turn(plan)
    for path in plan.paths:
        found += _of_path(path, problem, throughput, _share(plan, path), in_turn, chunk, hops)
        hops += len(path.hops)
    return (*found, *_together(plan, problem))


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


def _of_path(
    path: PathPlan,
    problem: Problem,
    throughput: float,
    share: float,
    in_turn: Mapping[str, float],
    chunk: float | None,
    first: int,
) -> Iterator[Constraint]:
    last = len(path.hops) - 1
    throughput *= share
    held = min(path.chunk_bytes if chunk is None else chunk, path.chunk_bytes)
    for hop, rate in enumerate(path.rates):
        channel = path.hops[hop].channel
        yield Constraint("throughput", first + hop, channel, throughput, in_turn[channel] * share if channel in in_turn else rate)
        if 0 < hop < last and path.hops[hop].converts:
            yield Constraint("shuffle", first + hop, path.hops[hop].channel, path.shuffles[hop], held)
    for place, buffer in enumerate(path.buffers):
        if not problem.machine.memory(buffer.memory).holds_buffers:
            yield Constraint("buffers", first + place, buffer.memory, buffer.nbytes, 0.0)
        yield Constraint("slot", first + place, buffer.memory, buffer.nbytes, problem.own_slot_limit([buffer.memory]))
    for costs, name in zip(path.shares, path.resources, strict=True):
        capacity = problem.machine.resource(name).capacity
        yield Constraint("resource", None, name, throughput * sum(costs) * capacity, capacity)


def _together(plan: Plan, problem: Problem) -> Iterator[Constraint]:
    if problem.memory_limit is not None and plan.buffers:
        yield Constraint("memory-limit", None, "", plan.buffer_bytes, problem.memory_limit)
    for name in dict.fromkeys(buffer.memory for buffer in plan.buffers):
        if problem.machine.memory(name).capacity is not None:
            need = sum(buffer.total_bytes for buffer in plan.buffers if buffer.memory == name)
            yield Constraint("capacity", None, name, need, problem.free(name))
