"""Plans of several paths for transfers that begin together.

1. Paths that may carry bytes come from the maximum flow, and from the prices of links (`machine_links.steady_paths`).
2. Each of them gets a part of its transfer, as a box, and the plan of a single path for this part.
3. The program (`split`) splits the bytes anew, with the times of these plans. It leaves out paths that begin too late.
4. Both are repeated while the time falls. Shorter parts have smaller chunks, so a path's time depends on its share.
5. On a machine with few links, parts then move from path to path while the exact time falls. The program counts shared links as
   never idle, and the time of a path as linear in its bytes. Both are only nearly true.

The time of one transfer is that of its plan, whose paths take turns on shared links (`Plan.seconds`). Several transfers count as
streams that divide shared links fairly (`planner.time.together`).
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from isoviz.layouts import Box
from isoviz.planner.by_hand.path_by_hand import violations
from isoviz.planner.multipath.cutting import cut, cut_dims
from isoviz.planner.multipath.machine_links import Demand, MachineLinks, Steady, steady_paths
from isoviz.planner.multipath.network_paths import network_paths
from isoviz.planner.multipath.path_choice import MULTIPATH, allowed, plan_over
from isoviz.planner.multipath.split import Split, Stream, split_bytes, stream_of
from isoviz.planner.multipath.tuning import (
    ALIKE,
    FIRST_PARTS,
    LARGEST_SHIFT,
    LEAST_GAIN,
    MOST_CHOSEN,
    MOST_ROUNDS,
    PATH_STEPS,
    PLAN_GAIN,
    ROUND_GAIN,
    SHIFT_GAIN,
    SMALLEST_SHIFT,
    TRY_STEPS,
)
from isoviz.planner.plan import Plan, seconds_of_paths
from isoviz.planner.planning_work import work_of
from isoviz.planner.problem import Problem
from isoviz.planner.shares import share_of
from isoviz.planner.time.together import seconds_together, sharing_paths, uses_of

if TYPE_CHECKING:
    from isoviz.planner.multipath.machine_links import Path
    from isoviz.planner.options import Options
    from isoviz.planner.path_plan import PathPlan
    from isoviz.planner.planning_work import Work
    from isoviz.planner.transfer import Transfer


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


def links_of(problems: Sequence[Problem], destinations: Sequence[str], more: Sequence[Path]) -> MachineLinks:
    """The links of the machine for the chunks of some transfers; `more` are paths that they include.

    Parts of every transfer may go to any of `destinations`, or to its own destination where there are none.
    """
    chunk = float(min(min(problem.nbytes, problem.slot_limit) for problem in problems))
    ends = [(each.transfer.source.memory, each.transfer.destination.memory) for each in problems]
    demands = [Demand(here, tuple(dict.fromkeys((there, *destinations)))) for here, there in ends]
    machine = problems[0].machine
    found = network_paths(machine, demands, [float(problem.nbytes) for problem in problems], chunk, more)
    if found is not None:
        return MachineLinks(found.machine, chunk, demands, found.paths)
    names = dict.fromkeys(itertools.chain(*ends, destinations))
    return MachineLinks(machine.around(*names), chunk, demands)


def path_of(plan: Plan, problem: Problem) -> Path:
    """The channels of the path of a plan, without self-loops."""
    channels = (problem.machine.channel(hop.channel) for hop in plan.hops)
    return tuple(channel for channel in channels if not channel.is_self_loop)


def several_paths(
    problems: Sequence[Problem], single: Sequence[Plan], destinations: Sequence[str] = (), work: Work | None = None
) -> Shared:
    """The best plans found for some transfers on one machine, beginning with the plans `single` of one path each.

    The source and the destination of each transfer are two memories. Parts of every transfer may go to any of `destinations`, or
    to its own destination where there are none. `work` bounds the last step for a transfer that is alone; by default it is what
    the options allow.
    """
    more = [path_of(plan, problem) for plan, problem in zip(single, problems, strict=True)]
    links = links_of(problems, destinations, more)
    problems = [Problem(problem.transfer, links.machine, problem.options) for problem in problems]
    sizes = [float(problem.nbytes) for problem in problems]
    steady = steady_paths(links, sizes, more)
    ways = [
        allowed(found, problem.options, path, is_alone=len(problems) == 1)
        for found, problem, path in zip(steady.paths, problems, more, strict=True)
    ]
    best = one = _one_path_each(problems, single, more, steady)
    if ways == [[path] for path in more]:
        return one
    dims = [cut_dims(problem.transfer) for problem in problems]
    # Paths that take turns on a channel wait for each other, which the program does not count. Transfers may have to.
    variants = (True, False) if len(problems) == 1 and links.known is None else (False,)
    for turn in range(max(map(len, dims)) if links.known is None else 1):
        cuts = [
            names[min(turn, len(names) - 1)] if names else each.transfer.space.dims[0]
            for names, each in zip(dims, problems, strict=True)
        ]
        search = _Search(problems, links, ways, cuts, steady)
        for disjoint in variants:
            best = search.run(best, disjoint=disjoint)
        gains = steady.gains or best.seconds < one.seconds * (1 - PLAN_GAIN)
        if len(problems) == 1 and links.has_few and gains:
            best = search.shifted(best, work or work_of(problems[0].options))
        if best.split.paths == len(problems):  # one path each: what the others would take says why
            best = best._replace(streams=tuple(stream for stream in search.streams if stream is not None))
    return best


def _one_path_each(problems: Sequence[Problem], single: Sequence[Plan], ways: Sequence[Path], steady: Steady) -> Shared:
    paths = tuple((plan.only,) for plan in single)
    streams = tuple(stream_of(number, plan.only) for number, plan in enumerate(single))
    split = split_bytes(streams, [problem.nbytes for problem in problems])
    return Shared(paths, seconds_of(problems, paths), tuple(ways), streams, split, steady)


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


def seconds_of(problems: Sequence[Problem], paths: Sequence[Sequence[PathPlan]], *, exact: bool = True) -> float:
    """The seconds until the last of some transfers ends that begin together.

    Of one transfer it is exact, unless less is asked for: then paths that share links count as streams. Of many paths it is a
    lower bound: no link that they share is idle before the last of them ends.
    """
    if exact and len(problems) == 1 and len({path.transfer.destination.memory for path in paths[0]}) == 1:
        return seconds_of_paths(paths[0])
    every = [path for each in paths for path in each]
    setup = max(path.setup for path in every)
    alone = [path.objective - path.setup for path in every]
    if len(every) <= MOST_CHOSEN:
        return setup + seconds_together(every, alone)
    busy: dict[str, float] = {}
    for path in every:
        for name, cost in uses_of(path).items():
            busy[name] = busy.get(name, 0.0) + cost * path.bytes
    return setup + max(*alone, *busy.values())


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

    def __init__(
        self,
        problems: Sequence[Problem],
        links: MachineLinks,
        ways: Sequence[Sequence[Path]],
        dims: Sequence[str],
        steady: Steady,
    ) -> None:
        self.problems, self.links, self.dims, self.steady = problems, links, dims, steady
        self.ways = [(number, way) for number, found in enumerate(ways) for way in sorted(found, key=_destination)]
        """The paths with the numbers of their transfers; those that lead to one memory are neighbours."""
        self.streams: list[Stream | None] = [None] * len(self.ways)
        self.sizes = [float(problem.nbytes) for problem in problems]
        self.planned: dict[tuple[int, Box, int], PathPlan | None] = {}
        self.steps = 0.0
        """The steps of planning these paths (`planner.planning_work`)."""
        self.many = len(self.ways) > MOST_CHOSEN
        self.most = problems[0].options.paths if len(problems) == 1 else None

    def run(self, best: Shared, *, disjoint: bool) -> Shared:
        """The best of what is known and of what this search finds; `disjoint` asks for paths without a common channel."""
        most = max(Counter(number for number, _ in self.ways).values())
        for parts in (most,) if self.links.known is not None else sorted({min(first, most) for first in FIRST_PARTS}):
            self._time_ways(range(len(self.ways)), 1 / parts)
            best = self._rounds(best, disjoint=disjoint)
        return best

    def _rounds(self, best: Shared, *, disjoint: bool) -> Shared:
        for _ in range(1 if self.many else MOST_ROUNDS):
            known = [k for k, stream in enumerate(self.streams) if stream is not None]
            if {self.ways[k][0] for k in known} != set(range(len(self.problems))):
                return best  # no path of some transfer has room
            streams = tuple(stream for stream in self.streams if stream is not None)
            split = split_bytes(streams, self.sizes, self.most, disjoint=disjoint)
            if split.seconds >= best.seconds * (1 - ROUND_GAIN):
                return best
            shares = [0.0] * len(self.ways)
            for k, share in zip(known, split.shares, strict=True):
                shares[k] = share
            paths = self._planned(shares)
            if paths is None:
                return best
            seconds = seconds_of(self.problems, paths, exact=self.links.known is None)  # the paths of a network share no channel
            found = Shared(paths, seconds, tuple(self.ways[k][1] for k in known), streams, split, self.steady)
            if found.seconds >= best.seconds * (1 - ROUND_GAIN):
                return min(best, found, key=lambda each: each.seconds)
            best = found
            if self.links.known is not None and split.paths == len(self.ways):
                return best  # the paths were timed with such shares
            idle = [k for k, share in enumerate(shares) if not share]
            self._time_ways(idle, len(self.problems) / split.paths)
        return best

    def shifted(self, best: Shared, work: Work) -> Shared:
        """The best plan that parts moving from one path of the only transfer to another lead to.

        The parts become smaller while none of them shortens the time.
        """
        shares = self._shares_of(best.paths[0])
        if shares is None or self._is_exact(best.paths[0]):
            return best
        least, part = _with_gain(best.seconds, len(best.paths[0])), LARGEST_SHIFT
        while part >= SMALLEST_SHIFT:
            before = best
            for given, taken in itertools.permutations(range(len(shares)), 2):
                stream = self.streams[taken]
                if not shares[given] or (stream is not None and stream.seconds(0) >= best.seconds):
                    continue
                if not work.pays(best.seconds - self.steady.split.seconds, self.steps):
                    return best
                work.add(self.steps + TRY_STEPS)
                self.steps = 0.0
                tried = list(shares)
                tried[given], tried[taken] = max(0.0, shares[given] - part), shares[taken] + min(part, shares[given])
                found = self._faster(tried, least * (1 - SHIFT_GAIN))
                if found is not None:
                    shares, (paths, seconds) = tried, found
                    least = _with_gain(seconds, len(paths[0]))
                    streams = tuple(stream for stream in self.streams if stream is not None)
                    split = split_bytes([stream_of(0, path) for path in paths[0]], self.sizes)
                    best = best._replace(paths=paths, seconds=seconds, streams=streams, split=split)
            if best is before:
                part /= 2
        return best

    def _is_exact(self, paths: Sequence[PathPlan]) -> bool:
        """Whether the program is right about the times of paths: nothing is shared, and no path with buffers has one chunk."""
        users = Counter(name for stream in self.streams if stream for name in stream.uses if name.startswith("resource "))
        alone = len(sharing_paths(paths)) == len(paths) and max(users.values(), default=0) < 2
        return alone and all(len(path.hops) == 1 or path.chunk_count > 1 for path in paths)

    def _faster(self, shares: Sequence[float], goal: float) -> tuple[tuple[tuple[PathPlan, ...], ...], float] | None:
        """The paths with these shares of the only transfer and their time, where that is less than `goal` seconds with what each
        path has to save.

        Parts as long at the beginning of the transfer tell whether it may be, since their plans serve many tries.
        """
        used = [k for k, share in enumerate(shares) if share > 0]
        if self.most is not None and len(used) > self.most:
            return None
        buffered = sum(len(self.ways[k][1]) > 1 for k in used)
        transfer, dim = self.problems[0].transfer, self.dims[0]
        alike = []
        for k in used:
            box = cut(transfer, dim, [shares[k], 1 - shares[k]])[0]
            path = None if box is None else self._path(k, box, buffered)
            if path is None or _with_gain(path.seconds, len(used)) >= goal:
                return None
            alike.append(path)
        if _with_gain(seconds_of(self.problems, [_in_turn(alike)]), len(used)) >= goal:
            return None
        paths = self._planned(shares)
        if paths is None or _with_gain(seconds := seconds_of(self.problems, paths), len(paths[0])) >= goal:
            return None
        return paths, seconds

    def _shares_of(self, paths: Sequence[PathPlan]) -> list[float] | None:
        """The shares of the paths of the search in a plan of the only transfer; None where the plan has a further path."""
        known = {tuple(channel.name for channel in way): k for k, (_, way) in enumerate(self.ways)}
        shares = [0.0] * len(self.ways)
        for path in paths:
            names = tuple(hop.channel for hop in path.hops if hop.source != hop.destination)
            if names not in known:
                return None
            shares[known[names]] = path.bytes / self.sizes[0]
        return shares

    def _time_ways(self, ways: Iterable[int], share: float) -> None:
        """Work out what some paths take for a share of their transfers.

        Of many paths those count alike that have as many hops and bytes: they differ in the links that they use.
        """
        alike: dict[tuple[int, int], Stream | None] = {}
        for k in ways:
            number, way = self.ways[k]
            key = len(way), round(ALIKE * math.log(self.sizes[number]))
            if not self.many or key not in alike:
                alike[key] = self._stream(k, share)
            elif (known := alike[key]) is not None:
                alike[key] = known._replace(demand=number, uses=self.links.stream(number, way).uses)
            self.streams[k] = alike[key]

    def _stream(self, k: int, share: float) -> Stream | None:
        """What a path takes for a share of its transfer; None where that has no room, or is less than the smallest part."""
        number = self.ways[k][0]
        transfer, dim = self.problems[number].transfer, self.dims[number]
        found = []
        for part in (share, share / 2):
            box = cut(transfer, dim, [part, 1 - part])[0]
            found.append(None if box is None else self._path(k, box, 1))
            if found[0] is None or found[0].chunk_count > 1:
                break
        return None if found[0] is None else stream_of(number, *found)  # type: ignore[arg-type]

    def _path(self, k: int, box: Box, buffered: int) -> PathPlan | None:
        """The plan of a path for a part of its transfer, one of `buffered` paths with buffers."""
        key = k, box, buffered
        if key not in self.planned:
            number, way = self.ways[k]
            problem = self.problems[number]
            moved = to_memory(problem.transfer, way[-1].destination).part(box)
            self.steps += PATH_STEPS * (2 * len(way) + 1 if problem.ends.converts else 1)
            self.planned[key] = plan_over(Problem(moved, problem.machine, _divided(problem, way, buffered)), way)
        return self.planned[key]

    def _planned(self, shares: Sequence[float]) -> tuple[tuple[PathPlan, ...], ...] | None:
        """The paths with these shares of their transfers; None where one of them, or all together, do not fit the limits."""
        boxes = self._boxes(shares)
        buffered = Counter(number for (number, way), box in zip(self.ways, boxes, strict=True) if box and len(way) > 1)
        found: list[list[PathPlan]] = [[] for _ in self.problems]
        complete = True
        for k, ((number, _), box) in enumerate(zip(self.ways, boxes, strict=True)):
            if box is None:
                continue
            path = self._path(k, box, buffered[number])
            if path is None:
                complete = False
                continue
            if path.chunk_count > 1:
                self.streams[k] = stream_of(number, path)
            found[number].append(path)
        if not complete or any(self._is_over(number, paths) for number, paths in enumerate(found)):
            return None
        return tuple(map(_in_turn, found))

    def _boxes(self, shares: Sequence[float]) -> list[Box | None]:
        mine: list[list[int]] = [[] for _ in self.problems]
        for k, (number, _) in enumerate(self.ways):
            mine[number].append(k)
        boxes: list[Box | None] = [None] * len(self.ways)
        for problem, dim, ways in zip(self.problems, self.dims, mine, strict=True):
            for k, box in zip(ways, cut(problem.transfer, dim, [shares[k] for k in ways]), strict=True):
                boxes[k] = box
        return boxes

    def _is_over(self, number: int, paths: Sequence[PathPlan]) -> bool:
        """Whether the buffers of all paths of a transfer together break a limit."""
        buffers = [buffer for path in paths for buffer in path.buffers]
        return any(True for _ in violations(self.problems[number], buffers))


def _in_turn(paths: Iterable[PathPlan]) -> tuple[PathPlan, ...]:
    """The paths of a transfer in the order in which they use shared links: a long one should not be late."""
    return tuple(sorted(paths, key=lambda path: -len(path.hops)))


def _with_gain(seconds: float, count: int) -> float:
    """The time of `count` paths, longer by what each of them has to save."""
    return seconds * (1 + LEAST_GAIN * count)


def _destination(way: Path) -> str:
    return way[-1].destination


def to_memory(transfer: Transfer, memory: str) -> Transfer:
    """A transfer with another memory as its destination."""
    if transfer.destination.memory == memory:
        return transfer
    return replace(transfer, destination=replace(transfer.destination, memory=memory))
