"""The planners: from a transfer and a machine to a plan.

`full` searches every path, every intermediate layout and every block size (Isometry, section 4.2). `direct` uses one channel and
no buffer. `simple` uses the shortest path, with a Memcpy for the conversion (section 4.4). `spsl` and `spdl` convert in the last
and in the first hop of the shortest path (section 6.3). `program` takes the path of the highest throughput from one mixed-integer
program (section 4.2). `auto` plans while that costs less than it can save (in section 4.4 the size of the transfer decides). All
planners choose blocks and chunk with the same time model, so their predictions are comparable. `PLANNERS` maps names to planners.
"""

from __future__ import annotations

import contextlib
import itertools
import math
from dataclasses import replace
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from isoviz.checks import expect
from isoviz.errors import InputError, LimitError, NoPathError
from isoviz.machines import Machine, preset, presets, shortest_path
from isoviz.planner.build_plan import make_plan
from isoviz.planner.cache import CACHE
from isoviz.planner.check_ends import check_arguments, check_ends
from isoviz.planner.failures import limits_too_small, no_throughput
from isoviz.planner.full import listed_routes, search, with_bounds
from isoviz.planner.one_path.choice import Choice
from isoviz.planner.one_path.chunk_size import with_comparable_chunks, with_larger_chunks
from isoviz.planner.one_path.optimum import best_feasible_choice, clock_of
from isoviz.planner.options import Options, check_planner
from isoviz.planner.paths.routes import Route
from isoviz.planner.plan import Plan
from isoviz.planner.planning_work import NO_COST, PLAN_STEPS, ROUTE_STEPS, STEPS_PER_SECOND, Work, listed_steps, work_of
from isoviz.planner.problem import Problem
from isoviz.planner.search.expected_steps import look_steps, search_steps, worked_out_steps
from isoviz.planner.search.first_look import first_look
from isoviz.planner.time.path_time import Clock
from isoviz.planner.whole_program.program_planner import program
from isoviz.units import format_share

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from isoviz.machines import Channel
    from isoviz.planner.time.path_time import Clock
    from isoviz.planner.transfer import Transfer

Path = tuple[str, ...]
"""Names of memories, source first; the same name twice in a row is a self-loop."""

MOST_PARALLEL = 16
"""Up to this number of combinations of parallel channels, a planner of one path tries all."""


def plan(transfer: Transfer, machine: Machine | str, planner: str | None = None, options: Options | None = None) -> Plan:
    """The plan of a transfer on a machine, or on the preset of a name (`isoviz.presets`). Planning is deterministic.

    `planner` (a name in `PLANNERS`) overrides the one in `options`. A repeated call returns the same object
    (`isoviz.planner.cache`).

    Raises:
        InputError: an unknown planner, or no transfer, or no machine. MachineError: an unknown memory or preset.
        NoPathError: no channels lead there. LimitError: no buffer within the limits is large enough.
        TransferError: an instance larger than its memory.
    """
    if planner is not None:
        check_planner(planner)
    machine = check_arguments("plan", transfer, machine)
    options = Options.given(options)
    name = planner or options.planner
    key = (transfer, machine, name, options)
    found = CACHE.plan(key) if type(name) is str else None
    if found is None:
        chosen = PLANNERS[check_planner(name)]
        check_ends(transfer, machine)
        found = chosen(Problem(transfer, machine, options))
        CACHE.keep(key, found)
    return found


def machine_of(plan: Plan) -> Machine:
    """The machine that a plan was made for: the one it was planned on in this process, or the preset of that name.

    Raises:
        InputError: the plan's machine is neither.
    """
    expect("machine_of", plan, Plan, "a plan")
    found = CACHE.machine(plan.machine_digest)
    if found is None and plan.machine_name in presets() and plan.machine_name != "local":  # the preset `local` would measure
        made = preset(plan.machine_name)
        found = made if made.digest == plan.machine_digest else None
    if found is None:
        raise InputError(f"machine {plan.machine_name!r} of this plan is not known in this process; hand it in")
    return found


def full(problem: Problem) -> Plan:
    """The fastest path, layouts, blocks and chunk (Isometry, section 4.2).

    If the planning time does not suffice, the plan is the fastest one found, and never slower than that of `simple`.
    """
    return _full(problem, work_of(problem.options))


def _full(problem: Problem, work: Work, more: Sequence[Route] = ()) -> Plan:
    if listed_routes(problem) is None:
        # No path from the cache: what a search finds that is stopped depends on the paths that it begins with.
        seeds = list(more)
        with contextlib.suppress(LimitError, NoPathError):  # another path may exist, or have room
            seeds.append(_simple(problem)[0].route)
        found = search(problem, work=work, seeds=seeds)
    else:
        found = search(problem, CACHE.path(problem), work=work)
        CACHE.keep_path(problem, found.best.route.names, found.best.route.converting)
    best = found.best.route
    choice, clock = found.best, found.clock(best)
    if not problem.ends.regular or (problem.machine.limits.overlap and problem.slots == 1):
        # The search does not try all paths separately here, so compare its result with the planners of one path.
        path = shortest(problem.machine, problem.transfer)
        ends = (0, len(path) - 2) if problem.ends.converts else (None,)
        for planner in (_simple, lambda problem: _best(problem, path, ends)):
            with contextlib.suppress(LimitError, NoPathError):  # that path has no room
                other, its_clock = planner(problem)
                other = with_comparable_chunks(problem, other, its_clock)
                if problem.key(other) < problem.key(choice):
                    choice, clock = other, its_clock
    made = _made(problem, choice, clock, "full")
    notes = (*made.notes, stopped_said(found.gap, used_up=work.is_done)) if found.stopped else made.notes
    return replace(made, gap=found.gap, notes=notes)


def stopped_said(gap: float | None, *, used_up: bool = True) -> str:
    """The note for a plan that was the best one when planning stopped: `planning_time` was used up, or planning cost too much."""
    said = "nothing is proved of what was not looked at" if gap is None else f"at most {format_share(gap)} above the optimum"
    why = "planning_time was used up before all was searched" if used_up else "it stopped where it cost more than it can save"
    return f"{why}: {said}"


def simple(problem: Problem) -> Plan:
    """The shortest path, whose first Memcpy channel converts the layout.

    If the path has no Memcpy channel, the planner adds the Memcpy self-loop of the first CPU memory that has one (Isometry,
    section 4.4). If there is none either (a copy within a GPU), the hop that makes the path fastest converts, and a note says so.
    """
    choice, clock = _simple(problem)
    route, notes = choice.route, []
    if not route.has_memcpy and problem.ends.converts:
        channel = route.channels[route.converting or 0]
        way = f"from {channel.source} to {channel.destination}"
        notes.append(f"no Memcpy channel on this path: the layout is converted on the way {way}")
    return make_plan(problem, with_larger_chunks(problem, choice, clock), clock, "simple", notes)


def _simple(problem: Problem) -> tuple[Choice, Clock]:
    return _best(problem, *_simple_way(problem))


def _simple_way(problem: Problem) -> tuple[Path, Sequence[int | None]]:
    """The path of `simple`, and the hops that may convert."""
    path = shortest(problem.machine, problem.transfer)
    if not problem.ends.converts:
        return path, (None,)
    path, at = _with_memcpy(problem.machine, path)
    return path, (at,) if at is not None else range(len(path) - 1)


def spsl(problem: Problem) -> Plan:
    """Shortest path, source layout in every buffer: the last hop converts (Isometry, section 6.3)."""
    path = shortest(problem.machine, problem.transfer)
    return _plan(problem, path, (len(path) - 2 if problem.ends.converts else None,), "spsl")


def spdl(problem: Problem) -> Plan:
    """Shortest path, destination layout in every buffer: the first hop converts (Isometry, section 6.3)."""
    path = shortest(problem.machine, problem.transfer)
    return _plan(problem, path, (0 if problem.ends.converts else None,), "spdl")


def direct(problem: Problem) -> Plan:
    """One channel from source to destination, no intermediate buffer.

    Raises:
        NoPathError: no such channel.
    """
    here, there = problem.transfer.source.memory, problem.transfer.destination.memory
    if not problem.machine.between(here, there):
        raise NoPathError(
            f"machine {problem.machine.name}: no channel leads directly from {here} to {there}; planner 'full' finds a path"
        )
    return _plan(problem, (here, there), (0 if problem.ends.converts else None,), "direct")


def auto(problem: Problem) -> Plan:
    """The plan for which planning and transfer together take least, as far as counted steps can tell.

    Isometry (section 4.4) switches from `simple` to `full` where the transfer is large. Here the saving decides:

    1. The shortest path is known at once, and so is a lower bound of its T. A small transfer ends here, with the plan of `simple`
       or a plan of the same path that converts elsewhere.
    2. If it may pay, all paths are bounded. Where they are listed, each has its bound. Where they are too many to list, a first
       look (`search.first_look`) gives a lower bound for all of them, and routes that may come close to it.
    3. These routes are worked out, the least bound first, while the next one can save more than it costs.
    4. `full` searches on while it costs less than it can still save: the best T so far less the least bound.

    Where `full` costs next to nothing beside the transfer, it plans at once, since it proves its plan. Steps are counted, not
    measured (`planning_work`), so the plan is the same on every computer.
    """
    work = work_of(problem.options, sparing=True)
    short = with_bounds(problem, _short_routes(problem))
    least = min(bound for _, bound in short)
    if _costs_nothing(problem, least):
        return _full(problem, work_of(problem.options))
    known = _bounds_that_pay(problem, least, work)
    found = _best_that_pays(problem, [*short, *known.routes], known.lower, work)
    if found is not None and known is _NOTHING_KNOWN:  # T may be far above its bound
        known = _bounds_that_pay(problem, problem.with_cost(found[0]), work)
        found = _best_that_pays(problem, known.routes, known.lower, work, found)
    if found is None or _search_pays(problem, problem.with_cost(found[0]) - known.lower, work):
        return _full(problem, work, known.seeds)
    choice, clock = found
    return simple(problem) if choice.route in _simple_routes(problem) else _made(problem, choice, clock, "auto")


class _Known(NamedTuple):
    """What is known of all paths: a lower bound of T in seconds, routes with their bounds, and those to begin a search with."""

    lower: float
    routes: Sequence[tuple[Route, float]]
    seeds: tuple[Route, ...] = ()


_NOTHING_KNOWN = _Known(0.0, ())


def _bounds_that_pay(problem: Problem, seconds: float, work: Work) -> _Known:
    """Bounds of all paths, if they cost less than they can save of `seconds`: the least bound of T of the shortest path, or T."""
    if not work.pays(seconds, PLAN_STEPS):
        return _NOTHING_KNOWN  # a list of routes takes time on a machine that is new
    listed = listed_routes(problem)
    steps = look_steps(problem) if listed is None else ROUTE_STEPS * len(listed)
    if not work.pays(seconds, steps):
        return _NOTHING_KNOWN
    work.add(steps)
    if listed is None:
        lower, seeds = first_look(problem)
        return _Known(lower, with_bounds(problem, seeds), seeds)
    bounds = with_bounds(problem, listed)
    return _Known(min((bound for _, bound in bounds), default=0.0), bounds)


def _short_routes(problem: Problem) -> list[Route]:
    """The routes of `simple`, and those of the shortest path that convert at an end."""
    path = shortest(problem.machine, problem.transfer)
    ends = (0, len(path) - 2) if problem.ends.converts else (None,)
    more = [route for at in ends for route in _routes_along(problem, path, at)]
    return list(dict.fromkeys((*_simple_routes(problem), *more)))


def _simple_routes(problem: Problem) -> list[Route]:
    path, converting = _simple_way(problem)
    return [route for at in converting for route in _routes_along(problem, path, at)]


def _best_that_pays(
    problem: Problem,
    bounds: Sequence[tuple[Route, float]],
    lower: float,
    work: Work,
    best: tuple[Choice, Clock] | None = None,
) -> tuple[Choice, Clock] | None:
    """The best choice of those routes that are worth working out, where no plan takes less than `lower` seconds; None where no
    chunk fits.

    `bounds` holds the routes with their lower bounds; `best` is the best choice so far.
    """
    steps = worked_out_steps(problem)
    for route, bound in sorted(bounds, key=lambda each: each[1]):
        if best is not None and not work.pays(problem.with_cost(best[0]) - max(bound, lower), steps):
            break
        if (route.names, route.converting) in problem.choices:
            continue
        work.add(steps)
        clock = clock_of(problem, route)
        choice = best_feasible_choice(problem, route, clock)
        if choice is not None:
            choice = with_comparable_chunks(problem, choice, clock)
            if best is None or problem.key(choice) < problem.key(best[0]):
                best = choice, clock
    return best


def _costs_nothing(problem: Problem, seconds: float) -> bool:
    """Whether `full` costs nothing beside a transfer of `seconds` seconds: its paths are listed, and few."""
    if NO_COST * seconds * STEPS_PER_SECOND < listed_steps(problem, 0):
        return False
    routes = listed_routes(problem)
    return routes is not None and listed_steps(problem, len(routes)) <= NO_COST * seconds * STEPS_PER_SECOND


def _search_pays(problem: Problem, saving: float, work: Work) -> bool:
    """Whether `full` may save more than it costs, where it can save at most `saving` seconds."""
    if not work.pays(saving, listed_steps(problem, 0)):
        return False  # a list of routes takes time on a machine that is new
    routes = listed_routes(problem)
    return work.pays(saving, search_steps(problem) if routes is None else listed_steps(problem, len(routes)))


def _made(problem: Problem, choice: Choice, clock: Clock, planner: str) -> Plan:
    done = problem.machine.limits.chunk_seconds > 0  # larger chunks were compared already
    return make_plan(problem, choice if done else with_larger_chunks(problem, choice, clock), clock, planner)


PLANNERS: Mapping[str, Callable[[Problem], Plan]] = MappingProxyType(
    {"auto": auto, "full": full, "simple": simple, "spsl": spsl, "spdl": spdl, "direct": direct, "program": program}
)
"""Name → planner; the same names as `options.PLANNERS`, which describes them."""


def shortest(machine: Machine, transfer: Transfer) -> Path:
    """The memories of a shortest path. From a memory to itself this is its self-loop, or else the shortest cycle.

    Raises:
        NoPathError: there is no path.
    """
    return _shortest(machine, transfer.source.memory, transfer.destination.memory)


@lru_cache(maxsize=1024)
def _shortest(machine: Machine, here: str, there: str) -> Path:
    if here != there:
        return (here, *(channel.destination for channel in shortest_path(machine, here, there)))
    if machine.between(here, here):
        return (here, here)
    ways: list[Path] = []
    for channel in machine.outgoing(here):
        if not machine.memory(channel.destination).holds_buffers:
            continue
        try:
            back = shortest_path(machine, channel.destination, here)
        except NoPathError:
            continue
        ways.append((here, channel.destination, *(step.destination for step in back)))
    if not ways:
        raise NoPathError(f"machine {machine.name}: no channels lead from {here} back to it")
    return min(ways, key=lambda way: (len(way), way))


def _plan(problem: Problem, path: Path, converting: Sequence[int | None], planner: str) -> Plan:
    best, clock = _best(problem, path, converting)
    return make_plan(problem, with_larger_chunks(problem, best, clock), clock, planner)


def _best(problem: Problem, path: Path, converting: Sequence[int | None]) -> tuple[Choice, Clock]:
    """The best choice along one path of memories, over its parallel channels.

    Raises:
        LimitError: not even one entry fits the limits; the message says which limits would be enough.
    """
    best: tuple[Choice, Clock] | None = None
    for at in converting:
        for route in _routes_along(problem, path, at):
            clock = clock_of(problem, route)
            choice = best_feasible_choice(problem, route, clock)
            if choice is not None and (best is None or choice.key < best[0].key):
                best = choice, clock
    if best is None:
        raise limits_too_small(problem, [path[1:-1]])
    choice, clock = best
    if math.isinf(choice.seconds):
        raise no_throughput(problem)
    return choice, clock


def _routes_along(problem: Problem, path: Path, converting: int | None) -> tuple[Route, ...]:
    """The combinations of parallel channels along a path, or the fastest one where there are more than `MOST_PARALLEL`."""
    return _routes(problem.machine, path, converting) or _fastest(problem, path, converting)


@lru_cache(maxsize=4096)
def _routes(machine: Machine, path: Path, converting: int | None) -> tuple[Route, ...]:
    """All combinations of parallel channels along a path; empty if there are more than `MOST_PARALLEL`."""
    hops = _hops(machine, path)
    if math.prod(map(len, hops)) > MOST_PARALLEL:
        return ()
    return tuple(Route(channels, converting) for channels in itertools.product(*hops))


def _fastest(problem: Problem, path: Path, converting: int | None) -> tuple[Route, ...]:
    """The fastest channels along a path for whole chunks."""
    chunk = min(problem.limit(path[1:-1]), problem.nbytes)
    hops = _hops(problem.machine, path)
    return (Route(tuple(max(channels, key=lambda c: c.rate(chunk)) for channels in hops), converting),)


def _hops(machine: Machine, path: Path) -> list[tuple[Channel, ...]]:
    """The parallel channels of every hop, by name."""
    return [tuple(sorted(machine.between(*ends), key=lambda c: c.name)) for ends in itertools.pairwise(path)]


@lru_cache(maxsize=1024)
def _with_memcpy(machine: Machine, path: Path) -> tuple[Path, int | None]:
    """A path with a Memcpy hop, and the number of its first Memcpy hop.

    If the path has none, the Memcpy self-loop of the first CPU memory that has one is inserted. The number is None if no CPU
    memory of the path has one.
    """
    for i, ends in enumerate(itertools.pairwise(path)):
        if any(channel.kind.is_host_copy for channel in machine.between(*ends)):
            return path, i
    for i, name in enumerate(path):
        loops = machine.between(name, name)
        if machine.memory(name).kind.is_host and any(channel.kind.is_host_copy for channel in loops):
            return (*path[: i + 1], name, *path[i + 1 :]), i
    return path, None
