"""Questions of a browser, answered without a view."""

from __future__ import annotations

from typing import Any

from isoviz.widgets.commands.command import Answer, Question, sender_of
from isoviz.widgets.commands.explorer_commands import read_command
from isoviz.widgets.state import State


def asked(content: dict[str, Any]) -> Question:
    """The question that a message asks."""
    command = read_command(content)
    assert isinstance(command, Question)
    return command


def answer_to(content: dict[str, Any], state: State) -> Answer:
    """The answer to a message, with its binary data."""
    return asked(content).answer(state, sender_of(content))


def is_due(content: dict[str, Any], state: State) -> bool:
    """Whether a message can be answered."""
    return asked(content).is_due(state, sender_of(content))
