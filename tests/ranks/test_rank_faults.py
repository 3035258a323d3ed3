"""Ranks that stop, end or fail: the others notice, say why, and do not hang."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mpi_jobs
import pytest
from mpi_jobs import is_open_mpi, needs_mpi, run

SCRIPT = str(Path(__file__).with_name("rank_faults.py"))
pytestmark = needs_mpi
CHOSEN = ("--mca", "osc", "^ucx", "pml", "ob1")


def told(done: subprocess.CompletedProcess[str]) -> Any:
    """What rank 0 printed, as the last line that is JSON."""
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    assert lines, f"exit status {done.returncode}\n{done.stdout}\n{done.stderr[-3000:]}"
    return json.loads(lines[-1])


@pytest.mark.full
def test_a_stopped_rank_is_noticed(report: Callable[[str, object], None]) -> None:
    done = run(3, SCRIPT, "stopped", "5.0", seconds=250, survivors=True)
    found = told(done)
    assert found["lost"] == [[1, found["reasons"][0]]]
    assert "no sign of life for" in " ".join(found["reasons"])
    assert "rank 1 of this host is lost (no sign of life for " in done.stderr
    report("seconds until a stopped rank is noticed (limit 5 s)", round(found["noticed"], 2))


def test_survivors_go_on_without_a_killed_rank(report: Callable[[str, object], None]) -> None:
    if not is_open_mpi():
        pytest.skip("MPICH ends the whole job with one of its ranks")
    done = run(3, SCRIPT, "killed", "20", seconds=250, survivors=True)
    found = told(done)
    assert found["lost"] == [[1, "its process has ended"]], done.stderr
    report("seconds until a killed rank is noticed (ULFM)", round(found["noticed"], 3))


@pytest.mark.full
def test_a_killed_rank_ends_the_job() -> None:
    done = run(3, SCRIPT, "killed", "20", seconds=250)
    assert done.returncode != 0


def test_the_error_of_a_rank_reaches_the_others(full: bool) -> None:
    done = run(3 if full else 2, SCRIPT, "failing", seconds=250)
    assert told(done) == {"reason": "it ended with ValueError: no such file on this rank"}
    assert done.returncode != 0
    assert "ValueError: no such file on this rank" in done.stderr


def test_abort_ends_all_ranks(full: bool) -> None:
    done = run(3 if full else 2, SCRIPT, "aborting", seconds=250)
    assert done.returncode != 0
    assert "isoviz: rank 1 ends the job: the test wants it" in done.stderr


def test_ranks_wait_for_a_busy_one(full: bool) -> None:
    done = run(3 if full else 2, SCRIPT, "waiting", seconds=250)
    assert done.returncode == 0, done.stderr
    assert told(done) == {"lost": []}


def test_errors_of_timers_and_callbacks_end_nothing() -> None:
    done = run(2, SCRIPT, "raising", seconds=250)
    assert done.returncode == 0, done.stderr
    assert told(done) == {"failed": ["message", "timer"]}
    assert "ValueError: of the timer" in done.stderr and "ValueError: of the message" in done.stderr


@pytest.mark.usefixtures("small_shared_memory")
@pytest.mark.parametrize("options", [pytest.param((), marks=pytest.mark.full), ("full",)])
def test_only_put_needs_room_in_shared_memory(options: tuple[str, ...]) -> None:
    if not is_open_mpi():
        pytest.skip("MPICH keeps nothing of its windows in /dev/shm")
    done = run(2, SCRIPT, "putting", *options, seconds=100)
    found = told(done)
    assert done.returncode == 0, done.stderr
    if options:
        assert "MPI could not open its window for channels of kind Put" in found["words"], done.stderr
        assert "/dev/shm, which has 0 B of 40 MiB left" in found["words"] and found["bytes"] == 0
    else:
        assert found == {"words": "put", "bytes": 1 << 20}


def test_the_window_of_mpi_is_opened_while_messages_wait() -> None:
    """A rank that would wait for the others in MPI could not send what they need before they come."""
    done = run(2, SCRIPT, "putting", "held back", seconds=100)
    assert done.returncode == 0, done.stderr
    assert told(done) == {"words": "put", "bytes": 1 << 20}


def test_plain_mpiexec_prints_nothing_of_ucx_and_looks_for_no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FI_LOG_LEVEL", "info")
    plain = mpi_jobs.command
    monkeypatch.setattr(
        mpi_jobs, "command", lambda *args, **options: [each for each in plain(*args, **options) if each not in CHOSEN]
    )
    done = run(2, SCRIPT, "putting", seconds=100)
    assert told(done)["words"] == "put"
    assert "UCX" not in done.stdout + done.stderr
    assert "libfabric" not in done.stdout + done.stderr or not is_open_mpi()
