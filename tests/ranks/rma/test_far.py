"""Heaps that are not mapped: ranks of two hosts, ranks that map nothing, and arrays that lie in no window."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hosts import Hosts, why_not
from mpi_jobs import kill, needs_mpi, run, run_json
from waiting import until

SCRIPT = str(Path(__file__).with_name("far_runs.py"))
WAYS = {"unmapped": "by messages to its server;", "shared": "by the system", "refused": "because memory of", "window": "mapped;"}
pytestmark = needs_mpi


@pytest.mark.parametrize("ranks", [2, pytest.param(4, marks=pytest.mark.full)])
@pytest.mark.parametrize(
    "way", [pytest.param(way, marks=() if way in ("unmapped", "shared") else pytest.mark.full) for way in WAYS]
)
def test_random_puts_and_gets_are_those_of_numpy(
    ranks: int, way: str, full: bool, report: Callable[[str, object], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the order of the program: what is got is what was put before, without a fence."""
    if way == "refused":  # MPI makes the same calls for large messages, and does not expect that they are refused
        monkeypatch.setenv("OMPI_MCA_smsc", "^cma")
        monkeypatch.setenv("MPIR_CVAR_CH4_CMA_ENABLE", "0")
    found = run_json(ranks, SCRIPT, way, "random", "500" if full else "60", seconds=280)["found"]
    assert min(found["puts"], found["gets"], found["lists"]) > 0
    assert any(WAYS[way] in each for each in found["ways"]), found["ways"]
    report(f"one-sided calls without a map, equal to NumPy's: {way}", found["puts"] + found["gets"])


@pytest.mark.full
def test_random_puts_and_gets_between_hosts(two_hosts: Hosts, full: bool, report: Callable[[str, object], None]) -> None:
    found = two_hosts.run_json(2, SCRIPT, "hosts", "random", "500" if full else "40", seconds=250)
    assert len(set(found["hosts"])) == 2 and min(found["found"]["puts"], found["found"]["gets"]) > 0
    report("one-sided calls between two hosts, equal to NumPy's", found["found"]["puts"] + found["found"]["gets"])


@pytest.mark.parametrize("way", ["shared", *(pytest.param(way, marks=pytest.mark.full) for way in ("unmapped", "window"))])
def test_words_that_all_ranks_change_lose_nothing(way: str, full: bool) -> None:
    """Ranks by their processor, ranks by messages to the server: sums, swaps and compares of the same words."""
    found = run_json(3, SCRIPT, way, "words", "2000" if full else "60", seconds=280)["found"]
    assert len(found) == 4


@pytest.mark.full
def test_words_changed_from_both_hosts_lose_nothing(two_hosts: Hosts, full: bool) -> None:
    """Two ranks change them by instructions of their processor, two by messages."""
    found = two_hosts.run_json(2, SCRIPT, "hosts", "words", "2000" if full else "60", seconds=250)
    assert len(set(found["hosts"])) == 2 and len(found["found"]) == 4


@pytest.mark.parametrize("way", ["unmapped", pytest.param("shared", marks=pytest.mark.full)])
def test_what_was_begun_ends_or_is_cancelled(way: str, report: Callable[[str, object], None]) -> None:
    found = run_json(2, SCRIPT, way, "handles", "3")["found"]
    report(f"puts of 16 MiB that were stopped, of 3: {way}", found["stopped"])


def test_wrong_arrays_are_refused_in_words() -> None:
    said = run_json(2, SCRIPT, "shared", "wrong", "1")["found"]["said"]
    assert "contiguous in the order of C" in said["strides"] and "rank 1 has no memory" in said["one rank"]
    assert "(3,) of '<f8' here, (4,) of '<f8' on rank 1" in said["shapes"] and "do not call the same" in said["words"]
    assert "not aligned" in said["aligned 0"] and "not aligned" in said["aligned 1"]
    assert "freed" in said["freed"]


@pytest.mark.parametrize("way", ["unmapped", pytest.param("shared", marks=pytest.mark.full)])
def test_a_rank_that_is_stopped_and_continues_misses_nothing(way: str) -> None:
    is_done = run_json(2, SCRIPT, way, "stopped", "16")["found"]["done while stopped"]
    assert is_done == [False, False] or way == "shared", "the system reads and writes memory of a rank that is stopped"


def test_puts_that_fail_are_told_by_the_next_fence() -> None:
    said = run_json(2, SCRIPT, "unmapped", "left", "1")["found"]
    assert all("rank 1" in said[each] and "withdrawn" in said[each] for each in ("element", "column", "get", "fence")), said
    assert "RankError: rank 1 left a heap with ZeroDivisionError" in said["free"]


@pytest.mark.full
def test_a_broken_link_ends_every_call(tmp_path: Path) -> None:
    """The rank at its other end lives on. All calls of this one end with RankLost, and no hang."""
    reason = why_not()
    if reason is not None:
        pytest.skip(reason)
    with Hosts(2, tmp_path, "500mbit") as hosts:
        job = hosts.start(1, SCRIPT, "hosts", "lost", "8", str(tmp_path))
        try:
            assert until(lambda: (tmp_path / "arrived").exists() or job.poll() is not None)
            hosts.unplug(1)
            assert job.stdout is not None
            ends = json.loads(next(line for line in job.stdout if line.startswith("{")))["found"]
        finally:
            kill(job)
            job.communicate()
    assert len(ends) == 10
    assert all(words.startswith("RankLost: rank 1 no longer answers: no sign of life") for words in ends.values()), ends


@pytest.mark.parametrize("way", ["unmapped", pytest.param("shared", marks=pytest.mark.full)])
def test_a_rank_that_is_killed_ends_every_call(way: str) -> None:
    """Puts, gets, changes of words and fences, whatever they wait for: RankLost, and no hang."""
    done = run(2, SCRIPT, way, "lost", "8", survivors=True)
    ends = json.loads(next(line for line in done.stdout.splitlines() if line.startswith("{")))["found"]
    assert len(ends) == 10
    assert all(words.startswith("RankLost: rank 1 no longer answers") for words in ends.values()), ends
