"""Commands of the browser: functions of the state. The parameters after the slash are the arguments of a command.

    @command("rename-transfer")
    def rename_transfer(state: State, /, transfer: int, name: str) -> State: ...

The parameters before the slash are given by the session: `state`, `sender` and `threads`. The browser sends
`{"kind": "rename-transfer", "transfer": 1, "name": "x"}`. All commands are in `isoviz.widgets.commands.explorer_commands`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple, TypeVar

from isoviz.errors import CommandError, show
from isoviz.schema import Call, call_type
from isoviz.widgets.chosen.settings import Settings
from isoviz.widgets.contract import Message, ShownEntry
from isoviz.widgets.state import State

Function = TypeVar("Function", bound=Callable[..., Any])


class Sender(NamedTuple):
    """The view that sent a command, and the number of the command; None if unknown."""

    client: str | None = None
    number: int | None = None


_ENVELOPE = ("client", "number")
"""What goes with every command: the view that sent it, and the number that the view gave it."""


def sender_of(content: object) -> Sender:
    """The sender of a message, as far as it says so."""
    if not isinstance(content, Mapping):
        return Sender()
    client, number = content.get("client"), content.get("number")
    named = isinstance(client, str) and isinstance(number, int) and not isinstance(number, bool)
    return Sender(client, number) if named else Sender()


def without_envelope(content: object) -> dict[str, Any]:
    """The command in a message, without its envelope.

    Raises:
        CommandError: it is not an object.
    """
    if not isinstance(content, Mapping):
        raise CommandError(f"command: expected an object with a 'kind', got {show(content)}")
    return {str(key): _sendable(value) for key, value in content.items() if key not in _ENVELOPE}


def _sendable(value: Any) -> Any:
    """A value without halves of characters: a browser may type them, but no message can carry them back."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return [_sendable(each) for each in value]
    if isinstance(value, dict):
        return {_sendable(key): _sendable(each) for key, each in value.items()}
    return value


class Threads(NamedTuple):
    """What a session does in other threads; each function returns the state then."""

    run: Callable[[State, int], State]
    """Runs what is planned that many times."""
    cancel: Callable[[State], State]
    """Cancels the run, or the measurement of this computer."""
    start_ranks: Callable[[State], State]
    end_ranks: Callable[[State], State]


class Answer(NamedTuple):
    """A message, and the binary data that go with it."""

    message: Message
    buffers: tuple[bytes | memoryview, ...] = ()


class OnScreen(NamedTuple):
    """What was on screen: settings, and the selected entry, as the browser has them."""

    settings: Settings
    entry: ShownEntry | None = None


class Step(Call):
    """A command whose function returns the state after it."""

    kind: str

    def after(self, state: State, sender: Sender, threads: Threads) -> State:
        """The state after the command.

        Raises:
            InputError: the command cannot be done; it is refused.
        """
        after: State = self(state=state, sender=sender, threads=threads)
        return after


class Question(Call):
    """A command that is answered by a message, and leaves the state as it is."""

    kind: str
    due: ClassVar[Callable[..., bool]]

    def after(self, state: State, *_: object) -> State:
        """The state."""
        return state

    def is_due(self, state: State, sender: Sender) -> bool:
        """Whether the state holds all that the sender asked for before, and all that the answer needs."""
        client, number = sender
        if client is not None and number is not None and state.acknowledged.get(client, -1) < number:
            return False
        return self.due(state, **self.arguments)

    def answer(self, state: State, sender: Sender) -> Answer:
        """The answer."""
        answer: Answer = self(state=state, sender=sender)
        return answer


class CheckAsked(Call):
    """A command that asks for a verdict. The pane that has the check judges what was on screen. Earlier refusals are cleared."""

    kind: str

    def after(self, state: State, *_: object) -> State:
        """The state."""
        return replace(state, refused=None)

    def seen(self, state: State) -> OnScreen:
        """What is to be judged."""
        seen: OnScreen = self(state=state)
        return seen


DECLARED: list[type[Call]] = []
"""The types of all commands."""


def command(*kinds: str, sort: type[Step | CheckAsked] = Step) -> Callable[[Function], Function]:
    """Declares a command: a function that returns the state after it."""

    def declared(function: Function) -> Function:
        DECLARED.append(call_type(function, "kind", kinds, sort))
        return function

    return declared


def question(kind: str, is_due: Callable[..., bool] = lambda *_, **__: True) -> Callable[[Function], Function]:
    """Declares a question: a function that returns its `Answer`, whose message is one of `isoviz.widgets.contract.Message`.

    `is_due(state, …)` gets what the question says and tells whether the state holds what the answer needs. It is asked again
    after every change, and only once all that the same view asked for before is in the state. The function must not raise. The
    browser asks with `connection.ask(command)`.
    """

    def declared(function: Function) -> Function:
        made = call_type(function, "kind", (kind,), Question)
        made.due = staticmethod(is_due)
        DECLARED.append(made)
        return function

    return declared
