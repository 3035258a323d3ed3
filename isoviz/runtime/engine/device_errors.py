"""Errors of devices outside of their requests: typed, and never in the way of the end of a transfer."""

from __future__ import annotations

from collections.abc import Callable

from isoviz.errors import IsovizError, RunError


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
