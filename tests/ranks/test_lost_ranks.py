"""Ranks are killed, stopped and ended in every way, for real: each time one error says what happened, and nothing is left."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psutil
import pytest
import rank_calls
from left_over import Belongings, descriptors
from mpi_jobs import command, descendants, environment, needs_mpi
from waiting import until

import isoviz
from isoviz.errors import LaunchError, RankLost
from isoviz.launch import groups, guardian

pytestmark = [needs_mpi, pytest.mark.usefixtures("no_leaked_threads")]

Strike = Callable[[isoviz.Ranks, Belongings], None]


def one_rank(number: signal.Signals) -> Strike:
    return lambda ranks, _: os.kill(ranks.processes[1].pid, number)


UNGUARDED = "the process that guards the ranks was killed"
STRIKES: dict[str, tuple[Strike, str]] = {
    "rank killed": (one_rank(signal.SIGKILL), r"rank 1 \(pid {pid}\) was killed by SIGKILL, as the system does when"),
    "rank terminated": (one_rank(signal.SIGTERM), r"rank 1 \(pid {pid}\) was killed by SIGTERM"),
    "rank crashed": (one_rank(signal.SIGSEGV), r"rank 1 \(pid {pid}\) was killed by SIGSEGV"),
    "rank stopped": (one_rank(signal.SIGSTOP), r"rank 1 \(pid {pid}\) was stopped \(SIGSTOP\)"),
    "mpiexec killed": (lambda _, belongings: belongings.mpiexec.kill(), "mpiexec was killed by SIGKILL"),
    "guardian killed": (lambda _, belongings: belongings.guardian.kill(), "the process that guards the ranks was killed"),
    "guardian terminated": (
        lambda _, belongings: belongings.guardian.terminate(),
        "the process that guards the ranks was killed",
    ),
}
QUICK = ((2, "rank stopped"), (2, "mpiexec killed"), (2, "guardian killed"), (2, "rank killed"))


def waiting(ranks: isoviz.Ranks, pool: ThreadPoolExecutor) -> list[Future[list[object]]]:
    """Two calls that no rank ever answers; the first has begun on all ranks."""
    begun = threading.Semaphore(0)
    found = [pool.submit(ranks.call, rank_calls.hang, tell=lambda *_: begun.release())]
    for _ in range(len(ranks)):
        assert begun.acquire(timeout=250)
    return [*found, pool.submit(ranks.call, rank_calls.pid)]


@pytest.mark.parametrize(
    ("count", "what"),
    [pytest.param(count, what, marks=() if (count, what) in QUICK else pytest.mark.full) for count in (2, 4) for what in STRIKES],
)
def test_every_waiting_call_ends_with_one_error(count: int, what: str, report: Callable[[str, object], None]) -> None:
    strike, words = STRIKES[what]
    open_before = descriptors()
    with isoviz.ranks(count) as ranks, ThreadPoolExecutor(4) as pool:
        belongings = Belongings(ranks)
        calls = waiting(ranks, pool)
        pid = ranks.processes[1].pid
        began = time.perf_counter()
        strike(ranks, belongings)
        errors = [call.exception(120) for call in calls]
        report(f"seconds until the error: {what}", round(time.perf_counter() - began, 2))
        assert errors[0] is errors[1] and isinstance(errors[0], RankLost)
        assert belongings.left() == []
        with pytest.raises(
            RankLost, match=words.format(pid=pid) + rf".*; the ranks were ended; isoviz\.ranks\({count}\)"
        ) as lost:
            ranks.call(rank_calls.pid)
        assert ranks.error is lost.value and not ranks.is_alive and str(lost.value) in repr(ranks)
        assert (lost.value.rank, lost.value.pid) == ((1, pid) if "rank" in what else (None, None))
    assert until(lambda: descriptors() == open_before), "descriptors are left open"


@pytest.mark.parametrize(
    ("what", "words"),
    [
        ("exits with 3", "ended by itself with status 3"),
        pytest.param("exits with 0", "ended by itself with status 0", marks=pytest.mark.full),
        pytest.param("SIGSEGV", "was killed by SIGSEGV", marks=pytest.mark.full),
        pytest.param("aborts", "called MPI_Abort", marks=pytest.mark.full),
    ],
)
def test_a_rank_that_ends_itself_is_named_while_others_wait_in_mpi(what: str, words: str) -> None:
    with isoviz.ranks(4) as ranks:
        belongings = Belongings(ranks)
        pid = ranks.processes[3].pid
        with pytest.raises(RankLost, match=rf"rank 3 \(pid {pid}\) {words}; the ranks were ended"):
            ranks.call(rank_calls.only_on, 3, what)
        assert belongings.left() == []


def test_lost_ranks_start_again() -> None:
    with isoviz.ranks(2) as ranks:
        before = Belongings(ranks)
        os.kill(ranks.processes[0].pid, signal.SIGKILL)
        assert until(lambda: not ranks.is_alive)
        assert ranks.start_again() is ranks
        assert ranks.call(rank_calls.summed, 0) == [1, 1]
        after = Belongings(ranks)
        assert not set(before.processes) & set(after.processes) and before.left() == []
    assert after.left() == []


def test_a_silent_rank_is_lost() -> None:
    """Its process lives, but its threads are stuck: it holds Python's lock for ever."""
    with isoviz.ranks(2, heartbeat=0.1, silence=3.0) as ranks:
        belongings = Belongings(ranks)
        with pytest.raises(RankLost, match=r"rank 1 \(pid [0-9]+\) has not answered for [0-9]+ s; the ranks were ended"):
            ranks.call(rank_calls.hold_the_lock, 1)
        assert belongings.left() == []


def test_closing_ends_calls_that_do_not_end() -> None:
    ranks = isoviz.ranks(2)
    belongings = Belongings(ranks)
    with ThreadPoolExecutor(4) as pool:
        calls = waiting(ranks, pool)
        ranks.close()
        assert all("the ranks are closed" in str(call.exception(120)) for call in calls)
    assert belongings.left() == []


def test_a_rank_that_dies_while_it_starts_is_told(tmp_path: Path) -> None:
    (tmp_path / "mpi4py").mkdir()
    (tmp_path / "mpi4py/__init__.py").write_text(
        "import os\nif os.environ.get('PMI_RANK', os.environ.get('OMPI_COMM_WORLD_RANK')) == '1': os.kill(os.getpid(), 9)\n"
        "import signal\nsignal.pause()\n"
    )
    path = os.pathsep.join([str(tmp_path), str(Path(isoviz.__file__).parents[1])])
    with pytest.raises((LaunchError, RankLost), match="was killed by SIGKILL"):
        isoviz.ranks(2, environment={"PYTHONPATH": path})


# ---- the client's own end

SCRIPT = """
import sys, threading, os, signal
sys.path.insert(0, {folder!r})
import isoviz, rank_calls
from left_over import Belongings
begun = threading.Semaphore(0)
ranks = isoviz.ranks(2{options})
belongings = Belongings(ranks)
print(*(process.pid for process in belongings.processes))
print(*belongings.folders, *belongings.files, flush=True)
def tell(*_):
    begun.release()
threading.Thread(target=lambda: (begun.acquire(), begun.acquire(), print("begun", flush=True)), daemon=True).start()
{rest}
"""


def started(rest: str, options: str = "") -> tuple[subprocess.Popen[str], list[psutil.Process], list[Path]]:
    """A script that has ranks which are busy; the processes and files of its ranks."""
    script = SCRIPT.format(folder=str(Path(__file__).parent), options=options, rest=rest)
    running = subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    )
    assert running.stdout is not None
    pids = running.stdout.readline().split()
    assert all(map(str.isdigit, pids)), pids
    files = [Path(name) for name in running.stdout.readline().split()]
    processes = [psutil.Process(int(pid)) for pid in pids]
    assert len(processes) >= 6 and all(file.exists() for file in files)
    assert running.stdout.readline() == "begun\n"
    return running, processes, files


def interrupted(running: subprocess.Popen[str]) -> str:
    """What a script writes that is interrupted as in a terminal. Python drops a Ctrl-C inside a callback of its collector."""
    for _ in range(3):
        os.killpg(running.pid, signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            return running.communicate(timeout=250)[0]
    raise AssertionError("Ctrl-C does not end it")


def gone(process: psutil.Process) -> bool:
    try:
        return process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


@pytest.mark.parametrize("number", [signal.SIGKILL, pytest.param(signal.SIGTERM, marks=pytest.mark.full)])
def test_ranks_end_with_their_client(number: signal.Signals) -> None:
    running, processes, files = started("ranks.call(rank_calls.hang, tell=tell)")
    with running:
        running.send_signal(number)
        running.wait(120)
        assert until(lambda: all(map(gone, processes))), processes
        assert until(lambda: not any(file.exists() for file in files)), files


def test_ranks_end_with_a_killed_client_whose_forked_child_lives() -> None:
    """The child holds copies of all descriptors of its parent, so no pipe ends with the parent."""
    running, processes, files = started("if not os.fork(): signal.pause()\nranks.call(rank_calls.hang, tell=tell)")
    with running:
        child = psutil.Process(running.pid).children()
        child = [process for process in child if process not in processes]
        try:
            running.kill()
            running.wait(120)
            assert len(child) == 1 and not gone(child[0])
            assert until(lambda: all(map(gone, processes))), processes
            assert until(lambda: not any(file.exists() for file in files)), files
        finally:
            for process in child:
                process.kill()


STARTS = """
import os, subprocess, sys
import isoviz
start = subprocess.Popen
def killed(*args, **options):
    if not any("guardian" in word for word in args[0]):
        return start(*args, **options)
    print(args[0][-1], flush=True)  # what it is asked: its folders are in it
    {how}
subprocess.Popen = killed
isoviz.ranks(2)
"""


@pytest.mark.parametrize(
    "how",
    [
        "os.kill(os.getpid(), 9)",
        "start(*args, **options); os.kill(os.getpid(), 9)",
        "guard = start(*args, **options); guard.stdout.readline(); guard.kill(); os.kill(os.getpid(), 9)",
        "raise KeyboardInterrupt",
    ],
    ids=["before its guardian", "while its guardian starts", "with its guardian", "by Ctrl-C"],
)
@pytest.mark.few(2)
def test_a_start_that_ends_early_leaves_no_folder(how: str, tmp_path: Path) -> None:
    """A folder that a killed guardian leaves goes with the next start."""
    variables = os.environ | {"TMPDIR": str(tmp_path)}
    script = [sys.executable, "-c", STARTS.format(how=how)]
    done = subprocess.run(script, env=variables, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    assert done.returncode != 0
    folders = [Path(name) for name in json.loads(done.stdout)[1]]
    assert folders[0].parent == tmp_path

    def none_left() -> bool:
        if "guard.kill" in how:  # as the next start does
            for folder in folders:
                guardian.remove_left(str(folder.parent))
        return not any(folder.exists() for folder in folders)

    assert until(none_left), folders


def test_folders_of_living_guardians_stay(tmp_path: Path) -> None:
    """So does a folder of the user's own with a name like theirs, and every one where others may have renamed it."""
    left, living = (tmp_path / f"isoviz-job-{k:016x}" for k in (1, 2))
    others = [tmp_path / name for name in ("isoviz-job-notes", "isoviz-lab")]
    for folder in (left, *others):
        folder.mkdir()
        (folder / "file").touch()
    lock = guardian.make_locked(str(living))
    tmp_path.chmod(0o770)
    guardian.remove_left(str(tmp_path))
    assert sorted(tmp_path.iterdir()) == sorted([left, living, *others])
    tmp_path.chmod(0o1770)
    guardian.remove_left(str(tmp_path))
    assert sorted(tmp_path.iterdir()) == sorted([living, *others])
    os.close(lock)
    guardian.remove_left(str(tmp_path))
    assert sorted(tmp_path.iterdir()) == others


def test_a_folder_that_cannot_be_made_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    missing = tmp_path / "missing"
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(missing))
    with pytest.raises(LaunchError, match=rf"{missing}/isoviz-job-[0-9a-f]+: No such file or directory"):
        isoviz.ranks(2)


def test_a_job_that_ends_while_it_is_being_made_has_said_why(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    class Ended(groups.Job):
        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__(*args, **options)
            client = options["on_end"].__self__
            assert until(lambda: client.error is not None)

    missing = tmp_path / "missing"
    monkeypatch.setattr(groups, "Job", Ended)
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(missing))
    with pytest.raises(LaunchError, match=rf"{missing}/isoviz-job-[0-9a-f]+: No such file or directory"):
        isoviz.ranks(2)


PROGRAM = """
import re, signal
from pathlib import Path
from isoviz.launch.this_rank import rank_session
session = rank_session()
names = "mpich_|sm_segment|vader_segment"
mapped = set(re.findall(rf"/dev/shm/(?:{names})[^ \\n]*", Path("/proc/self/maps").read_text()))
print("files", *mapped, flush=True)
signal.pause()
"""


@needs_mpi
def test_a_program_of_ranks_whose_mpiexec_is_killed_leaves_no_shared_memory() -> None:
    job = subprocess.Popen(
        command(2, "-c", PROGRAM), env=environment(), stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    with job:
        assert job.stdout is not None
        try:
            files = {Path(name) for _ in range(2) for name in job.stdout.readline().split()[1:]}
            ranks = [psutil.Process(pid) for pid in descendants(job.pid)]
        finally:
            job.kill()
    assert files
    assert until(lambda: all(map(gone, ranks))), ranks
    assert until(lambda: not any(file.exists() for file in files)), files


def test_ctrl_c_stops_the_waiting_and_not_the_ranks() -> None:
    rest = """
try:
    ranks.call(rank_calls.work_until_cancelled, tell=tell)
except KeyboardInterrupt:
    print("interrupted", ranks.call(rank_calls.summed, 1), ranks.is_alive)
ranks.close()
print("left", belongings.left())
"""
    running, _, _ = started(rest)
    with running:
        output = interrupted(running)
    assert output == "interrupted [3, 3] True\nleft []\n" and running.returncode == 0


@pytest.mark.full
def test_a_client_that_was_stopped_does_not_lose_its_ranks() -> None:
    """Ctrl-Z and `fg`: the silence was the client's own."""
    rest = """
begun.release(2)
signal.signal(signal.SIGUSR1, lambda *_: None)
signal.pause()
print(ranks.call(rank_calls.summed, 1), ranks.is_alive, flush=True)
ranks.close()
"""
    running, processes, _ = started(rest, ", heartbeat=0.1, silence=2.0")
    with running:
        stopped = time.monotonic()
        running.send_signal(signal.SIGSTOP)
        try:
            until(lambda: time.monotonic() > stopped + 2.5)
            assert not any(map(gone, processes))
        finally:
            running.send_signal(signal.SIGCONT)
        until(lambda: psutil.Process(running.pid).status() == psutil.STATUS_SLEEPING)
        until(lambda: time.monotonic() > stopped + 5.0)  # long enough to lose them
        running.send_signal(signal.SIGUSR1)
        output, _ = running.communicate(timeout=250)
    assert output == "[3, 3] True\n"
