"""Surroundings of jobs of ranks, for all of their tests."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import mpi_jobs
import pytest
from hosts import Hosts, why_not


@pytest.fixture(scope="module", autouse=True)
def kernels_of_jobs(full: bool) -> Iterator[None]:
    """In `make test`, NumPy copies in the processes of jobs: each would load the compiled kernels for most of a second."""
    with pytest.MonkeyPatch.context() as patch:
        if not full:
            patch.setenv("ISOVIZ_KERNELS", "numpy")
        yield


@pytest.fixture
def compiled_kernels(kernels_of_jobs: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Jobs copy with compiled kernels, also in `make test`."""
    monkeypatch.delenv("ISOVIZ_KERNELS", raising=False)


@pytest.fixture(scope="module")
def two_hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hosts]:
    """Two hosts, joined by a link that is slower than a busy computer."""
    reason = why_not()
    if reason is not None:
        pytest.skip(reason)
    with Hosts(2, tmp_path_factory.mktemp("hosts"), "500mbit") as hosts:
        yield hosts


@pytest.fixture
def small_shared_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Jobs have a /dev/shm of their own, of 40 MiB: enough for MPI to start."""
    mount = "mount -t tmpfs -o size=40m tmpfs /dev/shm"
    if subprocess.run(["unshare", "-m", "sh", "-c", mount], capture_output=True, check=False).returncode:
        pytest.skip("needs the right to make a mount namespace (root)")
    within, plain = ["unshare", "-m", "sh", "-c", f'{mount} && exec "$@"', "sh"], mpi_jobs.command
    monkeypatch.setattr(mpi_jobs, "command", lambda *args, **options: [*within, *plain(*args, **options)])


@pytest.fixture
def own_process_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each rank of a job is process 1 of a PID namespace of its own, as in containers."""
    within = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"]
    if subprocess.run([*within, "true"], capture_output=True, check=False).returncode:
        pytest.skip("needs the right to make a PID namespace (root)")
    plain = mpi_jobs.command

    def each_within(*args: Any, **options: Any) -> list[str]:
        words = plain(*args, **options)
        at = words.index(sys.executable)
        return [*words[:at], *within, *words[at:]]

    monkeypatch.setattr(mpi_jobs, "command", each_within)
