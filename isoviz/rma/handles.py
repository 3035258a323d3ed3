"""Handles of puts and gets that were begun."""

from __future__ import annotations

from typing import Any, Protocol

from isoviz import checks


class Ticket(Protocol):
    """What carries out a put or a get that was begun."""

    @property
    def done(self) -> bool: ...

    def wait(self, timeout: float | None = None) -> object: ...

    def cancel(self) -> bool: ...


class Handle:
    """A put or a get that was begun with `wait=False`.

    It keeps the arrays of both ends. Until it is done, the source of a put must not be changed, and the array of a get must not
    be read.
    """

    def __init__(self, result: Any = None, ticket: Ticket | None = None, kept: object = None) -> None:
        self._result, self._ticket, self._kept = result, ticket, kept

    @property
    def done(self) -> bool:
        """Whether it has ended: successfully, with an error, or cancelled."""
        return self._ticket is None or self._ticket.done

    def wait(self, timeout: float | None = None) -> Any:
        """Wait until it has ended. Returns the array of a get, or None.

        Raises:
            TimeoutError: it has not ended after `timeout` seconds.
            RankLost: the other rank is lost. Cancelled: it was cancelled. RunError: it failed.
        """
        limit = checks.timeout(timeout)
        if self._ticket is not None:
            self._ticket.wait(limit)
            self._ticket = self._kept = None
        return self._result

    def cancel(self) -> bool:
        """Stop it, and return True if it had not ended. `wait` then tells how it ends.

        Some of its bytes may be in place. If the memory is not mapped, it stops before its next piece of 1 MiB, and this call
        waits for the pieces that are under way.
        """
        return self._ticket is not None and self._ticket.cancel()
