"""Plans of several paths for transfers that begin together.

Paths that may carry bytes come from the maximum flow, and from the prices of links (`machine_links.steady_paths`). Over a network
they also come from a search for few stops (`network_paths.direct_paths`). The shares of the bytes are searched for
(`share_search`), beginning with one path for each transfer.

The time of one transfer is that of its plan, whose paths take turns on shared links (`Plan.seconds`). Several transfers count as
streams that divide shared links fairly (`planner.time.together`).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from isoviz.errors import NoPathError
from isoviz.layouts import Box
from isoviz.planner.failures import limits_too_small
from isoviz.planner.multipath.balance import are_steady
from isoviz.planner.multipath.cutting import cut_dims
from isoviz.planner.multipath.machine_links import Demand, MachineLinks, Steady, steady_paths
from isoviz.planner.multipath.network_paths import network_paths
from isoviz.planner.multipath.path_choice import MULTIPATH, allowed, plan_over
from isoviz.planner.multipath.share_search import Shared, ShareSearch, seconds_of, to_memory
from isoviz.planner.multipath.split import split_bytes, stream_of
from isoviz.planner.multipath.tuning import EVEN_LOSS, PLAN_GAIN
from isoviz.planner.plan import Plan
from isoviz.planner.planning_work import WorkDone, work_of
from isoviz.planner.problem import Problem
from isoviz.planner.shares import share_of

if TYPE_CHECKING:
    from isoviz.planner.multipath.machine_links import Path
    from isoviz.planner.path_plan import PathPlan
    from isoviz.planner.planning_work import Work
    from isoviz.planner.transfer import Transfer


def links_of(problems: Sequence[Problem], destinations: Sequence[str], more: Sequence[Path]) -> MachineLinks:
    """The links of the machine for the chunks of some transfers; `more` are paths that they include.

    Parts of every transfer may go to any of `destinations`, or to its own destination where there are none.
    """
    chunk = float(min(min(problem.nbytes, problem.slot_limit) for problem in problems))
    ends = [(each.transfer.source.memory, each.transfer.destination.memory) for each in problems]
    demands = [Demand(here, tuple(dict.fromkeys((there, *destinations)))) for here, there in ends]
    machine, starts = problems[0].machine, problems[0].reuse
    found = network_paths(machine, demands, [float(problem.nbytes) for problem in problems], chunk, more)
    if found is not None:
        return MachineLinks(found.machine, chunk, demands, found.paths, found.direct, starts)
    names = dict.fromkeys(itertools.chain(*ends, destinations))
    return MachineLinks(machine.around(*names), chunk, demands, starts=starts)


def path_of(plan: Plan, problem: Problem) -> Path:
    """The channels of the path of a plan, without self-loops."""
    channels = (problem.machine.channel(hop.channel) for hop in plan.hops)
    return tuple(channel for channel in channels if not channel.is_self_loop)


def several_paths(
    problems: Sequence[Problem], single: Sequence[Plan], destinations: Sequence[str] = (), work: Work | None = None
) -> Shared:
    """The best plans found for some transfers on one machine, beginning with the plans `single` of one path each.

    The source and the destination of each transfer are two memories. Parts of every transfer may go to any of `destinations`, or
    to its own destination where there are none. `work` bounds the search and counts its steps; by default it is what the options
    allow for each of the transfers.
    """
    work = work or work_of(problems[0].options, len(problems))
    digest = problems[0].machine.digest
    more = [path_of(plan, problem) for plan, problem in zip(single, problems, strict=True)]
    links = links_of(problems, destinations, more)
    problems = [Problem(problem.transfer, links.machine, problem.options, work) for problem in problems]
    single = [_with_few_stops(links, *each) for each in zip(range(len(problems)), problems, single, strict=True)]
    made = [_with_even_chunks(*each) for each in zip(problems, single, strict=True)]
    # The machine of the search knows links of its own; a plan is for the machine that was given.
    single = [plan if plan.machine_digest == digest else replace(plan, machine_digest=digest) for plan in made]
    more = [path_of(plan, problem) for plan, problem in zip(single, problems, strict=True)]
    steady = steady_paths(links, [float(problem.nbytes) for problem in problems], more, work)
    sets = [
        [
            allowed(found, problem.options, path, is_alone=len(problems) == 1)
            for found, problem, path in zip(paths, problems, more, strict=True)
        ]
        for paths in (steady.paths, [list(links.direct)])[: 1 + bool(links.direct)]
    ]
    one = _one_path_each(problems, single, steady)
    if all(ways == [[path] for path in more] for ways in sets):
        return one
    best = one
    searched: list[set[frozenset[Path]]] = []
    for ways in _with_fewer_stops(sets):
        if set(map(frozenset, ways)) in searched:
            continue
        if len(searched) >= len(sets) and all(len(paths) > 1 and are_steady(paths) for paths in best.paths):
            break  # the program knows nearly what each path is worth
        searched.append(set(map(frozenset, ways)))
        found = _searched(problems, links, ways, one, work)
        if not searched[1:] or found.seconds < best.seconds:
            best = found._replace(stopped=best.stopped or found.stopped)
        if found.stopped:
            return best._replace(stopped=True)
    return best


def _with_fewer_stops(sets: Sequence[Sequence[Sequence[Path]]]) -> Iterator[Sequence[Sequence[Path]]]:
    """Sets of paths, and those of their paths that have fewer stops.

    These leave other links free and other shares, which the search over all paths may miss.
    """
    yield from sets
    for ways in sets:
        for most in sorted({len(path) for paths in ways for path in paths}, reverse=True)[1:]:
            yield [[path for path in paths if len(path) <= most] or paths for paths in ways]


def _with_few_stops(links: MachineLinks, number: int, problem: Problem, single: Plan) -> Plan:
    """The best plan over one path that the options allow, where that of `full` stops in too many memories.

    Raises:
        NoPathError: every path does.
        LimitError: on none of the others do the smallest chunks fit the limits.
    """
    most = problem.options.proxies
    if most is None or len(path_of(single, problem)) <= most + 1:
        return single
    demand = links.demands[number]._replace(destinations=(problem.transfer.destination.memory,))
    known = [path for path in links.disjoint[number] if len(path) <= most + 1 and path[-1].destination in demand.destinations]
    paths = list(dict.fromkeys((*links.short(demand, problem.nbytes, most + 1), *known)))
    if not paths:
        raise NoPathError(
            f"machine {single.machine_name}: every path from {demand.source} to {demand.destinations[0]} stops in more than"
            f" {most} memories on the way; allow more proxies"
        )
    made = [path for path in (plan_over(problem, path) for path in paths) if path is not None]
    if not made:
        raise limits_too_small(problem, [tuple(channel.destination for channel in path[:-1]) for path in paths])
    best = min(made, key=lambda path: (path.mean, len(path.hops)))
    return plan_of(problem, [best])


def _with_even_chunks(problem: Problem, single: Plan) -> Plan:
    """The plan, or a faster one over its path where its last chunk is short and costs a whole request (`plan_over`)."""
    path = single.only
    if path.chunk_count == 1 or path.mean <= path.objective * (1 + EVEN_LOSS):
        return single
    made = plan_over(problem, path_of(single, problem))
    return single if made is None or made.mean >= path.mean else plan_of(problem, [made])


def _searched(
    problems: Sequence[Problem], links: MachineLinks, ways: Sequence[Sequence[Path]], one: Shared, work: Work
) -> Shared:
    best, steady = one, one.steady
    dims = [cut_dims(problem.transfer) for problem in problems]
    # Paths that take turns on a channel wait for each other, which the program does not count. Transfers may have to.
    variants = (True, False) if len(problems) == 1 and links.known is None else (False,)
    for turn in range(max(map(len, dims)) if links.known is None else 1):
        cuts = [
            names[min(turn, len(names) - 1)] if names else each.transfer.space.dims[0]
            for names, each in zip(dims, problems, strict=True)
        ]
        search = ShareSearch(problems, links, ways, cuts, best, work)
        try:
            for disjoint in variants:
                search.run(disjoint=disjoint)
            gains = steady.gains or search.best.seconds < one.seconds * (1 - PLAN_GAIN)
            if len(problems) == 1 and gains:
                search.shift()
        except WorkDone:
            search.best = search.best._replace(stopped=True)
        best = search.best
        if all(len(paths) == 1 for paths in best.paths):  # what the others would take says why
            best = best._replace(streams=tuple(stream for stream in search.streams if stream is not None))
        if best.stopped:
            break
    return best


def _one_path_each(problems: Sequence[Problem], single: Sequence[Plan], steady: Steady) -> Shared:
    paths = tuple((plan.only,) for plan in single)
    streams = tuple(stream_of(number, plan.only) for number, plan in enumerate(single))
    split = split_bytes(streams, [problem.nbytes for problem in problems])
    return Shared(tuple(single), paths, seconds_of(problems, paths), streams, split, steady)


def plan_of(problem: Problem, paths: Sequence[PathPlan], notes: tuple[str, ...] = (), transfer: Transfer | None = None) -> Plan:
    """The plan of some paths of a transfer, or of another one on the same machine."""
    machine, transfer = problem.machine, transfer or problem.transfer
    emulated = machine.emulated(name for path in paths for name in path.memories)
    return Plan(transfer, machine.name, machine.digest, MULTIPATH, tuple(paths), notes, emulated=emulated)


def plans_of(problem: Problem, paths: Sequence[PathPlan], notes: tuple[str, ...] = ()) -> list[Plan]:
    """The plans of some paths of a transfer: one for each memory that they lead to, of the part that goes there."""
    by_memory: dict[str, list[PathPlan]] = {}
    for path in paths:
        by_memory.setdefault(path.transfer.destination.memory, []).append(path)
    if len(by_memory) == 1:
        (memory,) = by_memory
        return [plan_of(problem, paths, notes, to_memory(problem.transfer, memory))]
    found = []
    for memory, mine in by_memory.items():
        moved = to_memory(problem.transfer, memory)
        boxes = [share for path in mine if isinstance(share := share_of(moved, path), Box)]
        lows, highs = zip(*[(box.lo, box.hi) for box in boxes], strict=True)
        part = moved.part(Box(tuple(map(min, zip(*lows, strict=True))), tuple(map(max, zip(*highs, strict=True)))))
        found.append((min(lows), plan_of(problem, mine, notes, part)))
    return [plan for _, plan in sorted(found, key=lambda each: each[0])]
