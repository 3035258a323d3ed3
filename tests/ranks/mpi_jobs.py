"""Jobs of MPI ranks for tests: started with the mpiexec of this environment, and ended as a whole at a time limit."""

from __future__ import annotations

import functools
import importlib.util
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

MPIEXEC = Path(sys.executable).parent / "mpiexec"
ROOT = Path(__file__).parents[2]
needs_mpi = pytest.mark.skipif(
    importlib.util.find_spec("mpi4py") is None or not MPIEXEC.exists(), reason="mpi4py and mpiexec are not installed here"
)


@functools.cache
def is_open_mpi() -> bool:
    """Whether this environment has Open MPI, and not MPICH."""
    version = subprocess.run([MPIEXEC, "--version"], capture_output=True, text=True, check=False, timeout=250).stdout
    return "Open MPI" in version or "OpenRTE" in version


def command(ranks: int, *args: str, survivors: bool = False) -> list[str]:
    """The command that starts Python on some ranks, for either MPI that comes as a wheel.

    With `survivors`, the other ranks go on when one has ended: Open MPI can do that. A shell keeps the end, and the
    signal that follows it, from MPICH.
    """
    more = ["--oversubscribe", "--mca", "pml", "ob1", "--mca", "osc", "^ucx"] if is_open_mpi() else []
    if survivors:
        more += ["--with-ft", "ulfm"] if is_open_mpi() else ["-disable-auto-cleanup"]
    shell = ["sh", "-c", 'trap "" USR1; "$@"; true', "sh"] if survivors and not is_open_mpi() else []
    return [str(MPIEXEC), *more, "-n", str(ranks), *shell, sys.executable, *args]


PATIENCE = 1.0 if os.environ.get("ISOVIZ_FULL", "0") in ("", "0") else 3.0
"""With every count, a job may run for this many times the seconds of its test: the machine may be busy."""


def environment(seconds: float = 240) -> dict[str, str]:
    """The environment of a job that ends within some seconds. Before that, its ranks print where they are stuck."""
    return {
        **os.environ,
        "RANK_SECONDS": str(0.95 * seconds),
        "PYTHONPATH": os.pathsep.join([str(ROOT), *map(str, Path(__file__).parents[:2]), os.environ.get("PYTHONPATH", "")]),
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    }


def run(ranks: int, *args: str, seconds: float = 120, survivors: bool = False) -> subprocess.CompletedProcess[str]:
    """Run a job to its end. At the time limit all of its processes are killed, and the test fails with what they printed.

    MPICH makes groups of its own for the ranks, so the descendants of mpiexec are killed one by one, too.
    A job whose launcher failed before it started a rank is begun once more.
    """
    done = _run(ranks, *args, seconds=seconds * PATIENCE, survivors=survivors)
    if NOT_STARTED in done.stderr:
        done = _run(ranks, *args, seconds=seconds * PATIENCE, survivors=survivors)
    return done


def _run(ranks: int, *args: str, seconds: float, survivors: bool) -> subprocess.CompletedProcess[str]:
    job = subprocess.Popen(
        command(ranks, *args, survivors=survivors),
        env=environment(seconds),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        out, err = job.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        kill(job)
        out, err = job.communicate()
        pytest.fail(f"the ranks did not end within {seconds:.0f} s\n{out[-3000:]}\n{err[-3000:]}")
    except BaseException:
        kill(job)
        job.communicate()
        raise
    return subprocess.CompletedProcess(job.args, job.returncode, out, err)


def kill(job: subprocess.Popen[str]) -> None:
    """Kill mpiexec and all processes that it started."""
    for process in [*descendants(job.pid), job.pid]:
        for send in (os.kill, os.killpg):
            try:
                send(process, signal.SIGKILL)
            except (ProcessLookupError, PermissionError):
                continue


def descendants(process: int) -> list[int]:
    """The processes that a process started, directly or not."""
    parents: dict[int, list[int]] = {}
    for place in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = place.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        parents.setdefault(int(fields[1]), []).append(int(place.parent.name))
    found: list[int] = []
    waiting = [process]
    while waiting:
        children = parents.get(waiting.pop(), [])
        found += children
        waiting += children
    return found


NOT_STARTED = "The PMIx server's listener thread failed to start"
"""What Open MPI's launcher says, rarely and on a busy computer, before it has started a rank."""


def run_json(ranks: int, *args: str, seconds: float = 120) -> Any:
    """Run a job that ends well, and the JSON of the last line that it printed."""
    done = run(ranks, *args, seconds=seconds)
    assert done.returncode == 0, f"{done.stdout[-1500:]}\n{done.stderr[-3000:]}"
    return json.loads(done.stdout.strip().splitlines()[-1])
