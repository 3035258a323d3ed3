"""The processes of ranks together with the connections to them: a job of `mpiexec`, or a cluster.

A job is `mpiexec` and all its processes, behind their guardian.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Protocol

from isoviz.errors import InputError, MissingPartError, in_words, show
from isoviz.launch import guardian
from isoviz.launch.client import Client, Watching
from isoviz.launch.reception import Listener
from isoviz.launch.worker.rank_worker import ADDRESS, SECRET, read_own
from isoviz.this_computer import usable_cpus

# Ranks that another program starts, such as a batch job: they find the client by a file, and end when it lets them go.

_LOG = logging.getLogger(__name__)


class AwaitedGroup:
    """Ranks that are awaited. `file` tells them the address of this process and the secret. It is removed once they are ready.

    Raises:
        InputError: the file cannot be written.
    """

    def __init__(self, count: int, file: str, address: str | None, watching: Watching) -> None:
        self.output: tuple[str, ...] = ()
        self._file = Path(file).absolute()
        listener = Listener.in_own_folder() if address is None else Listener.on_network(address)
        self.client = Client(
            count,
            listener=listener,
            watching=watching,
            end=lambda _: self._forget(),
            output=list,
            after="the job's ranks were let go; isoviz.ranks(attach=…) waits for those of another job",
        )
        try:
            self._write({"address": self.client.address, "secret": self.client.secret.hex(), "ranks": count})
        except OSError as error:
            self.client.drop()
            raise InputError(f"ranks: attach={show(file)}: {error.strerror}; expected a file that can be written") from None
        except BaseException:
            self.client.drop()
            raise

    def started(self) -> None:
        """The ranks are ready, so that nobody needs the file any more."""
        self._forget()

    def _write(self, found: dict[str, object]) -> None:
        """Write the file at once as a whole, readable by this user alone."""
        new = self._file.with_name(f".{self._file.name}.{os.getpid()}")
        new.unlink(missing_ok=True)
        descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump(found, file)
        new.replace(self._file)

    def _forget(self) -> None:
        try:
            if json.loads(read_own(str(self._file)))["secret"] == self.client.secret.hex():
                self._file.unlink()
        except (OSError, ValueError, KeyError, TypeError) as error:  # It is gone, or another group's.
            _LOG.debug("%s stays as it is: %s", self._file, in_words(error))


# The MPI that starts ranks: finding `mpiexec`, recognising whose it is, and the command and environment of a job.

_ANSWERS_WITHIN = 20
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
            [path, "--version"], stdin=subprocess.DEVNULL, capture_output=True, timeout=_ANSWERS_WITHIN, check=False, text=True
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


_MOST_LINES = 400
_PATIENCE = 15.0
_LAST_LINES = 10.0


class Job:
    """The processes of one `mpiexec`.

    `folders` are names of new folders, in which everything of the job lies on this computer. There are none if ranks may run on
    other computers. A `listener` in one of them begins to accept connections before the ranks start.

    `on_line` is called with each line of their output, in a thread of its own. `on_end` is called once, in a thread, when
    everything has ended and the last line is known. It gets the status of `mpiexec`; None if the guardian was killed.
    """

    def __init__(
        self,
        mpi: Mpi,
        ranks: int,
        program: list[str],
        *,
        options: tuple[str, ...],
        variables: Mapping[str, str],
        folders: list[str],
        listener: Listener,
        on_line: Callable[[str], None],
        on_end: Callable[[int | None], None],
    ) -> None:
        self._known: dict[int, bytes] = {}
        self._files: set[str] = set()
        self._on_line, self._on_end = on_line, on_end
        self._told: dict[str, int] = {}
        self._folders = folders
        remote = not folders
        environment = mpi.environment() | dict(os.environ) | dict(variables)
        if folders:
            environment["TMPDIR"] = folders[0]
        shared = folders[1] if len(folders) > 1 else None
        command = mpi.command(ranks, program, options, shared, sorted(variables) if remote else ())
        listens = [listener.socket.fileno(), listener.address] if listener.is_local else None
        asked = json.dumps([os.getpid(), folders, 2.0 if remote else 0.0, command, listens])
        self._guardian = subprocess.Popen(  # noqa: S603  # this Python, with isoviz's own file
            [sys.executable, "-I", "-S", guardian.__file__, asked],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
            pass_fds=() if listens is None else (listener.socket.fileno(),),
            start_new_session=True,  # Ctrl-C is for the client alone.
            bufsize=0,
        )
        self._threads = [
            threading.Thread(target=self._listen, name="isoviz ranks: guardian", daemon=True),
            threading.Thread(target=self._collect, name="isoviz ranks: output", daemon=True),
        ]
        for thread in reversed(self._threads):  # The first one waits for the other.
            thread.start()

    @property
    def pid(self) -> int:
        """The process id of the guardian."""
        return self._guardian.pid

    @property
    def is_over(self) -> bool:
        """Whether all processes have ended and nothing is left of them."""
        return not self._threads[0].is_alive()

    def scan(self) -> None:
        """Note the processes of the job and the files that they have mapped, here and in the guardian."""
        self._ask(b"scan\n")
        for pid in guardian.descendants(self.pid):
            self._known[pid] = guardian.born(pid)
        self._files |= guardian.mapped_files(list(self._known))

    def end(self) -> None:
        """Have all processes killed; returns at once."""
        self._ask(b"end\n")

    def wait(self, timeout: float) -> bool:
        """Wait until all processes have ended and nothing is left of them; False after `timeout` seconds."""
        last = time.monotonic() + timeout
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join(max(0.0, last - time.monotonic()))
        return self.is_over

    def close(self) -> None:
        """End all processes, and wait for their end. Safe to call twice."""
        self.end()
        if not self.wait(_PATIENCE):
            self._guardian.kill()  # Its own threads then clear up.
            self.wait(_PATIENCE)
        if self._guardian.stdin is not None:
            self._guardian.stdin.close()

    # ---- inside

    def _ask(self, data: bytes) -> None:
        if self._guardian.stdin is not None:
            with contextlib.suppress(OSError, ValueError):  # It has ended.
                self._guardian.stdin.write(data)

    def _listen(self) -> None:
        """Hear the guardian until it ends; if it ended before it had cleared up, do its work."""
        pipe = self._guardian.stdout
        assert pipe is not None
        with pipe:
            for line in iter(pipe.readline, b""):
                word, _, number = line.decode().strip().partition(" ")
                self._told[word] = int(number or 0)
        self._guardian.wait()
        if "clean" not in self._told:
            self._clear()
        self._threads[1].join(_LAST_LINES)  # What the job said last may tell why it ended.
        self._on_end(self._told.get("ended"))

    def _clear(self) -> None:
        """Kill the processes of the job and remove its files, in the place of a guardian that was killed."""
        last = time.monotonic() + _PATIENCE
        alive = [pid for pid, began in self._known.items() if began]
        while time.monotonic() < last:
            alive = [pid for pid in alive if guardian.born(pid) == self._known[pid]]
            if not alive:
                break
            for pid in alive:
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.002)
        guardian.remove(self._folders, self._files)

    def _collect(self) -> None:
        pipe = self._guardian.stderr
        assert pipe is not None
        with pipe:
            for data in iter(pipe.readline, b""):
                self._on_line(data.decode(errors="replace").rstrip("\n"))


_MODULE = "isoviz.launch.worker.rank_worker"


class Group(Protocol):
    """Processes and the client that is connected to them. It knows nothing of `Ranks`, so that an unused `Ranks` can go."""

    client: Client

    @property
    def output(self) -> tuple[str, ...]:
        """The last lines that the processes have printed, if they are known."""

    def started(self) -> None:
        """All ranks are ready."""


@dataclass(frozen=True)
class Wanted:
    """How ranks are started: the arguments of `isoviz.ranks`, checked. `variables` are for the environment of the ranks."""

    count: int
    mpi: Mpi
    python: str
    address: str | None
    options: tuple[str, ...]
    variables: Mapping[str, str]
    watching: Watching


class JobGroup:
    """Ranks that `mpiexec` starts for this client alone; they end with it."""

    def __init__(self, wanted: Wanted) -> None:
        folders = guardian.new_folders(tempfile.gettempdir()) if wanted.address is None else []
        listener = Listener.on_network(wanted.address) if wanted.address is not None else Listener.of_guardian(folders)
        self.job: Job | None = None
        self._output: deque[str] = deque(maxlen=_MOST_LINES)
        self.client = Client(
            wanted.count,
            listener=listener,
            watching=wanted.watching,
            end=self._end,
            output=lambda: list(self.output),
            after=f"the ranks were ended; isoviz.ranks({wanted.count}) starts new ones",
        )
        try:
            self.job = Job(
                wanted.mpi,
                wanted.count,
                [wanted.python, "-P", "-m", _MODULE],
                options=wanted.options,
                variables={
                    **wanted.variables,
                    ADDRESS: self.client.address,
                    SECRET: self.client.secret.hex(),
                },
                folders=folders,
                listener=listener,
                on_line=self._line,
                on_end=self.client.ended,
            )
        except BaseException:
            self.client.drop()
            raise

    @property
    def output(self) -> tuple[str, ...]:
        """The last lines of the job's output."""
        return tuple(self._output)

    def started(self) -> None:
        """Note the processes and files of the job."""
        if self.job is not None:
            self.job.scan()

    def _line(self, text: str) -> None:
        self._output.append(text)  # The job may end before the call that makes it has returned.
        self.client.line(text)

    def _end(self, patience: float) -> None:
        if self.job is not None:
            if patience:
                self.job.wait(patience)
            self.job.close()
