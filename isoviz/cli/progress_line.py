"""The progress of a run, on one line of a terminal; nothing if standard error is not a terminal."""

from __future__ import annotations

import shutil
import sys
import time
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, TextIO

from isoviz.errors import printable

if TYPE_CHECKING:
    from isoviz.runtime import Progress

_EVERY = 0.1
"""Seconds between two updates of the line; faster ones flicker."""
_WINDOW = 10.0
"""Seconds over which the rate is measured, so that it follows a disk that slows down."""
_BAR = 24


class ProgressLine:
    """A bar with share, bytes, rate and time left. `clock` returns seconds."""

    def __init__(self, stream: TextIO | None = None, quiet: bool = False, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._shown = not quiet and self._stream.isatty()
        self._clock = clock
        self._line = ""
        self._last = -_EVERY
        self._seen: deque[tuple[float, int]] = deque()

    def show(self, progress: Progress) -> None:
        """Show the progress of the run, a few times a second."""
        if not self._shown:
            return
        now = self._clock()
        if not self._seen:
            self._seen.append((now, progress.bytes_done))
        if now - self._last < _EVERY:
            return
        self._last = now
        if progress.stage == "verify":
            self._write("verifying …")
            return
        self._seen.append((now, progress.bytes_done))
        while len(self._seen) > 2 and now - self._seen[0][0] > _WINDOW:
            self._seen.popleft()
        self._write(self._text(progress))

    def _text(self, progress: Progress) -> str:
        from isoviz.units import format_bytes, format_rate

        share = progress.bytes_done / max(progress.bytes, 1)
        bar = "#" * int(share * _BAR)
        text = f"[{bar:<{_BAR}}] {share:4.0%} of {format_bytes(progress.bytes)}"
        (then, before), (now, done) = self._seen[0], self._seen[-1]
        if now > then and done > before:
            rate = (done - before) / (now - then)
            text += f", {format_rate(rate)}, {clock_text((progress.bytes - done) / rate)} left"
        return text

    def _write(self, line: str) -> None:
        line = printable(line)[: max(1, shutil.get_terminal_size().columns - 1)]  # a line that wraps cannot be taken back
        if line == self._line:
            return
        self._stream.write("\r" + line.ljust(len(self._line)))
        self._stream.flush()
        self._line = line

    def clear(self) -> None:
        """Remove the line."""
        if self._line:
            self._stream.write("\r" + " " * len(self._line) + "\r")
            self._stream.flush()
            self._line = ""


def clock_text(seconds: float) -> str:
    """Seconds as a clock shows them: `0:07`, `1:02:03`."""
    minutes, left = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{left:02}" if hours else f"{minutes}:{left:02}"
