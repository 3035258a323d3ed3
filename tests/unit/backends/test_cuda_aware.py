"""What MPI libraries say of memory of GPUs. `tests/ranks/test_gpu_ranks.py` asks the libraries of the wheels."""

from __future__ import annotations

import ctypes
from types import SimpleNamespace
from typing import Any

import pytest

from isoviz.backends.mpi.gpu_memory import cuda_aware


class Info(dict[str, str]):
    freed = False

    def Free(self) -> None:
        self.freed = True


def mpi(version: str, **info: str) -> Any:
    given = Info(info)
    return SimpleNamespace(COMM_WORLD=SimpleNamespace(Get_info=lambda: given), Get_library_version=lambda: version)


def library(query: int | None = None, gpu: tuple[int, int] | None = None) -> Any:
    """A library with the functions of Open MPI or MPICH, or of Cray MPICH (`gpu`: its status and its answer), or with none."""
    found = SimpleNamespace()
    if query is not None:
        found.MPIX_Query_cuda_support = lambda: query
    if gpu is not None:

        def ask(kind: int, answer: Any) -> int:
            assert kind == 0
            ctypes.cast(answer, ctypes.POINTER(ctypes.c_int))[0] = gpu[1]
            return gpu[0]

        found.MPIX_GPU_query_support = ask
    return found


OPEN_MPI, MPICH = "Open MPI v5.0.11, package: Open MPI", "MPICH Version:      5.0.2\nMPICH Release date: today\0"


@pytest.mark.parametrize(
    ("version", "made", "info", "takes", "said"),
    [
        (OPEN_MPI, library(1), {}, True, "Open MPI v5.0.11: MPIX_Query_cuda_support() gave 1"),
        (OPEN_MPI, library(0), {}, False, "Open MPI v5.0.11: MPIX_Query_cuda_support() gave 0"),
        (MPICH, library(-1, (0, 1)), {}, False, "MPICH Version: 5.0.2: MPIX_Query_cuda_support() gave -1"),
        (MPICH, library(None, (0, 1)), {}, True, "MPICH Version: 5.0.2: MPIX_GPU_query_support(CUDA) gave 1"),
        (MPICH, library(None, (0, 0)), {}, False, "MPICH Version: 5.0.2: MPIX_GPU_query_support(CUDA) gave 0"),
        (MPICH, library(None, (5, 1)), {}, False, "MPICH Version: 5.0.2: MPIX_GPU_query_support(CUDA) gave 1, with the error 5"),
        ("Other MPI 1", library(), {}, False, "Other MPI 1 does not tell"),
        ("Other MPI 1", library(), {"mpi_memory_alloc_kinds": "mpi,system"}, False, "Other MPI 1 does not tell"),
        (
            "Other MPI 1",
            library(),
            {"mpi_memory_alloc_kinds": "mpi, cuda:device"},
            True,
            "mpi_memory_alloc_kinds is mpi, cuda:device",
        ),
        (MPICH, library(0), {"mpi_memory_alloc_kinds": "cudalike"}, False, "MPIX_Query_cuda_support() gave 0"),
    ],
)
def test_what_libraries_say(version: str, made: Any, info: dict[str, str], takes: bool, said: str) -> None:
    asked = mpi(version, **info)
    found = cuda_aware(asked, made)
    assert found.takes is takes and found.said.endswith(said), found
    assert asked.COMM_WORLD.Get_info().freed or takes
