"""Lists, boxes and bundles between ranks, by every channel, equal to what MPI's own Pack and Unpack make of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from mpi_jobs import needs_mpi, run_json

SCRIPT = str(Path(__file__).with_name("scattered_runs.py"))
pytestmark = needs_mpi


@pytest.mark.parametrize("ranks", [2, pytest.param(4, marks=pytest.mark.full)])
@pytest.mark.usefixtures("compiled_kernels")
def test_random_lists_and_boxes(ranks: int, full: bool, report: Callable[[str, object], None], tmp_path: Path) -> None:
    """Between registered and pageable memory of any two ranks, straight and over other ranks: run, submitted and prepared."""
    found = run_json(ranks, SCRIPT, "random", f"scattered {ranks}", "500" if full else "3", str(tmp_path), seconds=280)
    assert found["list"] > 0
    report("scattered transfers between ranks equal to MPI's pack and unpack", found)


@pytest.mark.parametrize("ranks", [2, pytest.param(4, marks=pytest.mark.full)])
def test_all_patterns_of_ddtbench(ranks: int, full: bool, report: Callable[[str, object], None], tmp_path: Path) -> None:
    found = run_json(ranks, SCRIPT, "ddtbench", "", "1000" if full else "4", str(tmp_path), seconds=280)
    assert found["arrays"] >= 2 * found["patterns"] > 0
    report("patterns of DDTBench between ranks equal to MPI's pack and unpack", found)


def test_ranks_with_different_lists_refuse(tmp_path: Path) -> None:
    """A plan names the lists of both ends, and ranks compare the digests of their plans."""
    found = run_json(2, SCRIPT, "differing", "", "1", str(tmp_path), seconds=150)
    assert len(found) == 4 and all("another plan" in words for words in found.values()), found


def test_a_bundle_through_both_ranks_and_back(tmp_path: Path) -> None:
    found = run_json(2, SCRIPT, "there and back", "", "1", str(tmp_path), seconds=150)
    assert len(found["hops"]) == 3 and found["chunks"] > 1
