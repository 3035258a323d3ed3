"""A rank that is stopped in the middle of a copy, counts as lost and continues overwrites no byte of the others."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mpi_jobs import needs_mpi, run

SCRIPT = str(Path(__file__).with_name("stopped_rank.py"))
pytestmark = needs_mpi

WAYS = (
    "window",
    "process write",
    "packed",
    "message",
    "message to window",
    "datatype",
    "put",
    "small",
    "redistribution",
    "transfer",
    "lane",
    "lane to window",
)
QUICK = ("window", "process write", "message")


def told(folder: Path, done: subprocess.CompletedProcess[str]) -> Any:
    """What rank 0 has found."""
    file = folder / "found"
    assert file.exists(), done.stderr[-3000:]
    return json.loads(file.read_text())


def some(quick: tuple[str, ...]) -> list[object]:
    return [pytest.param(way, marks=() if way in quick else pytest.mark.full) for way in WAYS]


@pytest.fixture(autouse=True)
def messages_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """MPI may copy a whole message straight out of the other process, and then nothing of it comes later."""
    monkeypatch.setenv("OMPI_MCA_smsc", "^cma")
    monkeypatch.setenv("MPIR_CVAR_CH4_CMA_ENABLE", "0")


@pytest.mark.parametrize("way", some(QUICK))
@pytest.mark.few(1)
def test_it_is_ended_before_its_transfers_end(way: str, tmp_path: Path, report: Callable[[str, object], None]) -> None:
    for attempt in range(3):  # on a busy computer the copy may be over before the signal comes
        folder = tmp_path / str(attempt)
        folder.mkdir()
        done = run(2, SCRIPT, way, str(folder), seconds=150, survivors=True)
        found = told(folder, done)
        if 0 < found["written"] < found["size"]:
            break
    assert 0 < found["written"] < found["size"], "it was stopped at another time"
    assert found["ended"] and found["overwritten"] == 0, found
    report(f"bytes overwritten by a rank that was stopped: {way}", 0)


@pytest.mark.parametrize("way", some(("window",)))
def test_where_it_cannot_be_ended_the_others_keep_their_bytes(way: str, tmp_path: Path) -> None:
    """It continues, and writes to the end. Rank 0 has left the other ranks and has pages of its own."""
    if way == "put":
        pytest.skip("MPI may put by the addresses of the other process, which no new pages stop")
    if way == "lane":
        pytest.skip("a rank that cannot be ended gets no lane to pageable memory")
    done = run(2, SCRIPT, way, str(tmp_path), "unfenced", seconds=150)
    found = told(tmp_path, done)
    assert found["written"] > 0 and not found["ended"] and found["overwritten"] == 0, found
