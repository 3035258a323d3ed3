"""Opening the ends of a transfer: allocating pages and generating data take seconds for large data, and a cancel ends them.

The engine says how to check while it opens the stores of a transfer (`opening`). Code that works for long there calls
`check_opening` every few MiB. Outside of `opening` it does nothing, so the same code serves callers that cannot cancel.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from isoviz.runtime.protocols import Check

WAITS, OPENS, OPEN, REFUSED = "waits", "opens", "open", "refused"
"""Phases of a transfer: it waits for its buffers; a thread opens its stores; they are open, or were; they could not be opened."""

_check: ContextVar[Check | None] = ContextVar("isoviz_opening", default=None)


class opening:  # noqa: N801  # used like a function
    """Let `check_opening` call `check` in this thread until the end of the block."""

    __slots__ = ("_asked", "_token")

    def __init__(self, check: Check) -> None:
        self._asked = check

    def __enter__(self) -> None:
        self._token = _check.set(self._asked)

    def __exit__(self, *_: object) -> None:
        _check.reset(self._token)


def check_opening() -> None:
    """Check for cancellation.

    Raises:
        Cancelled: the transfer whose stores this thread opens has to stop.
    """
    check = _check.get()
    if check is not None:
        check()


def can_be_cancelled() -> bool:
    """Whether `check_opening` checks anything here."""
    return _check.get() is not None
