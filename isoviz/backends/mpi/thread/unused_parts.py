"""The parts of Open MPI that isoviz does not need. Importing this module imports no MPI."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

_OSC = "OMPI_MCA_osc"
"""The environment variable for the parts that put; those of one part have longer names."""
_NETWORKS = {"OMPI_MCA_btl": "^ofi,tcp", "OMPI_MCA_mtl": "^ofi"}
"""What keeps ranks of one host off the network, by the environment variable of the parts that it is about."""


@contextlib.contextmanager
def without_unused_parts() -> Iterator[None]:
    """Have Open MPI start without parts that isoviz does not need, unless the user chose.

    UCX prints lines about itself for every rank. Where all ranks are on this computer, looking for networks with libfabric would
    take a second, and each rank would listen for others at a TCP port of every network that the computer has.
    """
    chosen = {}
    if not any(name.startswith(_OSC) for name in os.environ):
        chosen[_OSC] = "^ucx"
    here, everywhere = (os.environ.get(f"OMPI_COMM_WORLD_{which}") for which in ("LOCAL_SIZE", "SIZE"))
    if everywhere is not None and here == everywhere:
        chosen |= {name: value for name, value in _NETWORKS.items() if name not in os.environ}
    os.environ.update(chosen)
    try:
        yield
    finally:
        for name in chosen:
            del os.environ[name]
