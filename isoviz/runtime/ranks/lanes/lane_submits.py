"""Submitted transfers over lanes: a plan that comes again between the same arrays of two ranks of a host.

When a plan comes a second time with the same destination, the receiver makes a lane and offers it (`LaneEnd`). From then on a
transfer costs no message. The receiver posts a credit with the number of the transfer, and the sender carries out the transfer
whose credit it finds. A lane keeps no array alive: it ends with the array.

A rank may carry out any of these transfers without the lane: with another array, with a cancel token, or because the other rank
is late. The ranks need not agree on that before. A rank that carries out a transfer otherwise sends messages about it. Such a
message makes the other rank carry it out otherwise, too, unless it has begun on the lane; so does `PATIENCE`. The receiver
withdraws its credit first, and the sender leaves a transfer alone whose credit was withdrawn.
"""

from __future__ import annotations

import itertools
import logging
import threading
from collections import OrderedDict, deque
from typing import TYPE_CHECKING, Any
from weakref import ref

from isoviz.errors import IsovizError, RunError
from isoviz.runtime.engine.device_errors import Closing, tidied
from isoviz.runtime.engine.event import Event
from isoviz.runtime.grips import Grip, array_at, form_of_bytes, is_plain
from isoviz.runtime.ranks.lanes.lane_events import LaneRequest, SubmittedReceiving, SubmittedSending
from isoviz.runtime.ranks.lanes.lane_preparation import open_destination, open_source
from isoviz.runtime.ranks.lanes.lane_sending import SendingTransfer
from isoviz.runtime.ranks.lanes.lane_sources import MOST_SOURCES, LaneSources
from isoviz.runtime.ranks.lanes.lane_transfers import ReceivingTransfer
from isoviz.runtime.ranks.messages import LaneEnd, LaneUse, NoLane
from isoviz.scheduling.pool import first_come_first_served, highest_priority_first

if TYPE_CHECKING:
    from collections.abc import Callable

    from isoviz.layouts.given_arrays import Array
    from isoviz.planner import Plan
    from isoviz.runtime.grips import Form
    from isoviz.runtime.ranks.known_plans import KnownPlan
    from isoviz.runtime.ranks.lanes.lane_events import Submit
    from isoviz.runtime.ranks.lanes.lane_transfers import LaneRuntime
    from isoviz.runtime.ranks.messages import Digest

_LOG = logging.getLogger("isoviz")
MOST_PLANS = 64
"""The plans between two ranks that are remembered."""
MOST_AT_A_TIME = 16
"""The transfers over lanes that a rank has under way: a thread may wait for each."""


_KNOWN_POLICIES = (highest_priority_first, first_come_first_served)


class _Kept:
    """What a rank remembers of a plan: the lane that it has, and the array that came last.

    - `receiving`, `grip`: the end of the lane at the receiver, and its array. `is_ready`: the sender looks at it.
    - `end`, `sendings`: what the receiver has offered to this sender, and the moves from each of its arrays.
    - `is_left`: the sender has let the lane go.
    - `moving`: held by the thread of the sender that carries out a transfer of the lane.
    """

    def __init__(self, known: KnownPlan, *, receives: bool) -> None:
        self.known, self.receives = known, receives
        self.peer = known.sender if receives else known.receiver
        self.last: Form | None = None
        self.is_refused = self.is_offered = self.is_ready = self.is_left = False
        self.receiving: ReceivingTransfer | None = None
        self.grip: Grip | None = None
        self.latest: Event | None = None
        self.end: LaneEnd | None = None
        self.sendings: list[tuple[Grip, SendingTransfer]] = []
        self.numbers = itertools.count(1)
        """Those of the arrays of a sender."""
        self.moving = threading.Lock()

    @property
    def is_used(self) -> bool:
        """Whether there is a lane."""
        return self.receiving is not None or self.end is not None

    def drop(self) -> None:
        """Let go of the lane. None of its transfers has begun and not ended."""
        transfers = [each for _, each in self.sendings] + ([] if self.receiving is None else [self.receiving])
        self.sendings, self.receiving, self.grip, self.end = [], None, None, None
        self.is_ready = self.is_left = False
        for each in transfers:
            tidied(each.close)


class LaneSubmits:
    """The lanes of the submitted transfers of a rank.

    `submit` carries out a transfer otherwise. `in_one_hop` makes the plan of a lane.
    """

    def __init__(
        self, runtime: LaneRuntime, submit: Submit, in_one_hop: Callable[[Plan, KnownPlan], Plan | None], *, lanes: bool = True
    ) -> None:
        self.runtime, self._submit, self._in_one_hop = runtime, submit, in_one_hop
        self.rank, self.mailbox = runtime.rank, runtime.peers.mailbox
        self.is_off = not lanes or runtime.driver.recorded is not None or not hasattr(runtime.devices, "lanes")
        """Whether this rank uses no lanes. An engine that records does everything through its scheduler."""
        self._kept: OrderedDict[Digest, _Kept] = OrderedDict()
        self._early: OrderedDict[Digest, LaneEnd] = OrderedDict()
        """Offers for plans that this rank has still to submit."""
        self._gone: deque[_Kept] = deque()
        """Lanes whose array has ended. It takes no lock to add one, because an array may end at any time."""
        self._lock = threading.RLock()
        self.running: dict[SubmittedSending | SubmittedReceiving, None] = {}

    # ---- submitting

    def start(
        self, plan: Plan, known: KnownPlan, ends: tuple[Any, Any], priority: int | None, submit: Submit | None = None
    ) -> tuple[int, SubmittedSending | SubmittedReceiving | None]:
        """The number of the next transfer, and its event if it goes over a lane.

        With `submit` the caller is a run: it waits for the transfer at once, and this is its way to carry it out otherwise.
        """
        number = self.runtime.peers.number(known.ranks)
        event: SubmittedSending | SubmittedReceiving | None = None
        if self.is_off:
            return number, None
        receives = known.receiver == self.rank
        with self._lock:
            if self._gone:
                self._bury()
            kept = self._kept_of(known, receives=receives)
            given = ends[receives]
            form = form_of_bytes(given) if is_plain(given) else None
            if kept is not None and form is not None and not kept.is_refused:
                try:
                    begin: Callable[..., Any] = self._received if receives else self._sent
                    event = begin(kept, given, form, number, LaneRequest(plan, [*ends], priority, submit))
                except Exception:  # noqa: BLE001  # the transfer is carried out otherwise, and says what is wrong
                    _LOG.warning("%s is not carried out over a lane", plan.transfer, exc_info=True)
                    self._refuse(kept)
            if kept is not None:
                kept.last = form
        if submit is None and isinstance(event, SubmittedSending):
            event.start()
        return number, event

    def plain(self, known: KnownPlan, number: int) -> None:
        """A transfer is carried out without a lane. Tell a sender that may look for a credit, and hears nothing else."""
        if known.is_eager and known.receiver == self.rank and known.digest is not None:
            kept = self._kept.get(known.digest)
            if kept is not None and kept.is_offered:
                self.mailbox.send_to((known.sender,), NoLane(number))

    def _kept_of(self, known: KnownPlan, *, receives: bool) -> _Kept | None:
        assert known.digest is not None, "it has two ranks"
        kept = self._kept.get(known.digest)
        if kept is None:
            if len(self._kept) >= MOST_PLANS:
                unused = next((digest for digest, each in self._kept.items() if not each.is_used and not each.is_offered), None)
                if unused is None:
                    return None
                del self._kept[unused]
            kept = self._kept[known.digest] = _Kept(known, receives=receives)
            kept.is_refused = known.is_durable or known.sender == known.receiver
            kept.end = self._early.pop(known.digest, None)
        return kept

    def _received(self, kept: _Kept, given: Array, form: Form, number: int, request: LaneRequest) -> SubmittedReceiving | None:
        """The event at the receiver. A lane is offered to the sender if there is none for an array that comes again."""
        lane, is_over = kept.receiving, kept.latest is None or kept.latest.done
        if not is_over:
            return None
        if kept.is_left:
            kept.drop()
            lane = None
        if lane is None or kept.grip is None or not kept.grip.is_on(given, form):
            if form == kept.last:
                self._offer(kept, Grip(given, form))
            return None
        if not kept.is_ready or len(self.running) >= MOST_AT_A_TIME:
            return None
        event = SubmittedReceiving(self, lane, number, request)
        driver, early = self.runtime.driver, self.runtime.peers.agreement.early
        with driver.lock:
            if driver.is_closed or early.has(number) or not lane.lane.next_turn(number + 1):
                return None
            early.on_lanes[number] = event.refused
        self.running[event] = None
        kept.latest = event
        return event

    def _sent(self, kept: _Kept, given: Array, form: Form, number: int, request: LaneRequest) -> SubmittedSending | None:
        """The event at the sender, if the receiver has offered a lane and this array comes again."""
        if kept.end is None or len(self.running) >= MOST_AT_A_TIME:
            return None
        transfer = next((each for grip, each in kept.sendings if grip.is_on(given, form)), None)
        if transfer is None:
            transfer = self._bound(kept, Grip(given, form), request) if form == kept.last else None
            if transfer is None:
                return None
        event = SubmittedSending(self, transfer, kept.moving, number, request)
        driver, early = self.runtime.driver, self.runtime.peers.agreement.early
        with driver.lock:
            if driver.is_closed or early.has(number):
                return None
            early.on_lanes[number] = event.refused
        self.running[event] = None
        return event

    # ---- making lanes

    def _straight(self, plan: Plan, known: KnownPlan) -> Plan | None:
        """The transfer in one hop, if its channels move the bytes as a lane does."""
        machine = self.runtime.driver.real.machine
        kinds = [machine.channel(hop.channel).kind for hop in plan.every_hop]
        found = self._in_one_hop(plan, known) if all(kind.prepares or kind.is_host_copy for kind in kinds) else None
        return found if found is not None and machine.channel(found.every_hop[0].channel).kind.prepares else None

    def _offer(self, kept: _Kept, grip: Grip) -> None:
        """Make a lane to an array, and offer it to the sender."""
        kept.drop()
        straight = self._straight(kept.known.plan, kept.known)
        if straight is None:
            kept.is_refused = True
            return
        closing = Closing()
        try:
            store = open_destination(self.runtime, straight, array_at(grip.form), closing)
            lane = self.runtime.devices.lanes.receiving(store, kept.peer)
        except IsovizError as error:
            _LOG.info("%s is not carried out over a lane: %s", straight.transfer, error)
            tidied(closing.close)
            kept.is_refused = True
            return
        closing.callback(lane.close)
        kept.receiving = ReceivingTransfer(self.runtime, straight, kept.peer, closing, lane)
        kept.receiving.sources = LaneSources(self.runtime.devices.lanes, straight, store)
        self._hold(kept, grip)
        kept.grip, kept.is_offered = grip, True
        assert kept.known.digest is not None
        self.mailbox.send_to((kept.peer,), LaneEnd(kept.known.digest, lane.address, store.lies))

    def _bound(self, kept: _Kept, grip: Grip, request: LaneRequest) -> SendingTransfer | None:
        """The moves of a lane from an array, made once."""
        end, known, runtime = kept.end, kept.known, self.runtime
        straight = None if end is None else self._straight(request.plan, known)
        if end is None or straight is None:
            self._refuse(kept)
            return None
        if len(kept.sendings) >= MOST_SOURCES:
            tidied(kept.sendings.pop(0)[1].close)
        closing = Closing()
        try:
            if runtime.driver.state_of(straight.every_hop[0].channel).policy not in _KNOWN_POLICIES:
                raise RunError("its channel has a policy of its own")
            store = open_source(runtime, straight, array_at(grip.form), closing)
            copies = straight.lying(store.lies, end.lies).transfer.copies
            lane = runtime.devices.lanes.sending(end.address, store, copies)
        except IsovizError as error:
            _LOG.info("%s is not carried out over a lane: %s", straight.transfer, error)
            tidied(closing.close)
            self._refuse(kept)
            return None
        closing.callback(lane.close)
        priority = straight.transfer.priority
        found = SendingTransfer(runtime, straight, kept.peer, closing, lane, runtime.plan(straight), priority)
        lane.may_share, lane.source = not kept.sendings, next(kept.numbers)
        self._hold(kept, grip)
        kept.sendings.append((grip, found))
        self._tell(kept, LaneUse(end.plan, lane.address, store.lies, lane.source, lane.may_share))
        return found

    def _hold(self, kept: _Kept, grip: Grip) -> None:
        """Let go of the lane once its array has ended."""
        owner = grip.owner()
        if owner is not None:
            grip.owner = ref(owner, lambda _: self._gone.append(kept))

    def _bury(self) -> None:
        """Let go of the lanes whose arrays have ended. The other rank lets go of what it has mapped."""
        while self._gone:
            kept = self._gone.popleft()
            grips = [kept.grip] if kept.receives else [grip for grip, _ in kept.sendings]
            if all(grip is None or grip.owner() is not None for grip in grips):
                continue  # it was replaced already
            assert kept.known.digest is not None
            gone = LaneEnd(kept.known.digest, None) if kept.receives else LaneUse(kept.known.digest, is_gone=True)
            kept.drop()
            self._tell(kept, gone)

    def _refuse(self, kept: _Kept) -> None:
        kept.is_refused = True
        kept.drop()
        assert kept.known.digest is not None
        self._tell(kept, LaneEnd(kept.known.digest, None) if kept.receives else LaneUse(kept.known.digest, is_refused=True))

    def _tell(self, kept: _Kept, message: LaneEnd | LaneUse) -> None:
        self.mailbox.send_to((kept.peer,), message)

    # ---- from the other rank

    def heard(self, sender: int, message: LaneEnd | LaneUse) -> None:
        """The other rank offers a lane, uses it, or lets it go. A thread that may take some time calls this."""
        with self._lock:
            kept = self._kept.get(message.plan)
            if type(message) is LaneEnd:
                self._offered(sender, kept, message)
            elif kept is not None and kept.receiving is not None:
                assert isinstance(message, LaneUse)
                if message.is_gone or message.is_refused:
                    kept.is_refused |= message.is_refused
                    kept.is_left = True
                    if kept.latest is None or kept.latest.done:
                        kept.drop()
                elif message.source is None:
                    kept.is_ready = True
                else:
                    self._share(kept, kept.receiving, message)

    def _offered(self, sender: int, kept: _Kept | None, message: LaneEnd) -> None:
        if kept is not None:
            kept.drop()
            kept.end = None if message.address is None else message
        elif message.address is not None:
            self._early[message.plan] = message
            if len(self._early) > MOST_PLANS:
                self._early.popitem(last=False)
        else:
            self._early.pop(message.plan, None)
        if message.address is not None:
            is_refused = self.is_off or (kept is not None and kept.is_refused)
            self.mailbox.send_to((sender,), LaneUse(message.plan, is_refused=is_refused))

    def _share(self, kept: _Kept, receiving: ReceivingTransfer, message: LaneUse) -> None:
        """Take note of a source that the sender uses, and perhaps let this rank move parts of it as well."""
        straight, grip = receiving.plan, kept.grip
        if receiving.sources is not None:
            receiving.sources.add(message)
        if not message.may_share or grip is None or grip.owner() is None:
            return
        closing = Closing()
        try:
            store = open_destination(self.runtime, straight, array_at(grip.form), closing)
            copies = straight.lying(message.lies, store.lies).transfer.copies
            self.runtime.devices.lanes.share(receiving.lane, store, message.source, copies)
        except IsovizError as error:
            _LOG.info("%s is moved by the rank of its source alone: %s", straight.transfer, error)

    # ---- the end

    def elsewhere(self, event: SubmittedSending | SubmittedReceiving) -> None:
        """Carry out a transfer by messages that has not begun on its lane."""
        request = event.request
        try:
            (request.submit or self._submit)(request, event.number, event)
        except Exception as error:  # noqa: BLE001  # the event carries it
            event.end(error)
        if event.is_stopped:
            self.runtime.driver.cancel(event.number)

    def begun(self, number: int) -> None:
        """A transfer has begun on its lane, or has ended: messages about it have come too late."""
        with self.runtime.driver.lock:
            early = self.runtime.peers.agreement.early
            early.on_lanes.pop(number, None)
            early.reach(number)

    def ended(self, event: SubmittedSending | SubmittedReceiving) -> None:
        """A transfer has ended: its arrays are no longer kept."""
        event.request.ends[:] = None, None
        self.running.pop(event, None)

    def close(self) -> None:
        """Cancel what runs, wait for its end, and let go of all lanes."""
        for event in list(self.running):
            event.cancel()
        for event in list(self.running):
            event.error()
        with self._lock:
            for kept in self._kept.values():
                kept.drop()
            self._kept.clear()
            self._early.clear()
