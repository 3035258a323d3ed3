"""Redistributions on real ranks: random distributions, layouts and fields, by every kind of channel, bit for bit."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from mpi_jobs import needs_mpi, run_json

PROGRAM = str(Path(__file__).with_name("redistribution_program.py"))


@needs_mpi
@pytest.mark.parametrize(("ranks", "way"), [(2, "mapped"), (4, "mapped"), (2, "unmapped"), (4, "unmapped")])
@pytest.mark.few(1)
def test_random_redistributions_on_ranks(ranks: int, way: str, full: bool, report: Callable[[str, object], None]) -> None:
    """With `unmapped`, all bytes go through MPI, as between hosts."""
    if (ranks, way) not in ((4, "mapped"), (2, "unmapped")) and not full:
        pytest.skip("only in `make test-full` (ISOVIZ_FULL=1)")
    cases = 20 if full else 1
    found = run_json(ranks, PROGRAM, f"{cases}", way, seconds=400 if full else 150)
    assert found["cases"] == (4 if way == "mapped" else 3) * cases
    assert found["Derived"] > 0
    assert ("Window" in found) == (way == "mapped")
    report("redistributions on real ranks", found["cases"])
