"""Paths by maximum flow, beside networkx: as much flow, no link beyond its capacity, every path a walk between its ends."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Hashable, Iterable

import networkx
import pytest

from isoviz.planner.multipath.disjoint_paths import FlowGraph, FlowPath, disjoint_paths

Edges = list[tuple[int, int]]


def random_graph(draw: random.Random) -> tuple[dict[int, list[tuple[int, int]]], dict[int, float], Edges]:
    """Up to a dozen nodes with links by number, some of them parallel, and capacities that are all 1 or any whole number."""
    nodes, unit = draw.randrange(2, 12), draw.random() < 0.5
    edges = [tuple(draw.sample(range(nodes), 2)) for _ in range(draw.randrange(1, 4 * nodes))]
    graph: dict[int, list[tuple[int, int]]] = {node: [] for node in range(nodes)}
    for link, (tail, head) in enumerate(edges):
        graph[tail].append((link, head))
    capacity = {link: 1.0 if unit else float(draw.randrange(1, 9)) for link in range(len(edges))}
    return graph, capacity, [(tail, head) for tail, head in edges]


def flow_of_networkx(edges: Edges, capacity: dict[int, float], sources: Iterable[int], destinations: Iterable[int]) -> float:
    graph: networkx.DiGraph[Hashable] = networkx.DiGraph()
    for link, (tail, head) in enumerate(edges):  # a node in the middle of a link keeps parallel links apart
        graph.add_edge(tail, ("link", link), capacity=capacity[link])
        graph.add_edge(("link", link), head)
    graph.add_nodes_from([*sources, *destinations])
    graph.add_edges_from([("source", node) for node in sources] + [(node, "sink") for node in destinations])
    return float(networkx.maximum_flow_value(graph, "source", "sink"))


def check_paths(paths: Iterable[FlowPath], edges: Edges, source: int, destinations: Iterable[int]) -> None:
    for path in paths:
        ends = [edges[link] for link in path.links]  # type: ignore[call-overload]  # links are numbers here
        assert ends[0][0] == source and ends[-1][1] in destinations
        assert all(one[1] == two[0] for one, two in itertools.pairwise(ends))
        assert len({tail for tail, _ in ends}) == len(ends), "a path comes to a node once"


def carried(paths: Iterable[FlowPath]) -> Counter[Hashable]:
    found: Counter[Hashable] = Counter()
    for path in paths:
        for link in path.links:
            found[link] += path.amount  # type: ignore[assignment]  # amounts need not be whole
    return found


def test_the_flow_is_that_of_networkx_on_random_graphs() -> None:
    """1,000 of them; with one source or several, and one destination or several."""
    several = 0
    for seed in range(1000):
        draw = random.Random(seed)
        graph, capacity, edges = random_graph(draw)
        names = draw.sample(range(len(graph)), len(graph))
        count = draw.randrange(1, len(names))
        sources = names[: draw.randrange(1, count + 1)]
        destinations = names[count:][: draw.randrange(1, 4)]
        found = disjoint_paths(FlowGraph(graph, capacity), [(source, destinations) for source in sources])
        every = [path for paths in found for path in paths]
        assert sum(path.amount for path in every) == flow_of_networkx(edges, capacity, sources, destinations), seed
        assert all(amount <= capacity[link] for link, amount in carried(every).items()), seed  # type: ignore[index]
        for source, paths in zip(sources, found, strict=True):
            check_paths(paths, edges, source, destinations)
        several += len(every) > 1
    assert several > 300


def test_sources_with_destinations_of_their_own_share_no_link() -> None:
    for seed in range(300):
        draw = random.Random(seed)
        graph, capacity, edges = random_graph(draw)
        demands = [tuple(draw.sample(range(len(graph)), 2)) for _ in range(3)]
        found = disjoint_paths(FlowGraph(graph, capacity), [(source, [destination]) for source, destination in demands])
        assert all(amount <= capacity[link] for link, amount in carried(itertools.chain(*found)).items())  # type: ignore[index]
        for (source, destination), paths in zip(demands, found, strict=True):
            check_paths(paths, edges, source, [destination])
            alone = flow_of_networkx(edges, capacity, [source], [destination])
            assert sum(path.amount for path in paths) <= alone
        left = {link: capacity[link] - amount for link, amount in carried(itertools.chain(*found)).items()}
        rest = {**capacity, **left}  # type: ignore[dict-item]
        assert all(not flow_of_networkx(edges, rest, [source], [destination]) for source, destination in demands), "all is used"


def test_paths_are_given_in_turn() -> None:
    """Two sources behind three links: none has two paths before the other has one, and the short ones come first."""
    graph = {"a": [(1, "m"), (2, "z")], "b": [(3, "m"), (4, "n")], "m": [(5, "z")], "n": [(6, "z")]}
    found = disjoint_paths(FlowGraph(graph, dict.fromkeys(range(1, 7), 1.0)), [("a", ["z"]), ("b", ["z"])])
    assert [[path.links for path in paths] for paths in found] == [[(2,)], [(3, 5), (4, 6)]] or [
        [path.links for path in paths] for paths in found
    ] == [[(2,), (1, 5)], [(4, 6)]]


def test_the_shortest_path_does_not_block_two() -> None:
    """The shortest path uses a link of each of two others: only a flow that takes it back finds both."""
    first = {"s": [(1, "a"), (2, "b")], "a": [(3, "e"), (4, "d")], "d": [(5, "g")], "g": [(6, "t")]}
    graph = first | {"b": [(7, "f")], "f": [(8, "e")], "e": [(9, "t")]}
    found = disjoint_paths(FlowGraph(graph, dict.fromkeys(range(1, 10), 1.0)), [("s", ["t"])])[0]
    assert sorted(path.links for path in found) == [(1, 4, 5, 6), (2, 7, 8, 9)]


def test_a_source_is_not_its_own_destination() -> None:
    with pytest.raises(ValueError, match="'a' is a source and its own destination"):
        disjoint_paths(FlowGraph({"a": []}, {}), [("a", ["a"])])
