"""Why ranks were lost, in words: from the first sign of trouble and what became known just after it."""

from __future__ import annotations

import contextlib
import re
import signal
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from isoviz.errors import RankLost, line
from isoviz.launch.hello import Hello
from isoviz.launch.worker.rank_worker import End
from isoviz.this_computer import host_name

_LAST_WORDS = 120
_STOPPED_AFTER = 2.0
_STRUGGLING = 10
_ABORTED = re.compile(r"MPI_ABORT was invoked on rank ([0-9]+)|^Abort\([0-9]+\) on node ([0-9]+)")


@dataclass
class Evidence:
    """What is known about the end of a job. Lists are in the order in which things became known.

    `closed`: ranks whose connection has ended. `silent`: a rank that no longer answers, and for how many seconds. `stopped`: a
    rank whose process is stopped. `ends`: how processes of ranks ended. `said`: last words of ranks. `status`: the status of
    `mpiexec`, negative after a signal. `unguarded`: the guardian was killed.
    """

    closed: list[int] = field(default_factory=list)
    silent: tuple[int, float] | None = None
    stopped: int | None = None
    ends: list[End] = field(default_factory=list)
    said: list[tuple[int, str]] = field(default_factory=list)
    status: int | None = None
    unguarded: bool = False

    @property
    def is_trouble(self) -> bool:
        """Whether the ranks are lost."""
        return bool(
            self.closed
            or self.silent
            or self.stopped is not None
            or self.ends
            or self.said
            or self.status is not None
            or self.unguarded
        )

    @property
    def is_enough(self) -> bool:
        """Whether nothing that may still arrive would say more."""
        return bool(
            self.ends or self.said or self.silent or self.stopped is not None or self.unguarded or self.status is not None
        )

    def note_silence(self, rank: int, hello: Hello, silent: float, limit: float) -> None:
        """Note that a rank has been silent for some seconds, if its process is stopped, or if that is more than `limit`.

        A rank of this computer that could go on if it had a processor gets ten times as long: a busy computer is no loss.
        """
        if silent <= min(_STOPPED_AFTER, limit):
            return
        is_here = hello.host == host_name()
        if is_here and is_stopped(hello.pid):
            self.stopped = rank
        elif silent > (_STRUGGLING * limit if is_here and wants_processor(hello.pid) else limit):
            self.silent = (rank, silent)


def loss(found: Evidence, hellos: list[Hello], output: Iterable[str], after: str) -> RankLost:
    """The error of everything that waits for lost ranks. `after` says what became of the ranks, and how to
    get new ones."""
    rank, what = _what(found, list(output))
    if rank is None:
        return RankLost(f"{what}; {after}")
    if not 0 <= rank < len(hellos):  # the ranks have not all said who they are
        return RankLost(f"rank {rank} {what}; {after}", rank=rank)
    hello = hellos[rank]
    where = f" on {hello.host}" if len({each.host for each in hellos}) > 1 else ""
    return RankLost(f"rank {rank} (pid {hello.pid}{where}) {what}; {after}", rank=rank, pid=hello.pid)


def _what(found: Evidence, output: list[str]) -> tuple[int | None, str]:
    if found.stopped is not None:
        return found.stopped, "was stopped (SIGSTOP)"
    if found.ends:
        end = found.ends[0]
        if end.signal is not None:
            memory = ", as the system does when memory runs out" if end.signal == signal.SIGKILL else ""
            return end.rank, f"was killed by {signal_name(end.signal)}{memory}"
        if found.said and found.said[0][0] == end.rank:
            return found.said[0]
        return end.rank, f"ended by itself with status {end.status}"
    if found.said:
        return found.said[0]
    if found.silent:
        return found.silent[0], f"has not answered for {found.silent[1]:.0f} s"
    if found.unguarded:
        return None, "the process that guards the ranks was killed"
    if found.status is not None and found.status < 0:
        return None, f"mpiexec was killed by {signal_name(-found.status)}"
    if found.closed:
        return found.closed[0], f"ended without a word{_last_words(output)}"
    return None, f"mpiexec ended with status {found.status}{_last_words(output)}"


def signal_name(number: int) -> str:
    """The name of a signal, such as SIGKILL."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def aborted_in(text: str) -> int | None:
    """The rank that called MPI_Abort, if a line of output says so; Open MPI and MPICH say it in different words."""
    found = _ABORTED.search(text)
    return int(found[1] or found[2]) if found else None


def _last_words(output: list[str]) -> str:
    """The last line of output that is more than decoration, as the rest of a sentence."""
    for said in reversed(output):
        if sum(map(str.isalpha, said)) > 3 and not End.told_in(said):
            return f" (its last words: {line(said.strip(), _LAST_WORDS)})"
    return ""


def wants_processor(pid: int) -> bool:
    """Whether a thread of a process of this computer could go on if it had a processor, or waits for the disk."""
    try:
        threads = list(Path(f"/proc/{pid}/task").iterdir())
    except OSError:
        return False
    for thread in threads:
        with contextlib.suppress(OSError, IndexError):
            if (thread / "stat").read_bytes().rpartition(b")")[2].split()[0] in (b"R", b"D"):
                return True
    return False


def is_stopped(pid: int) -> bool:
    """Whether a process of this computer is stopped."""
    try:
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0] == b"T"
    except (OSError, IndexError):
        return False
