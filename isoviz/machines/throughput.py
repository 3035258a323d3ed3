"""Throughput functions: the rate of a channel by the length of contiguous runs.

`tp(r)` is the rate in bytes per second for runs of `r` bytes (Isometry, section 4.1: tp(m_s, m_d, r)). All functions here are
monotone: the rate never falls as runs grow. Therefore a planner can replace a minimum rate by a minimum run (section 4.2), with
`inverse`. A plan evaluates the functions thousands of times, so evaluation uses plain floats and one bisection.
"""

from __future__ import annotations

import math
import numbers
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, ClassVar, Protocol, runtime_checkable

from isoviz import checks
from isoviz.errors import InputError, MachineError
from isoviz.machines.costs import CopyShape
from isoviz.schema import BY_NAME, MismatchError, errors_as, member, plain, read, tag

RATE_LIMIT = 1e24
"""The highest rate accepted, in bytes per second."""
RATE_FLOOR = 1e-6
"""The lowest rate accepted, in bytes per second. A machine has no channels that move nothing."""
LATENCY_FLOOR = 1e-18
LATENCY_LIMIT = 1e6

Samples = tuple[tuple[float, float], ...]
"""Pairs (run in bytes, rate in bytes per second)."""


@runtime_checkable
class ThroughputFunction(Protocol):
    """The interface of throughput functions for planners, simulators and figures."""

    def __call__(self, run_bytes: float, /) -> float:
        """Sustained bytes per second for contiguous runs of `run_bytes` bytes; 0 for runs of 0 bytes."""

    def inverse(self, rate: float, /) -> float:
        """The smallest run, in bytes, with `tp(run) ≥ rate`; `math.inf` if no run is as fast, 0 for rates ≤ 0."""

    @property
    def peak(self) -> float:
        """The least upper bound of the rates, in bytes per second."""

    @property
    def samples(self) -> Samples:
        """Points (run bytes, bytes per second) for drawing, by ascending run."""

    @property
    def is_concave(self) -> bool:
        """Whether log tp is concave in log r. Then a linear program in the logarithms represents it exactly."""

    def to_json(self) -> dict[str, Any]:
        """The function as a JSON object. `from_json` returns an equal function."""


@runtime_checkable
class ShapedThroughput(ThroughputFunction, Protocol):
    """A throughput function that depends on more than the run, for protocols whose requests have further costs.

    Planners use its rates as bounds, `nbytes / seconds(shape) ≤ tp(run_bytes)`, and then evaluate `seconds`. Their plans are not
    guaranteed to be optimal for machines with such a channel.
    """

    def seconds(self, shape: CopyShape, /) -> float:
        """Seconds that a copy of this shape takes. They are positive, and infinite if such runs move nothing."""


@dataclass(frozen=True)
class Sampled:
    """A function through samples: piecewise linear in log-log, of slope 1 below the first sample, constant above the last.

    Below the first sample every run takes as long as a run of the first sample (slope 1). At a sample the function has exactly
    the sample's rate.

    - `samples`: pairs (run bytes, bytes per second). Runs are at least 1 byte and strictly ascending; rates are positive and do
      not fall.
    - `spread`: the relative spread (largest − smallest) / median of the repetitions of each sample.
    - `ranges`: the lowest and the highest rate among the repetitions of each sample, in bytes per second.
    - `date`: the date of the measurement.
    - `measured`: the samples before they were made monotone, if this changed them.

    Raises:
        MachineError: there are no samples, runs do not ascend, rates fall, or a value is not a finite positive number.
    """

    samples: Samples
    spread: tuple[float, ...] | None = member(None, brief=True)
    date: str | None = member(None, brief=True)
    measured: Samples | None = member(None, brief=True)
    ranges: Samples | None = member(None, brief=True)
    _runs: list[float] = field(init=False, repr=False, compare=False)
    _rates: list[float] = field(init=False, repr=False, compare=False)
    _slopes: list[float] = field(init=False, repr=False, compare=False)

    TYPE: ClassVar[str] = "samples"

    def __post_init__(self) -> None:
        samples = _checked_pairs(self.samples, "samples")
        for k, ((_, before), (_, after)) in enumerate(pairwise(samples), start=1):
            if after < before:
                raise _error(
                    f"samples[{k}]",
                    f"the rate falls from {before:g} to {after:g} bytes/s; rates must not fall as runs grow"
                    " (monotone() makes a measurement so)",
                )
        if self.spread is not None:
            given: object = self.spread
            listed = _listed(given, "spread", "a list of numbers")
            spread = tuple(checks.number(_OWNER, f"spread[{k}]", s) for k, s in enumerate(listed))
            if len(spread) != len(samples):
                raise _error("spread", f"expected one number per sample ({len(samples)}), got {len(spread)}")
            object.__setattr__(self, "spread", spread)
        if self.date is not None:
            checks.text(_OWNER, "date", self.date)
        if self.measured is not None:
            object.__setattr__(self, "measured", _checked_pairs(self.measured, "measured"))
        if self.ranges is not None:
            object.__setattr__(self, "ranges", _checked_ranges(self.ranges, len(samples)))
        runs = [run for run, _ in samples]
        rates = [rate for _, rate in samples]
        object.__setattr__(self, "samples", samples)
        object.__setattr__(self, "_runs", runs)
        object.__setattr__(self, "_rates", rates)
        object.__setattr__(
            self,
            "_slopes",
            [
                math.log(rates[k + 1] / rates[k]) / math.log(runs[k + 1] / runs[k]) if rates[k + 1] > rates[k] else 0.0
                for k in range(len(runs) - 1)
            ],
        )

    @classmethod
    def from_measurement(
        cls, samples: Iterable[Sequence[float]], spread: Iterable[float] | None = None, date: str | None = None
    ) -> Sampled:
        """The function through a measurement, made monotone. If this changes samples, `measured` keeps the original ones."""
        measured = _checked_pairs(samples, "samples")
        hull = monotone(measured)
        return cls(
            hull,
            spread=None if spread is None else _listed(spread, "spread", "a list of numbers"),
            date=date,
            measured=None if hull == measured else measured,
        )

    @classmethod
    def with_gap(cls, gap: float, bandwidth: float) -> Sampled:
        """The function of a channel that keeps enough requests in flight to hide their latency: `min(r / gap, bandwidth)`.

        The channel starts one run every `gap` seconds (the gap of the LogGP model), up to `bandwidth` bytes per second.
        """
        gap = checks.number(_OWNER, "gap", gap, low=LATENCY_FLOOR, high=LATENCY_LIMIT)
        bandwidth = checks.number(_OWNER, "bandwidth", bandwidth, low=RATE_FLOOR, high=RATE_LIMIT)
        return cls(((max(1.0, gap * bandwidth), bandwidth),))

    def __call__(self, run_bytes: float, /) -> float:
        """Bytes per second for runs of `run_bytes`."""
        if type(run_bytes) is not float:
            run_bytes = _plain(run_bytes)
        runs = self._runs
        if not run_bytes > runs[0]:  # true for NaN as well
            return _below(run_bytes, runs[0], self._rates[0])
        k = bisect_right(runs, run_bytes) - 1
        rates = self._rates
        if k == len(runs) - 1:
            return rates[k]
        slope = self._slopes[k]
        if slope == 0.0:
            return rates[k]
        rate: float = rates[k] * (run_bytes / runs[k]) ** slope
        # Rounding must not exceed the next rate: the function stays bounded and monotone.
        return rate if rate < rates[k + 1] else rates[k + 1]

    def inverse(self, rate: float, /) -> float:
        """The smallest run, in bytes, that reaches `rate`; `math.inf` where none does."""
        if type(rate) is not float:
            rate = _plain(rate)
        rates = self._rates
        if not rate > rates[0]:
            return _below_inverse(rate, self._runs[0], rates[0])
        if rate > rates[-1]:
            return math.inf
        k = bisect_left(rates, rate)
        if rates[k] == rate:
            return self._runs[k]
        run: float = self._runs[k - 1] * math.exp(math.log(rate / rates[k - 1]) / self._slopes[k - 1])
        return run if run < self._runs[k] else self._runs[k]

    @property
    def peak(self) -> float:
        """The highest rate, bytes per second."""
        return self._rates[-1]

    @property
    def is_concave(self) -> bool:
        """Whether log tp is concave in log r."""
        slopes = [1.0, *self._slopes, 0.0]
        return all(after <= before * (1 + 1e-12) for before, after in pairwise(slopes))

    def to_json(self) -> dict[str, Any]:
        """A JSON object from which `from_json` makes an equal function."""
        return {"type": self.TYPE, **plain(self, BY_NAME)}


@dataclass(frozen=True)
class LatencyBandwidth:
    """`tp(r) = r / (latency + r / bandwidth)`: every run takes `latency` seconds, then moves at `bandwidth` bytes per second.

    The rate approaches `bandwidth` and never reaches it. Half of it is reached at `latency × bandwidth` bytes.

    Raises:
        MachineError: latency or bandwidth is not a finite positive number. A channel without latency is a `Constant`.
    """

    latency: float
    bandwidth: float

    TYPE: ClassVar[str] = "latency-bandwidth"

    def __post_init__(self) -> None:
        given: object = self.latency
        if isinstance(given, int | float) and given == 0:
            raise _error("latency", "expected seconds > 0, got 0; a channel without latency is of type 'constant'")
        latency = checks.number(_OWNER, "latency", self.latency, low=LATENCY_FLOOR, high=LATENCY_LIMIT)
        bandwidth = checks.number(_OWNER, "bandwidth", self.bandwidth, low=RATE_FLOOR, high=RATE_LIMIT)
        object.__setattr__(self, "latency", latency)
        object.__setattr__(self, "bandwidth", bandwidth)

    def __call__(self, run_bytes: float, /) -> float:
        """Bytes per second for runs of `run_bytes`."""
        if type(run_bytes) is not float:
            run_bytes = _plain(run_bytes)
        if run_bytes > 0:
            return self.bandwidth / (1.0 + self.latency * self.bandwidth / run_bytes)
        return _below(run_bytes, 1.0, 0.0)

    def inverse(self, rate: float, /) -> float:
        """The smallest run, in bytes, that reaches `rate`; `math.inf` where none does."""
        if type(rate) is not float:
            rate = _plain(rate)
        if not rate > 0:
            return _below_inverse(rate, 1.0, 1.0)
        if rate >= self.bandwidth:
            return math.inf
        return self.latency * rate * (self.bandwidth / (self.bandwidth - rate))

    @property
    def peak(self) -> float:
        """The highest rate, bytes per second."""
        return self.bandwidth

    @property
    def samples(self) -> Samples:
        """Powers of two from 1 byte until the rate is within 1 % of the peak."""
        last = max(1.0, 99 * self.latency * self.bandwidth)
        count = min(64, math.ceil(math.log2(last)))
        return tuple((float(2**k), self(float(2**k))) for k in range(count + 1))

    @property
    def is_concave(self) -> bool:
        """Whether log tp is concave in log r."""
        return True

    def to_json(self) -> dict[str, Any]:
        """A JSON object from which `from_json` makes an equal function."""
        return {"type": self.TYPE, **plain(self, BY_NAME)}


@dataclass(frozen=True)
class Constant:
    """`bandwidth` bytes per second for all runs of at least one byte (Isometry, figure 5d). Below one byte the slope is 1.

    Raises:
        MachineError: the bandwidth is not a finite positive number.
    """

    bandwidth: float

    TYPE: ClassVar[str] = "constant"

    def __post_init__(self) -> None:
        bandwidth = checks.number(_OWNER, "bandwidth", self.bandwidth, low=RATE_FLOOR, high=RATE_LIMIT)
        object.__setattr__(self, "bandwidth", bandwidth)

    def __call__(self, run_bytes: float, /) -> float:
        """Bytes per second for runs of `run_bytes`."""
        if type(run_bytes) is not float:
            run_bytes = _plain(run_bytes)
        return self.bandwidth if run_bytes >= 1.0 else _below(run_bytes, 1.0, self.bandwidth)

    def inverse(self, rate: float, /) -> float:
        """The smallest run, in bytes, that reaches `rate`; `math.inf` where none does."""
        if type(rate) is not float:
            rate = _plain(rate)
        if rate > self.bandwidth:
            return math.inf
        return _below_inverse(rate, 1.0, self.bandwidth)

    @property
    def peak(self) -> float:
        """The highest rate, bytes per second."""
        return self.bandwidth

    @property
    def samples(self) -> Samples:
        """Points for drawing."""
        return ((1.0, self.bandwidth),)

    @property
    def is_concave(self) -> bool:
        """Whether log tp is concave in log r."""
        return True

    def to_json(self) -> dict[str, Any]:
        """A JSON object from which `from_json` makes an equal function."""
        return {"type": self.TYPE, **plain(self, BY_NAME)}


def monotone(samples: Iterable[Sequence[float]]) -> Samples:
    """The smallest monotone function that is nowhere below the samples: their running maximum.

    A measured rate may fall as runs grow, where data exceeds a cache or a protocol changes. The channel can avoid the lower rate:
    it splits slow large requests into faster small ones (Isometry, footnote 2). Therefore a large request is never slower than
    the fastest smaller one.

    Raises:
        MachineError: there are no samples, runs do not strictly grow, or a value is not a finite positive number.
    """
    best = 0.0
    hull = []
    for run, rate in _checked_pairs(samples, "samples"):
        best = max(best, rate)
        hull.append((run, best))
    return tuple(hull)


_TYPES: dict[str, type[ThroughputFunction]] = {each.TYPE: each for each in (Sampled, LatencyBandwidth, Constant)}


def from_json(data: Any) -> ThroughputFunction:
    """The throughput function from a JSON object of `to_json`.

    Raises:
        MachineError: the object is invalid. The message names the place in it.
    """
    with errors_as(MachineError, "throughput"):
        return read_function(data)


def read_function(data: Any) -> ThroughputFunction:
    """`from_json` for documents with functions inside.

    Raises:
        MismatchError: the object is invalid.
    """
    if isinstance(data, Mapping) and "type" not in data:
        raise MismatchError("", f"the key 'type' is missing; expected one of {', '.join(_TYPES)}")
    chosen = _TYPES[tag(data, "type", _TYPES)]
    function: ThroughputFunction = read({key: value for key, value in data.items() if key != "type"}, chosen, BY_NAME)
    return function


_OWNER = "throughput function"


def _error(place: str, problem: str) -> MachineError:
    return checks.FieldError(_OWNER, place, problem)


def _listed(value: object, name: str, words: str) -> tuple[Any, ...]:
    """The parts of a collection."""
    try:
        return checks.items(_OWNER, value, words)
    except InputError:
        raise _error(name, f"expected {words}, got {checks.show(value)}") from None


def _checked_pairs(samples: Any, name: str) -> Samples:
    result: list[tuple[float, float]] = []
    for k, pair in enumerate(_listed(samples, name, "pairs (run bytes, bytes per second)")):
        place = f"{name}[{k}]"
        values = _listed(pair, place, "a pair (run bytes, bytes per second)")
        if len(values) != 2:
            raise _error(place, f"expected a pair (run bytes, bytes per second), got {len(values)} values")
        run = checks.number(_OWNER, f"{place}[0]", values[0], low=1.0, high=float(2**63))
        rate = checks.number(_OWNER, f"{place}[1]", values[1], low=RATE_FLOOR, high=RATE_LIMIT)
        if result and run <= result[-1][0]:
            raise _error(place, f"runs must grow, got {run:g} bytes after {result[-1][0]:g}")
        result.append((run, rate))
    if not result:
        raise _error(name, "expected at least one pair (run bytes, bytes per second), got none")
    return tuple(result)


def _checked_ranges(ranges: Any, count: int) -> Samples:
    """Pairs (lowest rate, highest rate), one per sample."""
    result = []
    for k, pair in enumerate(_listed(ranges, "ranges", "pairs (lowest, highest rate)")):
        if not isinstance(pair, list | tuple) or len(pair) != 2:
            raise _error(f"ranges[{k}]", f"expected a pair (lowest, highest rate), got {checks.show(pair)}")
        low, high = (checks.number(_OWNER, f"ranges[{k}]", rate, low=RATE_FLOOR, high=RATE_LIMIT) for rate in pair)
        if high < low:
            raise _error(f"ranges[{k}]", f"expected the lower rate first, got {low:g} and {high:g}")
        result.append((low, high))
    if len(result) != count:
        raise _error("ranges", f"expected one pair per sample ({count}), got {len(result)}")
    return tuple(result)


def _plain(value: object) -> float:
    """A length or a rate as a float, also an infinite one."""
    if not isinstance(value, bool) and isinstance(value, numbers.Real):
        try:
            return float(value)
        except OverflowError:
            return math.inf
    raise MachineError(f"throughput: expected a number, got {checks.show(value)}")


def _below(run_bytes: float, first_run: float, first_rate: float) -> float:
    """The rate at or below the first sample, on the line of slope 1."""
    if run_bytes > 0:
        return first_rate * (run_bytes / first_run)
    if run_bytes == 0:
        return 0.0
    raise MachineError(f"throughput of runs of {run_bytes!r} bytes: expected a number ≥ 0")


def _below_inverse(rate: float, first_run: float, first_rate: float) -> float:
    if rate > 0:
        return first_run * (rate / first_rate)
    if rate <= 0:
        return 0.0
    raise MachineError(f"inverse of a throughput of {rate!r} bytes/s: expected a number")
