"""The time model: how long a path takes for chunks of a given size (DESIGN, section 2: objective).

With N chunks of c bytes and hop times tₕ = c / tpₕ(min(runₕ, c)) it is T = set-up + Σ tₕ + (N − 1) × period. The period is
max tₕ; with one slot between two hops these two cannot work at the same time, so their times add inside the max; without
`overlap` all hops of a chunk follow each other. Shared resources bound the steady state, throughput × Σ weights ≤ capacity, and
a hop on its own; those that are held, throughput × Σ weightₕ / tpₕ ≤ capacity. N is payload / c: the last chunk counts for what
is in it, which keeps T smooth enough to be searched. What then runs ends a little earlier (`isoviz.planner.time.makespan`).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from isoviz.planner.time.run_rates import rate_of, rates_of
from isoviz.planner.tuning import MOST_SIZES_NOT_CONVEX, MOST_SIZES_TRIED

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from isoviz.machines import Channel, Machine

    Floats = NDArray[np.float64]

Runs = Sequence[float]
"""For every hop, the bytes at most that its runs have; infinite where whole chunks move."""


class Timing(NamedTuple):
    """Predicted behaviour of a path.

    `seconds` for the whole transfer, `period` seconds per full chunk in the steady state, `hop_seconds` per full chunk and hop.
    """

    seconds: float
    period: float
    hop_seconds: tuple[float, ...]
    chunk_bytes: float

    @property
    def throughput(self) -> float:
        """Bytes per second in the steady state."""
        return self.chunk_bytes / self.period


class Pace:
    """What the channels of a path have of their own, whatever moves."""

    def __init__(self, channels: Sequence[Channel]) -> None:
        self.channels = tuple(channels)
        self.functions = tuple(channel.throughput for channel in channels)
        self.setup = sum([channel.least_setup for channel in channels])
        self.uses_resources = any(channel.resources for channel in channels)
        self.by_run = all(channel.by_run for channel in channels)
        """Whether the rate of every hop is its throughput function's for its run, whatever else the copies are."""
        self.is_concave = self.by_run and all(function.is_concave for function in self.functions)
        self.has_fixed_costs = all(channel.has_fixed_costs for channel in channels)
        """Whether one-time costs follow from which hops convert."""


class Clock:
    """The time of a transfer of `nbytes` along `channels`, as a function of chunk and runs; `pace` is theirs, if it is known, and
    `converting` are the numbers of those that convert. `setup` are the seconds of all one-time costs; without it, those that
    depend on layouts and on other hops count as little as they can."""

    def __init__(
        self,
        machine: Machine,
        channels: Sequence[Channel],
        nbytes: int,
        slots: int,
        pace: Pace | None = None,
        converting: Iterable[int] = (),
        setup: float | None = None,
    ) -> None:
        pace = pace or Pace(channels)
        self.by_run = pace.by_run
        self.channels = pace.channels
        self.nbytes = nbytes
        self.functions = pace.functions
        more = sum([pace.channels[hop].least_conversion for hop in converting])
        self.setup = pace.setup + more if setup is None else setup
        self.resources = {resource.name: resource for resource in machine.resources} if pace.uses_resources else {}
        self.every = (
            0 if pace.is_concave and not self.resources else MOST_SIZES_TRIED if pace.is_concave else MOST_SIZES_NOT_CONVEX
        )
        """So many sizes are all tried: none where T is known to be convex in the logarithms of chunk and runs, few where shared
        resources might leave it with several minima, many where a throughput function might."""
        self.overlap = machine.limits.overlap
        self.slots = slots
        self.separable = self.overlap and (slots > 1 or len(self.channels) == 1)
        """Whether the hops bound the steady state one by one: no one-slot buffers join them."""
        self._plain = self.separable and not pace.uses_resources and pace.by_run

    def shares(self, rates: Sequence[float]) -> tuple[tuple[float, ...], ...]:
        """For every shared resource that the channels use, its seconds that a byte costs on each hop, at these rates of the
        hops."""
        if not self.resources:
            return ()
        weights = [dict(channel.resources) for channel in self.channels]
        return tuple(
            tuple(
                self.resources[name].cost(each.get(name, 0.0), rate or math.inf)
                for each, rate in zip(weights, rates, strict=True)
            )
            for name in self.shared_names
        )

    @cached_property
    def shared_names(self) -> tuple[str, ...]:
        """The names of the shared resources that the channels use, in the order of `shares`."""
        if not self.resources:
            return ()
        return tuple(sorted({name for channel in self.channels for name, weight in channel.resources if weight}))

    @cached_property
    def resource_bound(self) -> float:
        """The throughput that shared resources allow, bytes per second, with every hop at its peak."""
        return self.shared_bound([channel.peak for channel in self.channels])

    def shared_bound(self, rates: Sequence[float]) -> float:
        """The throughput that shared resources allow, bytes per second, at these rates of the hops."""
        most = max((sum(share) for share in self.shares(rates)), default=0.0)
        return 1 / most if most else math.inf

    def seconds(self, chunk: float, runs: Runs) -> float:
        """T for chunks of so many bytes."""
        if self.nbytes < chunk:
            chunk = self.nbytes
        if not self._plain:
            return self.timing(chunk, runs).seconds
        total = slowest = 0.0
        try:
            for function, run in zip(self.functions, runs, strict=True):
                hop = chunk / function(run if run < chunk else chunk)
                total += hop
                if hop > slowest:
                    slowest = hop
        except ZeroDivisionError:  # such runs move nothing
            return math.inf
        return self.setup + total + (self.nbytes / chunk - 1.0) * slowest

    def seconds_of_chunks(self, chunks: Floats, runs: Runs) -> Floats:
        """T for chunks of each of these sizes, in bytes, but for rounding."""
        chunks = np.minimum(chunks, self.nbytes)
        each = [self._rates_of(i, chunks, run) for i, run in enumerate(runs)]
        with np.errstate(divide="ignore"):  # such runs move nothing
            hops = np.array([chunks / rate for rate in each])
        shares: dict[str, Floats] = {}
        for i, channel in enumerate(self.channels if self.resources else ()):
            for name, weight in channel.resources:
                resource = self.resources[name]
                share = chunks * weight / (each[i] * resource.capacity if resource.held else resource.capacity)
                shares[name] = shares.get(name, 0.0) + share
                hops[i] = np.maximum(hops[i], share)
        total = hops.sum(axis=0)
        period = total
        if self.overlap:
            paired = self.slots == 1 and len(hops) > 1
            period = (hops[:-1] + hops[1:]).max(axis=0) if paired else hops.max(axis=0)
        for share in shares.values():
            period = np.maximum(period, share)
        found: Floats = self.setup + total + (self.nbytes / chunks - 1.0) * period
        return found

    def least_seconds(self, runs: Runs) -> float:
        """Less than this T is for no chunk: the slowest hop alone, its runs as long as they can be."""
        slowest = min(self.most_rates(self.nbytes, runs))
        return self.setup + self.nbytes / slowest if slowest else math.inf

    def rates(self, chunk: float, runs: Runs) -> list[float]:
        """Bytes per second of every hop."""
        if self.by_run:
            return self.most_rates(chunk, runs)
        return [rate_of(channel, chunk, run) for channel, run in zip(self.channels, runs, strict=True)]

    def most_rates(self, chunk: float, runs: Runs) -> list[float]:
        """Bytes per second that no hop exceeds with chunks up to this size."""
        return [function(run if run < chunk else chunk) for function, run in zip(self.functions, runs, strict=True)]

    def _rates_of(self, hop: int, chunks: Floats, run: float) -> Floats:
        """Bytes per second of a hop for chunks of each of these sizes."""
        channel = self.channels[hop]
        if channel.by_run:
            return rates_of(channel.throughput, np.minimum(run, chunks))
        return np.array([rate_of(channel, chunk, run) for chunk in chunks.tolist()])

    def timing(self, chunk: float, runs: Runs, rates: Sequence[float] | None = None) -> Timing:
        """T with its parts; `rates` where they are known."""
        chunk = min(chunk, self.nbytes)
        rates = self.rates(chunk, runs) if rates is None else rates
        if not all(rates):  # such runs move nothing
            return Timing(math.inf, math.inf, tuple(chunk / rate if rate else math.inf for rate in rates), chunk)
        hops = [chunk / rate for rate in rates]
        shares: dict[str, float] = {}
        if self.resources:
            for i, channel in enumerate(self.channels):
                for name, weight in channel.resources:
                    share = chunk * self.resources[name].cost(weight, rates[i])
                    shares[name] = shares.get(name, 0.0) + share
                    hops[i] = max(hops[i], share)
        seconds, period = self._combined(chunk, hops, shares)
        return Timing(seconds, period, tuple(hops), chunk)

    def throughput(self, chunk: float, rates: Sequence[float]) -> float:
        """Bytes per second in the steady state, for chunks of so many bytes and these rates of the hops."""
        if not self._plain:
            return self.timing(chunk, (), rates).throughput
        chunk = min(chunk, self.nbytes)
        return chunk / max([chunk / rate for rate in rates])

    def combined(self, chunk: float, hops: Sequence[float]) -> float:
        """T for given times of the hops; shared resources are not asked."""
        return self._combined(min(chunk, self.nbytes), hops, {})[0]

    def _combined(self, chunk: float, hops: Sequence[float], shares: Mapping[str, float]) -> tuple[float, float]:
        """T and the period."""
        if not self.overlap:
            period = sum(hops)
        elif self.slots == 1 and len(hops) > 1:
            period = max(here + there for here, there in itertools.pairwise(hops))
        else:
            period = max(hops)
        if shares:
            period = max(period, *shares.values())
        return self.setup + sum(hops) + (self.nbytes / chunk - 1.0) * period, period
