"""Ranks that are killed, or stopped in the middle of a put, and continue: the others hear of it, and keep their bytes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from mpi_jobs import is_open_mpi, needs_mpi, run

SCRIPT = str(Path(__file__).with_name("lost_peers.py"))
DOINGS = ("put_all", "put_rows", "put_listed", "kept", "begun", "add")
pytestmark = needs_mpi


@pytest.mark.parametrize("what", ["killed", "waiting"])
def test_every_call_ends_when_a_rank_is_killed(what: str, tmp_path: Path, report: Callable[[str, object], None]) -> None:
    if not is_open_mpi():
        pytest.skip("MPICH ends the whole job with one of its ranks")
    done = run(3, SCRIPT, what, str(tmp_path), seconds=200, survivors=True)
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    assert lines, f"{done.stdout[-1500:]}\n{done.stderr[-3000:]}"
    for name, value in json.loads(lines[-1]).items():
        report(f"one-sided calls to a rank that was {what}: {name}", value)


@pytest.mark.parametrize("doing", DOINGS)
@pytest.mark.few(1)
def test_a_rank_that_was_stopped_overwrites_nothing_later(doing: str, tmp_path: Path) -> None:
    """It is ended before anybody hears of its loss. Until then its memory takes puts and gives what is in it."""
    done = run(2, SCRIPT, doing, str(tmp_path), seconds=150, survivors=True)
    assert (tmp_path / "found").exists(), done.stderr[-3000:]
    found = json.loads((tmp_path / "found").read_text())
    assert found["ended"] and found["overwritten"] == 0, found
    assert found["written"] > 0 and found["puts"] > 0 and "no sign of life" in found["reason"], found


@pytest.mark.parametrize("doing", DOINGS)
@pytest.mark.few(1)
def test_where_it_cannot_be_ended_the_others_keep_their_bytes(doing: str, tmp_path: Path) -> None:
    """It continues, and writes. Rank 0 has left the other ranks and has pages of its own."""
    done = run(2, SCRIPT, doing, str(tmp_path), "unfenced", seconds=150, survivors=True)
    assert (tmp_path / "found").exists(), done.stderr[-3000:]
    found = json.loads((tmp_path / "found").read_text())
    assert not found["ended"] and found["overwritten"] == 0 and found["written"] > 0, found
