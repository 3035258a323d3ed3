"""Two MPI ranks on the real GPUs of this computer, and on one if it has no more. `tests/ranks` runs the same on played GPUs."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from isoviz.backends.cuda.cupy_driver import loaded

sys.path.append(str(Path(__file__).parents[1] / "ranks"))
from mpi_jobs import needs_mpi, run_json

pytestmark = [pytest.mark.gpu, needs_mpi]
PROGRAMS = Path(__file__).parents[1] / "ranks"
SECONDS = 40
"""Seconds after which random plans are enough: kernels of new shapes are compiled all the time."""


@pytest.fixture(autouse=True)
def needs_a_gpu() -> None:
    if loaded().driver is None:
        pytest.skip(f"needs a GPU: {loaded().reason}")


def test_random_plans_between_gpus_of_ranks(full: bool, report: Callable[[str, object], None], tmp_path: Path) -> None:
    cases = "400" if full else "20"
    program = str(PROGRAMS / "gpu_rank_runs.py")
    found = run_json(2, program, "real", cases, str(tmp_path), "real", "0", str(SECONDS), seconds=120)
    assert found["done"] >= 4 and found["between"] >= found["done"] // 3
    assert {"GPURead", "GPUWrite"} <= set(found["kinds"])
    report("random plans of ranks with real GPUs, every byte verified", found["done"])
    report("random plans from a real GPU to that of another rank", found["between"])


def test_a_gpu_without_room_ends_the_transfer_on_both_ranks() -> None:
    """Registered memory is locked in place on the way, and nothing is staged."""
    assert run_json(2, str(PROGRAMS / "gpu_rank_ways.py"), "limited", "real")["errors"]
