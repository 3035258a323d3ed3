"""Leases of channels under a driver that moves their chunks one by one, recalls, cancels and failures at any time.

The rules are stated here once more: what a hop may move, who may use a channel, and when a lease has to be recalled.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import settings
from scheduler_cases import Case, Known, Referee, random_case

from isoviz.errors import InputError
from isoviz.scheduling.scheduler import Counts, Scheduler
from isoviz.scheduling.work import (
    Allocate,
    Cancel,
    Failed,
    Finish,
    Instruction,
    Issue,
    Lease,
    Recall,
    Release,
    Stimulus,
    Work,
)

BATCHES = range(5)


def _may_lease(work: Work) -> bool:
    return len(work.paths) == 1 and work.paths[0].pipelined and not any(count > 1 for count in work.requests)


class Leasing:
    """A driver of a scheduler that leases channels, and a judge of its answers."""

    def __init__(self, case: Case, scheduler: Scheduler) -> None:
        self.case, self.scheduler = case, scheduler
        self.draw = random.Random(f"leases {case.seed}")
        self.known: dict[int, Known] = {}
        self.leases: dict[int, list[int]] = {}  # the chunks that each hop of a leased transfer has moved
        self.recalled: set[int] = set()
        self.flight: list[Issue] = []
        self.running: list[int] = []
        self.holding: set[int] = set()
        self.seen: Counter[str] = Counter()
        self.judge = Referee(case.limits, case.capacity, case.by_priority)

    def channels(self, number: int) -> set[str]:
        known = self.known[number]
        return {name for hop, name in enumerate(known.work.channels) if known.unfinished(hop)}

    def tell(self, answer: list[Instruction]) -> None:
        for instruction in answer:
            number = instruction.transfer
            known = self.known[number]
            if type(instruction) is Allocate:
                self.running.append(number)
                self.holding.add(number)
                known.state = "running"
            elif type(instruction) is Issue:
                hop, chunk = instruction.hop, instruction.chunk
                channel = known.work.channels[hop]
                assert known.may(hop, chunk), f"{instruction} begins too early"
                assert not any(channel in self.channels(holder) for holder in self.leases), f"{instruction}: {channel} is leased"
                self.flight.append(instruction)
            elif type(instruction) is Lease:
                assert number not in self.leases
                assert known.state == "running"
                assert not any(issue.transfer == number for issue in self.flight)
                mine = self.channels(number)
                assert not any(self.known[issue.transfer].work.channels[issue.hop] in mine for issue in self.flight)
                self.judge.alive = {n: each for n, each in self.known.items() if each.state != "over"}
                urgency = self.judge.effective(known)
                rivals = [self.known[other] for other in self.running if other != number and mine & self.channels(other)]
                assert all(self.case.by_priority and self.judge.effective(rival) < urgency for rival in rivals)
                self.seen["leases above others"] += bool(rivals)
                moved = [sum(known.has(hop, c) for c in range(known.work.paths[0].chunks)) for hop in range(len(known.handed))]
                assert list(instruction.moved) == moved
                self.leases[number] = moved
                self.seen["leases"] += 1
                self.seen["leased again"] += any(moved)
            elif type(instruction) is Recall:
                assert number in self.leases
                assert number not in self.recalled
                self.recalled.add(number)
                self.seen["recalls"] += 1
            elif type(instruction) is Release:
                self.holding.remove(number)
            else:
                assert type(instruction) is Finish
                assert number not in self.leases, f"{number} ends while it is leased"
                assert not any(issue.transfer == number for issue in self.flight)
                self.seen[instruction.outcome] += 1
                if instruction.outcome == "done":
                    assert known.done == known.due()
                if number in self.running:
                    self.running.remove(number)
                known.state = "over"
        self.judge.alive = {n: known for n, known in self.known.items() if known.state != "over"}
        self._recalls_are_due()

    def _recalls_are_due(self) -> None:
        """Nobody keeps a channel for itself that another transfer may be served by."""
        for number in self.leases:
            if self.known[number].state == "running" and number not in self.recalled:
                mine = self.channels(number)
                rivals = [other for other in self.running if other != number and mine & self.channels(other)]
                urgency = self.judge.effective(self.known[number])
                assert all(
                    self.case.by_priority and self.judge.effective(self.known[other]) < urgency
                    for other in rivals
                    if self.known[other].state == "running"
                ), f"{number} keeps its channels from one of {rivals}"

    def stop(self, number: int, stimulus: Stimulus) -> None:
        if number in self.known and self.known[number].state in ("waiting", "running"):
            if number in self.running:
                self.running.remove(number)
            self.known[number].state = "stopped"
        self.tell(self.scheduler.handle(stimulus))

    def moves(self, number: int) -> bool:
        """Move the next chunk of a leased transfer: that of the last hop that can. False if no hop can."""
        known, moved = self.known[number], self.leases[number]
        for hop in reversed(range(len(moved))):
            if known.may(hop, moved[hop]):
                self._done(number, hop, moved[hop], 0)
                moved[hop] += 1
                return True
        return False

    def gives_back(self, number: int, again: bool) -> None:
        wrong = [*self.leases[number]]
        wrong[self.draw.randrange(len(wrong))] = self.known[number].work.paths[0].chunks + 1
        with pytest.raises(InputError, match="returned a lease"):
            self.scheduler.returned(number, wrong)
        moved = self.leases.pop(number)
        self.recalled.discard(number)
        self.tell(self.scheduler.returned(number, tuple(moved), again))

    def _done(self, number: int, hop: int, chunk: int, part: int) -> None:
        known = self.known[number]
        assert (hop, chunk, part) not in known.done, f"{number}: hop {hop} moves chunk {chunk} twice"
        known.done.add((hop, chunk, part))
        known.whole[hop, chunk] += 1

    def drive(self) -> None:
        coming = list(enumerate(self.case.works))[::-1]
        while coming or self.flight or self.leases:
            rates = self.case.rates
            weights = rates["submit"] * bool(coming), 1.0 * bool(self.flight), 4.0 * bool(self.leases), rates["cancel"] / 4
            what = self.draw.choices(("submit", "end", "lease", "cancel"), weights)[0]
            if what == "submit":
                number, work = coming.pop()
                self.known[number] = Known(number, work, number, handed=[0] * len(work.channels))
                self.tell(self.scheduler.submit(number, work, may_lease=_may_lease(work)))
            elif what == "cancel":
                number = self.draw.randrange(-1, len(self.case.works))
                self.stop(number, Cancel(number))
            elif what == "end":
                issue = self.flight.pop(self.draw.randrange(len(self.flight)))
                if self.draw.random() < rates["fail"]:
                    self.stop(issue.transfer, Failed(*issue, "broken"))
                else:
                    self._done(*issue)
                    self.tell(self.scheduler.done(*issue))
            else:
                number = self.draw.choice(list(self.leases))
                is_stopped = number in self.recalled or self.draw.random() < 0.05
                if is_stopped or not self.moves(number):
                    self.gives_back(number, self.draw.random() < 0.8)
        assert self.scheduler.counts == Counts(0, 0, 0, 0)
        assert not self.holding
        assert all(known.state == "over" for known in self.known.values()), "some never end"


@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.few(2)
def test_leases_at_any_time(report: Callable[[str, object], None], batch: int) -> None:
    """All chunks are moved once and in order, nobody else uses a leased channel, and every transfer ends."""
    seen: Counter[str] = Counter()
    each = settings().max_examples
    for seed in range(batch * each, (batch + 1) * each):
        case: Any = random_case(f"leases {seed}")
        leasing = Leasing(case, case.scheduler())
        try:
            leasing.drive()
        except Exception as error:
            error.add_note(f'Leasing(case := random_case("leases {seed}"), case.scheduler()).drive()')
            raise
        seen.update(leasing.seen)
    assert {"leases", "leased again", "recalls", "done", "failed", "cancelled"} <= set(seen)
    for name in ("leases", "leased again", "recalls"):
        report(f"scheduler: {name}", seen[name])
