"""JupyterLab and Voila as processes of their own: started, found by the address that they print, and ended in all cases."""

from __future__ import annotations

import contextlib
import os
import queue
import re
import shutil
import signal
import socket
import subprocess
import threading
import time
import urllib.parse
from collections.abc import Iterator, Sequence
from pathlib import Path

ADDRESS = re.compile(r"http://(?:localhost|127\.0\.0\.1):\d+/lab/tree/\S+token=\w+")
FOLDERS = {
    "JUPYTER_CONFIG_DIR": "config",
    "JUPYTER_DATA_DIR": "data",
    "JUPYTER_RUNTIME_DIR": "runtime",
    "IPYTHONDIR": "ipython",
}
USER_FOLDERS = {"CACHE": "cache", "DATA": "share", "STATE": "state"}


def variables(home: Path, *dropped: str) -> dict[str, str]:
    """The process environment with configuration, data, state and runtime folders in `home`, and without a display.

    The state folder is that of a user who has ended the tour of the explorer.

    `dropped` are beginnings of further names to leave out.
    """
    names = ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER", "JUPYTER", "IPYTHON", "PYTEST", "MAKE", "MFLAGS", *dropped)
    kept = {key: value for key, value in os.environ.items() if not key.startswith(names)}
    folders = {name: str(home / folder) for name, folder in FOLDERS.items()}
    users = {f"XDG_{name}_HOME": str(home / folder) for name, folder in USER_FOLDERS.items()}
    state = home / USER_FOLDERS["STATE"] / "isoviz"
    state.mkdir(mode=0o700, parents=True, exist_ok=True)
    (state / "tour-ended").touch()  # nobody here is new: the tour would stand in the bar
    # A kernel that crashes says where, in the output of its server.
    return {**kept, **folders, **users, "NO_COLOR": "1", "PYTHONFAULTHANDLER": "1"}


def home_with_kernels(home: Path) -> dict[str, str]:
    """`variables(home)`, where the home has the copy kernels that this checkout has compiled.

    Without them the first kernel that starts there compiles them, and takes a processor from the tests for a minute.
    """
    from isoviz.backends.host.kernels import kernel_cache

    place = kernel_cache.folder()
    goal = home / USER_FOLDERS["CACHE"] / "isoviz"
    if place is not None and kernel_cache.is_complete() and not (goal / place.name).exists():
        goal.mkdir(mode=0o700, parents=True, exist_ok=True)
        shutil.copytree(place, goal / place.name)
    return variables(home)


@contextlib.contextmanager
def serving(
    command: Sequence[str], *, cwd: Path, env: dict[str, str], patience: float, address: re.Pattern[str] = ADDRESS
) -> Iterator[tuple[str, list[str]]]:
    """Run a command that starts a server; gives the address that it printed, once it answers there, and its output so far.

    Raises:
        AssertionError: no address within `patience` seconds, with all that was printed.
    """
    process = subprocess.Popen(
        command, cwd=cwd, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    )
    output: list[str] = []
    found: queue.Queue[str | None] = queue.Queue()
    reader = threading.Thread(target=_read, args=(process, output, found, address), daemon=True, name="server-output")
    reader.start()
    try:
        deadline = time.monotonic() + patience
        url = None
        with contextlib.suppress(queue.Empty):
            url = found.get(timeout=patience)
        if url is None or not _answers(url, deadline):
            raise AssertionError(f"{' '.join(command)} opened no address:\n{''.join(output)}")
        yield url, output
    finally:
        _end(process)
        reader.join(timeout=250)
        if process.stdout is not None:
            process.stdout.close()


def _read(process: subprocess.Popen[str], output: list[str], found: queue.Queue[str | None], pattern: re.Pattern[str]) -> None:
    assert process.stdout is not None
    for line in process.stdout:
        output.append(line)
        if address := pattern.search(line):
            found.put(address[0])
    found.put(None)


def _answers(url: str, deadline: float) -> bool:
    """Whether somebody listens there before the deadline: Jupyter prints its address a moment before it does."""
    parts = urllib.parse.urlsplit(url)
    pause = threading.Event()
    while time.monotonic() < deadline:
        try:
            socket.create_connection((parts.hostname or "", parts.port or 0), timeout=5).close()
            return True
        except OSError:
            pause.wait(0.05)
    return False


def _end(process: subprocess.Popen[str]) -> None:
    """End the server as a service manager would, then whatever is left of its session."""
    _signal(process, signal.SIGTERM)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(timeout=250)
    _signal(process, signal.SIGKILL)
    process.wait(timeout=250)


def _signal(process: subprocess.Popen[str], number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)
