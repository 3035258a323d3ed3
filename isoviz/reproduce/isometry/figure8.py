"""Figure 8: the time of a transfer of high priority while others of low priority are under way (section 6.2)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from statistics import fmean
from typing import TYPE_CHECKING

from isoviz.planner import plan
from isoviz.reproduce.figure import OURS, THEIRS, Bar, Bars, Figure, Grid, Group, Section
from isoviz.reproduce.isometry import realm
from isoviz.reproduce.isometry.assumptions import sapling
from isoviz.reproduce.isometry.microbenchmarks import AOS, DIRECT, Pair, instance, realm_copies
from isoviz.reproduce.statement import Statement, change
from isoviz.runtime import Simulator
from isoviz.runtime.scheduling.work import Finish
from isoviz.units import format_seconds

if TYPE_CHECKING:
    from isoviz.machines import Machine
    from isoviz.planner import Plan
    from isoviz.reproduce.isometry.assumptions import Assumptions

ONE_HOP = Pair("node0.zcm", "node0.fbm0")
"""The direct transfer that section 6.5 names."""
SEVERAL_HOPS = Pair("node0.fbm0", "node1.fbm0")
"""The transfer of figure 1."""
GOLDEN = (5**0.5 - 1) / 2
"""An offset that is no fraction of a transfer."""
THREADS = (1, 2, 4, 8)
"""DMA threads of Realm: section 6.2 speaks of one and of multiple; 8 at most are assumed."""


@dataclass(frozen=True)
class Priority:
    """Mean seconds from the launch of the transfer of high priority to its end: by Isometry, with Realm by its threads, and on
    an idle machine."""

    pair: Pair
    isometry: float
    realm: dict[int, float]
    alone: float

    def change(self, threads: int) -> float:
        """Isometry against Realm with `threads` threads: −0.62 is 62 % less."""
        return self.isometry / self.realm[threads] - 1.0


def figure8(given: Assumptions, pair: Pair, *, spread: bool = False) -> Priority:
    """One pair. The transfers of low priority run between the same memories, or `spread` over all kinds of channels."""
    machine = sapling(given)
    lows = [pair]
    if spread:  # all kinds of channels but the disk's, the transfer's own among them
        lows += [other for other in DIRECT if other != pair and "dsk" not in other.source + other.destination]
    launches = _launches(machine, pair, given)
    sizes = given.entries, given.request_bytes
    ours = [_isometry(machine, pair, tuple(lows), given.low_priority, *sizes, at) for at in launches[::8]]
    theirs = {threads: fmean(_realm(machine, pair, lows, given, at, threads) for at in launches) for threads in THREADS}
    return Priority(pair, fmean(ours), theirs, _isometry(machine, pair, (), 0, *sizes, 0.0))


def _launches(machine: Machine, pair: Pair, given: Assumptions) -> tuple[float, ...]:
    """Launch times of the transfer of high priority, spread evenly over the first half of the others with Realm on one thread.

    So with any number of threads it meets the others at all stages, and never just when one ends.
    """
    half = given.low_priority * max(copy.seconds for copy in _copies(machine, pair, given)) / 2
    return tuple(half * (k + GOLDEN) / given.launches for k in range(given.launches))


def _copies(machine: Machine, pair: Pair, given: Assumptions) -> tuple[realm.Copy, ...]:
    return realm_copies(machine, pair, instance(pair, AOS, given.entries).nbytes, given)


def _realm(machine: Machine, pair: Pair, lows: list[Pair], given: Assumptions, at: float, threads: int) -> float:
    orders = [realm.Order(_copies(machine, lows[k % len(lows)], given)) for k in range(given.low_priority)]
    orders.append(realm.Order(_copies(machine, pair, given), priority=1, at=at))
    return realm.completion(orders, threads)[-1] - at


@lru_cache(maxsize=256)
def _isometry(
    machine: Machine, pair: Pair, lows: tuple[Pair, ...], count: int, entries: int, request_bytes: int, at: float
) -> float:
    """Its seconds with `count` transfers of low priority under way, launched at a time."""
    simulator = Simulator(machine, request_bytes=request_bytes)
    for k in range(count):
        simulator.submit(_plan(machine, lows[k % len(lows)], entries))
    number = simulator.submit(_plan(machine, pair, entries), at=at, priority=1)
    while (step := simulator.step()) is not None:
        if any(type(each) is Finish and each.transfer == number for each in step.instructions):
            return step.seconds - at
    raise AssertionError("a transfer did not end")


def _plan(machine: Machine, pair: Pair, entries: int) -> Plan:
    return plan(instance(pair, AOS, entries), machine, "full" if pair == SEVERAL_HOPS else "direct")


def statements(one: Priority, several: Priority, spread: Priority) -> tuple[Statement, ...]:
    """Beside the paper."""
    most = max(THREADS)
    others = [spread.change(threads) for threads in THREADS]
    return (
        Statement(
            "6.2, figure 8a",
            f"high priority, one hop: completion time against Realm with {most} DMA threads",
            "up to −62 %",
            -0.62,
            -0.62,
            one.change(most),
            "change",
            "all transfers of low priority use the channel of the one of high priority here, so Realm's threads share it and"
            f" the time grows with their number: {change(one.change(1))} against one thread, {change(one.change(2))} against two,"
            f" {change(one.change(4))} against four. With those of low priority spread over all kinds of channels but the disk's"
            f" it is {change(max(others))} to {change(min(others))}. What the paper had under way is not said.",
        ),
        Statement(
            "6.2, figure 8b",
            f"high priority, several hops: completion time against Realm with {most} DMA threads",
            "up to −95 %",
            -0.95,
            -0.95,
            several.change(most),
            "change",
            f"{change(several.change(1))} against one thread; it grows with the threads as they share each channel",
        ),
    )


def section(one: Priority, several: Priority, spread: Priority) -> Section:
    """Completion times, 1 being Realm's with one DMA thread."""
    cases = (("one hop", one), ("several hops", several), ("others spread", spread))
    full = 1.35 * max(max(each.realm.values()) / each.realm[1] for _, each in cases)
    groups = []
    for name, each in cases:
        unit = each.realm[1]
        realm_bars = (
            Bar(
                ((THEIRS, each.realm[n] / unit),),
                f"{each.realm[n] / unit:.2f} with {n} thread{'s'[: n > 1]} ({change(each.change(n))})",
            )
            for n in THREADS
        )
        own = Bar(((OURS, each.isometry / unit),), f"{each.isometry / unit:.2f}")
        groups.append(Group(name, each.pair.label, (own, *realm_bars), full=full))
    legend = ((OURS, "Isometry"), (THEIRS, "Realm by DMA threads (in brackets: Isometry against it)"))
    title = "Completion time of a transfer of high priority"
    bars = Bars(groups, legend, title=title, right="1: Realm with one thread")
    return Section("Figure 8: priorities", (Figure("figure8", bars, (_grid(one, several, spread),)),))


def _grid(one: Priority, several: Priority, spread: Priority) -> Grid:
    names = ("one hop", "several hops", "one hop, others spread over the channels")
    rows = [
        (
            f"{name} ({each.pair.label})",
            format_seconds(each.alone),
            format_seconds(each.isometry),
            *(f"{format_seconds(each.realm[threads])} ({change(each.change(threads))})" for threads in THREADS),
        )
        for name, each in zip(names, (one, several, spread), strict=True)
    ]
    header = ("transfer of high priority", "alone", "Isometry", *(f"Realm, {n} thread{'s'[: n > 1]}" for n in THREADS))
    return Grid("Figure 8: completion time of a transfer of high priority", header, rows)
