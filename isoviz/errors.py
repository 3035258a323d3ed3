"""The errors that isoviz raises: one line each that says what was wrong, where, and what would be right.

Two families tell a caller what to do, and set the exit status of the command line:

- `InputError`: the request cannot be done (exit status 2);
- `RunError`: the request was right and failed while it ran (exit status 1).

`InternalError` is neither: it reports a defect of isoviz (exit status 1).
"""

from __future__ import annotations

import unicodedata
from pathlib import Path

LONGEST = 370
"""Longest error message, in characters; a longer one is cut in its middle."""


def printable(text: str) -> str:
    """Text that is safe on a terminal, with escapes for control characters, line breaks, marks of writing direction and lone
    surrogates."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() or unicodedata.category(char) == "Zs" else ascii(char)[1:-1] for char in text)


def line(text: str, most: int = LONGEST) -> str:
    """Text on one printable line of at most `most` characters. A longer text is cut in its middle, as its ends say most."""
    if len(text) > 4 * most:  # no need to look at all of it
        text = f"{text[: 2 * most]}…{text[-2 * most :]}"
    text = printable(text)
    if len(text) <= most:
        return text
    end = most // 3
    return f"{text[: most - end - 1]}…{text[-end:]}"


def in_words(error: BaseException) -> str:
    """The type and the message of an error, on one line. If the message cannot be made, the line says so."""
    try:
        said = str(error)
    except BaseException as failed:  # noqa: BLE001  # any code can be behind the words of an error
        said = f"its words cannot be made ({type(failed).__name__})"
    return line(f"{type(error).__name__}: {said}".removesuffix(": "))


def excerpt(text: str, position: int, most: int) -> tuple[str, int]:
    """The text around a position, on one printable line of about `most` characters, and the column of the position in it.

    Columns are those of a terminal.
    """
    before = [printable(char) for char in text[max(0, position - most) : position]]
    after = [printable(char) for char in text[position : position + most]]
    room = max(most // 2, most - sum(map(len, before)))
    behind = _fitting(after, room)
    ahead = _fitting(before[::-1], most - sum(map(len, behind)))[::-1]
    first = "…" if len(ahead) < position else ""
    last = "…" if position + len(behind) < len(text) else ""
    start = first + "".join(ahead)
    return f"{start}{''.join(behind)}{last}", sum(map(_columns, start))


def _fitting(parts: list[str], room: int) -> list[str]:
    """The first parts that fit in `room` characters."""
    for number, part in enumerate(parts):
        room -= len(part)
        if room < 0:
            return parts[:number]
    return parts


def _columns(char: str) -> int:
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def show(value: object) -> str:
    """A value as an error message quotes it: short, on one line."""
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
    name = type(value).__name__
    return f"{'an' if name[0] in 'AEIOUaeiou' else 'a'} {name}"


class IsovizError(Exception):
    """Base of every error that isoviz raises on purpose. Its message is one printable line."""

    def __init__(self, message: object = "") -> None:
        super().__init__(line(str(message)))


class InputError(IsovizError, ValueError):
    """The input is wrong; nothing was started."""


class SpaceError(InputError):
    """An index space or a field space that cannot exist."""


class LayoutError(InputError):
    """A layout that does not fit its index space, or a question it cannot answer."""


class TextError(InputError):
    """Text that cannot be read.

    `what` names the expected kind of text, `text` is the given text, `position` the index of the wrong character, `problem`
    what is wrong there, and `expected` what would be right.
    """

    def __init__(self, what: str, text: str, position: int, problem: str, expected: str) -> None:
        self.what = what
        self.text = text
        self.position = position
        self.problem = line(problem, 110)
        self.expected = line(expected, 110)
        quoted = repr(text) if len(text) <= 60 and len(repr(text)) <= 80 else f"'{excerpt(text, position, 60)[0]}'"
        super().__init__(f"{what} {quoted}, character {position + 1}: {self.problem}; expected {self.expected}")

    def __reduce__(self) -> tuple[type[TextError], tuple[object, ...]]:
        return type(self), (self.what, self.text, self.position, self.problem, self.expected)

    @property
    def pointer(self) -> str:
        """Two lines: the text, or a part of a long text, and a caret below the wrong character."""
        text, column = excerpt(self.text, self.position, 100)
        return f"{text}\n{' ' * column}^"


class NotationError(TextError, LayoutError):
    """Text that is not a layout."""

    def __init__(self, text: str, position: int, problem: str, expected: str) -> None:
        super().__init__("layout", text, position, problem, expected)

    def __reduce__(self) -> tuple[type[NotationError], tuple[object, ...]]:
        return type(self), (self.text, self.position, self.problem, self.expected)


class MachineError(InputError):
    """A machine description that contradicts itself."""


class TransferError(InputError):
    """A transfer that makes no sense: unknown memory, different fields, a box out of range, onto itself."""


class NoPathError(TransferError):
    """No channels lead from the source memory to the destination memory."""


class LimitError(TransferError):
    """No buffers of the allowed size can carry the transfer."""


class DistributionError(TransferError):
    """A distribution that cannot exist, or that does not fit the index space or the ranks."""


class ArrayError(LayoutError, TransferError):
    """An array that does not lie as the call says, or that cannot be moved: masked, not dense, of Python objects."""


class EmptyArrayError(ArrayError):
    """An array without elements, where an index space is needed; an index space is never empty.

    `holds` describes the elements that it would hold, and is equal for two empty arrays that fit each other. None if unknown.
    """

    def __init__(self, message: str = "", holds: object = None) -> None:
        super().__init__(message)
        self.holds = holds


class CommandError(InputError):
    """A message of a browser that is not a command of the explorer, or lacks what the command needs."""


class FileError(InputError):
    """A file that is missing, too short, of another type, or not understood."""


class MissingPartError(InputError, ImportError):
    """A part of isoviz needs packages that are not installed; `extra` names the extra of isoviz that installs them.

    Without an `extra`, `what` is a package that no extra brings.
    """

    def __init__(self, what: str, extra: str = "") -> None:
        self.what = what
        self.extra = extra
        command = installation(extra) if extra else f"pip install {what}"
        super().__init__(f"{what} is not installed here; install it with: {command}")

    def __reduce__(self) -> tuple[type, tuple[str, str]]:
        return type(self), (self.what, self.extra)


def installation(extra: str) -> str:
    """The command that adds the packages of an extra of isoviz: in a checkout, or with the wheel that isoviz came from.

    It never names isoviz alone: pip would take what has that name on a package index.
    """
    if (Path(__file__).parents[1] / "pyproject.toml").is_file():
        return f"pip install --editable '.[{extra}]' in the folder of isoviz"
    return f"pip install 'isoviz-….whl[{extra}]' with the path of the wheel of isoviz"


class InternalError(IsovizError, AssertionError):
    """Two parts of isoviz contradict each other: a mistake in isoviz, not in the input."""


class RunError(IsovizError, RuntimeError):
    """A transfer failed while it ran.

    `hop` is the number of the hop on its path (from 0), `channel` the channel's name, `chunk` the number of the chunk; each is
    None if the failure has no such place.
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


class DeviceError(RunError):
    """A device, such as a GPU, refused a request or failed while it carried one out."""


class DeviceMemoryError(DeviceError):
    """A device, or the host memory that is pinned for devices, has no room."""


class LaunchError(RunError):
    """The ranks of a job did not start."""


class RankError(RunError):
    """Something failed on a rank, or ranks do not agree about a transfer.

    `rank` is the number of the rank (None: no single rank), `pid` the number of its process, if known.
    """

    def __init__(self, message: str, *, rank: int | None = None, pid: int | None = None) -> None:
        self.rank = rank
        self.pid = pid
        super().__init__(message)


class RankLost(RankError):  # noqa: N818  what happened, not a mistake
    """A rank ended, was stopped or no longer answers."""


class RanksClosed(RunError):  # noqa: N818  what happened, not a mistake
    """Ranks were used after they had been closed."""


class EngineClosed(RunError):  # noqa: N818  what happened, not a mistake
    """A transfer was given to an engine that is closed."""


class ForkedError(RunError):
    """An object with threads was used in a forked child of its process, where it has none."""


class VerificationError(RunError):
    """The bytes of the destination are not those of the source."""


class PolicyError(RunError):
    """A scheduling policy did not say which transfer a channel serves next; `policy` is its name."""

    def __init__(self, policy: str, channel: str, problem: str) -> None:
        self.policy = policy
        self.problem = problem
        super().__init__(f"the scheduling policy {policy} {problem}", channel=channel)

    def __reduce__(self) -> tuple[type[PolicyError], tuple[str, str | None, str]]:
        return type(self), (self.policy, self.channel, self.problem)


class Cancelled(RunError):  # noqa: N818  what happened, not a mistake
    """The transfer was cancelled before it was complete."""
