"""Breadth-first search by the rules of Graph500: the graph, the searches, and what the rules refuse."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import networkx
import numpy as np
import pytest

from isoviz.errors import InputError, VerificationError
from isoviz.vortex import System, messages, simulated
from isoviz.vortex.workloads import bfs, kronecker, search_keys, validate
from isoviz.vortex.workloads.breadth_first import modelled_bfs, modelled_on_messages, modelled_on_vics

SYSTEMS: list[tuple[Callable[[], System], bool]] = [
    (partial(simulated, 1), False),
    (partial(simulated, 4, seed=4), False),
    (partial(simulated, 5, seed=5, fifo=8), False),  # 8 places: words come back, and go again
    (partial(messages, 1), False),
    (partial(messages, 5), False),
    (partial(messages, 4), True),
]


@pytest.mark.parametrize(("make", "gathered"), SYSTEMS)
def test_levels_are_those_of_networkx_and_parents_are_one_level_above(make: Callable[[], System], gathered: bool) -> None:
    with make() as system:
        found = bfs(system, scale=7, keys=3, seed=2, gathered=gathered)
    edges = kronecker(7, seed=2)
    graph = networkx.Graph(edges.T.tolist())
    for key, parents, levels, traversed in zip(found.keys.tolist(), found.parents, found.levels, found.traversed, strict=True):
        right = networkx.single_source_shortest_path_length(graph, key)
        assert {vertex: int(level) for vertex, level in enumerate(levels) if level >= 0} == right
        for vertex, level in right.items():
            parent = int(parents[vertex])
            assert parent == key if vertex == key else (graph.has_edge(vertex, parent) and right[parent] == level - 1)
        assert traversed == np.isin(edges[0], list(right)).sum()
    assert found.edges == 16 << 7 and found.construction > 0
    assert found.rate == pytest.approx(3 / sum(found.seconds / found.traversed))


def test_the_graph_has_the_quarters_of_the_rules_and_many_edges_at_few_vertices() -> None:
    edges = kronecker(12, seed=3)
    degrees = np.sort(np.bincount(edges.reshape(-1), minlength=1 << 12))
    assert edges.shape == (2, 16 << 12) and np.array_equal(edges, kronecker(12, seed=3))
    assert (degrees == 0).sum() > 400 and degrees[-41:].sum() > 0.15 * degrees.sum()
    assert len(np.unique(kronecker(1, edge_factor=1024), axis=1).T) == 4
    quarters = np.sort(np.bincount(np.array([2, 1]) @ kronecker(1, edge_factor=1024, seed=1), minlength=4)) / 2048
    assert np.allclose(quarters, [0.05, 0.19, 0.19, 0.57], atol=0.03)
    keys = search_keys(edges, 64)
    assert len(set(keys.tolist())) == 64 and (np.bincount(edges[:, edges[0] != edges[1]].reshape(-1))[keys] > 0).all()


PATH = np.array([[0, 1, 2, 0, 5], [1, 2, 3, 2, 6]])  # 0–1–2–3, 0–2, 5–6, and 4 alone
RIGHT = [0, 0, 0, 2, -1, -1, -1], [0, 1, 1, 2, -1, -1, -1]


@pytest.mark.parametrize(
    ("rule", "parents", "levels", "what"),
    [
        (1, [0, 0, 3, 2, -1, -1, -1], RIGHT[1], "vertex 2 does not lead to the key"),
        (1, [2, 0, 0, 2, -1, -1, -1], RIGHT[1], "vertex 0 is the key"),
        (2, RIGHT[0], [0, 1, 1, 3, -1, -1, -1], "vertex 3 is not one level below"),
        (2, RIGHT[0], [0, 1, 1, 2, 0, -1, -1], "vertex 4 has a level"),
        (3, [0, 0, 1, 2, -1, -1, -1], [0, 1, 2, 3, -1, -1, -1], "the edge of vertices 0 and 2"),
        (4, [0, 0, 0, -1, -1, -1, -1], [0, 1, 1, -1, -1, -1, -1], "the edge of vertices 2 and 3"),
        (5, [0, 0, 0, 1, -1, -1, -1], RIGHT[1], "vertex 3 has no edge"),
    ],
)
def test_each_rule_of_graph500_is_checked(rule: int, parents: list[int], levels: list[int], what: str) -> None:
    validate(PATH, 0, np.array(RIGHT[0]), np.array(RIGHT[1]))
    with pytest.raises(VerificationError, match=f"rule {rule} of Graph500: {what}"):
        validate(PATH, 0, np.array(parents), np.array(levels))


def test_searches_that_cannot_be() -> None:
    with simulated(2) as system:
        with pytest.raises(InputError, match="scale"):
            bfs(system, scale=0)
        with pytest.raises(InputError, match="expected at most"):
            bfs(system, scale=3, keys=64)


@pytest.mark.parametrize("nodes", [2, 8])
def test_the_model_of_a_search_is_near_the_simulated_one(nodes: int) -> None:
    edges = kronecker(11, seed=1)
    different = np.unique(np.sort(edges[:, edges[0] != edges[1]], axis=0), axis=1)
    for make, model in ((simulated, modelled_on_vics), (messages, modelled_on_messages)):
        with make(nodes, seed=1) as system:
            found = bfs(system, scale=11, keys=1, seed=1)
        reached = different[:, found.levels[0][different[0]] >= 0]
        most = np.bincount(reached.reshape(-1) % nodes).max()
        assert model(nodes, most, found.levels[0].max() + 1) == pytest.approx(found.seconds[0], rel=0.25)


def test_large_graphs_gain_by_nodes_on_both_networks_and_more_on_the_data_vortex() -> None:
    rates = [modelled_bfs(nodes, 30) for nodes in (2, 4, 8, 16, 32)]
    gaps = [vortex / mpi for vortex, mpi in rates]
    assert gaps == sorted(gaps) and gaps[0] > 1 and gaps[-1] < 3
    assert rates == sorted(rates) and rates[-1][0] == pytest.approx(32 / (2 * 9.76e-9), rel=0.02)


def test_the_data_vortex_gains_on_the_reference_of_graph500_as_nodes_are_added() -> None:
    rates = {}
    for nodes in (2, 8):
        for make in (simulated, messages):
            with make(nodes, seed=1) as system:
                rates[make, nodes] = bfs(system, scale=9, keys=1).rate
    assert rates[simulated, 8] / rates[messages, 8] > 1.3 * rates[simulated, 2] / rates[messages, 2]
