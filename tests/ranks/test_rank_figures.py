"""What messages and channels between ranks cost, for the report; clocks agree within their uncertainty."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from mpi_jobs import is_open_mpi, needs_mpi, run_json

SCRIPT = str(Path(__file__).with_name("rank_figures.py"))
pytestmark = needs_mpi


def mpi() -> str:
    return "Open MPI" if is_open_mpi() else "MPICH"


@pytest.mark.full
def test_round_trips_and_idle_ranks(full: bool, report: Callable[[str, object], None]) -> None:
    ranks = 4 if full else 2
    found = run_json(ranks, SCRIPT, "idle", "3" if full else "1", seconds=250)
    for rank, (offset, uncertainty) in enumerate(found["clocks"]):
        assert abs(offset) <= uncertainty, f"the ranks of one host share a clock, but rank {rank} is {offset} s off"
    report(f"{mpi()}, {ranks} ranks: median round trips of messages, in µs", [round(1e6 * each) for each in found["round_trip"]])
    report(f"{mpi()}, {ranks} ranks: share of a core of an idle rank", f"{found['idle']:.1%}")


@pytest.mark.full
def test_figures_of_channels(report: Callable[[str, object], None]) -> None:
    sizes = (8, 4 << 10, 1 << 20, 64 << 20)
    for way in ("mapped", "unmapped"):
        found = run_json(2, SCRIPT, "rates", *map(str, sizes), way, seconds=250)
        for size in sizes:
            times = {kind: seconds for kind, seconds in found[str(size)].items() if seconds is not None}
            assert len(times) == (8 if way == "mapped" else 6)
            shown = ", ".join(f"{kind} {1e6 * seconds:.0f}" for kind, seconds in times.items())
            report(f"{mpi()}, {way}, {size} B and the answer, in µs", shown)
