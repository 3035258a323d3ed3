"""Random cases split over several ranks: schedulers that share transfers, a coordinator, delayed messages, and a referee."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from scheduler_cases import Case, Known

from isoviz.scheduling.coordinator import Coordinator
from isoviz.scheduling.pool import first_come_first_served, highest_priority_first
from isoviz.scheduling.rank_scheduler import RankScheduler
from isoviz.scheduling.scheduler import Counts
from isoviz.scheduling.work import (
    Abort,
    Allocate,
    Arrived,
    Cancel,
    Credit,
    Done,
    End,
    Failed,
    Finish,
    Grant,
    Instruction,
    Issue,
    Lend,
    PathWork,
    Release,
    Request,
    SendArrived,
    SendCredit,
    SendEnd,
    SendStop,
    Settled,
    Stimulus,
    Stop,
    Submit,
    Work,
)

COORDINATOR = -1
SENT = {SendArrived: Arrived, SendCredit: Credit, SendStop: Stop, SendEnd: End}
"""The stimulus that an instruction sends to another rank."""


@dataclass(frozen=True)
class SplitCase:
    """A case whose hops are dealt to ranks; some destinations are on a rank of their own. With `homes`, every memory has a rank,
    and the hop that reads it is there. With `in_order`, messages between two ranks do not overtake each other; else those about
    chunks do, and come twice."""

    case: Case
    works: list[Work]
    count: int
    homes: dict[str, int]
    in_order: bool
    slow: float
    seed: str


def split(case: Case, seed: object) -> SplitCase:
    draw = random.Random(f"split {seed}")
    count = draw.randint(2, 4)
    names = {ring.memory for work in case.works for path in work.paths for ring in path.rings}
    homes = {name: draw.randrange(count) for name in sorted(names)} if draw.random() < 0.5 else {}

    def dealt(path: PathWork) -> PathWork:
        ranks = [draw.randrange(count) for _ in path.channels]
        for at, ring in enumerate(path.rings, 1):
            ranks[at] = homes.get(ring.memory, ranks[at])
        return path._replace(
            ranks=tuple(ranks), receiver=draw.randrange(count) if draw.random() < (0.3 if path.rings else 0.8) else None
        )

    works = [Work(tuple(dealt(path) for path in work.paths), work.priority) for work in case.works]
    return SplitCase(case, works, count, homes, draw.random() < 0.5, draw.choice((0.2, 1.0, 5.0)), str(seed))


def straight(case: Case, seed: object) -> SplitCase:
    """The case with the first hop of every path only. Most transfers are direct: one rank writes straight to another."""
    draw = random.Random(f"straight {seed}")
    found = split(case, seed)

    def shortened(work: Work) -> Work:
        ends = draw.sample(range(found.count), 2)
        if draw.random() < 0.2:
            ends[1] = ends[0]
        paths = [
            path._replace(
                channels=path.channels[:1], rings=(), requests=path.requests[:1], ranks=(ends[0],), receiver=ends[1], overlap=True
            )
            for path in work.paths
        ]
        return Work(tuple(paths), work.priority)

    works = [shortened(work) for work in found.works]
    rates = {**case.rates, "cancel": draw.choice((0.1, 0.5, 2.0))}
    return replace(found, case=replace(case, works=works, rates=rates), works=works)


def ranks_of(work: Work) -> list[int]:
    return sorted({rank for path in work.paths for rank in (*path.ranks, path.receiver) if rank is not None})


# ---- what must be


@dataclass
class View:
    """What a rank knows of the transfers that it has a part in."""

    running: dict[int, int] = field(default_factory=dict)  # with the number of its Allocate
    holding: set[int] = field(default_factory=set)
    over: set[int] = field(default_factory=set)  # settled or ended
    busy: Counter[str] = field(default_factory=Counter)
    under_way: Counter[int] = field(default_factory=Counter)
    told: dict[tuple[type, int, int], int] = field(default_factory=lambda: defaultdict(int))


class RankReferee:
    """Follows a run on all ranks at once, and fails where something is done that must not be, or not done that could be."""

    def __init__(self, split: SplitCase) -> None:
        self.split, self.case = split, split.case
        self.all = {
            number: Known(number, work, number, handed=[0] * sum(len(path.channels) for path in work.paths))
            for number, work in enumerate(split.works)
        }
        self.views = [View() for _ in range(split.count)]
        self.finished: dict[int, dict[int, Finish]] = defaultdict(dict)
        self.given_up: dict[int, set[tuple[str, str]]] = defaultdict(set)
        self.asked: dict[int, set[int]] = defaultdict(set)
        self.waiting: set[int] = set()
        self.seen: Counter[str] = Counter()

    def rank_of(self, number: int, hop: int) -> int:
        path, place = self.all[number].place(hop)
        return path.ranks[place]

    def check(self, rank: int, stimulus: Stimulus, answer: Sequence[Instruction], scheduler: RankScheduler) -> None:
        view = self.views[rank]
        self._happened(rank, view, stimulus, answer)
        for instruction in answer:
            self._told(rank, view, instruction)
        self._issued(rank, view, [each for each in answer if type(each) is Issue], scheduler)

    def _happened(self, rank: int, view: View, stimulus: Stimulus, answer: Sequence[Instruction]) -> None:
        number = stimulus.transfer
        known = self.all.get(number)
        if known is None:
            assert not answer
            return
        if type(stimulus) is Done or (type(stimulus) is Failed and stimulus.hop >= 0):
            known.under_way.remove(stimulus[1:4])
            view.under_way[number] -= 1
            view.busy[known.work.channels[stimulus.hop]] -= 1
        if type(stimulus) is Done:
            assert stimulus[1:4] not in known.done
            known.done.add(stimulus[1:4])
            known.whole[stimulus[1:3]] += 1
        elif type(stimulus) in (Failed, Cancel, Stop):
            view.running.pop(number, None)
        elif type(stimulus) in (Arrived, Credit):
            key = type(stimulus), number, stimulus.hop
            view.told[key] = max(view.told[key], stimulus.chunks)

    def _told(self, rank: int, view: View, instruction: Instruction) -> None:
        number = instruction.transfer
        known = self.all[number]
        self.seen[type(instruction).__name__] += 1
        if type(instruction) is Allocate:
            assert number not in view.holding and number not in view.over
            view.holding.add(number)
            view.running[number] = self.seen["Allocate"]
            self._capacity(rank, view)
        elif type(instruction) is Abort:
            self.given_up[number].add(instruction[1:])
        elif type(instruction) is Settled:
            assert number not in view.over and not view.under_way[number]
            view.over.add(number)
            view.running.pop(number, None)
        elif type(instruction) is Release:
            view.holding.remove(number)
            assert not known.under_way, f"released while another rank uses it: {number}"
        elif type(instruction) is Finish:
            assert rank not in self.finished[number] and number not in view.holding and not known.under_way
            self.finished[number][rank] = instruction
            view.running.pop(number, None)
            self.seen["direct"] += known.work.direct is not None
            if ranks_of(known.work) == [rank] and not known.work.rings:  # it needed no coordinator
                self.seen["private"] += 1
                if instruction.outcome != "done":
                    self.given_up[number].add(instruction[1:])
            if instruction.outcome == "done":
                assert known.done == known.due()
            else:
                assert instruction[1:] in self.given_up[number]
        elif type(instruction) in (SendStop, SendEnd):
            assert known.work.direct == ((instruction.rank, rank) if type(instruction) is SendStop else (rank, instruction.rank))
            assert type(instruction) is SendStop or not view.under_way[number]
            if instruction.outcome != "done":
                self.given_up[number].add(instruction[2:])
        elif type(instruction) in (SendArrived, SendCredit):
            assert instruction.rank != rank
            assert self.rank_of(number, instruction.hop) == instruction.rank

    def _capacity(self, rank: int, view: View) -> None:
        """The buffers that a rank holds in its memories fit into them."""
        held: Counter[str] = Counter()
        for number in view.holding:
            for memory, nbytes in self.all[number].needs().items():
                if self.split.homes.get(memory) == rank:
                    held[memory] += nbytes
        assert all(nbytes <= self.case.capacity.get(memory, nbytes) for memory, nbytes in held.items())

    def _issued(self, rank: int, view: View, issues: Sequence[Issue], scheduler: RankScheduler) -> None:
        pools: dict[str, list[tuple[int, int, Known, int]]] = defaultdict(list)
        for number, admission in view.running.items():
            known = self.all[number]
            for hop, channel in enumerate(known.work.channels):
                if self.rank_of(number, hop) == rank and known.unfinished(hop):
                    pools[channel].append((scheduler.priority(number), admission, known, hop))
        got: dict[str, list[Issue]] = defaultdict(list)
        for issue in issues:
            got[self.all[issue.transfer].work.channels[issue.hop]].append(issue)
        for channel, pool in pools.items():
            top = max(priority for priority, *_ in pool)
            room = self.case.limits.get(channel, 1) - view.busy[channel]
            due: list[Issue] = []
            for priority, _, known, hop in sorted(pool, key=lambda each: (each[1], each[3])):
                if self.case.by_priority and priority < top:
                    self.seen["held back"] += 1
                    continue
                ahead = 0
                while len(due) < room and (issue := self._next(rank, view, known, hop, ahead)) is not None:
                    due.append(issue)
                    ahead += 1
            assert got.pop(channel, []) == due, f"rank {rank}, {channel}: expected {due}"
        assert not got, f"rank {rank}: issued to channels that take nothing: {dict(got)}"
        for issue in issues:
            known = self.all[issue.transfer]
            assert known.may(issue.hop, issue.chunk)
            path, place = known.place(issue.hop)
            if place < len(path.rings):  # it writes into a buffer that the rank of the next hop has
                assert issue.transfer in self.views[path.ranks[place + 1]].holding
            elif path.receiver is not None:  # it writes into a destination that the receiver has opened
                assert issue.transfer in self.views[path.receiver].holding
                self.seen["received"] += path.receiver != path.ranks[place]
            known.handed[issue.hop] += 1
            known.under_way.add(issue[1:])
            view.under_way[issue.transfer] += 1
            view.busy[known.work.channels[issue.hop]] += 1

    def _next(self, rank: int, view: View, known: Known, hop: int, ahead: int) -> Issue | None:
        """What a hop may issue by what its rank knows, after `ahead` others."""
        issue = known.next(hop, ahead)
        if issue is None:
            return None
        path, place = known.place(hop)
        last = len(path.channels) - 1
        in_turn = path.pipelined and not path.overlap
        told = view.told
        written = told[Arrived, known.number, hop]
        if place and path.ranks[place - 1] != rank and written <= (issue.chunk if path.pipelined else path.chunks - 1):
            return None
        if not place and in_turn and path.ranks[last] != rank and issue.chunk and written <= issue.chunk:
            return None
        if place == last and path.receiver not in (None, rank) and told[Credit, known.number, hop] <= issue.chunk:
            return None
        if place < last and path.ranks[place + 1] != rank and told[Credit, known.number, hop] <= issue.chunk:
            return None
        return issue

    def coordinated(self, sender: int, message: Request | Abort | Settled, answers: Sequence[tuple[int, Stimulus]]) -> None:
        """Take note of what the coordinator was told and what it answered."""
        number = message.transfer
        if type(message) is Request:
            self.asked[number].add(sender)
            if len(self.asked[number]) == len(message.ranks):
                self.waiting.add(number)
        self.waiting -= {stimulus.transfer for _, stimulus in answers if type(stimulus) in (Grant, Stop)}
        if type(message) is Abort:
            self.waiting.discard(number)

    def lent(self, schedulers: Sequence[RankScheduler]) -> None:
        """All ranks know which priorities are lent: those of transfers that wait for memory that another one holds."""
        for rank, view in enumerate(self.views):
            for number in view.running:
                known = self.all[number]
                mine = {memory for memory, nbytes in known.needs().items() if nbytes and memory in self.case.capacity}
                lent = [
                    other.work.priority
                    for other in (self.all[each] for each in self.waiting)
                    if any(nbytes and memory in mine for memory, nbytes in other.needs().items())
                ]
                self.seen["lent"] += max(lent, default=known.work.priority) > known.work.priority
                assert schedulers[rank].priority(number) == max([known.work.priority, *lent])

    def over(self, schedulers: Sequence[RankScheduler], coordinator: Coordinator) -> None:
        """Everything has ended on all ranks in the same way; nothing is held, nothing is lost."""
        for number, known in self.all.items():
            finished = self.finished[number]
            assert sorted(finished) == ranks_of(known.work), f"transfer {number} has ended on ranks {sorted(finished)} only"
            assert len(set(finished.values())) == 1
            outcome = next(iter(finished.values())).outcome
            assert outcome == "done" or self.given_up[number]
            assert not known.under_way
            self.seen[outcome] += 1
            self.seen["on several ranks"] += len(finished) > 1
        assert all(scheduler.counts == Counts(0, 0, 0, 0) for scheduler in schedulers)
        assert all(not view.holding and not view.running for view in self.views)
        assert coordinator.is_idle
        assert {memory: coordinator.free(memory) for memory in self.case.capacity} == self.case.capacity


# ---- the driver


class Network:
    """Messages on their way. From one sender to one receiver they stay in order; those about chunks do not, unless `in_order`."""

    def __init__(self, draw: random.Random, in_order: bool) -> None:
        self.draw, self.in_order = draw, in_order
        self.ways: dict[tuple[int, int], list[Stimulus | Instruction]] = defaultdict(list)

    def __bool__(self) -> bool:
        return any(self.ways.values())

    def send(self, sender: int, receiver: int, message: Stimulus | Instruction) -> None:
        self.ways[sender, receiver].append(message)
        if not self.in_order and sender != COORDINATOR != receiver and self.draw.random() < 0.2:
            self.ways[sender, receiver].append(message)

    def take(self) -> tuple[int, int, Stimulus | Instruction]:
        sender, receiver = self.draw.choice([way for way, messages in self.ways.items() if messages])
        messages = self.ways[sender, receiver]
        overtake = not self.in_order and sender != COORDINATOR != receiver
        return sender, receiver, messages.pop(self.draw.randrange(len(messages)) if overtake else 0)


class RankDriver:
    """Runs a split case: ranks learn of transfers at different times, requests end and messages arrive in any order, some
    requests and allocations fail, and transfers are cancelled on any rank at any time."""

    def __init__(self, split: SplitCase) -> None:
        case = self.case = split.case
        self.split, self.draw = split, random.Random(f"drive ranks {split.seed}")
        policy = highest_priority_first if case.by_priority else first_come_first_served
        self.schedulers = [RankScheduler(rank, case.limits, case.capacity, policy=policy) for rank in range(split.count)]
        self.coordinator = Coordinator(case.capacity)
        self.referee = RankReferee(split)
        self.network = Network(self.draw, split.in_order)
        self.flight: list[tuple[int, Issue]] = []
        self.refused: list[tuple[int, int]] = []
        self.early: dict[tuple[int, int], list[Stimulus]] = defaultdict(list)
        numbers = range(len(split.works))[::-1]
        self.coming = {rank: [n for n in numbers if rank in ranks_of(split.works[n])] for rank in range(split.count)}

    def tell(self, rank: int, stimulus: Stimulus) -> None:
        answer = self.schedulers[rank].handle(stimulus)
        self.referee.check(rank, stimulus, answer, self.schedulers[rank])
        for instruction in answer:
            if type(instruction) is Issue:
                self.flight.append((rank, instruction))
            elif type(instruction) in SENT:
                self.network.send(rank, instruction[0], SENT[type(instruction)](*instruction[1:]))
            elif type(instruction) in (Request, Abort, Settled):
                self.network.send(rank, COORDINATOR, instruction)
            elif type(instruction) is Allocate and self.draw.random() < self.case.rates["fail"] / 4:
                self.refused.append((rank, instruction.transfer))

    def deliver(self) -> None:
        sender, receiver, message = self.network.take()
        if receiver == COORDINATOR:
            assert isinstance(message, Request | Abort | Settled)
            answers = self.coordinator.handle(sender, message)
            self.referee.coordinated(sender, message, answers)
            for rank, stimulus in answers:
                self.network.send(COORDINATOR, rank, stimulus)
        else:
            assert isinstance(message, Arrived | Credit | Grant | Lend | Stop | End)
            if message.transfer in self.coming[receiver]:  # a driver keeps it
                self.early[receiver, message.transfer].append(message)
            else:
                self.tell(receiver, message)
        if not any(messages for (way, _), messages in self.network.ways.items() if way == COORDINATOR):
            self.referee.lent(self.schedulers)

    def run(self) -> RankReferee:
        draw, rates, flight = self.draw, self.case.rates, self.flight
        while (waiting := [rank for rank, numbers in self.coming.items() if numbers]) or flight or self.refused or self.network:
            weights = (
                rates["submit"] * bool(waiting),
                1.0 * bool(flight),
                rates["cancel"] / 4,
                1e6 * bool(self.refused),
                self.split.slow * bool(self.network),
            )
            what = draw.choices(("submit", "end", "cancel", "refuse", "deliver"), weights)[0]
            if what == "submit":
                rank = draw.choice(waiting)
                number = self.coming[rank].pop()
                self.tell(rank, Submit(number, self.split.works[number]))
                for message in self.early.pop((rank, number), ()):
                    self.tell(rank, message)
            elif what == "refuse":
                rank, number = self.refused.pop()
                self.tell(rank, Failed(number, -1, -1, -1, f"no memory on {rank}"))
            elif what == "cancel":
                self.tell(draw.randrange(self.split.count), Cancel(draw.randrange(-1, len(self.split.works) + 2)))
            elif what == "deliver":
                self.deliver()
            else:
                rank, issue = flight.pop(-1 if draw.random() < rates["last"] else draw.randrange(len(flight)))
                self.tell(rank, Failed(*issue, "broken") if draw.random() < rates["fail"] else Done(*issue))
        self.referee.over(self.schedulers, self.coordinator)
        return self.referee


def drive_ranks(split: SplitCase) -> RankReferee:
    """Run a split case; returns the referee that has followed it to its end."""
    return RankDriver(split).run()


class Losing:
    """Runs a split case in which a rank is lost after some time; see `lose_a_rank`."""

    def __init__(self, split: SplitCase) -> None:
        self.split, self.draw = split, random.Random(f"lose {split.seed}")
        self.schedulers = [RankScheduler(rank, split.case.limits, split.case.capacity) for rank in range(split.count)]
        self.coordinator, self.network = Coordinator(split.case.capacity), Network(self.draw, in_order=True)
        self.flight: list[tuple[int, Issue]] = []
        self.coming = [(rank, number) for number, work in enumerate(split.works) for rank in ranks_of(work)]
        self.early: dict[tuple[int, int], list[Stimulus]] = defaultdict(list)
        self.ended: dict[int, dict[int, str]] = defaultdict(dict)
        self.gone, self.left = -1, self.draw.randrange(200)

    def tell(self, rank: int, stimulus: Stimulus) -> None:
        self.done(rank, self.schedulers[rank].handle(stimulus) if rank != self.gone else ())

    def done(self, rank: int, instructions: Sequence[Instruction]) -> None:
        for each in instructions if rank != self.gone else ():
            if type(each) is Issue:
                self.flight.append((rank, each))
            elif type(each) in SENT:
                if each[0] != self.gone:
                    self.network.send(rank, each[0], SENT[type(each)](*each[1:]))
            elif type(each) in (Request, Abort, Settled):
                self.network.send(rank, COORDINATOR, each)
            elif type(each) is Finish:
                self.ended[each.transfer][rank] = each.outcome

    def lose(self) -> None:
        gone = self.gone = self.draw.randrange(self.split.count)
        self.flight = [each for each in self.flight if each[0] != gone]
        self.coming = [each for each in self.coming if each[0] != gone]
        for way in [way for way in self.network.ways if gone in way]:
            del self.network.ways[way]
        self.answer(self.coordinator.lost(gone, f"rank {gone} is gone"))
        for rank in range(self.split.count):
            self.without(rank)

    def without(self, rank: int) -> None:
        """A rank hears of the lost one, perhaps again."""
        for number, work in enumerate(self.split.works):
            if work.direct is not None and self.gone in work.direct and rank in work.direct:
                self.done(rank, self.schedulers[rank].lost(number, f"rank {self.gone} is gone"))

    def answer(self, answers: Sequence[tuple[int, Stimulus]]) -> None:
        for rank, stimulus in answers:
            self.network.send(COORDINATOR, rank, stimulus)

    def step(self) -> None:
        some = {"submit": self.coming, "end": self.flight, "deliver": self.network}
        match self.draw.choice([name for name, any_of in some.items() if any_of] or [""]):
            case "submit":
                rank, number = self.coming.pop(0)
                self.tell(rank, Submit(number, self.split.works[number]))
                for each in self.early.pop((rank, number), ()):
                    self.tell(rank, each)
                self.without(rank)
            case "end":
                rank, issue = self.flight.pop(self.draw.randrange(len(self.flight)))
                self.tell(rank, Done(*issue))
            case "deliver":
                sender, receiver, message = self.network.take()
                if receiver == COORDINATOR:
                    self.answer(self.coordinator.handle(sender, message))
                elif (receiver, message.transfer) in self.coming:  # a driver keeps it
                    self.early[receiver, message.transfer].append(message)
                else:
                    self.tell(receiver, message)

    def run(self) -> None:
        while self.coming or self.flight or self.network or self.gone < 0:
            self.left -= 1
            if self.gone < 0 and (self.left < 0 or not (self.coming or self.flight or self.network)):
                self.lose()
            self.step()


def lose_a_rank(split: SplitCase) -> Counter[str]:
    """Run a split case in which a rank is lost after some time. Every transfer ends in the same way on all other ranks, and all
    buffers are free. Returns how the transfers have ended."""
    run = Losing(split)
    run.run()
    found: Counter[str] = Counter()
    for number, work in enumerate(split.works):
        rest = [rank for rank in ranks_of(work) if rank != run.gone]
        outcomes = {run.ended[number].get(rank, "never") for rank in rest}
        assert len(outcomes) < 2, f"transfer {number}: {run.ended[number]} without rank {run.gone}"
        if rest:
            assert outcomes <= ({"done", "failed"} if run.gone in ranks_of(work) else {"done"})
            found[outcomes.pop()] += 1
    assert run.coordinator.is_idle
    assert all(scheduler.counts == Counts(0, 0, 0, 0) for rank, scheduler in enumerate(run.schedulers) if rank != run.gone)
    return found
