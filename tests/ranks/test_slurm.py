"""Slurm on this computer: batch jobs that run plans, and a program on the login node whose ranks are a batch job."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hosts import Hosts, why_not
from mpi_jobs import MPIEXEC, ROOT, is_open_mpi, needs_mpi
from slurm_here import Slurm, why_no_slurm
from test_several_hosts import BETWEEN
from waiting import until

HERE = Path(__file__).parent
PAGE = ROOT / "examples/ranks.md"
pytestmark = [needs_mpi, pytest.mark.full]


@pytest.fixture(scope="module")
def slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Slurm]:
    """A login node and two compute nodes."""
    reason = why_not() or why_no_slurm()
    if reason is not None:
        pytest.skip(reason)
    folder = tmp_path_factory.mktemp("slurm")
    with Hosts(3, folder) as hosts:
        with Slurm(hosts, folder) as found:
            (folder / "between.toml").write_text(BETWEEN)
            yield found
        assert until(lambda: not hosts.left()), hosts.left()


def script_of_page(number: int, folder: Path) -> Path:
    """A batch script of the page of ranks, which finds the programs of this environment."""
    text = re.findall(r"```bash\n(#!/bin/bash\n.*?)```", PAGE.read_text(), re.S)[number]
    first, rest = text.split("\n", 1)
    activate = f"export PATH={MPIEXEC.parent}:$PATH PYTHONPATH={ROOT}\n"
    script = folder / f"job{number}.sh"
    script.write_text(re.sub(r"(?m)^(?!#)", activate, f"{first}\n#SBATCH --output={folder}/job{number}.out\n{rest}", count=1))
    return script


def test_a_batch_job_runs_a_plan(slurm: Slurm) -> None:
    script = script_of_page(0, slurm.folder)
    output = slurm.folder / "job0.out"
    try:
        slurm.run("sbatch", "--wait", script, seconds=30)
    finally:
        said = output.read_text() if output.exists() else ""
    assert "verified" in said, said


@pytest.mark.skipif(needs_mpi.args[0] or is_open_mpi(), reason="the wheel of Open MPI does not talk to srun; that of MPICH does")
def test_a_program_attaches_to_a_batch_job(slurm: Slurm) -> None:
    script = script_of_page(1, slurm.folder)
    file = slurm.folder / "ranks.json"
    command = [sys.executable, HERE / "notebook_far.py", "4", slurm.hosts.addresses[0], "--attach", file]
    pipe = subprocess.PIPE
    with subprocess.Popen(
        slurm.hosts.on(0, *command), env=slurm.environment, cwd=slurm.folder, stdout=pipe, stderr=pipe, text=True
    ) as notebook:
        try:
            slurm.run("sbatch", "--wait", script, seconds=30)
            out, err = notebook.communicate(timeout=250)
        finally:
            notebook.kill()
    said = (slurm.folder / "job1.out").read_text()
    assert notebook.returncode == 0, f"{err}\n{said}\n{slurm.logs()}"
    found = json.loads(out)
    _, first, second = slurm.hosts.names
    assert found["verified"] and sorted(set(found["hosts"])) == [first, second] and len(found["hosts"]) == 4
    assert not file.exists()
