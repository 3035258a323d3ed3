"""The driver of the scheduler in real time: it reports events to the scheduler and carries out the instructions.

Every channel has a dispatcher, whose threads carry out requests. The thread that sees an event reports it to the scheduler under
one lock, and carries out the instructions that the scheduler returns. The engine (`isoviz.runtime.engine.engine`) submits
transfers and waits for them.

The dispatcher of an asynchronous channel starts its requests, and a call of `done` from any thread ends them. That thread
belongs to the device. So `done` only notes the end and queues a job, and the dispatcher does the rest.
"""

from __future__ import annotations

import logging
import operator
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING

from isoviz.errors import Cancelled, InternalError, RunError
from isoviz.forks import Home
from isoviz.runtime.engine.dispatcher import Dispatcher
from isoviz.runtime.engine.execution import Execution
from isoviz.runtime.engine.interrupts import defer_interrupts, permit_interrupts
from isoviz.runtime.opening import opening
from isoviz.runtime.scheduling.work import Allocate, Finish, Issue, Release
from isoviz.runtime.trace.trace import RequestSpan

if TYPE_CHECKING:
    from isoviz.runtime.engine.execution import Execution
    from isoviz.runtime.engine.open_devices import OpenedDevices
    from isoviz.runtime.scheduling.pool import ChannelState
    from isoviz.runtime.scheduling.scheduler import Scheduler
    from isoviz.runtime.scheduling.work import Instruction, Issue

_LOG = logging.getLogger("isoviz")

Settled = Callable[["Execution", "Issue", float, float, BaseException | None], None]
"""Called in the dispatcher's thread when a request has ended, with its start and end (`time.perf_counter`) and its error."""


class _Completion:
    """The `done` callback of one request. The first call counts; later calls are logged and ignored."""

    def __init__(self, execution: Execution, issue: Issue, settled: Settled) -> None:
        self._execution, self._issue, self._settled = execution, issue, settled
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
        job = partial(self._settled, execution, issue, self._began, ended, error)
        try:
            execution.dispatchers[issue.hop].put(job)
        except RuntimeError:  # the system allows no new thread: this thread does the job
            job()


def _count(result: object) -> int | None:
    """A number of requests, also as NumPy counts; None if it is none."""
    try:
        count = -1 if isinstance(result, bool) else operator.index(result)  # type: ignore[arg-type]
    except TypeError:
        return None
    return count if count >= 0 else None


def start_request(execution: Execution, issue: Issue, settled: Settled) -> None:
    """Start a request. Whether it succeeds or fails, `settled` is called once in a thread of its channel's dispatcher."""
    completion = _Completion(execution, issue, settled)
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

    def _carry_out(self, instructions: Iterable[Instruction], own: deque[Request] | None = None) -> None:
        """Carry out instructions of the scheduler.

        A small request costs less than handing it to another thread. If `own` is given, small requests are appended to it.
        """
        todo = deque(instructions)
        while todo:
            instruction = todo.popleft()
            execution = self._executions.get(instruction.transfer)
            if execution is None:  # another rank has ended it: only messages to that rank are left
                continue
            if type(instruction) is Issue:
                with self._lock:
                    is_open = execution.is_open
                    if is_open is None:  # another thread is opening the stores
                        execution.early.append(instruction)
                    elif not is_open:
                        todo.extend(self._granted(self._scheduler.failed(*instruction, "not opened")))
                if is_open:
                    if own is not None and execution.is_small[instruction.hop]:
                        own.append((execution, instruction))
                    else:
                        execution.dispatchers[instruction.hop].put(partial(self._perform, execution, instruction))
            elif type(instruction) is Allocate:
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
                if execution.over != self._complete:  # in `run`: generating data takes long
                    with permit_interrupts():
                        execution.open()
                else:
                    execution.open()
        except BaseException as error:  # noqa: BLE001  # any error ends this transfer only
            return error
        return None

    def _perform(self, execution: Execution, issue: Issue) -> None:
        """Carry out a request in a thread of its channel. If the channel is asynchronous, only start it.

        The thread also carries out the small requests that follow from it, as long as its dispatcher has no other job.
        """
        dispatcher = execution.dispatchers[issue.hop]
        if execution.is_asynchronous[issue.hop]:
            start_request(execution, issue, self._settled)
            return
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
        self._settled(execution, issue, start, time.perf_counter(), error, own)

    def _settled(
        self,
        execution: Execution,
        issue: Issue,
        start: float,
        end: float,
        error: BaseException | None,
        own: deque[Request] | None = None,
    ) -> None:
        """Report the end of a request to the scheduler, and carry out the instructions that it returns."""
        execution.spans.append(RequestSpan(*issue, start, end))
        with self._lock:
            if error is None:
                try:
                    execution.finished(issue)
                except Exception as raised:  # noqa: BLE001  # a transfer has to end, else somebody waits for ever
                    error = execution.placed(raised, issue)
            if error is None:
                instructions = self._granted(self._scheduler.done(*issue))
            else:
                execution.stopped = True
                if execution.error is None:
                    execution.error = error
                instructions = self._granted(self._scheduler.failed(*issue, str(error)))
        if instructions:
            self._carry_out(instructions, own)

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
            idle = not self._entered and not self._executions and not self._ending
        if idle:
            for dispatcher in self._threads:
                dispatcher.close(wait=False)
