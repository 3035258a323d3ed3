"""An independent oracle: for fields of one size, `MPI_Pack` of a derived datatype gives the same bytes as our conversion."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

MPIEXEC = Path(sys.executable).parent / "mpiexec"
ROOT = Path(__file__).parents[2]


def mpiexec(ranks: int, *args: str) -> list[str]:
    """The command that starts Python on so many ranks, for either MPI that comes as a wheel."""
    version = subprocess.run([MPIEXEC, "--version"], capture_output=True, text=True, check=False, timeout=60).stdout
    more = ["--oversubscribe"] if "Open MPI" in version or "OpenRTE" in version else []
    return [str(MPIEXEC), *more, "-n", str(ranks), sys.executable, *args]


@pytest.mark.skipif(
    importlib.util.find_spec("mpi4py") is None or not MPIEXEC.exists(), reason="mpi4py and mpiexec are not installed here"
)
def test_mpi_pack_gives_the_same_bytes(full: bool, report: Callable[[str, object], None]) -> None:
    cases = 1000 if full else 100
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]),
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    }
    script = str(Path(__file__).with_name("mpi_pack_oracle.py"))
    command = mpiexec(2, script, str(cases))
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=250)
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout.strip().splitlines()[-1])
    assert found == {"ranks": 2, "agreed": 2 * cases}
    report("layout conversions equal to MPI_Pack", found["agreed"])
