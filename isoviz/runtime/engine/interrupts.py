"""Ctrl-C and other signals in the main thread, deferred while a transfer is partly submitted or partly cleaned up.

Python raises KeyboardInterrupt between any two steps of the main thread. Handlers of other signals that end a command also raise
there. An exception between an instruction of the scheduler and its execution would leave a transfer that never ends.

Handlers are replaced only while signals are deferred. Code of the caller runs with its own handlers, and may install others.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from types import FrameType
from typing import Any, ParamSpec, TypeVar

try:  # `signal.getsignal` and `signal.signal` look for members of enums: 9 µs for a call, not 0.03 and 1.3 (CPython 3.11).
    from _signal import getsignal as _handler_of  # type: ignore[import-not-found]
    from _signal import signal as _set_handler
except ImportError:
    from signal import getsignal as _handler_of
    from signal import signal as _set_handler

_SIGNALS = tuple(int(getattr(signal, name)) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))

_Given = ParamSpec("_Given")
_Result = TypeVar("_Result")


class _State:
    """State of the main thread, the only thread that runs signal handlers."""

    handlers: dict[int, Any] | None = None
    """The handlers that were replaced; None while signals are not deferred."""
    came: tuple[int, FrameType | None] | None = None


def _deferred(number: int, frame: FrameType | None) -> None:
    """The handler that replaces others."""
    if _State.handlers is None and number == signal.SIGINT:  # somebody took it for a handler of the caller and kept it
        signal.default_int_handler(number, frame)
    _State.came = number, frame


class defer_interrupts:  # noqa: N801  # used like a function
    """Defer signals to the end of the block, except inside `permit_interrupts`. It also decorates functions.

    Only the main thread runs signal handlers. In other threads this does nothing.
    """

    __slots__ = ("_is_mine",)

    def __enter__(self) -> None:
        self._is_mine = False
        """Whether this block defers signals, and not one around it."""
        if _State.handlers is None and threading.current_thread() is threading.main_thread():
            _replace()
            self._is_mine = True

    def __exit__(self, *_: object) -> None:
        if self._is_mine:
            _restore()

    def __call__(self, function: Callable[_Given, _Result]) -> Callable[_Given, _Result]:
        @wraps(function)
        def deferring(*args: _Given.args, **options: _Given.kwargs) -> _Result:
            with defer_interrupts():
                return function(*args, **options)

        return deferring


@contextmanager
def permit_interrupts(when: bool = True) -> Iterator[None]:
    """Handle signals inside a `defer_interrupts` block, first the one that was deferred. Without `when` this does nothing.

    A handler that is installed inside takes effect at once, and stays.
    """
    if not when or _State.handlers is None or threading.current_thread() is not threading.main_thread():
        yield
        return
    try:
        _restore()
        yield
    finally:
        try:
            _replace()
        except BaseException:  # a signal came just before
            _replace()
            raise


def signal_waits() -> bool:
    """Whether a signal came to this thread that is deferred."""
    return _State.came is not None and threading.current_thread() is threading.main_thread()


def handle_waiting_signal() -> None:
    """Handle a signal that is deferred, if one came to this thread: for loops that wait inside a `defer_interrupts` block."""
    if signal_waits():
        with permit_interrupts():
            pass


def _replace() -> None:
    """Defer signals from now on. Handlers that Python does not call, such as SIG_IGN, stay."""
    found = {number: _handler_of(number) for number in _SIGNALS}
    _State.handlers = {number: handler for number, handler in found.items() if callable(handler) and handler is not _deferred}
    try:
        for number in _State.handlers:
            _set_handler(number, _deferred)
    except BaseException:  # a signal that came before its own handler was replaced
        _restore()
        raise


def _restore() -> None:
    """Defer signals no more, and handle the one that came."""
    try:
        _put_back(list((_State.handlers or {}).items()))
    finally:
        _State.handlers = None
        came, _State.came = _State.came, None
        if came is not None and callable(handler := _handler_of(came[0])):
            handler(*came)


def _put_back(handlers: list[tuple[int, Any]]) -> None:
    """Install handlers again where no other ones were installed since. All of them, also if one raises as soon as it is back."""
    if handlers:
        number, handler = handlers.pop()
        try:
            if _handler_of(number) is _deferred:
                _set_handler(number, handler)
        finally:
            _put_back(handlers)
