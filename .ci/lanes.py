"""A queue of commands, some of which run at the same time, with what each prints shown in one piece.

Any `python3` may run this file; so it keeps to the syntax of Python 3.8.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Sequence
from pathlib import Path

FEWEST, MOST = 2, 4
"""How many lanes run at a time, whatever the number of processors: much of a lane waits, and four take what one disk gives."""
OUTCOMES = ("passed", "failed", "skipped")


def at_a_time() -> int:
    """As many lanes as there are processors, within bounds. More lanes than that only wait for each other."""
    return max(FEWEST, min(MOST, os.cpu_count() or FEWEST))


class Lane:
    """A command that may run beside others. What it prints goes to a file, and on to the screen once its turn has come."""

    def __init__(self, name: str, command: Sequence[str], output: Path) -> None:
        self.name = name
        self.command = command
        self.output = output
        self.process: subprocess.Popen[bytes] | None = None
        self.began = self.took = 0.0

    def start(self, cwd: Path, env: dict[str, str]) -> None:
        self.began = time.monotonic()
        with self.output.open("wb") as out:
            self.process = subprocess.Popen(
                self.command, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT
            )

    def is_running(self) -> bool:
        if self.process is None or self.process.returncode is not None:
            return False
        self.took = time.monotonic() - self.began
        return self.process.poll() is None

    def end(self, interrupt: bool) -> None:
        """End it, where it still runs: as Ctrl-C does, with time to put its things away."""
        if self.process is not None and self.process.poll() is None:
            if interrupt:
                self.process.send_signal(signal.SIGINT)
            try:
                self.process.wait(timeout=60)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()


def run(
    commands: dict[str, Sequence[str]], cwd: Path, env: dict[str, str], told: Callable[[str, int, float], object], most: int
) -> None:
    """Run commands, the first ones first, `most` of them at a time.

    What each prints is shown in one piece, in their order: of the first while it runs. `told` then gets its name, its exit
    status, and how many seconds it took. An error or Ctrl-C ends all of them.
    """
    with tempfile.TemporaryDirectory() as folder:
        lanes = [Lane(name, command, Path(folder) / name) for name, command in commands.items()]
        try:
            for lane in lanes:
                _show(lane, lambda: _start_more(lanes, cwd, env, most))
                told(lane.name, lane.process.returncode, lane.took)
        except BaseException as error:
            interrupt = not isinstance(error, KeyboardInterrupt)  # a terminal's Ctrl-C has reached them too
            for lane in lanes:
                lane.end(interrupt)
            raise


def _start_more(lanes: Sequence[Lane], cwd: Path, env: dict[str, str], most: int) -> None:
    room = most - sum(lane.is_running() for lane in lanes)
    for lane in [lane for lane in lanes if lane.process is None][:room]:
        lane.start(cwd, env)


def _show(lane: Lane, start_more: Callable[[], None]) -> None:
    """Show what a lane has printed, and go on until it has ended; meanwhile others begin where one has ended."""
    start_more()
    with lane.output.open("rb") as lines:
        while True:
            ended = not lane.is_running()
            text = lines.read()
            if text:
                sys.stdout.flush()
                sys.stdout.buffer.write(text)
                sys.stdout.buffer.flush()
            elif ended:
                return
            else:
                start_more()
                with contextlib.suppress(subprocess.TimeoutExpired):
                    lane.process.wait(timeout=0.2)


class Counts:
    """How many tests had which outcome, from the files that several runs of pytest wrote (`--junit-xml`)."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def file(self, name: str) -> str:
        return str(self.folder / f"{name}.xml")

    def words(self) -> str:
        """Such as "2,345 passed, 3 skipped in 312 s and 402 s"."""
        totals = dict.fromkeys(OUTCOMES, 0)
        seconds = []
        for path in sorted(self.folder.glob("*.xml")):
            for suite in ElementTree.parse(path).getroot().iter("testsuite"):  # noqa: S314  # pytest wrote it
                failed = int(suite.get("failures", 0)) + int(suite.get("errors", 0))
                skipped = int(suite.get("skipped", 0))
                totals["failed"] += failed
                totals["skipped"] += skipped
                totals["passed"] += int(suite.get("tests", 0)) - failed - skipped
                seconds.append(float(suite.get("time", 0)))
        told = ", ".join(f"{totals[outcome]:,} {outcome}" for outcome in OUTCOMES if totals[outcome] or outcome == "passed")
        return f"{told} in {' and '.join(f'{each:.0f} s' for each in seconds) or '0 s'}"
