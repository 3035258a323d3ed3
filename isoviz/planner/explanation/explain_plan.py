"""Making the explanation of a plan."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import TYPE_CHECKING

from isoviz import checks
from isoviz.checks import expect
from isoviz.errors import InputError, LimitError, show
from isoviz.layouts import compare
from isoviz.machines import machine_argument
from isoviz.planner.explanation.constraints import constraints_of
from isoviz.planner.explanation.explanation import Explanation, RankedPath, Stage
from isoviz.planner.explanation.path_optimum import path_optimum, region_of, sizes_by_hand
from isoviz.planner.explanation.paths_explanation import lead, paths_explanation
from isoviz.planner.explanation.rivals import crossovers_of
from isoviz.planner.full import search
from isoviz.planner.multipath.path_choice import MULTIPATH
from isoviz.planner.one_path.buffer_needs import buffer_layouts, path_layouts
from isoviz.planner.one_path.hop_facts import chunk_bytes, conversion_hop, path_clock, path_orders
from isoviz.planner.options import BY_HAND, Options, options_about
from isoviz.planner.plan import Plan
from isoviz.planner.planners import machine_of
from isoviz.planner.planners import plan as make_plan
from isoviz.planner.problem import Problem, channels_in_mean
from isoviz.planner.program.certificate import certificate, check_machine
from isoviz.planner.program.path_bound import bisect
from isoviz.planner.time.makespan import paces
from isoviz.planner.transfer import Transfer
from isoviz.planner.whole_program.program_planner import solved
from isoviz.units import format_bytes, format_rate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoviz.machines import Machine, MachineLike
    from isoviz.planner.full import Candidate
    from isoviz.planner.one_path.choice import Choice
    from isoviz.planner.paths.routes import Route
    from isoviz.planner.program.path_bound import PathProgram, Solution
    from isoviz.planner.time.path_time import Clock


def explain(
    transfer: Transfer | Plan,
    machine: MachineLike | None = None,
    planner: str | None = None,
    options: Options | None = None,
    *,
    crossovers: int = 0,
    target: float | None = None,
    turns: int | None = None,
) -> Explanation:
    """Explain a plan, or plan a transfer and explain that plan: constraints, program, candidates, and what would make rivals win.

    For a plan, `machine` may be left out if this process knows it (`isoviz.planner.machine_of`), and `options` are the options
    of the plan. For a transfer, `machine`, `planner` and `options` are as in `plan`. For a plan of several paths, the explanation
    says why these paths and shares, and explains the path with the largest share (`Explanation.several`).

    A plan by hand (`isoviz.plan_by_path`) is explained as well: its constraints, with what they need and allow, and what its path
    sustains with the best blocks (`Explanation`).

    `crossovers` is the number of best rivals for which the explanation says what would make them win. Each rival takes a few
    dozen plans. A plan by hand has no rivals. `turns` is the earlier name of `crossovers`, until version 1.0. `target` is the
    throughput in bytes per second for which constraints and block sizes are judged. By default it is what the plan sustains, and
    for a plan by hand what its path can sustain.

    Raises:
        InputError: the first argument is neither a transfer nor a plan, or a plan is given with another planner; or as `plan`.
        MachineError, NoPathError: as `plan`.
        LimitError: no block fits the limits on the path of a plan by hand; or as `plan`.
        TransferError: the plan was made for another machine; or as `plan`.
        InternalError: the plan's throughput is above the bound of its path.
    """
    expect("explain", transfer, (Transfer, Plan), "a transfer or a plan")
    crossovers = checks.count("explain", "crossovers", crossovers)
    if turns is not None:
        crossovers = checks.count("explain", "turns", turns)
    if target is not None:
        target = checks.amount("explain", "target", target, open_low=True)
    options = Options.given(options)
    if isinstance(transfer, Plan):
        if planner is not None:
            raise InputError(f"explain: a plan is explained as it is; expected no planner with it, got {show(planner)}")
        return _explained(transfer, machine_of(transfer, machine), options_about(transfer, options), crossovers, target)
    if machine is None:
        raise InputError("explain: expected a machine with a transfer, or the name or file of one")
    machine = machine_argument("explain", machine)
    return _explained(make_plan(transfer, machine, planner, options), machine, options, crossovers, target)


def _explained(plan: Plan, machine: Machine, options: Options, crossovers: int, target: float | None) -> Explanation:
    if plan.planner == BY_HAND:
        return _explained_by_hand(plan, machine, options, target)
    one = _explained_path(lead(plan), machine, options, crossovers if len(plan.paths) == 1 else 0, target)
    if plan.planner != MULTIPATH or plan.transfer.source.memory == plan.transfer.destination.memory:
        return one
    return replace(one, several=paths_explanation(plan, machine, options))


def _explained_path(plan: Plan, machine: Machine, options: Options, crossovers: int, target: float | None) -> Explanation:
    target = plan.throughput if target is None else target
    known = certificate(plan, machine, options)
    problem, route, clock = Problem(plan.transfer, machine, options), known.route, known.clock
    least, choice, program, solution = known.least, known.choice, known.program, known.solution
    found = search(problem, everything=True)
    candidates = _candidates(problem, found.candidates, route, least, choice, clock)
    return Explanation(
        plan=plan,
        machine=machine,
        stages=_stages(plan, clock, choice.chunk, choice.runs, solution),
        candidates=candidates,
        beaten=found.left_out,
        gap=found.gap,
        program=program,
        solution=solution,
        bisection=bisect(program),
        region=region_of(program, min(target, solution.throughput), _sizes_of(program, choice)),
        constraints=constraints_of(plan, machine, target, options),
        target=target,
        crossovers=crossovers_of(problem, candidates, crossovers) if crossovers else (),
        whole=solved(problem) if plan.planner == "program" else None,
    )


def _explained_by_hand(whole: Plan, machine: Machine, options: Options, target: float | None) -> Explanation:
    check_machine(whole, machine)
    plan = lead(whole)
    problem, path = Problem(plan.transfer, machine, options), plan.only
    channels = channels_in_mean(problem, [hop.channel for hop in path.hops])
    converting = conversion_hop(plan.transfer, path.orders)
    best = path_optimum(problem, channels, converting)
    if best is None:
        raise LimitError(f"plan: no block fits the limits on its path {' → '.join(path.memories)}; expected larger limits")
    program, solution = best
    target = solution.throughput if target is None else target
    way = path_orders(plan.transfer, path.orders)
    clock, chunk = path_clock(plan.transfer, machine, channels, way, path.slots), chunk_bytes(path.chunks)
    if whole.paths[0].run is not None:
        plan = plan.changed(objective=clock.seconds(chunk, way.runs))
    kinds = tuple(hop.kind for hop in path.hops)
    reference, refusal = _reference(whole.transfer, machine, options)
    limit, slowest = _limit_of(clock, [hop.channel for hop in path.hops], kinds, chunk, way.runs)
    chosen = RankedPath(
        chosen=True,
        memories=path.memories,
        channels=tuple(hop.channel for hop in path.hops),
        kinds=kinds,
        converting=converting,
        bound=plan.objective,
        seconds=plan.objective,
        throughput=plan.throughput,
        layouts=tuple(hop.source_layout for hop in path.hops[1:]),
        limit=limit,
        limiting_channel=path.hops[slowest].channel,
    )
    return Explanation(
        plan=plan,
        machine=machine,
        stages=_stages(plan, clock, chunk, way.runs, solution),
        candidates=(chosen,),
        beaten=None,
        gap=None,
        program=program,
        solution=solution,
        bisection=bisect(program),
        region=region_of(program, min(target, solution.throughput), sizes_by_hand(program, plan)),
        constraints=constraints_of(plan, machine, target, options),
        target=target,
        reference=reference,
        refusal=refusal,
    )


def _reference(transfer: Transfer, machine: Machine, options: Options) -> tuple[Plan | None, str]:
    """What the planner makes of a transfer, and why it makes nothing."""
    try:
        return make_plan(transfer, machine, options=options), ""
    except InputError as error:
        return None, str(error)


def _stages(plan: Plan, clock: Clock, chunk: float, runs: Sequence[float], solution: Solution) -> tuple[Stage, ...]:
    """The rows of Isometry's table 3."""
    timing = clock.timing(chunk, runs)
    stages = []
    for hop, seconds, (here, there) in zip(plan.hops, timing.hop_seconds, itertools.pairwise(plan.orders), strict=True):
        common = compare(here, there)
        stages.append(
            Stage(
                memory=hop.source,
                layout=hop.source_layout,
                channel=hop.channel,
                kind=hop.kind,
                prefix=common.prefix_text,
                suffix=common.suffix_text,
                run_bytes=hop.request_bytes,
                shuffle_bytes=common.shuffle_bytes,
                throughput=hop.throughput,
                seconds=seconds,
                share=seconds / timing.period,
                price=_price(clock, chunk, runs, hop.index),
                rows=tuple(row for row in solution.rows if row.hop == hop.index),
            )
        )
    last = plan.hops[-1]
    return (*stages, Stage(last.destination, last.destination_layout))


def _price(clock: Clock, chunk: float, runs: Sequence[float], hop: int) -> float:
    """The change of T if a hop's throughput grows by one byte per second, with the same blocks and chunk."""
    rate = clock.rates(chunk, runs)[hop]
    step = 1e-6
    faster = _scaled_seconds(clock, chunk, runs, hop, 1 + step)
    return (faster - _scaled_seconds(clock, chunk, runs, hop, 1.0)) / (rate * step)


def _scaled_seconds(clock: Clock, chunk: float, runs: Sequence[float], hop: int, factor: float) -> float:
    """T, from its definition, with the throughput of one hop multiplied by `factor`."""
    times = list(clock.timing(chunk, runs).hop_seconds)
    times[hop] /= factor
    return clock.combined(chunk, times)


def _sizes_of(program: PathProgram, choice: Choice) -> dict[str, float]:
    """The sizes of the blocks of a choice, by the variables of its program."""
    return dict(zip((variable.name for variable in program.variables), (float(choice.a), float(choice.b)), strict=False))


def _candidates(
    problem: Problem, found: tuple[Candidate, ...], route: Route, least: Choice, choice: Choice, clock: Clock
) -> tuple[RankedPath, ...]:
    """The chosen path, then all other paths by their least time.

    The chosen path has the least time of `least`; the rest of its entry comes from `choice`, which takes hardly more.
    """
    bounds = {(each.route.names, each.route.converting): each.bound for each in found}
    bound = bounds.get((route.names, route.converting), least.seconds)
    chosen = replace(_rejected(problem, route, bound, choice, clock, chosen=True), seconds=problem.with_cost(least))
    others = [
        _rejected(problem, each.route, each.bound, each.choice, each.clock)
        for each in found
        if (each.route.names, each.route.converting) != (route.names, route.converting)
    ]
    return (chosen, *sorted(others, key=lambda other: (other.least, len(other.channels), other.channels, other.converting or 0)))


def _rejected(
    problem: Problem, route: Route, bound: float, choice: Choice | None, clock: Clock, *, chosen: bool = False
) -> RankedPath:
    memories = (route.channels[0].source, *(channel.destination for channel in route.channels))
    kinds = tuple(str(channel.kind) for channel in route.channels)
    if choice is None:
        limit = f"no room: slots of at most {format_bytes(problem.limit(route.inside))} hold no block that converts"
        return RankedPath(chosen, memories, route.names, kinds, route.converting, bound, None, None, (), limit, "")
    layouts = tuple(str(layout) for layout in path_layouts(problem, choice, buffer_layouts(problem, choice))[1:-1])
    limit, slowest = _limit_of(clock, route.names, kinds, choice.chunk, choice.runs)
    return RankedPath(
        chosen,
        memories,
        route.names,
        kinds,
        route.converting,
        bound,
        problem.with_cost(choice),
        clock.timing(choice.chunk, choice.runs).throughput,
        layouts,
        limit,
        route.names[slowest],
    )


def _limit_of(
    clock: Clock, channels: Sequence[str], kinds: Sequence[str], chunk: float, runs: Sequence[float]
) -> tuple[str, int]:
    """What limits a path with these chunks and runs, in words, and the number of its slowest hop."""
    timing, rates = clock.timing(chunk, runs), clock.rates(chunk, runs)
    slowest = max(range(len(kinds)), key=lambda hop: timing.hop_seconds[hop])
    if clock.shared_bound(rates) <= timing.throughput * (1 + 1e-9):
        found = paces(channels, rates, clock.shared_names, clock.shares(rates))
        if said := next((pace.words() for pace in found if pace.resource), ""):
            return said, slowest
    run = format_bytes(min(runs[slowest], chunk))
    return f"hop {slowest} {kinds[slowest]}: runs of {run} at {format_rate(rates[slowest])}", slowest
