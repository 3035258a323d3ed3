"""The MPI that starts ranks: finding `mpiexec`, recognising whose it is, and the command and environment of a job."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from isoviz.errors import InputError, MissingPartError, show
from isoviz.this_computer import usable_cpus

_PATIENCE = 20
_THREADS = ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
MOST_RANKS = 4096


@dataclass(frozen=True)
class Mpi:
    """An `mpiexec`: its path, the library that it belongs to ("Open MPI", "MPICH" or "MPI" if unknown) and its version."""

    mpiexec: str
    library: str
    version: str

    def __str__(self) -> str:
        return f"{self.library} {self.version}".strip()

    def command(
        self,
        ranks: int,
        program: Sequence[str],
        options: Sequence[str] = (),
        shared_folder: str | None = None,
        variables: Iterable[str] = (),
    ) -> list[str]:
        """The command that starts `ranks` processes of a program.

        `options` are the caller's own options of `mpiexec`. `shared_folder` is a folder on a memory file system for the library's
        files, if all ranks run on this computer. `variables` are names of environment variables that ranks on other hosts need.
        """
        found = [self.mpiexec]
        if self.library == "Open MPI":
            # Ranks may outnumber processors. The copy threads of a rank must not all share the one processor that Open MPI
            # would bind it to. `ob1` moves bytes itself and needs no network library; one-sided
            # operations over UCX would need UCX for the rest, too.
            found += ["--oversubscribe", "--bind-to", "none", "--mca", "pml", "ob1", "--mca", "osc", "^ucx"]
            if shared_folder is not None:
                found += ["--mca", "btl_sm_backing_directory", shared_folder]
            for name in variables:  # MPICH passes the whole environment on. The values stay out of the list of processes.
                found += ["-x", name]
        return [*found, *options, "-n", str(ranks), *program]

    def environment(self) -> dict[str, str]:
        """Variables for the environment of `mpiexec`, unless the user has set them."""
        if self.library == "Open MPI" and os.geteuid() == 0:
            return {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        return {}


def find_mpi(mpiexec: str | Path | None = None) -> Mpi:
    """The `mpiexec` beside this Python, or the one that is named: a path, or the name of a program.

    Raises:
        MissingPartError: there is none beside this Python.
        InputError: the named one does not exist or cannot be run.
    """
    if mpiexec is None:
        path = Path(sys.executable).parent / "mpiexec"
        if not path.exists():
            raise MissingPartError("MPI (mpiexec)", "mpi")
        return _recognised(str(path))
    found = shutil.which(os.fspath(mpiexec))
    if found is None:
        raise InputError(f"ranks: mpiexec={show(str(mpiexec))}; expected the path of a program that starts MPI processes")
    return _recognised(str(Path(found).absolute()))


@lru_cache(maxsize=16)
def _recognised(path: str) -> Mpi:
    try:
        ran = subprocess.run(  # noqa: S603  # the program that the user named, or the environment's own
            [path, "--version"], stdin=subprocess.DEVNULL, capture_output=True, timeout=_PATIENCE, check=False, text=True
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise InputError(f"ranks: {path} --version failed ({error}); expected an mpiexec that works") from None
    said = f"{ran.stdout}\n{ran.stderr}"
    if "Open MPI" in said or "OpenRTE" in said or "PRRTE" in said:
        library = "Open MPI"
    elif "HYDRA" in said or "MPICH" in said or "Intel(R) MPI" in said:
        library = "MPICH"
    else:
        library = "MPI"
    number = re.search(r"[0-9]+\.[0-9]+[0-9.]*", said)
    return Mpi(path, library, number[0] if number else "")


def thread_limits(ranks: int, environment: Mapping[str, str]) -> dict[str, str]:
    """Variables that give each rank its share of the processors for threads of numeric libraries, unless the user set them."""
    share = str(max(1, usable_cpus() // ranks))
    return {name: share for name in _THREADS if name not in environment}


def check_ranks(ranks: object) -> int:
    """The number of ranks that was asked for.

    Raises:
        InputError: it is none.
    """
    if isinstance(ranks, bool) or not isinstance(ranks, int) or not 1 <= ranks <= MOST_RANKS:
        raise InputError(f"ranks({show(ranks)}): expected a whole number of ranks from 1 to {MOST_RANKS}")
    return ranks
