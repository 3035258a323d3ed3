"""Commands that the kernel answers with a message of its own, beside the state.

To add one: its command in `isoviz.widgets.commands.command`, its message in the union `Message` of `isoviz.widgets.contract`, and
an entry in `ANSWERED`. The browser asks with `connection.ask(command)`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from isoviz.widgets.commands import exports
from isoviz.widgets.commands.read_command import Request, Sender
from isoviz.widgets.commands.trace_answers import steps_answer, trace_answer
from isoviz.widgets.contract import Message
from isoviz.widgets.running import past_runs
from isoviz.widgets.state import State


class Answer(NamedTuple):
    """A message, and the binary data that go with it."""

    message: Message
    buffers: tuple[bytes | memoryview, ...] = ()


class Answered(NamedTuple):
    """How commands of one kind are answered.

    `is_due(command, state)` says whether the state holds what the answer needs. It is asked again after every change, and only
    once everything that the same view asked for before is in the state. `answer(command, sender, state)` must not raise.
    """

    is_due: Callable[[Any, State], bool]
    answer: Callable[[Any, Sender, State], Answer]


ANSWERED: dict[str, Answered] = {
    "runs": Answered(lambda _, state: state.planned, lambda _, sender, state: Answer(past_runs.answer(sender.number, state))),
    "export": Answered(exports.is_due, lambda *asked: Answer(exports.answer(*asked))),
    "trace": Answered(lambda *_: True, lambda *asked: Answer(*trace_answer(*asked))),
    "steps": Answered(lambda *_: True, lambda *asked: Answer(steps_answer(*asked))),
}
"""Commands that are answered, by kind."""


def is_due(request: Request, state: State) -> bool:
    """Whether the state holds all that was asked for before a command, and all that its answer needs."""
    client, number = request.sender
    if client is not None and number is not None and state.acknowledged.get(client, -1) < number:
        return False
    return ANSWERED[request.command.kind].is_due(request.command, state)


def answer(request: Request, state: State) -> Answer:
    """The answer to a command of a kind in `ANSWERED`."""
    return ANSWERED[request.command.kind].answer(*request, state)
