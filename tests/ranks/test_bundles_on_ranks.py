"""Bundles between ranks: every byte in place, in every way to run them, and the errors of all ranks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from mpi_jobs import needs_mpi, run_json

SCRIPT = str(Path(__file__).with_name("bundle_runs.py"))
pytestmark = needs_mpi


@pytest.mark.parametrize("ranks", [2, pytest.param(4, marks=pytest.mark.full)])
def test_random_bundles(ranks: int, full: bool, report: Callable[[str, object], None]) -> None:
    """Between registered and pageable memory of any ranks: run, submitted, and prepared and started again."""
    found = run_json(ranks, SCRIPT, f"bundles {ranks}", str(120 // ranks) if full else "12", seconds=280)
    assert set(found["ways"]) == {"run", "submit", "prepared", "generated"}
    report("random bundles between ranks", sum(found["ways"].values()))
    here, there = found["errors"]
    for way in ("run", "submit", "prepare"):
        for name, words in (
            ("too few", "got 2 objects"),
            ("one array", "destination array for node1.sys"),
            ("an array twice", "0 and 2 write"),
        ):
            assert words in here[f"{name} {way}"], here
            assert there[f"{name} {way}"].startswith(("ArrayError", "InputError", "TransferError")), there
            assert words in there[f"{name} {way}"], there


def test_ranks_that_map_nothing(full: bool) -> None:
    """Everything goes by messages."""
    assert run_json(2, SCRIPT, "bundles apart", "60" if full else "6", seconds=280)["ways"]
