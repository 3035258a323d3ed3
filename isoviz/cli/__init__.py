"""The command line: `isoviz plan | cost | simulate | run | history | show | convert | machine | bench | reproduce | lab`.

Exit status: 0 done; 1 a run failed; 2 the input is wrong; 128 + n ended by signal n (130: Ctrl-C). With `--json` standard output
holds one JSON object and nothing else; what is for people goes to standard error.
"""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import NoReturn

from isoviz._version import __version__

# Modules of one command each, with `add_parser(subparsers)`; what they need is imported when they run.
_COMMANDS = ("plan", "cost", "simulate", "run", "history", "show", "convert", "machine", "bench", "reproduce", "lab")


class _Parser(argparse.ArgumentParser):
    """Errors in one line, like all others."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"isoviz: error: {message} (see: {self.prog} --help)\n")


def parser() -> argparse.ArgumentParser:
    """The parser of the whole command line."""
    found = _Parser(prog="isoviz", description="Plan, show and run data transfers between memories and layouts.")
    found.add_argument("--version", action="version", version=f"isoviz {__version__}")
    subparsers = found.add_subparsers(title="commands", dest="command", metavar="COMMAND", required=True)
    for name in _COMMANDS:
        import_module(f"isoviz.cli.{name}").add_parser(subparsers)
    return found


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit status."""
    from isoviz.errors import InputError, IsovizError, NotationError

    try:
        if isinstance(sys.stdout, io.TextIOWrapper):  # a character that the locale lacks is no reason to fail
            sys.stdout.reconfigure(errors="backslashreplace")
        args = parser().parse_args(argv)
        status = int(args.func(args))
        sys.stdout.flush()
    except BrokenPipeError:
        _drop_output()  # whoever read has gone
        return 141
    except KeyboardInterrupt as interrupt:
        number = interrupt.args[0] if interrupt.args and isinstance(interrupt.args[0], int) else 2
        _say("interrupted; nothing was left behind")
        return 128 + number
    except NotationError as error:
        _say(str(error))
        sys.stderr.write("".join(f"  {line}\n" for line in error.pointer.splitlines()))
        return 2
    except IsovizError as error:
        _say(str(error))
        return 2 if isinstance(error, InputError) else 1
    except MemoryError:
        _say("out of memory")
        return 1
    except OSError as error:  # standard output on a full disk, for one
        _say(str(error))
        try:
            sys.stdout.flush()
        except OSError:
            _drop_output()
        return 1
    except Exception as error:
        if os.environ.get("ISOVIZ_TRACEBACK"):
            raise
        _say(f"internal error, {type(error).__name__}: {error} (ISOVIZ_TRACEBACK=1 shows where; please report it)")
        return 1
    return status


def _drop_output() -> None:
    """What standard output still holds goes nowhere: Python would try to write it at exit, and fail again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _say(message: str) -> None:
    sys.stderr.write(f"isoviz: error: {' '.join(message.split())}\n")
