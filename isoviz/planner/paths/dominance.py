"""The cost of a channel, and dominance between channels: one costs at most as much as another, for every transfer."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from isoviz.machines.throughput import Constant, LatencyBandwidth, Sampled

if TYPE_CHECKING:
    from isoviz.machines import Channel, Machine, OneTimeCost
    from isoviz.machines.throughput import ThroughputFunction


def at_least_as_fast(f: ThroughputFunction, g: ThroughputFunction) -> bool:
    """Whether f(r) ≥ g(r) is known to hold for every run r of a byte or more."""
    if f is g or f == g:
        return True
    if isinstance(f, Constant | LatencyBandwidth) and isinstance(g, Constant | LatencyBandwidth):
        return f.bandwidth >= g.bandwidth and getattr(f, "latency", 0.0) <= getattr(g, "latency", 0.0)
    if isinstance(f, Sampled | Constant) and isinstance(g, Sampled | Constant):
        # Both are linear in log-log between their samples, have slope 1 before them and are flat after them.
        return all(f(run) >= g(run) for run in {run for h in (f, g) for run, _ in h.samples})
    return False


Further = tuple[tuple["OneTimeCost", ...], int | None, float, bool]
"""A channel's one-time costs besides set-up, its descriptors per request, the seconds of each request, and whether its requests
are windows."""


class ChannelCost(NamedTuple):
    """The cost of a channel; channels of equal cost are interchangeable."""

    throughput: ThroughputFunction
    layout_rates: ThroughputFunction
    setup: float
    conversion_setup: float
    further: Further
    resources: tuple[tuple[str, float], ...]

    def dominates(self, other: ChannelCost) -> bool:
        """Whether it is at least as fast for every run, costs no more to set up and per request, and uses no more of any shared
        resource."""
        if self._costs_more(other) or not _no_further(self.further, other.further):
            return False
        if self.resources:
            theirs = dict(other.resources)
            if any(weight > theirs.get(name, 0.0) for name, weight in self.resources):
                return False
        if not at_least_as_fast(self.throughput, other.throughput):
            return False
        plain = self.layout_rates is self.throughput and other.layout_rates is other.throughput
        return plain or at_least_as_fast(self.layout_rates, other.layout_rates)

    def _costs_more(self, other: ChannelCost) -> bool:
        """Whether its set-up may take longer."""
        return self.setup > other.setup or self.setup + self.conversion_setup > other.setup + other.conversion_setup


def _no_further(here: Further, there: Further) -> bool:
    """Whether a channel pays no further costs that the other one does not pay as well."""
    if here == there:
        return True
    costs, descriptors, seconds, has_windows = here
    if (costs and costs != there[0]) or seconds > there[2]:
        return False
    if descriptors is None or not (seconds or any(cost.per == "request" for cost in costs)):
        return True
    if has_windows or there[3]:
        return False  # what a window holds depends on the runs of both ends
    return there[1] is not None and descriptors >= there[1]


class CostClasses:
    """The channels of a machine grouped by cost; every class has a number."""

    def __init__(self, machine: Machine) -> None:
        numbers: dict[ChannelCost, int] = {}
        self._of: dict[str, int] = {}
        by_parts: dict[tuple[object, ...], int] = {}
        for channel in machine.channels:
            setups = channel.setup, channel.conversion_setup
            further = channel.costs, channel.descriptors, channel.request_seconds, channel.has_windows
            functions = channel.throughput, channel.layout_rates
            parts = (id(functions[0]), id(functions[1]), setups, further, channel.resources)  # most channels share theirs
            number = by_parts.get(parts)
            if number is None:
                used = tuple(sorted(use for use in channel.resources if use[1] > 0))
                number = numbers.setdefault(ChannelCost(*functions, *setups, further, used), len(numbers))
                by_parts[parts] = number
            self._of[channel.name] = number
        self._costs = tuple(numbers)

    def __len__(self) -> int:
        return len(self._costs)

    @cached_property
    def dominates(self) -> list[list[bool]]:
        """`dominates[i][j]`: whether class i costs at most as much as class j in every respect."""
        return [[here.dominates(there) for there in self._costs] for here in self._costs]

    def of(self, channel: Channel) -> int:
        """The cost class of a channel."""
        return self._of[channel.name]
