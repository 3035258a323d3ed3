"""Figure 8: the time of a transfer of high priority while others of low priority are under way (section 6.2)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from statistics import fmean
from typing import TYPE_CHECKING, Any

from isoviz.document import Quantity, change
from isoviz.planner import plan
from isoviz.reproduce import Bar, Bars, Claim, Columns, Depends, Group, Row, experiment
from isoviz.reproduce.isometry import realm
from isoviz.reproduce.isometry.assumptions import Assumptions, sapling
from isoviz.reproduce.isometry.microbenchmarks import AOS, DIRECT, Pair, instance, realm_copies
from isoviz.reproduce.plots import OURS, THEIRS
from isoviz.runtime import Simulator
from isoviz.scheduling.work import Finish

if TYPE_CHECKING:
    from isoviz.machines import Machine

ONE_HOP = Pair("node0.zcm", "node0.fbm0")
"""The direct transfer that section 6.5 names."""
SEVERAL_HOPS = Pair("node0.fbm0", "node1.fbm0")
"""The transfer of figure 1."""
CASES = {"8a": ONE_HOP, "8b": SEVERAL_HOPS, "8a spread": ONE_HOP}
"""The transfers of low priority run between the same memories, or are spread over all kinds of channels but the disk's."""
WORDS = {"8a": "one hop", "8b": "several hops", "8a spread": "one hop, others spread over the channels"}
GOLDEN = (5**0.5 - 1) / 2
"""An offset that is no fraction of a transfer."""
THREADS = (1, 2, 4, 8)
"""DMA threads of Realm: section 6.2 speaks of one and of multiple; 8 at most are assumed."""
MOST = max(THREADS)


def against(row: Row, threads: int = MOST) -> float:
    """Isometry against Realm with `threads` threads: −0.62 is 62 % less."""
    return float(row["isometry"] / row["realm"][threads] - 1.0)


def _of(case: str) -> Callable[[Any], float]:
    return lambda found: against(found[case])


def _one_hop(found: Any) -> str:
    one, others = found["8a"], [against(found["8a spread"], threads) for threads in THREADS]
    return (
        "all transfers of low priority use the channel of the one of high priority here, so Realm's threads share it and"
        f" the time grows with their number: {change(against(one, 1))} against one thread, {change(against(one, 2))} against two,"
        f" {change(against(one, 4))} against four. With those of low priority spread over all kinds of channels but the disk's"
        f" it is {change(max(others))} to {change(min(others))}. What the paper had under way is not said."
    )


def _groups(found: Any) -> list[Group]:
    full = 1.35 * max(max(row["realm"].values()) / row["realm"][1] for row in found.values())
    groups = []
    for case, row in found.items():
        unit = row["realm"][1]
        theirs = [
            Bar(((THEIRS, time / unit),), f"{time / unit:.2f} with {n} thread{'s'[: n > 1]} ({change(against(row, n))})")
            for n, time in row["realm"].items()
        ]
        own = Bar(((OURS, row["isometry"] / unit),), f"{row['isometry'] / unit:.2f}")
        groups.append(
            Group(WORDS[case].replace("one hop, others", "others").split(" over")[0], row["pair"], (own, *theirs), full=full)
        )
    return groups


def _realm(threads: int) -> Callable[[Row], str]:
    return lambda row: f"{Quantity(row['realm'][threads], 'seconds')} ({change(against(row, threads))})"


@experiment(
    "figure 8",
    "priorities",
    section="6.2",
    claims=(
        Claim(
            f"high priority, one hop: completion time against Realm with {MOST} DMA threads",
            *("up to −62 %", -0.62, _of("8a"), "change", "6.2, figure 8a"),
        ).because(_one_hop),
        Claim(
            f"high priority, several hops: completion time against Realm with {MOST} DMA threads",
            *("up to −95 %", -0.95, _of("8b"), "change", "6.2, figure 8b"),
        ).because(
            lambda found: (
                f"{change(against(found['8b'], 1))} against one thread; it grows with the threads as they share each channel"
            )
        ),
    ),
    shows=(
        Bars(
            ((OURS, "Isometry"), (THEIRS, "Realm by DMA threads (in brackets: Isometry against it)")),
            _groups,
            "1: Realm with one thread",
            "Completion time of a transfer of high priority",
        ),
        Columns(
            (
                ("transfer of high priority", lambda row: f"{WORDS[row['case']]} ({row['pair']})"),
                ("alone", "alone", "seconds"),
                ("Isometry", "isometry", "seconds"),
                *((f"Realm, {n} thread{'s'[: n > 1]}", _realm(n), "set right") for n in THREADS),
            ),
            lambda found: [{**row, "case": case} for case, row in found.items()],
        ),
    ),
    depends=(
        Depends(
            *("figure 8a: one hop, 8 threads", "change", _of("8a"), "low_priority launches entries request_bytes latency"),
            cases=("8a",),
        ),
        Depends(
            *(
                "figure 8b: several hops, 8 threads",
                "change",
                _of("8b"),
                "temporaries low_priority launches entries request_bytes",
            ),
            cases=("8b",),
        ),
    ),
)
def figure8(given: Assumptions, cases: Sequence[str] = tuple(CASES)) -> dict[str, dict[str, Any]]:
    """Mean seconds from the launch of the transfer of high priority to its end: by Isometry, with Realm by its threads, and alone
    on an idle machine."""
    machine, found = sapling(given), {}
    sizes = given.entries, given.request_bytes
    for case in cases:
        pair = CASES[case]
        lows = [pair]
        if case == "8a spread":  # the transfer's own channel among them
            lows += [other for other in DIRECT if other != pair and "dsk" not in other.source + other.destination]
        launches = _launches(machine, pair, given)
        ours = [_isometry(machine, pair, tuple(lows), given.low_priority, *sizes, at) for at in launches[::8]]
        found[case] = {
            "pair": pair.label,
            "isometry": fmean(ours),
            "alone": _isometry(machine, pair, (), 0, *sizes, 0.0),
            "realm": {n: fmean(_realm_seconds(machine, pair, lows, given, at, n) for at in launches) for n in THREADS},
        }
    return found


def _launches(machine: Machine, pair: Pair, given: Assumptions) -> tuple[float, ...]:
    """Launch times of the transfer of high priority, spread evenly over the first half of the others with Realm on one thread.

    So with any number of threads it meets the others at all stages, and never just when one ends.
    """
    half = given.low_priority * max(copy.seconds for copy in _copies(machine, pair, given)) / 2
    return tuple(half * (k + GOLDEN) / given.launches for k in range(given.launches))


def _copies(machine: Machine, pair: Pair, given: Assumptions) -> tuple[realm.Copy, ...]:
    return realm_copies(machine, pair, instance(pair, AOS, given.entries).nbytes, given)


def _realm_seconds(machine: Machine, pair: Pair, lows: list[Pair], given: Assumptions, at: float, threads: int) -> float:
    orders = [realm.Order(_copies(machine, lows[k % len(lows)], given)) for k in range(given.low_priority)]
    orders.append(realm.Order(_copies(machine, pair, given), priority=1, at=at))
    return realm.completion(orders, threads)[-1] - at


@lru_cache(maxsize=256)
def _isometry(
    machine: Machine, pair: Pair, lows: tuple[Pair, ...], count: int, entries: int, request_bytes: int, at: float
) -> float:
    """Its seconds with `count` transfers of low priority under way, launched at a time."""
    simulator = Simulator(machine, request_bytes=request_bytes)
    plans = [plan(instance(each, AOS, entries), machine, "full" if each == SEVERAL_HOPS else "direct") for each in (*lows, pair)]
    for k in range(count):
        simulator.submit(plans[k % len(lows)])
    number = simulator.submit(plans[-1], at=at, priority=1)
    while (step := simulator.step()) is not None:
        if any(type(each) is Finish and each.transfer == number for each in step.instructions):
            return step.seconds - at
    raise AssertionError("a transfer did not end")
