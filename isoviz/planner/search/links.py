"""The channels of a machine as arrays: what the search for a path asks of all of them at once."""

from __future__ import annotations

import math
from collections import OrderedDict
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from isoviz.machines.throughput import Constant, LatencyBandwidth, Sampled
from isoviz.planner.time.run_rates import SHORT, rates_of

if TYPE_CHECKING:
    from collections.abc import Hashable

    from numpy.typing import NDArray

    from isoviz.machines import Channel, Machine
    from isoviz.machines.throughput import ThroughputFunction

    Floats = NDArray[np.float64]
    Numbers = NDArray[np.intp]

SAFE = 1 - 1e-12
"""Arrays and scalars round differently: bounds are lowered by this factor."""


class Links:
    """The channels between the memories of some nodes, by the number of the memory that they leave, then by name.

    `here` and `there` are numbers of memories, `setup` and `conversion_setup` seconds. `grade` is equal for channels that cost
    the same whatever moves; a resource that only one channel uses counts as a bound of its own.
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
        """Where the channels of each memory that has any begin; `starting` are these memories."""
        self.starting: Numbers = np.array([k for k, each in enumerate(self.leaving) if each], np.intp)
        self._grade(machine)
        self._gather()

    def _leaving(self) -> tuple[range, ...]:
        ends = np.searchsorted(self.here, np.arange(len(self.memories) + 1)).tolist()
        return tuple([range(low, high) for low, high in pairwise(ends)])

    def _grade(self, machine: Machine) -> None:
        resources = {each.name: each for each in machine.resources}
        users: dict[str, int] = {}
        for channel in self.channels:
            for name, weight in channel.resources:
                users[name] = users.get(name, 0) + (weight > 0)
        grades: dict[Hashable, int] = {}
        self.grade: list[int] = []
        caps, holds = [], []
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
            caps.append(cap)
            holds.append(hold)
            setups = channel.setup, channel.conversion_setup, channel.costs
            requests = channel.descriptors, channel.request_seconds
            key = channel.throughput, setups, requests, cap, hold, tuple(sorted(shared))
            self.grade.append(grades.setdefault(key, len(grades)))
        self.caps: Floats = np.array(caps, float)
        """Seconds per byte that its share of resources costs a channel at least."""
        self.holds: Floats = np.array(holds, float)
        """By what factor a channel alone is slowed down by the resources that it holds."""

    def _gather(self) -> None:
        latency, flow = np.zeros(len(self.channels)), np.zeros(len(self.channels))
        others: dict[int, list[int]] = {}
        functions = {}
        for k, channel in enumerate(self.channels):
            function = channel.throughput
            if isinstance(function, LatencyBandwidth):
                latency[k], flow[k] = function.latency, 1 / function.bandwidth
            elif isinstance(function, Constant):
                flow[k] = 1 / function.bandwidth
            else:
                others.setdefault(id(function), []).append(k)
                functions[id(function)] = function
        self._latency, self._flow = latency[:, None], flow[:, None]
        self._others = [(np.array(rows, np.intp), functions[key]) for key, rows in others.items()]
        self._logs = [_logarithms(function) for _, function in self._others]
        self._steep = [k for k, (_, function) in enumerate(self._others) if not function.is_concave]

    def paces(self, runs: Floats) -> Floats:
        """Seconds per byte of every channel (rows) for every run length (columns), on its own."""
        found: Floats = self._latency / runs + self._flow
        logs = np.log(runs)
        for k, (rows, _) in enumerate(self._others):
            found[rows] = self._other(k, runs, logs)
        found *= self.holds[:, None]
        np.maximum(found, self.caps[:, None], out=found)
        return found * SAFE

    def _other(self, number: int, runs: Floats, logs: Floats) -> Floats:
        """Seconds per byte of a function that is no formula."""
        known = self._logs[number]
        if known is not None:
            return np.exp(-np.interp(logs, *known))
        with np.errstate(divide="ignore"):  # such runs move nothing
            return 1 / rates_of(self._others[number][1], runs)

    def chunk_seconds(self, low: Floats, high: Floats, bound: Floats | float) -> Floats:
        """The least seconds that a chunk of `low` to `high` bytes takes on every channel, in runs of at most `bound` bytes."""
        found: Floats = low * self.paces(np.minimum(low, bound))
        for k in self._steep:  # only there a larger chunk may be the faster one
            rows, function = self._others[k]
            knots = [run for run, _ in function.samples]
            for size in (*(np.clip(knot, low, high) for knot in knots), high, np.clip(bound, low, high)):
                runs = np.minimum(size, bound)
                pace = self._other(k, runs, np.log(runs)) * self.holds[rows, None]
                found[rows] = np.minimum(found[rows], size * np.maximum(pace, self.caps[rows, None]) * SAFE)
        return found

    def pace(self, link: int, run: float) -> float:
        """Seconds per byte of one channel on its own."""
        rate = self.channels[link].throughput(run)
        return max(float(self.holds[link]) / rate if rate else math.inf, float(self.caps[link]))


def _logarithms(function: ThroughputFunction) -> tuple[Floats, Floats] | None:
    """The logarithms of the samples of a function that is straight between them; None where it is of another kind."""
    if not isinstance(function, Sampled):
        return None
    known = np.array(function.samples, float)
    # Below the first sample the slope is 1.
    runs, rates = np.append(SHORT, known[:, 0]), np.append(known[0, 1] * (SHORT / known[0, 0]), known[:, 1])
    return np.log(runs), np.log(rates)


_KNOWN: OrderedDict[tuple[str, frozenset[int] | None], Links] = OrderedDict()
_MOST_KNOWN = 64


def links_of(machine: Machine, nodes: frozenset[int] | None) -> Links:
    """The channels of a machine between the memories of some nodes (None: all), kept for machines that were used last."""
    key = machine.digest, nodes
    found = _KNOWN.get(key)
    if found is None:
        found = _KNOWN[key] = Links(machine, nodes)
        while len(_KNOWN) > _MOST_KNOWN:
            _KNOWN.popitem(last=False)
    return found


def forget_links() -> None:
    """Forget the channels of all machines."""
    _KNOWN.clear()
