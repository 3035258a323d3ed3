"""The planner `multipath` on random machines with networks: routes, shares, and what options forbid.

The router, and the times of a path, are written here from the definitions. Nothing of them comes from the package.
"""

from __future__ import annotations

import itertools
import os
import random
from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import replace

import networkx
import numpy as np
import pytest

from isoviz import FieldSpace, IndexSpace, plan, simulate
from isoviz.errors import NoPathError
from isoviz.machines import (
    ChannelKind,
    DimensionOrder,
    LatencyBandwidth,
    ListedLinks,
    Machine,
    Memory,
    MemoryKind,
    Mesh,
    Neighbours,
    Network,
    Port,
    Torus,
    Transport,
)
from isoviz.planner import Options, PathPlan, Plan, Transfer, plan_of_paths
from isoviz.units import format_bytes, format_seconds

FULL = os.environ.get("ISOVIZ_FULL", "") not in ("", "0")
CASES = 1000 if FULL else 5
BATCH = 50 if FULL else 5
PARTS = 24 if FULL else 12
"""The shares of brute force are multiples of one part in this many."""
LOSS = {883: 1.03}
"""How much faster the best split may be, if not a hundredth. Paths take turns on a link request by request: one with short chunks
gets less of it; the chunks of a path are chosen for it alone."""
Report = Callable[[str, int], None]


class Case:
    """A random machine with one network and a question on it, with what the router below needs to know of it."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        draw = random.Random(seed)
        self.kind = draw.choice(("torus", "torus", "mesh", "listed", "neighbours"))
        self.rate = draw.choice((1e9, 2e9, 4e9))
        self.latency, self.peak = draw.choice((1e-6, 5e-6)), draw.choice((1e9, 3e9, 5e9))
        self.setup = draw.choice((0.0, 1e-5))
        own = draw.choice((None, None, 3e9, 8e9))
        self.sizes = draw.choice(((5,), (4, 4), (3, 5), (2, 3, 4), (3, 3, 2)))
        self.links: dict[tuple[str, str], float] = {}
        if self.kind in ("torus", "mesh"):
            topology: Torus | Mesh | ListedLinks = (Torus if self.kind == "torus" else Mesh)(self.sizes)
            routers = [".".join(map(str, each)) for each in itertools.product(*map(range, self.sizes))]
        else:
            graph = networkx.gnp_random_graph(draw.randrange(4, 9), 0.5, seed=seed)
            graph.add_edges_from(itertools.pairwise(range(len(graph))))
            pairs = [(f"r{a}", f"r{b}", draw.choice((1.0, 1.0, 2.0))) for a, b in graph.edges]
            topology = ListedLinks(tuple(pairs))
            routers = list(dict.fromkeys(end for a, b, _ in pairs for end in (a, b)))
            for a, b, width in pairs:
                self.links[a, b] = self.links[b, a] = width
        self.routers = routers
        memories = [Memory(f"node{k}.sys", MemoryKind.SYS, k) for k in range(len(routers))]
        if draw.random() < 0.3:  # a second port on the node of another one
            memories[-1] = Memory("node0.reg", MemoryKind.REG)
        self.at = {memory.name: router for memory, router in zip(memories, routers, strict=True)}
        ports = tuple(Port(memory.name, self.at[memory.name], own, own) for memory in memories)
        routing = {"torus": DimensionOrder(2), "mesh": DimensionOrder(2), "listed": None, "neighbours": Neighbours()}[self.kind]
        send = Transport(ChannelKind.REMOTE_MEMCPY, LatencyBandwidth(self.latency, self.peak), setup=self.setup)
        network = Network("net", topology, ports, (send,), self.rate, routing=routing)
        self.machine = Machine("random", tuple(memories), networks=(network,))
        here, there = draw.sample(memories[:-1], 2)
        self.ends = here.name, there.name
        nbytes = draw.choice((1 << 12, 1 << 15, 1 << 17, 1 << 20, 1 << 24))
        self.transfer = Transfer.whole(IndexSpace(x=nbytes), FieldSpace(v="u1"), here.name, "<F, x>", there.name, "<F, x>")

    # ---- the router

    def route(self, here: str, there: str) -> list[str] | None:
        """The names of the links of a message between two memories; None where it does not get there."""
        a, b = self.at[here], self.at[there]
        if self.kind in ("torus", "mesh"):
            return self._by_dimensions([int(each) for each in a.split(".")], [int(each) for each in b.split(".")])
        if self.kind == "neighbours":
            return [f"{a}>{b}"] if (a, b) in self.links else None
        came: dict[str, str] = {a: a}
        waiting = deque([a])
        while waiting and b not in came:
            at = waiting.popleft()
            for x, y in self.links_in_order:
                if x == at and y not in came:
                    came[y] = at
                    waiting.append(y)
        found = [b]
        while found[-1] != a:
            found.append(came[found[-1]])
        return [f"{x}>{y}" for x, y in itertools.pairwise(reversed(found))]

    @property
    def links_in_order(self) -> list[tuple[str, str]]:
        return list(self.links)

    def _by_dimensions(self, place: list[int], goal: list[int]) -> list[str]:
        found = []
        order = sorted(range(len(self.sizes)), key=lambda dim: -self.sizes[dim])
        for dim in order:
            size, ahead = self.sizes[dim], goal[dim] - place[dim]
            if self.kind == "torus" and size > 2:
                ahead %= size
                if 2 * ahead > size or (2 * ahead == size and place[dim] % 2):
                    ahead -= size
            for _ in range(abs(ahead)):
                name = ".".join(map(str, place))
                found.append(f"{name}{'+' if ahead > 0 else '-'}{'ABCDE'[dim]}")
                place[dim] = (place[dim] + (1 if ahead > 0 else -1)) % size
        assert place == goal
        return found

    def lanes(self, link: str) -> float:
        """The lanes of a link between routers: as many paths may share it."""
        a, mark, b = link.partition(">")
        return self.links[a, b] if mark else 1.0

    # ---- the least time of a path

    def most_bytes(self, path: PathPlan, seconds: float) -> float:
        """The bytes that a path moves within some seconds after the set-up, from the definition of T, in any number of chunks."""
        counts = np.arange(1, 513) if len(path.hops) > 1 else np.array([1])
        rates = []
        for hop in path.hops:
            channel = self.machine.channel(hop.channel)
            rates.append(min([self.machine.resource(name).capacity / weight for name, weight in channel.resources]))
        low, high = np.zeros(len(counts)), np.full(len(counts), seconds * self.peak * 2)
        for _ in range(50):
            moved = (low + high) / 2
            chunk = moved / counts
            hops = np.array([np.maximum(self.latency + chunk / self.peak, chunk / rate) for rate in rates])
            fits = hops.sum(axis=0) + (counts - 1) * hops.max(axis=0) <= seconds
            low, high = np.where(fits, moved, low), np.where(fits, high, moved)
        return float(low.max())


def uses(case: Case, path: PathPlan) -> Counter[str]:
    return Counter(name for hop in path.hops for name, _ in case.machine.channel(hop.channel).resources)


def check_routes(case: Case, made: Plan) -> None:
    """Every leg goes as the router says; no link between routers is on more paths than it has lanes; every byte is on one."""
    users = Counter[str]()
    for path in made.paths:
        for hop in path.hops:
            links = case.route(hop.source, hop.destination)
            named = [name for name, _ in case.machine.channel(hop.channel).resources]
            assert links is not None
            assert [name.removeprefix("net:") for name in named if not (name.endswith(">") or ":>" in name)] == links
            users.update(links)
    assert len(made.paths) == 1 or all(count <= case.lanes(link) for link, count in users.items())
    assert sum(path.bytes for path in made.paths) == made.bytes


def check_shares(case: Case, made: Plan) -> str:
    """The best split over the paths of the plan is at most a hundredth faster."""
    goal = made.seconds / LOSS.get(case.seed, 1.01)
    shared = Counter(name for path in made.paths for name in uses(case, path))
    if max(shared.values()) == 1:
        setup = max(path.setup for path in made.paths)
        most = sum(case.most_bytes(path, goal - setup) for path in made.paths)
        assert most <= made.bytes * (1 + 1e-6), f"all bytes arrive within {goal} s"
        return "recurrence"
    ways = [path.memories for path in made.paths]
    if len(ways) <= 3:
        tried = [np.diff([0, *cuts, PARTS]) for cuts in itertools.combinations(range(1, PARTS), len(ways) - 1)]
    else:  # the neighbours of its shares
        now = np.array([path.bytes / made.bytes * PARTS for path in made.paths])
        steps = np.eye(len(ways))
        tried = [now + steps[a] - steps[b] for a, b in itertools.permutations(range(len(ways)), 2) if now[b] > 1]
        tried = [tried[k] for k in range(0, len(tried), max(1, len(tried) // 12))]
    for parts in tried:
        cuts = [round(made.bytes * float(each) / PARTS) for each in (0, *np.cumsum(parts))]
        cuts[-1] = made.bytes
        given = [({"x": between}, way) for between, way in zip(itertools.pairwise(cuts), ways, strict=True)]
        assert plan_of_paths(made.transfer, case.machine, given).seconds >= goal, parts
    return "brute force"


def seconds_with(case: Case, **options: int) -> float:
    try:
        return plan(case.transfer, case.machine, "multipath", Options(**options)).seconds
    except NoPathError:
        return np.inf


def used_links(case: Case, made: Plan) -> list[str]:
    names = [name.removeprefix("net:") for path in made.paths for name in uses(case, path)]
    return [name.removeprefix("resource ") for name in names if not (name.endswith(">") or ":>" in name or name.startswith(":"))]


def seconds_without(case: Case, link: str) -> float:
    """The seconds of the plan where a link is dead; infinite where messages would then take other routes."""
    if case.kind == "listed":
        return np.inf
    (network,) = case.machine.networks
    machine = replace(case.machine, networks=(replace(network, dead_links=(link,)),))
    try:
        return plan(case.transfer, machine, "multipath").seconds
    except NoPathError:
        return np.inf


def stricter(made: Plan) -> Sequence[dict[str, int]]:
    count, stops = len(made.paths), max(len(path.hops) - 1 for path in made.paths)
    return [*({"paths": k} for k in {1, 2, count - 1} if 0 < k < count), *({"proxies": k} for k in range(stops))]


@pytest.mark.parametrize("first", range(0, CASES, BATCH))
def test_routes_shares_and_options(report: Report, first: int) -> None:
    several = 0
    for seed in range(first, first + BATCH):
        case = Case(seed)
        made = plan(case.transfer, case.machine, "multipath")
        check_routes(case, made)
        assert simulate(made, case.machine).end == pytest.approx(made.seconds, rel=1e-9), seed
        if made.notes[-1].startswith("one path: ") and " arrive after " in made.notes[-1]:
            assert f"{format_bytes(made.bytes)} arrive after {format_seconds(made.seconds)}, " in made.notes[-1], seed
        if len(made.paths) > 1:
            several += 1
            assert any(f"{len(made.paths)} paths in" in note for note in made.notes), seed
            report(f"shares on networks beside {check_shares(case, made)}", 1)
        for options in stricter(made):
            assert seconds_with(case, **options) >= made.seconds * 0.995, (seed, options)
        for link in used_links(case, made)[:1]:
            assert seconds_without(case, link) >= made.seconds * 0.98, (seed, link)
    report("plans on random networks", BATCH)
    assert several >= max(1, BATCH // 10)
