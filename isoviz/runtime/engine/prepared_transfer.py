"""Prepared transfers: what can be known before a transfer starts is found out once; then it is started again and again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from isoviz.errors import InputError, RunError
from isoviz.layouts.recurring import split_together
from isoviz.runtime.bundle_ends import destination_of, received, source_of
from isoviz.runtime.engine.device_errors import Closing, of_opening, of_request, require_apart, tidied
from isoviz.runtime.engine.execution import UNIT

if TYPE_CHECKING:
    from isoviz.layouts import StridedCopy
    from isoviz.planner import Plan
    from isoviz.runtime.engine.event import Event
    from isoviz.runtime.engine.prepared_plans import PreparedPlan
    from isoviz.runtime.protocols import Endpoint


class PreparedTransfer:
    """A plan between two ends, ready to start (`Engine.prepare`).

        with engine.prepare(plan, source, destination) as prepared:
            for step in simulation:
                prepared.start().wait()

    `start` moves what the source holds then. A transfer of a single small request is one call of its channel: its ends are open
    and its copies are computed. The thread that starts it carries it out if the channel is idle. In the same way it queues the
    few requests of a transfer of one hop on an asynchronous channel, and another thread waits for their end; they cannot be
    cancelled. Every other transfer is submitted with its plan prepared.

    Any thread may use it. It keeps the objects of both ends until `close`, or until the engine is closed.
    """

    def __init__(
        self,
        plan: Plan,
        submit: Callable[[], Event],
        at_once: Callable[[OpenEnds], Event | None],
        ends: OpenEnds | None,
    ) -> None:
        self.plan = plan
        self._submit = submit
        self._at_once = at_once
        self._ends = ends
        self._closed = False
        self._latest: Event | None = None

    def start(self) -> Event:
        """Start the transfer, and return its event at once.

        Raises:
            InputError: the transfer that was started before has not ended, or the prepared transfer is closed.
            EngineClosed: the engine is closed.
            ForkedError: in a forked child.
        """
        ends = self._ends
        if ends is not None and (event := self._at_once(ends)) is not None:
            self._latest = event
            return event
        if self._closed:
            raise InputError(f"prepared transfer: it is closed; expected one that was prepared anew ({self.plan.transfer})")
        latest = self._latest
        if latest is not None and not latest.done:
            raise InputError("prepared transfer: the transfer started before has not ended; wait for its event")
        event = self._latest = self._submit()
        return event

    def close(self) -> None:
        """Let go of both ends. A transfer that was started goes on. Safe to call twice."""
        self._closed = True
        ends, self._ends = self._ends, None
        latest, self._latest = self._latest, None
        self._submit = _closed
        if ends is None:
            return
        if latest is None or latest.done:
            ends.close()
        else:
            latest.add_done_callback(lambda _: ends.close())

    def __enter__(self) -> PreparedTransfer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<PreparedTransfer {self.plan.transfer}{': closed' if self._closed else ''}>"


def _closed() -> Event:
    raise InputError("prepared transfer: it is closed")


class OpenEnds:
    """The ends of a prepared transfer, opened, and the functions of its channel that move the bytes between them."""

    def __init__(
        self, plan: Plan, ends: tuple[Endpoint, Endpoint], moves: Sequence[Callable[[], object]], closing: Closing
    ) -> None:
        self.plan = plan
        """The plan for these ends, whose fields may lie otherwise (`Plan.lying`)."""
        self.source, self.destination = ends
        self._moves = moves
        self._copies: list[StridedCopy] | None = None
        self._closing = closing

    def move(self) -> BaseException | None:
        """Move the bytes in this thread. Returns the error of a transfer that failed.

        Raises:
            BaseException: a signal came.
        """
        return self._called(self._moves)

    def carry_out(self, prepared: PreparedPlan) -> int:
        """Move the bytes of a single request in this thread. Returns the number of device requests.

        Raises:
            RunError: it failed. BaseException: a signal came.
        """
        if self._copies is None:
            self._copies = prepared.taken(0, [*self.plan.copies(0, 0)], self.plan.bytes)[0]
        try:
            return prepared.channels[0].move(self._copies, self.source, self.destination, go_on)
        except Exception as error:  # noqa: BLE001  # it is raised, typed
            raise of_request(error, self._located)  # noqa: B904  # it has its cause already

    def begin(self) -> BaseException | None:
        """Call all functions but the last one, which waits for the end of a transfer on an asynchronous channel."""
        return self._called(self._moves[:-1])

    def end(self) -> BaseException | None:
        """Call the last function."""
        return self._called(self._moves[-1:])

    def _called(self, moves: Sequence[Callable[[], object]]) -> BaseException | None:
        try:
            for move in moves:
                move()
        except Exception as error:  # noqa: BLE001  # the event carries it
            return of_request(error, self._located)
        return None

    def close(self) -> None:
        """Close both ends."""
        tidied(self._closing.close)

    def _located(self, kind: type[RunError], message: str) -> RunError:
        return kind(message, hop=0, channel=self.plan.hops[0].channel, chunk=0)


def opened(plan: Plan, prepared: PreparedPlan, given: tuple[Any, Any]) -> OpenEnds | None:
    """The ends of a transfer of one hop; None if its channel does not prepare it, or it has an end in a file.

    It is a single request on a channel without a device, or a few requests on an asynchronous channel.

    Raises:
        InputError: an object is not what the plan expects.
        RunError: no room.
    """
    channel, transfer = prepared.channels[0], plan.transfer
    first, last = prepared.memories[0][0], prepared.memories[0][-1]
    closing = Closing()
    try:
        channel.prepare(plan.bytes)
        here, there = [
            end if end is None or receiver is None else received(receiver, end)
            for receiver, end in zip(prepared.receivers, given, strict=True)
        ]
        source = source_of(first, transfer, here)
        closing.callback(source.close)
        destination = destination_of(last, transfer, there)
        closing.callback(destination.close)
        if source.lies is not None or destination.lies is not None:
            plan, prepared = prepared.lying(plan, source.lies, destination.lies)
        require_apart(plan.transfer, source, destination)
        moves = None if destination.durable else channel.prepared_move(_copies(plan, prepared), source, destination)
        if moves is None and not destination.durable and not channel.is_asynchronous:
            moves = (partial(channel.move, _copies(plan, prepared), source, destination, go_on),)
    except BaseException as error:
        tidied(closing.close)
        if isinstance(error, Exception):
            raise of_opening(error)  # noqa: B904  # it has its cause already
        raise
    if moves is None:
        tidied(closing.close)
        return None
    return OpenEnds(plan, (source, destination), moves, closing)


def _copies(plan: Plan, prepared: PreparedPlan) -> list[StridedCopy]:
    """The copies of all chunks of a plan of one hop, each at most as long as a request."""
    path, hop = plan.paths[0], plan.hops[0]
    count = path.requests(hop)
    parts = [split_together(plan.copies(0, number), count, UNIT) for number in range(path.chunk_count)]
    return prepared.taken(0, [copy for chunk in parts for part in chunk for copy in part], plan.bytes)[0]


def go_on() -> None:
    """Never stop: a small transfer takes microseconds."""


def never(_: OpenEnds) -> None:
    """No event: the thread that starts the transfer never carries it out itself."""
