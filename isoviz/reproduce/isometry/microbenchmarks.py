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


def _pairs(text: str) -> tuple[Pair, ...]:
    """Pairs from node 0, such as `sys>1.fbm0`."""
    return tuple(Pair(f"node0.{here}", f"node{there}") for here, _, there in (each.partition(">") for each in text.split()))


MULTI_HOP = _pairs("fbm0>1.fbm0 fbm0>1.sys sys>1.fbm0 fbm0>0.dsk dsk>0.fbm0 sys>1.dsk dsk>1.sys fbm0>1.dsk dsk>1.fbm0")
"""Pairs without a channel of their own (figure 7). Which of them the paper's figure has is not in its text: all there are of
SYS, FBM and DSK."""
PLANNED = _pairs("sys>1.sys sys>0.fbm0 fbm0>0.sys sys>1.fbm0 fbm0>1.fbm0 sys>0.dsk fbm0>0.dsk dsk>0.sys")
"""Pairs for the planners (figure 9): the text names SYS → SYS*, FBM → DSK and SYS → DSK, the others are likely ones."""
DIRECT = _pairs("sys>0.reg zcm>0.fbm0 fbm0>0.zcm fbm0>0.fbm0 sys>0.dsk dsk>0.sys reg>1.reg sys>1.sys")
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


def throughputs(machine: Machine, pair: Pair, made: Plan, given: Assumptions) -> tuple[float, float]:
    """Bytes per second of all instances at the same time, none of them converted: by Isometry, and by Realm."""
    order = realm.Order(realm_copies(machine, pair, made.bytes, given))
    seconds = max(realm.completion([order] * given.instances, given.threads))
    return isometry_throughput(machine, made, given), given.instances * made.bytes / seconds


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
