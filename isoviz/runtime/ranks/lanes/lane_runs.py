"""Runs over lanes: `run` of a small plan that comes again between the same arrays of two ranks of a host.

The bytes move as those of a submitted transfer (`isoviz.runtime.ranks.lanes.lane_submits`). The rank of the destination compares
them with the source where that lies. No rank sends a message: what the ranks tell each other at the end of every run says how
this one has ended, and the rank of the source keeps its array until the other one has told that.
"""

from __future__ import annotations

import math
import threading
import time
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from isoviz.errors import RankError
from isoviz.runtime.engine.interrupts import handle_waiting_signal
from isoviz.runtime.ranks.joint_run import JointRun
from isoviz.runtime.ranks.lanes.lane_events import SubmittedReceiving, SubmittedSending
from isoviz.runtime.ranks.mailbox import lost_rank
from isoviz.runtime.ranks.merging import LEAST_UNCERTAIN, RankPart, clocks_note, first_error
from isoviz.runtime.trace.report import HopMeasurement, Report, notes_of
from isoviz.runtime.trace.trace import RequestSpan, Trace, TransferSpan

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from isoviz.machines import Machine
    from isoviz.planner import Plan
    from isoviz.runtime.engine.event import Event
    from isoviz.runtime.engine.execution import Execution
    from isoviz.runtime.ranks.known_plans import KnownPlan
    from isoviz.runtime.ranks.lanes.lane_events import LaneRequest
    from isoviz.runtime.ranks.lanes.lane_submits import LaneSubmits
    from isoviz.runtime.ranks.lanes.lane_transfers import LaneRuntime
    from isoviz.runtime.ranks.rank_execution import RankExecution
    from isoviz.runtime.ranks.transport import ClockOffset
    from isoviz.scheduling.work import Work

SMALL = 1 << 20
"""Bytes. A larger run costs little more by messages, and its report has a time for every request."""
_TICK = 0.05
"""Seconds between two looks for a signal."""
_NAP = 1e-4
"""Seconds between two looks whether a message has come."""


class ToldPart(NamedTuple):
    """What a rank tells of a run over a lane, as `RankPart` does: as a plain tuple, which is quicker to pickle.

    Times are on the clock of rank 0; the rank of the destination has none. `requests` are those of the device.
    """

    number: int
    first: float
    last: float
    requests: int
    verified: bool | None
    notes: tuple[str, ...]
    uncertainty: float


class LaneRuns:
    """The runs over lanes of a rank.

    - `submit`: submits a plan otherwise. `finish`: waits for its end, and fills in the parts of this rank.
    - `work`: the work of a plan. `clock`: compares the clocks.
    """

    def __init__(
        self,
        submits: LaneSubmits,
        submit: Callable[..., RankExecution],
        finish: Callable[[JointRun, list[RankPart]], list[RankPart]],
        work: Callable[[Plan], Work],
        clock: Callable[[], ClockOffset],
    ) -> None:
        self._submits, self._submit, self._finish, self._work, self._clock = submits, submit, finish, work, clock
        self._runtime = submits.runtime

    def may_take(self, plan: Plan, known: KnownPlan) -> bool:
        """Whether a plan may run over a lane: both ends are memory of two ranks, and it is a single request."""
        if known.is_single is None:
            fits = known.is_direct and not known.is_durable and plan.bytes <= SMALL and plan.chunk_count == len(plan.paths) == 1
            known.is_single = fits and self._work(plan).requests == (1,)
        return known.is_single and not self._submits.is_off

    def part(
        self, plan: Plan, known: KnownPlan, ends: tuple[Any, Any], *, verify: bool
    ) -> tuple[int, RankPart | tuple[Any, ...] | None]:
        """The number of a run, and what this rank tells of it; None if it has to be carried out by messages.

        The caller defers signals. They are handled while this waits.
        """
        other = _Elsewhere(self._runtime, self._submit, verify=verify)
        number, event = self._submits.start(plan, known, ends, None, other.begin)
        if event is None:
            return number, None
        try:
            if isinstance(event, SubmittedSending):
                event.transfer.lane.has_credit(event.turn)  # or nearly: the other rank comes at about the same time
            error = _ended(event)
            run = other.run
            if run is None:
                failed = None if error is None else RankPart(self._runtime.rank, number, error=error)
                return number, failed or self._told(event, verify=verify)
        except BaseException as raised:
            event.cancel()
            event.error()
            if (run := other.run) is not None:
                run.give_up(raised)
                run.close()
            raise
        return number, self._finish(run, [RankPart(self._runtime.rank)])[0]

    def _told(self, event: SubmittedSending | SubmittedReceiving, *, verify: bool) -> RankPart | tuple[Any, ...]:
        """What this rank tells once all bytes are in place. It verifies them if it has the destination."""
        clock = self._clock()
        prepared = self._runtime.plan(event.plan)
        notes = [note for path in prepared.memories for memory in path for note in memory.notes]
        notes += [note for channel in prepared.channels for note in channel.notes]
        own = tuple(dict.fromkeys(notes)), clock.uncertainty
        if isinstance(event, SubmittedSending):
            requests = sum([part.requests for part in event.transfer.lane.parts])
            return tuple(ToldPart(event.number, event.first - clock.offset, event.last - clock.offset, requests, None, *own))
        if verify:
            try:
                self._verify(event)
            except Exception as error:  # noqa: BLE001  # the part carries it
                return RankPart(self._runtime.rank, event.number, error=error)
        return tuple(ToldPart(event.number, math.inf, -math.inf, 0, verify or None, *own))

    def _verify(self, event: SubmittedReceiving) -> None:
        """Compare the destination with the source that the sender has used.

        Raises:
            VerificationError: they differ. RankLost: the other rank no longer answers. RunError: the source cannot be read.
        """
        transfer, runtime = event.transfer, self._runtime
        sources, number = transfer.sources, transfer.lane.source
        assert sources is not None, "a submitted transfer uses it"
        while number not in sources:  # the message about it is on its way
            if sources.has_dropped(number):
                raise RankError(f"rank {transfer.peer} has let go of the source", rank=transfer.peer)
            if transfer.peer in runtime.gone:
                raise lost_rank(transfer.peer, runtime.gone[transfer.peer])
            handle_waiting_signal()
            time.sleep(_NAP)
        sources.compare(number, handle_waiting_signal)

    def report(self, plan: Plan, machine: Machine, known: KnownPlan, parts: Sequence[object]) -> Report:
        """The report of a run over a lane, from what all ranks have told.

        Raises:
            Exception: it failed on a rank.
        """
        error = first_error([part for part in parts if isinstance(part, RankPart)])
        if error is not None:
            raise error
        number, first, last, requests, _, notes, uncertainty = cast("ToldPart", parts[known.sender])
        there = ToldPart(*cast("tuple[Any, ...]", parts[known.receiver]))
        words = dict.fromkeys((*notes, *there.notes))
        if (clocks := max(uncertainty, there.uncertainty)) > LEAST_UNCERTAIN:
            words[clocks_note(clocks)] = None
        span = known.span
        if span is None:
            payload, nothing = plan.paths[0].chunk_payload, -math.inf
            span = TransferSpan(0, "", self._work(plan), plan.bytes, payload, nothing, nothing, nothing, emulated=plan.emulated)
            known.span = span
        span = span._replace(number=number, label=f"transfer {number}", submitted=first, admitted=first, ended=last)
        trace = Trace((span,), (RequestSpan(number, 0, 0, 0, first, last),), "measured")
        seconds = max(0.0, last - first)
        hops = (HopMeasurement(0, seconds, plan.paths[0].bytes, requests),)
        every_note = (*words, *notes_of(plan, machine))
        return Report(plan, seconds, 0.0, hops, there.verified, every_note, trace, route="lane")


class _Elsewhere:
    """A run that was to go over a lane, by messages. Any thread may begin it; its event ends once no byte moves any more."""

    def __init__(self, runtime: LaneRuntime, submit: Callable[..., RankExecution], *, verify: bool) -> None:
        self._runtime, self._submit, self._verify = runtime, submit, verify
        self._run: JointRun | None = None
        self._begun = threading.Lock()
        """Held by the thread that begins it."""

    @property
    def run(self) -> JointRun | None:
        """The run; None if it went over the lane, or was refused. Its event has ended."""
        if self._run is None:
            return None
        with self._begun:
            return self._run

    def begin(self, request: LaneRequest, number: int, event: Event) -> None:
        """Begin it, as `Submit` says."""
        runtime, (source, destination) = self._runtime, request.ends

        def submit(when_moved: Callable[[Execution], None], _: object) -> RankExecution:
            def moved(execution: Execution) -> None:
                when_moved(execution)
                event.end(execution.error)

            plan = request.plan
            return self._submit(plan, source, destination, None, True, None, moved, number=number, event=event)

        with self._begun:
            self._run = JointRun(runtime.driver, runtime.peers, runtime.devices, verify=self._verify, tells=False)
            try:
                self._run.begin(0, submit)
            except BaseException:
                self._run = None
                raise


def _ended(event: Event) -> BaseException | None:
    """The error of a transfer once it has ended. Signals are handled meanwhile."""
    while True:
        try:
            return event.error(_TICK)
        except TimeoutError:
            handle_waiting_signal()
