"""The program that splits bytes among paths, in PuLP: the least time in which all bytes arrive.

All paths of a plan are set up at the same time. Then a path that moves b bytes takes latency + b × seconds per byte, and a link
that several paths use is busy for the sum of what their bytes take. The program minimises set-up + end under

    set-up of the path × used ≤ set-up               for every path
    latency × used + seconds per byte × bytes ≤ end  for every path
    Σ seconds of the link per byte × bytes ≤ end     for every link
    Σ bytes = demand                                 for every transfer

`used` is 1 where a path carries bytes and 0 elsewhere, so a path whose latency is longer than the rest carries nothing: that is
why a small message takes one path. With these decided the program is linear, and its dual values are the prices of links.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from isoviz.layouts import Box, Mode
from isoviz.planner.multipath.tuning import FINE_PARTS, LEAST_GAIN, MOST_CHOSEN, PAGE
from isoviz.planner.planning_work import WorkDone
from isoviz.planner.program.mip_rows import Rows
from isoviz.planner.time.together import uses_of

if TYPE_CHECKING:
    from isoviz.planner.path_plan import PathPlan
    from isoviz.planner.planning_work import Work
    from isoviz.planner.transfer import Transfer


# Shares of the bytes as boxes of a transfer: parts of one dimension, side by side.


def cut_dims(transfer: Transfer) -> list[str]:
    """The dimensions that are worth cutting: the slowest one of each end, whose parts are contiguous there, and the longest."""
    slowest = [
        next((part.dim for part in reversed(order.parts) if isinstance(part, Mode)), None)
        for order in (transfer.destination_order, transfer.source_order)
    ]
    sizes = transfer.space.as_dict()
    return [
        dim for dim in dict.fromkeys([*slowest, max(sizes, key=lambda dim: sizes[dim])]) if dim is not None and sizes[dim] > 1
    ]


def cut(transfer: Transfer, dim: str, shares: Sequence[float]) -> list[Box | None]:
    """A box for every share, in the order of the shares; None where a share is 0, or less than half of the smallest part.

    Together the boxes are the whole transfer.
    """
    size, step = transfer.space[dim], _step(transfer, dim, sum(share > 0 for share in shares))
    units = math.ceil(size / step)
    at = list(transfer.space).index(dim)
    whole = Box.whole(transfer.space)
    found: list[Box | None] = []
    total, begin, sum_of_shares = 0.0, 0, math.fsum(shares)
    for share in shares:
        total += share
        end = min(size, step * round(units * total / sum_of_shares))
        box = Box((*whole.lo[:at], begin, *whole.lo[at + 1 :]), (*whole.hi[:at], end, *whole.hi[at + 1 :]))
        found.append(box if end > begin else None)
        begin = end
    return found


def _step(transfer: Transfer, dim: str, count: int) -> int:
    """Cuts are multiples of this number of coordinates: a block of both ends, and whole pages, where that is fine enough."""
    size = transfer.space[dim]
    orders = transfer.source_order, transfer.destination_order
    blocks = [part.step for order in orders for part in order.parts if isinstance(part, Mode) and part.dim == dim]
    block = math.lcm(*blocks)
    each = max(1, transfer.nbytes // size)
    page = max(1, PAGE // math.gcd(PAGE, each))
    for step in (math.lcm(block, page), block):
        if size // step >= FINE_PARTS * count:
            return step
    return 1


_SETUP, _END = "setup", "end"
_SAME = 1e-9
"""Prices and shares below this are rounding."""


class Stream(NamedTuple):
    """A path that may carry bytes of the transfer with the number `demand`.

    It takes `setup` + `latency` + b × `seconds_per_byte` seconds for b bytes, or longer where a link is busy longer with them.
    `uses` holds the seconds of each link that a byte costs: the links are channels and shared resources.
    """

    demand: int
    setup: float
    latency: float
    seconds_per_byte: float
    uses: Mapping[str, float]

    def seconds(self, nbytes: float) -> float:
        """Seconds for some bytes, with no other path at work."""
        busy = max(self.uses.values(), default=0.0)
        return self.setup + max(self.latency + nbytes * self.seconds_per_byte, nbytes * busy)

    @property
    def slowest(self) -> str:
        """The link that a byte occupies longest."""
        return max(self.uses, key=lambda name: self.uses[name])


def stream_of(demand: int, path: PathPlan, shorter: PathPlan | None = None) -> Stream:
    """The stream of a planned path: its time grows with its bytes as in the steady state.

    The bytes of a path with one chunk are not in a steady state: `shorter`, its plan for fewer bytes, shows how its time grows.
    """
    each, moved = 1 / path.throughput, path.objective - path.mean_setup
    if shorter is not None and shorter.bytes < path.bytes:
        each = min(each, max(0.0, moved - (shorter.objective - shorter.mean_setup)) / (path.bytes - shorter.bytes))
    return Stream(demand, path.mean_setup, max(0.0, moved - path.bytes * each), each, uses_of(path))


class Split(NamedTuple):
    """The optimum of the program.

    `seconds` is T, set-up and end. `shares` holds, for every stream, its share of the bytes of its transfer. `prices` holds,
    for every link without slack, the share of T that a share of its capacity is worth: at 0.5, 1 % more capacity saves 0.5 % of
    T. `byte_prices` holds the seconds that a further byte of every transfer costs.
    """

    seconds: float
    shares: tuple[float, ...]
    prices: dict[str, float]
    byte_prices: tuple[float, ...]

    @property
    def paths(self) -> int:
        """The number of streams that carry bytes."""
        return sum(share > 0 for share in self.shares)


def split_bytes(
    streams: Sequence[Stream],
    demands: Sequence[float],
    most: int | None = None,
    *,
    disjoint: bool = False,
    work: Work | None = None,
) -> Split:
    """The split of `demands`, the bytes of every transfer, that ends first; over at most `most` paths.

    With `disjoint` no channel is on two of the paths that carry bytes; shared resources may be. Every transfer has a stream
    that moves something. `work` bounds the solver and counts its steps.

    Raises:
        WorkDone: no split was found until then.
    """
    scale = max(
        min(stream.seconds(nbytes) for stream in streams if stream.demand == number) for number, nbytes in enumerate(demands)
    )
    return _Program(streams, [float(nbytes) for nbytes in demands], scale or 1.0, most, disjoint=disjoint).solved(work)


class _Program:
    """The program with times as shares of `scale` seconds, and bytes as shares of a transfer."""

    def __init__(
        self, streams: Sequence[Stream], demands: Sequence[float], scale: float, most: int | None, *, disjoint: bool
    ) -> None:
        self.streams, self.demands, self.scale = streams, demands, scale
        rows = self.rows = Rows("split")
        rows.variable(_SETUP, 0.0, None)
        rows.variable(_END, 0.0, None)
        chosen = [k for k, stream in enumerate(streams) if stream.setup + stream.latency > 0 or most is not None or disjoint]
        self.used = {k: rows.binary(f"used {k}") for k in chosen if len(streams) <= MOST_CHOSEN}
        for k, stream in enumerate(streams):
            rows.variable(f"share {k}", 0.0, 1.0)
            if k in self.used:
                rows.at_most(f"on {k}", [(f"share {k}", 1.0), (self.used[k], -1.0)], 0.0)
            if stream.setup > 0:
                self._after(f"setup {k}", k, stream.setup, [(_SETUP, -1.0)])
            if self._has_time_of_its_own(stream):
                time = self._time(k, stream.seconds_per_byte)
                self._after(f"path {k}", k, stream.latency, [(f"share {k}", time), (_END, -1.0)])
        self._add_links()
        for number in range(len(demands)):
            mine = [(f"share {k}", 1.0) for k, stream in enumerate(streams) if stream.demand == number]
            rows.equal(f"demand {number}", mine, 1.0)
        if disjoint:
            self._keep_apart()
        else:
            self._order_alike()
        if most is not None:
            rows.at_most("most", [(name, 1.0) for name in self.used.values()], float(most))
        rows.minimise([(_SETUP, 1.0), (_END, 1.0), *((name, LEAST_GAIN) for name in self.used.values())])

    def _after(self, name: str, k: int, seconds: float, terms: list[tuple[str, float]]) -> None:
        """Add the row Σ `terms` + `seconds` ≤ 0, where the seconds count if stream `k` is used."""
        if k in self.used:
            self.rows.at_most(name, [*terms, (self.used[k], seconds / self.scale)], 0.0)
        else:
            self.rows.at_most(name, terms, -seconds / self.scale)

    @staticmethod
    def _has_time_of_its_own(stream: Stream) -> bool:
        """Whether the time of a path is more than that of its slowest link."""
        return stream.latency > 0 or stream.seconds_per_byte > stream.uses[stream.slowest] * (1 + _SAME)

    def _time(self, k: int, seconds: float) -> float:
        """The time of all bytes of the transfer of a stream, at some seconds per byte."""
        return seconds * self.demands[self.streams[k].demand] / self.scale

    def _add_links(self) -> None:
        users: dict[str, list[tuple[int, float]]] = {}
        needed = set()
        for k, stream in enumerate(self.streams):
            alone = not self._has_time_of_its_own(stream)
            for name, cost in stream.uses.items():
                if cost > 0:
                    users.setdefault(name, []).append((k, self._time(k, cost)))
                    if alone or len(users[name]) > 1:  # a link with one user needs a row where its path has none
                        needed.add(name)
        for link in sorted(needed):
            self.rows.at_most(f"link {link}", [*((f"share {k}", time) for k, time in users[link]), (_END, -1.0)], 0.0)

    def _keep_apart(self) -> None:
        users: dict[str, list[int]] = {}
        for k, stream in enumerate(self.streams):
            for name in stream.uses:
                if name.startswith("channel ") and k in self.used:
                    users.setdefault(name, []).append(k)
        for name, crowd in users.items():
            if len(crowd) > 1:
                self.rows.at_most(f"one {name}", [(self.used[k], 1.0) for k in crowd], 1.0)

    def _order_alike(self) -> None:
        """Of paths that differ in nothing but links of their own, the first ones are used: it spares the solver their order."""
        users = Counter(name for stream in self.streams for name in stream.uses)
        last: dict[tuple[object, ...], int] = {}
        for k in self.used:
            stream = self.streams[k]
            shared = tuple(sorted((name, cost) for name, cost in stream.uses.items() if users[name] > 1))
            key = stream.demand, stream.setup, stream.latency, stream.seconds_per_byte, shared
            if key in last:
                self.rows.at_most(f"order {k}", [(self.used[k], 1.0), (self.used[last[key]], -1.0)], 0.0)
            last[key] = k

    def solved(self, work: Work | None) -> Split:
        rows = self.rows
        point = rows.solve(work, gap=LEAST_GAIN / 2)
        if point is None:  # one path may carry everything, so there is a split
            raise WorkDone
        if self.used:
            rows.fix(point)
            point = rows.solve(work, whole=False)
            assert point is not None
        duals, total = rows.duals(), point[_SETUP] + point[_END]
        prices: dict[str, float] = {}
        for name, dual in duals.items():
            kind, _, what = name.partition(" ")
            if dual >= -_SAME or kind not in ("link", "path"):
                continue
            worth = -dual * point[_END] / total
            if kind == "path":  # its set-up and its latency stay where its slowest link is faster
                stream = self.streams[int(what)]
                worth = -dual * self._time(int(what), stream.seconds_per_byte) * point[f"share {what}"] / total
                what = stream.slowest
            prices[what] = prices.get(what, 0.0) + worth
        shares = [max(0.0, point[f"share {k}"]) for k in range(len(self.streams))]
        each = [duals[f"demand {number}"] * self.scale / nbytes for number, nbytes in enumerate(self.demands)]
        return Split(total * self.scale, tuple(share if share > _SAME else 0.0 for share in shares), prices, tuple(each))


def time_by_paths(streams: Sequence[Stream], nbytes: float, most: int, *, disjoint: bool) -> tuple[float, ...]:
    """The least time of one transfer over at most 1, 2, … `most` paths, `disjoint` as in `split_bytes`."""
    found: list[float] = []
    for count in range(1, most + 1):
        seconds = split_bytes(streams, [nbytes], count, disjoint=disjoint).seconds
        found.append(min([seconds, *found[-1:]], default=math.inf))
    return tuple(found)
