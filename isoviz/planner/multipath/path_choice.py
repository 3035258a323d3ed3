"""The plan of one path over given channels: its layouts, chunks and buffers, by the planner of single paths."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from isoviz.planner.build_plan import make_plan
from isoviz.planner.full import with_bounds
from isoviz.planner.multipath.tuning import EVEN_LOSS, MOST_ROUTES, NEARLY_AS_GOOD, PATH_STEPS, PATIENCE
from isoviz.planner.one_path.optimum import best_feasible_choice, clock_of, with_larger_chunks
from isoviz.planner.paths.routes import Route
from isoviz.planner.problem import channels_in_mean
from isoviz.planner.tuning import BOUND_SLACK

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoviz.machines import Machine
    from isoviz.planner.multipath.machine_links import Path
    from isoviz.planner.one_path.choice import Choice
    from isoviz.planner.options import Options
    from isoviz.planner.path_plan import PathPlan
    from isoviz.planner.problem import Problem
    from isoviz.planner.time.path_time import Clock

MULTIPATH = "multipath"
"""The name of the planner."""


def routes_over(machine: Machine, path: Path, *, converts: bool) -> list[Route]:
    """The routes over the channels of a path.

    Where the layout changes, each hop may convert it, or a self-loop of one of the memories on the way.
    """
    if not converts:
        return [Route(path, None)]
    found = [Route(path, hop) for hop in range(len(path))]
    memories = (path[0].source, *(channel.destination for channel in path))
    for at, name in enumerate(memories):
        if machine.memory(name).holds_buffers:
            found += [Route((*path[:at], loop, *path[at:]), at) for loop in machine.between(name, name)]
    return found


class PathPlanner:
    """Plans of parts of a transfer over the channels of a path.

    The first part is planned over all routes. Later ones have other sizes, and are planned over the routes that were nearly as
    good.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.routes: Sequence[Route] | None = None
        """The routes that are worth a try; None if they are not known yet."""

    def plan(self, problem: Problem) -> PathPlan | None:
        """The fastest plan found of a part; None where its chunks do not fit the limits."""
        routes = self.routes or self._routes_of(problem)
        best: tuple[Choice, Clock] | None = None
        tried: list[tuple[float, Route]] = []
        in_vain = 0
        for route, bound in sorted(with_bounds(problem, routes), key=lambda each: each[1]):
            if best is not None and (bound * (1 - BOUND_SLACK) > problem.with_cost(best[0]) or problem.work.is_done):
                break
            if in_vain == PATIENCE:
                break
            in_vain += 1
            clock = clock_of(problem, route)
            choice = best_feasible_choice(problem, route, clock)
            if choice is None or math.isinf(choice.seconds):
                continue
            tried.append((problem.with_cost(choice), route))
            if best is None or problem.key(choice) < problem.key(best[0]):
                best, in_vain = (choice, clock), 0
        if best is None:
            return None
        if self.routes is None:
            goal = problem.with_cost(best[0]) * NEARLY_AS_GOOD
            ranked = sorted(tried, key=lambda each: each[0])[:MOST_ROUTES]
            self.routes = [route for seconds, route in ranked if seconds <= goal]
        problem.work.add(PATH_STEPS)
        choice, clock = best
        return _with_even_chunks(problem, with_larger_chunks(problem, choice, clock), clock)

    def _routes_of(self, problem: Problem) -> list[Route]:
        path = channels_in_mean(problem, [channel.name for channel in self.path]) if problem.reuse > 1 else self.path
        return routes_over(problem.in_mean, path, converts=problem.ends.converts)


def _with_even_chunks(problem: Problem, choice: Choice, clock: Clock) -> PathPlan:
    """The plan of a choice, with chunks of equal length where the last one would be short and cost a whole request.

    T counts the last chunk as a fraction. The paths of a plan end together only if their exact times are good.
    """
    made = make_plan(problem, choice, clock, MULTIPATH).only
    if made.chunk_count == 1 or made.mean <= made.objective * (1 + EVEN_LOSS):
        return made
    if problem.ends.converts and choice.family is None and choice.layout_before is None:
        return made  # chunks are multiples of the runs
    blocks, each = made.chunks.blocks, choice.per_chunk // made.per_chunk
    found = [made]
    for count in (made.chunk_count, made.chunk_count - 1):
        per_chunk = -(-blocks // count)
        if per_chunk * choice.slot <= problem.limit(choice.route.inside) * made.per_chunk:
            even = choice._replace(per_chunk=per_chunk * each, slot=-(-per_chunk * choice.slot // made.per_chunk))
            found.append(make_plan(problem, even, clock, MULTIPATH).only)
    problem.work.add(PATH_STEPS * (len(found) - 1))
    return min(found, key=lambda path: path.mean)


def plan_over(problem: Problem, path: Path) -> PathPlan | None:
    """The fastest plan of a transfer over the channels of a path; None where its chunks do not fit the limits."""
    return PathPlanner(path).plan(problem)


def allowed(paths: Sequence[Path], options: Options, single: Path, *, is_alone: bool) -> list[Path]:
    """The paths that the options allow; `single`, that of the best plan over one path, is always allowed.

    The program that splits the bytes chooses among the paths of a transfer that is alone. Of several transfers that begin
    together, each has its first paths.
    """
    if options.paths == 1:
        return [single]
    most = options.proxies
    found = [path for path in paths if most is None or len(path) - 1 <= most or path == single] or [single]
    return found if is_alone else found[: options.paths]


def divided(problem: Problem, way: Path, count: int) -> Options:
    """The options for one of `count` paths with buffers: its part of the memory that all paths may take together."""
    options = problem.options
    if count > 1 and problem.memory_limit is not None:
        options = replace(options, memory_limit=max(1, problem.memory_limit // count))
    if count > 1 and not problem.uniform_slots:
        options = replace(options, slot_limit=max(1, problem.limit([channel.destination for channel in way[:-1]]) // count))
    return options
