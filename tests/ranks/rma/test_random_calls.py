"""Puts and gets of random places between ranks: every byte is where NumPy and MPI's derived datatypes put it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from mpi_jobs import needs_mpi, run_json

SCRIPT = str(Path(__file__).with_name("random_calls.py"))
PARTS = 10
"""Jobs of the cases of one number of ranks."""


@needs_mpi
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("ranks", [2, 4])
@pytest.mark.few(1)
@pytest.mark.usefixtures("compiled_kernels")
def test_every_byte_is_in_its_place(ranks: int, part: int, full: bool, report: Callable[[str, object], None]) -> None:
    """Types with and without order of bytes, structs, 0 to 4 axes, steps, lists, masks, repeated and reversed sources."""
    found = run_json(ranks, SCRIPT, f"calls {ranks} {part}", str(500 // PARTS if full else 30), seconds=280)
    assert found["puts"] == 2 * (500 // PARTS if full else 30) and found["gets"] > found["puts"]
    assert found["puts equal to MPI's"] > found["puts"] / 3
    for name, count in found.items():
        report(f"one-sided calls between {ranks} ranks: {name}", count)
