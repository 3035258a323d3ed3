"""The cache of plans (Isometry, section 4.2: iterative applications repeat the same transfers; table 6).

The cache has two levels. For the same transfer it returns the same plan object. For the same memories, layouts and fields with
other sizes it returns the path that won before. The search solves that path first, and its time excludes almost every other path.
The resulting plan is equal to that of a search without the cache.

Machines are values: an edited machine is another machine, with plans of its own.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from isoviz.forks import Lock

if TYPE_CHECKING:
    from collections.abc import Hashable

    from isoviz.machines import Machine
    from isoviz.planner.options import Options
    from isoviz.planner.plan import Plan
    from isoviz.planner.planner_registry import Planner
    from isoviz.planner.problem import Problem
    from isoviz.planner.transfer import Transfer

MOST_PLANS = 256
"""The largest number of plans in the cache; the one that was not asked for for longest is dropped first."""
MOST_PATHS = 1024
"""The largest number of paths in the cache; the one that was not asked for for longest is dropped first."""

MOST_MACHINES = 16
"""The largest number of machines in the cache that are kept though nothing else may use them, as those of plans from files."""


@dataclass(frozen=True)
class CacheStatistics:
    """The counts of the cache since it was last cleared.

    `plans` is the number of plans that it holds. `hits` counts transfers that got an earlier plan. `path_hits` counts transfers
    that were planned with a path known from other sizes. `misses` counts the rest.
    """

    plans: int
    hits: int
    path_hits: int
    misses: int


class PlanCache:
    """The plans of this process. Any thread may use it."""

    def __init__(self) -> None:
        self._plans: OrderedDict[tuple[Transfer, Machine, Planner, Options], Plan] = OrderedDict()
        self._paths: OrderedDict[Hashable, tuple[tuple[str, ...], int | None]] = OrderedDict()
        self._machines: WeakValueDictionary[str, Machine] = WeakValueDictionary()
        self._recent: OrderedDict[str, Machine] = OrderedDict()
        self._lock = Lock()
        self._hits = self._path_hits = self._misses = 0

    def plan(self, key: tuple[Transfer, Machine, Planner, Options]) -> Plan | None:
        """The earlier plan for exactly this key; None if there is none."""
        with self._lock:
            found = self._plans.get(key)
            if found is not None:
                self._plans.move_to_end(key)
                self._hits += 1
        return found

    def keep(self, key: tuple[Transfer, Machine, Planner, Options], plan: Plan) -> None:
        """Keep a plan."""
        with self._lock:
            self._machines[plan.machine_digest] = key[1]
            self._plans[key] = plan
            while len(self._plans) > MOST_PLANS:
                self._plans.popitem(last=False)

    def keep_machine(self, machine: Machine) -> None:
        """Make a machine known by its digest, for as long as it is in use or among the `MOST_MACHINES` that were kept last."""
        with self._lock:
            self._machines[machine.digest] = self._recent[machine.digest] = machine
            self._recent.move_to_end(machine.digest)
            while len(self._recent) > MOST_MACHINES:
                self._recent.popitem(last=False)

    def machine(self, digest: str) -> Machine | None:
        """The machine with this digest, if plans were made for it and it is still in use."""
        return self._machines.get(digest)

    def path(self, problem: Problem) -> tuple[tuple[str, ...], int | None] | None:
        """The channels and the converting hop of the path that won for the same memories, layouts and fields."""
        key = _path_key(problem)
        with self._lock:
            found = self._paths.get(key)
            if found is None:
                self._misses += 1
            else:
                self._paths.move_to_end(key)
                self._path_hits += 1
        return found

    def keep_path(self, problem: Problem, names: tuple[str, ...], converting: int | None) -> None:
        """Keep the path that won."""
        with self._lock:
            self._paths[_path_key(problem)] = names, converting
            while len(self._paths) > MOST_PATHS:
                self._paths.popitem(last=False)

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._plans.clear()
            self._paths.clear()
            self._recent.clear()
            self._hits = self._path_hits = self._misses = 0

    @property
    def statistics(self) -> CacheStatistics:
        """The counts so far."""
        return CacheStatistics(len(self._plans), self._hits, self._path_hits, self._misses)


def _path_key(problem: Problem) -> Hashable:
    transfer, options = problem.transfer, problem.options
    source, destination = transfer.source, transfer.destination
    ends = (source.memory, source.layout, source.fields, destination.memory, destination.layout, destination.fields)
    limits = (options.slot_limit, options.memory_limit, options.slots, problem.reuse)
    return problem.machine.digest, ends, transfer.field_names, tuple(transfer.source.space), limits


CACHE = PlanCache()
"""The cache that `plan` uses."""
