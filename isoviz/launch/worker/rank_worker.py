"""The program of a rank: `python -P -m isoviz.launch.worker.rank_worker`, started by `mpiexec`.

`isoviz.ranks` gives it the client's address in the environment. A batch job starts it as `… rank_worker FILE` instead, with the
file that `isoviz.ranks(attach=FILE)` writes.

It forks at once. The first process only waits for the second one and tells how that ended, since no `mpiexec` does so reliably.
The second process is the rank: it connects to the client, then starts MPI, then serves.
"""

from __future__ import annotations

import errno
import faulthandler
import os
import re
import signal
import stat
import sys
import time
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

from isoviz.launch.guardian import die_with

if TYPE_CHECKING:
    from types import FrameType

ADDRESS = "ISOVIZ_RANKS_ADDRESS"
"""The environment variable with the client's address: the path of a socket, or `host:port`."""
SECRET = "ISOVIZ_RANKS_SECRET"  # noqa: S105
"""The environment variable with the job's secret, in hexadecimal."""
CONNECTING = 30.0
"""Seconds for a worker to reach its client, and to be greeted."""
_FOR_A_FILE = 600.0
"""Seconds for which a rank waits for the client's file: a batch job may start before the client."""
_MOST_BYTES = 1 << 16
_EXPECTED = "expected the file that isoviz.ranks(attach=FILE) of this user writes, in a folder of this user's own"
_ENDED = re.compile(r"isoviz: rank (-?[0-9]+), pid ([0-9]+), (signal|status) ([0-9]+)")


class End(NamedTuple):
    """How the process of a rank ended: by a signal (`signal` is its number), or by itself with a `status`."""

    rank: int
    pid: int
    signal: int | None
    status: int | None

    @classmethod
    def told_in(cls, text: str) -> End | None:
        """The end that a line of output tells about."""
        found = _ENDED.search(text)
        if found is None:
            return None
        number = int(found[4])
        by_signal = found[3] == "signal"
        return cls(int(found[1]), int(found[2]), number if by_signal else None, None if by_signal else number)


def main() -> None:
    """Run one rank."""
    die_with(os.getppid())
    here = os.getpid()
    pid = os.fork()
    if pid:
        _wait_for(pid)
    die_with(here)
    faulthandler.enable()
    # Imported after the fork: the first process stays small.
    from isoviz.errors import RunError
    from isoviz.launch.greeting import reach
    from isoviz.launch.hello import Hello
    from isoviz.launch.this_rank import switch_often
    from isoviz.launch.worker.rank_service import Worker

    switch_often()
    try:
        address, secret = _client()
    except (OSError, ValueError) as error:
        sys.stderr.write(f"isoviz: {error}\n")
        os._exit(1)
    hello = Hello.of_this_process()
    if hello.rank < 0:  # an MPI that does not say it in the environment
        known = connect()
        hello = Hello.of_this_process(known["rank"], known["size"])
    try:
        worker = Worker(reach(address, secret, CONNECTING), hello, _client_is_gone)
        worker.introduce()
        worker.serve(connect)
    except (RunError, OSError) as error:
        sys.stderr.write(f"isoviz: {error}\n")
        sys.stderr.flush()
        os._exit(1)
    from mpi4py import MPI

    sys.stdout.flush()
    MPI.Finalize()  # All ranks end together. Only then does the connection end: an earlier end is a failure.
    worker.close()
    os._exit(0)


def connect() -> dict[str, Any]:
    """Start MPI, and tell this process's rank, the number of ranks, and the name of the library.

    Raises:
        MissingPartError: mpi4py is not installed.
    """
    from isoviz.backends.mpi.thread.starting_mpi import starting_mpi

    try:
        with starting_mpi():
            from mpi4py import MPI
    except ModuleNotFoundError:
        from isoviz.errors import MissingPartError

        raise MissingPartError("mpi4py", "mpi") from None
    library = MPI.Get_library_version().replace("\0", " ").split(",")[0].split("\n")[0]
    return {"rank": MPI.COMM_WORLD.rank, "size": MPI.COMM_WORLD.size, "mpi": " ".join(library.split())}


def _client() -> tuple[str, bytes]:
    """The client's address and the secret: from the environment, or from the file that is named as argument.

    Raises:
        OSError: there is no such file in time.
        ValueError: it is another file.
    """
    address, secret = os.environ.pop(ADDRESS, None), os.environ.pop(SECRET, "")
    if address is None:
        import json

        if len(sys.argv) != 2:
            raise ValueError(f"rank_worker: expected {ADDRESS} in the environment, or the file of isoviz.ranks(attach=FILE)")
        text = _read_when_there(sys.argv[1])
        try:
            found = json.loads(text)
            return found["address"], bytes.fromhex(found["secret"])
        except (ValueError, KeyError, TypeError, RecursionError):
            raise ValueError(f"{sys.argv[1]}: expected the file that isoviz.ranks(attach=FILE) writes") from None
    return address, bytes.fromhex(secret)


def _read_when_there(path: str) -> str:
    last = time.monotonic() + _FOR_A_FILE
    while True:
        try:
            return read_own(path)
        except FileNotFoundError:
            if time.monotonic() > last:
                raise
            time.sleep(0.1)


def read_own(path: str) -> str:
    """What stands in a file of this user's own, which nobody else can read or change. Who writes it decides what a rank runs.

    Raises:
        OSError: there is no such file.
        ValueError: it is not this user's alone, or no file.
    """
    from isoviz.whose import problem_of

    try:
        # Opening a pipe without a writer must not wait. The name itself must not lead elsewhere.
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY | os.O_NOFOLLOW)
    except OSError as error:
        if error.errno != errno.ELOOP:
            raise
        raise ValueError(f"{path}: is a link; {_EXPECTED}") from None
    try:
        status = os.fstat(descriptor)
        problem = problem_of(status, secret=True) if stat.S_ISREG(status.st_mode) else "is no regular file"
        if problem is not None:
            raise ValueError(f"{path}: {problem}; {_EXPECTED}")
        return os.read(descriptor, _MOST_BYTES).decode(errors="replace")
    finally:
        os.close(descriptor)


def _client_is_gone() -> None:
    os._exit(1)


def _wait_for(pid: int) -> None:
    """Wait for the rank's process, tell how it ended, and end likewise. Never returns."""

    def pass_on(number: int, _frame: FrameType | None) -> None:
        os.kill(pid, number)

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2):
        signal.signal(number, pass_on)
    _, status = os.waitpid(pid, 0)
    code = os.waitstatus_to_exitcode(status)
    from isoviz.launch.hello import Hello

    how = f"signal {-code}" if code < 0 else f"status {code}"
    os.write(2, f"isoviz: rank {Hello.of_this_process().rank}, pid {pid}, {how}\n".encode())
    os._exit(128 - code if code < 0 else code)


if __name__ == "__main__":
    # Functions of the client's own `__main__` cannot be found here, and must not be taken for those of this program.
    sys.modules["__main__"] = ModuleType("__main__")
    main()
