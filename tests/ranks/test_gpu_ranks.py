"""Ranks with GPUs, which a driver of the tests plays in each rank. `tests/gpu` runs the same plans on real GPUs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mpi_jobs import is_open_mpi, needs_mpi, run_json

pytestmark = needs_mpi
HERE = Path(__file__).parent
Report = Callable[[str, object], None]


def ways(*words: str) -> Any:
    return run_json(2, str(HERE / "gpu_rank_ways.py"), *words, seconds=250)


@pytest.fixture(scope="module")
def in_one_job() -> Any:
    """Ways that leave played GPUs as they were."""
    return ways("locked,unaware,limited")


@pytest.mark.parametrize("devices", [1, pytest.param(2, marks=pytest.mark.full)])
def test_random_plans_between_gpus_of_ranks(devices: int, full: bool, report: Report, tmp_path: Path) -> None:
    """With one device, both ranks share it."""
    cases = "100" if full else "8"
    found = run_json(
        2, str(HERE / "gpu_rank_runs.py"), f"gpus {devices}", cases, str(tmp_path), "played", str(devices), seconds=290
    )
    assert found["done"] == int(cases) and found["between"] >= found["done"] // 3
    assert found["hops"] >= 3 * found["between"], "from a GPU to that of another rank is three hops or more"
    assert {"GPURead", "GPUWrite"} < set(found["kinds"])
    for call in ("page_lock", "page_unlock", "copy", *(("allocate_pinned", "copy_2d", "launch") if full else ())):
        assert found["calls"].get(call), f"no {call}"
    report("random plans of ranks with played GPUs, equal element by element", found["done"])
    report("random plans from a played GPU to that of another rank", found["between"])


def test_what_runs_on_real_gpus_runs_over_a_cupy_that_plays_them(full: bool, tmp_path: Path) -> None:
    found = run_json(2, str(HERE / "gpu_rank_runs.py"), "cupy", "4", str(tmp_path), "cupy", "1", "60", seconds=250)
    assert found["done"] == 4 and found["between"] >= 1 and found["calls"]["page_lock"]
    assert not full or ways("limited", "cupy")["errors"]


@pytest.mark.full
def test_what_fails_on_one_gpu_ends_on_all_ranks(full: bool, report: Report) -> None:
    found = run_json(2, str(HERE / "gpu_rank_faults.py"), "faults", "200" if full else "8", seconds=590)
    outcomes = found["outcomes"]
    for kind in ("no device memory: DeviceMemoryError", "call: DeviceError", "dead: DeviceError", "cancel: Cancelled"):
        assert outcomes.get(kind), outcomes
    for outcome, count in outcomes.items():
        report(f"faults of played GPUs of ranks: {outcome}", count)
    report("seconds until a fault on a played GPU has ended the transfer on both ranks, at most", round(found["longest"], 2))


def test_registered_memory_is_locked_once_and_unlocked_while_it_is_mapped(in_one_job: Any) -> None:
    assert in_one_job["locked"]["locked"] >= 1


@pytest.mark.full
def test_registered_memory_is_staged_where_it_cannot_be_locked() -> None:
    assert ways("refused")["notes"]


def test_a_gpu_without_room_ends_the_transfer_on_both_ranks(in_one_job: Any) -> None:
    assert in_one_job["limited"]["errors"]


def test_messages_reach_no_gpu_memory_with_the_wheels(in_one_job: Any) -> None:
    found = in_one_job["unaware"]
    name = "Open MPI v" if is_open_mpi() else "MPICH Version: "
    assert found["said"].startswith(name) and found["said"].endswith("MPIX_Query_cuda_support() gave 0"), found


def test_messages_and_rdma_between_gpus_where_the_library_takes_them() -> None:
    assert ways("aware")["kinds"] == [
        *[["TwoSided"], ["GPUDirectRemote"]] * 2,
        ["Memcpy", "TwoSided"],
        ["TwoSided"],
        ["GPUDirectRemote"],
        ["TwoSided", "GPURead"],
    ]


@pytest.mark.full
def test_without_a_gpu_every_rank_says_so() -> None:
    errors = ways("absent")["errors"]
    for rank, error in enumerate(errors):
        assert f"memory node{rank}.fbm0: this computer has no such device (FBM)" in error and f"; rank {rank}: CuPy" in error, (
            errors
        )


@pytest.mark.full
def test_the_benchmark_of_gpus_of_ranks(tmp_path: Path) -> None:
    (row,) = run_json(2, str(HERE / "bench_gpu_ranks.py"), str(tmp_path))
    assert row["beside"].endswith(" alone") and row["aim"] == 0.85 and row["figure"] > 0
    assert row["what"] == "64 KiB, FBM → REG → REG* → FBM*, every byte verified"
    assert set(row["ways"]) == {"whole", "FBM → REG alone", "REG → REG* alone", "REG* → FBM* alone"}
