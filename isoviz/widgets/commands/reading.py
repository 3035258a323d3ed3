"""Commands of a browser, read: what is not in the contract is refused in words."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, cast, get_args

from isoviz.errors import CommandError, show
from isoviz.widgets.contract import Command
from isoviz.widgets.matching import keys_of, members_of, mismatch

_ENVELOPE = ("client", "number")
"""What goes with every command: the view that sent it, and the number that the view gave it."""


@lru_cache(maxsize=1)
def command_types() -> dict[str, tuple[Any, ...]]:
    """The typed dictionaries of the commands, by kind."""
    found: dict[str, tuple[Any, ...]] = {}
    for member in members_of(Command):
        for kind in get_args(keys_of(member)["kind"]):
            found[kind] = (*found.get(kind, ()), member)
    return found


def read_command(content: object) -> Command:
    """The command in a message, without its envelope.

    Raises:
        CommandError: not an object, a kind that nobody knows, an argument that is missing, unknown or of another type.
    """
    if not isinstance(content, Mapping):
        raise CommandError(f"command: expected an object with a 'kind', got {show(content)}")
    command = {str(key): _sendable(value) for key, value in content.items() if key not in _ENVELOPE}
    kind = command.get("kind")
    known = command_types()
    if not isinstance(kind, str) or kind not in known:
        raise CommandError(f"command {show(kind)}: not one that the explorer knows; it knows {', '.join(known)}")
    problems = []
    for member in known[kind]:
        problem = mismatch(command, member)
        if problem is None:
            return cast("Command", command)
        problems.append(problem)
    raise CommandError(f"command {kind!r}: {problems[0] if len(problems) == 1 else _problem_of_set(command)}")


def _sendable(value: Any) -> Any:
    """A value without halves of characters: a browser may type them, but no message can carry them back."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return [_sendable(each) for each in value]
    if isinstance(value, dict):
        return {_sendable(key): _sendable(each) for key, each in value.items()}
    return value


def _problem_of_set(command: dict[str, Any]) -> str:
    """What is wrong with a command of a kind that has several types, told apart by their `field`."""
    fields: dict[str, Any] = {}
    for member in command_types()["set"]:
        fields |= dict.fromkeys(get_args(keys_of(member)["field"]), member)
    field = command.get("field")
    if not isinstance(field, str) or field not in fields:
        return f"field {show(field)}: not a setting that the explorer knows; it knows {', '.join(fields)}"
    return mismatch(command, fields[field]) or ""


def envelope(content: object) -> tuple[str | None, int | None]:
    """The view that sent a message and its number, as far as it says so."""
    if not isinstance(content, Mapping):
        return None, None
    client, number = content.get("client"), content.get("number")
    named = isinstance(client, str) and isinstance(number, int) and not isinstance(number, bool)
    return (client, number) if named else (None, None)
