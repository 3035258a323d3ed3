"""Small transfers between two ranks: their bytes ride with the message, past schedulers and arbiter.

A transfer of some bytes would spend nearly all its time on messages: to ask for admission, to be granted, to provide the
destination, to settle and to end. If its source is small, its rank sends all of it with one message, and the rank of the
destination converts it in place and answers. Both end at once. Such a transfer needs no buffers, and it delays a more urgent one
by no more than a message.
"""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from isoviz.errors import Cancelled, RankError
from isoviz.layouts import Box, View, apply, strided_copies
from isoviz.planner.bundled.bundle import Bundle
from isoviz.runtime.ranks.messages import Landed, Riding
from isoviz.runtime.trace.trace import RequestSpan
from isoviz.scheduling.work import Issue

if TYPE_CHECKING:
    from isoviz.machines import Machine
    from isoviz.planner import Plan, Transfer
    from isoviz.runtime.engine.driver import Driver
    from isoviz.runtime.protocols import Endpoint
    from isoviz.runtime.ranks.post import Post
    from isoviz.runtime.ranks.rank_execution import RankExecution

RIDES = 8 << 10
"""Bytes. A source up to this size rides with the message: copying it three times costs less than another message."""


def rides(plan: Plan, machine: Machine) -> bool:
    """Whether a transfer rides with a message: one hop between the memories of two ranks, and a small source."""
    transfer, paths = plan.transfer, plan.paths
    ends = [machine.memory(end.memory) for end in (transfer.source, transfer.destination)]
    return (
        len(paths) == len(paths[0].hops) == paths[0].chunk_count == 1
        and transfer.source.linearization.nbytes <= RIDES
        and ends[0].node != ends[1].node
        and all(end.kind.is_host for end in ends)
    )


def _read(execution: RankExecution) -> bytes:
    """The bytes of a source, as the plan says that they lie: beside the fields of an array may be much more."""
    store, transfer = execution.source, execution.lying.transfer
    if isinstance(transfer, Bundle):
        return b"".join([_packed(store, each.starts[0], each.transfer) for each in transfer.placed])
    return _packed(store, 0, transfer)


def _packed(store: Endpoint, first: int, transfer: Transfer) -> bytes:
    lies, said = transfer.as_they_lie[0], transfer.source
    found = store.read(first, lies.linearization.nbytes)
    if lies is said:
        return bytes(found)
    packed = np.zeros(said.linearization.nbytes, np.uint8)
    views = View(lies.linearization), View(said.linearization)
    apply(strided_copies(*views, Box.whole(said.space), transfer.field_names), np.frombuffer(found, np.uint8), packed)
    return packed.tobytes()


class SmallTransfers:
    """The small transfers of a rank."""

    def __init__(self, driver: Driver, post: Post) -> None:
        self._driver, self._post = driver, post
        self.rank = post.rank

    def begin(self, execution: RankExecution) -> None:
        """Carry out this rank's part of a small transfer."""
        execution.event.route = "eager"
        try:
            execution.open()
            execution.is_open = execution.is_granted = True
        except Exception as error:  # noqa: BLE001  # any error ends this transfer only, on both ranks
            execution.is_open = False
            execution.error = error
        number = execution.number
        if execution.sender == self.rank:
            begun = time.perf_counter()
            source = _read(execution) if execution.is_open else b""
            refusal = None if execution.error is None else f"rank {self.rank}: {execution.error}"
            self._post.send(execution.receiver, Riding(number, execution.digest, source, refusal))
            self._post.call((Landed, number), execution.receiver, partial(self._landed, execution, begun))
        else:
            self._post.call((Riding, number), execution.sender, partial(self._arrived, execution))

    def refuse(self, number: int, sender: int, receiver: int, reason: str) -> None:
        """Tell the other rank of a small transfer that this one cannot take part in it."""
        if sender == self.rank:
            self._post.send(receiver, Riding(number, None, b"", reason))
        else:
            self._post.send(sender, Landed(number, reason))

    def cancel(self, execution: RankExecution) -> None:
        """Cancel a small transfer, unless the other rank has had its say."""
        number, is_sender = execution.number, execution.sender == self.rank
        if self._post.forget((Landed if is_sender else Riding, number)):
            error = Cancelled("cancelled; its bytes may be in place")
            if not is_sender:
                self._post.send(execution.sender, Landed(number, is_cancelled=True))
            self._over(execution, error)

    def fail(self, execution: RankExecution, reason: str) -> None:
        """End a small transfer as if the other rank had refused it."""
        number, is_sender = execution.number, execution.sender == self.rank
        letter = Landed(number, reason) if is_sender else Riding(number, None, b"", reason)
        self._post.put((type(letter), number), letter)

    def _arrived(self, execution: RankExecution, letter: object) -> None:
        """On the rank of the destination: the bytes are here, or their rank is lost."""
        error: BaseException | None = execution.error
        if not isinstance(letter, Riding):
            error = error or cast("BaseException", letter)
        else:
            error = error or self._disagreement(execution, letter)
            if error is None:
                error = self._placed(execution, letter.source)
            said = None if error is None else f"rank {self.rank}: {error}"
            if execution.sender not in self._post.gone:
                self._post.send(execution.sender, Landed(execution.number, said))
        self._over(execution, error)

    def _disagreement(self, execution: RankExecution, letter: Riding) -> RankError | None:
        if letter.refusal is not None:
            return RankError(letter.refusal, rank=execution.sender)
        mine, other = execution.digest, letter.digest
        said = "" if mine is None or other is None else mine.difference(other)
        if not said:
            return None
        return RankError(f"transfer {execution.number}: rank {self.rank} has {said}, compared with rank {execution.sender}")

    def _placed(self, execution: RankExecution, source: bytes) -> BaseException | None:
        """Convert the bytes into the destination. Returns the error if that fails."""
        try:
            store: Any = execution.destination
            for copies in execution.parts_of(0, 0):
                apply(copies, np.frombuffer(source, np.uint8), store.read(0, store.nbytes))
        except Exception as raised:  # noqa: BLE001  # any error ends this transfer only
            return execution.placed(raised, Issue(execution.number, 0, 0, 0))
        execution.chunks_done = 1
        execution.event.moved(execution.plan.bytes)
        return None

    def _landed(self, execution: RankExecution, begun: float, letter: object) -> None:
        """On the rank of the source: the rank of the destination has answered, or is lost."""
        error = execution.error
        if isinstance(letter, Landed):
            if letter.is_cancelled:
                error = error or Cancelled("cancelled by the rank of the destination; its bytes may be in place")
            elif letter.error is not None:
                error = error or RankError(letter.error, rank=execution.receiver)
            execution.requests[0] = 1
            execution.spans.append(RequestSpan(execution.number, 0, 0, 0, begun, time.perf_counter()))
        else:
            error = error or cast("BaseException", letter)
        self._over(execution, error)

    def _over(self, execution: RankExecution, error: BaseException | None) -> None:
        execution.error = error
        execution.outcome = "done" if error is None else "failed"
        execution.ended = time.perf_counter()
        self._driver.over(execution)
