"""Plans that several ranks run together, as one of them has them: it waits for their end, verifies and measures its part."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from isoviz import checks
from isoviz.errors import Cancelled, RankLost
from isoviz.runtime.engine.interrupts import defer_interrupts
from isoviz.runtime.engine.progress import Progress
from isoviz.runtime.ranks.merging import RankPart
from isoviz.runtime.ranks.messages import FinalStatus, Offer

if TYPE_CHECKING:
    from isoviz.runtime.engine.driver import Driver
    from isoviz.runtime.engine.execution import Execution
    from isoviz.runtime.engine.progress import ProgressCallback
    from isoviz.runtime.protocols import CancelToken
    from isoviz.runtime.ranks.handles import RankDevices
    from isoviz.runtime.ranks.rank_execution import RankExecution
    from isoviz.runtime.ranks.rank_peers import RankPeers

TICK = 0.05
"""Seconds between two looks at a cancel token."""


class _Running(NamedTuple):
    """A plan that runs: its place among the items, its execution, and whether its bytes have moved."""

    at: int
    execution: RankExecution
    moved: threading.Event


SubmitPart = Callable[[Callable[["Execution"], None], "Callable[[], None] | None"], "RankExecution"]
"""Submits a plan, with what is called once none of its bytes move any more, and what is called whenever bytes arrive."""


class JointRun:
    """Plans that run at the same time. `verify`: whether every byte is compared. `tells`: whether progress is asked for."""

    def __init__(self, driver: Driver, peers: RankPeers, devices: RankDevices, *, verify: bool, tells: bool) -> None:
        self._driver, self._peers, self._mailbox, self._devices = driver, peers, peers.mailbox, devices
        self.rank = peers.rank
        self._verify, self._tells = verify, tells
        self._woken = threading.Event()
        self._running: list[_Running] = []
        self._heard: set[int] = set()
        """The numbers of the transfers whose final status has come."""

    @property
    def _executions(self) -> list[RankExecution]:
        return [each.execution for each in self._running]

    def sleep_until(self, moment: float, cancel: CancelToken | None) -> None:
        """Sleep until a moment of `time.perf_counter`, or until `cancel` is set."""
        while (left := moment - time.perf_counter()) > 0 and not (cancel is not None and cancel.is_set()):
            self._woken.wait(min(left, TICK))
            self._woken.clear()

    def begin(self, at: int, submit: SubmitPart) -> None:
        """Submit item number `at`.

        Raises:
            Exception: it is refused.
        """
        moved, woken = threading.Event(), self._woken

        def mark(_: Execution) -> None:
            moved.set()
            woken.set()

        execution = submit(mark, woken.set if self._tells else None)
        self._running.append(_Running(at, execution, moved))

    def wait(self, progress: ProgressCallback | None, cancel: CancelToken | None) -> None:
        """Wait until no bytes of the plans move any more. Report progress; cancel where the token is set."""
        if progress is None and cancel is None:
            for each in self._running:
                self._mailbox.poll(each.moved.is_set)
                each.moved.wait()
            return
        reported, executions = -1, self._executions
        while True:
            over = all(each.moved.is_set() for each in self._running)
            done = sum(execution.event.bytes_done for execution in executions)
            if progress is not None and done != reported:
                reported = done
                checks.tell("run", progress, self._progress(executions))
            if over:
                return
            self._woken.wait(TICK)
            self._woken.clear()
            if cancel is not None and cancel.is_set():
                for execution in executions:
                    self._driver.cancel(execution.number)

    def parts(self) -> Iterator[tuple[int, RankPart]]:
        """The part of this rank in every item, with its place: those whose destination is here first."""
        for execution in self._executions:
            if self._is_offering(execution):
                source = execution.source
                self._mailbox.send(execution.receiver, Offer(execution.number, execution.offered(), source.sources, source.lies))
        for each in sorted(self._running, key=lambda each: each.execution.receiver != self.rank):
            execution = each.execution
            yield each.at, self._received(execution) if execution.receiver == self.rank else self._sent(execution)

    def give_up(self, error: BaseException) -> None:
        """Cancel what runs, and keep no other rank waiting."""
        for execution in self._executions:
            self._driver.cancel(execution.number)
        for each in self._running:
            each.moved.wait()
            execution = each.execution
            if self._is_offering(execution):
                self._mailbox.send(execution.receiver, Offer(execution.number, None))
            elif execution.is_offered and execution.number not in self._heard:  # it is read until the final status
                self._mailbox.send(execution.receiver, Offer(execution.number, None))
                with suppress(RankLost):
                    self._mailbox.wait((FinalStatus, execution.number), execution.receiver)
            if execution.receiver == self.rank and self._is_awaited(execution):
                self._peers.say(execution, error, None)

    def close(self) -> None:
        """End the events, and drop the transfers."""
        for execution in self._executions:
            execution.event.end(execution.error)
            execution.close()
            self._driver.forget(execution)

    @staticmethod
    def _progress(executions: list[RankExecution]) -> Progress:
        """What this rank has moved to destinations, out of all that reaches destinations on this rank.

        The rank before the destination moves the last hop, so only the sums over all ranks belong together.
        """
        mine = [execution for execution in executions if execution.receiver == execution.rank]
        return Progress(
            "move",
            sum(execution.chunks_done for execution in executions),
            sum(execution.plan.chunk_count for execution in mine),
            sum(execution.event.bytes_done for execution in executions),
            sum(execution.plan.bytes for execution in mine),
        )

    def _is_awaited(self, execution: RankExecution) -> bool:
        """Whether the other ranks wait for the final status of the destination's rank."""
        several = len(execution.work.ranks(self.rank)) > 1
        return several and execution.outcome == "done" and (self._verify or execution.is_durable)

    def _is_offering(self, execution: RankExecution) -> bool:
        """Whether the rank of the destination waits for this rank to offer the source."""
        is_sender = execution.sender == self.rank != execution.receiver
        return is_sender and self._is_awaited(execution) and not execution.is_offered

    def _received(self, execution: RankExecution) -> RankPart:
        """The part of the rank of the destination, which verifies and publishes it."""
        flush, verified = 0.0, None
        try:
            if execution.error is None:
                began = time.perf_counter()
                execution.located(execution.destination.flush)
                flush = time.perf_counter() - began
                source = execution.source
                if execution.sender != self.rank and (self._verify or execution.is_durable):
                    offer = cast("Offer", self._mailbox.wait((Offer, execution.number), execution.sender, execution.check))
                    if offer.handle is None:
                        raise self._interrupted(execution)
                    execution.destination.comes_from(offer.sources)
                    if self._verify:
                        source = cast("Any", execution.far_source(offer.handle, offer.lies))
                if self._verify:
                    self._devices.verify(execution.lying, source, execution.destination, partial(self._check, execution))
                    verified = True
                execution.check()
                execution.located(execution.destination.publish)
        except Exception as error:  # noqa: BLE001  # the part carries it
            execution.error = error
        if self._is_awaited(execution):
            self._peers.say(execution, execution.error, verified)
        return RankPart.of(execution, self.rank, flush, verified)

    def _check(self, execution: RankExecution) -> None:
        """Check for a cancel while the destination is verified: the rank of the source may offer it no longer.

        Raises:
            Cancelled: the transfer has to stop.
        """
        execution.check()
        if self._mailbox.has((Offer, execution.number)):
            raise self._interrupted(execution)

    @staticmethod
    def _interrupted(execution: RankExecution) -> Cancelled:
        return Cancelled(f"rank {execution.sender} was interrupted")

    def _sent(self, execution: RankExecution) -> RankPart:
        """The part of another rank, which keeps the source until the destination is complete."""
        verified = None
        if self._is_awaited(execution):
            try:
                self._mailbox.expect((FinalStatus, execution.number), execution.receiver)
                with defer_interrupts():
                    status = cast("FinalStatus", self._mailbox.wait((FinalStatus, execution.number), execution.receiver))
                    self._heard.add(execution.number)
            except Exception as error:  # noqa: BLE001  # the part carries it
                execution.error = execution.error or error
            else:
                execution.error, verified = execution.error or status.error, status.verified
        return RankPart.of(execution, self.rank, 0.0, verified)
