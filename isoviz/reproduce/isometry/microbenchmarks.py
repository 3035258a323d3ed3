"""The transfers of the microbenchmarks, the memories between which they run, and their throughputs (sections 6.1 to 6.4).

Isometry's side of every comparison is what isoviz plans and simulates; Realm's is the model in `realm`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from isoviz.layouts import FieldSpace, IndexSpace
from isoviz.planner import Transfer, plan
from isoviz.reproduce.isometry import realm
from isoviz.runtime import Simulator

if TYPE_CHECKING:
    from isoviz.machines import Machine
    from isoviz.planner import Plan
    from isoviz.reproduce.isometry.assumptions import Assumptions

FIELDS = FieldSpace.of({f"f{i}": "int32" for i in range(8)})
"""Eight fields (section 6.1) of integers (section 6.3), 32 bytes an entry."""
SPACE = IndexSpace(x=1 << 22)
"""Four million entries (section 6.1): 128 MiB an instance."""
INSTANCES = 64
"""Instances that move at the same time: 8 GiB (section 6.1)."""
AOS, SOA = "<F, x>", "<x, F>"


@dataclass(frozen=True)
class Pair:
    """Two memories with transfers between them. `*` in the label: the destination is on the other node."""

    source: str
    destination: str

    @property
    def label(self) -> str:
        """The name in the paper's figures, such as `FBM → SYS*`."""
        here, there = (name.partition(".")[2].rstrip("0123456789").upper() for name in (self.source, self.destination))
        return f"{here} → {there}{'*' if self.remote else ''}"

    @property
    def remote(self) -> bool:
        """Whether it crosses nodes."""
        return self.source.partition(".")[0] != self.destination.partition(".")[0]


MULTI_HOP = tuple(
    Pair(f"node0.{here}", there)
    for here, there in (
        ("fbm0", "node1.fbm0"),
        ("fbm0", "node1.sys"),
        ("sys", "node1.fbm0"),
        ("fbm0", "node0.dsk"),
        ("dsk", "node0.fbm0"),
        ("sys", "node1.dsk"),
        ("dsk", "node1.sys"),
        ("fbm0", "node1.dsk"),
        ("dsk", "node1.fbm0"),
    )
)
"""Pairs without a channel of their own (figure 7). Which of them the paper's figure has is not in its text: all there are of
SYS, FBM and DSK."""

PLANNED = tuple(
    Pair(f"node0.{here}", there)
    for here, there in (
        ("sys", "node1.sys"),
        ("sys", "node0.fbm0"),
        ("fbm0", "node0.sys"),
        ("sys", "node1.fbm0"),
        ("fbm0", "node1.fbm0"),
        ("sys", "node0.dsk"),
        ("fbm0", "node0.dsk"),
        ("dsk", "node0.sys"),
    )
)
"""Pairs for the planners (figure 9): the text names SYS → SYS*, FBM → DSK and SYS → DSK, the others are likely ones."""

DIRECT = tuple(
    Pair(f"node0.{here}", there)
    for here, there in (
        ("sys", "node0.reg"),
        ("zcm", "node0.fbm0"),
        ("fbm0", "node0.zcm"),
        ("fbm0", "node0.fbm0"),
        ("sys", "node0.dsk"),
        ("dsk", "node0.sys"),
        ("reg", "node1.reg"),
        ("sys", "node1.sys"),
    )
)
"""A pair for every kind of channel (table 5)."""


@lru_cache(maxsize=256)
def instance(pair: Pair, layout: str = AOS, entries: int = SPACE.volume) -> Transfer:
    """One instance between a pair, stored as AOS, to arrive in `layout`."""
    space = SPACE if entries == SPACE.volume else IndexSpace(x=entries)
    return Transfer.whole(space, FIELDS, pair.source, AOS, pair.destination, layout)


def isometry_throughput(machine: Machine, made: Plan, given: Assumptions) -> float:
    """Bytes per second of all instances at the same time."""
    return _together(machine, made, given.instances, given.request_bytes)


@lru_cache(maxsize=256)
def _together(machine: Machine, made: Plan, count: int, request_bytes: int) -> float:
    simulator = Simulator(machine, request_bytes=request_bytes)
    for _ in range(count):
        simulator.submit(made)
    return simulator.run().throughput


def realm_throughput(machine: Machine, pair: Pair, given: Assumptions) -> float:
    """Bytes per second of all instances at the same time, none of them converted."""
    nbytes = instance(pair).nbytes
    order = realm.Order(realm_copies(machine, pair, nbytes, given))
    return given.instances * nbytes / max(realm.completion([order] * given.instances, given.threads))


def realm_copies(machine: Machine, pair: Pair, nbytes: int, given: Assumptions) -> tuple[realm.Copy, ...]:
    """Realm's copies of one instance between a pair, not converted."""
    hops = realm.copies(machine, realm.route(machine, pair.source, pair.destination, given.temporaries), nbytes)
    return realm.by_launcher(hops) if given.worker == "launcher" else hops


def hardware_limit(machine: Machine, pair: Pair) -> float:
    """Bytes per second of the slowest channel on the path where that is fastest, independent of planners."""
    best = {pair.source: float("inf")}
    todo = dict.fromkeys([pair.source])
    while todo:
        memory = max(todo, key=lambda name: best[name])
        del todo[memory]
        for channel in machine.outgoing(memory):
            rate = min(best[memory], channel.peak)
            inside = not machine.memory(channel.destination).is_file_system or channel.destination == pair.destination
            if inside and rate > best.get(channel.destination, 0.0):
                best[channel.destination] = rate
                todo[channel.destination] = None
    return best[pair.destination]


def planned(machine: Machine, pair: Pair, planner: str, layout: str) -> Plan:
    """The plan for one instance between a pair."""
    return plan(instance(pair, layout), machine, planner)
