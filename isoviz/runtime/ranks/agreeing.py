"""How the ranks of a transfer agree on its plan, and how two ranks settle a transfer without the arbiter.

A direct transfer has no buffers, so nobody has to admit it: one rank writes straight to another. The receiver opens the
destination when it submits the transfer. It sends the credit, with the handle of the destination and the digest of the plan. The
sender compares the digest, moves the bytes, and says how the transfer has ended. This takes two messages. The first one may come
before the sender submits the transfer.

Ranks that submit different plans may wait for each other in different ways. So a rank that waits for another one tells it what
it has submitted: with the bytes of a small transfer, with a credit, with `Compare`, or through the arbiter. The other rank finds
the difference, and the transfers of both fail. Only a rank that waits for the bytes of a small transfer has told nobody: it waits
until it is cancelled if the other rank has no part in that transfer.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from isoviz.errors import Cancelled, InputError, RankError
from isoviz.runtime.opening import OPENS
from isoviz.runtime.ranks.mailbox import lost_rank
from isoviz.runtime.ranks.messages import Compare, Decline, EagerData, EagerReceipt, Relay, for_others
from isoviz.runtime.ranks.rank_execution import RankExecution
from isoviz.scheduling.work import Allocate, Credit, End, Stop

if TYPE_CHECKING:
    from isoviz.runtime.engine.asynchronous import Request
    from isoviz.runtime.engine.dispatcher import Dispatcher
    from isoviz.runtime.engine.driver import Driver
    from isoviz.runtime.engine.execution import Execution
    from isoviz.runtime.ranks.eager import SmallTransfers
    from isoviz.runtime.ranks.known_plans import KnownPlan
    from isoviz.runtime.ranks.mailbox import Mailbox
    from isoviz.runtime.ranks.messages import Digest
    from isoviz.scheduling.rank_scheduler import RankScheduler
    from isoviz.scheduling.work import Instruction


class EarlyMessages:
    """The messages about transfers that this rank has still to submit, and the numbers of those that it has reached.

    All ranks number the transfers of several ranks from 0 in the same order. The caller locks.
    """

    def __init__(self) -> None:
        self._next = 0
        """All numbers below it are reached."""
        self._ahead: set[int] = set()
        """The reached numbers above it: several threads may submit."""
        self._kept: dict[int, list[tuple[int, object]]] = {}
        self.on_lanes: dict[int, Callable[[], None]] = {}
        """What is called at a message about a transfer that waits for its lane. It must not lock."""

    def is_past(self, number: int) -> bool:
        """Whether this rank has reached a transfer."""
        return number < self._next or number in self._ahead

    def keep(self, number: int, sender: int, message: object) -> bool:
        """Keep a message about a transfer. Returns whether the transfer is still to come; else nothing is kept."""
        if self.is_past(number):
            return False
        self._kept.setdefault(number, []).append((sender, message))
        refused = self.on_lanes.get(number)
        if refused is not None:
            refused()
        return True

    def has(self, number: int) -> bool:
        """Whether there is a message about a transfer that is still to come."""
        return number in self._kept

    def reach(self, number: int) -> list[tuple[int, object]]:
        """Note that this rank has reached a transfer. Returns the messages about it, each with its sender."""
        if number >= self._next:
            self._ahead.add(number)
        while self._next in self._ahead:
            self._ahead.remove(self._next)
            self._next += 1
        return self._kept.pop(number, [])


class Agreement:
    """What the ranks of a transfer tell each other about it. `openers` are threads that may open stores."""

    def __init__(self, driver: Driver, mailbox: Mailbox, small: SmallTransfers, openers: Dispatcher) -> None:
        self._driver, self._mailbox, self._small, self._openers = driver, mailbox, small, openers
        self.rank = mailbox.rank
        self.early = EarlyMessages()

    def _execution(self, number: int) -> RankExecution | None:
        return cast("RankExecution | None", self._driver.executions.get(number))

    # ---- messages

    def on_relay(self, sender: int, message: Relay, own: deque[Request] | None = None) -> None:
        """Hand a stimulus of another rank to the scheduler. Small requests that it lets begin are appended to `own`."""
        stimulus, handles, digest, is_direct, lies = message
        number: int = stimulus.transfer  # type: ignore[union-attr]  # every stimulus from a rank names one
        is_stop = type(stimulus) is Stop or (type(stimulus) is End and stimulus.outcome != "done")
        instructions: list[Instruction] | None = None
        with self._driver.lock:
            execution = self._execution(number)
            if execution is None:
                if not self.early.keep(number, sender, message) and digest is not None:
                    self._refuse_stranger(sender, message)
                return
            is_other = is_direct and (execution.work.direct is None or execution.is_eager)
            if not is_other and is_stop:
                execution.stopped = True
                if execution.phase == OPENS:  # the opening thread gives it up afterwards
                    execution.verdict = stimulus if execution.work.direct else None
                    return
                # At once: a request that stops now must not come before what stops it.
                with suppress(InputError):
                    instructions = self._driver.granted(self._driver.scheduler.handle(stimulus))
        if is_other:  # the other rank has another plan, and ends it
            self._disagree(execution, sender, cast("Stop", stimulus).reason or "it was cancelled there")
            return
        try:
            if digest is not None and (wrong := self._difference(execution, sender, digest, is_direct=True)):
                self._disagree(execution, sender, wrong)
                self._mailbox.send(sender, last(End(number, "failed", wrong)))
                return
            if handles:
                execution.provide(cast("Credit", stimulus).hop, handles, lies)
            if instructions is None:
                with self._driver.lock:
                    instructions = self._driver.granted(self._driver.scheduler.handle(stimulus))
        except Exception as error:  # noqa: BLE001  # any error ends this transfer only
            instructions = self._failed(execution, error)
        if any(type(instruction) is Allocate for instruction in instructions):
            self._openers.put(partial(self._driver.carry_out, instructions))
        else:
            self._driver.carry_out(instructions, own)

    def _failed(self, execution: RankExecution, error: Exception) -> list[Instruction]:
        with self._driver.lock:
            if execution.number not in self._driver.executions:
                return []
            execution.error = execution.error or error
            return self._driver.granted(self._driver.scheduler.failed(execution.number, -1, 0, 0, str(error)))

    def opened(self, execution: Execution, error: BaseException | None) -> list[Instruction] | None:
        """See `Peers.opened`."""
        verdict = cast("RankExecution", execution).verdict
        if verdict is None:
            return None
        execution.error = error
        return self._driver.scheduler.handle(verdict)

    def outcome_for_others(self, execution: Execution, outcome: str, reason: str) -> tuple[str, str]:
        """The outcome and the reason of a transfer for other ranks, with the rank where it failed."""
        error = None if execution.error is None else for_others(execution.error, self.rank)
        if isinstance(error, Cancelled):
            outcome = "cancelled"
        is_told = error is None or isinstance(error, RankError)
        return outcome, reason if outcome == "done" or (is_told and reason) else f"rank {self.rank}: {reason or outcome}"

    # ---- ranks that differ

    def compare(self, sender: int, message: Compare) -> None:
        """Another rank waits for this one: fail where both have submitted different plans."""
        with self._driver.lock:
            execution = self._execution(message.transfer)
            if execution is None:
                if not self.early.keep(message.transfer, sender, message):
                    self._refuse_stranger(sender, message)
                return
        if wrong := self._difference(execution, message.rank, message.digest, is_direct=message.is_direct):
            if message.is_direct:
                self._mailbox.send(message.rank, last(Stop(message.transfer, "failed", wrong)))
            else:
                self._mailbox.send(0, Decline(message.transfer, self.rank, execution.work.ranks(self.rank), wrong))
            self._disagree(execution, message.rank, wrong)

    def _difference(self, execution: RankExecution, other: int, digest: Digest | None, *, is_direct: bool) -> str:
        """In words, how the transfer of another rank differs from the one here; empty if it does not."""
        mine = execution.digest
        difference = "" if mine is None or digest is None else digest.difference(mine)
        if not difference and is_direct and execution.work.direct is None:
            difference = "a transfer without buffers"
        return difference and f"transfer {execution.number}: rank {other} has {difference}, compared with rank {self.rank}"

    def _disagree(self, execution: RankExecution, other: int, wrong: str) -> None:
        """End a transfer that another rank does not have like this."""
        if execution.is_eager:
            self._small.fail(execution, wrong)
            return
        instructions = self._failed(execution, RankError(wrong, rank=other))
        self._driver.carry_out(instructions)
        ranks = execution.work.ranks(self.rank)
        if execution.work.direct is None and other in ranks:  # it will never ask the arbiter for this transfer
            self._mailbox.send(0, Decline(execution.number, other, ranks, wrong))

    def _refuse_stranger(self, sender: int, message: object, reason: str = "") -> None:
        """Tell a rank that this one has no such transfer, or no longer: it need not wait. `reason` tells why, if it is known."""

        def refusal(number: int) -> str:
            return reason or f"rank {self.rank} has no part in transfer {number}"

        if isinstance(message, Compare) and message.is_direct:
            self._mailbox.send(sender, last(Stop(message.transfer, "failed", refusal(message.transfer))))
        elif isinstance(message, Compare):
            self._mailbox.send(0, Decline(message.transfer, self.rank, (), refusal(message.transfer)))
        elif isinstance(message, EagerData):
            self._mailbox.send(sender, EagerReceipt(message.transfer, refusal(message.transfer)))
        elif isinstance(message, Relay) and type(message.stimulus) is Credit and message.digest is not None:
            number = message.stimulus.transfer
            self._mailbox.send(sender, last(End(number, "failed", refusal(number))))

    def on_eager(self, sender: int, message: EagerData) -> None:
        """The bytes of a small transfer have come."""
        number = message.transfer
        with self._driver.lock:
            if number not in self._driver.executions and self.early.keep(number, sender, message):
                return
            is_mine = number in self._driver.executions or self._mailbox.is_unwanted((EagerData, number))
        if is_mine:
            self._mailbox.put((EagerData, number), message)
        else:
            self._refuse_stranger(sender, message)

    def passed(self, number: int) -> None:
        """This rank has no part in a transfer."""
        with self._driver.lock:
            early = self.early.reach(number)
        for sender, message in early:
            self._refuse_stranger(sender, message)

    def refuse(self, known: KnownPlan, number: int, error: Exception) -> None:
        """Tell the other ranks of a transfer that this one cannot take part in it, so that they do not wait."""
        reason = f"rank {self.rank}: {error}"
        with self._driver.lock:
            early = self.early.reach(number)
        for sender, message in early:
            if not (known.is_eager and isinstance(message, EagerData)):
                self._refuse_stranger(sender, message, reason)
        if known.is_eager:
            self._small.refuse(number, known.sender, known.receiver, reason)
        elif known.is_direct and known.sender == self.rank:
            self._mailbox.send(known.receiver, last(End(number, "failed", reason)))
        elif known.is_direct:
            self._mailbox.send(known.sender, last(Stop(number, "failed", reason)))
        elif 0 not in self._mailbox.gone:
            self._mailbox.send(0, Decline(number, self.rank, known.ranks, reason))

    def introduce(self, execution: RankExecution, direct: tuple[int, int], *, has_credit: bool) -> None:
        """Tell the receiver of a direct transfer what it is if it has not told this rank so already."""
        if direct[0] == self.rank and not has_credit:
            self._mailbox.send(direct[1], Compare(execution.number, self.rank, execution.digest, is_direct=True))
        driver = self._driver
        with driver.lock:  # perhaps one of them was lost meanwhile
            instructions = self._lost_in(execution) if execution.number in driver.executions else []
        driver.carry_out(instructions)

    # ---- lost ranks

    def without_lost(self) -> list[Instruction]:
        """Fail the direct transfers of lost ranks. The caller holds the lock."""
        found: list[Instruction] = []
        for execution in list(self._driver.executions.values()):
            found += self._lost_in(cast("RankExecution", execution))
        return self._driver.granted(found)

    def _lost_in(self, execution: RankExecution) -> list[Instruction]:
        """Fail a direct transfer if its other rank is lost. The caller holds the lock."""
        ends: Any = execution.work.direct or ()
        gone = [rank for rank in ends if rank in self._mailbox.gone]
        if not gone or execution.is_eager:
            return []
        reason = str(lost_rank(gone[0], self._mailbox.gone[gone[0]]))
        execution.stopped = True
        if execution.phase == OPENS:  # the opening thread gives it up afterwards
            kind = End if execution.receiver == self.rank else Stop
            execution.verdict = kind(execution.number, "failed", reason)
            return []
        return cast("RankScheduler", self._driver.scheduler).lost(execution.number, reason)


def last(stimulus: Stop | End) -> Relay:
    """What one rank of a direct transfer says to the other when it stops or ends it."""
    return Relay(stimulus, is_direct=True)
