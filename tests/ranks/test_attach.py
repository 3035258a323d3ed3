"""Ranks that another program starts: they find this process by a file, before or after it has written it."""

from __future__ import annotations

import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest
import rank_calls
from mpi_jobs import command, descendants, environment, kill, needs_mpi
from waiting import until

import isoviz
from isoviz.errors import InputError, LaunchError, RankLost
from isoviz.launch import guardian

pytestmark = pytest.mark.usefixtures("no_leaked_threads")


def job(file: Path, ranks: int = 2) -> subprocess.Popen[str]:
    """What a batch script starts."""
    args = command(ranks, "-m", "isoviz.launch.worker.rank_worker", str(file))
    return subprocess.Popen(args, env=environment(), stderr=subprocess.PIPE, text=True, start_new_session=True)


@needs_mpi
def test_ranks_of_another_program_attach_and_end_with_the_client(tmp_path: Path) -> None:
    file = tmp_path / "ranks.json"
    with job(file) as started:  # It waits for the file.
        try:
            with isoviz.ranks(2, attach=file, start_timeout=60) as ranks:
                assert not file.exists()
                assert ranks.call(rank_calls.summed, 1) == [3, 3]
                assert ranks.call(rank_calls.environment, "ISOVIZ_RANKS_SECRET") == [None, None]
            assert started.wait(120) == 0
        finally:
            kill(started)


@needs_mpi
@pytest.mark.full
def test_the_end_of_the_other_program_is_a_lost_rank(tmp_path: Path) -> None:
    file = tmp_path / "ranks.json"
    with job(file) as started:
        try:
            with isoviz.ranks(2, attach=file, start_timeout=60) as ranks:
                files = guardian.mapped_files(descendants(started.pid))
                kill(started)
                guardian.remove([], files)  # A killed MPICH leaves them; the processes are none of isoviz's.
                with pytest.raises(RankLost, match=r"waits for those of another job"):
                    ranks.call(rank_calls.summed, 1)
        finally:
            kill(started)


def test_a_job_that_never_comes_is_given_up(tmp_path: Path) -> None:
    file = tmp_path / "ranks.json"
    modes = []

    class Seen(type(file)):  # type: ignore[misc]
        """Notes the mode of the file before it goes."""

        def unlink(self, missing_ok: bool = False) -> None:
            if self.exists():
                modes.append(stat.S_IMODE(self.stat().st_mode))
            super().unlink(missing_ok)

    began = time.monotonic()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("isoviz.launch.processes.awaited.Path", Seen)
        with pytest.raises(LaunchError, match="2 of 2 ranks did not start in"):
            isoviz.ranks(2, attach=file, start_timeout=0.3)
    assert time.monotonic() - began > 0.3 and modes == [0o600]
    assert until(lambda: not list(tmp_path.iterdir()))
    with pytest.raises(InputError, match="expected a file that can be written"):
        isoviz.ranks(2, attach=tmp_path / "no/ranks.json")


def test_a_file_of_something_else_is_refused(tmp_path: Path) -> None:
    other = tmp_path / "other.json"
    other.write_text("{}")
    done = subprocess.run(
        [sys.executable, "-m", "isoviz.launch.worker.rank_worker", str(other)], env=environment(), capture_output=True, text=True
    )
    assert done.returncode == 1 and "other.json: expected the file that isoviz.ranks(attach=FILE) writes" in done.stderr
