"""Commands of a browser, read: what is not among the commands of the explorer is refused in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from isoviz.errors import CommandError, show
from isoviz.schema import MismatchError, read
from isoviz.widgets.commands.command import Sender
from isoviz.widgets.commands.explorer_commands import Command
from isoviz.widgets.contract import WIRE

_ENVELOPE = ("client", "number")
"""What goes with every command: the view that sent it, and the number that the view gave it."""


class Request(NamedTuple):
    """A command with its sender."""

    command: Command
    sender: Sender


def read_command(content: object) -> Command:
    """The command in a message, without its envelope.

    Raises:
        CommandError: not an object, an unknown kind, an argument that is missing, unknown or of another type.
    """
    if not isinstance(content, Mapping):
        raise CommandError(f"command: expected an object with a 'kind', got {show(content)}")
    message = {str(key): _sendable(value) for key, value in content.items() if key not in _ENVELOPE}
    try:
        command: Command = read(message, Command, WIRE)
    except MismatchError as error:
        raise CommandError(f"command {show(message.get('kind'))}: {error}") from None
    return command


def read_request(content: object) -> Request:
    """The command in a message with its sender.

    Raises:
        CommandError: as `read_command`.
    """
    return Request(read_command(content), sender_of(content))


def sender_of(content: object) -> Sender:
    """The sender of a message, as far as it says so."""
    if not isinstance(content, Mapping):
        return Sender()
    client, number = content.get("client"), content.get("number")
    named = isinstance(client, str) and isinstance(number, int) and not isinstance(number, bool)
    return Sender(client, number) if named else Sender()


def _sendable(value: Any) -> Any:
    """A value without halves of characters: a browser may type them, but no message can carry them back."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return [_sendable(each) for each in value]
    if isinstance(value, dict):
        return {_sendable(key): _sendable(each) for key, each in value.items()}
    return value
