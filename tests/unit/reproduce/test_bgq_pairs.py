"""`isoviz reproduce bgq`: messages between two nodes, through proxies and over several paths."""

from __future__ import annotations

import itertools

import networkx
import pytest

from isoviz.machines import preset
from isoviz.reproduce.bgq import figure4, figure6, figure7, figure8, figure9
from isoviz.reproduce.bgq.assumptions import KIB, MIB, BgqAssumptions, machine, torus_of
from isoviz.reproduce.bgq.messages import (
    ORDERS,
    channels,
    crossing,
    link_graph,
    memory,
    one_path,
    paths_between,
    several_paths,
    throughput,
)

GIVEN = BgqAssumptions()
SINGLE = 1.7e9


def test_the_preset_is_used_as_it_is_until_an_assumption_changes() -> None:
    assert machine(32, GIVEN) == preset("bgq", nodes=32)
    changed = machine(32, BgqAssumptions(mpi_message=1e-3, reception=6e9))
    (mpi, pami) = changed.between(memory(0), memory(1))
    assert mpi.rate(1000) == pytest.approx(1000 / (1e-3 + 1000 / SINGLE))
    assert pami == preset("bgq", nodes=32).between(memory(0), memory(1))[1]
    (name, weight) = pami.resources[-1]
    assert changed.resource(name).capacity / weight == pytest.approx(6e9)


@pytest.mark.parametrize(("transport", "cost"), [("mpi", 20e-6), ("pami", 4.8e-6)])
@pytest.mark.parametrize("count", [1, 4])
def test_windows_through_a_proxy_overlap(transport: str, cost: float, count: int) -> None:
    partition = machine(32, GIVEN)
    window = 128 * KIB
    made = one_path(partition, (0, 1, 3), count * window, transport, window)
    each = cost + window / SINGLE
    assert throughput(made, partition) == pytest.approx(count * window / ((count + 1) * each))


def test_the_best_window() -> None:
    partition = machine(32, GIVEN)
    best = throughput(one_path(partition, (0, 1, 3), MIB, "pami"), partition)
    for window in (32 * KIB, 64 * KIB, 128 * KIB, 256 * KIB):
        assert throughput(one_path(partition, (0, 1, 3), MIB, "pami", window), partition) <= best * (1 + 1e-9)


@pytest.mark.parametrize("order", ORDERS)
def test_paths_are_disjoint_and_routed_by_the_hardware(order: str) -> None:
    partition = machine(512, GIVEN)
    torus = torus_of(partition)
    here, there = 5, torus.topology.router("3.1.2.0.1")
    (paths,) = paths_between(torus, [(here, there)], order)
    view: networkx.DiGraph[int] = networkx.DiGraph()
    view.add_edges_from((tail, head, {"capacity": 1}) for tail, links in link_graph(torus, order).items() for _, head in links)
    assert len(paths) == networkx.maximum_flow_value(view, here, there) == 9
    used = []
    for stops in paths:
        assert (stops[0], stops[-1]) == (here, there)
        for channel in channels(stops, "pami"):
            used += [name for name, _ in partition.channel(channel).resources if ">" not in name]
    assert len(used) == len(set(used))


def test_the_order_of_the_routing_finds_the_direct_path() -> None:
    torus = torus_of(machine(512, GIVEN))
    for there in (2, 69, 291, 434):
        (paths,) = paths_between(torus, [(0, there)])
        assert paths[0] == (0, there)
        (others,) = paths_between(torus, [(0, there)], "reverse")
        assert sum(map(len, paths)) <= sum(map(len, others))


def test_parts_are_equal_and_together_as_fast_as_their_paths() -> None:
    partition = machine(512, GIVEN)
    (paths,) = paths_between(torus_of(partition), [(0, 8)])
    made = several_paths(partition, paths[1:4], 3 * MIB)
    assert [path.bytes for path in made.paths] == [MIB] * 3
    one = one_path(partition, paths[1], MIB, "pami")
    assert throughput(made, partition) == pytest.approx(3 * throughput(one, partition), rel=1e-6)


def test_a_crossing() -> None:
    assert crossing(lambda size: size - 300, [1, 10, 100, 1000]) == pytest.approx(300, rel=0.02)
    assert crossing(lambda size: 300 - size, [1, 10, 100, 1000]) == pytest.approx(300, rel=0.02)
    assert crossing(lambda _: 1, [1, 10]) == 10


def test_one_proxy_as_the_paper_has_it() -> None:
    found = figure4.figure4(GIVEN, (KIB, 16 * KIB, 64 * KIB, MIB, 2 * MIB, 4 * MIB, 32 * MIB))
    both = (figure4.figure4, figure4.figure5)
    verdicts = {each.what: each.verdict for figure in both for each in figure.statements(found, quick=False)}
    assert list(verdicts.values()).count("agrees") == 6, verdicts
    half = 0.5 * found["direct"][32 * MIB]
    assert found["stored"][32 * MIB] == pytest.approx(half, rel=1e-3)
    assert figure4.figure4(BgqAssumptions(mpi_message=4.8e-6), (KIB, 4 * KIB))["crossing"] == 0


def test_nine_paths_are_worth_it_for_long_messages_only() -> None:
    found = figure6.figure6(GIVEN, (4 * KIB, 32 * MIB), planned=())
    assert figure6.best(found, 4 * KIB) == 1 and figure6.best(found, 32 * MIB) == 9
    for fewer, more in itertools.pairwise(found["paths"]):
        assert found["paths"][more][32 * MIB] > found["paths"][fewer][32 * MIB]
    assert figure6.most(found) <= 12e9 < found["unbounded"]


def test_the_policy_saves_proxies() -> None:
    found = figure7.figure7(GIVEN, (MIB,))
    assert max(found["proxies"]["any"]) == 4 and max(found["proxies"]["routing"]) == 3
    assert figure7.gains(found)[MIB] > 0


def test_the_size_of_windows_counts() -> None:
    found = figure8.figure8(GIVEN, (2 * MIB,))
    assert figure8.best(found) == 128 * KIB
    assert found["crossing"] == pytest.approx(4.8e-6 * 2 * SINGLE, rel=0.02)  # where the second message costs what it saves


def test_groups_share_no_link() -> None:
    found = figure9.figure9(GIVEN, (4 * MIB,))
    assert set(found["paths"]) == {3}
    alone = machine(512, GIVEN)
    (paths,) = paths_between(torus_of(alone), [(0, 448)])
    assert found["several"][4 * MIB] == pytest.approx(throughput(several_paths(alone, paths[:3], 4 * MIB), alone), rel=0.05)
