"""Functions that the tests call on ranks. Every rank imports this module, so it imports little."""

from __future__ import annotations

import importlib
import os
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path

from isoviz.launch.this_rank import this_rank


def pid() -> int:
    return os.getpid()


def number() -> tuple[int, int]:
    return this_rank().rank, this_rank().size


def echo(value: object) -> object:
    return value


_started: list[str] = []


def count_threads() -> None:
    """Count the threads that this rank starts from now on."""
    usual = threading.Thread.start

    def start(thread: threading.Thread) -> None:
        _started.append(thread.name)
        usual(thread)

    threading.Thread.start = start  # type: ignore[method-assign]


def started_threads() -> list[str]:
    """The names of the threads that this rank has started since the last call."""
    found = list(_started)
    _started.clear()
    return found


def summed(value: int) -> int:
    from mpi4py import MPI

    return int(MPI.COMM_WORLD.allreduce(value + MPI.COMM_WORLD.rank))


def work_until_cancelled() -> str:
    """Tell that it has begun, and return once it is cancelled."""
    this_rank().tell("begun")
    return "cancelled" if this_rank().cancel.wait(120) else "waited in vain"


def hang() -> None:
    """Tell that it has begun, and never return: neither for a cancel nor for anything else that Python does."""
    this_rank().tell("begun")
    while True:
        signal.pause()


def hold_the_lock(rank: int) -> None:
    """Call a function outside Python that keeps Python's lock and does not return."""
    import ctypes

    if this_rank().rank == rank:
        ctypes.PyDLL(None).sleep(3600)


def only_on(rank: int, what: str) -> None:
    """Something that ends one rank, while the others wait for it in MPI."""
    from mpi4py import MPI

    if this_rank().rank == rank:
        {
            "exits with 3": lambda: os._exit(3),
            "exits with 0": lambda: os._exit(0),
            "SIGSEGV": lambda: os.kill(os.getpid(), signal.SIGSEGV),
            "SIGTERM": lambda: os.kill(os.getpid(), signal.SIGTERM),
            "aborts": lambda: MPI.COMM_WORLD.Abort(7),
        }[what]()
        threading.Event().wait(120)  # MPI_Abort of MPICH may return before the job ends
    MPI.COMM_WORLD.barrier()


def fail_on(rank: int) -> int:
    if this_rank().rank == rank:
        raise ArithmeticError("one and one are three")
    return rank


def raise_what_cannot_be_sent() -> None:
    class HereError(Exception):
        pass

    raise HereError("of a class that nobody else can import")


class WordlessError(Exception):
    def __str__(self) -> str:
        raise ValueError("no words")


class UnshownError(Exception):
    def __repr__(self) -> str:
        raise ValueError("no words")


class LeavingError(Exception):
    def __str__(self) -> str:
        sys.exit("no words")


class ManyArgumentsError(Exception):
    def __init__(self, first: int, second: int) -> None:
        super().__init__(f"{first} and {second}")


class HeldError(Exception):
    def __init__(self) -> None:
        super().__init__("holds a lock")
        self.lock = threading.Lock()


class UnpickledError(Exception):
    def __reduce__(self) -> tuple[type, tuple[()]]:
        raise WordlessError


class ExplodingError(Exception):
    """One that breaks the process that makes it again, and not the one that raises it."""

    def __reduce__(self) -> tuple[object, tuple[int]]:
        return _explode, (os.getpid(),)


def _explode(pid: int) -> Exception:
    if pid != os.getpid():
        raise WordlessError
    return ExplodingError("as it was")


STRANGE: dict[str, Callable[[], BaseException]] = {
    "wordless": WordlessError,
    "of a wordless key": lambda: KeyError(WordlessError()),
    "unshown": lambda: KeyError(UnshownError()),
    "leaving": LeavingError,
    "many arguments": lambda: ManyArgumentsError(1, 2),
    "held": HeldError,
    "unpickled": UnpickledError,
    "exploding": ExplodingError,
    "long": lambda: ValueError("\n\x1b[31mlong" * 200_000),
    "bare": lambda: BaseException("bare"),
}


def strange(name: str, verb: str) -> object:
    """Raise a strange error, or return one that cannot be returned: any other result is an error, too."""
    if verb == "raise":
        raise STRANGE[name]()
    return [STRANGE[name](), threading.Lock()]


def leave() -> None:
    sys.exit(5)


def too_much_memory(rank: int) -> int:
    """Ask for more memory than one rank is allowed to have; the limit is lifted afterwards."""
    import resource

    if this_rank().rank != rank:
        return 0
    before = resource.getrlimit(resource.RLIMIT_AS)
    mapped = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (mapped + (64 << 20), before[1]))
    try:
        return len(bytearray(1 << 33))
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


def limit_memory(room: int) -> None:
    """Let this rank have `room` bytes more than it has; 0 lifts the limit."""
    import resource

    most = resource.getrlimit(resource.RLIMIT_AS)[1]
    mapped = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (mapped + room if room else most, most))


def without_windows() -> None:
    """From now on this rank has no room in its windows for arrays of a notebook."""

    def refuse(*_: object) -> None:
        raise MemoryError("no room")

    importlib.import_module("isoviz.redistribution.redistribute").in_window = refuse  # type: ignore[attr-defined]


def environment(name: str) -> str | None:
    return os.environ.get(name)


def printed(text: str) -> None:
    print(text, flush=True)


def start_ahead() -> list[list[object]]:
    """Start the transport three times; rank 1 starts and sends before rank 0 starts again."""
    transport = this_rank().world.transport
    heard: list[list[object]] = []
    arrived = threading.Semaphore(0)

    def start() -> None:
        mine: list[object] = []
        heard.append(mine)

        def receive(_sender: int, message: object) -> None:
            mine.append(message)
            arrived.release()

        transport.start(receive, lambda _rank, _reason: None)

    if this_rank().rank == 1:
        for name in ("first", "second", "third"):
            start()
            transport.send(0, f"{name} of 1")
        transport.send(0, "end of 1")
    elif this_rank().rank == 0:
        start()
        assert arrived.acquire(timeout=250)
        # The others are there, too, since messages keep their order; they wait.
        while len(transport._early) < 3:
            pass
        for _ in range(2):
            start()
            assert arrived.acquire(timeout=250)
        assert arrived.acquire(timeout=250)
        assert heard[-1].pop() == "end of 1"
    else:
        for _ in range(3):
            start()
    return heard


def open_ports(pid: int | None = None) -> list[str]:
    """The addresses and ports, in hexadecimal, at which a process waits for TCP connections; of this rank if none is named.

    Before that, this rank has exchanged a message with all others.
    """
    if pid is None:
        summed(1)
    place, sockets = Path("/proc") / str(pid or "self"), set()
    for descriptor in (place / "fd").iterdir():
        try:
            sockets.add(str(descriptor.readlink()))
        except FileNotFoundError:
            continue
    lines = [line.split() for table in ("tcp", "tcp6") for line in (place / "net" / table).read_text().splitlines()[1:]]
    return [words[1] for words in lines if words[3] == "0A" and f"socket:[{words[9]}]" in sockets]
