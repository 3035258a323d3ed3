"""Plans over networks beside an independent router: random pairs and groups on five shapes of Blue Gene/Q, in four zones."""

from __future__ import annotations

import itertools
import os
import random
from collections import Counter
from collections.abc import Callable
from functools import lru_cache

import numpy as np
import pytest

from isoviz import FieldSpace, IndexSpace, plan, preset
from isoviz.layouts import Box
from isoviz.machines import Machine
from isoviz.machines.presets.blue_gene import SHAPES, USABLE, bridge_nodes
from isoviz.planner import Plan, Transfer, plan_together
from isoviz.planner.multipath.tuning import MOST_PROXIES

FULL = os.environ.get("ISOVIZ_FULL", "") not in ("", "0")
CASES = 1000 if FULL else 5
BATCH = 100 if FULL else 5
PARTITIONS = (32, 64, 128, 256, 512)
Report = Callable[[str, int], None]


@lru_cache
def machine_of(nodes: int, zone: int) -> Machine:
    return preset("bgq", nodes=nodes, zone=str(zone))


def moved(nbytes: int, source: int, destination: int) -> Transfer:
    ends = f"node{source}.sys", "<F, x>", f"node{destination}.sys", "<F, x>"
    return Transfer.whole(IndexSpace(x=nbytes), FieldSpace(v="u1"), *ends)


def routed(nodes: int, zone: int, order: str, source: int, destination: int) -> list[str]:
    """The names of the links of a message, from the rules of the machine alone: all of a dimension, then the next one."""
    sizes = dict(zip("ABCDE", SHAPES[nodes], strict=True))
    lengths = [sizes[letter] for letter in order]
    if zone != 1:
        assert lengths == sorted(lengths, reverse=True), "the longest dimension first"
    if zone in (2, 3):
        ties = [list(group) for _, group in itertools.groupby(order, key=lambda letter: sizes[letter])]
        assert all(group == sorted(group, reverse=zone == 3) for group in ties)
    place = dict(zip("ABCDE", np.unravel_index(source, SHAPES[nodes]), strict=True))
    goal = dict(zip("ABCDE", np.unravel_index(destination, SHAPES[nodes]), strict=True))
    links = []
    for letter in order:
        size = sizes[letter]
        wraps = letter == "E" or size > 2
        ahead = int(goal[letter] - place[letter])
        if wraps:
            ahead %= size
            half = 2 * ahead == size
            if 2 * ahead > size or (half and place[letter] % 2):
                ahead -= size
        for _ in range(abs(ahead)):
            step = 1 if ahead > 0 else -1
            links.append(".".join(str(int(place[each])) for each in "ABCDE") + ("+" if step > 0 else "-") + letter)
            place[letter] = (place[letter] + step) % size
    assert place == goal
    return links


def check_paths(plans: list[Plan] | tuple[Plan, ...], nodes: int, zone: int) -> tuple[Counter[str], Counter[str]]:
    """Every leg goes as the hardware routes it; the users and the bytes of every link."""
    network = machine_of(nodes, zone).networks[0]
    bridges = dict(enumerate(bridge_nodes(nodes), nodes))
    users, loads = Counter[str](), Counter[str]()
    for each in plans:
        for path in each.paths:
            assert len(path.memories) - 2 <= MOST_PROXIES
            assert all(name.endswith(".sys") for name in path.memories)
            for here, there in itertools.pairwise(path.memories):
                numbers = [int(name[4:-4]) for name in (here, there)]
                routers = [bridges.get(number, number) for number in numbers]
                links = routed(nodes, zone, network.dimension_order(here, there), *routers)
                channel = machine_of(nodes, zone).channel(f"{here}->{there} torus/pami")
                assert [name for name, _ in channel.resources if ">" not in name] == [f"torus:{link}" for link in links]
                users.update(links)
                for link in links:
                    loads[link] += path.bytes
    return users, loads


def check_bytes(plans: list[Plan] | tuple[Plan, ...], transfer: Transfer) -> None:
    """Every byte of a transfer is on one path."""
    times = np.zeros(transfer.nbytes, np.uint8)
    for each in plans:
        begin = each.transfer.source_origin[0]
        for number in range(len(each.paths)):
            share = each.share(number)
            assert isinstance(share, Box)
            times[begin + share.lo[0] : begin + share.hi[0]] += 1
    assert (times == 1).all()


@pytest.mark.parametrize("first", range(0, CASES, BATCH))
def test_paths_are_disjoint_and_go_as_the_hardware_routes(report: Report, first: int) -> None:
    several = 0
    for seed in range(first, first + BATCH):
        draw = random.Random(seed)
        nodes, zone = PARTITIONS[seed % 5], seed // 5 % 4
        machine = machine_of(nodes, zone)
        nbytes = draw.choice((1 << 10, 40_000, 1 << 20, 3 << 20))
        count = 1 if seed % 2 else draw.randrange(2, 7)
        names = draw.sample(range(nodes), 2 * count)
        transfers = [moved(nbytes, *ends) for ends in zip(names[:count], names[count:], strict=True)]
        plans = [plan(transfers[0], machine, "multipath")] if count == 1 else plan_together(transfers, machine)
        users, _ = check_paths(plans, nodes, zone)
        if any(len(each.paths) > 1 for each in plans) and not any(each.notes[-1].startswith("one path") for each in plans):
            assert max(users.values()) == 1, seed
            several += 1
        for each, transfer in zip(plans, transfers, strict=True):
            assert each.transfer == transfer
            check_bytes([each], transfer)
    report("plans over networks beside an independent router", BATCH)
    assert several > BATCH // 5


@pytest.mark.parametrize("seed", range(20 if FULL else 2))
def test_data_for_any_io_node_fill_no_link_and_are_in_balance(seed: int) -> None:
    draw = random.Random(seed)
    nodes, zone = draw.choice((256, 512)), draw.randrange(4)
    machine = machine_of(nodes, zone)
    sources = draw.sample(range(nodes), nodes // 10)
    inputs = [moved(draw.randrange(1, 8 << 20), source, nodes) for source in sources]
    ends = [f"node{nodes + k}.sys" for k in range(len(bridge_nodes(nodes)))]
    plans = plan_together(inputs, machine, destinations=ends)
    for transfer in inputs:
        check_bytes([each for each in plans if each.transfer.source == transfer.source], transfer)
    arrived = Counter[str]()
    for each in plans:
        arrived[each.transfer.destination.memory] += each.bytes
    assert set(arrived) == set(ends)
    total = sum(transfer.nbytes for transfer in inputs)
    assert max(arrived.values()) < 1.15 * total / len(ends), "all I/O nodes get about as much"
    _, loads = check_paths(plans, nodes, zone)
    seconds = max(arrived.values()) / (2e9 * USABLE.value)
    assert max(loads.values()) / (2e9 * USABLE.value) < 1.1 * seconds, "no link is slower than the I/O nodes"
