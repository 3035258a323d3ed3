"""The engine: the scheduler in real time, on real memories (DESIGN, sections 3 and 4).

Every channel has a dispatcher, whose threads carry out the requests that the scheduler issues to it. The devices that move bytes
implement `isoviz.runtime.protocols`. They are the devices of this computer (`isoviz.backends`), of a test, or of a host runtime
that uses isoviz as its DMA engine (Isometry, sections 3 and 5.2).
"""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Self
from weakref import WeakSet

from isoviz import checks
from isoviz.checks import expect
from isoviz.machines import machine_argument
from isoviz.machines.cards import REQUEST_BYTES
from isoviz.planner import Bundle, Options, Plan
from isoviz.planner import plan as make_plan
from isoviz.runtime.engine.driver import Driver
from isoviz.runtime.engine.event import Event
from isoviz.runtime.engine.execution import Execution, notes_of_devices
from isoviz.runtime.engine.idle_channels import IdleChannels
from isoviz.runtime.engine.inline import KnownCopies, inline_of
from isoviz.runtime.engine.interrupts import defer_interrupts, permit_interrupts
from isoviz.runtime.engine.open_devices import OpenedDevices, bundle_of
from isoviz.runtime.engine.peers import Peers
from isoviz.runtime.engine.prepared_plans import PreparedPlans
from isoviz.runtime.engine.prepared_transfer import PreparedTransfer, go_on, never, opened
from isoviz.runtime.engine.progress import setting, tell, watch
from isoviz.runtime.pipeline import work_of
from isoviz.runtime.trace.report import HopMeasurement, Report, notes_of
from isoviz.runtime.trace.trace import RequestSpan, Trace, TransferSpan
from isoviz.scheduling.pool import highest_priority_first
from isoviz.scheduling.scheduler import Scheduler

if TYPE_CHECKING:
    from isoviz.layouts import Layout
    from isoviz.machines import Machine, MachineLike
    from isoviz.runtime.engine.prepared_plans import PreparedPlan
    from isoviz.runtime.engine.prepared_transfer import OpenEnds
    from isoviz.runtime.engine.progress import ProgressCallback
    from isoviz.runtime.protocols import CancelToken, Devices
    from isoviz.scheduling.pool import ChannelState, Policy
    from isoviz.scheduling.work import Work


class BaseEngine:
    """Carries out many transfers at a time on one machine, with the devices that it is given. Any thread may use it.

    `isoviz.Engine` has the devices of this computer, and predicts and records what it runs.

    - `policy`: how channels choose among transfers (`isoviz.runtime.ChannelState` has an example).
    - `policies`: the channels with another policy, by name.
    - `request_bytes`: the length of requests in bytes, up to four times that where runs are long. A more urgent transfer can go
      first between two requests.
    - `options`: the options of the plans that `copy` makes.
    - `record`: keep all events for `trace`.
    - `lanes`: let a compiled loop move short parts where a transfer is alone on its channels (`isoviz.runtime.engine.program`).
      An engine that records does everything through its scheduler.

    In a `with`, its threads run until the end of the block. Without it, they end when the engine is idle. An engine belongs to
    the process that made it: in a forked child every method raises ForkedError, and the child can make its own engine.
    """

    def __init__(
        self,
        machine: MachineLike,
        devices: Devices,
        *,
        policy: Policy = highest_priority_first,
        policies: Mapping[str, Policy] | None = None,
        request_bytes: int = REQUEST_BYTES,
        options: Options | None = None,
        record: bool = False,
        lanes: bool = True,
    ) -> None:
        machine = machine_argument("engine", machine)
        request_bytes = checks.count("engine", "request_bytes", request_bytes, low=1)
        checks.flag_argument("engine", "record", record)
        checks.flag_argument("engine", "lanes", lanes)
        if options is not None:
            expect("engine", options, Options, "options or None")
        scheduler, real, peers = self._parts(machine, devices, policies, policy)
        self._driver = Driver(scheduler, real, peers, record=record)
        self._idle = IdleChannels(self._driver)
        self.machine = machine
        self.devices = devices
        self.request_bytes = request_bytes
        self._may_lease = lanes and not record
        self.options = Options() if options is None else options
        self._numbers = itertools.count()
        self._plans = PreparedPlans(real, partial(inline_of, machine, self._driver.state_of, request_bytes))
        self._copies = KnownCopies(self._plans)
        self._transfers: WeakSet[PreparedTransfer] = WeakSet()

    def _parts(
        self, machine: Machine, devices: Any, policies: Mapping[str, Policy] | None, policy: Policy
    ) -> tuple[Scheduler, OpenedDevices, Peers]:
        """What the driver of this engine is made of."""
        return Scheduler.of(machine, policies, policy), OpenedDevices(machine, devices), Peers()

    # ---- life

    def __enter__(self) -> Self:
        self._driver.enter()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None or self._driver.home.is_here:  # a forked child's own exception must not be hidden
            self.close()

    def close(self) -> None:
        """Cancel all transfers, wait until they have ended, and end all threads. Safe to call twice."""
        self._driver.close()
        for prepared in list(self._transfers):
            prepared.close()
        self._driver.real.forget()
        self._plans.clear()
        self._copies.clear()

    # ---- transfers

    def copy(
        self,
        source: Any,
        source_layout: Layout | str | Sequence[Layout | str],
        destination: Any,
        destination_layout: Layout | str | Sequence[Layout | str],
        priority: int = 0,
    ) -> Event:
        """Copy an array or a file into another one and convert the layout; returns at once (Isometry, section 2).

        `source` and `destination` are objects that the devices accept: arrays (host memory, GPUs) or paths of files. Index spaces
        and fields follow from the source, or from the destination where the source is flat. A channel serves transfers of the
        highest priority first. What fails after planning is the error of the event, for copies of every size. Nothing moves
        between two empty arrays: the event has ended, and has no plan.

        Lists of objects at both ends are copied as a bundle (`isoviz.bundle`), each object to the one at the same place. Then a
        layout may be a list as well.

        Raises:
            InputError: source, destination and layouts do not fit each other.
            EngineClosed: after `close`.
            ForkedError: in a forked child.
        """
        driver = self._driver
        driver.home.require()
        if isinstance(source, list | tuple) or isinstance(destination, list | tuple):
            made = bundle_of(driver.real, (source, destination), (source_layout, destination_layout), priority)
            found = make_plan(made, self.machine, None, self.options)
            return self.submit(found, *((source, destination) if isinstance(made, Bundle) else (source[0], destination[0])))
        ends = driver.real.ends(source, source_layout, destination, destination_layout)  # type: ignore[arg-type]  # one layout each
        if ends is None:
            driver.require_open()
            return Event.of_nothing()
        here, there = ends
        known = self._copies.of(here, there, priority, self.options)
        plan, inline = known.plan, known.inline
        if inline is not None:
            event = self._idle.at_once(plan, inline.state, inline.move(plan, source, destination))
            if event is not None:
                return event
        return self._scheduled(plan, source, destination, None, True, None)

    @defer_interrupts()
    def prepare(
        self,
        plan: Plan,
        source: Any | None = None,
        destination: Any | None = None,
        *,
        priority: int | None = None,
    ) -> PreparedTransfer:
        """A transfer that is started again and again between the same ends: `prepare(...).start().wait()`.

        The arguments are those of `submit`. What can be known before the transfer starts is found out here, and kept until
        `close`: the open ends, the copies of all chunks and their compiled moves (the parsed layouts of both ends), and between
        ranks the places of the peer that they write to. So a start pays what a plan with `Options(reuse=n)` counts for every
        start, and not its kept one-time costs. All of it belongs to the objects given here, which it keeps alive. Another object
        at the address of one that is gone is prepared anew, and a peer that has closed its end is written to no more: a start
        then raises RankError.

        Raises:
            TransferError: as `submit`; also if source and destination are the same.
            InputError: an object is not what the plan expects.
            EngineClosed: after `close`.
            ForkedError: in a forked child.
        """
        self._driver.home.require()
        expect("prepare", plan, Plan, "a plan")
        priority = None if priority is None else checks.priority(priority)
        prepared = self._plans.of(plan)
        self._driver.require_open()
        submit = partial(self.submit, plan, source, destination, priority=priority)
        is_single = prepared.inline is not None
        if not is_single and not self._is_queued_at_once(plan, prepared):
            return PreparedTransfer(plan, submit, never, None)
        ends = opened(plan, prepared, (source, destination))
        channel = self._driver.state_of(plan.hops[0].channel)
        at_once = self._moved_at_once if is_single else self._idle.queue
        made = PreparedTransfer(plan, submit, partial(at_once, plan, channel), ends)
        self._transfers.add(made)
        return made

    def _is_queued_at_once(self, plan: Plan, prepared: PreparedPlan) -> bool:
        """Whether a transfer has one hop, over an asynchronous channel that takes all of its requests at a time."""
        if len(prepared.channels) > 1 or not prepared.channels[0].is_asynchronous:
            return False
        work = prepared.work(plan, None, pipelined=True, request_bytes=self.request_bytes)
        return 0 < work.chunks * work.requests[0] <= self._driver.scheduler.limits.get(plan.hops[0].channel, 1)

    def _moved_at_once(self, plan: Plan, channel: ChannelState, ends: OpenEnds) -> Event | None:
        return self._idle.at_once(plan, channel, ends.move)

    def submit(
        self,
        plan: Plan,
        source: Any | None = None,
        destination: Any | None = None,
        *,
        priority: int | None = None,
        pipelined: bool = True,
        cancel: CancelToken | None = None,
    ) -> Event:
        """Carry out a plan; returns at once.

        A transfer that is a single request of up to 64 KiB costs less than handing it to another thread. If it needs no device
        and its channel is idle, this thread carries it out, and it has ended when this returns (`Event.route` is `inline`).

        `source` and `destination` are as in `run`. `priority` replaces the transfer's priority. Without `pipelined`, every hop
        moves all chunks before the next hop begins.

        Raises:
            TransferError: the plan is for another machine, or this computer lacks one of its memories.
            LimitError: its buffers are larger than a memory.
            EngineClosed: after `close`.
            ForkedError: in a forked child.
        """
        if pipelined is True and cancel is None and source is not None and destination is not None:
            self._driver.home.require()
            inline = self._plans.of(plan).inline
            if inline is not None and inline.may_submit and (priority is None or type(priority) is int):
                event = self._idle.at_once(plan, inline.state, inline.move(plan, source, destination))
                if event is not None:
                    return event
        checks.flag_argument("submit", "pipelined", pipelined)
        checks.expect_token("submit", cancel)
        return self._scheduled(plan, source, destination, priority, pipelined, cancel)

    @defer_interrupts()
    def _scheduled(
        self,
        plan: Plan,
        source: Any | None,
        destination: Any | None,
        priority: int | None,
        pipelined: bool,
        cancel: CancelToken | None,
    ) -> Event:
        """The event of a transfer that the scheduler carries out."""
        return self._submitted(plan, source, destination, priority, pipelined, cancel, self._driver.complete).event

    def run(
        self,
        plan: Plan,
        source: Any | None = None,
        destination: Any | None = None,
        *,
        verify: bool = True,
        progress: ProgressCallback | None = None,
        cancel: CancelToken | None = None,
        pipelined: bool = True,
        chunks: int | None = None,
    ) -> Report:
        """Carry out a plan, wait for its end and report.

        - `source`, `destination`: arrays that lie as the plan's instances say (host memory, GPUs), or paths (disks). A struct may
          have gaps between its fields. If they are not given, the paths in the plan's instances are used. If the plan names none,
          the source is generated and the destination is discarded afterwards.
        - `verify`: compare the destination with the source bit for bit.
        - `progress`: called in this thread.
        - `cancel`: a token, such as a `threading.Event`, that is checked between requests.
        - `pipelined`: as in `submit`.
        - `chunks`: move only the first `chunks` chunks of each path (`isoviz.measure.trial`). Nothing is verified and the
          destination is discarded. Bytes and rates of the report are those of the whole plan.

        A destination file appears under its name only when it is complete, is on the disk and, with `verify`, has been compared.
        After a RunError, Cancelled or VerificationError, no destination file is left. Padding may move too; it then overwrites
        the padding of the destination (`Plan.padding`).

        Raises:
            InputError: `chunks` is below 1.
            TransferError: the plan is for another machine, this computer lacks one of its memories, or source and destination are
                the same or overlap. Nothing has been changed.
            ArrayError: an array does not lie as the plan says.
            FileError: a file is not what the plan expects.
            RunError: a hop failed.
            Cancelled: `cancel` was set.
            VerificationError: source and destination differ.
        """
        checks.flag_argument("run", "verify", verify)
        checks.flag_argument("run", "pipelined", pipelined)
        checks.expect_token("run", cancel)
        if progress is not None:
            checks.expect_call("run, progress", progress, "a function or None")
        if pipelined and progress is None and cancel is None and chunks is None and not (source is None or destination is None):
            report = self._run_inline(plan, source, destination, verify)
            if report is not None:
                return report
        return self._run(plan, source, destination, verify and chunks is None, progress, cancel, pipelined, chunks)

    def _run_inline(self, plan: Plan, source: Any, destination: Any, verify: bool) -> Report | None:
        """The report of a small plan that this thread carries out between arrays that came before.

        None if the plan is not small, or the scheduler has to carry it out.
        """
        self._driver.home.require()
        prepared = self._plans.of(plan)
        inline = prepared.inline
        if inline is None or not inline.may_submit or (ends := inline.kept_ends(plan, source, destination)) is None:
            return None
        moved: list[tuple[int, float, float]] = []

        def carry_out() -> None:
            start = time.perf_counter()
            requests = ends.carry_out(prepared)
            moved.append((requests, start, time.perf_counter()))

        if not self._idle.borrow(inline.state, moved, carry_out):
            return None
        if verify:
            self.devices.verify(ends.plan, ends.source, ends.destination, go_on)
        (requests, start, end), number = moved[0], next(self._numbers)
        span = _transfer_span(number, plan, self._work(plan, prepared, None, True, None), (start, start, end), "done", "")
        trace = Trace((span,), (RequestSpan(number, 0, 0, 0, start, end),), "measured")
        hops = (HopMeasurement(0, end - start, ends.plan.paths[0].bytes, requests),)
        notes = (*notes_of_devices(prepared, ends.source, ends.destination), *notes_of(plan, self.machine))
        return Report(plan, end - start, 0.0, hops, verify or None, notes, trace, route="inline")

    @defer_interrupts()
    def _run(
        self,
        plan: Plan,
        source: Any | None,
        destination: Any | None,
        verify: bool,
        progress: ProgressCallback | None,
        cancel: CancelToken | None,
        pipelined: bool,
        chunks: int | None,
    ) -> Report:
        """The report of a plan that the scheduler carries out."""
        moved, arrived = threading.Event(), threading.Event()
        when_moved = setting(moved, arrived)
        told = arrived.set if progress is not None else None
        execution = self._submitted(plan, source, destination, None, pipelined, cancel, when_moved, told, chunks, waits=True)
        left = False
        try:
            with permit_interrupts():
                watch(execution, moved, arrived, progress, cancel, partial(self._driver.cancel, execution.number))
                if execution.error is not None:
                    raise execution.error
                began = time.perf_counter()
                execution.located(execution.destination.flush)
                flush_seconds = time.perf_counter() - began
                seconds = execution.moving_seconds + flush_seconds
                verified = None
                if verify:
                    tell(execution, progress, "verify")
                    self.devices.verify(execution.lying, execution.source, execution.destination, execution.check)
                    verified = True
            execution.check()
            if chunks is None:
                execution.located(execution.destination.publish)
            execution.event.end()
            notes = (*execution.notes, *notes_of(plan, self.machine))
            trace = _trace_of([execution], moving=True, flush_seconds=flush_seconds)
            hops, waited = execution.measured(flush_seconds), execution.buffer_seconds
            return Report(
                plan, seconds, flush_seconds, hops, verified, notes, trace, buffer_seconds=waited, route=execution.event.route
            )
        except BaseException as error:
            if not self._driver.home.is_here:  # `progress` has forked and this is the child: the transfer is the parent's
                left = True
                raise
            try:  # After any exception, also Ctrl-C, the requests in flight end first.
                if not moved.is_set():
                    self._driver.cancel(execution.number)
                    with permit_interrupts():
                        moved.wait()
            except BaseException:
                left = self._driver.abandon(execution, error)
                raise
            execution.event.end(error)
            raise
        finally:
            if not left:
                execution.close()
                self._driver.forget(execution)

    @property
    def held_bytes(self) -> int:
        """Bytes of the intermediate buffers that transfers hold."""
        driver = self._driver
        driver.home.require()
        with driver.lock:
            return driver.scheduler.counts.held_bytes

    def trace(self) -> Trace:
        """The trace so far of an engine with `record`.

        Raises:
            ValueError: the engine does not record.
            ForkedError: in a forked child.
        """
        self._driver.home.require()
        if self._driver.recorded is None:
            raise ValueError("this engine keeps no trace; make it with record=True")
        return _trace_of(self._driver.recorded)

    # ---- inside

    def _submitted(
        self,
        plan: Plan,
        source: Any | None,
        destination: Any | None,
        priority: int | None,
        pipelined: bool,
        cancel: CancelToken | None,
        when_moved: Callable[[Execution], None],
        arrived: Callable[[], None] | None = None,
        chunks: int | None = None,
        waits: bool = False,
    ) -> Execution:
        self._driver.home.require()
        prepared = self._plans.of(plan)
        work = self._work(plan, prepared, priority, pipelined, chunks)
        number = next(self._numbers)
        event = Event(plan, partial(self._driver.cancel, number), arrived, self._driver.callbacks.put)
        ends, memories, channels = (source, destination), prepared.memories, prepared.channels
        execution = Execution(number, plan, work, event, ends, memories, channels, cancel, when_moved, waits, prepared)
        if self._may_lease and (loop := prepared.loop_of(work)) is not None:
            execution.may_lease(loop)
        execution.submitted = time.perf_counter()
        self._driver.admit(execution)()
        return execution

    def _work(self, plan: Plan, prepared: PreparedPlan, priority: int | None, pipelined: bool, chunks: int | None) -> Work:
        """The work of a plan for the scheduler."""
        asked = self.request_bytes
        if chunks is None:
            return prepared.work(plan, priority, pipelined=pipelined, request_bytes=asked)
        return work_of(plan, priority, pipelined=pipelined, request_bytes=asked, chunks=chunks, channels=prepared.channels)


def _trace_of(executions: Iterable[Execution], *, moving: bool = False, flush_seconds: float = 0.0) -> Trace:
    """The trace of some transfers of an engine. Transfers that are still running end now in it.

    With `moving`, the times before the first and after the last request are left out, but for flushing the destination: opening
    files, allocating pages, generating data. So it takes as long as the report says.
    """
    transfers: list[TransferSpan] = []
    requests: list[RequestSpan] = []
    for each in executions:
        times = each.submitted, each.admitted, each.ended or time.perf_counter()
        if moving and each.spans:
            times = each.spans.first, each.spans.first, each.spans.last + flush_seconds
        outcome, reason = each.outcome or "running", "" if each.error is None else str(each.error)
        transfers.append(_transfer_span(each.number, each.plan, each.work, times, outcome, reason))
        requests += each.spans
    return Trace(tuple(transfers), tuple(sorted(requests, key=lambda span: span.end)), "measured")


def _transfer_span(
    number: int, plan: Plan, work: Work, times: tuple[float, float | None, float], outcome: str, reason: str
) -> TransferSpan:
    """A transfer with the times at which it was submitted, got its buffers and ended."""
    sizes = tuple([(path.bytes, path.chunk_payload) for path in plan.paths])
    several, payload = sizes if len(sizes) > 1 else (), max(full for _, full in sizes)
    label, emulated = f"transfer {number}", plan.emulated
    return TransferSpan(number, label, work, plan.bytes, payload, *times, outcome, reason, several, emulated)
