"""The simulator: the scheduler in virtual time, on any machine (DESIGN, section 3: one scheduler, three drivers).

A channel carries out its requests one after the other. The speed of a request follows from the channel's throughput function for
the run length of the plan's hop. Requests of channels that use a shared resource get fair shares of it
(`isoviz.scheduling.fair_sharing`). A transfer pays the set-up of its channels before it begins. With one transfer on an idle
machine, the end of the trace equals the plan's `seconds`.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import TYPE_CHECKING, NamedTuple

from isoviz import checks
from isoviz.checks import expect
from isoviz.errors import InputError, TransferError, show
from isoviz.machines import MachineLike, machine_argument
from isoviz.machines.cards import REQUEST_BYTES
from isoviz.planner import Plan, machine_of
from isoviz.runtime.pipeline import work_of
from isoviz.runtime.trace.trace import RequestSpan, Trace, TransferSpan
from isoviz.scheduling.flows import Flow, Flows
from isoviz.scheduling.pool import highest_priority_first
from isoviz.scheduling.scheduler import Scheduler
from isoviz.scheduling.work import Allocate, Cancel, Done, Failed, Finish, Issue, Submit

if TYPE_CHECKING:
    from collections.abc import Callable

    from isoviz.scheduling.fair_sharing import Uses
    from isoviz.scheduling.pool import Policy
    from isoviz.scheduling.work import Instruction, Stimulus, Work


class SimStep(NamedTuple):
    """One stimulus of a simulation, its time, and the scheduler's answer."""

    seconds: float
    stimulus: Stimulus
    instructions: tuple[Instruction, ...]


@dataclass
class _Job:
    """A transfer of a simulation.

    `times` are, for every hop, the seconds of a request of a full chunk and of a request of the last chunk. `last` is, for every
    hop, the number of the last chunk.
    """

    number: int
    label: str
    work: Work
    nbytes: float
    chunk_bytes: float
    times: tuple[tuple[float, float], ...]
    submitted: float
    moved: tuple[float, ...]
    shares: tuple[tuple[float, float], ...]
    last: tuple[int, ...]
    set_up: bool = False
    admitted: float | None = None
    ended: float | None = None
    outcome: str = "done"
    reason: str = ""
    emulated: tuple[str, ...] = ()


class _Server:
    """A channel that carries out its requests one after the other; `uses` are the shared resources that it uses."""

    __slots__ = ("begun", "busy", "current", "name", "queue", "uses")

    def __init__(self, name: str, uses: Uses) -> None:
        self.name, self.uses = name, uses
        self.queue: deque[Issue] = deque()
        self.busy = False
        self.current: Issue | None = None
        self.begun = 0.0


class Simulator:
    """A machine in virtual time, which begins at 0 seconds.

    - `policy`: how channels choose among transfers (`isoviz.runtime.ChannelState` has an example).
    - `policies`: the channels with another policy, by name.
    - `request_bytes`: the length of requests in bytes, up to four times that within memory.
    - `in_flight`: replaces the number of requests that each channel takes at a time.
    - `fault`: called for every request; it may return a reason why the request fails.
    """

    def __init__(
        self,
        machine: MachineLike,
        *,
        policy: Policy = highest_priority_first,
        policies: Mapping[str, Policy] | None = None,
        request_bytes: int = REQUEST_BYTES,
        in_flight: int | None = None,
        fault: Callable[[Issue], str | None] | None = None,
    ) -> None:
        self.machine = machine = machine_argument("simulate", machine)
        self.scheduler = Scheduler.of(machine, policies, policy, in_flight)
        self.now = 0.0
        self.request_bytes = checks.count("simulate", "request_bytes", request_bytes, low=1)
        if fault is not None:
            checks.expect_call("simulate, fault", fault, "a function or None")
        self._fault = fault
        self._servers: dict[str, _Server] = {}
        self._flows: Flows[_Server] = Flows(machine, self._push)
        self._jobs: list[_Job] = []
        self._events: list[tuple[float, int, object, int]] = []
        self._sequence = 0
        self._requests: list[tuple[int, int, int, int, float, float]] = []
        """Spans of requests, as plain tuples, because the garbage collector stops tracking those."""

    # ---- transfers

    def submit(
        self,
        plan: Plan,
        *,
        at: float | None = None,
        priority: int | None = None,
        pipelined: bool = True,
        label: str | None = None,
    ) -> int:
        """Submit a transfer `at` a time in seconds, now by default. Returns its number.

        Raises:
            TransferError: the plan is for another machine.
            InputError: the time has passed.
            LimitError: its buffers are larger than a memory.
        """
        expect("simulate", plan, Plan, "a plan")
        checks.flag_argument("simulate", "pipelined", pipelined)
        if label is not None:
            expect("simulate, label", label, str, "text or None")
        if plan.machine_digest != self.machine.digest:
            raise TransferError(
                f"simulate: the plan was made for {plan.machine_name!r}, not for this machine as it is; plan again"
            )
        work = work_of(plan, priority, pipelined=pipelined, request_bytes=self.request_bytes)
        times, left = [], iter(work.requests)
        for path in plan.paths:
            for (full, last), requests in zip(path.chunk_seconds(), left, strict=False):
                times.append((full / requests, last / requests))
        moved = tuple([each for path in plan.paths for each in path.moved])
        full = max([path.chunk_payload for path in plan.paths])
        shares = [(path.bytes, path.chunk_payload) for path in plan.paths] if len(plan.paths) > 1 else ()
        found = self.submit_work(work, times, plan.bytes, full, at=at, setup=plan.setup, label=label, moved=moved, shares=shares)
        self._jobs[found].emulated = plan.emulated
        return found

    def submit_work(
        self,
        work: Work,
        times: Sequence[tuple[float, float]],
        nbytes: float,
        chunk_bytes: float,
        *,
        at: float | None = None,
        setup: float = 0.0,
        label: str | None = None,
        moved: tuple[float, ...] | None = None,
        shares: Sequence[tuple[float, float]] = (),
    ) -> int:
        """Submit work.

        - `times`: for every hop, the seconds of a request of a full chunk and of a request of the last chunk.
        - `moved`: for every hop, the bytes that move for each of the `nbytes`; 1 by default.
        - `shares`: for every path, the bytes of all its chunks and of a full chunk. Work of several paths requires it.

        Raises:
            InputError: the time has passed, the number of hops or shares is not that of the work, or the work could never end.
            LimitError: its buffers are larger than a memory.
        """
        when = self._from_now("submitted", at)
        self.scheduler.needs(work)  # checked now: the scheduler would refuse it only at `when`
        number, hops = len(self._jobs), len(work.channels)
        if len(times) != hops:
            raise InputError(f"simulate: times of {len(times)} hops; the work has {hops}")
        if len(shares) != len(work.paths) and (shares or len(work.paths) > 1):
            raise InputError(f"simulate: shares of {len(shares)} paths; the work has {len(work.paths)}")
        label, moved = label or f"transfer {number}", moved or (1.0,) * hops
        last = tuple([count - 1 for count in work.hop_chunks])
        self._jobs.append(_Job(number, label, work, nbytes, chunk_bytes, tuple(times), when, moved, tuple(shares), last))
        self._push(when + setup, Submit(number, work))
        return number

    def cancel(self, number: int, *, at: float | None = None) -> None:
        """Cancel a transfer `at` a time in seconds, now by default.

        Raises:
            InputError: the time has passed, or there is no such transfer.
        """
        if type(number) is not int or not 0 <= number < len(self._jobs):
            raise InputError(f"simulate: no transfer {show(number)} was submitted")
        self._push(self._from_now("cancelled", at), Cancel(number))

    def _from_now(self, what: str, at: float | None) -> float:
        return self.now if at is None else checks.amount("simulate", f"{what} at", at, low=self.now)

    # ---- running

    def step(self) -> SimStep | None:
        """Process the next event; None if no event is left."""
        while self._events or self._goes_on():
            when, _, event, version = heappop(self._events)
            if type(event) is Submit or type(event) is Cancel:
                if (told := self._told(when, event)) is not None:
                    return SimStep(when, event, tuple(told))
            elif type(event) is _Server or event.version == version:  # type: ignore[attr-defined]  # else its rate has changed since
                self.now = when
                issue, reason = self._completed(event if type(event) is _Server else event.server)  # type: ignore[attr-defined]
                stimulus = Done(*issue) if reason is None else Failed(*issue, reason)
                instructions = self.scheduler.handle(stimulus)
                self._carry_out(instructions)
                return SimStep(when, stimulus, tuple(instructions))
        return None

    def run(self, until: float | None = None) -> Trace:
        """Process all events, or those up to the time `until`. Returns the trace so far."""
        self.advance(until)
        if until is not None and until < math.inf:
            self.now = max(self.now, float(until))
        return self.trace()

    def advance(self, until: float | None = None, most: int | None = None) -> bool:
        """Process events up to the time `until`, at most `most` steps of them. Returns whether an event is left.

        So a long simulation can be carried out in parts, and given up between them.
        """
        if until is not None and (type(until) is not float or until != math.inf):
            until = checks.amount("simulate", "until", until)
        if most is not None:
            most = checks.count("simulate", "most", most)
        events, scheduler, carry_out = self._events, self.scheduler, self._carry_out
        left = -1 if most is None else most  # below zero it never comes to zero
        while left and (events or self._goes_on()) and (until is None or events[0][0] <= until):
            when, _, event, version = heappop(events)
            if type(event) is _Server:
                server = event
            elif type(event) is Flow:
                if event.version != version:
                    continue
                server = event.server
            else:
                left -= self._told(when, event) is not None  # type: ignore[arg-type]
                continue
            self.now = when
            issue, reason = self._completed(server)
            carry_out(scheduler.done(*issue) if reason is None else scheduler.failed(*issue, reason))
            left -= 1
        return bool(events)

    def trace(self) -> Trace:
        """The trace so far. Transfers that are still running end now in it."""
        spans = tuple(
            TransferSpan(
                job.number,
                job.label,
                job.work,
                job.nbytes,
                job.chunk_bytes,
                job.submitted,
                job.admitted,
                self.now if job.ended is None else job.ended,
                job.outcome if job.ended is not None else "running",
                job.reason,
                job.shares,
                job.emulated,
            )
            for job in self._jobs
            if job.submitted <= self.now
        )
        # The garbage collector scans these objects while they are made: 0.8 s for a million of them. It is the whole process's.
        requests = tuple(map(RequestSpan._make, self._requests))
        return Trace(spans, requests, "simulated")

    # ---- inside

    def _push(self, when: float, event: object, version: int = 0) -> None:
        self._sequence += 1
        heappush(self._events, (when, self._sequence, event, version))

    def _goes_on(self) -> bool:
        """No event is left. Fail the transfers that wait for a policy without an answer; returns whether events follow."""
        if self.scheduler.may_stall:
            self._carry_out(self.scheduler.stalled())
        return bool(self._events)

    def _told(self, when: float, stimulus: Submit | Cancel) -> Sequence[Instruction] | None:
        """Submit or cancel a transfer. None if nothing happens, because it was cancelled before."""
        job = self._jobs[stimulus.transfer]
        if type(stimulus) is Submit:
            if job.ended is not None:
                return None
            job.set_up = True
        elif not job.set_up:  # not yet submitted to the scheduler
            if job.ended is not None:
                return None
            self.now, job.outcome = when, "cancelled"
            job.ended = max(when, job.submitted)
            return [Finish(job.number, job.outcome)]
        self.now = when
        instructions = self.scheduler.handle(stimulus)
        self._carry_out(instructions)
        return instructions

    def _completed(self, server: _Server) -> tuple[Issue, str | None]:
        """End the request that a channel works on, and start the next one. Returns the request, and the reason if it failed."""
        issue = server.current
        assert issue is not None
        self._requests.append((*issue, server.begun, self.now))
        server.busy = False
        if server.uses:
            self._flows.end(server)
        reason = None if self._fault is None else self._fault(issue)
        if server.queue:
            self._begin(server, self._next(server.queue))
        return issue, reason

    def _next(self, queue: deque[Issue]) -> Issue:
        """The request that a channel works on next: those that a transfer has queued ahead do not delay a more urgent one."""
        if queue[0].transfer == queue[-1].transfer:
            return queue.popleft()
        priority = self.scheduler.priority
        at = max(range(len(queue)), key=lambda k: (priority(queue[k].transfer), -k))
        request = queue[at]
        del queue[at]
        return request

    def _carry_out(self, instructions: Iterable[Instruction]) -> None:
        for instruction in instructions:
            if type(instruction) is Issue:
                name = self._jobs[instruction.transfer].work.channels[instruction.hop]
                server = self._servers.get(name)
                if server is None:
                    server = self._servers[name] = _Server(name, self._flows.uses_of(name))
                if server.busy:
                    server.queue.append(instruction)
                else:
                    self._begin(server, instruction)
            elif type(instruction) is Allocate:
                self._jobs[instruction.transfer].admitted = self.now
            elif type(instruction) is Finish:
                job = self._jobs[instruction.transfer]
                job.ended, job.outcome, job.reason = self.now, instruction.outcome, instruction.reason
        self._flows.share_anew(self.now)

    def _begin(self, server: _Server, issue: Issue) -> None:
        job = self._jobs[issue.transfer]
        full, last = job.times[issue.hop]
        seconds = full if issue.chunk < job.last[issue.hop] else last
        server.busy, server.current, server.begun = True, issue, self.now
        if server.uses:
            # `left` counts bytes, because rates are bytes per second.
            share, chunk = job.shares[job.work.places[issue.hop][0]] if job.shares else (job.nbytes, job.chunk_bytes)
            nbytes = share / job.work.hop_chunks[issue.hop] if chunk <= 0 else min(chunk, share - issue.chunk * chunk)
            nbytes /= job.work.requests[issue.hop]
            most = nbytes / seconds if seconds > 0 else float("inf")
            self._flows.begin(server, server.uses, nbytes, most, job.moved[issue.hop], self.now)
        else:
            self._sequence += 1
            heappush(self._events, (self.now + seconds, self._sequence, server, 0))


MOST_STARTS = 10_000
"""The most starts of a simulation, each of which is simulated. `Plan.again` is all that more of them add on an idle machine."""


def simulate(
    plans: Plan | Iterable[Plan],
    machine: MachineLike | None = None,
    *,
    pipelined: bool = True,
    policy: Policy = highest_priority_first,
    request_bytes: int = REQUEST_BYTES,
    starts: int = 1,
) -> Trace:
    """Simulate one or more plans, submitted together, on their machine.

    Without `pipelined`, transfers of several hops are stored and forwarded, as in Realm (Isometry, section 6.1).

    With several `starts`, the plans run so often, each time once all of them have ended. The trace has the transfers of every
    start, in order. On an idle machine the first one takes `Plan.first` seconds, every later one `Plan.again`.

    Raises:
        TransferError: the machine is not the one that the plans were made for.
        InputError: there is no plan, this process does not know the machine (pass `machine`), or `starts` is not from 1 to
            `MOST_STARTS`.
    """
    chosen = [plans] if isinstance(plans, Plan) else list(checks.items("simulate", plans, "a plan or several"))
    if not chosen:
        raise InputError("simulate: no plan")
    for plan in chosen:
        expect("simulate", plan, Plan, "a plan")
    simulator = Simulator(machine_of(chosen[0], machine), policy=policy, request_bytes=request_bytes)
    for start in range(checks.count("simulate", "starts", starts, low=1, high=MOST_STARTS)):
        for plan in chosen:
            simulator.submit(plan.later if start else plan, pipelined=pipelined)
        simulator.advance()
    return simulator.trace()
