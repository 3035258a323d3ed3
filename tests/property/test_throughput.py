"""Throughput functions: monotone, invertible, exact at their samples, and the same after JSON."""

from __future__ import annotations

import json
import math
from itertools import pairwise

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from isoviz.machines import Constant, LatencyBandwidth, Sampled, ThroughputFunction, monotone, throughput_from_json

runs = st.floats(1, 2.0**40)
rates = st.floats(1e3, 1e13)


@st.composite
def raw_samples(draw: st.DrawFn) -> list[tuple[float, float]]:
    """Runs at least 0.1 % apart, rates in any order."""
    chosen = sorted(draw(st.lists(runs, min_size=1, max_size=12, unique=True)))
    kept = [chosen[0]]
    kept += [b for a, b in pairwise(chosen) if b > a * 1.001]
    return [(run, draw(rates)) for run in kept]


sampled = raw_samples().map(lambda samples: Sampled(monotone(samples)))
latency_bandwidth = st.builds(LatencyBandwidth, st.floats(1e-12, 1.0), rates)
constant = st.builds(Constant, rates)
functions = st.one_of(sampled, latency_bandwidth, constant)
arguments = st.one_of(st.floats(1e-3, 2.0**50), runs)


def steepness(tp: ThroughputFunction) -> float:
    """The largest slope in log-log: how much a rounding error of the run shows in the rate."""
    points = tp.samples
    slopes = [math.log(b[1] / a[1]) / math.log(b[0] / a[0]) for a, b in pairwise(points) if b[1] > a[1]]
    return max([1.0, *slopes])


@given(functions, arguments, arguments)
def test_monotone(tp: ThroughputFunction, a: float, b: float) -> None:
    low, high = sorted((a, b))
    assert 0 < tp(low) <= tp(high) <= tp.peak


@given(functions, st.floats(0, 1))
def test_inverse_reaches_the_rate(tp: ThroughputFunction, share: float) -> None:
    rate = tp.peak * share
    assume(rate > 1e-3)
    run = tp.inverse(rate)
    if math.isinf(run):
        assert isinstance(tp, LatencyBandwidth), "only an approached peak is never reached"
        assert share == 1
        return
    assert tp(run) == pytest.approx(rate, rel=1e-12 * steepness(tp))


@given(functions, st.floats(0.001, 0.999), st.floats(1e-6, 0.5))
def test_inverse_is_the_smallest_run(tp: ThroughputFunction, share: float, less: float) -> None:
    rate = tp.peak * share
    assert tp(tp.inverse(rate) * (1 - less)) <= rate * (1 + 1e-12 * steepness(tp))


@given(sampled)
def test_inverse_of_a_plateau_is_where_it_begins(tp: Sampled) -> None:
    for run, rate in tp.samples:
        assert tp.inverse(rate) == min(r for r, t in tp.samples if t == rate) <= run


@given(functions)
def test_inverse_outside(tp: ThroughputFunction) -> None:
    assert tp.inverse(tp.peak * 1.0001) == math.inf
    assert tp.inverse(0.0) == tp.inverse(-1.0) == 0.0
    assert tp(0) == 0.0
    assert tp(math.inf) == tp.peak


@given(sampled, st.floats(1e-3, 1), st.floats(1, 1e6))
def test_slope_one_below_and_flat_above(tp: Sampled, below: float, above: float) -> None:
    (first_run, first_rate), (last_run, last_rate) = tp.samples[0], tp.samples[-1]
    assert tp(first_run * below) == pytest.approx(first_rate * below, rel=1e-12)
    assert tp(last_run * above) == last_rate


@given(sampled, st.floats(0, 1))
def test_straight_in_log_log_between_samples(tp: Sampled, share: float) -> None:
    for (a, fa), (b, fb) in pairwise(tp.samples):
        assert tp(a) == fa
        assert tp(b) == fb
        run = a * (b / a) ** share
        assert math.log(tp(run)) == pytest.approx(math.log(fa) + share * math.log(fb / fa), abs=1e-9)


@given(raw_samples())
def test_monotone_is_the_least_function_above_the_samples(samples: list[tuple[float, float]]) -> None:
    hull = monotone(samples)
    assert [run for run, _ in hull] == [run for run, _ in samples]
    for k, (_, rate) in enumerate(hull):
        assert rate == max(rate for _, rate in samples[: k + 1])
    assert monotone(hull) == hull


@given(functions)
def test_json_round_trip(tp: ThroughputFunction) -> None:
    again = throughput_from_json(json.loads(json.dumps(tp.to_json())))
    assert again == tp
    assert hash(again) == hash(tp)
    assert isinstance(again, ThroughputFunction)


@given(raw_samples(), st.booleans())
def test_measurement_round_trip(samples: list[tuple[float, float]], dated: bool) -> None:
    date = "2026-11-20T10:00:00+00:00" if dated else None
    tp = Sampled.from_measurement(samples, [0.1] * len(samples), date)
    assert throughput_from_json(json.loads(json.dumps(tp.to_json()))) == tp
    assert tp.samples == monotone(samples)
    assert (tp.measured or tp.samples) == tuple(samples), "what was measured is kept"


@given(functions)
def test_concave_means_every_chord_lies_below(tp: ThroughputFunction) -> None:
    if not tp.is_concave:
        return
    for k in range(0, 40, 4):
        a, b = 2.0**k, 2.0 ** (k + 4)
        middle = math.sqrt(a * b)
        assert math.log(tp(middle)) >= (math.log(tp(a)) + math.log(tp(b))) / 2 - 1e-9
