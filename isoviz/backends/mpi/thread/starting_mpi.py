"""How MPI starts: without what isoviz does not need, and without the working directory. Importing this module imports no MPI."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

_OSC = "OMPI_MCA_osc"
"""The environment variable for the parts that put; those of one part have longer names."""
_NETWORKS = {"OMPI_MCA_btl": "^ofi,tcp", "OMPI_MCA_mtl": "^ofi", "UCX_TLS": "^tcp"}
"""What keeps ranks of one host off the network, by environment variable: of Open MPI, and of UCX, which MPICH may use."""
_COUNTS = (("OMPI_COMM_WORLD_LOCAL_SIZE", "OMPI_COMM_WORLD_SIZE"), ("MPI_LOCALNRANKS", "PMI_SIZE"))
"""The environment variables with the number of ranks of this host and of all, for Open MPI and MPICH."""


@contextlib.contextmanager
def starting_mpi() -> Iterator[None]:
    """A block in which `mpi4py.MPI` is imported and MPI starts: without parts that isoviz does not need, unless the user chose.

    UCX prints lines about itself for every rank of Open MPI. Where all ranks are on this computer, looking for networks with
    libfabric would take a second, and each rank would listen for others at a TCP port of every network that the computer has.

    Meanwhile the working directory is `/`: UCX would read a file `ucx.conf` there, which may name libraries to load.
    """
    chosen = {}
    if not any(name.startswith(_OSC) for name in os.environ):
        chosen[_OSC] = "^ucx"
    if any(os.environ.get(here) == os.environ.get(everywhere, "") for here, everywhere in _COUNTS):
        chosen |= {name: value for name, value in _NETWORKS.items() if name not in os.environ}
    os.environ.update(chosen)
    here = os.open(".", os.O_RDONLY | getattr(os, "O_PATH", 0) | os.O_CLOEXEC)
    os.chdir("/")
    try:
        yield
    finally:
        os.fchdir(here)
        os.close(here)
        for name in chosen:
            del os.environ[name]
