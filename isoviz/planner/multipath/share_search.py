"""The search for the shares of some paths, with every transfer cut along one dimension.

1. Each path gets a part of its transfer, as a box, and the plan of a single path for this part.
2. The program (`split`) splits the bytes anew, with the times of these plans. It leaves out paths that begin too late.
3. Both are repeated while the time falls. Shorter parts have smaller chunks, so a path's time depends on its share.
4. Shares follow from the ends of the paths: a path that ends late gives bytes to those that end early.
5. Fewer paths are tried as well. Where paths share a link, one path less may be faster.
6. On a machine with few links, parts move from path to path while the exact time falls. The program counts shared links as never
   idle, and the time of a path as linear in its bytes. Both are only nearly true.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from isoviz.planner.by_hand.limits import broken_limits
from isoviz.planner.multipath.path_choice import PathPlanner, divided
from isoviz.planner.multipath.split import Split, Stream, cut, split_bytes, stream_of
from isoviz.planner.multipath.tuning import (
    ALIKE,
    FEW_PATHS,
    FEW_REQUESTS,
    FIRST_PARTS,
    FIRST_WAYS,
    FOLLOWED_STEPS,
    HOPE,
    LARGEST_SHIFT,
    LEAST_GAIN,
    MOST_BALANCED,
    MOST_CHOSEN,
    MOST_ROUNDS,
    ROUND_GAIN,
    SHIFT_GAIN,
    SMALLEST_SHIFT,
)
from isoviz.planner.plan import ends_in_mean
from isoviz.planner.problem import Problem
from isoviz.planner.time.together import seconds_together, sharing_paths, uses_of

if TYPE_CHECKING:
    from isoviz.layouts import Box
    from isoviz.planner.multipath.machine_links import MachineLinks, Path, Steady
    from isoviz.planner.path_plan import PathPlan
    from isoviz.planner.plan import Plan
    from isoviz.planner.planning_work import Work
    from isoviz.planner.transfer import Transfer


# The bytes of paths that end together, from what is known of their ends.


def are_steady(paths: Sequence[PathPlan]) -> bool:
    """Whether no path with buffers has one chunk: then the program knows their times nearly."""
    return all(len(path.hops) == 1 or path.chunk_count > 1 for path in paths)


def bytes_to_end_together(
    known: Mapping[int, Sequence[tuple[float, float]]], nbytes: float, latest: float
) -> tuple[float, dict[int, float]]:
    """The time at which paths end together that move some bytes, `latest` at most, and the bytes of each.

    `known` holds, for each path, its ends by its bytes, the fewest first; between them and after them they lie on lines.
    """
    low, high = 0.0, latest
    for _ in range(60):
        end = (low + high) / 2
        sizes = {k: _bytes_until(points, end) for k, points in known.items()}
        if sum(sizes.values()) < nbytes:
            low = end
        else:
            high = end
    total = sum(sizes.values()) or 1.0
    return high, {k: size * nbytes / total for k, size in sizes.items()}


def _bytes_until(points: Sequence[tuple[float, float]], end: float) -> float:
    """The bytes of a path that ends at a time; `points` are as in `bytes_to_end_together`."""
    for (size, begin), (more, later) in itertools.pairwise(points):
        if end < later or more == points[-1][0]:
            return max(0.0, size + (end - begin) * (more - size) / max(later - begin, SHIFT_GAIN * later))
    return 0.0


class Shared(NamedTuple):
    """The planned paths of every transfer, and the seconds until the last of them ends.

    `single` holds the best plan of each transfer over one path that the options allow. `streams` holds all paths that were
    considered, with their times; `split` is the last solution of the program, and `steady` that for transfers that are so long
    that the start does not count. `stopped` says whether the planning time was used up.
    """

    single: tuple[Plan, ...]
    paths: tuple[tuple[PathPlan, ...], ...]
    seconds: float
    streams: tuple[Stream, ...]
    split: Split
    steady: Steady
    stopped: bool = False


def seconds_of(problems: Sequence[Problem], paths: Sequence[Sequence[PathPlan]]) -> float:
    """The seconds until the last of some transfers ends that begin together, in the mean of their starts.

    Of one transfer it is exact. Several count as streams that divide shared links fairly. Of many paths it is a lower bound: no
    link that they share is idle before the last of them ends.
    """
    if _is_alone(problems, paths):
        return max(ends_in_mean(paths[0]).seconds)
    every = [path for each in paths for path in each]
    setup = max(path.mean_setup for path in every)
    alone = [path.objective - path.mean_setup for path in every]
    if len(every) <= MOST_CHOSEN:
        return setup + seconds_together(every, alone)
    busy: dict[str, float] = {}
    for path in every:
        for name, cost in uses_of(path).items():
            busy[name] = busy.get(name, 0.0) + cost * path.bytes
    return setup + max(*alone, *busy.values())


def _is_alone(problems: Sequence[Problem], paths: Sequence[Sequence[PathPlan]]) -> bool:
    return len(problems) == 1 and len({path.transfer.destination.memory for path in paths[0]}) == 1


def to_memory(transfer: Transfer, memory: str) -> Transfer:
    """A transfer with another memory as its destination."""
    if transfer.destination.memory == memory:
        return transfer
    return replace(transfer, destination=replace(transfer.destination, memory=memory))


Parts = dict[int, "PathPlan"]
"""The planned paths by the numbers of their ways."""


class Tried(NamedTuple):
    """Paths with some shares, and their time in seconds; infinite where it is far from the best one.

    `ends` holds the times at which the paths of a transfer that is alone end, in the order of `_turns`. Where the time is
    infinite, they are the ends of the paths alone.
    """

    parts: Parts
    seconds: float
    ends: tuple[float, ...]


class ShareSearch:
    """One search; `best` is the best that is known, and `work` counts its steps.

    Raises:
        WorkDone: by each of its methods, where no steps are left; `best` stays.
    """

    def __init__(
        self,
        problems: Sequence[Problem],
        links: MachineLinks,
        ways: Sequence[Sequence[Path]],
        dims: Sequence[str],
        best: Shared,
        work: Work,
    ) -> None:
        self.problems, self.links, self.dims, self.best, self.work = problems, links, dims, best, work
        self.ways = [(number, way) for number, found in enumerate(ways) for way in sorted(found, key=_destination)]
        """The paths with the numbers of their transfers; those that lead to one memory are neighbours."""
        self.planners = [PathPlanner(way) for _, way in self.ways]
        self.considered: Sequence[int] = range(len(self.ways))
        """The ways that get a share."""
        self.streams: list[Stream | None] = [None] * len(self.ways)
        self.sizes = [float(problem.nbytes) for problem in problems]
        self.planned: dict[tuple[int, Box, int], PathPlan | None] = {}
        self.many = len(self.ways) > MOST_CHOSEN
        self.is_alone = len(problems) == 1
        self.most = problems[0].options.paths if self.is_alone else None

    def run(self, *, disjoint: bool) -> None:
        """Look for shares; `disjoint` asks for paths without a common channel."""
        most = max(Counter(number for number, _ in self.ways).values())
        if not self.is_alone:
            self._fit(most, None, disjoint=disjoint)
            return
        for parts in dict.fromkeys(min(first, most) for first in FIRST_PARTS):
            # Where the layout changes, the plan of a path takes long: the most promising paths come first.
            first_few = FIRST_WAYS if not self.planned and self.problems[0].ends.converts else ()
            for count in (*(each for each in first_few if each < most), most):
                self.considered = sorted(range(most), key=self._promise)[:count]
                self._fit(parts, self.most, disjoint=disjoint)
        for fewer in range(len(self.best.paths[0]) - 1, 1, -1):
            if not self._fit(fewer, fewer, disjoint=disjoint):
                break
        best = self.best.paths[0]
        if self.links.known is not None and not self.many and (len(best) == 1 or not are_steady(best)):
            for count in range(2, min(most, self.most or most) + 1):
                self._fit_equal(sorted(range(most), key=self._promise)[:count])

    def _fit_equal(self, ways: Collection[int]) -> None:
        """Fit the shares of some paths that share no link, beginning with equal ones.

        The program counts too much latency for paths with one chunk, and leaves some out.
        """
        found = self._tried([float(k in ways) for k in range(len(self.ways))])
        if found is not None:
            self._balance(found, is_steady=False)

    def _promise(self, k: int) -> float:
        """About the least time of a path for a part of the only transfer."""
        stream = self.links.stream(0, self.ways[k][1])
        return self.links.begin(self.ways[k][1]) + self.sizes[0] / FIRST_PARTS[0] * stream.seconds_per_byte

    def _fit(self, parts: int, most: int | None, *, disjoint: bool) -> bool:
        """Fit shares and paths to each other, beginning with paths that are timed for one part in `parts`.

        Says whether the program promised about the best time.
        """
        self._time_ways(self.considered, 1 / parts)
        found: Tried | None = None
        for _ in range(1 if self.many else MOST_ROUNDS):
            known = [k for k, stream in enumerate(self.streams) if stream is not None]
            if {self.ways[k][0] for k in known} != set(range(len(self.problems))):
                break  # no path of some transfer has room
            streams = tuple(stream for stream in self.streams if stream is not None)
            split = split_bytes(streams, self.sizes, most, disjoint=disjoint, work=self.work)
            if split.seconds >= self.best.seconds * HOPE:
                break
            shares = [0.0] * len(self.ways)
            for k, share in zip(known, split.shares, strict=True):
                shares[k] = share
            made = self._tried(shares)
            if made is None or (found is not None and made.seconds >= found.seconds * (1 - ROUND_GAIN)):
                break
            found = made
            if split.paths == len(self.considered):
                continue
            idle = [k for k in self.considered if not shares[k]]
            self._time_ways(idle, len(self.problems) / split.paths)
        if found is not None:
            self._balance(found, is_steady=are_steady(list(found.parts.values())))
        return found is not None

    def _tried(self, shares: Sequence[float]) -> Tried | None:
        """The paths with these shares of their transfers; None where they do not fit the limits. The best ones are kept."""
        parts = self._planned(shares)
        if parts is None:
            return None
        if not self.is_alone:
            made = Tried(parts, seconds_of(self.problems, self._paths(parts)), ())
        elif max(path.mean for path in parts.values()) >= self.best.seconds * HOPE:
            made = Tried(parts, math.inf, tuple(parts[k].mean for k in _turns(parts)))
        else:
            ends = self._ends(self._paths(parts)[0])
            made = Tried(parts, max(ends), ends)
        if made.seconds < self.best.seconds:
            self._keep(self._paths(parts), made.seconds)
        return made

    def _ends(self, paths: Sequence[PathPlan]) -> tuple[float, ...]:
        """When each path of the only transfer ends, in the mean of its starts."""
        found = ends_in_mean(paths)
        self.work.add(FOLLOWED_STEPS * found.followed)
        return tuple(found.seconds)

    def _keep(self, paths: tuple[tuple[PathPlan, ...], ...], seconds: float) -> None:
        streams = tuple(stream for stream in self.streams if stream is not None)
        mine = [stream_of(number, path) for number, each in enumerate(paths) for path in each]
        split = split_bytes(mine, self.sizes) if len(mine) <= MOST_CHOSEN else self.best.split
        self.best = self.best._replace(paths=paths, seconds=seconds, streams=streams, split=split)
        self.work.spend(0)

    def _balance(self, found: Tried, *, is_steady: bool) -> None:
        """Give bytes of paths that end late to those that end early, until all end at about the same time.

        A path that `is_steady` ends later by its time per byte. Otherwise its end is interpolated between the parts that were
        tried: it bends at the size from which a link takes longer than the latency of a request.
        """
        known: dict[int, dict[float, float]] = {}
        if is_steady and math.isinf(found.seconds):
            return
        for _ in range(MOST_BALANCED):
            if len(found.parts) < 2 or not found.ends:
                return
            for k, end in zip(_turns(found.parts), found.ends, strict=True):
                path = found.parts[k]
                begin = self.links.begin(self.ways[k][1]) if path.chunk_count == 1 else stream_of(0, path).seconds(0)
                before = {} if is_steady else known.get(k, {})
                known[k] = {0.0: begin, **before, float(path.bytes): end}
            end, sizes = bytes_to_end_together(
                {k: sorted(points.items()) for k, points in known.items()}, self.sizes[0], self.best.seconds
            )
            if end >= self.best.seconds * (1 - SHIFT_GAIN):
                return
            shares = [sizes.get(k, 0.0) / self.sizes[0] for k in range(len(self.ways))]
            made = self._tried(shares)
            if made is None or (is_steady and made.seconds >= found.seconds * (1 - SHIFT_GAIN)):
                return
            found = made

    # ---- parts that move from path to path

    def shift(self) -> None:
        """Move parts of the only transfer from one path to another while the time falls.

        The parts become smaller while none of them shortens the time.
        """
        mine = self.best.paths[0]
        shares = self._shares_of(mine)
        requests = sum(len(path.hops) * path.chunk_count for path in mine)
        is_quick = self.links.has_few or (len(self.ways) <= FEW_PATHS and (requests <= FEW_REQUESTS or not are_steady(mine)))
        if shares is None or not is_quick or self._is_exact(mine):
            return
        least, part = _with_gain(self.best.seconds, len(self.best.paths[0])), LARGEST_SHIFT
        while part >= SMALLEST_SHIFT:
            before = self.best
            for given, taken in itertools.permutations(range(len(shares)), 2):
                stream = self.streams[taken]
                if not shares[given] or (stream is not None and stream.seconds(0) >= self.best.seconds):
                    continue
                if not self.work.may_continue(self.best.seconds - self.best.steady.split.seconds, 0.0):
                    return
                tried = list(shares)
                tried[given], tried[taken] = max(0.0, shares[given] - part), shares[taken] + min(part, shares[given])
                found = self._faster(tried, least * (1 - SHIFT_GAIN))
                if found is not None:
                    shares, (paths, seconds) = tried, found
                    least = _with_gain(seconds, len(paths[0]))
                    self._keep(paths, seconds)
            if self.best is before:
                part /= 2

    def _is_exact(self, paths: Sequence[PathPlan]) -> bool:
        """Whether the program is right about the times of paths: nothing is shared, and no path with buffers has one chunk."""
        users = Counter(name for stream in self.streams if stream for name in stream.uses if name.startswith("resource "))
        alone = len(sharing_paths(paths)) == len(paths) and max(users.values(), default=0) < 2
        return alone and are_steady(paths)

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
        alike: Parts = {}
        for k in used:
            box = cut(transfer, dim, [shares[k], 1 - shares[k]])[0]
            path = None if box is None else self._path(k, box, buffered)
            if path is None or _with_gain(path.seconds, len(used)) >= goal:
                return None
            alike[k] = path
        if _with_gain(max(self._ends(self._paths(alike)[0])), len(used)) >= goal:
            return None
        parts = self._planned(shares)
        if parts is None:
            return None
        paths = self._paths(parts)
        if _with_gain(seconds := max(self._ends(paths[0])), len(paths[0])) >= goal:
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

    # ---- plans of paths

    def _time_ways(self, ways: Iterable[int], share: float) -> None:
        """Work out what some paths take for a share of their transfers.

        Of many paths those count alike that have as many hops and bytes: they differ in the links that they use.
        """
        alike: dict[tuple[int, int], Stream | None] = {}
        for k in ways:
            number, way = self.ways[k]
            if self.is_alone and self.links.begin(way) >= self.best.seconds:
                continue  # it begins too late
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
            part = Problem(moved, problem.machine, divided(problem, way, buffered), self.work)
            self.planned[key] = self.planners[k].plan(part)
            self.work.spend(0)
        return self.planned[key]

    def _planned(self, shares: Sequence[float]) -> Parts | None:
        """The paths with these shares of their transfers; None where one of them, or all together, do not fit the limits."""
        boxes = self._boxes(shares)
        buffered = Counter(number for (number, way), box in zip(self.ways, boxes, strict=True) if box and len(way) > 1)
        parts: Parts = {}
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
            parts[k] = path
        if not complete or any(self._is_over(number, paths) for number, paths in enumerate(self._paths(parts))):
            return None
        return parts

    def _paths(self, parts: Parts) -> tuple[tuple[PathPlan, ...], ...]:
        """The paths of every transfer, in turn."""
        found: list[list[PathPlan]] = [[] for _ in self.problems]
        for k in _turns(parts):
            found[self.ways[k][0]].append(parts[k])
        return tuple(map(tuple, found))

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
        return bool(broken_limits(self.problems[number], paths))


def _turns(parts: Parts) -> list[int]:
    """The ways in the order in which their paths use shared links: a long one should not be late."""
    return sorted(parts, key=lambda k: -len(parts[k].hops))


def _with_gain(seconds: float, count: int) -> float:
    """The time of `count` paths, longer by what each of them has to save."""
    return seconds * (1 + LEAST_GAIN * count)


def _destination(way: Path) -> str:
    return way[-1].destination
