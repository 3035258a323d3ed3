"""Channels between real ranks: every kind moves random strided copies bit for bit, mapped and through MPI only."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from mpi_jobs import needs_mpi, run_json

SCRIPT = str(Path(__file__).with_name("rank_channels.py"))


@needs_mpi
@pytest.mark.parametrize(
    ("ranks", "way"),
    [(4, "mapped"), (2, "unmapped"), *[pytest.param(*each, marks=pytest.mark.full) for each in ((2, "mapped"), (4, "unmapped"))]],
)
@pytest.mark.few(1)
def test_channels_between_ranks(ranks: int, way: str, full: bool, report: Callable[[str, object], None]) -> None:
    count = (120 if full else 4) // (ranks // 2)
    found = run_json(ranks, SCRIPT, f"{ranks}", f"{count}", way, seconds=280)
    assert found["cases"] > 2 * count
    report("writes between ranks, equal to NumPy", found["cases"] * ranks)
