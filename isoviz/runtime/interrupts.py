"""Ctrl-C, held back while a transfer is half submitted or half put away.

Python raises KeyboardInterrupt between any two steps of the main thread. One that comes between what the scheduler says and the
doing of it would leave a transfer that never ends.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any


class _State:
    """Of the main thread, the only one that signals interrupt."""

    allowed = False
    handler: Any = None
    came: tuple[int, FrameType | None] | None = None


def _interrupted(number: int, frame: FrameType | None) -> None:
    if _State.allowed:
        _State.handler(number, frame)
    else:
        _State.came = number, frame


@contextmanager
def held() -> Iterator[None]:
    """Ctrl-C comes at the end of this, or where it is `allowed`. Elsewhere than in the main thread there is nothing to hold."""
    handler = signal.getsignal(signal.SIGINT) if threading.current_thread() is threading.main_thread() else None
    if not callable(handler):
        yield
        return
    if handler is _interrupted:  # within another one, where it is perhaps allowed
        before, _State.allowed = _State.allowed, False
        try:
            yield
        finally:
            _State.allowed = before
            if before:
                _deliver()
        return
    _State.handler = handler
    signal.signal(signal.SIGINT, _interrupted)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        _deliver()


@contextmanager
def allowed(when: bool = True) -> Iterator[None]:
    """Within `held`, where Ctrl-C may come after all."""
    if (
        not when
        or threading.current_thread() is not threading.main_thread()
        or signal.getsignal(signal.SIGINT) is not _interrupted
    ):
        yield
        return
    try:
        _State.allowed = True
        _deliver()
        yield
    finally:
        _State.allowed = False


def _deliver() -> None:
    came, _State.came = _State.came, None
    if came is not None:
        _State.handler(*came)
