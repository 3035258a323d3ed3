"""The scheduler: it decides which request goes to which channel next (Isometry, sections 3.3 to 3.6).

It is a state machine without threads, clocks or memory: stimuli in, instructions out (`isoviz.scheduling.work`). The
simulator, the engine and the ranks drive the same scheduler, so a simulation shows what an engine does.

- A hop of a transfer is an XD. It issues its chunks in order, each in requests. A chunk may start when the hop before has written
  it and the ring buffer behind has a free slot. Both conditions are counters. If a neighbouring hop is on another rank, that rank
  advances the counter.
- A transfer gets all of its buffers at once and only then joins its channels. No transfer waits while it holds buffers. Every
  memory serves the highest priority first and, within a priority, the transfer that has waited longest. So there is no deadlock.
- A channel serves only the highest priority that has an unfinished XD there. Among the XDs of that priority, it serves the first
  come that can continue. Lower priorities wait, even if the channel is idle. A transfer that waits for buffers lends its priority
  to the transfers that hold them.
- A transfer that is alone on all of its channels may lease them: it moves chunk after chunk without asking. Another transfer that
  a channel may have to serve recalls the lease, and the scheduler goes on from there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from isoviz import checks
from isoviz.checks import expect
from isoviz.errors import InputError, LimitError, PolicyError
from isoviz.machines import Machine, MachineLike, machine_argument
from isoviz.scheduling.admission import Admission
from isoviz.scheduling.lease import give_back, lease, recall, unfinished_channels
from isoviz.scheduling.pool import ENDED, RUNS, STOPS, WAITS, XD, ChannelState, TransferState, highest_priority_first, policy_name
from isoviz.scheduling.work import Allocate, Cancel, Done, Failed, Finish, Issue, Recall, Release, Returned, Stalled, Submit

if TYPE_CHECKING:
    from isoviz.scheduling.pool import Policy
    from isoviz.scheduling.work import Instruction, PathWork, Stimulus, Work


@dataclass(frozen=True)
class Counts:
    """Numbers of transfers that wait for buffers, of running transfers and of requests in flight; bytes of buffers held."""

    waiting: int
    running: int
    in_flight: int
    held_bytes: int


class Scheduler:
    """The scheduler of one process, which carries out all hops of its transfers; see the module.

    - `limits`: how many requests each channel takes at a time; 1 for a channel that is not named.
    - `capacity`: the bytes of buffers that each memory has; unbounded for a memory that is not named.
    - `policies`: the channels with another policy than `policy`, by name.

    `isoviz.scheduling.rank_scheduler` has a scheduler that shares transfers with other ranks.
    """

    handlers: ClassVar[Mapping[type, str]] = {
        Submit: "submit",
        Done: "done",
        Failed: "failed",
        Cancel: "cancel",
        Stalled: "stalled",
        Returned: "returned",
    }
    """The method for each kind of stimulus."""

    def __init__(
        self,
        limits: Mapping[str, int] | None = None,
        capacity: Mapping[str, int] | None = None,
        policies: Mapping[str, Policy] | None = None,
        policy: Policy = highest_priority_first,
    ) -> None:
        self.limits = checks.counts("scheduler, limits", limits, low=1)
        self.policies, self.policy = _checked_policies(policies, policy), policy
        self.faults: dict[int, PolicyError] = {}
        """What a policy did wrong, by the number of each transfer that failed for it."""
        self.may_stall = False
        """Whether a channel in use has a policy that isoviz does not know."""
        self._channels: dict[str, ChannelState] = {}
        self._transfers: dict[int, TransferState] = {}
        self._admission = Admission(checks.counts("scheduler, capacity", capacity))
        self._held_bytes = self._order = 0
        self._machine: Machine | None = None
        """The machine whose networks may have channels that `limits` does not name yet."""
        self._in_flight: int | None = None

    @classmethod
    def of(
        cls, machine: MachineLike, policies: Mapping[str, Policy] | None, policy: Policy, in_flight: int | None = None
    ) -> Scheduler:
        """The scheduler of a machine. Each channel takes `in_flight` requests at a time; if None, its `max_in_flight`."""
        machine = machine_argument("scheduler", machine)
        for name in _checked_policies(policies, policy):
            machine.channel(name)  # raises an error that names the channels
        if in_flight is not None:
            in_flight = checks.count("scheduler", "in_flight", in_flight, low=1)
        limits = {channel.name: in_flight or channel.max_in_flight for channel in machine.channels}
        capacity = {memory.name: memory.capacity for memory in machine.memories if memory.capacity is not None}
        found = cls(limits, capacity, policies, policy)
        found._machine, found._in_flight = machine, in_flight
        return found

    # ---- stimuli

    def handle(self, stimulus: Stimulus) -> list[Instruction]:
        """Handle a stimulus and return the instructions. Stimuli about transfers that have ended are ignored.

        Raises:
            InputError: only a scheduler that shares transfers with other ranks takes such a stimulus.
            Exception: what the method of the stimulus raises.
        """
        if type(stimulus) is Done:
            return self.done(*stimulus)
        name = self.handlers.get(type(stimulus))
        if name is None:
            raise InputError(f"{stimulus}: this scheduler shares no transfers with other ranks")
        found: list[Instruction] = getattr(self, name)(*stimulus)
        return found

    def submit(self, number: int, work: Work, *, may_lease: bool = False) -> list[Instruction]:
        """Submit a transfer. It may be given its channels for itself if `may_lease`: its hops move each chunk in one request.

        Raises:
            LimitError: its buffers are larger than a memory.
            InputError: the number is in use, or the work could never end.
        """
        if number in self._transfers:
            raise InputError(f"transfer {number} is known already")
        needs = self.needs(work)
        transfer = self._transfers[number] = TransferState(number, work)
        transfer.nbytes = sum(needs.values())
        transfer.may_lease = may_lease
        out: list[Instruction] = []
        if work.chunks:
            self._ask(transfer, needs, out)
        else:
            self._finish(transfer, out)
        return out

    def done(self, number: int, hop: int, chunk: int, request: int) -> list[Instruction]:
        """A request has moved its bytes.

        Raises:
            InputError: it was not under way.
        """
        out: list[Instruction] = []
        transfer = self._transfers.get(number)
        if transfer is None:
            return out
        xd = transfer.xds.get(hop)
        if xd is None or not xd.is_under_way(chunk):
            raise _not_under_way(transfer, hop, chunk, request)
        channel = xd.channel
        channel.in_flight -= 1
        transfer.in_flight -= 1
        if transfer.state is not RUNS:
            if not transfer.in_flight:
                self._end(transfer, out)
            self._fill(channel, out)
            return out
        if xd.complete(chunk):
            # Advance all counters before channels choose: every XD that can continue now has to be among the candidates.
            fed, freed = xd.advanced()
            if xd.tells:
                for told in xd.tells:
                    told.tell(xd, out)
            if xd.moved == xd.chunks:
                channel.leave(xd)
                transfer.unfinished -= 1
                if not transfer.unfinished:
                    self._end(transfer, out)
            for other in (fed, freed):
                if other is not None:
                    self._fill(other.channel, out)
        self._fill(channel, out)
        return self._fill_all(transfer, out) if transfer.waits_for_lease else out

    def returned(self, number: int, moved: Sequence[int], again: bool = True) -> list[Instruction]:
        """A transfer gives its lease back; see `Returned`.

        Raises:
            InputError: it has none, or `moved` is impossible.
        """
        out: list[Instruction] = []
        transfer = self._transfers.get(number)
        if transfer is None:
            return out
        channels = give_back(transfer, moved, again)
        if transfer.state is STOPS or not transfer.unfinished:
            self._end(transfer, out)
        for channel in channels:
            self._fill(channel, out)
        return out

    def failed(self, number: int, hop: int, chunk: int, request: int, reason: str) -> list[Instruction]:
        """A request failed, or with hop −1 the allocation. Its transfer fails when it has no request in flight.

        Raises:
            InputError: the request was not under way.
        """
        out: list[Instruction] = []
        transfer = self._transfers.get(number)
        if transfer is None:
            return out
        if hop >= 0 and not (hop in transfer.xds and transfer.xds[hop].is_under_way(chunk)):
            raise _not_under_way(transfer, hop, chunk, request)
        if hop >= 0:
            transfer.xds[hop].channel.in_flight -= 1
            transfer.in_flight -= 1
        channels = self._give_up(transfer, "failed", reason, out)
        if hop >= 0:
            channels.append(transfer.xds[hop].channel)
        for channel in channels:
            self._fill(channel, out)
        return out

    def cancel(self, number: int) -> list[Instruction]:
        """Cancel a transfer. It ends when it has no request in flight."""
        out: list[Instruction] = []
        transfer = self._transfers.get(number)
        if transfer is not None:
            for channel in self._give_up(transfer, "cancelled", "", out):
                self._fill(channel, out)
        return out

    def stalled(self) -> list[Instruction]:
        """Fail the transfers that wait for a policy without an answer, if no request is in flight: nothing would ask it again.

        A driver calls it when no stimulus is to come but the ends of requests.
        """
        out: list[Instruction] = []
        for channel in list(self._channels.values()):
            if any(transfer.in_flight for transfer in self._transfers.values()):
                break
            if channel.choose is not channel.policy and channel.levels and channel.borrower is None:
                problem = "chose no transfer, and nothing else is under way"
                self._refuse(channel, PolicyError(policy_name(channel.policy), channel.name, problem), out)
        return out

    def resume(self, channel: ChannelState) -> list[Instruction]:
        """A channel that was lent is free again: it serves the transfers that have come in the meantime.

        A driver lends an idle channel by setting its `borrower`, and takes it back by setting None.
        """
        out: list[Instruction] = []
        self._fill(channel, out)
        return out

    # ---- state

    @property
    def capacity(self) -> Mapping[str, int]:
        """Bytes of buffers that each memory has."""
        return self._admission.capacity

    @property
    def counts(self) -> Counts:
        """The numbers of transfers and requests, and the bytes of buffers held. A borrower of a channel counts as a transfer."""
        transfers, lent = self._transfers.values(), self.lent
        return Counts(
            sum(transfer.state is WAITS for transfer in transfers),
            sum(transfer.state is not WAITS for transfer in transfers) + lent,
            sum(transfer.in_flight for transfer in transfers) + lent,
            self._held_bytes,
        )

    @property
    def lent(self) -> int:
        """The number of channels that are lent to somebody who is no transfer of this scheduler."""
        lent = [channel.borrower for channel in self._channels.values() if channel.borrower is not None]
        return sum([type(borrower) is not TransferState for borrower in lent])

    def needs(self, work: Work) -> dict[str, int]:
        """The bytes of buffers that a transfer needs in each memory.

        Raises:
            LimitError: it needs more than a memory has.
            InputError: the work contradicts itself, or could never end.
        """
        if wrong := work.contradiction:
            raise InputError(f"transfer: {wrong}")
        needs: dict[str, int] = {}
        for path in work.paths:
            for memory, nbytes, slots in path.rings:
                needs[memory] = needs.get(memory, 0) + nbytes * slots
        for memory, nbytes in needs.items():
            if nbytes > self.capacity.get(memory, nbytes):
                room = self.capacity[memory]
                raise LimitError(f"buffers of {nbytes} bytes in {memory}: it has {room}; plan with a smaller memory limit")
        return needs

    def priority(self, number: int) -> int:
        """The current priority of a transfer: its own or a lent one."""
        return self._transfers[number].priority

    def channel(self, name: str) -> ChannelState:
        """The state of a channel."""
        found = self._channels.get(name)
        if found is None:
            policy = self.policies.get(name, self.policy)
            if name not in self.limits and self._machine is not None and (made := self._machine.find_channel(name)) is not None:
                self.limits[name] = self._in_flight or made.max_in_flight
            found = self._channels[name] = ChannelState(name, self.limits.get(name, 1), policy)
            self.may_stall = self.may_stall or found.choose is not found.policy
        return found

    # ---- inside

    def _fill(self, channel: ChannelState, out: list[Instruction]) -> None:
        """Issue requests until the channel has as many in flight as it takes, or no XD can continue."""
        if type(channel.borrower) is TransferState:
            recall(channel, out)
            return
        choose, limit = channel.choose, channel.limit if channel.borrower is None else channel.limit - 1
        while channel.in_flight < limit:
            try:
                xd = choose(channel)
            except PolicyError as error:
                self._refuse(channel, error, out)
                return
            if xd is None:
                return
            transfer = xd.transfer
            if transfer.may_lease and self._is_leased(transfer, out):
                return
            out.append(Issue(transfer.number, xd.hop, xd.chunk, xd.request))
            channel.in_flight += 1
            transfer.in_flight += 1
            xd.request += 1
            if xd.request == xd.requests:
                xd.request = 0
                xd.chunk += 1

    def _fill_all(self, transfer: TransferState, out: list[Instruction]) -> list[Instruction]:
        """Fill the channels of a transfer's unfinished XDs, unless its requests have to end first."""
        for channel in unfinished_channels(transfer):
            self._fill(channel, out)
        return out

    def _is_leased(self, transfer: TransferState, out: list[Instruction]) -> bool:
        """Whether a transfer issues nothing: it has got its channels for itself, or waits for them, or was just served."""
        waited = transfer.waits_for_lease
        if lease(transfer, out):
            return True
        if waited:
            self._fill_all(transfer, out)
        return waited

    def _refuse(self, channel: ChannelState, error: PolicyError, out: list[Instruction]) -> None:
        """Fail all transfers that a channel has to serve, because its policy does not say which."""
        for transfer in channel.transfers():
            self.faults[transfer.number] = error
            for other in self._give_up(transfer, "failed", str(error), out):
                self._fill(other, out)

    def _admit(self, out: list[Instruction], granted: TransferState | None = None) -> None:
        """Grant buffers to the transfers that can have them. The others lend their priorities to the holders."""
        touched: dict[ChannelState, None] = {}
        if granted is not None:
            self._begin(granted, touched, out)
        elif not self._admission.is_settled:
            for number in self._admission.granted():
                self._begin(self._transfers[number], touched, out)
            for number, priority in self._admission.revalued():
                self._lend(self._transfers[number], priority, touched)
        # Only now, because channels choose by the updated priorities.
        for channel in touched:
            self._fill(channel, out)

    def _begin(self, transfer: TransferState, touched: dict[ChannelState, None], out: list[Instruction]) -> None:
        """Begin a transfer that was granted its buffers: its hops join their channels."""
        transfer.state = RUNS
        transfer.holds = True
        self._held_bytes += transfer.nbytes
        out.append(Allocate(transfer.number))
        start = 0
        for path in transfer.work.paths:
            if path.chunks:
                self._place(transfer, path, start, out)
            start += len(path.channels)
        xds = transfer.xds.values()
        transfer.unfinished = len(xds)
        for xd in xds:
            recall(xd.channel, out)
            if xd.ready:
                xd.channel.wake(xd)
                touched[xd.channel] = None

    def _place(self, transfer: TransferState, path: PathWork, start: int, out: list[Instruction]) -> None:  # noqa: ARG002  # ranks
        """Let the hops of a path join their channels. The first hop of the path has the number `start`."""
        join, count = self._join, len(path.channels)
        xds = [join(transfer, path, at, start + at) for at in range(count)]
        if count > 1:
            for at, waiting in enumerate(xds):
                for reason, hop, lead in path.dependencies(at):
                    waiting.waits_for(xds[hop], reason, lead)

    def _join(self, transfer: TransferState, path: PathWork, at: int, hop: int) -> XD:
        """Let a hop join its channel."""
        channel = self.channel(path.channels[at])
        xd = transfer.xds[hop] = XD(transfer, path, at, hop, channel, self._order)
        self._order += 1
        channel.join(xd)
        return xd

    def _lend(self, transfer: TransferState, priority: int, touched: dict[ChannelState, None]) -> None:
        """Set the current priority of a transfer: its own, or the highest of the transfers that wait for its buffers."""
        if priority == transfer.priority or transfer.state is not RUNS:
            return
        unfinished = [xd for xd in transfer.xds.values() if xd.moved < xd.chunks]
        queued = [xd for xd in unfinished if xd.queued]
        for xd in unfinished:
            xd.channel.leave(xd)
        transfer.priority = priority
        for xd in unfinished:
            xd.channel.join(xd)
            touched[xd.channel] = None
        for xd in queued:
            xd.channel.wake(xd)

    def _give_up(self, transfer: TransferState, outcome: str, reason: str, out: list[Instruction]) -> list[ChannelState]:
        """Stop a transfer for a local reason. Returns the channels that have to choose again."""
        return self._stop(transfer, outcome, reason, out)

    def _stop(self, transfer: TransferState, outcome: str, reason: str, out: list[Instruction]) -> list[ChannelState]:
        """Stop issuing requests of a transfer. Returns the channels that have to choose again."""
        channels: list[ChannelState] = []
        if transfer.state in (WAITS, RUNS):
            transfer.outcome, transfer.reason = outcome, reason
            if transfer.state is WAITS:
                self._withdraw(transfer)
            for xd in transfer.xds.values():
                if xd.moved < xd.chunks:
                    xd.channel.leave(xd)
                    channels.append(xd.channel)
            transfer.state = STOPS
            if transfer.leased and not transfer.recalled:
                transfer.recalled = True
                out.append(Recall(transfer.number))
        if transfer.state is STOPS and not transfer.in_flight:
            self._end(transfer, out)
        return channels

    def _finish(self, transfer: TransferState, out: list[Instruction]) -> None:
        """Forget an ended transfer, and release its buffers if it holds them."""
        transfer.state = ENDED
        del self._transfers[transfer.number]
        if transfer.holds:
            self._held_bytes -= transfer.nbytes
            out.append(Release(transfer.number))
        out.append(Finish(transfer.number, transfer.outcome, transfer.reason))

    # ---- inside: steps that a scheduler of several ranks leaves to its coordinator

    def _ask(self, transfer: TransferState, needs: Mapping[str, int], out: list[Instruction]) -> None:
        """Request the buffers of a transfer."""
        if not (at_once := self._admission.at_once(transfer.number, needs, transfer.work.priority)):
            self._admission.request(transfer.number, needs, transfer.work.priority)
        self._admit(out, transfer if at_once else None)

    def _withdraw(self, transfer: TransferState) -> None:
        """Withdraw the request for the buffers of a transfer."""
        self._admission.withdraw(transfer.number)

    def _end(self, transfer: TransferState, out: list[Instruction]) -> None:
        """End a transfer that has no request in flight."""
        if transfer.holds:
            self._admission.release(transfer.number)
        self._finish(transfer, out)
        self._admit(out)


def _not_under_way(transfer: TransferState, hop: int, chunk: int, request: int) -> InputError:
    xd = transfer.xds.get(hop)
    known = f"hops {', '.join(map(str, transfer.xds)) or 'none'}" if xd is None else xd.story
    return InputError(
        f"transfer {transfer.number}, hop {hop}: request {request} of chunk {chunk} ended, but was not under way (the transfer"
        f" {transfer.state}; {known})"
    )


def _checked_policies(policies: Mapping[str, Policy] | None, policy: Policy) -> dict[str, Policy]:
    """The channels with another policy than `policy`, by name.

    Raises:
        InputError: a policy cannot be called, or `policies` is no mapping.
    """
    if policies is not None:
        expect("policies", policies, Mapping, "the policy of each channel by its name, or None")
    found = {} if policies is None else dict(policies)
    for each in (policy, *found.values()):
        checks.expect_call("scheduling policy", each, "a function such as first_come_first_served")
    return found
