"""Two ranks of this computer with its real GPU, which they share if it is a single one."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

RANKS = Path(__file__).parents[1] / "ranks"
sys.path.append(str(RANKS))
from mpi_jobs import needs_mpi, run_json  # noqa: E402  # a module beside the tests of ranks

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("needs_a_real_device"), needs_mpi]


def test_random_plans_between_ranks(full: bool, report: Callable[[str, object], None], tmp_path: Path) -> None:
    cases = "60" if full else "16"
    found = run_json(2, str(RANKS / "gpu_rank_runs.py"), "real gpus", cases, str(tmp_path), "real", "1", seconds=100)
    assert found["done"] == int(cases) and found["between"] >= found["done"] // 3
    report("random plans of ranks with a real GPU, equal element by element", found["done"])
    report("random plans from a real GPU to that of another rank", found["between"])
