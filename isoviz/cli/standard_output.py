"""Standard output with errors of its own: a full disk behind it is not the disk that a command works on."""

from __future__ import annotations

import io
import os
from typing import Any, TextIO

from isoviz.errors import RunError
from isoviz.regular_files import reason


class OutputError(RunError):
    """Standard output cannot be written to."""


class StandardOutput(io.TextIOBase):
    """A text stream that passes everything on to `stream` (None: this process was started without one).

    Raises:
        OutputError: writing failed. BrokenPipeError: the reader has closed the pipe, which is no failure.
    """

    def __init__(self, stream: TextIO | None) -> None:
        self._stream = stream
        self._has_failed = False
        if isinstance(stream, io.TextIOWrapper):  # a character that the locale lacks is no reason to fail
            stream.reconfigure(errors="backslashreplace")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def fileno(self) -> int:
        if self._stream is None:
            raise io.UnsupportedOperation("standard output is closed")
        return self._stream.fileno()

    def isatty(self) -> bool:
        return self._stream is not None and self._stream.isatty()

    def write(self, text: str) -> int:
        if self._stream is None:
            raise self._failed("it is closed")
        try:
            return self._stream.write(text)
        except BrokenPipeError:
            raise
        except OSError as error:
            raise self._failed(reason(error)) from None

    def flush(self) -> None:
        if self._stream is None:
            return
        try:
            self._stream.flush()
        except BrokenPipeError:
            raise
        except OSError as error:
            raise self._failed(reason(error)) from None

    def close(self) -> None:
        """Does nothing: the stream belongs to another owner."""

    def _failed(self, problem: str) -> OutputError:
        self._has_failed = True
        return OutputError(f"standard output: {problem}; the result cannot be printed")

    def finish(self) -> None:
        """Write the rest, unless an earlier failure was reported already.

        Raises:
            OutputError, BrokenPipeError.
        """
        if self._has_failed:
            self.drop()
        else:
            self.flush()

    def drop(self) -> None:
        """Discard the rest: Python would try to write it at exit, and fail again."""
        if self._stream is not None:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self._stream.fileno())
            os.close(nowhere)
