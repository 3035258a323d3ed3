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


@pytest.mark.parametrize("what", [",".join(FEW), *(pytest.param(each, marks=pytest.mark.full) for each in FEW)])
@pytest.mark.parametrize("ranks", [2, pytest.param(4, marks=pytest.mark.full)])
def test_several_ranks_at_the_same_time(what: str, ranks: int, report: Callable[[str, object], None]) -> None:
    """Additions that wrap around; additions, swaps and compares of one word; a lock that guards plain numbers; flags after
    16 MiB; elements that lie between those of others; threads."""
    counts = {what: {**ALL, "added": ranks * 1_000_000}[what]} if what in FEW else FEW
    found = run_json(ranks, SCRIPT, what, ",".join(map(str, counts.values())), seconds=280)
    if "added" in counts:
        assert found["added"]["added"] == counts["added"]
    for each, told in found.items():
        for name, number in told.items():
            report(f"one-sided calls, {each}: {name}", number)
