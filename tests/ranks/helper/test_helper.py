"""The helpers of ranks: right bytes, nothing lost, and no end that hangs or hurts others."""

from __future__ import annotations

import functools
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mpi_jobs import environment, needs_mpi, run, run_json

SCRIPT = str(Path(__file__).with_name("helper_runs.py"))
MODES = ("blocking", pytest.param("polling", marks=pytest.mark.full))
RANKS = (2, pytest.param(4, marks=pytest.mark.full))
pytestmark = needs_mpi


FEW = {"copies": 30, "threads": 2000, "cancels": 10, "forked": 1, "plans": 3, "stopped": 3, "probed": 1}
"""What two ranks do one after the other in one job of `make test`, and how often."""


@functools.cache
def together() -> Any:
    return run_json(2, SCRIPT, ",".join(FEW), "blocking", ",".join(map(str, FEW.values())), seconds=280)


def job(ranks: int, way: str, count: int, mode: str = "blocking") -> Any:
    """What each rank tells of a way."""
    if (ranks, mode) == (2, "blocking") and FEW.get(way) == count:
        return together()[way]
    return run_json(ranks, SCRIPT, way, mode, str(count), seconds=280)[way]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("ranks", RANKS)
def test_random_copies(ranks: int, mode: str, full: bool, report: Callable[[str, object], None]) -> None:
    """Strided and from tables of runs, from and to mapped and pageable memory, as NumPy makes them."""
    found = job(ranks, "copies", 400 if full else FEW["copies"], mode)
    sums = {way: sum(each[way] for each in found) for way in found[0]}
    assert min(sums.values()) > 0
    report("copies by helpers, verified", sums["windows"] + sums["pageable"])


@pytest.mark.parametrize("mode", ["polling", pytest.param("blocking", marks=pytest.mark.full)])
@pytest.mark.parametrize("ranks", RANKS)
def test_changes_of_words(ranks: int, mode: str, full: bool, report: Callable[[str, object], None]) -> None:
    """Additions, swaps and compare-and-swaps of 4 and 8 bytes, mixed, from all ranks."""
    found = job(ranks, "words", 2_000_000 if full else 100_000, mode)[0]
    assert found["added"] and found["added in 4 bytes"] and found["swapped"] and found["won"] > 0
    report("changes of words by helpers, none lost", found["changes"])


def test_threads_share_a_client(full: bool) -> None:
    assert all(each["sum"] for each in job(2, "threads", 20_000 if full else FEW["threads"]))


def test_it_runs_from_its_first_use_to_the_end_of_its_world() -> None:
    assert job(2, "start", 1) == {"first": [0, False], "second": [0, 1], "closed": 0}


@pytest.mark.parametrize("mode", MODES)
def test_an_interpreter_that_ends_with_an_open_world(mode: str) -> None:
    done = subprocess.run(
        [sys.executable, SCRIPT, "left_open", mode, "1"], env=environment(60), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert json.loads(done.stdout.splitlines()[0]) == {"left_open": [{"word": 1}]}


def test_cancels(full: bool, report: Callable[[str, object], None]) -> None:
    found = job(2, "cancels", 100 if full else FEW["cancels"])
    report("requests to helpers that were cancelled", sum(each["cancelled"] for each in found))
    assert sum(each["cancelled"] for each in found) > sum(each["ended"] for each in found)


def test_a_forked_child_is_refused() -> None:
    assert job(2, "forked", 1) == [{"child": ["ForkedError"] * 3, "again": 2, "word": 3}] * 2


@pytest.mark.parametrize("is_stopped", [False, True])
def test_a_lost_rank_ends_the_waits_for_its_helper(is_stopped: bool) -> None:
    done = run(2, SCRIPT, "lost", "blocking", str(int(is_stopped)), seconds=150, survivors=True)
    assert "{" in done.stdout, done.stderr[-3000:]
    said = json.loads(next(line for line in done.stdout.splitlines() if line.startswith("{")))
    assert said == {"errors": ["rank 1"] * 3, "own helper": 0, "later": "RankLost"}, done.stderr[-2000:]


def test_nothing_is_written_for_a_lost_rank() -> None:
    done = run(2, SCRIPT, "dropped", "blocking", "1", seconds=150, survivors=True)
    assert '{"fine": true}' in done.stdout, done.stderr[-3000:]


@pytest.mark.parametrize("ranks", RANKS)
def test_plans_over_assisted_channels(ranks: int, full: bool, report: Callable[[str, object], None]) -> None:
    found = job(ranks, "plans", 40 if full else FEW["plans"])[0]
    assert found["cancelled"] > 0
    report("plans over Assisted channels, verified", found["verified"])


def test_a_thorough_probe_measures_assisted_channels() -> None:
    found = job(2, "probed", 1)[0]
    assert found["ends"] == ["node0.reg node1.reg", "node1.reg node0.reg"]
    assert found["measured"] and found["samples"] >= 5


def test_a_rank_that_is_lost_in_a_plan_is_told() -> None:
    done = run(2, SCRIPT, "lost_plan", "blocking", "1", seconds=150, survivors=True)
    assert '{"error": "RankLost"}' in done.stdout, done.stdout + done.stderr[-3000:]


def test_a_rank_that_stops_and_continues(full: bool) -> None:
    count = 20 if full else FEW["stopped"]
    assert job(2, "stopped", count) == [{"right": count, "word": 0}, {"right": 0, "word": 30 * count}]


def test_it_sleeps_while_it_has_nothing_to_do(report: Callable[[str, object], None]) -> None:
    found = run_json(1, SCRIPT, "idle", "blocking", "1", seconds=150)["idle"][0]
    report("share of a processor that an idle helper takes: blocking, polling", [round(found[way], 4) for way in found])
    assert found["blocking"] < found["polling"] / 5


def test_a_rank_that_computes_in_python_is_served(full: bool, report: Callable[[str, object], None]) -> None:
    """A thread in Python waits for the interpreter at each request; the helper waits for a free processor at most."""
    for _ in range(3):  # a busy computer may keep a processor from the helper for a while
        found = job(2, "busy", 2000 if full else 300)[0]
        if found["python"][0] < found["python, thread"][1]:
            break
    for way in found:
        report(f"8 bytes by a helper, rank {way}: 50, 90, 99 % in µs", found[way])
    assert found["python"][0] < found["python, thread"][1]
