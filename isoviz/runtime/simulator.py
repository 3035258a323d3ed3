"""The simulator: the scheduler in virtual time, with a trace, on any machine.

A channel carries out its requests one after the other. The speed of a request follows from the channel's throughput function for
the run length of the plan's hop. Requests of channels that use a shared resource get fair shares of it
(`isoviz.scheduling.virtual_time`). A transfer pays the set-up of its channels before it begins. With one transfer on an idle
machine, the end of the trace equals the plan's `seconds`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from isoviz import checks
from isoviz.checks import expect
from isoviz.errors import InputError, TransferError, show
from isoviz.machines import MachineLike, machine_argument
from isoviz.machines.cards import REQUEST_BYTES
from isoviz.planner import Plan, machine_of
from isoviz.runtime.pipeline import work_of
from isoviz.runtime.trace.trace import RequestSpan, Trace, TransferSpan
from isoviz.scheduling.pool import highest_priority_first
from isoviz.scheduling.scheduler import Scheduler
from isoviz.scheduling.virtual_time import Load, VirtualTime
from isoviz.scheduling.work import Allocate, Cancel, Done, Finish, Issue, Submit

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
    """A transfer of a simulation."""

    number: int
    label: str
    work: Work
    nbytes: float
    chunk_bytes: float
    submitted: float
    shares: tuple[tuple[float, float], ...]
    set_up: bool = False
    admitted: float | None = None
    ended: float | None = None
    outcome: str = "done"
    reason: str = ""
    emulated: tuple[str, ...] = ()


class Simulator(VirtualTime):
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
        super().__init__(Scheduler.of(machine, policies, policy, in_flight))
        self.request_bytes = checks.count("simulate", "request_bytes", request_bytes, low=1)
        if fault is not None:
            checks.expect_call("simulate, fault", fault, "a function or None")
        self._fault = fault
        self._spans: list[tuple[int, int, int, int, float, float]] = []
        """Spans of requests, as plain tuples, because the garbage collector stops tracking those."""
        self._jobs: list[_Job] = []
        self._held: set[str] = set()
        """The resources in use that requests hold (`Resource.held`)."""

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
        self._add(number, work, self._loads(work, times, shares or ((nbytes, chunk_bytes),), moved or (1.0,) * hops))
        self._jobs.append(_Job(number, label or f"transfer {number}", work, nbytes, chunk_bytes, when, tuple(shares)))
        self._push_stimulus(when + setup, Submit(number, work))
        return number

    def _loads(
        self, work: Work, times: Sequence[tuple[float, float]], shares: Sequence[tuple[float, float]], moved: Sequence[float]
    ) -> Iterable[tuple[Load, Load]]:
        """What a request of a full chunk and one of the last chunk asks on each hop."""
        for hop, (path, _) in enumerate(work.places):
            share, chunk = shares[path]
            chunks, requests = work.hop_chunks[hop], work.requests[hop]
            full = last = share / max(1, chunks)
            if chunk > 0:
                full, last = min(chunk, share), min(chunk, share - (chunks - 1) * chunk)
            uses = self._uses_of(work.channels[hop])
            loads = [Load(seconds, nbytes / requests) for seconds, nbytes in zip(times[hop], (full, last), strict=True)]
            for load in loads if uses else ():
                held = self._held if load.most > 0 else ()
                load.uses = tuple([(name, weight / load.most if name in held else weight * moved[hop]) for name, weight in uses])
            yield loads[0], loads[1]

    def _uses_of(self, channel: str) -> Uses:
        """The shared resources of a channel."""
        found = self.machine.find_channel(channel)
        uses = () if found is None else found.resources
        for name, _ in uses:
            if name not in self._flows.capacity:
                resource = self.machine.resource(name)
                self._flows.capacity[name] = resource.capacity
                if resource.held:
                    self._held.add(name)
        return uses

    def cancel(self, number: int, *, at: float | None = None) -> None:
        """Cancel a transfer `at` a time in seconds, now by default.

        Raises:
            InputError: the time has passed, or there is no such transfer.
        """
        if type(number) is not int or not 0 <= number < len(self._jobs):
            raise InputError(f"simulate: no transfer {show(number)} was submitted")
        self._push_stimulus(self._from_now("cancelled", at), Cancel(number))

    def _from_now(self, what: str, at: float | None) -> float:
        return self.now if at is None else checks.amount("simulate", f"{what} at", at, low=self.now)

    # ---- running

    def step(self) -> SimStep | None:
        """Process the next event; None if no event is left."""
        while self._events or self._goes_on():
            found = self._process()
            if found is not None:
                stimulus: Stimulus = Done(*found) if isinstance(found, Issue) else found
                return SimStep(self.now, stimulus, tuple(self._answer))
        return None

    def run(self, until: float | None = None) -> Trace:
        """Process all events, or those up to the time `until`. Returns the trace so far."""
        self.advance(until)
        if until is not None and until < math.inf:
            self.now = max(self.now, float(until))
        return self.trace()

    def advance(self, until: float | None = None, most: int | None = None) -> bool:
        """Process events up to the time `until`, at most `most` steps of them. Returns whether an event is left.

        So a long simulation can be carried out in parts, and stopped between them.
        """
        if until is not None and (type(until) is not float or until != math.inf):
            until = checks.amount("simulate", "until", until)
        if most is not None:
            most = checks.count("simulate", "most", most)
        events, process = self._events, self._process
        left = -1 if most is None else most  # below zero it never comes to zero
        while left and (events or self._goes_on()) and (until is None or events[0][0] <= until):
            left -= process() is not None
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
        requests = tuple(map(RequestSpan._make, self._spans))
        return Trace(spans, requests, "simulated")

    # ---- inside

    def _goes_on(self) -> bool:
        """No event is left. Fail the transfers that wait for a policy without an answer; returns whether events follow."""
        if self.scheduler.may_stall:
            self._carry_out(self.scheduler.stalled())
        return bool(self._events)

    def _told(self, when: float, stimulus: Submit | Cancel) -> Submit | Cancel | None:
        """Submit or cancel a transfer. None if nothing happens, because it was cancelled before."""
        job = self._jobs[stimulus.transfer]
        if not job.set_up and job.ended is not None:
            return None
        if type(stimulus) is Submit:
            job.set_up = True
        elif not job.set_up:  # not yet submitted to the scheduler
            self.now, job.outcome = when, "cancelled"
            job.ended = max(when, job.submitted)
            self._answer = [Finish(job.number, job.outcome)]
            return stimulus
        return super()._told(when, stimulus)

    def _ended(self, issue: Issue, begun: float) -> str | None:
        self._spans.append((*issue, begun, self.now))
        return None if self._fault is None else self._fault(issue)

    def _note(self, instruction: Instruction) -> None:
        if type(instruction) is Allocate:
            self._jobs[instruction.transfer].admitted = self.now
        elif type(instruction) is Finish:
            job = self._jobs[instruction.transfer]
            job.ended, job.outcome, job.reason = self.now, instruction.outcome, instruction.reason


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

    With several `starts`, the plans run that many times. Each time begins when all plans of the time before have ended. The trace
    has the transfers of every start, in order. On an idle machine the first one takes `Plan.first` seconds, every later one
    `Plan.again`.

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
