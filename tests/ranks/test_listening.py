"""Ranks of one host are not reached through the network: none of their processes waits for connections."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from mpi_jobs import MPIEXEC, environment, is_open_mpi, kill, needs_mpi
from rank_calls import open_ports

import isoviz

pytestmark = [needs_mpi, pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks into /proc")]
PROGRAM = """
import os
from isoviz.launch.this_rank import rank_session
from rank_calls import open_ports
rank_session()
print("open:", sorted({*open_ports()} - {*open_ports(os.getppid())}), flush=True)
"""


def mpiexec(*program: str) -> list[str]:
    """The command for two ranks, with nothing chosen about networks."""
    more = ["--oversubscribe"] if is_open_mpi() else []
    return [str(MPIEXEC), *more, "-n", "2", sys.executable, "-P", *program]


def of_all(ranks: isoviz.Ranks) -> list[list[str]]:
    """The open ports of the ranks, and of the processes that wait for them.

    Without what they have inherited from the launcher: that of MPICH leaves its own socket open in all that it starts.
    """
    first = ranks.call(os.getppid)
    inherited = {port for pid in first for port in open_ports(parent_of(pid))}
    return [sorted({*ports} - inherited) for ports in (*ranks.call(open_ports), *map(open_ports, first))]


def parent_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[1])


def test_ranks_of_a_client() -> None:
    with isoviz.ranks(2) as ranks:
        assert of_all(ranks) == [[], [], [], []]


def test_ranks_of_another_program(tmp_path: Path) -> None:
    file = tmp_path / "ranks.json"
    command = mpiexec("-m", "isoviz.launch.worker.rank_worker", str(file))
    with subprocess.Popen(command, env=environment(), start_new_session=True) as job:
        try:
            with isoviz.ranks(2, attach=file, start_timeout=120) as ranks:
                assert of_all(ranks) == [[], [], [], []]
        finally:
            kill(job)


def test_programs_of_ranks() -> None:
    command = mpiexec("-c", PROGRAM)
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=240, check=False)
    assert done.stdout.count("[]") == 2, done.stdout + done.stderr


def test_the_user_chooses_the_parts_of_mpi(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(*(("OMPI_MCA_btl", "self,sm,tcp") if is_open_mpi() else ("UCX_TLS", "self,sm,tcp")))
    with isoviz.ranks(2) as ranks:
        assert all(of_all(ranks)[:2])
