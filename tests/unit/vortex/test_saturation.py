"""What a switch carries, and what takes it down: figures of the switch as a whole."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from isoviz.bench.vortex import LIMIT, ONE_OF_FOUR, carried, empty, independent, out_of_turn, to_others
from isoviz.vortex import Bursty, Recorded, Switch, Transposition, Uniform

CARRIED = {8: 0.366, 16: 0.306, 32: 0.267, 64: 0.243, 128: 0.222, 256: 0.208, 1024: 0.187, 4096: 0.174}
"""Heights → packets per port and cycle at one angle."""


@pytest.mark.parametrize("heights", [*[each for each in CARRIED if each < 4096], pytest.param(4096, marks=pytest.mark.full)])
def test_saturation_falls_with_the_size(heights: int) -> None:
    assert carried(Switch(heights), 20_000 if heights < 128 else 3000) == pytest.approx(CARRIED[heights], abs=0.004)


def test_independent_packets_have_another_limit() -> None:
    """They would carry more, and never less than 2/9; the switch itself falls below."""
    model = {heights: independent(heights) for heights in CARRIED}
    assert model[8] == pytest.approx(0.378, abs=0.001) and model[4096] == pytest.approx(0.242, abs=0.001)
    assert all(model[heights] > expected for heights, expected in CARRIED.items())
    assert sorted(model.values(), reverse=True) == list(model.values())
    assert LIMIT < independent(2**400) < LIMIT + 1e-4
    assert carried(Switch(256), 3000) < LIMIT < carried(Switch(64), 3000)


@pytest.mark.parametrize(("angles", "expected"), [(1, 0.243), (2, 0.223), (3, 0.199), (4, 0.175)])
def test_saturation_falls_with_the_angles(angles: int, expected: float) -> None:
    assert carried(Switch(64, angles), 6000) == pytest.approx(expected, abs=0.004)


@pytest.mark.parametrize("angles", range(4, 9))
def test_one_angle_of_several_carries_more(angles: int) -> None:
    assert 0.575 < carried(Switch(32, angles, [0]), 10_000) < 0.645


@pytest.mark.parametrize("switch", [Switch(16), Switch(64), Switch(8, 4), Switch(32, 4, [0]), Switch(32, 8, [0])], ids=str)
def test_nothing_collapses_beyond_saturation(switch: Switch) -> None:
    """What is offered below saturation is carried; beyond it, what was carried before."""
    most = switch.saturate(20_000, warm=2000, seed=1).throughput
    below = switch.run(Uniform(0.96 * most), 20_000, warm=2000, seed=2)
    assert below.throughput == pytest.approx(0.96 * most, rel=0.01)
    assert below.waiting < 20 * switch.inputs_count and below.refused == 0
    for load in (1.05 * most, 1.5 * most, 1):
        over = switch.run(Uniform(min(1, load)), 20_000, warm=2000, seed=3)
        assert over.throughput == pytest.approx(most, rel=0.01)
    assert over.refused > 0


def test_a_hot_spot_takes_from_the_others() -> None:
    """A tenth of the traffic to one port: the others get 0.22 instead of 0.40."""
    assert to_others(0, 20_000) == pytest.approx(0.4, abs=0.01)
    assert to_others(0.1, 20_000) == pytest.approx(0.22, abs=0.015)
    assert to_others(0.02, 20_000) == pytest.approx(0.4 * 0.98, abs=0.01), "modest unevenness does little"


def test_bursts_do_little_where_few_angles_take_input() -> None:
    smooth, bursty = (ONE_OF_FOUR.run(kind, 40_000, warm=2000, seed=5) for kind in (Uniform(0.4), Bursty(0.4, 8)))
    assert bursty.offered / bursty.cycles / 32 == pytest.approx(0.4, abs=0.01)
    assert bursty.throughput == pytest.approx(smooth.throughput, abs=0.01)
    assert bursty.latencies.mean < smooth.latencies.mean + 3 and bursty.waits.mean > smooth.waits.mean


@pytest.mark.parametrize(
    ("order", "expected"), [("word by word", 0.60), ("node by node", 0.32), ("from node 0", 0.17), ("random", 0.58)]
)
def test_the_order_of_delivery(order: str, expected: float) -> None:
    """A matrix transposed between 32 nodes."""
    run = ONE_OF_FOUR.run(Transposition(512, order, 32), seed=3)
    assert run.delivered == 32 * 32 * 512
    assert run.throughput == pytest.approx(expected, abs=0.012)


@pytest.mark.parametrize("heights", [2, 4, 8, 16, 32])
def test_twice_the_ports_are_one_cylinder_and_one_and_a_half_cycles(heights: int) -> None:
    """At zero load: the mean of all pairs, and so where one packet goes after the other."""

    def latency(switch: Switch) -> float:
        sources, destinations = np.divmod(np.arange(switch.outputs_count**2), switch.outputs_count)
        run = switch.run(Recorded(sources, destinations, 40 * np.arange(len(sources))))
        assert run.deflections == 0
        return run.latencies.mean

    small, large = Switch(heights), Switch(2 * heights)
    assert large.cylinders == small.cylinders + 1
    assert latency(large) - latency(small) == pytest.approx(1.5)
    assert latency(large) == pytest.approx(empty(large))


def test_twice_the_ports_carry_a_little_less_per_port() -> None:
    found = [carried(Switch(heights, 4, [0]), 200_000 // heights + 3000) for heights in (8, 16, 32, 64, 128, 256, 512)]
    losses = [1 - large / small for small, large in pairwise(found)]
    assert all(0.02 < loss < 0.075 for loss in losses), losses


def test_some_packets_of_a_pair_arrive_out_of_turn() -> None:
    """When saturated, one or two in a hundred; with little load none."""
    assert 0.005 < out_of_turn(1, 4000) < 0.03
    assert out_of_turn(0.01, 4000) == 0
