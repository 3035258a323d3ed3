"""The command `isoviz plan | cost | simulate | run | history | show | convert | machine | bench | reproduce | course | lab`.

Exit status: 0 done; 1 a run failed; 2 the input is wrong; 128 + n ended by signal n (130: Ctrl-C). With `--json` standard
output holds one JSON object and nothing else; text for people goes to standard error.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn, TextIO

from isoviz._version import __version__
from isoviz.errors import LONGEST, InputError, IsovizError, RunError, TextError, line
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


# Modules of one command each, with `add_parser(subparsers)`. A command imports its parts when it runs.
_COMMANDS = ("plan", "cost", "simulate", "run", "history", "show", "convert", "machine", "bench", "reproduce", "course", "lab")


_CLOSED_PIPE = 141
"""128 + SIGPIPE: the exit status of programs that stop because their reader has closed the pipe."""


class Parser(argparse.ArgumentParser):
    """A parser with errors on one line, like all other errors of isoviz."""

    def format_help(self) -> str:
        """The help, with the names of the planners. To know them takes a quarter of a second, so only help asks."""
        for action in self._actions:
            if action.dest == "planner" and action.help is None:
                from isoviz.planner import PLANNERS

                *names, last = PLANNERS
                action.help = f"{', '.join(names)} or {last} (default: what the file says)"
        return super().format_help()

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"isoviz: error: {line(message, LONGEST - 40)} (see: {self.prog} --help)\n")


def parser() -> argparse.ArgumentParser:
    """The parser of the whole command line."""
    found = Parser(prog="isoviz", description="Plan, show and run data transfers between memories and layouts.")
    found.add_argument("--version", action="version", version=f"isoviz {__version__}")
    subparsers = found.add_subparsers(title="commands", dest="command", metavar="COMMAND", required=True)
    for name in _COMMANDS:
        import_module(f"isoviz.cli.{name}_command").add_parser(subparsers)
    return found


def main(argv: Sequence[str] | None = None, make_parser: Callable[[], argparse.ArgumentParser] = parser) -> int:
    """Run one command; the result is the exit status. A command line of its own gives the function that makes its parser."""
    output = StandardOutput(sys.stdout)
    with contextlib.redirect_stdout(output), _standard_error():
        status = _status(argv, make_parser)
        try:
            output.finish()
        except BrokenPipeError:
            status = _CLOSED_PIPE
        except OutputError as error:
            _say(str(error))
            status = status or 1
        else:
            return status
        output.drop()
        return status


def _status(argv: Sequence[str] | None, make_parser: Callable[[], argparse.ArgumentParser]) -> int:
    """Run one command; the result is the exit status before standard output is flushed."""
    try:
        args = make_parser().parse_args(argv)
        status = int(args.func(args))
        sys.stdout.flush()  # This may wait for a reader until a signal interrupts it.
        return status
    except SystemExit as leave:  # --help, --version and wrong options
        return int(leave.code or 0)
    except BrokenPipeError:  # The reader has closed the pipe.
        return _CLOSED_PIPE
    except KeyboardInterrupt as interrupt:
        number = interrupt.args[0] if interrupt.args and isinstance(interrupt.args[0], int) else 2
        _say("interrupted; nothing was left behind")
        return 128 + number
    except TextError as error:
        _say(str(error))
        _tell("".join(f"  {text}\n" for text in error.pointer.split("\n")))
        return 2
    except IsovizError as error:
        _say(str(error))
        return 2 if isinstance(error, InputError) else 1
    except MemoryError:
        _say("out of memory")
        return 1
    except OSError as error:
        _say(str(error))
        return 1
    except Exception as error:
        if os.environ.get("ISOVIZ_TRACEBACK"):
            raise
        said = line(" ".join(str(error).split()), 200)
        _say(f"internal error, {type(error).__name__}: {said} (ISOVIZ_TRACEBACK=1 shows where; please report it)")
        return 1


@contextlib.contextmanager
def _standard_error() -> Iterator[None]:
    """Standard error, or nothing if this process was started without it.

    No file that is opened later takes the number of standard input, output or error, as something may still write there.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    if sys.stderr is not None:
        yield
        return
    with Path(os.devnull).open("w", encoding="utf-8") as nowhere, contextlib.redirect_stderr(nowhere):
        yield


def _say(message: str) -> None:
    _tell(f"isoviz: error: {line(' '.join(message.split()))}\n")


def _tell(text: str) -> None:
    """Text on standard error. If it cannot be written, the exit status is enough."""
    with contextlib.suppress(OSError):
        sys.stderr.write(text)
