"""Prepared transfers between ranks of a host: right bytes, right ends, and nothing that hangs."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from mpi_jobs import is_open_mpi, needs_mpi, run, run_json

SCRIPT = str(Path(__file__).with_name("lane_runs.py"))
pytestmark = needs_mpi


@pytest.mark.parametrize("ranks", [2, pytest.param(3, marks=pytest.mark.full)])
def test_random_plans(ranks: int, full: bool, report: Callable[[str, object], None]) -> None:
    """Random layouts, parts and fields between registered and pageable memory."""
    found = run_json(ranks, SCRIPT, "random", f"lanes {ranks}", "150" if full else "8", seconds=280)
    assert found["lanes"] > found["done"] / 3 / 2
    report("prepared transfers between ranks, verified", found["done"])
    report("plans of these over lanes", found["lanes"])


def test_many_at_a_time(full: bool, report: Callable[[str, object], None]) -> None:
    """Eight in both directions, waited for in any order, with urgent ones, late ranks, cancels, time limits and signals."""
    found = run_json(2, SCRIPT, "interleaved", "many", "250" if full else "6", seconds=280)
    assert found["done"] > found["cancelled"] > 0
    report("prepared transfers at a time that ended well", found["done"])
    report("prepared transfers at a time that were cancelled", found["cancelled"])


def test_ends() -> None:
    found = run_json(2, SCRIPT, "ends", "ends", "1", seconds=150)
    here, there = found["0"], found["1"]
    assert here["wrong size"].startswith("ArrayError: source array") and "needs" in here["wrong size"]
    assert there["wrong size"].startswith("RankError: rank 0: source array")
    assert "has another plan" in here["another plan"] and "has another plan" in there["another plan"]
    assert here["cancelled first"].startswith("Cancelled") and there["cancelled first"].startswith("Cancelled")
    assert here["closed here"].startswith("InputError") and "closed the prepared transfer" in there["closed there"]
    assert here["forked"] == "ForkedError"


@pytest.mark.parametrize("rank", ["0", pytest.param("1", marks=pytest.mark.full)])
def test_a_system_that_refuses_access_to_other_processes(rank: str) -> None:
    """Registered memory needs no such access. Pageable memory is moved by messages if the rank of the source is refused."""
    found = run_json(2, SCRIPT, "refused", "refused", rank, seconds=150)
    assert found == {"sys 12": rank == "1", "reg 12": True, "reg 300": True}


@pytest.mark.usefixtures("small_shared_memory")
def test_a_full_shared_memory() -> None:
    """Lanes keep nothing there."""
    found = run_json(2, SCRIPT, "full", "full", "0", seconds=150)
    assert found == {"sys 12": True, "reg 12": True, "reg 300": True}


@pytest.mark.usefixtures("own_process_numbers")
def test_ranks_in_process_namespaces_of_their_own() -> None:
    """No rank can reach memory of another one, and each is process 1. Everything goes by messages."""
    if is_open_mpi():
        pytest.skip("Open MPI itself does not start there")
    found = run_json(2, SCRIPT, "apart", "namespaces", "-1", seconds=150)
    assert found == {"sys 12": False, "reg 12": False, "reg 300": False}


@pytest.mark.parametrize("way", ["1", pytest.param("2", marks=pytest.mark.full)])
def test_a_killed_rank_is_told(way: str) -> None:
    """Whether it was the sender or the receiver."""
    done = run(2, SCRIPT, "killed", "killed", way, seconds=150, survivors=True)
    said = json.loads(next(line for line in done.stdout.splitlines() if line.startswith("{")))
    assert said["error"] in ("RankLost", "RankError") and said["rank"] in (1, None), done.stderr[-2000:]


@pytest.mark.parametrize("ranks", [2, pytest.param(3, marks=pytest.mark.full)])
def test_submitted_again(ranks: int, full: bool, report: Callable[[str, object], None]) -> None:
    """Random plans that come again, from several arrays, with late ranks, tokens and runs between them."""
    found = run_json(ranks, SCRIPT, "submitted", f"submitted {ranks}", "80" if full else "6", seconds=280)
    assert found["lane"] > 0  # how many depends on how soon the ranks have lanes
    report("submitted transfers between ranks, verified", found["done"])
    report("of these over lanes on a rank", found["lane"])


def test_submitted_at_a_time(full: bool, report: Callable[[str, object], None]) -> None:
    """As prepared ones: eight in both directions, in any order, with cancels, time limits and signals."""
    found = run_json(2, SCRIPT, "submitted at a time", "at a time", "150" if full else "6", seconds=280)
    assert found["done"] > found["cancelled"] > 0 and found["lane"] > 0
    report("submitted transfers over lanes at a time", found["lane"])


def test_ends_of_submitted_transfers() -> None:
    """What goes wrong is told at both ends as without lanes, and the lane goes on."""
    found = run_json(2, SCRIPT, "submitted ends", "ends", "1", seconds=150)
    for each in found.values():
        assert each["another plan"].startswith("RankError") and "has another plan" in each["another plan"]
        assert each["another plan there"].startswith("RankError") and "has another plan" in each["another plan there"]
        assert each["urgent"].startswith("InputError")
        assert {said for name, said in each.items() if name.startswith("after")} == {"lane"}
    assert found["1"]["does not fit"].startswith("ArrayError: destination array")
    assert found["0"]["does not fit"].startswith("RankError: rank 1: destination array")
    assert all(found[rank][f"cancelled by {rank}"].startswith("Cancelled") for rank in "01")
    assert found["0"]["forked"] == "ForkedError"


@pytest.mark.parametrize("rank", ["0", "1"])
def test_an_engine_that_closes_cancels_its_submitted_transfers(rank: str) -> None:
    assert run_json(2, SCRIPT, "closing", "closing", rank, seconds=150)[rank] == {"error": "Cancelled"}


def test_lanes_keep_no_array(full: bool) -> None:
    found = run_json(2, SCRIPT, "freed", "freed", "20" if full else "3", seconds=200)
    assert found["lane"] > 0


def test_a_killed_rank_is_told_to_submitted_transfers() -> None:
    done = run(2, SCRIPT, "submitted killed", "killed", "1", seconds=150, survivors=True)
    said = json.loads(next(line for line in done.stdout.splitlines() if line.startswith("{")))
    assert said["error"] in ("RankLost", "RankError") and said["rank"] in (1, None), done.stderr[-2000:]
