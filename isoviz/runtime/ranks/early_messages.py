"""Messages about transfers that another rank has submitted earlier than this one."""

from __future__ import annotations


class EarlyMessages:
    """The messages about transfers that this rank has still to submit, and the numbers of those that it has reached.

    All ranks number the transfers of several ranks from 0 in the same order. The caller locks.
    """

    def __init__(self) -> None:
        self._next = 0
        """All numbers below it are reached."""
        self._ahead: set[int] = set()
        """The reached numbers above it: several threads may submit."""
        self._kept: dict[int, list[tuple[int, object]]] = {}

    def is_past(self, number: int) -> bool:
        """Whether this rank has reached a transfer."""
        return number < self._next or number in self._ahead

    def keep(self, number: int, sender: int, message: object) -> bool:
        """Keep a message about a transfer. Returns whether the transfer is still to come; else nothing is kept."""
        if self.is_past(number):
            return False
        self._kept.setdefault(number, []).append((sender, message))
        return True

    def reach(self, number: int) -> list[tuple[int, object]]:
        """Note that this rank has reached a transfer. Returns the messages about it, each with its sender."""
        if number >= self._next:
            self._ahead.add(number)
        while self._next in self._ahead:
            self._ahead.remove(self._next)
            self._next += 1
        return self._kept.pop(number, [])
