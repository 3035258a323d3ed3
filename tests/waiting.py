"""Waiting for what other threads and processes do: for the fact itself, never for as long as it takes on some computer."""

from __future__ import annotations

import contextlib
import inspect
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType

PATIENCE = 120.0
"""Seconds for what takes some milliseconds on a quiet computer."""


def until(condition: Callable[[], object], seconds: float = PATIENCE) -> bool:
    """Wait until a condition holds; False if it never does."""
    last, pause = time.monotonic() + seconds, threading.Event()
    while not condition():
        if time.monotonic() > last:
            return False
        pause.wait(0.005)
    return True


def is_inside(thread: threading.Thread, function: Callable[..., object]) -> bool:
    """Whether a thread is inside of a Python function."""
    code = getattr(inspect.unwrap(function), "__code__")  # noqa: B009  # mypy knows callables without one
    frame: FrameType | None = sys._current_frames().get(thread.ident or 0)
    while frame is not None and frame.f_code is not code:
        frame = frame.f_back
    return frame is not None


def sleep_of(thread: threading.Thread) -> str:
    """Equal for two moments between which a thread was asleep all the time; empty while it is awake."""
    lines = Path(f"/proc/self/task/{thread.native_id}/status").read_text(encoding="ascii").splitlines()
    told = dict(line.split(":\t", 1) for line in lines)
    return told["voluntary_ctxt_switches"] if told["State"].startswith("S") else ""


@contextlib.contextmanager
def ctrl_c_inside(function: Callable[..., object]) -> Iterator[None]:
    """Ctrl-C once the main thread waits inside of a function, for what comes later. A block in which it does not gets none."""
    begun, over = threading.Event(), threading.Event()
    sleep = ""

    def waits() -> bool:
        """A thread that is only about to fall asleep would miss the signal: Python handles it once the thread wakes up."""
        nonlocal sleep
        before, sleep = sleep, sleep_of(threading.main_thread())
        return sleep != "" and sleep == before and is_inside(threading.main_thread(), function)

    def press() -> None:
        begun.wait()  # the start of this thread is something that the main thread waits for, too
        if until(lambda: over.is_set() or waits()) and not over.is_set():
            os.kill(os.getpid(), signal.SIGINT)

    presser = threading.Thread(target=press)
    presser.start()
    begun.set()
    try:
        yield
    finally:
        over.set()
        presser.join()
