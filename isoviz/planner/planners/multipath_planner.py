"""The planner `multipath`, and plans of several transfers that begin together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from isoviz import checks
from isoviz.errors import InputError
from isoviz.planner.cache import CACHE
from isoviz.planner.multipath.path_choice import MULTIPATH, plan_over
from isoviz.planner.multipath.reasons import gap_of, pays, why_one_path, why_several
from isoviz.planner.multipath.several_paths import plan_of, plans_of, several_paths, with_even_chunks
from isoviz.planner.multipath.share_search import seconds_of, to_memory
from isoviz.planner.options import Options
from isoviz.planner.planners.full_planner import full_within, stopped_note
from isoviz.planner.planning_work import STEPS_PER_SECOND, Work, work_of
from isoviz.planner.problem import Problem
from isoviz.planner.time.path_time import rate_of
from isoviz.planner.transfer import check_arguments, check_ends

LEAST_REST = 1 / 4
"""The share of the planning time that is left for several paths at least, however long the search for one path took."""

if TYPE_CHECKING:
    from isoviz.machines import MachineLike
    from isoviz.planner.plan import Plan
    from isoviz.planner.transfer import Transfer


def multipath(problem: Problem, work: Work | None = None, single: Plan | None = None) -> Plan:
    """Link-disjoint paths by maximum flow, and a program that splits the bytes among them (Bui et al., section 4).

    Where more paths save nothing the plan has one path, that of `full`, and a note says why. `work` bounds planning; by default
    it is what the options allow. `single` is the best plan of one path, if it is known already.
    """
    return plans_of_problems([problem], work=work, single=() if single is None else [single])[0]


def plan_together(
    transfers: Sequence[Transfer],
    machine: MachineLike,
    options: Options | None = None,
    *,
    destinations: Sequence[str] = (),
) -> tuple[Plan, ...]:
    """The plans of transfers that begin together on a machine, each over one path or several: groups to groups, one to many.

    Sources get paths in turn, so that no two paths fill the same link. One program splits the bytes of all transfers, so that the
    last transfer ends as early as possible. `isoviz.simulate` takes the plans together. There is one plan for each transfer, in
    order.

    `destinations` names memories that take data of any transfer, such as I/O nodes: a part of a transfer goes to any of them, or
    to the destination of the transfer. A transfer that uses several destinations has one plan for each, in a row.

    Raises:
        InputError: there is no transfer. Others as `plan`, for each transfer and each destination.
    """
    options = Options.given(options)
    every = checks.items("plan together", transfers, "transfers")
    further = checks.names("plan together", destinations, "names of memories as destinations")
    if not every:
        raise InputError("plan together: expected at least one transfer, got none")
    problems = []
    for number, transfer in enumerate(every):
        machine = check_arguments(f"plan together, transfer {number}", transfer, machine)
        check_ends(transfer, machine)
        problems.append(Problem(transfer, machine, options))
    largest = max(every, key=lambda transfer: transfer.destination.linearization.nbytes)
    for memory in further:
        check_ends(to_memory(largest, memory), problems[0].machine)
    made = plans_of_problems(problems, further)
    CACHE.keep_machine(problems[0].machine)
    return tuple(made)


def plans_of_problems(
    problems: Sequence[Problem], destinations: Sequence[str] = (), work: Work | None = None, single: Sequence[Plan] = ()
) -> list[Plan]:
    """The plans of transfers that begin together and share a machine; `destinations` as in `plan_together`.

    `work` bounds the search and counts its steps; by default it is what the options allow for each of the transfers. `single`
    holds the best plans of one path each, if they are known already.
    """
    work = work or work_of(problems[0].options, len(problems))
    single = single or [_single(problem, work, is_alone=len(problems) == 1) for problem in problems]
    inner = [_is_inner(problem.transfer, destinations) for problem in problems]
    going = [number for number, why in enumerate(inner) if not why]
    if not going:
        return [_with_note(plan, why) for plan, why in zip(single, inner, strict=True)]
    moved = [problems[number] for number in going]
    rest = Work(max(work.left / STEPS_PER_SECOND, LEAST_REST * work.seconds), sparing=work.sparing, starts=work.starts)
    found = several_paths(moved, [single[number] for number in going], destinations, rest)
    work.add(rest.steps)
    even = (with_even_chunks(moved[0], found.single[0]),) if len(moved) == 1 else found.single
    one = seconds_of(moved, [(plan.only,) for plan in even])
    several = pays(one, found)
    if not several:
        found = found._replace(single=even, seconds=one)
    notes = [why_several(moved[0].machine, one, found)] if several else []
    if found.stopped:
        notes.append(stopped_note(gap_of(moved, found)))
    made: list[Plan] = []
    for number, (problem, plan) in enumerate(zip(problems, single, strict=True)):
        if inner[number]:
            made.append(_with_note(plan, inner[number]))
        elif several:
            made += plans_of(problem, found.paths[going.index(number)], tuple(notes))
        else:
            made.append(_with_note(found.single[going.index(number)], *notes, why_one_path(problem, found)))
    return made


def _is_inner(transfer: Transfer, destinations: Sequence[str]) -> str:
    """Why a transfer takes one path without a look at others; empty if it may take several."""
    if transfer.source.memory == transfer.destination.memory:
        return "one path: source and destination are one memory"
    return "one path: its source is one of the destinations" if transfer.source.memory in destinations else ""


def _with_note(plan: Plan, *notes: str) -> Plan:
    return replace(plan, planner=MULTIPATH, notes=(*plan.notes, *notes))


def _single(problem: Problem, work: Work, *, is_alone: bool) -> Plan:
    """The plan of one path of a transfer.

    Of a group it is, over a network, a message on the default route. To prove that it is the fastest would take longer for a
    large group.
    """
    problem.work = work
    machine, here, there = problem.machine, problem.transfer.source.memory, problem.transfer.destination.memory
    if not is_alone and any(network.has_port(here) and network.has_port(there) for network in machine.networks):
        chunk = float(min(problem.nbytes, problem.slot_limit))
        channel = max(machine.between(here, there), key=lambda each: rate_of(each, chunk, chunk), default=None)
        path = None if channel is None or channel.is_self_loop else plan_over(problem, (channel,))
        if path is not None:
            return plan_of(problem, (path,))
    own = work_of(problem.options)
    made = full_within(problem, own)
    work.add(own.steps)
    return made
