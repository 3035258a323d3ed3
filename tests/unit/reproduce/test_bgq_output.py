"""`isoviz reproduce bgq`: sparse output of whole partitions, as streams over several paths and as collective I/O."""

from __future__ import annotations

import math
import random
from collections import defaultdict
from dataclasses import replace

import numpy as np
import pytest

from isoviz.machines import preset
from isoviz.reproduce.bgq import figure10, figure12
from isoviz.reproduce.bgq.assumptions import MIB, BgqAssumptions
from isoviz.reproduce.bgq.figure12 import planned, several_paths
from isoviz.reproduce.bgq.flows import Partition, aggregators_of, collective, ends, fair_rates, independent, uses
from isoviz.reproduce.bgq.messages import one_path
from isoviz.reproduce.bgq.workloads import MOST, RANKS, Hacc, Pareto, Uniform, node_bytes
from isoviz.runtime import simulate
from isoviz.scheduling.fair_sharing import fair_rates as slow_fair_rates

GIVEN = BgqAssumptions()
LINK = 1.8e9


@pytest.fixture(scope="module")
def partition() -> Partition:
    return Partition(128, GIVEN)


# ---- workloads


def test_pattern_1_is_uniform_on_a_tenth_of_the_nodes() -> None:
    sizes = Uniform(512).rank_bytes().reshape(512, RANKS)
    writing = sizes[sizes.any(axis=1)]
    assert len(writing) == 51
    assert sizes.max() <= MOST
    assert writing.mean() == pytest.approx(MOST / 2, rel=0.05)
    assert np.percentile(writing, 25) == pytest.approx(MOST / 4, rel=0.15)
    assert (Uniform(512).rank_bytes() == sizes.ravel()).all(), "the seed decides"
    assert (Uniform(512, seed=1).rank_bytes() != sizes.ravel()).any()


@pytest.mark.parametrize("exponent", [0.5, 1.0, 2.0])
def test_pattern_2_has_the_mean_and_the_tail_asked_for(exponent: float) -> None:
    sizes = Pareto(2048, exponent).rank_bytes() / MOST
    assert sizes.mean() == pytest.approx(0.2, rel=0.05)
    assert sizes.max() == 1 and 0.01 < (sizes == 1).mean() < 0.2
    assert np.median(sizes) < 0.12
    # A Pareto distribution from 0 on: the chance to be above s is (1 + s / scale) to the power of -exponent.
    scale = 0.5 / ((sizes > 0.5).mean() ** (-1 / exponent) - 1)
    assert (sizes > 0.1).mean() == pytest.approx((1 + 0.1 / scale) ** -exponent, rel=0.1)


def test_hacc_writes_a_tenth_from_neighbouring_ranks() -> None:
    sizes = Hacc(128).rank_bytes()
    (writing,) = np.nonzero(sizes)
    assert (writing[0], writing[-1]) == (819, 1023)
    assert sizes.sum() == pytest.approx(0.1 * 38 * 768**3, rel=0.01)


# ---- streams


def test_rates_are_those_of_the_simulator() -> None:
    rng = random.Random(0)
    for _ in range(60):
        links = [rng.sample(range(8), rng.randint(1, 4)) for _ in range(rng.randint(1, 12))]
        most = [rng.choice([0.3, 1.0, 5.0]) for _ in links]
        capacity = [rng.choice([1.0, 2.0, 3.5]) for _ in range(8)]
        expected = slow_fair_rates(
            most, [tuple((str(link), 1.0) for link in each) for each in links], {str(k): each for k, each in enumerate(capacity)}
        )
        assert fair_rates(np.array(most), *uses(links), np.array(capacity)) == pytest.approx(expected)


def test_streams_end_when_their_bytes_have_moved() -> None:
    # The first two share a link until the short one ends at 2; the long one then has it alone.
    found = ends(np.array([1.0, 3.0, 2.0, 0.0]), np.array([9.0, 9.0, 0.5, 1.0]), [[0], [0], [1], [1]], np.array([1.0, 4.0]))
    assert found == pytest.approx([2.0, 4.0, 4.0, 0.0], rel=0.02)


def test_streams_take_as_long_as_messages_of_the_simulator(partition: Partition) -> None:
    pairs = [(1, 0), (2, 0), (3, 0), (33, 0)]
    machine = preset("bgq", nodes=128)
    plans = [one_path(machine, pair, 64 * MIB, "pami", MIB) for pair in pairs]
    ways = [partition.way(*pair) for pair in pairs]
    found = ends(np.full(4, 64.0 * MIB), np.full(4, MIB / (4.8e-6 + MIB / 1.7e9)), ways, partition.capacity)
    assert found.max() == pytest.approx(simulate(plans, machine).seconds, rel=0.02)


# ---- default I/O


def test_aggregators_are_sixteen_of_each_bridge(partition: Partition) -> None:
    found = aggregators_of(partition)
    assert len(found) == len(set(found)) == 32
    assert not set(found) & set(partition.bridges)
    assert [partition.own_io_node(node) for node in found] == [128] * 16 + [129] * 16


def test_rounds_move_every_byte_and_tell_every_rank(partition: Partition) -> None:
    workload = Pareto(128)
    stages = collective(partition, workload)
    total = int(node_bytes(workload).sum())
    assert sum(stage.nbytes for stage in stages) == total
    assert len(stages) == math.ceil(math.ceil(total / (8 * MIB) / 32) * 8 / 16)
    for stage in stages:
        assert stage.before >= 128 * RANKS * 1.2e-6
        assert stage.network >= stage.nbytes / (2 * LINK)
    longer = collective(Partition(128, replace(GIVEN, buffer=8 * MIB)), workload)
    assert len(longer) > len(stages)
    assert sum(stage.before for stage in longer) > sum(stage.before for stage in stages)


def test_gaps_in_the_file_leave_aggregators_idle(partition: Partition) -> None:
    workload = Uniform(128)
    gaps = collective(Partition(128, replace(GIVEN, places="apart")), workload)
    plain = collective(partition, workload)
    assert sum(stage.nbytes for stage in gaps) == sum(stage.nbytes for stage in plain) == node_bytes(workload).sum()
    assert len(gaps) > len(plain)
    assert sum(stage.network for stage in gaps) > 1.2 * sum(stage.network for stage in plain)


def test_nodes_that_write_by_themselves_crowd_their_own_io_node(partition: Partition) -> None:
    (stage,) = independent(partition, Hacc(128))
    assert stage.network == pytest.approx(stage.nbytes / LINK, rel=0.05), "neighbours share one I/O node"


# ---- several paths


@pytest.mark.parametrize("workload", [Uniform(128), Pareto(128), Hacc(128)], ids=["uniform", "pareto", "hacc"])
def test_paths_move_every_byte_over_even_io_nodes(partition: Partition, workload: Uniform | Pareto | Hacc) -> None:
    sizes = node_bytes(workload)
    moved: dict[int, float] = defaultdict(float)
    arrived: dict[int, float] = defaultdict(float)
    links: dict[int, float] = defaultdict(float)
    for path in planned(partition, sizes.tolist()):
        moved[path.stops[0]] += path.nbytes
        arrived[path.stops[-1]] += path.nbytes
        for link in partition.ways(path.stops):
            links[link] += path.nbytes
    assert moved == pytest.approx({node: float(size) for node, size in enumerate(sizes) if size})
    even = float(sizes.sum()) / 2
    assert sorted(arrived) == [128, 129]
    assert max(arrived.values()) <= 1.11 * even
    seconds = max(nbytes / partition.capacity[link] for link, nbytes in links.items())
    assert seconds <= several_paths(partition, workload).network <= 1.1 * seconds


def test_neighbours_that_write_reach_all_io_nodes() -> None:
    row = figure12.output("HACC I/O", 128, replace(GIVEN, default="independent"))
    assert figure12.speedup(row, files=False) > 1.8, "two I/O nodes in place of one"


def test_the_file_system_bounds_both_ways() -> None:
    plain = figure12.output("pattern 1", 128, GIVEN)
    slow = figure12.output("pattern 1", 128, replace(GIVEN, servers="share", lock_seconds=0.1))
    assert plain["default_files"] == plain["default"] and plain["several_files"] == plain["several"]
    assert slow["default"] == plain["default"]
    assert slow["several_files"] == pytest.approx(0.1 * 2 * 14) and slow["default_files"] > slow["default"]
    bound = figure12.output("pattern 1", 128, replace(GIVEN, servers="share", lock_seconds=0.0))
    assert bound["several_files"] >= bound["nbytes"] / 2.5e9


def test_workloads_have_the_bytes_of_the_paper_where_it_is_consistent() -> None:
    verdicts = {each.what: each.verdict for each in figure10.figure11.statements(figure10.figure10(GIVEN), quick=False)}
    assert verdicts["HACC I/O: bytes on 2,048 cores"] == verdicts["HACC I/O: bytes on 131,072 cores"] == "agrees"
    assert verdicts["pattern 2: bytes on 2,048 cores"] == "agrees"
