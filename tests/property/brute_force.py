"""The least predicted time of a small transfer, found by trying everything. Shares no code with the package.

Every memory path (self-loops at most once per memory) × every intermediate layout of at most six components × every integer block
size × every chunk. A problem is plain data:

    {"sizes": {"x": 12}, "fields": (4, 8),                       # bytes of every field
     "source": ("m0", ("F", ("x", 1))),                          # memory, layout: "F" and digits (dimension, step), fastest first
     "destination": ("m1", (("x", 1), "F", ("x", 4))),           # the steps of a dimension give its extents; the last is ragged
     "memories": {"m0": {"kind": "SYS", "node": 0, "capacity": None, "slot_limit": None}, ...},
     "channels": ({"name", "kind", "source", "destination", "throughput", "setup", "resources": ((name, weight), ...)}, ...),
     "resources": {name: capacity},
     "limits": {"slot_limit", "memory_limit", "slots", "overlap"},
     "options": {"slot_limit", "memory_limit", "slots"}}         # None leaves the choice to the limits

Throughputs are ("latency", seconds, bandwidth), ("constant", bandwidth) or ("samples", ((run, rate), ...)). A channel may have
"layouts", the throughput of hops between different layouts (these are also no faster than "throughput" is for the chunk), and
"request", the seconds that each chunk costs on top of its bytes. It may have "prepares", what it pays before the first chunk
moves: (seconds, "transfer" | "buffer" | "request" | "run" | "page", kept). "descriptors" is the number of runs in a request, and
a page has PAGE bytes. With "reuse" in the problem, T is the mean of so many starts; only the first pays what is kept.

Lengths are counted in *elements* (one field of one entry, of the mean size |F| / fields): run = elements in the common prefix,
block = elements before the common suffix. How long a path takes depends on its layouts only through the runs of its hops and
the blocks the chunk has to be a multiple of, and longer runs are never slower (throughputs are monotone). So for every number
of intermediate layouts all sequences are reduced to those (runs, blocks) that no other sequence beats in every respect; every
path and chunk is tried with each of them. Nothing is assumed about how prefixes and suffixes of different pairs are related.

A chunk is a multiple of every block. Where all intermediate layouts are the same there is no block: a chunk is any number of
elements. With one buffer, or several in one memory, such a chunk is everything or a multiple of the runs to and from that layout:
no end of a chunk cuts a run that is counted whole. A slot counts the largest field for every element, unless the chunk holds
whole entries in every buffer or F is in a block; then it counts the mean field.

Padding is not payload. A chunk (its time, and the number of chunks) is a multiple of the elements that exist in the first block
of every pair; a slot has as many places more as the pair has that pads most.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from brute_force_layouts import Parts, block, extent, parts_of, prefix, tables, whole_entries

Problem = dict[str, Any]
PAGE = 16
"""The bytes of a page, few so that buffers have several."""
FEWER_HOPS = 1e-3
"""More hops count only where they save this share of the time."""
WHOLE_ENTRIES = True
"""Whether a slot whose chunks hold whole entries counts the mean field even where no block holds F."""


# ---- machines


def rate(throughput: tuple[Any, ...], run: float) -> float:
    """Bytes per second for runs of so many bytes."""
    kind, *rest = throughput
    if kind == "constant":
        return float(rest[0] * min(1.0, run))
    if kind == "latency":
        return float(run / (rest[0] + run / rest[1]))
    samples = rest[0]
    if run <= samples[0][0]:
        return float(samples[0][1] * run / samples[0][0])
    for (low, slow), (high, fast) in itertools.pairwise(samples):
        if run <= high:
            return float(slow * math.exp(math.log(fast / slow) * math.log(run / low) / math.log(high / low)))
    return float(samples[-1][1])


def paths(problem: Problem) -> Iterator[tuple[dict[str, Any], ...]]:
    """All paths as channels: no memory twice, but for one self-loop each (and where both ends are one memory)."""
    here, there = problem["source"][0], problem["destination"][0]
    outgoing: dict[str, list[dict[str, Any]]] = {name: [] for name in problem["memories"]}
    for channel in problem["channels"]:
        outgoing[channel["source"]].append(channel)

    def go(at: str, seen: frozenset[str], looped: frozenset[str], trail: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
        arrived = at == there and bool(trail)
        if arrived:
            yield trail
        left = bool(seen - {here}) or here != there  # a path that begins and ends in one memory has left it
        for channel in outgoing[at]:
            to = channel["destination"]
            if problem["memories"][to]["kind"] == "DSK" and to != there:
                continue  # files hold no buffers
            if to == at:
                if at not in looped:
                    yield from go(at, seen, looped | {at}, (*trail, channel))
            elif not (arrived and left) and (to not in seen or (to == there == here)):
                yield from go(to, seen | {to}, looped, (*trail, channel))

    yield from go(here, frozenset({here}), frozenset(), ())


def entry_bytes(problem: Problem) -> int:
    return sum(problem["fields"])


def stored_bytes(problem: Problem, end: str) -> int:
    """Bytes of an instance, padding included."""
    sizes, fields = problem["sizes"], len(problem["fields"])
    parts = parts_of(problem[end][1], sizes, fields)
    return math.prod(extent(part, sizes) for part in parts if part != "F") * entry_bytes(problem)


def slot_count(problem: Problem) -> int:
    return int(problem["options"]["slots"] or problem["limits"]["slots"])


def slot_limit(problem: Problem, path: Sequence[dict[str, Any]]) -> int:
    """Bytes that one slot on the path may have; a path without slots moves everything as one chunk if it likes."""
    options, limits, slots = problem["options"], problem["limits"], slot_count(problem)
    inside = [channel["destination"] for channel in path[:-1]]
    if not inside:
        return math.prod(problem["sizes"].values()) * entry_bytes(problem)
    bounds = []
    if total := options["memory_limit"] or limits["memory_limit"]:
        bounds.append(total // (len(inside) * slots))
    for name in inside:
        memory = problem["memories"][name]
        own = [limit for limit in (options["slot_limit"], memory["slot_limit"]) if limit is not None]
        bounds.append(min(own) if own else limits["slot_limit"])
        if memory["capacity"] is not None:
            ends = {problem[end]: stored_bytes(problem, end) for end in ("source", "destination") if problem[end][0] == name}
            bounds.append(max(0, memory["capacity"] - sum(ends.values())) // (inside.count(name) * slots))
    return min(bounds)


def prepared(problem: Problem, path: Sequence[dict[str, Any]], runs: Sequence[Any], elements: Any) -> Any:
    """The mean set-up of many ways at once: for every hop of the path the runs, and the chunks, both in elements."""
    fields, starts = len(problem["fields"]), problem.get("reuse", 1)
    total = math.prod(problem["sizes"].values()) * fields
    elements = np.minimum(elements, total)
    count = -(-total // elements)
    last = total - (count - 1) * elements
    ring = slot_count(problem) * elements * entry_bytes(problem) / fields
    held = [stored_bytes(problem, "source"), *[ring] * (len(path) - 1), stored_bytes(problem, "destination")]
    found = 0.0 * elements
    for hop, (channel, run) in enumerate(zip(path, runs, strict=True)):
        found = found + channel["setup"]
        for seconds, per, kept in channel.get("prepares", ()):
            pieces = [-(-size // np.minimum(run, size)) for size in (elements, last)]
            if per == "request":
                most = channel.get("descriptors")
                pieces = [-(-each // most) if most else 1 for each in pieces]
            things = {"transfer": 1, "buffer": 2, "page": sum(np.ceil(each / PAGE) for each in held[hop : hop + 2])}
            units = things[per] if per in things else (count - 1) * pieces[0] + pieces[1]
            found = found + seconds * units / (starts if kept else 1)
    return found


def whole_runs(elements: int, runs: Sequence[int], total: int) -> bool:
    """Whether no end of a chunk cuts a run of a hop between different layouts: chunks are everything, or multiples of these."""
    return elements >= total or all(elements % run == 0 for run in runs if run < total)


def one_buffer(path: Sequence[dict[str, Any]]) -> bool:
    """Whether all buffers of a path are in one memory: one, or one copied on."""
    return len({channel["destination"] for channel in path[:-1]}) == 1


# ---- one way, spelled out


def seconds_of(problem: Problem, path: Sequence[dict[str, Any]], layouts: Sequence[Parts], elements: int) -> float | None:
    """T of a path with these intermediate layouts and chunks of so many elements; None where that breaks a limit."""
    sizes, fields = problem["sizes"], problem["fields"]
    count, entry = len(fields), entry_bytes(problem)
    payload = math.prod(sizes.values()) * entry
    ends = [parts_of(problem[end][1], sizes, count) for end in ("source", "destination")]
    unit, share, held = (count, Fraction(1), True) if not layouts else (1, Fraction(1), False)
    for a, b in itertools.pairwise(layouts):
        places, exist, inside = block(a, b, sizes, count)
        unit, share, held = math.lcm(unit, exist), min(share, Fraction(exist, places)), held or inside
    if one_buffer(path) and len(set(layouts)) == 1:
        runs = [prefix(a, b, sizes, count) for a, b in ((ends[0], layouts[0]), (layouts[-1], ends[1]))]
        if not whole_runs(elements, runs, total=payload // entry * count):
            return None
    held = held or (WHOLE_ENTRIES and all(elements % whole_entries(layout, sizes, count) == 0 for layout in layouts))
    places = math.ceil(elements / share)
    if elements % unit or places * (entry if held else count * max(fields)) > slot_limit(problem, path) * count:
        return None
    chunk = min(float(elements * entry / count), payload)
    hops, alikes = [], []
    for channel, (a, b) in zip(path, itertools.pairwise([ends[0], *layouts, ends[1]]), strict=True):
        alike = prefix(a, b, sizes, count)
        alikes.append(alike)
        run = min(alike * entry / count, chunk)
        shares = [weight * chunk / problem["resources"][name] for name, weight in channel["resources"]]
        if channel.get("layouts") is None or alike == payload // entry * count:
            moving = chunk / rate(channel["throughput"], run)
        else:
            moving = chunk / min(rate(channel["throughput"], chunk), rate(channel["layouts"], run))
        hops.append(max([channel.get("request", 0.0) + moving, *shares]))
    if not problem["limits"]["overlap"]:
        period = sum(hops)
    elif slot_count(problem) == 1 and len(hops) > 1:
        period = max(a + b for a, b in itertools.pairwise(hops))
    else:
        period = max(hops)
    for name, capacity in problem["resources"].items():
        weights = sum(weight for channel in path for used, weight in channel["resources"] if used == name)
        period = max(period, chunk * weights / capacity)
    return float(prepared(problem, path, alikes, elements) + sum(hops) + (payload / chunk - 1) * period)


# ---- all ways


@dataclass(frozen=True)
class Ways:
    """Ways to lay out the first buffers of a path, seen from one end: what they ask and give, and where (`at`) they end.

    `runs` of the hops from the end on, `unit` (a chunk is a multiple of so many elements), `share` of a slot's places that
    exists (a number in the table's `shares`), `inside` (F is in a block), `differ`.
    """

    runs: np.ndarray
    unit: np.ndarray
    share: np.ndarray
    inside: np.ndarray
    differ: np.ndarray
    at: np.ndarray

    def take(self, rows: np.ndarray, at: np.ndarray) -> Ways:
        return Ways(self.runs[rows], self.unit[rows], self.share[rows], self.inside[rows], self.differ[rows], at)


@dataclass(frozen=True)
class Best:
    """The least time, and one way to reach it: chunks of so many places, of which `payload` are elements that exist."""

    seconds: float
    path: tuple[str, ...]
    layouts: tuple[Parts, ...]
    elements: int
    payload: int


class Search:
    """All ways through one problem."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.sizes, self.fields = problem["sizes"], len(problem["fields"])
        self.entry, self.largest = entry_bytes(problem), max(problem["fields"])
        self.total = math.prod(self.sizes.values()) * self.fields
        self.tables = tables(tuple(self.sizes.items()), self.fields)
        self.ends = [parts_of(problem[end][1], self.sizes, self.fields) for end in ("source", "destination")]
        self.paths = [(path, slot_limit(problem, path)) for path in paths(problem)]
        self.widest = max((limit for path, limit in self.paths if len(path) > 1), default=0)
        self.lengths = np.arange(1, self.total + 1) * self.entry / self.fields  # bytes of 1, 2, … elements
        self.rates = {
            (channel["name"], which): np.array([np.nan, *(rate(channel[which], run) for run in self.lengths)])
            for channel in problem["channels"]
            for which in ("throughput", "layouts")
            if channel.get(which) is not None
        }
        # Slots count the largest field for every element unless the chunk holds whole entries: both are tried where that differs.
        self.modes = (False, True) if WHOLE_ENTRIES and self.fields * self.largest > self.entry else (False,)
        self._ways: dict[tuple[int, int, bool], Ways] = {}
        self._offers: dict[tuple[int, bool], tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]] = {}

    # ---- layouts: the sequences worth trying

    @cached_property
    def end_runs(self) -> np.ndarray:
        """Runs from source and destination to every layout."""
        found = [[prefix(end, layout, self.sizes, self.fields) for layout in self.tables.layouts] for end in self.ends]
        return np.array(found)

    def ways(self, end: int, count: int, whole: bool) -> Ways:
        """The first `count` intermediate layouts, counted from the source (0) or the destination (1)."""
        key = (end, count, whole)
        if key not in self._ways:
            self._ways[key] = self._first(end) if count == 1 else self._extended(self.ways(end, count - 1, whole), whole)
        return self._ways[key]

    def _first(self, end: int) -> Ways:
        runs = np.unique(self.end_runs[end])
        none = np.zeros(len(runs), bool)
        one = np.ones(len(runs), np.int64)
        return Ways(runs[:, None], one, one * (len(self.tables.shares) - 1), none, none, runs[:, None] == self.end_runs[end])

    def _extended(self, ways: Ways, whole: bool) -> Ways:
        kinds, which = self.tables.kinds(whole)
        columns = np.broadcast_to(np.arange(which.shape[1]), which.shape)
        rows, ats = [], []
        for k in range(len(ways.unit)):
            reached = np.zeros((len(kinds), which.shape[1]), bool)
            here = ways.at[k]
            reached[which[here], columns[here]] = True
            used = np.flatnonzero(reached.any(axis=1))
            unit = np.lcm(ways.unit[k], kinds[used, 1])
            fits = unit * self.entry <= self.widest * self.fields
            used, unit = used[fits], unit[fits]
            share = np.minimum(ways.share[k], kinds[used, 2])
            more = [unit, share, kinds[used, 3] | ways.inside[k], kinds[used, 4] | ways.differ[k]]
            rows.append(np.column_stack([np.tile(ways.runs[k], (len(used), 1)), kinds[used, 0], *more]))
            ats.append(reached[used])
        if not rows:  # nothing fits
            return replace(ways, runs=np.zeros((0, ways.runs.shape[1] + 1), np.int64))
        found, which_row = np.unique(np.concatenate(rows), axis=0, return_inverse=True)
        order = np.argsort(which_row.reshape(-1), kind="stable")
        starts = np.searchsorted(which_row.reshape(-1)[order], np.arange(len(found)))
        at = np.logical_or.reduceat(np.concatenate(ats)[order], starts, axis=0)
        flags = found[:, -2:].astype(bool)
        return self._undominated(Ways(found[:, :-4], found[:, -4], found[:, -3], flags[:, 0], flags[:, 1], at))

    def _undominated(self, ways: Ways) -> Ways:
        """Without ways that another way to the same layout beats or equals in every respect."""
        at, count = ways.at.copy(), len(ways.unit)
        others = ways.at.astype(np.float32)
        for start in range(0, count, 512):
            mine = slice(start, min(start + 512, count))
            beaten = np.ones((mine.stop - start, count), bool)
            for column in ways.runs.T:
                beaten &= column[None, :] >= column[mine, None]
            beaten &= ways.unit[mine, None] % ways.unit[None, :] == 0
            # A larger share may be worse: chunks of some payload are then out of reach, and what follows may spoil the share.
            beaten &= ways.share[None, :] == ways.share[mine, None]
            beaten &= ways.inside[None, :] >= ways.inside[mine, None]
            beaten &= ways.differ[None, :] == ways.differ[mine, None]
            beaten[np.arange(mine.stop - start), np.arange(start, mine.stop)] = False
            at[mine] &= ~(beaten.astype(np.float32) @ others > 0)
        kept = np.flatnonzero(at.any(axis=1))
        return ways.take(kept, at[kept])

    def offers(self, path: Sequence[dict[str, Any]]) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """For paths like this one: runs of the hops, elements and places of the chunk, bytes × fields of a slot."""
        key = len(path) - 1, one_buffer(path)
        if key not in self._offers:
            self._offers[key] = self._chunks(self._sequences(*key))
        return self._offers[key]

    def _sequences(self, count: int, one_buffer: bool) -> np.ndarray:
        """Rows (runs, unit, what of it exists, inside) that no other row beats."""
        if count == 0:
            return np.array([[prefix(*self.ends, self.sizes, self.fields), self.fields, self.fields, 1]])
        same = [self.end_runs[0], *np.full((count - 1, len(self.tables.layouts)), self.total), self.end_runs[1]]
        one = np.ones_like(self.end_runs[0])
        rows = [np.column_stack([*same, one, one, 0 * one])]
        if WHOLE_ENTRIES:
            rows.append(np.column_stack([*same, self.tables.entries, self.tables.entries, one]))
        if one_buffer:  # chunks are multiples of the runs; where nothing converts there is none
            for row in rows:
                for run in (row[:, 0], row[:, count]):
                    row[:, -3] = row[:, -2] = np.lcm(row[:, -2], np.where(run >= self.total, 1, run))
        some = np.array([share.numerator for share in self.tables.shares])
        every = np.array([share.denominator for share in self.tables.shares])
        for whole in self.modes if count > 1 else ():
            # They share the layout at which they meet.
            a, b = self.ways(0, (count + 2) // 2, whole), self.ways(1, (count + 1) // 2, whole)
            i, j = np.nonzero(a.at.astype(np.float32) @ b.at.T.astype(np.float32) > 0)
            differ = a.differ[i] | b.differ[j]
            i, j = i[differ], j[differ]
            runs, unit, share = [a.runs[i], b.runs[j][:, ::-1]], np.lcm(a.unit[i], b.unit[j]), np.minimum(a.share[i], b.share[j])
            places = -(-unit * every[share] // some[share])
            rows.append(np.column_stack([*runs, places, unit, a.inside[i] | b.inside[j]]))
        return _front(np.concatenate(rows))

    def _chunks(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        runs, exist, places, slots = [], [], [], []
        for row in rows:
            count = np.arange(1, -(-self.total // row[-2]) + 1)
            runs.append(np.tile(row[:-3], (len(count), 1)))
            exist.append(count * row[-2])
            places.append(count * row[-3])
            slots.append(places[-1] * (self.entry if row[-1] else self.fields * self.largest))
        return np.concatenate(runs), np.concatenate(exist), np.concatenate(places), np.concatenate(slots)

    # ---- time

    def times(self, path: Sequence[dict[str, Any]], runs: np.ndarray, elements: np.ndarray) -> np.ndarray:
        """T of many (runs, chunk)."""
        elements = np.minimum(elements, self.total)
        chunk, payload = self.lengths[elements - 1], self.lengths[-1]
        hops = []
        for channel, run in zip(path, runs.T, strict=True):
            rates = self.rates[channel["name"], "throughput"]
            moved = rates[np.minimum(run, elements)]
            if channel.get("layouts") is not None:
                changed = self.rates[channel["name"], "layouts"][np.minimum(run, elements)]
                moved = np.where(run >= self.total, moved, np.minimum(rates[elements], changed))
            hop = channel.get("request", 0.0) + chunk / moved
            for name, weight in channel["resources"]:
                hop = np.maximum(hop, weight * chunk / self.problem["resources"][name])
            hops.append(hop)
        total = np.sum(hops, axis=0)
        if not self.problem["limits"]["overlap"]:
            period = total
        elif slot_count(self.problem) == 1 and len(hops) > 1:
            period = np.max([a + b for a, b in itertools.pairwise(hops)], axis=0)
        else:
            period = np.max(hops, axis=0)
        for name, capacity in self.problem["resources"].items():
            weights = sum(weight for channel in path for used, weight in channel["resources"] if used == name)
            period = np.maximum(period, chunk * weights / capacity)
        return np.asarray(prepared(self.problem, path, runs.T, elements) + total + (payload / chunk - 1) * period)

    def bound(self, path: Sequence[dict[str, Any]], limit: int) -> float:
        """T of a path whose runs are all as long as the chunk."""
        elements = np.arange(1, self.total + 1)
        elements = elements[elements * self.entry <= limit * self.fields]
        if not len(elements):
            return math.inf
        return float(self.times(path, np.full((len(elements), len(path)), self.total), elements).min())

    def best(self, cut: bool = True) -> Best | None:
        """The least time; None where no path fits the limits. Without `cut` even hopeless paths are tried.

        The least time with one hop counts first. That with more hops counts instead where it is better by a thousandth.
        """
        least, found = math.inf, None
        for seconds, way in self.best_by_hops(cut):
            if way is not None and (found is None or seconds < least * (1 - FEWER_HOPS)):
                least, found = seconds, way
        if found is None:
            return None
        path, run, chunk, payload = found
        layouts = self._layouts(path, run, payload, least)
        return Best(least, tuple(channel["name"] for channel in path), layouts, chunk, min(payload, self.total))

    def best_by_hops(self, cut: bool = True) -> Iterator[tuple[float, tuple[Any, ...] | None]]:
        """The least time of the paths with one hop, with two, and so on, and how it is reached."""
        for hops in sorted({len(path) for path, _ in self.paths}):
            yield self._best_of_hops(hops, cut)

    def _best_of_hops(self, hops: int, cut: bool) -> tuple[float, tuple[Any, ...] | None]:
        least, found = math.inf, None
        bounds = [(self.bound(path, limit), k) for k, (path, limit) in enumerate(self.paths) if len(path) == hops]
        for bound, k in sorted(bounds):
            if (cut and bound >= least) or bound == math.inf:
                continue
            path, limit = self.paths[k]
            runs, exist, places, slots = self.offers(path)
            fits = slots <= limit * self.fields
            if fits.any():
                seconds = self.times(path, runs[fits], exist[fits])
                at = int(seconds.argmin())
                if seconds[at] < least:
                    least, found = float(seconds[at]), (path, runs[fits][at], int(places[fits][at]), int(exist[fits][at]))
        return least, found

    def _layouts(self, path: Sequence[dict[str, Any]], run: np.ndarray, chunk: int, seconds: float) -> tuple[Parts, ...]:
        """Layouts with these runs, checked against `seconds_of`."""
        count = len(path) - 1
        joined = (self.tables.block != 0) & (chunk % self.tables.block == 0)

        def go(taken: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
            if len(taken) == count:
                if not taken or self.end_runs[1][taken[-1]] >= run[-1]:
                    yield taken
                return
            good = (
                self.end_runs[0] >= run[0] if not taken else joined[taken[-1]] & (self.tables.run[taken[-1]] >= run[len(taken)])
            )
            for k in np.flatnonzero(good):
                yield from go((*taken, int(k)))

        for taken in go(()):
            layouts = tuple(self.tables.layouts[k] for k in taken)
            reached = seconds_of(self.problem, path, layouts, chunk)
            if reached is not None and math.isclose(reached, seconds, rel_tol=1e-12):
                return layouts
        raise AssertionError("no layouts with the runs that were found")


def _front(rows: np.ndarray) -> np.ndarray:
    """Rows (runs, unit, what of it exists, inside) that no other row beats or equals in every respect."""
    left = np.unique(rows, axis=0)
    left = left[np.argsort(-left[:, :-3].sum(axis=1), kind="stable")]
    kept = []
    while len(left):
        # A row that beats this one has at least its sum; with the same sum it has the same runs, and only the rest decides.
        top, rest = left[0], left[1:]
        ties = (rest[:, :-3] == top[:-3]).all(axis=1) & _fits_in(rest, top)
        if not ties.any():
            kept.append(top)
            rest = rest[~((rest[:, :-3] <= top[:-3]).all(axis=1) & _fits_in(top, rest))]
        left = rest
    return np.array(kept)


def _fits_in(these: np.ndarray, those: np.ndarray) -> np.ndarray:
    """Whether chunks of these rows can have any payload that chunks of those have, in slots that are not larger."""
    times, rest = np.divmod(those[..., -2], these[..., -2])
    return np.asarray((rest == 0) & (times * these[..., -3] <= those[..., -3]) & (these[..., -1] >= those[..., -1]))


def optimum(problem: Problem, cut: bool = True) -> Best | None:
    """The least predicted time of a problem; None where there is no path or none within the limits."""
    return Search(problem).best(cut)
