"""The driver of the scheduler in real time: it reports events to the scheduler and carries out the instructions.

Every channel has a dispatcher, whose threads carry out requests. The thread that sees an event reports it to the scheduler under
one lock, and carries out the instructions that the scheduler returns. The engine (`isoviz.runtime.engine.engine`) submits
transfers and waits for them.

The dispatcher of an asynchronous channel starts its requests, and a call of `done` from any thread ends them. That thread
belongs to the device. So `done` only notes the end, and the dispatcher does the rest. It settles all ends that it meets in one
go, and starts the requests that follow from them.
"""

from __future__ import annotations

import logging
import operator
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from isoviz.errors import Cancelled, EngineClosed, InternalError, RunError
from isoviz.forks import Home
from isoviz.runtime.engine.dispatcher import Dispatcher
from isoviz.runtime.engine.event import Event
from isoviz.runtime.engine.execution import Execution
from isoviz.runtime.engine.interrupts import defer_interrupts, permit_interrupts
from isoviz.runtime.opening import opening
from isoviz.runtime.scheduling.work import Allocate, Finish, Issue, Release
from isoviz.runtime.trace.trace import RequestSpan

if TYPE_CHECKING:
    from isoviz.planner import Plan
    from isoviz.runtime.engine.execution import Execution
    from isoviz.runtime.engine.open_devices import OpenedDevices
    from isoviz.runtime.engine.prepared_transfer import OpenEnds
    from isoviz.runtime.scheduling.pool import ChannelState
    from isoviz.runtime.scheduling.scheduler import Scheduler
    from isoviz.runtime.scheduling.work import Instruction, Issue

_LOG = logging.getLogger("isoviz")

Ended = tuple["Execution", "Issue", float, float, "BaseException | None"]
"""A request that has ended: its transfer, its start and end (`time.perf_counter`), and its error."""


class EndedRequests:
    """The requests of an asynchronous channel that have ended and are not settled yet. Any thread may use it.

    `settle` is called with them in the thread of the channel's dispatcher.
    """

    def __init__(self, dispatcher: Dispatcher, settle: Callable[[Dispatcher, Sequence[Ended]], None]) -> None:
        self._dispatcher, self._settle = dispatcher, settle
        self._waiting: deque[Ended] = deque()
        self._has_job = False

    def put(self, ended: Ended) -> None:
        """Add a request."""
        self._waiting.append(ended)
        if self._has_job:  # it takes this request along, because it looks for requests later
            return
        self._has_job = True
        try:
            self._dispatcher.put(self._work)
        except RuntimeError:  # the system allows no new thread: this thread does the job
            self._work()

    def _work(self) -> None:
        self._has_job = False
        ended: list[Ended] = []
        with suppress(IndexError):
            while True:
                ended.append(self._waiting.popleft())
        if ended:
            self._settle(self._dispatcher, ended)


class _Completion:
    """The `done` callback of one request. The first call counts; later calls are logged and ignored."""

    def __init__(self, execution: Execution, issue: Issue, ends: EndedRequests) -> None:
        self._execution, self._issue, self._ends = execution, issue, ends
        self._began = time.perf_counter()
        self._first = threading.Lock()

    def __call__(self, result: int | BaseException) -> None:
        ended = time.perf_counter()
        execution, issue = self._execution, self._issue
        name = execution.work.channels[issue.hop]
        if not self._first.acquire(blocking=False):
            _LOG.error("channel %s: called done twice for a request of chunk %d; ignored: %r", name, issue.chunk, result)
            return
        error: BaseException | None = None
        if isinstance(result, BaseException):
            error = execution.placed(result, issue)
        elif (count := _count(result)) is None:
            wrong = RunError(f"done({result!r}): expected the number of requests of the device, or an exception")
            error = execution.placed(wrong, issue)
        else:
            execution.count(issue.hop, count)
        self._ends.put((execution, issue, self._began, ended, error))


def _count(result: object) -> int | None:
    """A number of requests, also as NumPy counts; None if it is none."""
    try:
        count = -1 if isinstance(result, bool) else operator.index(result)  # type: ignore[arg-type]
    except TypeError:
        return None
    return count if count >= 0 else None


def start_request(execution: Execution, issue: Issue, ends: EndedRequests) -> None:
    """Start a request. Whether it succeeds or fails, it is put once among the `ends` of its channel."""
    completion = _Completion(execution, issue, ends)
    try:
        execution.start(issue, completion)
    except BaseException as error:  # noqa: BLE001  # any error ends this transfer only
        completion(error)


Request = tuple[Execution, Issue]
"""A request to carry out, and its transfer."""


class Driver:
    """Carries out the instructions of a scheduler on opened devices. With `record`, it keeps all executions."""

    def __init__(self, scheduler: Scheduler, real: OpenedDevices, *, record: bool) -> None:
        self._home = Home("this engine")
        self._scheduler = scheduler
        self._real = real
        self._lock = threading.Lock()
        self._quiet = threading.Condition(self._lock)
        self._executions: dict[int, Execution] = {}
        self._ends: dict[Dispatcher, EndedRequests] = {}
        self._ending = 0
        self._finisher = Dispatcher("finisher", 1)
        self._callbacks = Dispatcher("callbacks", 1)
        self._closed = False
        self._entered = False
        self._recorded: list[Execution] | None = [] if record else None

    @property
    def _threads(self) -> list[Dispatcher]:
        return [*self._real.dispatchers(), self._finisher, self._callbacks]

    def _granted(self, instructions: list[Instruction]) -> list[Instruction]:
        """Mark the transfers whose buffers were granted: a thread is about to open their stores. The caller holds the lock.

        The instructions that are returned also fail the transfers that wait for a policy without an answer.
        """
        for instruction in instructions:
            if type(instruction) is Allocate:
                self._executions[instruction.transfer].is_granted = True
        if self._scheduler.may_stall and not any(
            execution.is_granted and execution.is_open is None for execution in self._executions.values()
        ):
            instructions += self._scheduler.stalled()
        return instructions

    def _carry_out(
        self,
        instructions: Iterable[Instruction],
        own: deque[Request] | None = None,
        dispatcher: Dispatcher | None = None,
    ) -> None:
        """Carry out instructions of the scheduler.

        A small request costs less than handing it to another thread. If `own` is given, small requests are appended to it.
        `dispatcher` is that of an asynchronous channel if this is its thread: then this thread starts the channel's requests.
        """
        todo = deque(instructions)
        starts: dict[Dispatcher, list[Request]] = {}
        while todo:
            instruction = todo.popleft()
            execution = self._executions.get(instruction.transfer)
            if execution is None:  # another rank has ended it: only messages to that rank are left
                continue
            if type(instruction) is Issue:
                if not self._may_begin(execution, instruction, todo):
                    continue
                if execution.is_asynchronous[instruction.hop]:
                    starts.setdefault(execution.dispatchers[instruction.hop], []).append((execution, instruction))
                elif own is not None and execution.is_small[instruction.hop]:
                    own.append((execution, instruction))
                else:
                    execution.dispatchers[instruction.hop].put(partial(self._perform, execution, instruction))
                continue
            self._start_all(starts, dispatcher)  # first: what follows may take long
            if type(instruction) is Allocate:
                error = self._opened(execution)
                with self._lock:
                    execution.is_open = error is None
                    todo.extendleft(reversed(execution.early))
                    execution.early.clear()
                    todo.extend(self._granted(self._after_opening(execution, error)))
            elif type(instruction) is Release:
                unreleased = execution.release()
                execution.error = execution.error or unreleased
            elif type(instruction) is Finish:
                self._finish(execution, instruction)
            else:
                self._pass_on(execution, instruction)
        self._start_all(starts, dispatcher)

    def _may_begin(self, execution: Execution, issue: Issue, todo: deque[Instruction]) -> bool:
        """Whether the stores of a request are open. Otherwise it comes again after opening, or `todo` gets what follows."""
        if execution.is_open:
            return True
        with self._lock:
            if execution.is_open is None:  # another thread is opening the stores
                execution.early.append(issue)
            elif not execution.is_open:
                todo.extend(self._granted(self._scheduler.failed(*issue, "not opened")))
            return bool(execution.is_open)

    def _start_all(self, starts: dict[Dispatcher, list[Request]], mine: Dispatcher | None) -> None:
        """Start requests of asynchronous channels, in the threads of their dispatchers. This is the thread of `mine`."""
        while starts:
            dispatcher, requests = starts.popitem()
            if dispatcher is mine:
                self._start(dispatcher, requests)
            else:
                dispatcher.put(partial(self._start, dispatcher, requests))

    def _start(self, dispatcher: Dispatcher, requests: Iterable[Request]) -> None:
        """Start requests of an asynchronous channel, in the thread of its dispatcher."""
        ends = self._ends.get(dispatcher)
        if ends is None:
            ends = self._ends[dispatcher] = EndedRequests(dispatcher, self._settle_started)
        for execution, issue in requests:
            start_request(execution, issue, ends)

    def _settle_started(self, dispatcher: Dispatcher, ended: Sequence[Ended]) -> None:
        self._settle(ended, dispatcher=dispatcher)

    def _after_opening(self, execution: Execution, error: BaseException | None) -> list[Instruction]:
        """Tell the scheduler what a transfer that has opened its stores cannot do, or must not do any more."""
        if error is not None:
            execution.error = error
            return self._scheduler.failed(execution.number, -1, 0, 0, str(error))
        return self._scheduler.cancel(execution.number) if execution.stopped else []

    def _pass_on(self, execution: Execution, instruction: Instruction) -> None:
        """Carry out an instruction that concerns other ranks: only their schedulers give such instructions."""
        raise InternalError(f"transfer {execution.number}: {instruction} in an engine without ranks")

    def _opened(self, execution: Execution) -> BaseException | None:
        """Open the stores of a transfer. Returns the error if that fails."""
        try:
            execution.dispatchers = [self._real.dispatcher(name) for name in execution.work.channels]
            with opening(execution.check):
                for channel in execution.channels:
                    execution.located(partial(channel.prepare, execution.plan.bytes))
                # In `run`, generating data takes long. A signal there ends the transfer.
                with permit_interrupts(execution.over != self._complete and not execution.opens_at_once):
                    execution.open()
        except BaseException as error:  # noqa: BLE001  # any error ends this transfer only
            return error
        return None

    def _perform(self, execution: Execution, issue: Issue) -> None:
        """Carry out a request in a thread of its channel, which is not asynchronous.

        The thread also carries out the small requests that follow from it, as long as its dispatcher has no other job.
        """
        dispatcher = execution.dispatchers[issue.hop]
        own: deque[Request] = deque()
        self._moved(execution, issue, own)
        while own:
            execution, issue = own.popleft()
            other = execution.dispatchers[issue.hop]
            if dispatcher.has_jobs:
                other.put(partial(self._perform, execution, issue))
            elif other is dispatcher:
                self._moved(execution, issue, own)
            else:
                with dispatcher.lend():
                    self._moved(execution, issue, own)

    def _moved(self, execution: Execution, issue: Issue, own: deque[Request] | None = None) -> None:
        error: BaseException | None = None
        start = time.perf_counter()
        try:
            execution.move(issue)
        except BaseException as raised:  # noqa: BLE001  # any error ends this transfer only
            error = raised
        self._settle(((execution, issue, start, time.perf_counter(), error),), own)

    def _settle(self, ended: Sequence[Ended], own: deque[Request] | None = None, dispatcher: Dispatcher | None = None) -> None:
        """Report the ends of requests to the scheduler, and carry out the instructions that it returns."""
        for execution, issue, start, end, _ in ended:
            execution.spans.append(RequestSpan(*issue, start, end))
        instructions: list[Instruction] = []
        with self._lock:
            for execution, issue, _, _, error in ended:
                if error is None:
                    try:
                        execution.finished(issue)
                    except Exception as raised:  # noqa: BLE001  # a transfer has to end, else somebody waits for ever
                        error = execution.placed(raised, issue)
                if error is None:
                    instructions += self._scheduler.done(*issue)
                    continue
                execution.stopped = True
                if execution.error is None:
                    execution.error = error
                instructions += self._scheduler.failed(*issue, str(error))
            self._granted(instructions)
        if instructions:
            self._carry_out(instructions, own, dispatcher)

    @defer_interrupts()
    def _queued(self, plan: Plan, channel: ChannelState, ends: OpenEnds) -> Event | None:
        """The event of a prepared transfer whose requests this thread has queued; None if its channel is not idle.

        The channel is lent to the transfer until its end.
        """
        self._home.require()
        if self._recorded is not None:
            return None
        event = Event(plan, later=self._callbacks.put)
        with self._lock:
            if self._closed:
                raise EngineClosed("the engine is closed")
            if not channel.is_idle:
                return None
            channel.borrower = event
        error: BaseException | None = None
        try:
            error = ends.begin()
            if error is None:
                dispatcher = self._real.dispatcher(channel.name)
                dispatcher.put(partial(self._await_queued, event, channel, ends, dispatcher))
                return event
        except BaseException as raised:  # noqa: BLE001  # the event carries it
            error = raised
        self._return(channel, event, error)
        return event

    def _await_queued(self, event: Event, channel: ChannelState, ends: OpenEnds, dispatcher: Dispatcher) -> None:
        """Wait for the end of a prepared transfer, in a thread of its channel. Another thread may start requests meanwhile."""
        with dispatcher.lend():
            error = ends.end()
        self._return(channel, event, error)

    def _return(self, channel: ChannelState, event: Event, error: BaseException | None) -> None:
        """End a prepared transfer, and give its channel back."""
        channel.borrower = None
        event.end(error)
        if channel.top is not None or self._closed:  # somebody waits for the channel
            self._resume(channel)
        self._rest()

    @defer_interrupts()
    def _resume(self, channel: ChannelState) -> None:
        """A channel that was lent is free again. Safe to call twice."""
        with self._quiet:
            instructions = self._granted(self._scheduler.resume(channel))
            self._quiet.notify_all()
        self._carry_out(instructions)

    @defer_interrupts()
    def _cancel(self, number: int) -> None:
        self._home.require()
        with self._lock:
            execution = self._executions.get(number)
            if execution is None:
                return
            execution.stopped = True
            if execution.is_granted and execution.is_open is None:  # the opening thread cancels it afterwards
                return
            instructions = self._granted(self._scheduler.cancel(number))
        self._carry_out(instructions)

    def _finish(self, execution: Execution, finish: Finish) -> None:
        execution.ended = time.perf_counter()
        execution.outcome = finish.outcome
        if finish.outcome == "cancelled" and execution.error is None:
            execution.error = Cancelled("cancelled; no destination file was left")
        with self._lock:
            fault = self._scheduler.faults.pop(execution.number, None)
            execution.error = execution.error or fault
            self._ending += 1
            del self._executions[execution.number]
        execution.over(execution)

    def _left(self, execution: Execution, error: BaseException) -> bool:
        """Whether a transfer is still running after `run` has stopped waiting for it. If so, `_complete` cleans up at its end."""
        with self._lock:
            if execution.number not in self._executions:
                return False
            execution.error = execution.error or error
            execution.over = self._complete
            return True

    def _complete(self, execution: Execution) -> None:
        """End a transfer that `run` does not wait for. A durable destination is flushed in the finisher's thread."""
        if execution.error is None and execution.destination.durable:
            self._finisher.put(partial(self._publish, execution))
        else:
            self._publish(execution)

    def _publish(self, execution: Execution) -> None:
        error = execution.error
        try:
            if error is None:
                execution.located(execution.destination.flush)
                execution.check()
                execution.located(execution.destination.publish)
        except BaseException as raised:  # noqa: BLE001  # the event carries it
            error = raised
        finally:
            unclosed = execution.close()
            execution.event.end(error or unclosed)
            self._ended(execution)

    def _ended(self, execution: Execution) -> None:
        """Drop everything of an ended transfer except its recorded spans.

        If the engine is idle after that and is not in a `with`, its threads end.
        """
        execution.forget()
        with self._quiet:
            self._ending -= 1
            self._quiet.notify_all()
        self._rest()

    def _rest(self) -> None:
        """Let the threads end if the engine is idle and is not in a `with`."""
        with self._lock:
            is_busy = self._entered or self._executions or self._ending
        if not is_busy:
            for dispatcher in self._threads:
                dispatcher.close(wait=False)
