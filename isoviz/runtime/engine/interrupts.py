"""Ctrl-C and other signals in the main thread, deferred while a transfer is partly submitted or partly cleaned up.

Python raises KeyboardInterrupt between any two steps of the main thread. Handlers of other signals that end a command also raise
there. An exception between an instruction of the scheduler and its execution would leave a transfer that never ends.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from types import FrameType
from typing import Any, ParamSpec, TypeVar

try:  # The functions of `signal` turn numbers into members of enums, which takes most of their time.
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

    permitted = False
    handlers: dict[int, Any] = {}  # noqa: RUF012  # the class is never instantiated
    came: tuple[int, FrameType | None] | None = None


def _interrupted(number: int, frame: FrameType | None) -> None:
    if _State.permitted:
        _State.handlers[number](number, frame)
    else:
        _State.came = number, frame


class defer_interrupts:  # noqa: N801  # used like a function
    """Defer signals to the end of the block, except inside `permit_interrupts`. It also decorates functions.

    Only the main thread runs signal handlers. In other threads this does nothing.
    """

    __slots__ = ("_mine", "_permitted")

    def __enter__(self) -> None:
        self._mine: dict[int, Any] | None = None
        """The handlers to restore; None if there are none, in another thread or in a block within another one."""
        self._permitted = False
        """Whether a block around this one permits signals."""
        if threading.current_thread() is not threading.main_thread():
            return
        handlers = {number: _handler_of(number) for number in _SIGNALS}
        if _interrupted in handlers.values():
            self._permitted, _State.permitted = _State.permitted, False
            return
        _State.handlers = mine = {number: handler for number, handler in handlers.items() if callable(handler)}
        try:
            for number in mine:
                _set_handler(number, _interrupted)
            self._mine = mine
        except BaseException:  # a signal that came before its own handler was replaced
            _restore(mine)
            raise

    def __exit__(self, *_: object) -> None:
        if self._mine is not None:
            _restore(self._mine)
        elif self._permitted:
            _State.permitted = True
            _deliver()

    def __call__(self, function: Callable[_Given, _Result]) -> Callable[_Given, _Result]:
        @wraps(function)
        def deferring(*args: _Given.args, **options: _Given.kwargs) -> _Result:
            with defer_interrupts():
                return function(*args, **options)

        return deferring


def _restore(handlers: dict[int, Any]) -> None:
    for number, handler in handlers.items():
        _set_handler(number, handler)
    _deliver()


@contextmanager
def permit_interrupts(when: bool = True) -> Iterator[None]:
    """Handle signals inside a `defer_interrupts` block, first the one that was deferred. Without `when` this does nothing."""
    if (
        not when
        or threading.current_thread() is not threading.main_thread()
        or not any(_handler_of(number) is _interrupted for number in _State.handlers)
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
