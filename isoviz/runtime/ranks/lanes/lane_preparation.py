"""How ranks prepare a transfer together: both ends open their stores and agree, and all ranks learn whether there is a lane."""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from isoviz.errors import Cancelled, RankError, RunError
from isoviz.runtime.bundle_ends import destination_of, received, source_of
from isoviz.runtime.engine.device_errors import Closing, of_opening, tidied
from isoviz.runtime.engine.event import Event
from isoviz.runtime.engine.interrupts import permit_interrupts
from isoviz.runtime.engine.prepared_transfer import PreparedTransfer, never
from isoviz.runtime.ranks.lanes.lane_sending import SendingTransfer
from isoviz.runtime.ranks.lanes.lane_transfers import LaneRuntime, LaneTransfer, ReceivingTransfer
from isoviz.runtime.ranks.messages import LaneOffer, for_others

if TYPE_CHECKING:
    from isoviz.planner import Instance, Plan
    from isoviz.runtime.protocols import Endpoint
    from isoviz.runtime.ranks.messages import Digest

_LOG = logging.getLogger("isoviz")


def prepare_lane(
    runtime: LaneRuntime, plan: Plan, given: tuple[Any, Any], ranks: tuple[int, int], digest: Digest | None, priority: int
) -> PreparedTransfer | str:
    """The prepared transfer on this rank; or the reason why there is no lane between the two `ranks`. All ranks call this.

    The caller defers signals. They are handled while this waits for another rank.

    Raises:
        RankError: another rank cannot take part, or prepares another plan. Cancelled: it was interrupted.
        Exception: this rank cannot take part; the others get a RankError.
    """
    sender, receiver = ranks
    receives = runtime.rank == receiver
    handshake = _LaneHandshake(runtime, runtime.peers.count(), sender if receives else receiver, digest)
    if runtime.rank not in ranks:
        return handshake.receive(sender).refusal or PreparedTransfer(plan, partial(_elsewhere, plan), never, None)
    closing = Closing()
    try:
        if receives:
            return _prepare_receiving(runtime, plan, given[1], handshake, closing)
        return _prepare_sending(runtime, plan, given[0], handshake, closing, priority)
    except BaseException as error:
        tidied(closing.close)
        handshake.abort(error, is_sender=not receives)
        raise


def _elsewhere(plan: Plan) -> Event:
    """The event of a transfer between two other ranks."""
    event = Event(plan)
    event.end()
    return event


class _LaneHandshake:
    """The offers for a prepared transfer. The receiver offers its address to the sender, and the sender answers to all ranks."""

    def __init__(self, runtime: LaneRuntime, number: int, peer: int, digest: Digest | None) -> None:
        self._mailbox, self._number, self.peer, self._digest = runtime.peers.mailbox, number, peer, digest
        self._has_sent = False
        self._peer_waits = True

    def offer(self, address: object, refusal: str, lies: Instance | None) -> None:
        """Send the offer of the receiver."""
        self._has_sent = True
        self._mailbox.send(self.peer, LaneOffer(self._number, self._digest, address, refusal, lies=lies))

    def reply(self, address: object, refusal: str, lies: Instance | None) -> None:
        """Send the answer of the sender."""
        self._send_to_all(LaneOffer(self._number, self._digest, address, refusal, lies=lies))

    def _send_to_all(self, offer: LaneOffer) -> None:
        self._has_sent = True
        for rank in range(self._mailbox.size):
            is_told = rank != self._mailbox.rank and (rank != self.peer or self._peer_waits)
            if is_told and rank not in self._mailbox.gone:
                self._mailbox.send(rank, offer)

    def receive(self, rank: int) -> LaneOffer:
        """Wait for the offer of another rank.

        Raises:
            RankError: it cannot take part, or prepares another plan. Cancelled: it was interrupted.
            RankLost: it no longer answers.
        """
        with permit_interrupts():
            self._mailbox.expect((LaneOffer, self._number), rank)
        offer = cast("LaneOffer", self._mailbox.wait((LaneOffer, self._number), rank))
        if offer.error:
            self._peer_waits = False
            raise Cancelled(offer.error) if offer.is_cancelled else RankError(offer.error, rank=rank)
        mine, other = self._digest, offer.digest
        if mine is not None and other is not None and (wrong := other.difference(mine)):
            raise RankError(
                f"prepared transfer {self._number}: rank {rank} has {wrong}, compared with rank {self._mailbox.rank}", rank=rank
            )
        return offer

    def abort(self, error: BaseException, *, is_sender: bool) -> None:
        """Tell the ranks that wait for this one why it takes no part."""
        if self._has_sent:
            return
        error = for_others(error, self._mailbox.rank)
        reason = str(error) if isinstance(error, RankError | Cancelled) else f"rank {self._mailbox.rank}: {error}"
        offer = LaneOffer(self._number, self._digest, error=reason, is_cancelled=isinstance(error, Cancelled))
        if is_sender:
            self._send_to_all(offer)
        elif self._peer_waits and self.peer not in self._mailbox.gone:
            self._mailbox.send(self.peer, offer)


def open_destination(runtime: LaneRuntime, plan: Plan, given: Any, closing: Closing) -> Endpoint:
    """The destination of a plan of one hop between ranks, on its rank.

    Raises:
        Exception: as `RealMemory.destination`.
    """
    prepared = runtime.plan(plan)
    receiver = prepared.receivers[1]
    try:
        end = given if given is None or receiver is None else received(receiver, given)
        store = destination_of(prepared.memories[0][-1], plan.transfer, end)
        closing.callback(store.close)
        plan.lying(None, store.lies).transfer.require_apart()
    except Exception as error:  # noqa: BLE001  # it is raised, typed
        raise of_opening(error)  # noqa: B904  # it has its cause already
    return store


def open_source(runtime: LaneRuntime, plan: Plan, given: Any, closing: Closing) -> Endpoint:
    """The source of such a plan, on its rank. The channel is made ready.

    Raises:
        Exception: as `RealMemory.source`.
    """
    prepared = runtime.plan(plan)
    receiver = prepared.receivers[0]
    try:
        end = given if given is None or receiver is None else received(receiver, given)
        prepared.channels[0].prepare(plan.bytes)
        store = source_of(prepared.memories[0][0], plan.transfer, end)
        closing.callback(store.close)
    except Exception as error:  # noqa: BLE001  # it is raised, typed
        raise of_opening(error)  # noqa: B904  # it has its cause already
    return store


def _prepare_receiving(
    runtime: LaneRuntime, plan: Plan, given: Any, handshake: _LaneHandshake, closing: Closing
) -> LaneTransfer | str:
    transfer, store = plan.transfer, open_destination(runtime, plan, given, closing)
    lane, refusal = None, ""
    try:
        lane = runtime.devices.lanes.receiving(store, handshake.peer)
        closing.callback(lane.close)
    except RunError as error:
        refusal = str(error)
    handshake.offer(None if lane is None else lane.address, refusal, store.lies)
    answer = handshake.receive(handshake.peer)
    refusal = answer.refusal or refusal
    if lane is None or refusal:
        tidied(closing.close)
        return refusal
    try:
        copies = plan.lying(answer.lies, store.lies).transfer.copies
        runtime.devices.lanes.share(lane, store, answer.address, copies)
    except RunError as error:
        _LOG.info("%s is moved by the rank of its source alone: %s", transfer, error)
    return ReceivingTransfer(runtime, plan, handshake.peer, closing, lane)


def _prepare_sending(
    runtime: LaneRuntime, plan: Plan, given: Any, handshake: _LaneHandshake, closing: Closing, priority: int
) -> LaneTransfer | str:
    store = open_source(runtime, plan, given, closing)
    offer = handshake.receive(handshake.peer)
    lane, refusal = None, offer.refusal
    if not refusal:
        try:
            copies = plan.lying(store.lies, offer.lies).transfer.copies
            lane = runtime.devices.lanes.sending(offer.address, store, copies)
            closing.callback(lane.close)
        except RunError as error:
            refusal = str(error)
    handshake.reply(None if lane is None else lane.address, refusal, store.lies)
    if lane is None:
        tidied(closing.close)
        return refusal
    return SendingTransfer(runtime, plan, handshake.peer, closing, lane, runtime.plan(plan), priority)
