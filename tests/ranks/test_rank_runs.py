"""Plans on real ranks: random machines, transfers between memories of any ranks, verified bit for bit."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from mpi_jobs import needs_mpi, run_json

SCRIPT = str(Path(__file__).with_name("rank_runs.py"))


@needs_mpi
@pytest.mark.parametrize("ranks", [pytest.param(2, marks=pytest.mark.full), 4])
@pytest.mark.usefixtures("compiled_kernels")
def test_random_plans_on_real_ranks(ranks: int, full: bool, report: Callable[[str, object], None], tmp_path: Path) -> None:
    found = run_json(ranks, SCRIPT, f"runs {ranks}", "150" if full else "6", str(tmp_path), seconds=260)
    assert {"Window", "ProcessWrite", "Packed", "TwoSided", "Put", "Derived"} & set(found["kinds"])
    report("plans on real ranks, every byte verified", found["done"])
    report("plans on real ranks that cross ranks", found["across"])


@needs_mpi
@pytest.mark.parametrize("ranks", [2, pytest.param(4, marks=pytest.mark.full)])
def test_many_transfers_at_a_time_on_real_ranks(
    ranks: int, full: bool, report: Callable[[str, object], None], tmp_path: Path
) -> None:
    """Priorities, small buffers, cancels on any rank, ends that cannot be opened: every transfer ends alike on all its ranks."""
    script = str(Path(__file__).with_name("rank_many.py"))
    found = run_json(ranks, script, f"many {ranks}", "6" if full else "2", str(tmp_path), seconds=260)
    assert found["done"] > 20
    for outcome, count in found.items():
        report(f"transfers at a time on real ranks: {outcome}", count)
