"""Words, flags and puts of several ranks at the same time: nothing is lost, nothing is seen too soon, nothing is overwritten."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from mpi_jobs import needs_mpi, run_json

SCRIPT = str(Path(__file__).with_name("words.py"))
FEW = {"added": 40_000, "mixed": 6000, "locked": 600, "flags": 12, "woven": 6, "begun": 5, "threads": 30}
ALL = {"mixed": 200_000, "locked": 2000, "flags": 100, "woven": 50, "begun": 40, "threads": 300}
pytestmark = needs_mpi


@pytest.mark.parametrize("what", FEW)
@pytest.mark.parametrize("ranks", [2, pytest.param(4, marks=pytest.mark.full)])
def test_several_ranks_at_the_same_time(what: str, ranks: int, full: bool, report: Callable[[str, object], None]) -> None:
    """Additions that wrap around; additions, swaps and compares of one word; a lock that guards plain numbers; flags after
    16 MiB; elements that lie between those of others; threads."""
    count = FEW[what] if not full else {**ALL, "added": ranks * 1_000_000}[what]
    found = run_json(ranks, SCRIPT, what, str(count), seconds=280)
    if what == "added":
        assert found["added"] == count
    for name, number in found.items():
        report(f"one-sided calls, {what}: {name}", number)
