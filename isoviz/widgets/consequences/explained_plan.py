"""Why a plan is what it is, and what would make a rival win: slow stages."""

from __future__ import annotations

import re
from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from isoviz.errors import IsovizError
from isoviz.widgets.chosen.settings import ByHand
from isoviz.widgets.state import Problem, sentence

if TYPE_CHECKING:
    from isoviz.machines import Machine
    from isoviz.planner import Explanation, Options, Plan, Transfer
    from isoviz.planner.explanation.constraints import Constraint
    from isoviz.planner.explanation.explanation import Region, Turn
    from isoviz.planner.program.path_bound import PathProgram, RowState


TURN_SECONDS = 6.0
"""The planning time for which it is asked what would make rivals win."""
MOST_RIVALS = 3
"""Rivals for which it is asked what would make them win."""


@dataclass(frozen=True)
class Explained:
    """The constraints of a plan with what else there is to say.

    `target` is the throughput for which the constraints are judged, `optimum` the most that the path sustains (None: unknown).
    `rows` are those of the program of the path, with their prices. `explanation` is None for a plan by hand; then `reference` is
    what the planner makes of the same transfer. `problem` says in words what could not be explained, "" where nothing is missing.
    """

    plan: Plan
    machine: Machine
    options: Options
    target: float
    optimum: float | None
    constraints: tuple[Constraint, ...]
    rows: tuple[RowState, ...] = ()
    region: Region | None = None
    explanation: Explanation | None = None
    reference: Plan | None = None
    problem: str = ""


@dataclass(frozen=True)
class Turns:
    """What would make rivals of a plan win, as far as it has been found; `done` where nothing follows, `cut` where the
    planning time was used up before all rivals were asked about."""

    plan: Plan
    found: tuple[Turn, ...] = ()
    done: bool = False
    cut: bool = False


def explained_plan(
    _problems: dict[str, Problem], plan: Plan, machine: Machine, options: Options, typed_by_hand: ByHand | None
) -> Explained:
    """The explanation of a plan."""
    return _planned(plan, machine, options) if typed_by_hand is None else _by_hand(plan, machine, options, typed_by_hand)


def _planned(plan: Plan, machine: Machine, options: Options) -> Explained:
    from isoviz.planner import explain
    from isoviz.planner.explanation.constraints import constraints_of
    from isoviz.planner.explanation.paths_explanation import lead

    first = lead(plan)
    rows = constraints_of(first, machine, first.throughput, options)
    found = Explained(plan, machine, options, first.throughput, None, rows)
    try:
        why = explain(plan, machine, options=options)
    except IsovizError as error:
        return replace(found, problem=sentence(str(error)))
    return replace(found, optimum=why.solution.throughput, rows=why.solution.rows, region=why.region, explanation=why)


def _by_hand(plan: Plan, machine: Machine, options: Options, by_hand: ByHand) -> Explained:
    from isoviz.planner.explanation.constraints import constraints_of
    from isoviz.planner.explanation.path_optimum import path_optimum, region_of
    from isoviz.planner.explanation.paths_explanation import lead
    from isoviz.planner.one_path.hop_facts import conversion_hop
    from isoviz.planner.problem import Problem as Planning
    from isoviz.units import parse_bytes

    if len(plan.paths) > 1:
        first = lead(plan)
        rows = constraints_of(first, machine, first.throughput, options)
        return _beside(Explained(plan, machine, options, first.throughput, None, rows))
    problem = Planning(plan.transfer, machine, options)
    channels = [machine.channel(hop.channel) for hop in plan.hops]
    best = path_optimum(problem, channels, conversion_hop(plan.transfer, plan.orders))
    optimum = None if best is None else best[1].throughput
    target = by_hand.target or optimum or plan.throughput
    chunk = parse_bytes(by_hand.chunk) if by_hand.chunk.strip() else None
    rows = constraints_of(plan, machine, target, options, chunk)
    found = Explained(plan, machine, options, target, optimum, rows)
    if best is not None:
        sizes = _sizes(best[0], by_hand, plan.transfer)
        found = replace(found, rows=best[1].rows, region=region_of(best[0], min(target, best[1].throughput), sizes))
    return _beside(found)


def _beside(found: Explained) -> Explained:
    """The explanation of a plan by hand with that of the planner beside it."""
    from isoviz.planner import plan as planned

    try:
        return replace(found, reference=planned(found.plan.transfer, found.machine, options=found.options))
    except IsovizError as error:
        return replace(found, problem=sentence(str(error)))


def _sizes(program: PathProgram, by_hand: ByHand, transfer: Transfer) -> dict[str, float]:
    """The sizes that the layouts by hand have for the variables of a program; a dimension that is not cut has its whole size."""
    sizes: dict[str, float] = {}
    text = " ".join(by_hand.layouts)
    for variable in program.variables:
        match = re.search(rf"(?<![\w.]){re.escape(variable.name)}=(\d+)", text)
        dim = variable.name.rpartition("_")[0]
        if match:
            sizes[variable.name] = float(match[1])
        elif variable.name.endswith("_in") and dim in transfer.space and not re.search(rf"(?<![\w.]){re.escape(dim)}_", text):
            sizes[variable.name] = float(transfer.space[dim])
    return sizes


def turns_of_plan(_problems: dict[str, Problem], explanation: Explained, trying: bool) -> Generator[Turns, None, Turns]:
    """What would make the best rivals win, better and better. It waits while something is tried on the plan (`trying`)."""
    turns = Turns(explanation.plan)
    if explanation.explanation is None:
        return replace(turns, done=True)
    if trying:
        return turns
    from isoviz.planner.explanation.rivals import turn_steps
    from isoviz.planner.planning_work import Work
    from isoviz.planner.problem import Problem as Planning

    problem = Planning(explanation.plan.transfer, explanation.machine, explanation.options)
    work = Work(TURN_SECONDS)
    for turn in turn_steps(problem, explanation.explanation.candidates, MOST_RIVALS, work):
        if turn is not None and turn.value is not None:
            turns = replace(turns, found=(*turns.found, turn))
        if work.is_done:
            return replace(turns, done=True, cut=True)
        yield turns
    return replace(turns, done=True)
