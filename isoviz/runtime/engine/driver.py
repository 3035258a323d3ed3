"""The driver of the scheduler in real time: it reports events to the scheduler and carries out the instructions.

Every channel has a dispatcher, whose threads carry out requests. The thread that sees an event reports it to the scheduler under
one lock, and carries out the instructions that the scheduler returns. The engine (`isoviz.runtime.engine.engine`) submits
transfers and waits for them. Requests of asynchronous channels are in `isoviz.runtime.engine.asynchronous`, and what concerns
other ranks is left to the peers (`isoviz.runtime.engine.peers`).
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from isoviz.errors import Cancelled, EngineClosed
from isoviz.forks import Home
from isoviz.runtime.engine.asynchronous import EndedRequests, start_request
from isoviz.runtime.engine.dispatcher import Dispatcher
from isoviz.runtime.engine.interrupts import defer_interrupts, permit_interrupts
from isoviz.runtime.opening import OPEN, OPENS, REFUSED, WAITS, opening
from isoviz.runtime.trace.trace import RequestSpan
from isoviz.scheduling.work import Allocate, Finish, Issue, Lease, Recall, Release

if TYPE_CHECKING:
    from isoviz.runtime.engine.asynchronous import Ended, Request
    from isoviz.runtime.engine.execution import Execution
    from isoviz.runtime.engine.open_devices import OpenedDevices
    from isoviz.runtime.engine.peers import Peers
    from isoviz.scheduling.pool import ChannelState
    from isoviz.scheduling.scheduler import Scheduler
    from isoviz.scheduling.work import Finish, Instruction, Issue


class Driver:
    """Carries out the instructions of a scheduler on opened devices. With `record`, it keeps all executions.

    In `lock`, threads read and change the scheduler and `executions`, the transfers that have not ended.
    """

    def __init__(self, scheduler: Scheduler, real: OpenedDevices, peers: Peers, *, record: bool) -> None:
        self.home = Home("this engine")
        self.scheduler = scheduler
        self.real = real
        self.peers = peers
        self.lock = threading.Lock()
        self.executions: dict[int, Execution] = {}
        self.callbacks = Dispatcher("callbacks", 1)
        self.is_closed = False
        self.recorded: list[Execution] | None = [] if record else None
        self._quiet = threading.Condition(self.lock)
        self._ends: dict[Dispatcher, EndedRequests] = {}
        self._ending = 0
        self._finisher = Dispatcher("finisher", 1)
        self._is_entered = False

    # ---- life

    def enter(self) -> None:
        """Keep the threads until `close`."""
        self.home.require()
        self._is_entered = True

    def require_open(self) -> None:
        """Require that this is the process of the engine, and that the engine is open.

        Raises:
            ForkedError: in a forked child. EngineClosed: it is closed.
        """
        self.home.require()
        if self.is_closed:
            raise EngineClosed("the engine is closed")

    def close(self) -> None:
        """Cancel all transfers, wait until they have ended, and end all threads."""
        self.home.require()
        with self.lock:
            self.is_closed = True
            numbers = list(self.executions)
        for number in numbers:
            self.cancel(number)
        with self._quiet:
            self._quiet.wait_for(lambda: not (self.executions or self._ending or self.scheduler.lent))
        for dispatcher in self._threads:
            dispatcher.close()

    @property
    def _threads(self) -> list[Dispatcher]:
        return [*self.real.dispatchers(), self._finisher, self.callbacks, *self.peers.dispatchers]

    def state_of(self, name: str) -> ChannelState:
        """What the scheduler knows of a channel."""
        with self.lock:
            return self.scheduler.channel(name)

    # ---- submitting

    def admit(self, execution: Execution) -> Callable[[], None]:
        """Hand a transfer to the scheduler. Returns the function that lets it begin.

        Raises:
            EngineClosed: the engine is closed.
            Exception: the scheduler refuses it. LimitError: its buffers are larger than a memory.
        """
        with self.lock:
            if self.is_closed:
                raise EngineClosed("the engine is closed")
            instructions = self._submitted(execution) if execution.is_scheduled else []
            self.executions[execution.number] = execution
            early = self.peers.reach(execution)
            if self.recorded is not None:
                self.recorded.append(execution)
            self.granted(instructions)
        return partial(self._begin, execution, instructions, early)

    def _submitted(self, execution: Execution) -> list[Instruction]:
        if execution.loop is None:
            return self.scheduler.submit(execution.number, execution.work)
        return self.scheduler.submit(execution.number, execution.work, may_lease=True)

    def _begin(self, execution: Execution, instructions: list[Instruction], early: Sequence[object]) -> None:
        own: deque[Request] = deque()
        mine = own if execution.is_mine else None
        lease = instructions[-1] if instructions else None
        if type(lease) is Lease and mine is not None and lease.transfer == execution.number:
            self.carry_out(instructions[:-1], mine)
            self._move_parts(execution, lease)
        else:
            self.carry_out(instructions, mine)
        self.peers.meet(execution, early, mine)
        for request in own:  # it is small or the caller waits for it, and the CPU cache of the caller may hold the data
            self._moved(*request)

    # ---- instructions

    def granted(self, instructions: list[Instruction]) -> list[Instruction]:
        """Mark the transfers whose buffers were granted: a thread is about to open their stores. The caller holds the lock.

        The instructions that are returned also fail the transfers that wait for a policy without an answer.
        """
        for instruction in instructions:
            if type(instruction) is Allocate:
                self.executions[instruction.transfer].phase = OPENS
        if self.scheduler.may_stall and not any(execution.phase == OPENS for execution in self.executions.values()):
            instructions += self.scheduler.stalled()
        return instructions

    def carry_out(
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
            execution = self.executions.get(instruction.transfer)
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
                with self.lock:
                    execution.phase = OPEN if error is None else REFUSED
                    todo.extendleft(reversed(execution.early))
                    execution.early.clear()
                    todo.extend(self.granted(self._after_opening(execution, error)))
            elif type(instruction) is Release:
                unreleased = execution.release()
                execution.error = execution.error or unreleased
            elif type(instruction) is Finish:
                self._finish(execution, instruction)
            elif type(instruction) is Lease:
                self._hand_over(execution, instruction, todo)
            elif type(instruction) is Recall:
                execution.recall()
            else:
                self.peers.pass_on(execution, instruction)
        self._start_all(starts, dispatcher)

    def _hand_over(self, execution: Execution, lease: Lease, todo: deque[Instruction]) -> None:
        """Let a thread of a leased channel carry out a lease. Channels of hops that have ended may be at work for others."""
        if self._may_begin(execution, lease, todo):
            hop = next(hop for hop, count in enumerate(lease.moved) if count < execution.work.chunks)
            execution.dispatchers[hop].put(partial(self._move_parts, execution, lease))

    def _may_begin(self, execution: Execution, given: Issue | Lease, todo: deque[Instruction]) -> bool:
        """Whether the stores of a request or a lease are open. Else it comes again after opening, or `todo` gets what follows."""
        if execution.phase == OPEN:
            return True
        with self.lock:
            if execution.phase in (WAITS, OPENS):  # another thread opens the stores
                execution.early.append(given)
            elif execution.phase == REFUSED:
                answer: list[Instruction] = []
                if type(given) is Issue:
                    answer = self.scheduler.failed(*given, "not opened")
                elif type(given) is Lease:
                    answer = self.scheduler.returned(*given)
                todo.extend(self.granted(answer))
            return execution.phase == OPEN

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
        if (given_up := self.peers.opened(execution, error)) is not None:
            return given_up
        if error is not None:
            execution.error = error
            if isinstance(error, Cancelled):
                return self.scheduler.cancel(execution.number)
            return self.scheduler.failed(execution.number, -1, 0, 0, str(error))
        return self.scheduler.cancel(execution.number) if execution.stopped else []

    def _opened(self, execution: Execution) -> BaseException | None:
        """Open the stores of a transfer. Returns the error if that fails."""
        try:
            execution.dispatchers = [self.real.dispatcher(name) for name in execution.work.channels]
            with opening(execution.check):
                for channel in execution.channels:
                    execution.located(partial(channel.prepare, execution.plan.bytes))
                # In `run`, generating data takes long. A signal there ends the transfer.
                with permit_interrupts(execution.when_moved != self.complete and not execution.opens_at_once):
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

    def _move_parts(self, execution: Execution, lease: Lease) -> None:
        """Carry out a lease in this thread, and give it back."""
        error: BaseException | None = None
        try:
            if execution.phase == OPEN:
                execution.move_parts(lease.moved)
        except BaseException as raised:  # noqa: BLE001  # any error ends this transfer only
            error = raised
        lane = execution.lane
        moved = lease.moved if lane is None else lane.moved
        instructions: list[Instruction] = []
        with self.lock:
            execution.is_recalled = False
            if lane is not None:
                lane.stop(False)
            if isinstance(error, Cancelled):
                if not execution.stopped:  # its token was set
                    instructions += self.scheduler.cancel(execution.number)
            elif error is not None:
                execution.error = execution.error or error
                instructions += self.scheduler.failed(execution.number, -1, 0, 0, str(error))
            execution.stopped = execution.stopped or error is not None
            instructions += self.scheduler.returned(execution.number, moved, again=lane is not None and lane.may_move_again)
            self.granted(instructions)
        self.carry_out(instructions)

    def _settle(self, ended: Sequence[Ended], own: deque[Request] | None = None, dispatcher: Dispatcher | None = None) -> None:
        """Report the ends of requests to the scheduler, and carry out the instructions that it returns."""
        for execution, issue, start, end, _ in ended:
            execution.spans.append(RequestSpan(*issue, start, end))
        instructions: list[Instruction] = []
        with self.lock:
            for execution, issue, _, _, error in ended:
                if error is None:
                    try:
                        execution.finished(issue)
                    except Exception as raised:  # noqa: BLE001  # a transfer has to end, else somebody waits for ever
                        error = execution.placed(raised, issue)
                if error is None:
                    instructions += self.scheduler.done(*issue)
                    continue
                if isinstance(error, Cancelled) and not execution.stopped:  # its token was set
                    instructions += self.scheduler.cancel(execution.number)
                execution.stopped = True
                if execution.error is None:
                    execution.error = error
                instructions += self.scheduler.failed(*issue, str(error))
            self.granted(instructions)
        if instructions:
            self.carry_out(instructions, own, dispatcher)

    @defer_interrupts()
    def resume(self, channel: ChannelState) -> None:
        """A channel that was lent is free again. Safe to call twice."""
        with self._quiet:
            instructions = self.granted(self.scheduler.resume(channel))
            self._quiet.notify_all()
        self.carry_out(instructions)

    # ---- the end
    #
    # A transfer ends in this order:
    # - `cancel` or `abandon`: nobody wants it any more; its requests still end.
    # - `bytes_moved`: the scheduler has let it go, and no byte of it moves. `when_moved` of the execution is called.
    # - `complete`: what `run` does not wait for is published at its destination, and its event ends.
    # - `forget`: all but its recorded spans is dropped.
    # - `stop_threads`: the last transfer lets idle threads end.

    @defer_interrupts()
    def cancel(self, number: int) -> None:
        """Stop a transfer; no effect after its end."""
        self.home.require()
        execution = self.executions.get(number)
        if execution is None or self.peers.cancel(execution):
            return
        with self.lock:
            if number not in self.executions:
                return
            execution.stopped = True
            if execution.phase == OPENS:  # the opening thread cancels it afterwards
                return
            instructions = self.granted(self.scheduler.cancel(number))
        self.carry_out(instructions)

    def _finish(self, execution: Execution, finish: Finish) -> None:
        self.peers.finish(execution, finish)
        execution.ended = time.perf_counter()
        execution.outcome = finish.outcome
        if finish.outcome == "cancelled" and execution.error is None:
            execution.error = Cancelled("cancelled; no destination file was left")
        with self.lock:
            fault = self.scheduler.faults.pop(execution.number, None)
            execution.error = execution.error or fault
        self.bytes_moved(execution)

    def bytes_moved(self, execution: Execution) -> None:
        """No byte of a transfer moves any more."""
        with self.lock:
            self._ending += 1
            del self.executions[execution.number]
        execution.when_moved(execution)

    def abandon(self, execution: Execution, error: BaseException) -> bool:
        """Whether a transfer is still running after `run` has stopped waiting for it. If so, `complete` cleans up at its end."""
        with self.lock:
            if execution.number not in self.executions:
                return False
            execution.error = execution.error or error
            execution.when_moved = self.complete
            return True

    def complete(self, execution: Execution) -> None:
        """End a transfer that `run` does not wait for. What takes long is done in the finisher's thread."""
        if self.peers.completes(execution):
            return
        if execution.ends_at_once:
            self._publish(execution)
        else:
            self.complete_later(execution)

    def complete_later(self, execution: Execution) -> None:
        """End a transfer in the finisher's thread."""
        self._finisher.put(partial(self._publish, execution))

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
            self.forget(execution)
        self.peers.published(execution)

    def forget(self, execution: Execution) -> None:
        """Drop everything of an ended transfer except its recorded spans.

        If the engine is idle after that and is not in a `with`, its threads end.
        """
        execution.forget()
        with self._quiet:
            self._ending -= 1
            self._quiet.notify_all()
        self.stop_threads()

    def stop_threads(self) -> None:
        """Let the threads end if the engine is idle and is not in a `with`."""
        with self.lock:
            is_busy = self._is_entered or self.executions or self._ending
        if not is_busy:
            for dispatcher in self._threads:
                dispatcher.close(wait=False)
