"""The planner `multipath`, and plans of several transfers that begin together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from isoviz import checks
from isoviz.errors import InputError
from isoviz.planner.cache import CACHE
from isoviz.planner.check_ends import check_arguments, check_ends
from isoviz.planner.multipath.path_choice import MULTIPATH
from isoviz.planner.multipath.reasons import pays, why_one_path, why_several
from isoviz.planner.multipath.several_paths import plan_of, seconds_of, several_paths
from isoviz.planner.options import Options
from isoviz.planner.planners.full_planner import full
from isoviz.planner.problem import Problem

if TYPE_CHECKING:
    from isoviz.machines import Machine
    from isoviz.planner.plan import Plan
    from isoviz.planner.transfer import Transfer


def multipath(problem: Problem) -> Plan:
    """Link-disjoint paths by maximum flow, and a program that splits the bytes among them (Bui et al., section 4).

    Where more paths save nothing the plan has one path, that of `full`, and a note says why.
    """
    return plans_of_problems([problem])[0]


def plan_together(transfers: Sequence[Transfer], machine: Machine | str, options: Options | None = None) -> tuple[Plan, ...]:
    """The plans of transfers that begin together on a machine, each over one path or several: groups to groups, one to many.

    No two paths fill one link: sources get paths in turn, and one program splits the bytes of all transfers, so that the last of
    them ends as early as possible. `isoviz.simulate` takes the plans together.

    Raises:
        InputError: no transfer. As `plan` for each of the transfers.
    """
    options = Options.given(options)
    every = checks.items("plan together", transfers, "transfers")
    if not every:
        raise InputError("plan together: expected at least one transfer, got none")
    problems = []
    for transfer in every:
        machine = check_arguments("plan together", transfer, machine)
        check_ends(transfer, machine)
        problems.append(Problem(transfer, machine, options))
    made = plans_of_problems(problems)
    CACHE.keep_machine(problems[0].machine)
    return tuple(made)


def plans_of_problems(problems: Sequence[Problem]) -> list[Plan]:
    """A plan for every transfer, where all begin together and share the machine."""
    single = [full(problem) for problem in problems]
    if any(problem.transfer.source.memory == problem.transfer.destination.memory for problem in problems):
        note = "one path: source and destination are one memory"
        return [replace(plan, planner=MULTIPATH, notes=(*plan.notes, note)) for plan in single]
    found = several_paths(problems, single)
    alone = seconds_of(problems, [(plan.only,) for plan in single])
    if not pays(alone, found):
        return [
            replace(plan, planner=MULTIPATH, notes=(*plan.notes, why_one_path(problem, found)))
            for plan, problem in zip(single, problems, strict=True)
        ]
    note = why_several(problems[0].machine, alone, found)
    return [plan_of(problem, paths, (note,)) for problem, paths in zip(problems, found.paths, strict=True)]
