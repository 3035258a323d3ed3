"""Random work for schedulers, a driver without order, and a referee that knows from first principles what they must answer."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from isoviz.machines import Channel, ChannelKind, Constant, Machine, Memory, MemoryKind, Resource
from isoviz.runtime.simulator import Simulator
from isoviz.scheduling.pool import first_come_first_served, highest_priority_first
from isoviz.scheduling.scheduler import Counts, Scheduler
from isoviz.scheduling.work import (
    Allocate,
    Cancel,
    Done,
    Failed,
    Finish,
    Instruction,
    Issue,
    PathWork,
    Release,
    Ring,
    Stimulus,
    Submit,
    Work,
)

# ---- cases


@dataclass(frozen=True)
class Case:
    """Channels with their limits, memories with their capacities, transfers, and how the driver behaves."""

    limits: dict[str, int]
    capacity: dict[str, int]
    works: list[Work]
    by_priority: bool
    rates: dict[str, float]
    seed: str

    def scheduler(self) -> Scheduler:
        return Scheduler(
            self.limits, self.capacity, policy=highest_priority_first if self.by_priority else first_come_first_served
        )


def random_case(seed: object, *, transfers: int = 9) -> Case:
    draw = random.Random(f"case {seed}")
    channels = [f"c{i}" for i in range(draw.randint(1, 5))]
    limits = {name: draw.choice((1, 1, 2, 3, 5)) for name in channels if draw.random() < 0.8}
    memories = [f"m{i}" for i in range(draw.randint(1, 4))]
    capacity = {name: draw.randint(4, 40) for name in memories if draw.random() < 0.8}
    priorities = draw.choice(((0,), (0, 1), (-3, 0, 7), (0, 1, 2, 3)))
    works = [_random_work(draw, channels, memories, capacity, priorities) for _ in range(draw.randint(1, transfers))]
    rates = {
        "submit": draw.choice((0.1, 0.5, 3.0, 100.0)),
        "fail": draw.choice((0.0, 0.0, 0.02, 0.2)),
        "cancel": draw.choice((0.0, 0.0, 0.05, 0.5)),
        "last": draw.choice((0.0, 0.0, 0.9)),  # the youngest request of all ends first
    }
    return Case(limits, capacity, works, draw.random() < 0.85, rates, str(seed))


def _random_work(
    draw: random.Random,
    channels: Sequence[str],
    memories: Sequence[str],
    capacity: Mapping[str, int],
    priorities: Sequence[int],
) -> Work:
    free = dict(capacity)
    paths = [_random_path(draw, channels, memories, free) for _ in range(draw.choice((1, 1, 1, 2, 3)))]
    return Work(tuple(paths), draw.choice(priorities))


def _random_path(draw: random.Random, channels: Sequence[str], memories: Sequence[str], free: dict[str, int]) -> PathWork:
    """A path whose buffers fit into what is `free`, which it takes."""
    hops = draw.choice((1, 2, 2, 3, 3, 4))
    chunks = draw.choice((0, 1, 2, 3, 4, 5, 8)) if draw.random() < 0.9 else 1
    pipelined = draw.random() < 0.85
    rings = []
    for _ in range(hops - 1):
        slots = draw.choice((1, 1, 2, 2, 3)) if pipelined else max(1, chunks)
        fitting = [name for name in memories if free.get(name, slots) >= slots]
        memory = draw.choice(fitting) if fitting else "anywhere"
        most = free.get(memory, 30) // slots
        nbytes = draw.choice((0, 1, most, most, draw.randint(0, most)))
        if memory in free:
            free[memory] -= nbytes * slots
        rings.append(Ring(memory, nbytes, slots))
    names = tuple(draw.choice(channels) for _ in range(hops))
    requests = () if draw.random() < 0.3 else tuple(draw.choice((1, 1, 2, 3)) for _ in range(hops))
    return PathWork(names, chunks, tuple(rings), requests, pipelined, draw.random() < 0.85)


# ---- what must be


@dataclass(eq=False)
class Known:
    """What the referee knows of a transfer."""

    number: int
    work: Work
    arrival: int
    state: str = "waiting"
    admission: int = -1
    outcome: tuple[str, str] = ("done", "")
    handed: list[int] = field(default_factory=list)  # by hop: requests that were issued
    done: set[tuple[int, int, int]] = field(default_factory=set)
    under_way: set[tuple[int, int, int]] = field(default_factory=set)
    whole: dict[tuple[int, int], int] = field(default_factory=lambda: defaultdict(int))  # requests done, by hop and chunk

    def parts(self, hop: int) -> int:
        path, place = self.place(hop)
        return path.requests[place] if path.requests else 1

    def place(self, hop: int) -> tuple[PathWork, int]:
        """The path of a hop, and the position of the hop on it."""
        for path in self.work.paths:
            if hop < len(path.channels):
                return path, hop
            hop -= len(path.channels)
        raise AssertionError(hop)

    def needs(self) -> dict[str, int]:
        found: dict[str, int] = defaultdict(int)
        for path in self.work.paths:
            for ring in path.rings:
                found[ring.memory] += ring.nbytes * ring.slots
        return found

    def has(self, hop: int, chunk: int) -> bool:
        """Whether a hop has moved a chunk."""
        return self.whole[hop, chunk] == self.parts(hop)

    def unfinished(self, hop: int) -> bool:
        return not all(self.has(hop, chunk) for chunk in range(self.place(hop)[0].chunks))

    def due(self) -> set[tuple[int, int, int]]:
        """All requests: hop, chunk, part."""
        hops = range(sum(len(path.channels) for path in self.work.paths))
        return {(h, chunk, part) for h in hops for chunk in range(self.place(h)[0].chunks) for part in range(self.parts(h))}

    def next(self, hop: int, ahead: int = 0) -> Issue | None:
        """What a hop may issue now, after `ahead` others; None: nothing."""
        chunk, part = divmod(self.handed[hop] + ahead, self.parts(hop))
        return Issue(self.number, hop, chunk, part) if self.may(hop, chunk) else None

    def may(self, hop: int, chunk: int) -> bool:
        """Whether a hop may move a chunk now."""
        path, place = self.place(hop)
        if chunk >= path.chunks:
            return False
        last = len(path.channels) - 1
        if place > 0 and not path.pipelined and not all(self.has(hop - 1, each) for each in range(path.chunks)):
            return False
        if place > 0 and not self.has(hop - 1, chunk):
            return False
        if place < last and chunk >= path.rings[place].slots and not self.has(hop + 1, chunk - path.rings[place].slots):
            return False
        in_turn = path.pipelined and not path.overlap
        return not (place == 0 and last > 0 and chunk > 0 and in_turn and not self.has(hop + last, chunk - 1))


class Referee:
    """Follows a run and fails where the answer to a stimulus is not the one that DESIGN, section 4, asks for."""

    def __init__(self, limits: Mapping[str, int], capacity: Mapping[str, int], by_priority: bool = True) -> None:
        self.limits, self.capacity, self.by_priority = limits, capacity, by_priority
        self.alive: dict[int, Known] = {}
        self.all: dict[int, Known] = {}
        self.busy: dict[str, int] = defaultdict(int)
        self.seen: dict[str, int] = defaultdict(int)
        self.stimuli = self.admissions = 0

    def check(self, stimulus: Stimulus, answer: Sequence[Instruction]) -> None:
        self.stimuli += 1
        ended = self._happened(stimulus)
        expected: list[Instruction] = []
        if ended is not None:
            if ended.admission >= 0:
                expected.append(Release(ended.number))
            expected.append(Finish(ended.number, *ended.outcome))
            del self.alive[ended.number]
            self.seen[ended.outcome[0]] += 1
        expected += self._admitted()
        told = [instruction for instruction in answer if type(instruction) is not Issue]
        assert told == expected, f"{stimulus}: {told}, expected {expected}"
        issues = [instruction for instruction in answer if type(instruction) is Issue]
        self._issued(stimulus, issues)
        # Nothing is issued before its buffers are there.
        places = {instruction.transfer: i for i, instruction in enumerate(answer) if type(instruction) is Allocate}
        assert all(i > places.get(each.transfer, -1) for i, each in enumerate(answer) if type(each) is Issue)
        self._bounds()

    def effective(self, known: Known) -> int:
        """The priority of a transfer that holds buffers: that of who waits for one of its memories, if that is higher."""
        memories = {memory for memory, nbytes in known.needs().items() if nbytes and memory in self.capacity}
        found = known.work.priority
        for other in self.alive.values():
            if other.state == "waiting" and any(nbytes and memory in memories for memory, nbytes in other.needs().items()):
                if other.work.priority > found:
                    self.seen["lent"] += 1
                found = max(found, other.work.priority)
        return found

    # ---- inside

    def _happened(self, stimulus: Stimulus) -> Known | None:
        """Take note of what has happened; returns the transfer that ends by it."""
        if type(stimulus) is Submit:
            number, work = stimulus
            known = self.alive[number] = self.all[number] = Known(number, work, len(self.all), handed=[0] * len(work.channels))
            return None if work.chunks else known
        known = self.alive.get(stimulus.transfer)
        if known is None:
            return None
        if type(stimulus) is Done or (type(stimulus) is Failed and stimulus.hop >= 0):
            key = stimulus[1:4]
            known.under_way.remove(key)
            self.busy[known.work.channels[stimulus.hop]] -= 1
        if type(stimulus) is Done:
            assert key not in known.done
            known.done.add(key)
            known.whole[key[:2]] += 1
        else:
            outcome = ("failed", stimulus.reason) if type(stimulus) is Failed else ("cancelled", "")
            if known.state in ("waiting", "running"):
                known.outcome = outcome
                known.state = "stopped"
        if known.state == "stopped":
            return None if known.under_way else known
        complete = not any(known.unfinished(hop) for hop in range(len(known.work.channels)))
        return known if known.state == "running" and complete else None

    def _admitted(self) -> list[Instruction]:
        """Who gets buffers now: the highest priority first, the first come among those; whoever cannot have them holds back
        all who want bytes of the same memories."""
        free = dict(self.capacity)
        for known in self.alive.values():
            if known.admission >= 0:
                for memory, nbytes in known.needs().items():
                    if memory in free:
                        free[memory] -= nbytes
        answer: list[Instruction] = []
        closed: set[str] = set()
        waiting = [known for known in self.alive.values() if known.state == "waiting"]
        for known in sorted(waiting, key=lambda known: (-known.work.priority, known.arrival)):
            needs = {memory: nbytes for memory, nbytes in known.needs().items() if nbytes and memory in free}
            if closed.isdisjoint(needs) and all(nbytes <= free[memory] for memory, nbytes in needs.items()):
                for memory, nbytes in needs.items():
                    free[memory] -= nbytes
                known.state, known.admission = "running", self.admissions
                self.admissions += 1
                answer.append(Allocate(known.number))
            else:
                closed.update(needs)
                self.seen["waits"] += 1
        return answer

    def _issued(self, stimulus: Stimulus, issues: Sequence[Issue]) -> None:
        running = [known for known in self.alive.values() if known.state == "running"]
        running.sort(key=lambda known: known.admission)
        pools: dict[str, list[tuple[int, Known, int]]] = defaultdict(list)
        for known in running:
            priority = self.effective(known)
            for hop, channel in enumerate(known.work.channels):
                if self.busy[channel] < self.limits.get(channel, 1) and known.unfinished(hop):
                    pools[channel].append((priority, known, hop))
        told: dict[str, list[Issue]] = defaultdict(list)
        for issue in issues:
            told[self.all[issue.transfer].work.channels[issue.hop]].append(issue)
        for channel, pool in pools.items():
            top = max(priority for priority, _, _ in pool)
            room = self.limits.get(channel, 1) - self.busy[channel]
            due: list[Issue] = []
            for priority, known, hop in pool:
                if self.by_priority and priority < top:
                    self.seen["held back"] += 1
                    continue
                ahead = 0
                while len(due) < room and (issue := known.next(hop, ahead)) is not None:
                    due.append(issue)
                    ahead += 1
            got = told.pop(channel, [])
            assert got == due, f"{stimulus}: {channel} gets {got}, expected {due}"
        assert not told, f"{stimulus}: issued to channels that take nothing: {dict(told)}"
        for issue in issues:
            known = self.alive[issue.transfer]
            known.handed[issue.hop] += 1
            known.under_way.add(issue[1:])
            self.busy[known.work.channels[issue.hop]] += 1

    def _bounds(self) -> None:
        assert all(count <= self.limits.get(channel, 1) for channel, count in self.busy.items())
        held: dict[str, int] = defaultdict(int)
        for known in self.alive.values():
            if known.admission >= 0:
                for memory, nbytes in known.needs().items():
                    held[memory] += nbytes
        assert all(nbytes <= self.capacity.get(memory, nbytes) for memory, nbytes in held.items())

    def agrees(self, scheduler: Scheduler) -> None:
        """What a scheduler says of itself is so."""
        counts = scheduler.counts
        waiting = sum(known.state == "waiting" for known in self.alive.values())
        assert counts.waiting == waiting
        assert counts.running == len(self.alive) - waiting
        assert counts.in_flight == sum(self.busy.values()) == sum(len(known.under_way) for known in self.alive.values())
        held = [known for known in self.alive.values() if known.admission >= 0]
        assert counts.held_bytes == sum(sum(known.needs().values()) for known in held)
        for known in held:
            if known.state == "running":
                assert scheduler.priority(known.number) == self.effective(known)

    def over(self, scheduler: Scheduler) -> None:
        """A run has ended: nobody is left, and what was done was all of it."""
        assert not self.alive, f"never ends: {sorted(self.alive)}"
        assert scheduler.counts == Counts(0, 0, 0, 0)
        for known in self.all.values():
            if known.outcome[0] == "done":
                assert known.done == known.due()


# ---- the driver


def drive(case: Case, scheduler: Any) -> tuple[Referee, list[tuple[Stimulus, list[Instruction]]]]:
    """Run a case: requests end in any order, some fail, transfers are cancelled at any time, and some that nobody knows."""
    draw = random.Random(f"drive {case.seed}")
    referee = Referee(case.limits, case.capacity, case.by_priority)
    history: list[tuple[Stimulus, list[Instruction]]] = []
    flight: list[Issue] = []
    coming = list(enumerate(case.works))[::-1]
    numbers = len(case.works) + 2

    def tell(stimulus: Stimulus) -> None:
        answer = scheduler.handle(stimulus)
        history.append((stimulus, list(answer)))
        referee.check(stimulus, answer)
        for instruction in answer:
            if type(instruction) is Issue:
                flight.append(instruction)
            elif type(instruction) is Allocate and draw.random() < case.rates["fail"] / 4:
                refused.append(instruction.transfer)
        referee.agrees(scheduler)

    refused: list[int] = []
    while coming or flight or refused:
        weights = (case.rates["submit"] * bool(coming), 1.0 * bool(flight), case.rates["cancel"] / 2, 1e6 * bool(refused))
        what = draw.choices(("submit", "end", "cancel", "refuse"), weights)[0]
        if what == "submit":
            tell(Submit(*coming.pop()))
        elif what == "refuse":
            tell(Failed(refused.pop(), -1, -1, -1, "no memory"))
        elif what == "cancel":
            number = draw.randrange(-1, numbers)
            for _ in range(draw.choice((1, 1, 2))):
                tell(Cancel(number))
        else:
            issue = flight.pop(-1 if draw.random() < case.rates["last"] else draw.randrange(len(flight)))
            tell(Failed(*issue, "broken") if draw.random() < case.rates["fail"] else Done(*issue))
    return referee, history


# ---- simulations


class Fragile:
    """A fault that hits the same requests whenever it is asked."""

    def __init__(self, seed: object, rate: float) -> None:
        self.seed, self.rate = seed, rate

    def __call__(self, issue: Issue) -> str | None:
        return "broken" if random.Random(f"{self.seed} {tuple(issue)}").random() < self.rate else None


def simulated(seed: object) -> tuple[Case, Simulator, dict[int, tuple[tuple[float, float], ...]]]:
    """A simulator with a random case in it, some of it cancelled later; and how long requests take alone, by transfer and hop."""
    case = random_case(f"simulated {seed}")
    draw = random.Random(f"simulator {seed}")
    shared = draw.random() < 0.5
    resources = (Resource("bus", draw.choice((10.0, 100.0))), Resource("link", 50.0)) if shared else ()
    uses = [(), (("bus", 1.0),), (("bus", 2.0), ("link", 1.0)), (("link", 0.0),)]
    memories = [Memory(name, MemoryKind.SYS, capacity=case.capacity.get(name)) for name in ("m0", "m1", "m2", "m3")]
    names = {name for work in case.works for name in work.channels}
    channels = [
        Channel(
            name,
            ChannelKind.MEMCPY,
            "m0",
            "m0",
            Constant(1.0),
            resources=draw.choice(uses) if shared else (),
            max_in_flight=case.limits.get(name, 1),
        )
        for name in sorted(names)
    ]
    simulator = Simulator(
        Machine("random", tuple(memories), tuple(channels), resources),
        policy=highest_priority_first if case.by_priority else first_come_first_served,
        fault=Fragile(seed, case.rates["fail"]) if case.rates["fail"] else None,
    )
    times = {}
    at = 0.0
    for work in case.works:
        chunk = draw.choice((1.0, 10.0))
        last = draw.choice((1.0, 0.25))
        seconds = tuple((full := draw.choice((0.0, 0.1, 1.0, draw.random())), full * last) for _ in work.channels)
        shares = [(chunk * max(0.0, path.chunks - 1 + last), chunk) for path in work.paths]
        nbytes = sum(share for share, _ in shares)
        setup = draw.choice((0.0, 0.5))
        number = simulator.submit_work(work, seconds, nbytes, chunk, at=at, setup=setup, shares=shares)
        times[number] = seconds
        at += draw.choice((0.0, 0.0, 1.0))
        if draw.random() < case.rates["cancel"]:
            for _ in range(draw.choice((1, 2))):
                simulator.cancel(number, at=draw.choice((0.0, at, at + 2.0, at + draw.random())))
    return case, simulator, times
