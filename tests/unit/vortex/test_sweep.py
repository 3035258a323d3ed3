"""Sweeps of neutron transport on the nodes of a Data Vortex: the flux, and what each way of sending faces saves."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from isoviz.errors import InputError, VerificationError
from isoviz.vortex import messages, simulated
from isoviz.vortex.workloads import sweep, transport_sweep
from isoviz.vortex.workloads.transport_sweep import Problem, SweepBlock

WAYS = [(False, False), (True, False), (False, True), (True, True)]


@pytest.mark.parametrize(("nodes", "order"), [(3, "random"), (8, "switch")])
@pytest.mark.parametrize(("aggregated", "restructured"), WAYS)
def test_the_flux_on_nodes_is_that_of_numpy(aggregated: bool, restructured: bool, nodes: int, order: str) -> None:
    with simulated(nodes, seed=nodes, order=order) as system:
        found = sweep(system, (3, 5, 4), 1, 3, sweeps=2, seed=1, aggregated=aggregated, restructured=restructured)
    assert system.races == [] and found.updates == 2 * 8 * 3 * 60
    assert found.rate == found.updates / found.seconds


def test_the_flux_with_messages_is_that_of_numpy() -> None:
    for nodes in (1, 6):
        with messages(nodes, seed=nodes) as system:
            assert sweep(system, (3, 5, 4), 1, 3, sweeps=2, seed=1).seconds > 0


def naive(problem: Problem) -> np.ndarray[Any, Any]:
    """Cell by cell and direction by direction, with diamond differences."""
    slopes = SweepBlock(problem, 1, 0).slopes
    sources, before = problem.sources, np.zeros_like(problem.sources)
    for _ in range(problem.sweeps):
        flux = np.zeros_like(sources)
        for group, signs, angle in product(range(len(sources)), product((1, -1), repeat=3), range(problem.angles)):
            faces: dict[tuple[int, ...], float] = {}
            for place in product(*[range(size)[::sign] for size, sign in zip(sources.shape[1:], signs, strict=True)]):
                came = [faces.get((axis, *place), 0.0) for axis in range(3)]
                source = sources[(group, *place)] + transport_sweep.SCATTERED * before[(group, *place)]
                there = (source + slopes[:, angle] @ came) / (1 + slopes[:, angle].sum())
                for axis in range(3):
                    beyond = [*place]
                    beyond[axis] += signs[axis]
                    faces[(axis, *beyond)] = 2 * there - came[axis]
                flux[(group, *place)] += there / problem.angles / 8
        before = flux
    return flux


def test_the_reference_is_the_formula_cell_by_cell() -> None:
    problem = Problem(np.random.default_rng(2).random((2, 3, 4, 2)), 2, 2, 2)
    assert np.allclose(transport_sweep.reference(problem), naive(problem), rtol=1e-12)
    lengths = (SweepBlock(problem, 1, 0).slopes / 2) ** 2
    assert np.allclose(lengths.sum(axis=0), 1)  # directions have length 1


def test_aggregation_saves_most_and_restructuring_the_rest() -> None:
    seconds = {}
    for way in WAYS:
        with simulated(4, seed=1) as system:
            seconds[way] = sweep(system, (6, 4, 4), 1, 4, aggregated=way[0], restructured=way[1]).seconds
    assert seconds[True, True] < seconds[True, False] < seconds[False, False]
    assert seconds[True, True] < seconds[False, True] < seconds[False, False]


def test_a_flux_that_is_wrong_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport_sweep.Faces, "take", lambda self, number: self._part.nothing(self._part.stages[number]))
    monkeypatch.setattr(transport_sweep.Faces, "send", lambda *_: None)
    with simulated(2) as system, pytest.raises(VerificationError, match="sweep: the flux"):
        sweep(system, (2, 2, 2), 1, 1)


def test_sweeps_that_cannot_be() -> None:
    with simulated(4) as system:
        with pytest.raises(InputError, match="2 × 2 nodes for 4 × 1 points"):
            sweep(system, (4, 4, 1))
        with pytest.raises(InputError, match="angles"):
            sweep(system, angles=0)
        with pytest.raises(InputError, match="do not fit"):
            sweep(system, (4, 4, 4000), angles=1000, groups=1)
