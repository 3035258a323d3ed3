"""Commands that run at the same time, with what each prints shown in one piece.

Any `python3` may run this file; so it keeps to the syntax of Python 3.8.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator, Sequence
from pathlib import Path

BEHIND = 5
"""How far a command beside the others steps back where they need the processor (its niceness)."""
OUTCOMES = ("passed", "failed", "skipped")


class Beside:
    """A command that runs beside others. What it prints goes to a file, and on to the screen once it is waited for."""

    def __init__(self, command: Sequence[str], cwd: Path, env: dict[str, str], output: Path) -> None:
        self.output = output
        with output.open("wb") as out:
            self.process = subprocess.Popen(
                command, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, preexec_fn=_step_back
            )

    def wait(self) -> int:
        """Show what it has printed, and go on until it has ended; gives its exit status."""
        with self.output.open("rb") as lines:
            ended = False
            while True:
                text = lines.read()
                if text:
                    sys.stdout.flush()
                    sys.stdout.buffer.write(text)
                    sys.stdout.buffer.flush()
                elif ended:
                    return self.process.returncode
                else:
                    with contextlib.suppress(subprocess.TimeoutExpired):
                        self.process.wait(timeout=0.2)
                        ended = True

    def end(self, interrupt: bool) -> None:
        """End it, where it still runs: as Ctrl-C does, with time to put its things away."""
        if self.process.poll() is None:
            if interrupt:
                self.process.send_signal(signal.SIGINT)
            try:
                self.process.wait(timeout=60)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()


def _step_back() -> None:
    with contextlib.suppress(OSError):
        os.nice(BEHIND)


@contextlib.contextmanager
def beside(command: Sequence[str], cwd: Path, env: dict[str, str]) -> Iterator[Beside]:
    """Run a command beside what happens in this block. Where the block is left by an error or Ctrl-C, the command is ended."""
    with tempfile.TemporaryDirectory() as folder:
        started = Beside(command, cwd, env, Path(folder) / "output")
        try:
            yield started
        except KeyboardInterrupt:
            started.end(interrupt=False)  # a terminal's Ctrl-C has reached it too
            raise
        except BaseException:
            started.end(interrupt=True)
            raise
        started.end(interrupt=True)


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
