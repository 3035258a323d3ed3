"""Closing of what devices have opened. Their errors are typed, and never in the way of the end of a transfer."""

from __future__ import annotations

from collections.abc import Callable

from isoviz.errors import IsovizError, RunError


class Closing:
    """What has to be called at the end of a transfer, the last one first. It costs less than an `ExitStack`."""

    __slots__ = ("_callbacks",)

    def __init__(self) -> None:
        self._callbacks: list[Callable[[], object]] = []

    def callback(self, callback: Callable[[], object]) -> None:
        """Call a function at the end."""
        self._callbacks.append(callback)

    def close(self) -> None:
        """Call all functions, also after an error. A later call does nothing.

        Raises:
            BaseException: the last error of a function.
        """
        error: BaseException | None = None
        while self._callbacks:
            try:
                self._callbacks.pop()()
            except BaseException as raised:  # noqa: BLE001  # raised below, after all functions were called
                error = raised
        if error is not None:
            raise error


def tidied(close: Callable[[], None]) -> Exception | None:
    """Close something of a device. Returns its error, typed, instead of raising it."""
    try:
        close()
    except Exception as error:  # noqa: BLE001  # a device may raise anything
        return error if isinstance(error, IsovizError) else unplaced(error)
    return None


def unplaced(error: Exception) -> RunError:
    """An error of a device outside its requests, as a typed one."""
    found = RunError(f"{type(error).__name__}: {error}")
    found.__cause__ = error
    return found
