"""Errors of devices as typed errors, and the closing of what devices have opened, where errors stop nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from isoviz.errors import Cancelled, IsovizError, RankLost, RunError, TransferError

if TYPE_CHECKING:
    from isoviz.planner import Transfer
    from isoviz.runtime.protocols import Endpoint


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
        return of_opening(error)
    return None


Located = Callable[[type[RunError], str], RunError]
"""Makes an error of a kind, with a message, that names the place: hop and channel, and the chunk if one is known."""


def of_request(error: BaseException, located: Located) -> BaseException:
    """The error of a request. It names its place, unless it does so already, the transfer was cancelled, or a rank is lost."""
    if not isinstance(error, Exception) or isinstance(error, Cancelled | RankLost):
        return error
    if isinstance(error, RunError):
        if error.hop is not None:
            return error
        found = located(type(error), str(error))
    else:
        where = "" if isinstance(error, OSError | MemoryError) else " in the channel"
        found = located(RunError, f"{type(error).__name__}{where}: {error}")
    found.__cause__ = error
    return found


def of_step(error: Exception, located: Located) -> Exception:
    """The error of a step besides the requests, such as flushing. It names its place, unless it has a type of isoviz already."""
    if isinstance(error, Cancelled) or (isinstance(error, IsovizError) and not isinstance(error, RunError)):
        return error
    if isinstance(error, RunError):
        found = located(type(error), str(error))
    else:
        found = located(RunError, f"{type(error).__name__}: {error}")
    found.__cause__ = error
    return found


def of_opening(error: Exception) -> Exception:
    """The error of opening an end of a transfer."""
    return error if isinstance(error, IsovizError) else unplaced(error)


def unplaced(error: Exception) -> RunError:
    """An error of a device outside its requests, as a typed one."""
    found = RunError(f"{type(error).__name__}: {error}")
    found.__cause__ = error
    return found


def require_apart(transfer: Transfer, source: Endpoint, destination: Endpoint) -> None:
    """Require that both ends of a transfer share no bytes, and the members of a bundle none at the destination.

    Raises:
        TransferError: they do.
    """
    if source.identity == destination.identity:
        raise TransferError(f"transfer: source and destination are the same or overlap ({transfer.source}); nothing was changed")
    transfer.require_apart()
