"""The time model: the time T of a path for chunks of a given size.

With N chunks of c bytes and hop times tₕ = requestsₕ + c / tpₕ(min(runₕ, c)), T = set-up + Σ tₕ + (N − 1) × period. A hop between
two different layouts has the slower of two rates: that of its channel for layout changes in runs of runₕ, and that for whole
chunks. The rates in this module include the requests: c / tₕ.

The period is max tₕ. With one slot between two hops, these hops cannot work at the same time, and their times add inside the max.
Without `overlap`, the hops of a chunk work one after another, and the period is Σ tₕ.

Hops that use the same channel take turns, so the period is at least the sum of their times.

A shared resource bounds the steady state, and also each hop alone: throughput × Σ weights ≤ capacity. For a held resource the
bound is throughput × Σ weightₕ / tpₕ ≤ capacity.

N is payload / c. The last chunk thus counts as a fraction, which keeps T smooth enough for a search. The real pipeline ends
slightly earlier (`isoviz.planner.time.makespan`), or later if hops share a channel (`isoviz.planner.time.schedule`).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from isoviz.machines import CopyShape
from isoviz.machines.throughput import Constant, LatencyBandwidth, Sampled
from isoviz.planner.time.makespan import makespan
from isoviz.planner.time.one_time import SizedCosts
from isoviz.planner.tuning import MOST_SIZES_NOT_CONVEX, MOST_SIZES_TRIED

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from isoviz.layouts.windows import Keyed
    from isoviz.machines import Channel, Machine
    from isoviz.machines.throughput import ThroughputFunction

    Floats = NDArray[np.float64]


# Rates of a channel for one copy, and of a throughput function for many runs at once.

SHORTEST_RUN = 1e-9
"""A run in bytes, shorter than every real run: it stands for the left end of a sampled function."""


def rate_of(channel: Channel, nbytes: float, run: float, gap: float = math.inf, window: float = 0.0) -> float:
    """Bytes per second of a channel that moves `nbytes` bytes per copy, its requests included.

    The layouts at both ends have runs of `run` bytes in common; infinite where they are equal. Gaps of a part cut its bytes into
    stretches of `gap` bytes. Where `gap` bounds the runs, the layouts do not matter. `window` is as in `CopyShape`. The rate is 0
    if the channel moves nothing in such runs.
    """
    shape = CopyShape(nbytes, min(run, gap, nbytes), window)
    if channel.is_plain:
        return channel.throughput(shape.run_bytes)
    return nbytes / channel.seconds(shape, stretch=gap if run < gap else None) if shape.run_bytes > 0 else 0.0


def rates_of(function: ThroughputFunction, runs: Floats) -> Floats:
    """Bytes per second for runs of the given bytes (above 0, or infinite), equal to the function itself up to rounding."""
    if isinstance(function, LatencyBandwidth):
        return function.bandwidth / (1.0 + function.latency * function.bandwidth / runs)
    if isinstance(function, Constant):
        return function.bandwidth * np.minimum(1.0, runs)
    if not isinstance(function, Sampled):
        return np.array([function(run) for run in runs.tolist()])
    known = np.array(function.samples, float)
    # Below the first sample a function has slope 1.
    at = np.log(np.append(SHORTEST_RUN, known[:, 0]))
    values = np.log(np.append(known[0, 1] * (SHORTEST_RUN / known[0, 0]), known[:, 1]))
    found: Floats = np.exp(np.interp(np.log(runs), at, values))
    return found


ASKED_AS_ARRAY = 20
"""Asking for T of many chunks at once takes as long as asking so many times."""

Runs = Sequence[float]
"""For every hop, the upper bound on its runs in bytes; infinite where whole chunks move."""


class Timing(NamedTuple):
    """Predicted behaviour of a path.

    `seconds` is T for the whole transfer. `period` is the time per full chunk in the steady state, `hop_seconds` the time of a
    full chunk on each hop, both in seconds.
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
    """The properties of a path's channels that do not depend on the transfer."""

    def __init__(self, channels: Sequence[Channel]) -> None:
        self.channels = tuple(channels)
        self.functions = tuple(channel.throughput for channel in channels)
        self.setup = sum([channel.least_setup for channel in channels])
        self.uses_resources = any(channel.resources for channel in channels)
        self.by_run = all(channel.by_run for channel in channels)
        """Whether run and chunk alone determine the rate of every hop, through its throughput functions."""
        self.is_plain = all(channel.is_plain for channel in channels)
        """Whether the run alone determines the rate of every hop, through one throughput function."""
        self.layouts = tuple(channel.layout_throughput for channel in channels)
        self.requests = tuple(channel.request_seconds for channel in channels)
        functions = self.functions if self.is_plain else (*self.functions, *(each for each in self.layouts if each is not None))
        self.is_concave = self.by_run and all(function.is_concave for function in functions)
        self.has_fixed_costs = all(channel.has_fixed_costs and not channel.has_windows for channel in channels)
        """Whether the one-time costs depend only on which hops convert, and no request on more than the mean run."""
        self.has_sized_costs = not self.has_fixed_costs and any(cost.is_sized for each in channels for cost in each.costs)
        """Whether some of them depend on chunks and runs (`SizedCosts`)."""
        self.in_turn = hops_in_turn([channel.name for channel in channels])

    def hop_seconds(self, hop: int, chunk: float, run: float, gap: float = math.inf) -> float:
        """Seconds that a chunk takes on a hop in runs of at most `run` bytes; the channel is one `by_run`.

        `gap` is the bound on the run by the gaps of a part, as in `rate_of`.

        Raises:
            ZeroDivisionError: such runs move nothing.
        """
        layouts = self.layouts[hop]
        if layouts is None or run >= gap:
            return self.requests[hop] + chunk / self.functions[hop](run if run < chunk else chunk)
        plain = chunk / self.functions[hop](gap if gap < chunk else chunk)
        changed = chunk / layouts(run if run < chunk else chunk)
        return self.requests[hop] + (plain if plain > changed else changed)


def hops_in_turn(channels: Sequence[str]) -> tuple[tuple[int, ...], ...]:
    """For every channel that several hops of a path use, the numbers of these hops. `channels` names the channel of every hop."""
    if len(set(channels)) == len(channels):
        return ()
    found: dict[str, list[int]] = {}
    for hop, name in enumerate(channels):
        found.setdefault(name, []).append(hop)
    return tuple(tuple(hops) for hops in found.values() if len(hops) > 1)


class Clock:
    """The time of a transfer of `nbytes` bytes along `channels`, as a function of chunk and runs.

    `pace` holds the properties of the channels, if they are known already. `converting` holds the numbers of the hops that
    convert. `setup` is the sum of the one-time costs that do not depend on chunks and runs, in seconds. Without `setup`, a cost
    that depends on layouts or on other hops counts at its lower bound. `gaps` bounds the runs of the first and of the last hop,
    in bytes, where only a part moves (`end_runs`). `ends` holds the bytes of the instances at both ends, by default `nbytes`.
    `keys` has for every hop what its keys map, if they are keys and it is known.
    """

    def __init__(
        self,
        machine: Machine,
        channels: Sequence[Channel],
        nbytes: int,
        slots: int,
        pace: Pace | None = None,
        converting: Iterable[int] = (),
        setup: float | None = None,
        gaps: tuple[float, float] = (math.inf, math.inf),
        ends: tuple[int, int] | None = None,
        keys: Sequence[Keyed | None] = (),
    ) -> None:
        self.pace = pace = pace or Pace(channels)
        self.asked = 0
        """How often T was asked for: a measure of the work of planning."""
        self.is_plain = pace.is_plain
        self.channels = pace.channels
        self.nbytes = nbytes
        self.functions = pace.functions
        converting = tuple(converting)
        more = sum([pace.channels[hop].least_conversion for hop in converting])
        self.setup = pace.setup + more if setup is None else setup
        names = dict.fromkeys(name for channel in self.channels for name, _ in channel.resources) if pace.uses_resources else ()
        self.resources = {name: machine.resource(name) for name in names}
        self.sized = SizedCosts(pace.channels, converting, slots, ends or (nbytes, nbytes)) if pace.has_sized_costs else None
        concave = pace.is_concave and self.sized is None  # sized costs grow in steps
        self.every = 0 if concave and not self.resources else MOST_SIZES_TRIED if concave else MOST_SIZES_NOT_CONVEX
        """Up to this number of sizes, a search tries all of them. It is 0 where T is convex in the logarithms of chunk and runs.
        It is small where shared resources may give T several minima, and large where a throughput function may."""
        self.overlap = machine.limits.overlap
        self.slots = slots
        self.in_turn = pace.in_turn if self.overlap else ()
        self.separable = self.overlap and (slots > 1 or len(self.channels) == 1) and not self.in_turn and self.sized is None
        """Whether each hop bounds the steady state by itself: no buffer with one slot and no channel couples two hops. So larger
        blocks than those that sustain it save nothing, as they would where a run has costs of its own."""
        self._separate = self.separable and not pace.uses_resources and pace.by_run
        self.gaps = [float(nbytes)] * len(self.channels)
        """For every hop, the run that equal layouts have: everything, or less where gaps of a part bound it."""
        self.gaps[0] = min(self.gaps[0], gaps[0])
        self.gaps[-1] = min(self.gaps[-1], gaps[1])
        self.keys = tuple(keys) or (None,) * len(self.channels)
        self.windows = tuple([0.0 if each is None else each.window for each in self.keys])

    def sized_seconds(self, chunk: float, runs: Runs, *, kept: bool = False) -> float:
        """The one-time costs that depend on chunks and runs, in seconds; with `kept` those of them that are kept."""
        if self.sized is None:
            return 0.0
        return self.sized.seconds(self.nbytes, min(chunk, self.nbytes), runs, self.gaps, self.keys, kept=kept)

    def shares(self, rates: Sequence[float]) -> tuple[tuple[float, ...], ...]:
        """For every shared resource of the channels, the seconds of the resource that a byte costs on each hop at these rates."""
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
    def _uses(self) -> list[tuple[int, str, float, float, bool]]:
        """For every use of a shared resource: the hop, the resource, the weight, the capacity, and whether it is held."""
        return [
            (i, name, weight, self.resources[name].capacity, self.resources[name].held)
            for i, channel in enumerate(self.channels if self.resources else ())
            for name, weight in channel.resources
        ]

    @cached_property
    def shared_names(self) -> tuple[str, ...]:
        """The names of the shared resources that the channels use, in the order of `shares`."""
        if not self.resources:
            return ()
        return tuple(sorted({name for channel in self.channels for name, weight in channel.resources if weight}))

    @cached_property
    def resource_bound(self) -> float:
        """The bound of the shared resources on the throughput with every hop at its peak, in bytes per second."""
        return self.shared_bound([channel.peak for channel in self.channels])

    def shared_bound(self, rates: Sequence[float]) -> float:
        """The bound of the shared resources on the throughput at these rates of the hops, in bytes per second."""
        most = max((sum(share) for share in self.shares(rates)), default=0.0)
        return 1 / most if most else math.inf

    def seconds(self, chunk: float, runs: Runs) -> float:
        """T for chunks of `chunk` bytes, in seconds."""
        self.asked += 1
        if self.nbytes < chunk:
            chunk = self.nbytes
        if not self._separate:
            return self.timing(chunk, runs).seconds
        total = slowest = 0.0
        functions, hop_seconds, gaps = self.functions, self.pace.hop_seconds, self.gaps
        try:
            for i, run in enumerate(runs):
                if self.is_plain:
                    hop = chunk / functions[i](run if run < chunk else chunk)
                else:
                    hop = hop_seconds(i, chunk, run, gaps[i])
                total += hop
                if hop > slowest:
                    slowest = hop
        except ZeroDivisionError:  # such runs move nothing
            return math.inf
        return self.setup + total + (self.nbytes / chunk - 1.0) * slowest

    def pipeline_seconds(self, chunk: float, runs: Runs) -> float:
        """The time of the pipeline with its last chunk as short as it is, in seconds; hops that share a channel or a resource
        count as if they did not."""
        chunk = min(chunk, self.nbytes)
        chunks = math.ceil(self.nbytes / chunk * (1 - 1e-12))
        hops = self.timing(chunk, runs).hop_seconds
        last = self.timing(self.nbytes - (chunks - 1) * chunk, runs).hop_seconds
        setup = self.setup + self.sized_seconds(chunk, runs)
        return setup + makespan(hops, chunks, last, slots=self.slots, overlap=self.overlap)

    def seconds_of_chunks(self, chunks: Floats, runs: Runs) -> Floats:
        """T for each of these chunk sizes in bytes; equal to `seconds` up to rounding."""
        self.asked += ASKED_AS_ARRAY
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
        for group in self.in_turn:
            period = np.maximum(period, hops[list(group)].sum(axis=0))
        for share in shares.values():
            period = np.maximum(period, share)
        found: Floats = self.setup + total + (self.nbytes / chunks - 1.0) * period
        if self.sized is not None:
            found = found + np.array([self.sized_seconds(chunk, runs) for chunk in chunks.tolist()])
        return found

    def least_seconds(self, runs: Runs) -> float:
        """A lower bound on T for every chunk: the time of the slowest hop alone, with the longest possible runs."""
        self.asked += 1
        slowest = min(self.most_rates(self.nbytes, runs))
        return self.setup + self.nbytes / slowest if slowest else math.inf

    def rates(self, chunk: float, runs: Runs) -> list[float]:
        """Bytes per second of every hop."""
        if self.pace.by_run:
            return self.most_rates(chunk, runs)
        each = zip(self.channels, runs, self.gaps, self.windows, strict=True)
        return [rate_of(channel, chunk, run, gap, window) for channel, run, gap, window in each]

    def most_rates(self, chunk: float, runs: Runs) -> list[float]:
        """For every hop, an upper bound on its bytes per second with chunks up to this size."""
        if self.is_plain:
            return [function(run if run < chunk else chunk) for function, run in zip(self.functions, runs, strict=True)]
        return [self._most_rate(hop, chunk, run) for hop, run in enumerate(runs)]

    def _most_rate(self, hop: int, chunk: float, run: float) -> float:
        try:
            return chunk / self.pace.hop_seconds(hop, chunk, run, self.gaps[hop])
        except ZeroDivisionError:  # such runs move nothing
            return 0.0

    def _rates_of(self, hop: int, chunks: Floats, run: float) -> Floats:
        """Bytes per second of a hop for chunks of each of these sizes."""
        channel, gap, window = self.channels[hop], self.gaps[hop], self.windows[hop]
        if not channel.by_run:
            return np.array([rate_of(channel, chunk, run, gap, window) for chunk in chunks.tolist()])
        layouts = channel.layout_throughput if run < gap else None
        rates = rates_of(channel.throughput, np.minimum(run if layouts is None else gap, chunks))
        if layouts is not None:
            rates = np.minimum(rates, rates_of(layouts, np.minimum(run, chunks)))
        if channel.request_seconds:
            with np.errstate(divide="ignore"):  # such runs move nothing
                rates = chunks / (channel.request_seconds + chunks / rates)
        return rates

    def timing(self, chunk: float, runs: Runs, rates: Sequence[float] | None = None) -> Timing:
        """T with its parts. `rates` are the rates of the hops, if they are known already.

        Without `runs`, T lacks the costs that depend on them.
        """
        chunk = min(chunk, self.nbytes)
        rates = self.rates(chunk, runs) if rates is None else rates
        if not all(rates):  # such runs move nothing
            return Timing(math.inf, math.inf, tuple(chunk / rate if rate else math.inf for rate in rates), chunk)
        hops = [chunk / rate for rate in rates]
        shares: dict[str, float] = {}
        for i, name, weight, capacity, held in self._uses:
            share = chunk * (weight / (rates[i] * capacity) if held else weight / capacity)  # as `Resource.cost`
            shares[name] = shares.get(name, 0.0) + share
            if share > hops[i]:
                hops[i] = share
        seconds, period = self._combined(chunk, hops, shares)
        if self.sized is not None and runs:
            seconds += self.sized_seconds(chunk, runs)
        return Timing(seconds, period, tuple(hops), chunk)

    def throughput(self, chunk: float, rates: Sequence[float]) -> float:
        """Bytes per second in the steady state, for chunks of `chunk` bytes and these rates of the hops."""
        if not self._separate:
            return self.timing(chunk, (), rates).throughput
        chunk = min(chunk, self.nbytes)
        return chunk / max([chunk / rate for rate in rates])

    def combined(self, chunk: float, hops: Sequence[float]) -> float:
        """T for given times of the hops, without the bounds of shared resources."""
        return self._combined(min(chunk, self.nbytes), hops, {})[0]

    def _combined(self, chunk: float, hops: Sequence[float], shares: Mapping[str, float]) -> tuple[float, float]:
        """T and the period."""
        if not self.overlap:
            period = sum(hops)
        elif self.slots == 1 and len(hops) > 1:
            period = max(here + there for here, there in itertools.pairwise(hops))
        else:
            period = max(hops)
        for group in self.in_turn:
            period = max(period, sum([hops[hop] for hop in group]))
        if shares:
            period = max(period, *shares.values())
        return self.setup + sum(hops) + (self.nbytes / chunk - 1.0) * period, period
