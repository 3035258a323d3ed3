"""Whether the MPI library sends from and receives into memory of GPUs. Only the library knows, and not every library tells.

Open MPI and MPICH answer `MPIX_Query_cuda_support`, and Cray MPICH `MPIX_GPU_query_support`. MPI 4.1 has the attribute
`mpi_memory_alloc_kinds`, in which a kind `cuda` stands for such memory (MPI Memory Allocation Kinds Side Document, section 3).
"""

from __future__ import annotations

import ctypes
from typing import Any, NamedTuple

_CUDA = 0
"""MPIX_GPU_SUPPORT_CUDA."""
_KINDS = "mpi_memory_alloc_kinds"


class CudaAware(NamedTuple):
    """What an MPI library says of memory of GPUs: whether it takes its addresses, and its words, for people."""

    takes: bool
    said: str


def cuda_aware(mpi: Any, library: Any | None = None) -> CudaAware:
    """Ask the MPI library that `mpi4py.MPI` has loaded. MPI is initialised. `library` replaces it, for tests.

    A library that does not tell does not take them: wrong addresses would end the process.
    """
    if library is None:
        library = ctypes.CDLL(mpi.__file__)  # symbols are found in what it has loaded, too
    name = " ".join(mpi.Get_library_version().replace("\0", " ").split(",")[0].split("\n")[0].split())
    if (ask := _function(library, "MPIX_Query_cuda_support")) is not None:
        answer = int(ask())
        if answer == 1:
            return CudaAware(True, f"{name}: MPIX_Query_cuda_support() gave 1")
        said = f"{name}: MPIX_Query_cuda_support() gave {answer}"
    elif (ask := _function(library, "MPIX_GPU_query_support")) is not None:
        is_supported = ctypes.c_int(0)
        status = int(ask(_CUDA, ctypes.byref(is_supported)))
        if status == 0 and is_supported.value:
            return CudaAware(True, f"{name}: MPIX_GPU_query_support(CUDA) gave 1")
        said = f"{name}: MPIX_GPU_query_support(CUDA) gave {is_supported.value}" + (
            f", with the error {status}" if status else ""
        )
    else:
        said = f"{name} does not tell"
    info = mpi.COMM_WORLD.Get_info()
    try:
        kinds = str(info.get(_KINDS) or "")
    finally:
        info.Free()
    if any(kind.strip().partition(":")[0] == "cuda" for kind in kinds.split(",")):
        return CudaAware(True, f"{name}: {_KINDS} is {kinds}")
    return CudaAware(False, said)


def _function(library: Any, name: str) -> Any | None:
    """A function of the library; None if it has none of this name."""
    try:
        return getattr(library, name)
    except AttributeError:
        return None
