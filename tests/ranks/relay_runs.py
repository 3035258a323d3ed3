"""A rank of a job with plans of several paths through other ranks: `relay_runs.py SEED CASES FOLDER`.

The machines are random: a link of its own joins two ranks. The plans of `multipath` are carried out one after the other, then all
at once with priorities, and some of them are cancelled.
"""

from __future__ import annotations

import itertools
import random
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
from given.rank_program import begin, tell
from rank_runs import arrays_are_equal, layout_of

from isoviz import FieldSpace, IndexSpace, Instance, Machine, Options, Plan, Transfer, plan
from isoviz.backends.mpi.world import World
from isoviz.errors import Cancelled, RankError
from isoviz.machines import Channel, ChannelKind, Constant, LatencyBandwidth, Memory, MemoryKind
from isoviz.runtime.ranks.rank_engine import Item, RankEngine

SLOW, FAST = 1e7, 2e10
"""Bytes per second of links and of copies within a rank, as machines say. Slow links make several paths worth it."""
REQUEST = 1e-4
"""Seconds of a request over a link. Without them chunks of a few bytes would be best."""
MOST_CHUNKS = 60
"""Chunks of a few bytes take messages each, and show nothing that fewer do not."""


def machine_of(
    hosts: Sequence[str], links: Sequence[tuple[int, int]], kind: Callable[[int, int], tuple[str, str, str]]
) -> Machine:
    """Ranks with links of their own. `kind(here, there)` is the kind of the channel of a link, and the memories that it joins."""
    memories, channels = [], []
    for rank in range(len(hosts)):
        sys_, reg = f"node{rank}.sys", f"node{rank}.reg"
        memories += [Memory(sys_, MemoryKind.SYS, rank), Memory(reg, MemoryKind.REG, rank)]
        channels += [
            Channel("", ChannelKind.MEMCPY, *ends, Constant(FAST)) for ends in itertools.product((sys_, reg), (sys_, reg))
        ]
    for here, there in links:
        chosen, source, destination = kind(here, there)
        rate = LatencyBandwidth(1e-3, SLOW) if chosen == "TwoSided" else Constant(SLOW)  # a message for every run
        channels.append(
            Channel("", ChannelKind(chosen), f"node{here}.{source}", f"node{there}.{destination}", rate, request_seconds=REQUEST)
        )
    return Machine("relays", tuple(memories), tuple(channels))


def random_machine(rng: random.Random, hosts: Sequence[str], ends: tuple[int, int], count: int) -> Machine:
    """`count` ways from one rank to another: directly, through one rank or through two, with some further links."""
    size, (first, last) = len(hosts), ends
    proxies = [rank for rank in range(size) if rank not in ends]
    rng.shuffle(proxies)
    ways: list[tuple[int, ...]] = [(first, last)] if rng.random() < 0.5 or count > len(proxies) else []
    while len(ways) < count:
        left = count - len(ways)
        inner = [proxies.pop() for _ in range(2 if len(proxies) > left and rng.random() < 0.5 else 1)]
        ways.append((first, *inner, last))
    links = [pair for way in ways for pair in itertools.pairwise(way)]

    def kind(here: int, there: int) -> tuple[str, str, str]:
        chosen = rng.choice(("Window", "Window", "Packed", "Packed", "TwoSided", "RemoteMemcpy"))
        if chosen == "Window" and hosts[here] != hosts[there]:
            chosen = "Packed"
        source = rng.choice(("sys", "reg"))
        return chosen, source, "reg" if chosen in ("Window", "RemoteMemcpy") else rng.choice(("sys", "reg"))

    return machine_of(hosts, links, kind)


def plan_of(rng: random.Random, machine: Machine, ends: tuple[int, int]) -> Plan:
    """A plan of `multipath`, half of them with a change of the layout."""
    largest = rng.choice((24, 90, 200))
    space = IndexSpace.of({name: rng.randint(largest // 2, largest) for name in "xy"})
    fields = FieldSpace.of({f"f{i}": rng.choice(("u1", "<f4", ">f8", "S3", "c16")) for i in range(rng.randint(1, 3))})
    layouts = [layout_of(rng, space), layout_of(rng, space)]
    if rng.random() < 0.5:
        layouts[1] = layouts[0]
    instances = [
        Instance(f"node{rank}.{rng.choice(('sys', 'reg'))}", space, fields, layout)
        for rank, layout in zip(ends, layouts, strict=True)
    ]
    limits = Options(slot_limit=rng.choice((1 << 12, 1 << 14, 1 << 16)), slots=rng.choice((1, 2, 3)), planning_time=0.2)
    return plan(Transfer(*instances, priority=rng.randrange(-1, 2)), machine, "multipath", limits)


def plans_of(rng: random.Random, machine: Machine, ends: tuple[int, int]) -> list[Plan]:
    found: list[Plan] = []
    while len(found) < 3:
        made = plan_of(rng, machine, ends)
        if made.chunk_count <= MOST_CHUNKS:
            found.append(made)
    return found


class Relayed:
    """A plan with arrays at its ends, which this rank submits together with the others."""

    def __init__(self, world: World, engine: RankEngine, made: Plan, seed: int) -> None:
        self.engine, self.plan = engine, made
        transfer = made.transfer
        self.source, self.room = (
            self._array(world, end) if engine.node_of(end.memory) == engine.rank else None
            for end in (transfer.source, transfer.destination)
        )
        self.content = np.random.default_rng(seed).integers(0, 256, transfer.source.linearization.nbytes, np.uint8)
        if self.source is not None:
            self.source[:] = self.content

    @staticmethod
    def _array(world: World, end: Instance) -> np.ndarray[Any, Any]:
        nbytes = end.linearization.nbytes
        return world.array(nbytes) if end.memory.endswith("reg") else np.zeros(nbytes, np.uint8)

    def submit(self, priority: int | None = None) -> Any:
        return self.engine.submit(self.plan, self.source, self.room, priority=priority)

    def check(self) -> None:
        """Every entry of the destination is that of the source, by the offsets of the layouts alone."""
        assert self.source is None or np.array_equal(self.source, self.content), "a source was written"
        if self.room is None:
            return
        lin, into = self.plan.transfer.source.linearization, self.plan.transfer.destination.linearization
        sizes = self.plan.transfer.space.sizes
        for index in itertools.islice(np.ndindex(*sizes), 0, None, max(1, int(np.prod(sizes)) // 200)):
            for name, size in zip(lin.fields.names, lin.fields.sizes, strict=True):
                at, to = lin.offset(index, name), into.offset(index, name)
                assert self.content[at : at + size].tobytes() == self.room[to : to + size].tobytes(), f"{self.plan} at {index}"


def outcome(error: BaseException | None) -> str:
    if error is None:
        return "done"
    assert isinstance(error, Cancelled | RankError), error
    return "cancelled"


def together(world: World, engine: RankEngine, plans: Sequence[Plan], rng: random.Random, private: random.Random) -> Counter[str]:
    """All plans twice at once, with priorities beside their own; any rank cancels some. All ranks end each of them alike."""
    cases = [Relayed(world, engine, made, number) for number, made in enumerate((*plans, *plans))]
    priorities = [rng.choice((None, -2, 3)) for _ in cases]
    victims = {number for number in range(len(cases)) if rng.random() < 0.2}
    by = {number: rng.randrange(world.size) for number in victims}
    events = []
    for case, priority in zip(cases, priorities, strict=True):
        events.append(case.submit(priority))
        for number in [each for each in victims if each < len(events) and by[each] == world.rank]:
            if private.random() < 0.3:
                events[number].cancel()
    for number in victims:
        if by[number] == world.rank:
            events[number].cancel()
    found: list[str | None] = []
    for case, event in zip(cases, events, strict=True):
        error = event.error(100)
        found.append(outcome(error) if engine.has_part_in(case.plan) else None)
        if error is None:
            case.check()
    seen: Counter[str] = Counter()
    for number, outcomes in enumerate(zip(*cast("list[list[str | None]]", engine.gather(found)), strict=True)):
        ends = {each for each in outcomes if each is not None}
        assert len(ends) == 1, outcomes
        assert number in victims or ends == {"done"}, outcomes
        seen.update(ends)
    return seen


def overlaps(report: Any, path: int) -> list[bool]:
    """For each proxy on a path: whether it forwards a first chunk before it has received the last one."""
    work, starts = report.trace.transfers[0].work, report.trace.transfers[0].work.starts
    found = []
    for at in range(len(work.paths[path].channels) - 1):
        if work.paths[path].ranks[at] != work.paths[path].ranks[at + 1]:
            received, forwarded = (
                [span for span in report.trace.requests if span.hop == starts[path] + hop] for hop in (at, at + 1)
            )
            found.append(min(span.start for span in forwarded) < max(span.end for span in received))
    return found


def runs(world: World, seed: str, cases: int) -> dict[str, Any]:
    seen: Counter[str] = Counter()
    turn = -1
    while seen["plans"] < cases:
        turn += 1
        rng = random.Random(f"{seed} {turn}")
        first, last = rng.sample(range(world.size), 2)
        count = 1 + turn % 3
        machine = random_machine(rng, world.hosts, (first, last), count)
        with RankEngine(machine, world.devices, world.transport, request_bytes=rng.choice((1 << 12, 1 << 16, 1 << 20))) as engine:
            planned = plans_of(rng, machine, (first, last)) if world.rank == 0 else None
            plans = cast("list[Plan]", engine.gather(planned)[0])
            for made in plans:
                report = engine.run(made)
                assert report.verified, made
                work = report.trace.transfers[0].work
                if len(work.channels) > 1:  # a small direct transfer may take one message for all of its requests
                    assert len(report.trace.requests) == sum(path.chunks * sum(path.requests) for path in work.paths)
                seen[f"over {len(made.paths)} paths"] += 1
                seen["with a layout change"] += made.transfer.source.layout != made.transfer.destination.layout
                relayed = [path for path in work.paths if len(set(path.ranks)) > 1]
                seen["through proxies"] += bool(relayed)
                seen["through two proxies"] += any(len({*path.ranks, path.receiver}) > 3 for path in relayed)
                for number, path in enumerate(work.paths):
                    if path.overlap and all(1 < ring.slots < path.chunks for ring in path.rings):
                        assert all(overlaps(report, number)), f"path {number} of {made} is stored and forwarded"
                        seen["proxies that forward while they receive"] += len(overlaps(report, number))
                arrays_are_equal(world, engine, made)
                seen["plans"] += 1
            parts = engine.run_parts([Item(made) for made in plans])
            assert all(part.error is None for part in parts), [part.error for part in parts]
            ended = together(
                world, engine, plans, random.Random(f"{seed} {turn} all"), random.Random(f"{seed} {turn} {world.rank}")
            )
            seen.update({f"at a time: {name}": number for name, number in ended.items()})
            engine.barrier()
            assert engine.held_bytes == 0
    return dict(seen)


def main() -> None:
    begin()
    seed, cases, folder = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])
    with World(limit=60, directory=folder) as world:
        found = runs(world, seed, cases)
        rank = world.rank
    tell(rank, found)


if __name__ == "__main__":
    main()
