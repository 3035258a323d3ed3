"""Settings in a file: what a session was when it was saved."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from isoviz.checks import expect
from isoviz.errors import FileError, show
from isoviz.regular_files import read_some, write_text
from isoviz.schema import As, MismatchError, format_json, member, parse, plain, read
from isoviz.schema.formats import misplaced
from isoviz.widgets.chosen.machine_choice import KeptMachine, MachineChoice, kept_machine, machine_of_file
from isoviz.widgets.chosen.settings import RunsIn, Settings, TransferSettings
from isoviz.widgets.chosen.transfers import MOST_TRANSFERS, every_transfer, of_transfers

VERSION = 5
MOST_BYTES = 64 << 20
"""A larger file is no session: a described machine of 100,000 channels has about 20 MB."""
FILE = "file"
"""The form of declared values in session files (`isoviz.schema`)."""


@dataclass(frozen=True)
class _Content:
    """The machine, where the plan runs, the transfers in their order, and the place of the one that is edited.

    The rows of a transfer have their places as keys.
    """

    machine: MachineChoice = member(file=As(kind=KeptMachine, write=kept_machine, read=machine_of_file))
    runs_in: RunsIn = member()
    transfers: tuple[TransferSettings, ...] = member()
    place: int = member()

    def __post_init__(self) -> None:
        if not 1 <= len(self.transfers) <= MOST_TRANSFERS:
            raise MismatchError("transfers", f"{len(self.transfers)} transfers; expected 1 to {MOST_TRANSFERS}")
        if not 0 <= self.place < len(self.transfers):
            raise MismatchError("place", f"{self.place}; expected 0 to {len(self.transfers) - 1}, the place of a transfer")


@dataclass(frozen=True)
class _File:
    isoviz: Literal["session"]
    version: int
    settings: _Content


def save_settings(settings: Settings, path: str | Path) -> None:
    """Write settings into a file.

    Raises:
        FileError: it cannot be written.
    """
    write_text(path, session_text(settings))


def session_text(settings: Settings) -> str:
    """The text of a session file."""
    return format_json(session_json(settings)) + "\n"


def session_json(settings: Settings) -> dict[str, Any]:
    """The content of a session file as plain JSON."""
    transfers = tuple(
        each.with_row_keys(range(len(each.dimensions)), range(len(each.fields))) for each in every_transfer(settings)
    )
    content = _Content(settings.machine, settings.runs_in, transfers, settings.place)  # type: ignore[arg-type]  # one of RUNS_IN
    content_of_file: dict[str, Any] = plain(_File("session", VERSION, content), FILE)
    return content_of_file


def load_settings(path: str | Path) -> Settings:
    """Read settings from a file.

    Raises:
        FileError: it cannot be read, or holds no session; the message names the place.
    """
    return settings_in(read_some(path, MOST_BYTES + 1), path)


def settings_in(text: str | bytes, name: object) -> Settings:
    """The settings in the text of a session file; `name` is that of the file, for errors.

    Raises:
        FileError: the text holds no session; the message names the place.
    """
    expect("session", text, (str, bytes), "the text of a session file")
    if len(text) > MOST_BYTES:
        raise FileError(f"{name}: more than {MOST_BYTES >> 20} MiB; expected the session of an explorer")
    if other := misplaced(text, "a session"):
        raise FileError(f"{name}: {other}")
    try:
        content = parse(text if isinstance(text, str) else text.decode(), "the session of an explorer", FileError)
    except (FileError, UnicodeDecodeError) as error:
        raise FileError(f"{name}: {error}; expected the session of an explorer") from None
    return settings_of_json(content, name)


def settings_of_json(content: Any, name: object) -> Settings:
    """The settings that `session_json` made plain JSON of.

    Raises:
        FileError: it holds no session; the message begins with `name` and names the place.
    """
    if isinstance(content, dict) and content.get("isoviz") == "session":
        version = content.get("version")
        if type(version) is not int or version != VERSION:
            raise FileError(f"{name}: version {show(version)} of the format; this isoviz reads version {VERSION}")
    try:
        kept: _Content = read(content, _File, FILE).settings
    except MismatchError as error:
        raise FileError(f"{name}: {error}") from None
    return of_transfers(tuple(map(_with_keys, kept.transfers)), kept.place, kept.machine, kept.runs_in)


def _with_keys(transfer: TransferSettings) -> TransferSettings:
    """A transfer of a file, whose part has places of rows, with keys of its own for its rows."""
    count = len(transfer.dimensions)
    placed = replace(
        transfer,
        dimensions=tuple(replace(row, key=place) for place, row in enumerate(transfer.dimensions)),
        fields=tuple(replace(row, key=place) for place, row in enumerate(transfer.fields)),
    )
    return placed.with_row_keys(range(1, 1 + count), range(1 + count, 1 + count + len(transfer.fields)))
