"""Runs of small plans that come again between the same arrays: over lanes, with the reports and errors of other runs."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from mpi_jobs import needs_mpi, run, run_json

SCRIPT = str(Path(__file__).with_name("again_runs.py"))
pytestmark = needs_mpi


@pytest.mark.parametrize("ranks", [2, pytest.param(3, marks=pytest.mark.full)])
def test_random_plans(ranks: int, full: bool, report: Callable[[str, object], None]) -> None:
    """Every run has the right bytes and says whether it was verified, also where one rank goes another way."""
    found = run_json(ranks, SCRIPT, "random", f"again {ranks}", "60" if full else "6", seconds=280)
    assert found["lane"] > 0
    report("runs of small plans again between two ranks", sum(found.values()))
    report("of these over lanes", found["lane"])


def test_reports_say_the_same() -> None:
    """But for times and the route."""
    found = run_json(2, SCRIPT, "reports", "reports", "1", seconds=200)
    assert found["different"] == {} and found["same"] == 14
    assert found["routes"][1] == ["lane"] and "lane" not in found["routes"][0]


def test_a_wrong_byte_is_found() -> None:
    found = run_json(2, SCRIPT, "wrong", "wrong", "1", seconds=150)
    for each in found.values():
        assert [said.startswith("verification failed") for said in each] == [True, False] * 2, found
        assert each[1::2] == ["lane"] * 2


@pytest.mark.parametrize("sends", ["0", "1"])
def test_a_killed_rank_is_told(sends: str) -> None:
    """Whether it was the sender or the receiver."""
    done = run(2, SCRIPT, "killed", "killed", sends, seconds=150, survivors=True)
    said = json.loads(next(line for line in done.stdout.splitlines() if line.startswith("{")))
    assert said["error"] in ("RankLost", "RankError") and said["rank"] in (1, None), done.stderr[-2000:]
