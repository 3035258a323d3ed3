"""Output that commands share: JSON on standard output, progress on standard error, signals that cancel."""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from isoviz.cli.progress_line import ProgressLine
from isoviz.errors import Cancelled, printable, show

if TYPE_CHECKING:
    from isoviz.runtime import Progress

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def whole_number(text: str) -> int:
    """The number in the text of an option, in the digits 0 to 9.

    Raises:
        argparse.ArgumentTypeError: something else.
    """
    if not re.fullmatch(r"[-+]?[0-9]{1,30}", text):
        raise argparse.ArgumentTypeError(f"{show(text)} is not a whole number, such as 4")
    return int(text)


def print_json(data: Any) -> None:
    """One JSON object on standard output, in ASCII, so that every locale can show every file name."""
    print(json.dumps(data, indent=2, allow_nan=False))


def print_text(text: object = "") -> None:
    """Text for people on standard output. Control characters, in a file name for example, are escaped."""
    print(_printable_lines(text))


def tell(text: object) -> None:
    """Text for people on standard error, where it does not mix with the output of a command."""
    sys.stderr.write(f"{_printable_lines(text)}\n")


def _printable_lines(text: object) -> str:
    return "\n".join(map(printable, str(text).split("\n")))


class Watch:
    """A run as the command line sees it: its `cancel` token and its `progress` callback."""

    def __init__(self, quiet: bool = False) -> None:
        self.cancel = threading.Event()
        self.signal = 0
        self.running = False
        self.is_repeated = False
        """Whether Python has dropped the exception of a signal, and a timer raises it again."""
        self._line = ProgressLine(quiet=quiet)

    def progress(self, progress: Progress) -> None:
        """Show the progress of the run, on a terminal only."""
        self.running = True
        self._line.show(progress)

    def clear(self) -> None:
        """Remove the progress line."""
        self._line.clear()

    def stop(self, number: int, _frame: FrameType | None) -> None:
        """Signal handler: the engine stops between two requests; anything else, or a second signal, stops at once."""
        again = self.cancel.is_set()
        self.signal = number
        self.cancel.set()
        if again or not self.running:
            raise KeyboardInterrupt(number)

    def stop_again(self, _number: int, frame: FrameType | None) -> None:
        """Signal handler: stop at once for the signal that came before."""
        self.stop(self.signal, frame)


@contextmanager
def watched(quiet: bool = False) -> Iterator[Watch]:
    """A watch whose token is set by SIGINT, SIGTERM and SIGHUP; a cancelled run ends like an interrupted one.

    Python drops an exception that a signal handler raises inside a callback of the garbage collector. It is raised again then.
    """
    watch = Watch(quiet)
    before: dict[signal.Signals, Any] = {}
    hook = sys.unraisablehook

    def dropped(given: sys.UnraisableHookArgs) -> None:
        if isinstance(given.exc_value, KeyboardInterrupt) and watch.signal:
            watch.is_repeated = True
            signal.setitimer(signal.ITIMER_REAL, 0.01)  # To raise it here would drop it again.
        else:
            hook(given)

    if threading.current_thread() is threading.main_thread():
        for number in _SIGNALS:
            if signal.getsignal(number) is not signal.SIG_IGN:  # nohup stays nohup
                before[number] = signal.signal(number, watch.stop)
        before[signal.SIGALRM] = signal.signal(signal.SIGALRM, watch.stop_again)
        sys.unraisablehook = dropped
    try:
        yield watch
    except Cancelled:
        if watch.signal:
            raise KeyboardInterrupt(watch.signal) from None
        raise
    finally:
        watch.clear()
        if watch.is_repeated:  # The timer would end the process once its handler is gone.
            signal.setitimer(signal.ITIMER_REAL, 0)
        if before:
            sys.unraisablehook = hook
        for number, handler in before.items():
            signal.signal(number, handler)


def check_outputs(file: str | None, outputs: Iterable[str | None]) -> None:
    """Check before any work that all files can be written, and that they differ from the transfer file and from each other.

    Raises:
        FileError: a file cannot be written, or is named twice.
    """
    from isoviz.errors import FileError
    from isoviz.regular_files import final_path

    taken = {} if file is None else {Path(os.path.realpath(file)): "the transfer file itself"}
    for name in outputs:
        if name is not None:
            if not name:
                raise FileError("output: expected the name of a file, got ''")
            path = final_path(name)
            if path in taken:
                raise FileError(f"{name}: is {taken[path]}; give another name")
            if not path.parent.is_dir():
                raise FileError(f"{name}: there is no folder {path.parent}")
            taken[path] = "named twice"


def save_file(name: str | Path, content: bytes, source: str | Path | None) -> None:
    """Write a file, complete or not at all. Nobody gets at it who may not read the file `source`, which it tells about."""
    import numpy as np

    from isoviz.backends.disk.file_access import NewFile
    from isoviz.regular_files import sources_of

    new = NewFile(name, len(content))
    new.sources = () if source is None else sources_of(source)
    try:
        new.write_at(0, np.frombuffer(content, np.uint8))
        new.publish()
    finally:
        new.close()


def write_file(name: str, content: bytes, source: str | Path | None) -> None:
    """Write a file as `save_file` does, and say so on standard error."""
    save_file(name, content, source)
    with suppress(OSError):  # it is written, whether that can be told or not
        tell(f"wrote {printable(name)}")
