"""Plans of several paths for transfers that begin together.

1. Paths that may carry bytes come from the maximum flow, and from the prices of links (`machine_links.steady_paths`).
2. Each of them gets a part of its transfer, as a box, and the plan of a single path for this part.
3. The program (`split`) splits the bytes anew, with the times of these plans. It leaves out paths that begin too late.
4. Both are repeated while the time falls. Shorter parts have smaller chunks, so a path's time depends on its share.

The time of one transfer is that of its plan, whose paths take turns on shared links (`Plan.seconds`). Several transfers count as
streams that divide shared links fairly (`planner.time.together`).
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from isoviz.planner.by_hand.path_by_hand import violations
from isoviz.planner.multipath.cutting import cut, cut_dims
from isoviz.planner.multipath.machine_links import MachineLinks, Steady, steady_paths
from isoviz.planner.multipath.network_paths import network_paths
from isoviz.planner.multipath.path_choice import MULTIPATH, plan_over
from isoviz.planner.multipath.split import Split, Stream, split_bytes, stream_of
from isoviz.planner.multipath.tuning import FIRST_PARTS, MOST_ROUNDS, ROUND_GAIN
from isoviz.planner.plan import Plan
from isoviz.planner.problem import Problem
from isoviz.planner.time.together import seconds_together

if TYPE_CHECKING:
    from isoviz.layouts import Box
    from isoviz.planner.multipath.machine_links import Path
    from isoviz.planner.options import Options
    from isoviz.planner.path_plan import PathPlan


class Shared(NamedTuple):
    """The planned paths of every transfer, and the seconds until the last of them ends.

    `streams` holds all paths that were considered, with their times; `split` is the last solution of the program, and `steady`
    that for transfers that are so long that the start does not count. `ways` holds the channels of each stream.
    """

    paths: tuple[tuple[PathPlan, ...], ...]
    seconds: float
    ways: tuple[Path, ...]
    streams: tuple[Stream, ...]
    split: Split
    steady: Steady


def links_of(problems: Sequence[Problem], more: Sequence[Path]) -> MachineLinks:
    """The links of the machine for the chunks of some transfers; `more` are paths that they include."""
    chunk = float(min(min(problem.nbytes, problem.slot_limit) for problem in problems))
    ends = [(each.transfer.source.memory, each.transfer.destination.memory) for each in problems]
    machine = problems[0].machine
    found = network_paths(machine, ends, chunk, more)
    if found is not None:
        return MachineLinks(found.machine, chunk, ends, found.paths)
    return MachineLinks(machine.around(*dict.fromkeys(itertools.chain(*ends))), chunk, ends)


def path_of(plan: Plan, problem: Problem) -> Path:
    """The channels of the path of a plan, without self-loops."""
    channels = (problem.machine.channel(hop.channel) for hop in plan.hops)
    return tuple(channel for channel in channels if not channel.is_self_loop)


def several_paths(problems: Sequence[Problem], single: Sequence[Plan]) -> Shared:
    """The best plans found for some transfers on one machine, beginning with the plans `single` of one path each.

    The source and the destination of each transfer are two memories.
    """
    more = [path_of(plan, problem) for plan, problem in zip(single, problems, strict=True)]
    links = links_of(problems, more)
    problems = [Problem(problem.transfer, links.machine, problem.options) for problem in problems]
    sizes, moved = [float(problem.nbytes) for problem in problems], [problem.transfer for problem in problems]
    steady = steady_paths(links, sizes, more)
    ways = steady.paths
    best = _one_path_each(problems, single, more, steady)
    if all(len(found) == 1 for found in ways):
        return best
    dims = [cut_dims(problem.transfer) for problem in problems]
    for turn in range(max(map(len, dims))):
        cuts = [
            names[min(turn, len(names) - 1)] if names else each.space.dims[0] for names, each in zip(dims, moved, strict=True)
        ]
        search = _Search(problems, ways, cuts, steady)
        # Paths that take turns on a channel wait for each other, which the program does not count. Transfers may have to.
        for disjoint in (True, False) if len(problems) == 1 else (False,):
            best = search.run(best, disjoint=disjoint)
        if best.split.paths == len(problems):  # one path each: what the others would take says why
            best = best._replace(streams=tuple(stream for stream in search.streams if stream is not None))
    return best


def _one_path_each(problems: Sequence[Problem], single: Sequence[Plan], ways: Sequence[Path], steady: Steady) -> Shared:
    paths = tuple((plan.only,) for plan in single)
    streams = tuple(stream_of(number, plan.only) for number, plan in enumerate(single))
    split = split_bytes(streams, [problem.nbytes for problem in problems])
    return Shared(paths, seconds_of(problems, paths), tuple(ways), streams, split, steady)


def plan_of(problem: Problem, paths: Sequence[PathPlan], notes: tuple[str, ...] = ()) -> Plan:
    """The plan of some paths of a transfer."""
    machine = problem.machine
    emulated = machine.emulated(name for path in paths for name in path.memories)
    return Plan(problem.transfer, machine.name, machine.digest, MULTIPATH, tuple(paths), notes, emulated=emulated)


def seconds_of(problems: Sequence[Problem], paths: Sequence[Sequence[PathPlan]]) -> float:
    """The seconds until the last of some transfers ends that begin together."""
    if len(problems) == 1:
        return plan_of(problems[0], paths[0]).seconds
    every = [path for each in paths for path in each]
    setup = max(path.setup for path in every)
    return setup + seconds_together(every, [path.objective - path.setup for path in every])


def _divided(problem: Problem, way: Path, count: int) -> Options:
    """The options for one of `count` paths with buffers: its part of the memory that all paths may take together."""
    options = problem.options
    if count > 1 and problem.memory_limit is not None:
        options = replace(options, memory_limit=max(1, problem.memory_limit // count))
    if count > 1 and not problem.alike:
        options = replace(options, slot_limit=max(1, problem.limit([channel.destination for channel in way[:-1]]) // count))
    return options


class _Search:
    """The search for shares of some paths, with every transfer cut along one dimension."""

    def __init__(self, problems: Sequence[Problem], ways: Sequence[Sequence[Path]], dims: Sequence[str], steady: Steady) -> None:
        self.problems, self.dims, self.steady = problems, dims, steady
        self.ways = [(number, way) for number, found in enumerate(ways) for way in found]
        self.streams: list[Stream | None] = [None] * len(self.ways)
        self.sizes = [float(problem.nbytes) for problem in problems]
        self.planned: dict[tuple[int, Box, int], PathPlan | None] = {}

    def run(self, best: Shared, *, disjoint: bool) -> Shared:
        """The best of what is known and of what this search finds; `disjoint` asks for paths without a common channel."""
        most = max(Counter(number for number, _ in self.ways).values())
        for parts in sorted({min(first, most) for first in FIRST_PARTS}):
            self._time_ways(range(len(self.ways)), 1 / parts)
            best = self._rounds(best, disjoint=disjoint)
        return best

    def _rounds(self, best: Shared, *, disjoint: bool) -> Shared:
        for _ in range(MOST_ROUNDS):
            known = [k for k, stream in enumerate(self.streams) if stream is not None]
            if {self.ways[k][0] for k in known} != set(range(len(self.problems))):
                return best  # no path of some transfer has room
            streams = tuple(stream for stream in self.streams if stream is not None)
            split = split_bytes(streams, self.sizes, disjoint=disjoint)
            if split.seconds >= best.seconds * (1 - ROUND_GAIN):
                return best
            shares = [0.0] * len(self.ways)
            for k, share in zip(known, split.shares, strict=True):
                shares[k] = share
            paths = self._planned(shares)
            if paths is None:
                return best
            found = Shared(
                paths, seconds_of(self.problems, paths), tuple(self.ways[k][1] for k in known), streams, split, self.steady
            )
            if found.seconds >= best.seconds * (1 - ROUND_GAIN):
                return min(best, found, key=lambda each: each.seconds)
            best = found
            idle = [k for k, share in enumerate(shares) if not share]
            self._time_ways(idle, len(self.problems) / split.paths)
        return best

    def _time_ways(self, ways: Iterable[int], share: float) -> None:
        """Work out what some paths take for a share of their transfers."""
        for k in ways:
            number = self.ways[k][0]
            box = cut(self.problems[number].transfer, self.dims[number], [share, 1 - share])[0]
            path = None if box is None else self._path(k, box, 1)
            if path is not None:
                self.streams[k] = stream_of(number, path)

    def _path(self, k: int, box: Box, buffered: int) -> PathPlan | None:
        """The plan of a path for a part of its transfer, one of `buffered` paths with buffers."""
        key = k, box, buffered
        if key not in self.planned:
            number, way = self.ways[k]
            problem = self.problems[number]
            part = Problem(problem.transfer.part(box), problem.machine, _divided(problem, way, buffered))
            self.planned[key] = plan_over(part, way)
        return self.planned[key]

    def _planned(self, shares: Sequence[float]) -> tuple[tuple[PathPlan, ...], ...] | None:
        """The paths with these shares of their transfers; None where one of them, or all together, do not fit the limits."""
        boxes = self._boxes(shares)
        found: list[list[PathPlan]] = [[] for _ in self.problems]
        complete = True
        for k, ((number, _), box) in enumerate(zip(self.ways, boxes, strict=True)):
            if box is None:
                continue
            buffered = sum(len(other) > 1 for (each, other), got in zip(self.ways, boxes, strict=True) if each == number and got)
            path = self._path(k, box, buffered)
            if path is None:
                complete = False
                continue
            self.streams[k] = stream_of(number, path)
            found[number].append(path)
        for paths in found:  # on shared links the first path goes first: a long one should not be late
            paths.sort(key=lambda path: -len(path.hops))
        if not complete or any(self._is_over(number, paths) for number, paths in enumerate(found)):
            return None
        return tuple(map(tuple, found))

    def _boxes(self, shares: Sequence[float]) -> list[Box | None]:
        boxes: list[Box | None] = [None] * len(self.ways)
        for number, (problem, dim) in enumerate(zip(self.problems, self.dims, strict=True)):
            mine = [k for k, (each, _) in enumerate(self.ways) if each == number]
            for k, box in zip(mine, cut(problem.transfer, dim, [shares[k] for k in mine]), strict=True):
                boxes[k] = box
        return boxes

    def _is_over(self, number: int, paths: Sequence[PathPlan]) -> bool:
        """Whether the buffers of all paths of a transfer together break a limit."""
        buffers = [buffer for path in paths for buffer in path.buffers]
        return any(True for _ in violations(self.problems[number], buffers))
