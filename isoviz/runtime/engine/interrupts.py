"""Ctrl-C, and whatever else raises in the main thread, held back while a transfer is half submitted or half put away.

Python raises KeyboardInterrupt between any two steps of the main thread, and so do handlers of other signals that end a command.
One that comes between what the scheduler says and the doing of it would leave a transfer that never ends.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

_SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))


class _State:
    """Of the main thread, the only one that signals interrupt."""

    allowed = False
    handlers: dict[int, Any] = {}  # noqa: RUF012  # there is one state
    came: tuple[int, FrameType | None] | None = None


def _interrupted(number: int, frame: FrameType | None) -> None:
    if _State.allowed:
        _State.handlers[number](number, frame)
    else:
        _State.came = number, frame


@contextmanager
def held() -> Iterator[None]:
    """Signals come at the end of this, or where they are `allowed`. Other threads than the main one have nothing to hold."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handlers = {number: signal.getsignal(number) for number in _SIGNALS}
    if _interrupted in handlers.values():  # within another one, where they are perhaps allowed
        before, _State.allowed = _State.allowed, False
        try:
            yield
        finally:
            _State.allowed = before
            if before:
                _deliver()
        return
    _State.handlers = mine = {number: handler for number, handler in handlers.items() if callable(handler)}
    try:
        for number in mine:
            signal.signal(number, _interrupted)
        yield
    finally:
        for number, handler in mine.items():
            signal.signal(number, handler)
        _deliver()


@contextmanager
def allowed(when: bool = True) -> Iterator[None]:
    """Within `held`, where signals may come after all."""
    if (
        not when
        or threading.current_thread() is not threading.main_thread()
        or not any(signal.getsignal(number) is _interrupted for number in _State.handlers)
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
        _State.handlers[came[0]](*came)
