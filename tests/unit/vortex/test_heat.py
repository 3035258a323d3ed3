"""The heat equation on the nodes of a Data Vortex: the same temperatures however faces travel, and what each way of it saves."""

from __future__ import annotations

import numpy as np
import pytest

from isoviz.errors import InputError, VerificationError
from isoviz.vortex import messages, simulated
from isoviz.vortex.workloads import heat, heat_equation
from isoviz.vortex.workloads.decomposition import block, grid

WAYS = [(False, False), (True, False), (False, True), (True, True)]


@pytest.mark.parametrize(
    ("nodes", "points", "order"), [(1, (3, 4, 5), "switch"), (3, (4, 3, 1), "random"), (12, (7, 6, 5), "switch")]
)
@pytest.mark.parametrize(("aggregated", "restructured"), WAYS)
def test_heat_on_nodes_is_that_of_numpy(
    aggregated: bool, restructured: bool, nodes: int, points: tuple[int, int, int], order: str
) -> None:
    with simulated(nodes, seed=nodes, order=order) as system:
        found = heat(system, points, 5, seed=1, aggregated=aggregated, restructured=restructured)
    assert system.races == [] and found.steps == 5
    assert found.rate == pytest.approx(5 * np.prod(points) / found.seconds)


def test_heat_with_messages_is_that_of_numpy_and_more_processes_on_a_node_make_it_slower() -> None:
    for nodes in (1, 3, 8):
        seconds = []
        for processes in (1, 8):
            with messages(nodes, seed=nodes) as system:
                seconds.append(heat(system, (7, 6, 5), 3, seed=1, processes=processes).seconds)
        assert seconds[0] < seconds[1] if nodes > 1 else seconds[0] == seconds[1]


def test_the_reference_is_the_seven_point_formula_with_cold_beyond_the_border() -> None:
    begin = np.random.default_rng(4).random((3, 4, 2))
    after = heat_equation.reference(begin, 1)
    for place in np.ndindex(begin.shape):
        total = 0.0
        for axis in range(3):
            for step in (-1, 1):
                there = [*place]
                there[axis] += step
                if 0 <= there[axis] < begin.shape[axis]:
                    total += begin[tuple(there)]
        assert after[place] == pytest.approx(begin[place] + heat_equation.DIFFUSION * (total - 6 * begin[place]))


def test_aggregation_and_restructuring_both_save_time_where_nodes_have_little_to_compute() -> None:
    seconds = {}
    for way in WAYS:
        with simulated(8, seed=1) as system:
            seconds[way] = heat(system, (16, 16, 16), 4, aggregated=way[0], restructured=way[1]).seconds
    assert seconds[True, True] < seconds[True, False] < seconds[False, False]
    assert seconds[True, True] < seconds[False, True] < seconds[False, False]


def test_temperatures_that_are_wrong_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heat_equation.HeatBlock, "unpack", lambda *_: None)
    for make in (simulated, messages):
        with make(2) as system, pytest.raises(VerificationError, match="heat: the temperatures"):
            heat(system, (4, 4, 4), 2)


def test_heat_that_cannot_be() -> None:
    with simulated(8) as system:
        with pytest.raises(InputError, match="2 × 2 × 2 nodes for 4 × 4 × 1 points"):
            heat(system, (4, 4, 1))
        with pytest.raises(InputError, match="expected three sizes, got 2"):
            heat(system, (4, 4))  # type: ignore[arg-type]
        with pytest.raises(InputError, match="steps"):
            heat(system, steps=0)
        with pytest.raises(InputError, match="two places for each of 6 faces do not fit"):
            heat(system, (2000, 2000, 2))


def test_a_grid_of_nodes_is_as_even_as_it_can_be_and_blocks_are_all_points_once() -> None:
    assert [grid(nodes, 3) for nodes in (1, 2, 8, 12, 32, 7)] == [
        (1, 1, 1),
        (2, 1, 1),
        (2, 2, 2),
        (3, 2, 2),
        (4, 4, 2),
        (7, 1, 1),
    ]
    assert [grid(nodes, 2) for nodes in (8, 16, 32)] == [(4, 2), (4, 4), (8, 4)]
    seen = np.zeros((7, 5), int)
    for rank in range(6):
        own = block("test", (7, 5), (3, 2), rank)
        seen[own.box] += 1
        for axis in (0, 1):
            above = own.above[axis]
            assert above is None or block("test", (7, 5), (3, 2), above).below[axis] == rank
    assert (seen == 1).all()
