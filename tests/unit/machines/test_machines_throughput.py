"""Throughput functions at known points, and what they refuse."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from isoviz.errors import MachineError
from isoviz.machines import Constant, LatencyBandwidth, Sampled, monotone, throughput_from_json


def test_sampled_at_known_points() -> None:
    tp = Sampled(((4, 1e9), (64, 4e9), (256, 4e9), (1024, 8e9)))
    assert tp(1) == 0.25e9
    assert tp(4) == 1e9
    assert tp(16) == pytest.approx(2e9, rel=1e-15), "slope 1/2 between 4 and 64 bytes"
    assert tp(100) == tp(64) == 4e9
    assert tp(512) == pytest.approx(4e9 * math.sqrt(2), rel=1e-15)
    assert tp(1 << 40) == tp.peak == 8e9
    assert tp.inverse(2e9) == pytest.approx(16, rel=1e-14)
    assert tp.inverse(4e9) == 64
    assert tp.inverse(0.5e9) == 2
    assert not tp.is_concave, "the plateau is followed by a rise"


def test_latency_bandwidth_is_hockneys_model() -> None:
    tp = LatencyBandwidth(latency=1e-6, bandwidth=2e9)
    assert tp(2000) == pytest.approx(1e9)
    assert tp.inverse(1e9) == pytest.approx(2000)
    assert tp.inverse(2e9) == math.inf
    assert tp.samples[0] == (1.0, tp(1))
    assert tp.samples[-1][1] >= 0.99 * tp.peak


def test_constant_is_flat_from_one_byte_up() -> None:
    tp = Constant(7e9)
    assert tp(1) == tp(1 << 30) == tp.peak == 7e9
    assert tp.inverse(7e9) == 1
    assert tp.inverse(7.1e9) == math.inf


def test_with_gap_is_limited_by_starts_then_by_bandwidth() -> None:
    tp = Sampled.with_gap(1.5e-6, 3e9)
    assert tp(1500) == pytest.approx(1e9)
    assert tp(4500) == tp(1 << 25) == 3e9
    assert tp.is_concave


def test_numpy_numbers_are_numbers() -> None:
    assert Sampled(((np.int64(4), np.float32(2.0)),)) == Sampled(((4, 2.0),))


def test_monotone_is_the_running_maximum() -> None:
    assert monotone([(1, 5), (2, 3), (4, 7), (8, 6)]) == ((1, 5), (2, 5), (4, 7), (8, 7))


@pytest.mark.parametrize("value", [math.nan, -1.0])
def test_runs_and_rates_that_are_none(value: float) -> None:
    for tp in (Constant(1e9), LatencyBandwidth(1e-6, 1e9), Sampled(((4, 1e9), (8, 2e9)))):
        with pytest.raises(MachineError, match="expected a number"):
            tp(value)
        with pytest.raises(MachineError, match="expected a number"):
            tp.inverse(math.nan)


BAD_SAMPLES: list[tuple[Any, str]] = [
    ((), "at least one pair"),
    (None, "expected pairs"),
    ("4,1e9", "expected pairs"),
    ({4: 1e9}, "expected pairs"),
    (((4,),), r"samples\[0\]: expected a pair"),
    (((4, 1e9, 0.1),), r"samples\[0\]: expected a pair"),
    ((4, 1e9), r"samples\[0\]: expected a pair"),
    (((4, 1e9), (4, 2e9)), r"samples\[1\]: runs must grow"),
    (((8, 1e9), (4, 2e9)), r"samples\[1\]: runs must grow"),
    (((4, 2e9), (8, 1e9)), r"samples\[1\]: the rate falls"),
    (((4, 0),), r"samples\[0\]\[1\]: expected a finite number"),
    (((4, -1e9),), r"samples\[0\]\[1\]"),
    (((4, math.nan),), r"samples\[0\]\[1\].*nan"),
    (((4, math.inf),), r"samples\[0\]\[1\].*inf"),
    (((4, 10**400),), r"samples\[0\]\[1\].*hundreds of digits"),
    (((4, "1e9"),), r"samples\[0\]\[1\].*'1e9'"),
    (((4, True),), r"samples\[0\]\[1\].*True"),
    (((0, 1e9),), r"samples\[0\]\[0\]"),
    (((-4, 1e9),), r"samples\[0\]\[0\]"),
    (((math.nan, 1e9),), r"samples\[0\]\[0\]"),
]


@pytest.mark.parametrize(("samples", "message"), BAD_SAMPLES)
def test_bad_samples(samples: Any, message: str) -> None:
    with pytest.raises(MachineError, match=message) as caught:
        Sampled(samples)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("spread", [(0.1,), (0.1, -0.1), (0.1, math.nan), "ab", 3])
def test_bad_spread(spread: Any) -> None:
    with pytest.raises(MachineError, match="spread"):
        Sampled(((4, 1e9), (8, 1e9)), spread=spread)


@pytest.mark.parametrize("value", [0, -1, math.nan, math.inf, None, "3", True, 1e300, 10**400])
def test_bad_latency_and_bandwidth(value: Any) -> None:
    with pytest.raises(MachineError, match="latency"):
        LatencyBandwidth(value, 1e9)
    with pytest.raises(MachineError, match="bandwidth"):
        LatencyBandwidth(1e-6, value)
    with pytest.raises(MachineError, match="bandwidth"):
        Constant(value)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ([], "throughput: expected an object, got a list"),
        ({}, "throughput: the key 'type' is missing"),
        ({"type": "cubic"}, r"throughput.type: 'cubic' is not known; known are samples"),
        ({"type": ["samples"]}, "throughput.type"),
        ({"type": "constant"}, "throughput: the key 'bandwidth' is missing"),
        ({"type": "constant", "bandwidth": 1, "latency": 1}, "throughput: unknown key 'latency'"),
        ({"type": "samples", "samples": {"4": 1}}, "throughput.samples: expected a list, got an object"),
        ({"type": "samples", "samples": [[4, 1], [8, "x"]]}, r"throughput.samples\[1\]\[1\]: .*'x'"),
        ({"type": "samples", "samples": [[4, 1]], "spread": 1}, "throughput.spread: expected a list"),
    ],
)
def test_bad_json(data: Any, message: str) -> None:
    with pytest.raises(MachineError, match=message):
        throughput_from_json(data)
