"""Commands that the kernel answers with a message of its own, beside the state.

To add one: its typed dictionaries in `isoviz.widgets.contract` (the command, and the message in the union `Message`), and an
entry in `ANSWERED`. The browser asks with `connection.ask(command)`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from isoviz.widgets.commands import exports
from isoviz.widgets.commands.reading import envelope
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
    once everything that the same view asked for before is in the state. `answer(command, state)` must not raise.
    """

    is_due: Callable[[Mapping[str, Any], State], bool]
    answer: Callable[[Mapping[str, Any], State], Answer]


ANSWERED: dict[str, Answered] = {
    "runs": Answered(lambda _, state: state.planned, lambda asked, state: Answer(past_runs.answer(asked, state))),
    "export": Answered(exports.is_due, lambda asked, state: Answer(exports.answer(asked, state))),
    "trace": Answered(lambda _asked, _state: True, lambda asked, state: Answer(*trace_answer(asked, state))),
    "steps": Answered(lambda _asked, _state: True, lambda asked, state: Answer(steps_answer(asked, state))),
}
"""Commands that are answered, by kind."""


def is_due(asked: Mapping[str, Any], state: State) -> bool:
    """Whether the state holds all that was asked for before a command, and all that its answer needs."""
    client, number = envelope(asked)
    if client is not None and number is not None and state.acknowledged.get(client, -1) < number:
        return False
    return ANSWERED[asked["kind"]].is_due(asked, state)


def answer(asked: Mapping[str, Any], state: State) -> Answer:
    """The answer to a command of a kind in `ANSWERED`."""
    return ANSWERED[asked["kind"]].answer(asked, state)
