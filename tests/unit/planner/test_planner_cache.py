"""Plans made before are found again, and nothing else is taken for them."""

from __future__ import annotations

import os
import pickle
import random
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from isoviz.layouts import FieldSpace, IndexSpace
from isoviz.machines import Machine, preset
from isoviz.planner import CACHE, CacheStatistics, Options, Plan, Transfer, cache, plan
from isoviz.planner.explanation.rivals import with_bandwidth

FIELDS = FieldSpace(re="f4", im="f8")


@pytest.fixture(autouse=True)
def empty_cache() -> Iterator[None]:
    CACHE.clear()
    yield
    CACHE.clear()


def line(size: int) -> Transfer:
    return Transfer.whole(IndexSpace(x=size), FIELDS, "node0.fbm0", "<F, x>", "node1.fbm0", "<x, F>")


MACHINE = preset("two-node")


def test_the_same_transfer_has_the_same_plan() -> None:
    transfer = line(1 << 20)
    found = plan(transfer, MACHINE, "full")
    assert plan(transfer, MACHINE, "full") is found
    assert plan(line(1 << 20), preset("two-node"), "full", Options()) is found, "equal, not identical"
    assert (CACHE.statistics.plans, CACHE.statistics.hits, CACHE.statistics.misses) == (1, 2, 1)


def test_what_differs_has_another_plan() -> None:
    transfer = line(1 << 20)
    found = plan(transfer, MACHINE, "full")
    others = [
        plan(transfer, with_bandwidth(MACHINE, "node0.reg->node1.zcm", 0.9), "full"),
        plan(transfer, replace(MACHINE, name="other"), "full"),
        plan(transfer, MACHINE, "simple"),
        plan(transfer, MACHINE, "spsl"),
        plan(transfer, MACHINE, "spdl"),
        plan(transfer, MACHINE, "full", Options(slot_limit=4096)),
        plan(replace(transfer, priority=1), MACHINE, "full"),
        plan(line((1 << 20) + 1), MACHINE, "full"),
        plan(replace(transfer, field_names=("im", "re")), MACHINE, "full"),
    ]
    assert all(other is not found for other in others)
    assert others[0].seconds > found.seconds
    assert len(set(map(id, others))) == len(others)
    assert [other.planner for other in others[2:5]] == ["simple", "spsl", "spdl"]
    assert others[5].buffers[0].nbytes <= 4096


def square(size: int) -> Transfer:
    space = IndexSpace(x=size, y=max(1, size // 3))
    return Transfer.whole(space, FIELDS, "node0.fbm0", "<F, x, y>", "node1.fbm0", "<F, y, x>")


def sizes_up_to(most: int) -> list[int]:
    """Tiny ones, and others of every magnitude, in no order."""
    chance = random.Random(most)
    sizes = [1, 2, 3, 7, *(int(most ** chance.random()) + 1 for _ in range(26))]
    chance.shuffle(sizes)
    return list(dict.fromkeys(sizes))


@pytest.mark.parametrize("name", ["auto", "full", "simple"])
@pytest.mark.parametrize(("make", "most"), [(line, 1 << 27), (square, 1 << 14)])
def test_known_paths_change_nothing(name: str, make: Callable[[int], Transfer], most: int) -> None:
    """With a path known from other sizes the plan is the one that planning afresh gives."""
    sizes = sizes_up_to(most)
    one_after_the_other = [plan(make(size), MACHINE, name) for size in sizes]
    for size, found in zip(sizes, one_after_the_other, strict=True):
        CACHE.clear()
        assert plan(make(size), MACHINE, name) == found, size


def test_statistics() -> None:
    sizes = [100, 4097, 1 << 20]
    for size in sizes:
        plan(line(size), MACHINE, "full")
    assert CACHE.statistics == CacheStatistics(plans=3, hits=0, path_hits=2, misses=1)
    for size in sizes[:2]:
        plan(line(size), MACHINE, "full")
    plan(square(100), MACHINE, "full")
    plan(line(100), with_bandwidth(MACHINE, "node0.reg->node1.zcm", 0.9), "full")
    assert CACHE.statistics == CacheStatistics(plans=5, hits=2, path_hits=2, misses=3), "other layouts, another machine"
    CACHE.clear()
    assert CACHE.statistics == CacheStatistics(plans=0, hits=0, path_hits=0, misses=0)


def test_old_plans_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "MOST_PLANS", 3)
    first = plan(line(10), MACHINE, "full")
    for size in (11, 12, 13):
        plan(line(size), MACHINE, "full")
    assert CACHE.statistics.plans == 3
    again = plan(line(10), MACHINE, "full")
    assert again == first and again is not first


def test_old_paths_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "MOST_PATHS", 1)
    for transfer in (line(10), square(10), line(11)):
        plan(transfer, MACHINE, "full")
    assert (CACHE.statistics.path_hits, CACHE.statistics.misses) == (0, 3)


@pytest.mark.full
def test_many_threads() -> None:
    sizes = [1000 + 37 * k for k in range(20)]
    expected = [plan(line(size), MACHINE, "full") for size in sizes]
    CACHE.clear()
    start = threading.Barrier(8)

    def work(_: int) -> list[Plan]:
        start.wait(timeout=250)
        return [plan(line(size), MACHINE, "full") for size in sizes]

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(work, range(8)))
    assert all(plans == expected for plans in found)
    assert CACHE.statistics.plans == len(sizes)


def test_values_keep_their_meaning_in_another_process() -> None:
    """Hashes of text differ from process to process; pickled values must not carry them along."""
    transfer, machine, options = line(1 << 20), MACHINE, Options(slot_limit=1 << 20)
    found = plan(transfer, machine, "full", options)
    packed = pickle.dumps((transfer, machine, options, found))
    code = (
        "import pickle, sys\n"
        "from isoviz.planner import plan, Transfer, Options\n"
        "transfer, machine, options, found = pickle.loads(sys.stdin.buffer.read())\n"
        "assert plan(transfer, machine, 'full', options) == found\n"
        "equal = Transfer(transfer.source, transfer.destination)\n"
        "assert hash(equal) == hash(transfer) and equal == transfer\n"
        "assert plan(equal, machine, 'full', Options(slot_limit=1 << 20)) is plan(transfer, machine, 'full', options)\n"
    )
    environment = {**os.environ, "PYTHONHASHSEED": "12345"}
    subprocess.run([sys.executable, "-c", code], input=packed, env=environment, check=True, timeout=250)


def test_machines_are_values() -> None:
    edited: Machine = with_bandwidth(MACHINE, "node0.reg->node1.zcm", 1.0)
    assert plan(line(100), MACHINE, "full").machine_digest != plan(line(100), edited, "full").machine_digest, "its provenance"


def test_the_plan_that_was_not_asked_for_for_longest_goes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "MOST_PLANS", 2)
    first, second = plan(line(10), MACHINE, "full"), plan(line(11), MACHINE, "full")
    assert plan(line(10), MACHINE, "full") is first
    plan(line(12), MACHINE, "full")
    assert plan(line(10), MACHINE, "full") is first
    assert plan(line(11), MACHINE, "full") is not second
