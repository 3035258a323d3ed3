"""Ranks that another program starts: they find this process by a file, before or after it has written it."""

from __future__ import annotations

import json
import os
import socket
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
import rank_calls
from mpi_jobs import command, descendants, environment, kill, needs_mpi
from second_user import TwoUsers
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
        patch.setattr("isoviz.launch.groups.Path", Seen)
        with pytest.raises(LaunchError, match="2 of 2 ranks did not start in"):
            isoviz.ranks(2, attach=file, start_timeout=0.3)
    assert time.monotonic() - began > 0.3 and modes == [0o600]
    assert until(lambda: not list(tmp_path.iterdir()))
    with pytest.raises(InputError, match="expected a file that can be written"):
        isoviz.ranks(2, attach=tmp_path / "no/ranks.json")


WORKER = "isoviz.launch.worker.rank_worker"


def test_a_file_of_something_else_is_refused(tmp_path: Path) -> None:
    other = tmp_path / "other.json"
    for text in ("{}", "[" * 60_000, '{"address": 1, "secret": 2}', "no JSON"):
        other.unlink(missing_ok=True)
        other.touch(0o600)
        other.write_text(text)
        done = subprocess.run([sys.executable, "-m", WORKER, str(other)], env=environment(), capture_output=True, text=True)
        assert done.returncode == 1 and "Traceback" not in done.stderr
        assert "other.json: expected the file that isoviz.ranks(attach=FILE) writes" in done.stderr


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("open", "can be read by others"),
        ("shared", "can be changed by others"),
        ("link", "is a link"),
        ("pipe", "is no regular file"),
        ("folder", "is no regular file"),
    ],
)
def test_a_file_that_is_not_this_users_alone_is_refused(kind: str, words: str, tmp_path: Path) -> None:
    """A rank does what the writer of the file wants, so it does not even connect to the address in such a file."""
    real = file = tmp_path / "ranks.json"
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        if kind == "pipe":
            os.mkfifo(file, 0o600)
        elif kind == "folder":
            file.mkdir(0o700)
        else:
            real = tmp_path / "real.json" if kind == "link" else file
            real.touch(0o600)
            real.write_text(json.dumps({"address": f"127.0.0.1:{server.getsockname()[1]}", "secret": "00" * 32}))
            real.chmod({"open": 0o640, "shared": 0o620, "link": 0o600}[kind])
            if kind == "link":
                file.symlink_to(real)
        done = subprocess.run([sys.executable, "-m", WORKER, str(file)], env=environment(), capture_output=True, text=True)
        assert done.returncode == 1 and f"ranks.json: {words}; expected the file that isoviz.ranks(attach=FILE)" in done.stderr
        with pytest.raises(BlockingIOError):
            server.accept()


def test_a_file_of_another_user_is_refused(users: TwoUsers) -> None:
    file = users.shared / "ranks.json"
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        told = json.dumps({"address": f"127.0.0.1:{server.getsockname()[1]}", "secret": "00" * 32})
        users.attacker.writes(file, told, 0o644)
        done = users.victim.run(sys.executable, "-P", "-m", WORKER, file)
        assert done.returncode == 1 and "ranks.json: belongs to another user; expected the file that" in done.stderr
        with pytest.raises(BlockingIOError):
            server.accept()


def test_a_pipe_in_the_place_of_the_file_stays_and_is_not_waited_for(tmp_path: Path) -> None:
    """Somebody who can write to the folder of the file puts a pipe there, while ranks are awaited."""
    file = tmp_path / "ranks.json"

    def plant() -> None:
        assert until(file.exists)
        file.unlink()
        os.mkfifo(file)

    planting = threading.Thread(target=plant)
    planting.start()
    with pytest.raises(LaunchError, match="2 of 2 ranks did not start in"):
        isoviz.ranks(2, attach=file, start_timeout=1.0)
    planting.join()
    assert file.is_fifo()
