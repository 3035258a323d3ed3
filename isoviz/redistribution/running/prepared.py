"""A redistribution that is ready to run, on one rank: its arrays are known to its peers, its copies are computed.

What one hop moves goes straight over the hop's channel between two meetings of the ranks. A transfer through the scheduler of the
engine asks and tells other ranks about half a dozen times, which takes longer than a copy of a few MiB. Transfers with buffers on
the way go through the engine.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

from isoviz import checks
from isoviz.errors import Cancelled, DistributionError, InputError, InternalError, RankError, RunError
from isoviz.layouts.given_arrays import Array, host_array
from isoviz.redistribution.running.checking import check_against_peers, check_generated
from isoviz.redistribution.running.redistribution_report import RedistributionReport
from isoviz.redistribution.running.run_on_rank import RankRun, Span
from isoviz.runtime.device_bases import AsynchronousChannel
from isoviz.runtime.engine.interrupts import defer_interrupts, handle_waiting_signal
from isoviz.runtime.ranks.messages import for_others, picklable
from isoviz.runtime.ranks.rank_engine import Item
from isoviz.runtime.trace.report import unmeasured_channels

if TYPE_CHECKING:
    from isoviz.redistribution.redistribution_plan import RedistributionPlan
    from isoviz.redistribution.running.meeting import Meeting
    from isoviz.redistribution.running.opened_ends import OpenedEnds, Shown
    from isoviz.redistribution.running.own_sendings import DirectSending, OwnSendings
    from isoviz.runtime.protocols import CancelToken, Endpoint, Store
    from isoviz.runtime.ranks.rank_engine import RankEngine

PACKING = 4
"""The most transfers that a rank packs at the same time."""


class PreparedRedistribution:
    """A redistribution that is run again and again between the same arrays (`isoviz.prepare_redistribution`).

        with isoviz.prepare_redistribution(source, destination, array=mine, into=other) as prepared:
            for step in simulation:
                prepared.run()

    All ranks make it, run it and close it together. `run` moves what the source holds then. `plan` is the plan of all ranks. It
    keeps both arrays until `close`.
    """

    def __init__(self, engine: RankEngine, meeting: Meeting, own: OwnSendings, ends: OpenedEnds, shown: Sequence[Shown]) -> None:
        self.plan: RedistributionPlan = own.plan
        self._engine, self._meeting, self._ends, self._shown = engine, meeting, ends, shown
        self._lies = [each.lies for each in shown]
        self._own = own.lying(engine.rank, self._lies)
        self._is_generated = not any(each.has_array for each in shown)
        self._reached: dict[tuple[str, int], Store] = {}
        self._closed = False

    @property
    def source(self) -> Endpoint | None:
        """What this rank's part of the source lies in."""
        return self._ends.source

    @property
    def destination(self) -> Endpoint | None:
        """What this rank's part of the destination lies in."""
        return self._ends.destination

    @cached_property
    def array(self) -> Array | None:
        """This rank's part of the destination: the array of its layout, or bytes where no dtype describes them.

        An array of the caller whose fields lie otherwise is itself.
        """
        if self._ends.lies[1] is not None:
            return host_array(self._ends.into, "into")
        held, kind = getattr(self._ends.result, "array", None), self._own.array_kind
        return held if held is None or kind is None else cast("Array", held.view(kind[0]).reshape(kind[1]))

    @cached_property
    def _unmeasured(self) -> list[str]:
        """A note where a deviation from the prediction says little about the plan."""
        found = unmeasured_channels((sending.plan for sending in self.plan.sendings), self._engine.machine)
        origins, ranks = ", ".join(dict.fromkeys(found.values())), self._engine.transport.size
        note = f"predicted without a measurement ({origins}); isoviz machine --measure --ranks {ranks} measures"
        return [note] if found else []

    def run(self, *, verify: bool = False, cancel: CancelToken | None = None) -> RedistributionReport:
        """Move everything once, together with all ranks. When it returns on any rank, all destinations are complete.

        `verify` compares every byte, as `isoviz.redistribute` does. `cancel` is a token whose `is_set()` stops it on all ranks.

        Raises:
            InputError: it is closed.
            DistributionError: the ranks do not agree on `verify`.
            Cancelled: it was cancelled on some rank. VerificationError: a byte is wrong on some rank.
            RunError: it failed on this rank. RankError: it failed on another rank. RankLost: a rank no longer answers.
            EngineClosed: the engine is closed. ForkedError: in a forked child.
        """
        checks.flag_argument("run", "verify", verify)
        checks.expect_token("run", cancel)
        self._engine.require_open()
        with self._meeting:
            if self._closed:
                raise InputError("prepared redistribution: it is closed; expected one that was prepared anew")
            self._meeting.wait()
            return self.run_at_once(verify=verify, cancel=cancel)

    @defer_interrupts()
    def run_at_once(self, *, verify: bool, cancel: CancelToken | None) -> RedistributionReport:
        """`run` when the ranks have just met. Signals are handled where this rank moves or compares bytes."""
        self._ends.fetch()
        run, own_error = self._run(cancel)
        notes = self._ends.notes
        answers = self._told("run", own_error, (tuple(run), notes, verify))  # A plain tuple is quicker to pickle.
        runs = [RankRun(*each) for each, _, _ in answers]
        for rank, (_, _, other) in enumerate(answers):
            if other != verify:
                raise DistributionError(f"redistribution: rank {rank} asks for verify={other}, rank {self._engine.rank} does not")
        if verify:
            error = self.verify(cancel)
            self._told("verification", error)
        all_notes = ["the source holds generated data"] if self._is_generated else []
        all_notes += [note for _, found, _ in answers for note in found]
        all_notes += self._unmeasured
        self._ends.deliver()
        one_host = len(set(getattr(self._engine.transport, "hosts", ()))) <= 1
        return RedistributionReport.of(self.plan, runs, True if verify else None, all_notes, one_clock=one_host)

    def _told(self, what: str, error: BaseException | None, value: Any = None) -> list[Any]:
        """What all ranks tell when they have done something, each with its error, if any.

        Raises:
            BaseException: that of this rank, else that of the first rank that has one.
        """
        rank = self._engine.rank
        own_error = None if error is None else picklable(for_others(error, rank), rank)
        is_interrupted = error is not None and not isinstance(error, Exception)
        outcomes = self._meeting.gather(what, (own_error, is_interrupted, value), interruptible=False)
        if any(interrupted for _, interrupted, _ in outcomes):  # All ranks know it, and begin anew with their next call.
            self._meeting.is_over = True
        raise_first([each for each, _, _ in outcomes], error)
        return [each for _, _, each in outcomes]

    def verify(self, cancel: CancelToken | None = None) -> BaseException | None:
        """Compare this rank's part of the destination with what the source holds, and return the error. No rank is waited for.

        The parts of the peers are read where they lie, piece by piece; so no rank may write to its source meanwhile.
        """
        store, rank = cast("Store | None", self._ends.destination), self._engine.rank
        if store is None:
            return None

        def check() -> None:
            handle_waiting_signal()
            if cancel is not None and cancel.is_set():
                raise Cancelled("the redistribution was cancelled while it was verified")

        source, destination = self.plan.source, self.plan.destination
        try:
            if self._is_generated:
                check_generated(destination, rank, store, source, check, self._lies)
            else:
                check_against_peers(source, destination, rank, store, lambda peer: self._store("source", peer), check, self._lies)
        except BaseException as error:  # noqa: BLE001  # it is raised when all ranks have ended
            return error
        return None

    def wait(self) -> None:
        """Wait for all ranks.

        Raises:
            RankLost: a rank no longer answers.
        """
        self._meeting.wait()

    def close(self) -> None:
        """Let go of both arrays. An array that isoviz has provided stays valid. Safe to call twice."""
        self._closed = True
        self._reached.clear()
        self._ends.close()

    def __enter__(self) -> PreparedRedistribution:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._meeting.__exit__(kind)
        self.close()

    def __repr__(self) -> str:
        ends = f"{self.plan.source} → {self.plan.destination}"
        return f"<PreparedRedistribution {ends}{': closed' if self._closed else ''}>"

    # ---- moving

    def _run(self, cancel: CancelToken | None) -> tuple[RankRun, BaseException | None]:
        """Carry out this rank's part. Returns its error, too: after it, other ranks may still be writing to this one."""
        met, rank = time.perf_counter(), self._engine.rank
        spans: list[Span] = []
        error: BaseException | None = None
        for move in (self._move, self._move_staged):
            try:
                move(spans, cancel)
            except BaseException as found:  # noqa: BLE001  # it is raised when all ranks have ended
                error = error or found
        began = min([span.start for span in spans], default=met)
        ended = max([span.end for span in spans], default=met)
        return RankRun(rank, met, began, ended, RankRun.pack(spans)), error

    @defer_interrupts()
    def _move(self, spans: list[Span], cancel: CancelToken | None) -> None:
        """Move the transfers of one hop: first those without a thread, then those that wait, then the kernels.

        The kernels run in this thread, and in further ones where the rank has several processors. A signal is handled between two
        chunks. When this ends, in any way, nothing is on its way any more.
        """

        def check() -> None:
            handle_waiting_signal()
            if cancel is not None and cancel.is_set():
                raise Cancelled("the redistribution was cancelled")

        own = self._own
        flight = _Flight()
        errors: list[BaseException] = []
        for each in own.started:
            self._start(each, flight, spans, check)
        left = iter(own.at_once)  # Threads take the next one in turn, which is safe: `next` on an iterator of a list is atomic.

        def serve() -> None:
            for each in left:
                self._carry_out(each, spans, check)

        helpers = max(0, min(own.processors, len(own.at_once)) - 1)
        threads = min(PACKING, len(own.waiting)) + helpers
        with ThreadPoolExecutor(threads, "redistribution") if threads else nullcontext() as pool:
            futures = [pool.submit(self._carry_out, each, spans, check) for each in own.waiting] if pool else []
            futures += [pool.submit(serve) for _ in range(helpers)] if pool else []
            try:
                serve()
            except BaseException as error:  # noqa: BLE001  # what is on its way has to arrive first
                errors.append(error)
            errors += [found for found in [future.exception() for future in futures] if found is not None]
        errors += flight.wait()
        if errors:
            raise next((error for error in errors if not isinstance(error, Exception)), errors[0])

    def _carry_out(self, sending: DirectSending, spans: list[Span], check: Callable[[], None]) -> None:
        source, destination = self._store("source", self._engine.rank), self._store("destination", sending.receiver)
        for chunk, copies in sending.chunks:
            check()
            start = time.perf_counter()
            sending.channel.move(copies, source, destination, check)
            spans.append(Span(sending.number, 0, chunk, start, time.perf_counter()))

    def _start(self, sending: DirectSending, flight: _Flight, spans: list[Span], check: Callable[[], None]) -> None:
        source, destination = self._store("source", self._engine.rank), self._store("destination", sending.receiver)
        for chunk, copies in sending.chunks:
            start = time.perf_counter()

            def done(result: int | BaseException, chunk: int = chunk, start: float = start) -> None:
                spans.append(Span(sending.number, 0, chunk, start, time.perf_counter()))
                flight.landed(result)

            flight.begin()
            try:
                cast("AsynchronousChannel", sending.channel).start(copies, source, destination, check, done)
            except BaseException as error:  # noqa: BLE001  # `_move` raises it
                flight.landed(error)

    def _move_staged(self, spans: list[Span], cancel: CancelToken | None) -> None:
        """Move the transfers with buffers on the way, by the engine, together with all ranks."""
        numbers, rank = self._own.staged, self._engine.rank
        items = []
        for number in numbers:
            sending = self.plan.sendings[number]
            source = self._object(0) if sending.sender == rank else None
            items.append(Item(sending.plan, source, self._object(1) if sending.receiver == rank else None))
        parts = self._engine.run_parts(items, verify=False, cancel=cancel) if items else ()
        for number, part in zip(numbers, parts, strict=True):
            spans += [Span(number, span.hop, span.chunk, span.start, span.end) for span in part.spans]
        for part in parts:
            if part.error is not None:
                raise part.error if isinstance(part.error, Exception) else RunError(str(part.error))

    def _object(self, end: int) -> Any:
        """What the engine takes as this rank's source (0) or destination (1)."""
        given, store = self._ends.given[end], (self._ends.source, self._ends.destination)[end]
        return getattr(store, "array", None) if given is None else given

    def _store(self, end: str, rank: int) -> Store:
        """The store of an end on any rank."""
        if rank == self._engine.rank:
            own = self._ends.source if end == "source" else self._ends.destination
            assert own is not None, "the plan says that this rank has a part"
            return cast("Store", own)
        found = self._reached.get((end, rank))
        if found is None:
            handle = self._shown[rank].source if end == "source" else self._shown[rank].destination
            if handle is None:
                raise InternalError(f"rank {rank} gave no store for its part of the {end}")
            found = self._reached[end, rank] = self._ends.reach(handle)
        return found


def raise_first(errors: list[Exception | None], own: BaseException | None) -> None:
    """Raise this rank's own error, or that of the first rank that has one.

    Raises:
        RankError: it failed on another rank, for a reason that this rank does not know better.
    """
    if own is not None:
        raise own
    for other, error in enumerate(errors):
        if error is not None:
            if isinstance(error, RankError | Cancelled):
                raise error
            raise RankError(f"rank {other}: {error}", rank=other) from error


class _Flight:
    """Requests of asynchronous channels that are on their way."""

    def __init__(self) -> None:
        self._count = 0
        self._errors: list[BaseException] = []
        self._changed = threading.Condition()

    def begin(self) -> None:
        with self._changed:
            self._count += 1

    def landed(self, result: int | BaseException) -> None:
        with self._changed:
            self._count -= 1
            if isinstance(result, BaseException):
                self._errors.append(result)
            self._changed.notify_all()

    def wait(self) -> list[BaseException]:
        """Wait for all requests, and return the errors."""
        with self._changed:
            while self._count:
                self._changed.wait()
            return self._errors
