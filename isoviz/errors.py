"""The errors isoviz raises, all of them one line that says what was wrong, where, and what would be right.

Two families decide what a caller can do about it (and the exit status of the command line):

- `InputError`: what was asked cannot be done as asked (exit status 2);
- `RunError`: it was asked rightly and failed while running (exit status 1).

`InternalError` is neither: isoviz contradicts itself (exit status 1).
"""

from __future__ import annotations


def show(value: object) -> str:
    """A value as an error message may quote it: short, on one line, whatever it is."""
    if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() > 256:
        return "a whole number of hundreds of digits"
    if value is None or isinstance(value, bool | int | float):
        return repr(value)
    if isinstance(value, str):
        return repr(value) if len(value) <= 60 else f"{value[:57]!r}…"
    if isinstance(value, list | tuple):
        return "a list"
    if isinstance(value, dict):
        return "an object"
    return f"a {type(value).__name__}"


class IsovizError(Exception):
    """Base of every error that isoviz raises on purpose."""


class InputError(IsovizError, ValueError):
    """The input is wrong; nothing was started."""


class SpaceError(InputError):
    """An index space or a field space that cannot exist."""


class LayoutError(InputError):
    """A layout that does not fit its index space, or a question it cannot answer."""


class NotationError(LayoutError):
    """Text that is not a layout.

    `text` is what was given, `position` the index of the offending character, `expected` what would have been right there.
    """

    def __init__(self, text: str, position: int, problem: str, expected: str) -> None:
        self.text = text
        self.position = position
        self.problem = problem
        self.expected = expected
        super().__init__(f"layout {text!r}, character {position + 1}: {problem}; expected {expected}")

    def __reduce__(self) -> tuple[type[NotationError], tuple[str, int, str, str]]:
        return type(self), (self.text, self.position, self.problem, self.expected)

    @property
    def pointer(self) -> str:
        """The text with a caret below the offending character, in two lines."""
        return f"{self.text}\n{' ' * self.position}^"


class MachineError(InputError):
    """A machine description that contradicts itself."""


class TransferError(InputError):
    """A transfer that makes no sense: unknown memory, different fields, a box out of range, onto itself."""


class NoPathError(TransferError):
    """No channels lead from the source memory to the destination memory."""


class LimitError(TransferError):
    """No buffers of the allowed size can carry the transfer."""


class FileError(InputError):
    """A file that is missing, too short, of another type, or not understood."""


class MissingPartError(InputError, ImportError):
    """Something that needs packages which were not installed; `extra` names the extra of isoviz that brings them."""

    def __init__(self, what: str, extra: str) -> None:
        self.what = what
        self.extra = extra
        super().__init__(f"{what} is not installed here; install it with: pip install 'isoviz[{extra}]'")

    def __reduce__(self) -> tuple[type, tuple[str, str]]:
        return type(self), (self.what, self.extra)


class InternalError(IsovizError, AssertionError):
    """Two parts of isoviz contradict each other: a mistake in isoviz, not in what was asked."""


class RunError(IsovizError, RuntimeError):
    """A transfer failed while it ran.

    `hop` is the number of the hop on its path (from 0), `channel` the channel's name, `chunk` the number of the chunk;
    each is None where the failure has no such place.
    """

    def __init__(self, message: str, *, hop: int | None = None, channel: str | None = None, chunk: int | None = None) -> None:
        self.hop = hop
        self.channel = channel
        self.chunk = chunk
        where = [
            text
            for value, text in ((hop, f"hop {hop}"), (channel, f"channel {channel}"), (chunk, f"chunk {chunk}"))
            if value is not None
        ]
        super().__init__(f"{message} ({', '.join(where)})" if where else message)


class EngineClosed(RunError):  # noqa: N818  what happened, not a mistake
    """A transfer was given to an engine that is closed."""


class VerificationError(RunError):
    """The destination does not hold what the source held."""


class Cancelled(RunError):  # noqa: N818  what happened, not a mistake
    """The transfer was cancelled before it was complete."""
