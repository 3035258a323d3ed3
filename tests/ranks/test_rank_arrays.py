"""Arrays of other people on real ranks: right, or refused at both ends, by every way, and gaps keep what they hold."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from mpi_jobs import needs_mpi, run_json

SCRIPT = str(Path(__file__).with_name("array_runs.py"))


@needs_mpi
@pytest.mark.parametrize("ranks", [2, 4])
def test_random_arrays_on_real_ranks(ranks: int, full: bool, report: Callable[[str, object], None], tmp_path: Path) -> None:
    """Plans over one hop and over buffers, submitted and prepared, and redistributions, of pageable and of shared memory."""
    cases = 150 if full else 5
    found = run_json(ranks, SCRIPT, f"arrays {ranks}", f"{cases}", str(tmp_path), seconds=260)
    assert found["right"] + found["refused"] == 2 * 5 * cases
    assert min(found["right"], found["refused"]) > cases
    report("random arrays on real ranks", f"{ranks} ranks: {found}")
