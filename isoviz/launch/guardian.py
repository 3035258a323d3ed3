"""The guardian of a job: the process between a client and `mpiexec`. It leaves nothing behind, however the client ends.

`python -I -S guardian.py JSON` with the client's process id, the folders of the job, the seconds that `mpiexec` gets to end by
itself, the command, and the descriptor and the path of the socket that the ranks connect to, if that lies in a folder of the job.
It imports no more than it needs, since every start waits for it.

The guardian makes the folders itself, so none exists before somebody is there who removes it. It holds a lock on each. A folder
without a lock belongs to a job whose guardian was killed together with its client; the next guardian removes it.

- Standard input: lines from the client. `end` ends the job. `scan` notes the files in /dev/shm that the job has mapped. The end
  of the input ends the job, and so does the end of the client's process, even if another process holds the pipe.
- Standard output: lines to the client. `started PID`, then `ended STATUS` with the status of `mpiexec` (not after a SIGTERM to
  the guardian), then `clean`.
- Standard error: the output of `mpiexec`.

It adopts the processes of the job whose parents have ended (PR_SET_CHILD_SUBREAPER), so that none can escape it. Where the system
has no such thing, it knows only the process group of `mpiexec`.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import time

TYPE_CHECKING = False  # `typing` is slow to import.
if TYPE_CHECKING:
    from collections.abc import Callable

_SHM = "/dev/shm"
_OF_MPI = ("mpich_", "sm_segment.", "ucx_shm_", "osc_", "vader_segment.", "psm2_", "psm3_")
"""How the names of the files begin that MPI libraries leave in /dev/shm. Other files there may be a user's data."""
FOLDERS = "isoviz-job-"
"""How the names of the folders of jobs begin."""
_PARENT_DIES, SUBREAPER = 1, 36
_TICK = 0.25
_WAITING = 4096
"""Connections that wait to be accepted, at most; the system may have a lower limit."""


def prctl(option: int, value: int) -> None:
    """Set an attribute of this process, on Linux."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def die_with(parent: int) -> None:
    """Have this process killed when its parent ends, on Linux. `parent` is the process id that the parent had."""
    prctl(_PARENT_DIES, signal.SIGKILL)
    if os.getppid() != parent:  # It has ended already.
        os.kill(os.getpid(), signal.SIGKILL)


def descendants(of: int) -> list[int]:
    """The processes that descend from a process, zombies included; empty where there is no /proc."""
    children: dict[int, list[int]] = {}
    try:
        names = os.listdir("/proc")
    except OSError:
        return []
    for name in names:
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb") as file:
                    parent = int(file.read().rpartition(b")")[2].split()[1])
            except (OSError, IndexError, ValueError):  # It has just ended.
                continue
            children.setdefault(parent, []).append(int(name))
    found: list[int] = []
    at = [of]
    while at:
        more = children.get(at.pop(), [])
        found += more
        at += more
    return found


def born(pid: int) -> bytes:
    """When a process began, as the system counts: with its number it names one process for ever. Empty if it has ended."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            parts = file.read().rpartition(b")")[2].split()
    except OSError:
        return b""
    return b"" if parts[0] in b"ZX" else parts[19]


def mapped_files(pids: list[int]) -> set[str]:
    """The files of MPI libraries in /dev/shm that processes have mapped."""
    found = set()
    for pid in pids:
        try:
            with open(f"/proc/{pid}/maps", encoding="utf-8", errors="surrogateescape") as file:
                for line in file:
                    at = line.find(_SHM)
                    name = line[at + len(_SHM) + 1 :].rstrip("\n")
                    if at > 0 and name.startswith(_OF_MPI) and "/" not in name and not name.endswith(" (deleted)"):
                        found.add(f"{_SHM}/{name}")
        except OSError:
            continue
    return found


def remove(folders: list[str], files: set[str]) -> None:
    """Remove what a job has left."""
    for file in sorted(files):
        try:
            os.unlink(file)
        except OSError:
            pass
    for folder in folders:
        if os.path.lexists(folder):
            import shutil

            shutil.rmtree(folder, ignore_errors=True)


def new_folders(temporary: str) -> list[str]:
    """Names for folders of a job that do not exist yet: in a folder for temporary files, and in /dev/shm if there is one."""
    parents = [temporary] + [_SHM] * (os.path.isdir(_SHM) and os.access(_SHM, os.W_OK))
    return [os.path.join(parent, FOLDERS + os.urandom(8).hex()) for parent in parents]


def make_locked(folder: str) -> int:
    """Make a folder that is this process's own. Returns a descriptor, which holds its lock until the process ends.

    Raises:
        OSError: it cannot be made. `filename` names it.
    """
    import fcntl

    while True:
        os.mkdir(folder, 0o700)
        file = os.open(folder, os.O_RDONLY)
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
        except OSError:  # A file system without locks: nobody takes a lock there, so nobody removes the folder.
            return file
        if os.path.lexists(folder):
            return file
        os.close(file)  # Another guardian took it for one that was left.


def listen(file: int, path: str) -> None:
    """Have a Unix socket, given by its descriptor, accept connections at a path. The descriptor stays open.

    Raises:
        OSError: the path cannot be made. `filename` names it.
    """
    import _socket  # `socket` is slow to import.

    listener = _socket.socket(fileno=file)
    try:
        listener.bind(path)
        listener.listen(_WAITING)
    except OSError as error:
        error.filename = path
        raise
    finally:
        listener.detach()


def remove_left(parent: str) -> None:
    """Remove the folders of this user's jobs that have no guardian any more.

    Nothing is removed where others may have given another folder of the user such a name.
    """
    import fcntl
    import re
    import stat

    try:
        mode = os.stat(parent).st_mode
        names = [name for name in os.listdir(parent) if re.fullmatch(FOLDERS + "[0-9a-f]{16}", name)]
    except OSError:
        return
    if mode & 0o022 and not mode & stat.S_ISVTX:
        return
    for name in names:
        folder = os.path.join(parent, name)
        try:
            file = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        except OSError:  # It has just been removed, or is another user's.
            continue
        try:
            if os.fstat(file).st_uid == os.geteuid():
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                remove([folder], set())
        except OSError:  # Its guardian lives.
            pass
        finally:
            os.close(file)


class _Guardian:
    def __init__(
        self, client: int, folders: list[str], patience: float, command: list[str], listener: tuple[int, str] | None
    ) -> None:
        self.client, self.folders, self.patience, self.command = client, folders, patience, command
        self.listener = listener
        self.files: set[str] = set()
        self.mpiexec = 0
        self.status: int | None = None
        self.asked = ""
        self.terminated = False

    def run(self) -> None:
        prctl(SUBREAPER, 1)
        for number in (signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, lambda *_: None)  # It wakes `poll`; the wakeup descriptor tells the rest.
        woken, wakes = os.pipe()
        os.set_blocking(wakes, False)
        signal.set_wakeup_fd(wakes)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        poller = select.poll()
        poller.register(0, select.POLLIN)
        poller.register(woken, select.POLLIN)
        try:
            poller.register(os.pidfd_open(self.client), select.POLLIN)
        except (AttributeError, OSError):  # An older system, or the client has ended: `_is_over` asks for the parent.
            pass
        try:
            if self._make_folders():
                self._start()
            while not self._is_over():
                for file, _ in poller.poll(_TICK * 1000):
                    if file == 0:
                        self._read()
                    elif file == woken and bytes([signal.SIGTERM]) in os.read(woken, 1 << 10):
                        self.asked, self.terminated = "end", True
        finally:
            self._end()

    def _make_folders(self) -> bool:
        for folder in self.folders:
            remove_left(os.path.dirname(folder))
            try:
                make_locked(folder)
            except OSError as error:
                return self._cannot_start(error, self.folders[: self.folders.index(folder)])
        if self.listener is not None:
            try:
                listen(*self.listener)
            except OSError as error:
                return self._cannot_start(error, self.folders)
            os.close(self.listener[0])
        return True

    def _cannot_start(self, error: OSError, made: list[str]) -> bool:
        os.write(2, f"{error.filename}: {error.strerror}\n".encode())
        self.folders, self.status = made, 127
        return False

    def _start(self) -> None:
        me = os.getpid()
        self.mpiexec = os.fork()
        if not self.mpiexec:
            try:
                os.setpgid(0, 0)
                die_with(me)
                for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM, signal.SIGCHLD):
                    signal.signal(number, signal.SIG_DFL)
                nothing = os.open(os.devnull, os.O_RDONLY)
                os.dup2(nothing, 0)
                os.dup2(2, 1)
                os.execv(self.command[0], self.command)
            except OSError as error:
                os.write(2, f"{self.command[0]}: {error.strerror}\n".encode())
            finally:
                os._exit(127)
        self._tell(f"started {self.mpiexec}")

    def _is_over(self) -> bool:
        self._reap()
        return self.status is not None or self.asked == "end" or os.getppid() != self.client

    def _read(self) -> None:
        data = os.read(0, 1 << 12)
        if not data or b"end" in data:
            self.asked = "end"
        elif b"scan" in data:
            self.files |= mapped_files(descendants(os.getpid()))

    def _reap(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if not pid:
                return
            if pid == self.mpiexec:
                self.status = os.waitstatus_to_exitcode(status)

    def _end(self) -> None:
        me = os.getpid()
        self.files |= mapped_files(descendants(me))
        if self.status is None and self.patience and self.mpiexec:
            _kill(self.mpiexec, signal.SIGTERM)  # It tells its helpers on other hosts.
            self._wait(self.patience, lambda: self.status is not None)
        # Processes may start others while they are being killed, so this repeats until there is none.
        if self.mpiexec:
            try:
                os.killpg(self.mpiexec, signal.SIGKILL)
            except OSError:
                pass
        self._wait(10, lambda: not [pid for pid in descendants(me) if _kill(pid, signal.SIGKILL)])
        if self.status is not None and not self.terminated:
            self._tell(f"ended {self.status}")
        remove(self.folders, self.files)
        self._tell("clean")

    def _wait(self, seconds: float, until: Callable[[], bool]) -> None:
        last = time.monotonic() + seconds
        while time.monotonic() < last:
            self._reap()
            if until():
                return
            time.sleep(0.002)

    def _tell(self, text: str) -> None:
        try:
            os.write(1, f"{text}\n".encode())
        except OSError:  # The client has ended.
            pass


def _kill(pid: int, number: int) -> bool:
    try:
        os.kill(pid, number)
    except OSError:
        return False
    return True


if __name__ == "__main__":
    import json

    _Guardian(*json.loads(sys.argv[1])).run()
