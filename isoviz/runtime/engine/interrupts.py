"""Ctrl-C, and whatever else raises in the main thread, deferred while a transfer is half submitted or half put away.

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

    permitted = False
    handlers: dict[int, Any] = {}  # noqa: RUF012  # there is one state
    came: tuple[int, FrameType | None] | None = None


def _interrupted(number: int, frame: FrameType | None) -> None:
    if _State.permitted:
        _State.handlers[number](number, frame)
    else:
        _State.came = number, frame


@contextmanager
def defer_interrupts() -> Iterator[None]:
    """Signals come at the end of this, or where `permit_interrupts` lets them come. Other threads than the main one have nothing
    to defer.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handlers = {number: signal.getsignal(number) for number in _SIGNALS}
    if _interrupted in handlers.values():  # within another one, where they are perhaps permitted
        before, _State.permitted = _State.permitted, False
        try:
            yield
        finally:
            _State.permitted = before
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
def permit_interrupts(when: bool = True) -> Iterator[None]:
    """Within `defer_interrupts`, where signals may come after all."""
    if (
        not when
        or threading.current_thread() is not threading.main_thread()
        or not any(signal.getsignal(number) is _interrupted for number in _State.handlers)
    ):
        yield
        return
    try:
        _State.permitted = True
        _deliver()
        yield
    finally:
        _State.permitted = False


def _deliver() -> None:
    came, _State.came = _State.came, None
    if came is not None:
        _State.handlers[came[0]](*came)
