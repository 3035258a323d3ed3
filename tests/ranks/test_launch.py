"""Ranks start, answer, repeat and end, and nothing is left of them."""

from __future__ import annotations

import contextlib
import logging
import os
import pickle
import signal
import socket
import statistics
import subprocess
import sys
import threading
import time
import traceback
import types
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import rank_calls
from left_over import Belongings, descriptors
from mpi_jobs import is_open_mpi, needs_mpi
from waiting import until

import isoviz
from isoviz.errors import LONGEST, ForkedError, InputError, LaunchError, MissingPartError, RankError, RanksClosed
from isoviz.launch import groups
from isoviz.launch.client import Client, Watching
from isoviz.launch.greeting import answer, reach
from isoviz.launch.hello import Hello, refusal
from isoviz.launch.reception import Listener
from isoviz.launch.wire import CLIENT, WORKER, ConnectionLost, Message, Wire


@pytest.fixture(scope="module")
def four() -> Iterator[isoviz.Ranks]:
    """Four ranks for tests that leave them as they were."""
    with isoviz.ranks(4) as ranks:
        yield ranks


@pytest.mark.usefixtures("no_leaked_threads")
@needs_mpi
@pytest.mark.parametrize("count", [1, 2, pytest.param(4, marks=pytest.mark.full)])
def test_ranks_start_and_end_and_leave_nothing(
    count: int, report: Callable[[str, object], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FI_LOG_LEVEL", "info")
    open_before = descriptors()
    with isoviz.ranks(count) as ranks:
        belongings = Belongings(ranks)
        assert len(belongings.folders) == 2 and all(folder.is_dir() for folder in belongings.folders)
        assert len(belongings.processes) >= 2 * count + 2
        assert len(ranks) == count and ranks.is_alive and ranks.error is None
        pids = ranks.call(rank_calls.pid)
        assert pids == [process.pid for process in ranks.processes] and os.getpid() not in pids
        assert ranks.call(rank_calls.number) == [(rank, count) for rank in range(count)]
        assert ranks.call(rank_calls.summed, 10) == [10 * count + count * (count - 1) // 2] * count
        assert f"<{count} rank" in repr(ranks) and "idle" in repr(ranks) and str(pids[-1]) in repr(ranks)
        report(f"seconds to start {count} ranks", round(ranks.start_seconds, 2))
        # It would look for networks for a second.
        assert not is_open_mpi() or not [line for line in ranks.output if "libfabric" in line]
        began = time.perf_counter()
    report(f"seconds to end {count} ranks", round(time.perf_counter() - began, 2))
    assert belongings.left() == []
    assert until(lambda: descriptors() == open_before), "descriptors are left open"
    assert "closed" in repr(ranks) and not ranks.is_alive
    ranks.close()
    with pytest.raises(RanksClosed, match="starts new ones"):
        ranks.call(rank_calls.pid)


@needs_mpi
def test_another_command_is_quick(four: isoviz.Ranks, report: Callable[[str, object], None]) -> None:
    took = []
    for turn in range(30):
        began = time.perf_counter()
        assert four.call(rank_calls.echo, turn) == [turn] * 4
        took.append(time.perf_counter() - began)
    report("milliseconds of one more command on 4 ranks (median)", round(1e3 * statistics.median(took), 2))


@needs_mpi
def test_arrays_arrive_as_they_were(four: isoviz.Ranks) -> None:
    values = np.random.default_rng(7).integers(0, 1 << 60, 1 << 18).reshape(512, -1)[:, ::3]
    for found in four.call(rank_calls.echo, {"values": values, "nothing": np.empty(0)}, ranks=[3, 1]):
        np.testing.assert_array_equal(found["values"], values)
        assert found["nothing"].size == 0


@needs_mpi
def test_calls_of_many_threads_reach_all_ranks_in_one_order(four: isoviz.Ranks) -> None:
    with ThreadPoolExecutor(8) as pool:
        sums = list(pool.map(lambda turn: four.call(rank_calls.summed, turn), range(64)))
    assert sums == [[4 * turn + 6] * 4 for turn in range(64)]


@needs_mpi
def test_an_error_on_a_rank_names_it_and_the_ranks_stay(four: isoviz.Ranks) -> None:
    with pytest.raises(RankError, match="one and one are three") as caught:
        four.call(rank_calls.fail_on, 2)
    assert caught.value.rank == 2 and caught.value.pid == four.processes[2].pid
    assert isinstance(caught.value.__cause__, ArithmeticError) and "fail_on" in caught.value.__notes__[0]
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
    with pytest.raises(RankError, match=r"rank 0 .* HereError: of a class that nobody else") as caught:
        four.call(rank_calls.raise_what_cannot_be_sent)
    assert caught.value.__cause__ is None and "ranks 1, 2, 3 as well" in caught.value.__notes__[-1]
    with pytest.raises(RankError, match="SystemExit: 5"):
        four.call(rank_calls.leave)
    with pytest.raises(RankError, match=r"rank 1 .* ran out of memory"):
        four.call(rank_calls.too_much_memory, 1)
    with pytest.raises(RankError, match="cannot be sent"):
        four.call(lambda: None)
    with pytest.raises(InputError, match="no rank 4; expected 0 to 3"):
        four.call(rank_calls.pid, ranks=[4])
    assert four.call(rank_calls.summed, 0) == [6] * 4


@needs_mpi
@pytest.mark.parametrize("verb", ["raise", "return"])
@pytest.mark.parametrize("name", sorted(rank_calls.STRANGE))
def test_strange_errors_and_results_leave_the_ranks_alone(four: isoviz.Ranks, name: str, verb: str) -> None:
    with pytest.raises(RankError) as caught:
        four.call(rank_calls.strange, name, verb)
    words = str(caught.value)
    assert caught.value.rank == 0 and len(words) <= LONGEST and words.isprintable()
    if verb == "raise":
        assert type(rank_calls.STRANGE[name]()).__name__ in words
        assert "in strange" in caught.value.__notes__[0]  # where it was raised
    assert four.call(rank_calls.summed, 0) == [6] * 4


@needs_mpi
def test_functions_of_a_notebook_are_refused_in_words(four: isoviz.Ranks, monkeypatch: pytest.MonkeyPatch) -> None:
    """Even one that is called like something in the program of the ranks."""
    for name in ("of_a_notebook", "main", "connect"):
        function = types.FunctionType((lambda: None).__code__, {"__name__": "__main__"}, name)
        function.__qualname__ = name
        monkeypatch.setattr(sys.modules["__main__"], name, function, raising=False)
        with pytest.raises(RankError, match=rf"{name}.*expected functions and classes of modules, not of a notebook"):
            four.call(function)
    assert four.call(rank_calls.summed, 0) == [6] * 4


@needs_mpi
def test_ranks_answer_while_they_work(four: isoviz.Ranks) -> None:
    begun = threading.Semaphore(0)
    with ThreadPoolExecutor(1) as pool:
        working = pool.submit(four.call, rank_calls.work_until_cancelled, tell=lambda *_: begun.release())
        for _ in range(4):
            assert begun.acquire(timeout=250)
        assert four.ping() > 0
        assert [state["doing"] for state in four.state()] == ["work_until_cancelled"] * 4
        assert "busy" in repr(four)
        client = four._group.client
        client.cancel(next(iter(client._pending.values())))
        assert working.result(120) == ["cancelled"] * 4
    assert [(state["doing"], state["waiting"]) for state in four.state()] == [(None, 0)] * 4


@needs_mpi
def test_ranks_share_the_processors(four: isoviz.Ranks) -> None:
    share = str(max(1, len(os.sched_getaffinity(0)) // 4))
    expected = os.environ.get("NUMBA_NUM_THREADS", share)
    assert four.call(rank_calls.environment, "NUMBA_NUM_THREADS") == [expected] * 4
    assert four.call(rank_calls.environment, "ISOVIZ_RANKS_SECRET") == [None] * 4
    four.call(rank_calls.printed, "said by a rank", ranks=[2])
    assert until(lambda: "said by a rank" in four.output)


@needs_mpi
@pytest.mark.full
def test_two_groups_of_ranks_at_once(four: isoviz.Ranks) -> None:
    with isoviz.ranks(2) as two, ThreadPoolExecutor(2) as pool:
        both = [pool.submit(group.call, rank_calls.summed, 1) for group in (two, four) for _ in range(20)]
        assert [found.result(120) for found in both] == [[3, 3]] * 20 + [[10] * 4] * 20
        assert not {process.pid for process in two.processes} & {process.pid for process in four.processes}
    assert four.call(rank_calls.number, ranks=[0]) == [(0, 4)]


def _in_a_forked_child(check: Callable[[], None]) -> None:
    """Check something in a forked child; what it finds wrong is the parent's failure."""
    there, here = os.pipe()
    pid = os.fork()
    if not pid:
        try:
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.alarm(60)  # A child that waits for ever ends, and its parent goes on.
            check()
        except BaseException:  # noqa: BLE001  # the parent raises it
            os.write(here, traceback.format_exc().encode())
        finally:
            os._exit(0)
    os.close(here)
    with os.fdopen(there, "rb") as pipe:
        said = pipe.read().decode()
    assert os.waitpid(pid, 0)[1] == 0 and not said, said


@needs_mpi
def test_a_forked_child_leaves_the_ranks_alone(four: isoviz.Ranks) -> None:
    """The child's end is neither the ranks' end nor do its calls mix with the parent's, even while they work."""
    begun = threading.Semaphore(0)
    transfer = isoviz.Transfer.whole(
        isoviz.IndexSpace(x=64), isoviz.FieldSpace(a="u1"), "node0.sys", "<F, x>", "node1.sys", "<F, x>"
    )
    plan = isoviz.plan(transfer, four.machine)
    pids = four.call(rank_calls.pid)
    asked: list[Callable[[], object]] = [
        lambda: four.call(rank_calls.pid),
        lambda: four.run(plan),
        lambda: four.submit(plan),
        four.ping,
        four.state,
    ]

    def check() -> None:
        for ask in (*asked, lambda: later.reports(), lambda: later.outcomes()):
            with pytest.raises(ForkedError, match="this group of ranks belongs to the process"):
                ask()
        assert not four.is_alive and isinstance(four.error, ForkedError) and "forked" in repr(four)
        assert (len(four), [process.pid for process in four.processes]) == (4, pids)
        later.cancel()
        with four:
            pass
        four.close()
        four._end()
        four._group.client.drop()

    with ThreadPoolExecutor(1) as pool:
        working = pool.submit(four.call, rank_calls.work_until_cancelled, tell=lambda *_: begun.release())
        for _ in range(4):
            assert begun.acquire(timeout=250)
        later = four.submit(plan)
        with four._group.client._lock:  # The child finds it locked for ever.
            _in_a_forked_child(check)
        assert four.is_alive and not working.done() and not later.done
        four._group.client.cancel(next(iter(four._group.client._pending.values())))
        assert working.result(120) == ["cancelled"] * 4
    assert later.reports(120)[0].verified
    assert four.call(rank_calls.pid) == pids


@needs_mpi
def test_the_engine_of_a_rank_keeps_its_threads_between_plans(four: isoviz.Ranks) -> None:
    """Starting them for each plan would take longer than a short plan."""
    space, fields = isoviz.IndexSpace(x=1 << 20), isoviz.FieldSpace(a="u1")
    transfer = isoviz.Transfer.whole(space, fields, "node0.reg", "<F, x>", "node1.reg", "<F, x>")
    plan = isoviz.plan(transfer, four.machine)
    four.run(plan, verify=False)
    four.call(rank_calls.count_threads)
    for _ in range(3):
        four.run(plan, verify=False)
        assert four.call(rank_calls.started_threads) == [[]] * 4


@needs_mpi
@pytest.mark.full
def test_a_forked_child_starts_ranks_of_its_own(four: isoviz.Ranks) -> None:
    def check() -> None:
        with four.start_again() as mine:
            assert len({*mine.call(rank_calls.pid), *pids}) == 8

    pids = four.call(rank_calls.pid)
    _in_a_forked_child(check)
    assert four.call(rank_calls.pid) == pids


@pytest.mark.usefixtures("no_leaked_threads")
@needs_mpi
def test_forgotten_ranks_end() -> None:
    ranks = isoviz.ranks(2)
    belongings = Belongings(ranks)
    del ranks
    assert until(lambda: belongings.left() == [])


# ---- starting what does not start


def test_without_mpi_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    with pytest.raises(MissingPartError, match=r"pip install --editable '\.\[mpi\]'"):
        isoviz.ranks(2)


@pytest.mark.parametrize("wrong", [0, -1, True, 2.5, "4", None, 1 << 20])
def test_a_wrong_number_of_ranks_is_refused(wrong: object) -> None:
    with pytest.raises(InputError, match="expected a whole number of ranks from 1 to 4096"):
        isoviz.ranks(wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("address", ["192.0.2.1", "no.such.host.invalid", "a" * 100])
def test_an_address_of_another_computer_is_told(address: str) -> None:
    with pytest.raises(
        LaunchError, match=rf"nothing can be reached at the address '{address[:20]}.*an address or a name of this computer"
    ):
        isoviz.ranks(2, address=address)


def test_wrong_arguments_are_refused() -> None:
    with pytest.raises(InputError, match="expected the path of a program"):
        isoviz.ranks(2, mpiexec="/no/such/mpiexec")
    with pytest.raises(InputError, match="silence=0; expected seconds above 0"):
        isoviz.ranks(2, silence=0)
    with pytest.raises(InputError, match=r"of hundreds of digits; expected seconds above 0, at most 1e\+09"):
        isoviz.ranks(2, start_timeout=10**400)
    with pytest.raises(InputError, match="less than two heartbeats"):
        isoviz.ranks(2, heartbeat=1, silence=1.5)


def program(folder: Path, text: str) -> Path:
    found = folder / "mpiexec"
    found.write_text(f"#!/bin/sh\n{text}\n")
    found.chmod(0o755)
    return found


@pytest.mark.usefixtures("no_leaked_threads")
def test_an_mpiexec_that_fails_is_quoted(tmp_path: Path) -> None:
    failing = program(tmp_path, 'echo "the cluster is on fire"; exit 7')
    with pytest.raises(LaunchError, match=r"status 7 before the ranks had started; it said: the cluster is on fire"):
        isoviz.ranks(2, mpiexec=failing)


@pytest.mark.usefixtures("no_leaked_threads")
def test_an_mpiexec_that_starts_nothing_is_given_up(tmp_path: Path) -> None:
    idle = program(tmp_path, 'case "$1" in --version) echo MPICH 4.2;; *) exec sleep 600;; esac')
    open_before = descriptors()
    with pytest.raises(LaunchError, match=r"2 of 2 ranks did not start in 0\.3 s"):
        isoviz.ranks(2, mpiexec=idle, start_timeout=0.3)
    assert until(lambda: descriptors() == open_before)


@pytest.mark.usefixtures("no_leaked_threads")
@needs_mpi
def test_a_worker_without_mpi_says_what_is_missing(tmp_path: Path) -> None:
    (tmp_path / "mpi4py").mkdir()
    (tmp_path / "mpi4py/__init__.py").write_text("raise ModuleNotFoundError('No module named mpi4py')")
    path = os.pathsep.join([str(tmp_path), str(Path(isoviz.__file__).parents[1])])
    with pytest.raises(LaunchError, match=r"did not start: MissingPartError: mpi4py is not installed"):
        isoviz.ranks(2, environment={"PYTHONPATH": path})


@pytest.mark.usefixtures("no_leaked_threads")
@needs_mpi
def test_ranks_that_are_each_alone_are_noticed(tmp_path: Path) -> None:
    """`mpiexec` of one MPI and mpi4py of another: every process believes that it is the only one."""
    single = program(
        tmp_path,
        'case "$1" in --version) echo MPICH 4.2; exit;; esac\n'
        "for rank in 0 1; do PMI_RANK= OMPI_COMM_WORLD_RANK=$rank OMPI_COMM_WORLD_SIZE=2 "
        f"{sys.executable} -m isoviz.launch.worker.rank_worker & done; wait",
    )
    with pytest.raises(LaunchError, match="expected mpiexec and mpi4py of one MPI"):
        isoviz.ranks(2, mpiexec=single)


def test_the_kind_of_an_mpiexec_decides_its_options(tmp_path: Path) -> None:
    for said, library in (("mpiexec (Open MPI) 5.0.11", "Open MPI"), ("HYDRA build details", "MPICH"), ("srun 23.02.1", "MPI")):
        folder = tmp_path / library
        folder.mkdir()
        found = groups.find_mpi(program(folder, f'echo "{said}"'))
        assert found.library == library
        assert ("--oversubscribe" in found.command(4, ["x"])) == (library == "Open MPI")
        assert found.command(4, ["x"], ["--hostfile", "h"])[-5:] == ["--hostfile", "h", "-n", "4", "x"]
    assert groups.thread_limits(10_000, {"OMP_NUM_THREADS": "3"})["NUMBA_NUM_THREADS"] == "1"
    assert "OMP_NUM_THREADS" not in groups.thread_limits(2, {"OMP_NUM_THREADS": "3"})


# ---- who may talk


@pytest.fixture
def client() -> Iterator[Client]:
    """A client without a job, for connections that the tests make."""
    listener = Listener.on_network("127.0.0.1")
    found = Client(2, listener=listener, watching=Watching(), end=lambda _: None, output=list, after="start them again")
    yield found
    found.drop()


def test_a_worker_of_another_version_is_refused_in_words(client: Client) -> None:
    mine = Hello.of_this_process(1, 2)
    assert refusal(mine, mine) is None
    assert refusal(replace(mine, python=f"{mine.python.rsplit('.', 1)[0]}.99"), mine) is None
    wire = reach(client.address, client.secret, 250)
    wire.send_json(replace(mine, isoviz="0.0.1", python="3.9.2", numpy="1.26.0").to_json())
    assert "isoviz 0.0.1 there" in wire.receive_json()["refused"]
    with pytest.raises(LaunchError, match=r"rank 1 on .*: isoviz 0\.0\.1 there, .*; Python 3\.9 there, .*; NumPy 1 there"):
        client.wait_until_ready(30)
    wire.close()


def test_who_does_not_know_the_secret_is_not_listened_to(client: Client, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "isoviz.launch")

    def connection() -> socket.socket:
        host, _, port = client.address.rpartition(":")
        return socket.create_connection((host, int(port)), timeout=250)

    with pytest.raises(ConnectionLost):
        answer(connection(), b"another secret", time.monotonic() + 250)
    with connection() as noise:
        noise.sendall(b"GET / HTTP/1.0\r\n\r\n" + bytes(200))
        received = b""
        with contextlib.suppress(ConnectionResetError):
            while part := noise.recv(4096):
                received += part
        assert len(received) < 100  # the greeting alone
    with connection():
        pass
    wire = reach(client.address, client.secret, 250)
    wire.send_json({"rank": "none"})
    with pytest.raises(ConnectionLost):
        wire.receive_json()
    wire.close()
    assert client.error is None and client.hellos == []
    assert until(lambda: caplog.text.count("a connection was dropped") == 4)
    assert "does not know the secret" in caplog.text


def test_a_worker_does_not_listen_to_a_stranger() -> None:
    """A worker that reaches a program which does not know the secret ends without reading anything from it.

    Until then it has loaded neither NumPy nor the planner: ranks answer before that.
    """
    with socket.create_server(("127.0.0.1", 0)) as server:
        environment = {
            **os.environ,
            "ISOVIZ_RANKS_ADDRESS": f"127.0.0.1:{server.getsockname()[1]}",
            "ISOVIZ_RANKS_SECRET": "00" * 32,
            "PMI_RANK": "0",
            "PMI_SIZE": "1",
        }
        command = [sys.executable, "-X", "importtime", "-m", "isoviz.launch.worker.rank_worker"]
        with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as worker:
            with server.accept()[0] as stranger:
                stranger.sendall(b"isoviz ranks\n" + bytes(32))
                stranger.recv(4096)
                stranger.sendall(bytes(32))
            assert worker.stderr is not None
            said = worker.stderr.read()
        assert worker.returncode == 1 and "does not know the secret" in said
        loaded = {line.rpartition("|")[2].strip() for line in said.splitlines() if line.startswith("import time:")}
        assert "isoviz.launch.wire" in loaded and not loaded & {"numpy", "isoviz.planner", "isoviz.runtime", "mpi4py"}


def test_messages_of_all_sizes_arrive() -> None:
    here, there = _pair()
    values: list[object] = [None, b"x" * 3_000_000, [np.arange(n) for n in (0, 1, 100_000)], "text"]
    sending = threading.Thread(target=lambda: [here.send(Message.of(n, "kind", value)) for n, value in enumerate(values)])
    sending.start()
    for number, value in enumerate(values):
        found = there.receive()
        assert (found.number, found.kind) == (number, "kind")
        assert pickle.dumps(found.value()) == pickle.dumps(value)
    sending.join()
    here.close()
    with pytest.raises(ConnectionLost):
        there.receive()
    there.close()


def _pair() -> tuple[Wire, Wire]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        here = socket.create_connection(server.getsockname()[:2])
        found = Wire(here, bytes(32), CLIENT), Wire(server.accept()[0], bytes(32), WORKER)
        for wire in found:
            wire.begin()
        return found
