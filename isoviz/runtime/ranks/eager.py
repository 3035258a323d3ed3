"""Small transfers between two ranks: their bytes are sent inside the message, past schedulers and arbiter.

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
from isoviz.runtime.opening import OPEN, REFUSED
from isoviz.runtime.ranks.messages import EagerData, EagerReceipt
from isoviz.runtime.trace.trace import RequestSpan
from isoviz.scheduling.work import Issue

if TYPE_CHECKING:
    from isoviz.machines import Machine
    from isoviz.planner import Plan, Transfer
    from isoviz.runtime.engine.driver import Driver
    from isoviz.runtime.protocols import Endpoint
    from isoviz.runtime.ranks.mailbox import Mailbox
    from isoviz.runtime.ranks.rank_execution import RankExecution

RIDES = 8 << 10
"""Bytes. A source up to this size is sent inside the message: copying it three times costs less than another message."""


def is_eager(plan: Plan, machine: Machine) -> bool:
    """Whether the bytes of a transfer are sent inside the message: a small source, one hop between memories of two ranks."""
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
    lies, described = transfer.as_they_lie[0], transfer.source
    found = store.read(first, lies.linearization.nbytes)
    if lies is described:
        return bytes(found)
    packed = np.zeros(described.linearization.nbytes, np.uint8)
    views = View(lies.linearization), View(described.linearization)
    apply(strided_copies(*views, Box.whole(described.space), transfer.field_names), np.frombuffer(found, np.uint8), packed)
    return packed.tobytes()


class SmallTransfers:
    """The small transfers of a rank."""

    def __init__(self, driver: Driver, mailbox: Mailbox) -> None:
        self._driver, self._mailbox = driver, mailbox
        self.rank = mailbox.rank

    def begin(self, execution: RankExecution) -> None:
        """Carry out this rank's part of a small transfer."""
        execution.event.route = "eager"
        try:
            execution.open()
            execution.phase = OPEN
        except Exception as error:  # noqa: BLE001  # any error ends this transfer only, on both ranks
            execution.phase = REFUSED
            execution.error = error
        number = execution.number
        if execution.sender == self.rank:
            begun = time.perf_counter()
            source = _read(execution) if execution.phase == OPEN else b""
            refusal = None if execution.error is None else f"rank {self.rank}: {execution.error}"
            self._mailbox.send(execution.receiver, EagerData(number, execution.digest, source, refusal))
            self._mailbox.call((EagerReceipt, number), execution.receiver, partial(self._answered, execution, begun))
        else:
            self._mailbox.call((EagerData, number), execution.sender, partial(self._arrived, execution))

    def refuse(self, number: int, sender: int, receiver: int, reason: str) -> None:
        """Tell the other rank of a small transfer that this one cannot take part in it."""
        if sender == self.rank:
            self._mailbox.send(receiver, EagerData(number, None, b"", reason))
        else:
            self._mailbox.send(sender, EagerReceipt(number, reason))

    def cancel(self, execution: RankExecution) -> None:
        """Cancel a small transfer, unless the other rank has had its say."""
        number, is_sender = execution.number, execution.sender == self.rank
        if self._mailbox.forget((EagerReceipt if is_sender else EagerData, number)):
            error = Cancelled("cancelled; its bytes may be in place")
            if not is_sender:
                self._mailbox.send(execution.sender, EagerReceipt(number, is_cancelled=True))
            self._end(execution, error)

    def fail(self, execution: RankExecution, reason: str) -> None:
        """End a small transfer as if the other rank had refused it."""
        number, is_sender = execution.number, execution.sender == self.rank
        message = EagerReceipt(number, reason) if is_sender else EagerData(number, None, b"", reason)
        self._mailbox.put((type(message), number), message)

    def _arrived(self, execution: RankExecution, message: object) -> None:
        """On the rank of the destination: the bytes are here, or their rank is lost."""
        error: BaseException | None = execution.error
        if not isinstance(message, EagerData):
            error = error or cast("BaseException", message)
        else:
            error = error or self._disagreement(execution, message)
            if error is None:
                error = self._placed(execution, message.source)
            reason = None if error is None else f"rank {self.rank}: {error}"
            if execution.sender not in self._mailbox.gone:
                self._mailbox.send(execution.sender, EagerReceipt(execution.number, reason))
        self._end(execution, error)

    def _disagreement(self, execution: RankExecution, message: EagerData) -> RankError | None:
        if message.refusal is not None:
            return RankError(message.refusal, rank=execution.sender)
        mine, other = execution.digest, message.digest
        difference = "" if mine is None or other is None else mine.difference(other)
        if not difference:
            return None
        return RankError(f"transfer {execution.number}: rank {self.rank} has {difference}, compared with rank {execution.sender}")

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

    def _answered(self, execution: RankExecution, begun: float, message: object) -> None:
        """On the rank of the source: the rank of the destination has answered, or is lost."""
        error = execution.error
        if isinstance(message, EagerReceipt):
            if message.is_cancelled:
                error = error or Cancelled("cancelled by the rank of the destination; its bytes may be in place")
            elif message.error is not None:
                error = error or RankError(message.error, rank=execution.receiver)
            execution.requests[0] = 1
            execution.spans.append(RequestSpan(execution.number, 0, 0, 0, begun, time.perf_counter()))
        else:
            error = error or cast("BaseException", message)
        self._end(execution, error)

    def _end(self, execution: RankExecution, error: BaseException | None) -> None:
        execution.error = error
        execution.outcome = "done" if error is None else "failed"
        execution.ended = time.perf_counter()
        self._driver.bytes_moved(execution)
