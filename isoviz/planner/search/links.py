"""The channels of a machine as arrays, for questions that the search asks about all of them at once."""

from __future__ import annotations

import math
from collections import OrderedDict
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from isoviz.machines.throughput import Constant, LatencyBandwidth, Sampled
from isoviz.planner.search.tuning import MOST_LINKS, ROUND_DOWN
from isoviz.planner.time.path_time import SHORTEST_RUN, rates_of

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from numpy.typing import NDArray

    from isoviz.machines import Channel, Machine
    from isoviz.machines.throughput import ThroughputFunction
    from isoviz.planner.time.path_time import Floats

    Numbers = NDArray[np.intp]


class Links:
    """The channels between the memories of some nodes, ordered by the number of the memory that they leave, then by name.

    `here` and `there` are numbers of memories; `setup` and `conversion_setup` are in seconds. Channels of equal `cost_class` cost
    the same for every transfer; a resource that only one channel uses counts as a bound of this channel.
    """

    def __init__(self, machine: Machine, nodes: frozenset[int] | None) -> None:
        self.memories = tuple([each.name for each in machine.memories if nodes is None or each.node in nodes])
        number = {name: k for k, name in enumerate(self.memories)}
        known = [each for each in machine.channels if each.source in number and each.destination in number]
        self.channels: tuple[Channel, ...] = tuple(sorted(known, key=lambda each: (number[each.source], each.name)))
        self.number = number
        self.here: Numbers = np.array([number[each.source] for each in self.channels], np.intp)
        self.there: Numbers = np.array([number[each.destination] for each in self.channels], np.intp)
        self.setup: Floats = np.array([each.least_setup for each in self.channels], float)
        self.conversion_setup: Floats = np.array([each.least_conversion for each in self.channels], float)
        self.loops = self.here == self.there
        self.leaving: tuple[range, ...] = self._leaving()
        self.firsts: Numbers = np.array([each.start for each in self.leaving if each], np.intp)
        """The first channel of every memory that has any; `starting` holds these memories."""
        self.starting: Numbers = np.array([k for k, each in enumerate(self.leaving) if each], np.intp)
        self._classify(machine)
        self._plain = _Curves([each.throughput for each in self.channels])
        changes = any(each.layout_throughput is not None for each in self.channels)
        self._layouts = _Curves([each.layout_rates for each in self.channels]) if changes else None
        requests = np.array([each.request_seconds for each in self.channels], float)[:, None]
        self._requests: Floats | None = requests if requests.any() else None
        self._is_steep = bool(self._plain.steep or (self._layouts is not None and self._layouts.steep))

    def _leaving(self) -> tuple[range, ...]:
        ends = np.searchsorted(self.here, np.arange(len(self.memories) + 1)).tolist()
        return tuple([range(low, high) for low, high in pairwise(ends)])

    def _classify(self, machine: Machine) -> None:
        resources = {each.name: each for each in machine.resources}
        users: dict[str, int] = {}
        for channel in self.channels:
            for name, weight in channel.resources:
                users[name] = users.get(name, 0) + (weight > 0)
        cost_classes: dict[Hashable, int] = {}
        self.cost_class: list[int] = []
        least_seconds_per_byte, held_factor = [], []
        for channel in self.channels:
            cap, hold, shared = 0.0, 1.0, []
            for name, weight in channel.resources:
                resource = resources[name]
                if resource.held:
                    hold = max(hold, weight / resource.capacity)
                else:
                    cap = max(cap, weight / resource.capacity)
                if weight > 0 and users[name] > 1:
                    shared.append((name, weight))
            least_seconds_per_byte.append(cap)
            held_factor.append(hold)
            setups = channel.setup, channel.conversion_setup, channel.costs
            requests = channel.descriptors, channel.request_seconds, channel.has_windows
            key = channel.throughput, channel.layout_rates, setups, requests, cap, hold, tuple(sorted(shared))
            self.cost_class.append(cost_classes.setdefault(key, len(cost_classes)))
        self.least_seconds_per_byte: Floats = np.array(least_seconds_per_byte, float)
        """The least seconds per byte of each channel, by its use of shared resources."""
        self.held_factor: Floats = np.array(held_factor, float)
        """The factor by which held resources slow down each channel, even when it is alone."""

    def pace(self, chunk: Floats, bound: Floats | float = np.inf, gap: Floats | float = np.inf) -> Floats:
        """The least seconds per byte of every channel (rows) for chunks of `chunk` bytes (columns), when it is alone.

        The runs have at most `bound` bytes; `gap` as in `rate_of`.
        """
        found = self._plain.seconds_per_byte(np.minimum(chunk, bound))
        if self._layouts is not None:
            plain = self._plain.seconds_per_byte(np.minimum(chunk, gap))
            changed = np.maximum(plain, self._layouts.seconds_per_byte(np.minimum(chunk, bound)))
            found = np.where(np.less(bound, gap), changed, found)
        if self._requests is not None:
            found += self._requests / chunk
        found *= self.held_factor[:, None]
        np.maximum(found, self.least_seconds_per_byte[:, None], out=found)
        return found * ROUND_DOWN

    def chunk_seconds(self, low: Floats, high: Floats, bound: Floats | float = np.inf, gap: float = np.inf) -> Floats:
        """The least seconds that a chunk of `low` to `high` bytes takes on every channel, in runs of at most `bound` bytes."""
        found: Floats = low * self.pace(low, bound, gap)
        if not self._is_steep:
            return found
        least = self._plain.least_seconds(low, high, bound)
        if self._layouts is not None:
            plain, changed = self._plain.least_seconds(low, high, gap), self._layouts.least_seconds(low, high, bound)
            least = np.where(np.less(bound, gap), np.maximum(plain, changed), least)
        if self._requests is not None:
            least = least + self._requests
        least = np.maximum(least * self.held_factor[:, None], low * self.least_seconds_per_byte[:, None]) * ROUND_DOWN
        return np.minimum(found, least)

    def pace_of(self, link: int, chunk: float, bound: float, gap: float = math.inf) -> float:
        """Seconds per byte of one channel for chunks of `chunk` bytes when it is alone."""
        channel = self.channels[link]
        rates = [channel.throughput(min(chunk, bound))]
        if channel.layout_throughput is not None and bound < gap:
            rates = [channel.throughput(min(chunk, gap)), channel.layout_throughput(min(chunk, bound))]
        seconds = 1 / min(rates) + channel.request_seconds / chunk if all(rates) else math.inf
        return max(float(self.held_factor[link]) * seconds, float(self.least_seconds_per_byte[link]))


class _Curves:
    """Throughput functions, one per row, evaluated together."""

    def __init__(self, functions: Sequence[ThroughputFunction]) -> None:
        latency, flow = np.zeros(len(functions)), np.zeros(len(functions))
        others: dict[int, list[int]] = {}
        known = {}
        for k, function in enumerate(functions):
            if isinstance(function, LatencyBandwidth):
                latency[k], flow[k] = function.latency, 1 / function.bandwidth
            elif isinstance(function, Constant):
                flow[k] = 1 / function.bandwidth
            else:
                others.setdefault(id(function), []).append(k)
                known[id(function)] = function
        self._latency, self._flow = latency[:, None], flow[:, None]
        self._others = [(np.array(rows, np.intp), known[key]) for key, rows in others.items()]
        self._logs = [_logarithms(function) for _, function in self._others]
        self.steep = [k for k, (_, function) in enumerate(self._others) if not function.is_concave]
        """The numbers of the functions with which a larger chunk may take less time."""

    def seconds_per_byte(self, runs: Floats) -> Floats:
        """Seconds per byte of every function (rows) for every run length (columns)."""
        found: Floats = self._latency / runs + self._flow
        logs = np.log(runs)
        for k, (rows, _) in enumerate(self._others):
            found[rows] = self._other(k, runs, logs)
        return found

    def least_seconds(self, low: Floats, high: Floats, bound: Floats | float) -> Floats:
        """The least seconds of `low` to `high` bytes by every function, in runs of at most `bound` bytes."""
        found: Floats = low * self.seconds_per_byte(np.minimum(low, bound))
        for k in self.steep:
            rows, function = self._others[k]
            knots = [run for run, _ in function.samples]
            for size in (*(np.clip(knot, low, high) for knot in knots), high, np.clip(bound, low, high)):
                runs = np.minimum(size, bound)
                found[rows] = np.minimum(found[rows], size * self._other(k, runs, np.log(runs)))
        return found

    def _other(self, number: int, runs: Floats, logs: Floats) -> Floats:
        """Seconds per byte of a function that is not given by a formula."""
        known = self._logs[number]
        if known is not None:
            return np.exp(-np.interp(logs, *known))
        with np.errstate(divide="ignore"):  # such runs move nothing
            return 1 / rates_of(self._others[number][1], runs)


def _logarithms(function: ThroughputFunction) -> tuple[Floats, Floats] | None:
    """The logarithms of the samples of a function that is linear in log-log between them; None for functions of another kind."""
    if not isinstance(function, Sampled):
        return None
    known = np.array(function.samples, float)
    # Below the first sample a function has slope 1.
    runs, rates = np.append(SHORTEST_RUN, known[:, 0]), np.append(known[0, 1] * (SHORTEST_RUN / known[0, 0]), known[:, 1])
    return np.log(runs), np.log(rates)


_LINKS: OrderedDict[tuple[str, frozenset[int] | None], Links] = OrderedDict()


def links_of(machine: Machine, nodes: frozenset[int] | None) -> Links:
    """The channels of a machine between the memories of some nodes (None: all), cached for the machines used last."""
    key = machine.digest, nodes
    found = _LINKS.get(key)
    if found is None:
        found = _LINKS[key] = Links(machine, nodes)
        while len(_LINKS) > MOST_LINKS:
            _LINKS.popitem(last=False)
    return found


def forget_links() -> None:
    """Drop the cached channels of all machines."""
    _LINKS.clear()
