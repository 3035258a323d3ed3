"""Ranks that stop, end or fail: the others notice, say why, and do not hang."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mpi_jobs import is_open_mpi, needs_mpi, run

SCRIPT = str(Path(__file__).with_name("rank_faults.py"))
pytestmark = needs_mpi


def told(out: str) -> Any:
    """What rank 0 printed."""
    lines = [line for line in out.splitlines() if line.startswith("{")]
    assert lines, out
    return json.loads(lines[-1])


def test_a_stopped_rank_is_noticed(report: Callable[[str, object], None]) -> None:
    done = run(3, SCRIPT, "stopped", "1.0", seconds=250, survivors=True)
    found = told(done.stdout + done.stderr)
    assert found["lost"] == [[1, found["reason"]]]
    assert "no sign of life for" in found["reason"]
    assert "rank 1 of this host is lost: it is killed" in done.stderr
    report("seconds until a stopped rank is noticed (limit 1 s)", round(found["noticed"], 2))


def test_survivors_go_on_without_a_killed_rank(report: Callable[[str, object], None]) -> None:
    if not is_open_mpi():
        pytest.skip("MPICH ends the whole job with one of its ranks")
    done = run(3, SCRIPT, "killed", "20", seconds=250, survivors=True)
    found = told(done.stdout)
    assert found["lost"] == [[1, "its process has ended"]], done.stderr
    report("seconds until a killed rank is noticed (ULFM)", round(found["noticed"], 3))


def test_a_killed_rank_ends_the_job() -> None:
    done = run(3, SCRIPT, "killed", "20", seconds=250)
    assert done.returncode != 0


def test_the_error_of_a_rank_reaches_the_others() -> None:
    done = run(3, SCRIPT, "failing", seconds=250)
    assert told(done.stdout) == {"reason": "it ended with ValueError: no such file on this rank"}
    assert done.returncode != 0
    assert "ValueError: no such file on this rank" in done.stderr


def test_abort_ends_all_ranks() -> None:
    done = run(3, SCRIPT, "aborting", seconds=250)
    assert done.returncode != 0
    assert "isoviz: rank 1 ends the job: the test wants it" in done.stderr


def test_ranks_wait_for_a_busy_one() -> None:
    done = run(3, SCRIPT, "waiting", seconds=250)
    assert done.returncode == 0, done.stderr
    assert told(done.stdout) == {"lost": []}
