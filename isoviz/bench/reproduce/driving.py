"""Isometry's side of every comparison: isoviz plans and isoviz simulates."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from isoviz.bench.reproduce import realm
from isoviz.bench.reproduce.patterns import Pair, instance
from isoviz.planner import plan
from isoviz.runtime import Simulator

if TYPE_CHECKING:
    from isoviz.bench.reproduce.assumptions import Assumptions
    from isoviz.machines import Machine
    from isoviz.planner import Plan


def isometry_throughput(machine: Machine, found: Plan, given: Assumptions) -> float:
    """Bytes per second of all instances at the same time."""
    return _together(machine, found, given.instances, given.request_bytes)


@lru_cache(maxsize=256)
def _together(machine: Machine, found: Plan, count: int, request_bytes: int) -> float:
    simulator = Simulator(machine, request_bytes=request_bytes)
    for _ in range(count):
        simulator.submit(found)
    return simulator.run().throughput


def realm_throughput(machine: Machine, pair: Pair, given: Assumptions) -> float:
    """Bytes per second of all instances at the same time, none of them converted."""
    nbytes = instance(pair).nbytes
    order = realm.Order(realm_copies(machine, pair, nbytes, given))
    return given.instances * nbytes / max(realm.completion([order] * given.instances, given.threads))


def realm_copies(machine: Machine, pair: Pair, nbytes: int, given: Assumptions) -> tuple[realm.Copy, ...]:
    """Realm's copies of one instance between a pair, not converted."""
    found = realm.copies(machine, realm.route(machine, pair.source, pair.destination, given.temporaries), nbytes)
    return realm.by_launcher(found) if given.worker == "launcher" else found


def hardware_limit(machine: Machine, pair: Pair) -> float:
    """Bytes per second of the slowest channel on the path where that is fastest, independent of planners."""
    best = {pair.source: float("inf")}
    todo = {pair.source}
    while todo:
        memory = max(todo, key=lambda name: best[name])
        todo.discard(memory)
        for channel in machine.outgoing(memory):
            rate = min(best[memory], channel.peak)
            inside = not machine.memory(channel.destination).is_file_system or channel.destination == pair.destination
            if inside and rate > best.get(channel.destination, 0.0):
                best[channel.destination] = rate
                todo.add(channel.destination)
    return best[pair.destination]


def planned(machine: Machine, pair: Pair, planner: str, layout: str) -> Plan:
    """The plan for one instance between a pair."""
    return plan(instance(pair, layout), machine, planner)
