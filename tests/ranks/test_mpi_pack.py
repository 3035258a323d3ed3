"""An independent oracle: for fields of one size, `MPI_Pack` of a derived datatype gives the same bytes as our conversion."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from mpi_jobs import needs_mpi, run_json


@needs_mpi
def test_mpi_pack_gives_the_same_bytes(full: bool, report: Callable[[str, object], None]) -> None:
    cases = 1000 if full else 100
    found = run_json(2, str(Path(__file__).with_name("mpi_pack_oracle.py")), str(cases), seconds=250)
    assert found == {"ranks": 2, "agreed": 2 * cases}
    report("layout conversions equal to MPI_Pack", found["agreed"])
